//! Lines as commands are said in them: short ones. What is longer is read to its end and not
//! kept, so that nobody can fill the memory by never ending a line.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

/// The longest line that may be a command, in bytes.
pub(super) const LONGEST: usize = 512;

/// A line without its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Of bytes that may be no text.
    Said(Vec<u8>),
    /// Longer than any command.
    TooLong,
}

/// The next line; `None` when there are no more. What follows the last end of a line is one,
/// too, unless it is empty.
pub(super) async fn next(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Line>> {
    let (mut line, mut length) = (Vec::new(), 0);
    loop {
        let read = from.fill_buf().await?;
        let end = read.iter().position(|&byte| byte == b'\n');
        let part = &read[..end.unwrap_or(read.len())];
        length += part.len();
        if length <= LONGEST {
            line.extend_from_slice(part);
        } else {
            line = Vec::new();
        }
        let (ended, used) = (read.is_empty(), part.len() + usize::from(end.is_some()));
        from.consume(used);
        if ended && length == 0 {
            return Ok(None);
        }
        if ended || end.is_some() {
            return Ok(Some(if length > LONGEST { Line::TooLong } else { Line::Said(line) }));
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::BufReader;

    use super::*;

    /// The lines of `text`, read through a buffer of this size.
    async fn lines(text: &[u8], buffer: usize) -> Vec<Line> {
        let mut from = BufReader::with_capacity(buffer, text);
        let mut lines = Vec::new();
        while let Some(line) = next(&mut from).await.expect("it is read from memory") {
            lines.push(line);
        }
        lines
    }

    #[tokio::test]
    async fn lines_are_the_same_however_they_come() {
        let long = [b'x'; LONGEST + 1];
        let text = [b"a\n\nb c\r\n", &long[1..], b"\n", &long[..], b"\nlast"].concat();
        let said = |line: &[u8]| Line::Said(line.to_vec());
        for buffer in [1, 2, 7, 100, 10_000] {
            let expected = [said(b"a"), said(b""), said(b"b c\r"), said(&long[1..]), Line::TooLong, said(b"last")];
            assert_eq!(lines(&text, buffer).await, expected);
        }
    }

    #[tokio::test]
    async fn no_line_follows_the_end_of_the_last_one() {
        assert_eq!(lines(b"", 9).await, []);
        assert_eq!(lines(b"a\n", 9).await, [Line::Said(b"a".to_vec())]);
    }
}
