//! When a recording ends, without reading all of it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use serde::Deserialize;

use crate::domain::Timestamp;

/// How much of the end is looked at first; four times as much each time that no line ends in it.
const FIRST: u64 = 1 << 16;
/// How much is looked at, at most.
const MOST: u64 = 64 << 20;

#[derive(Deserialize)]
struct Stamp {
    at: Timestamp,
}

/// The time of the last whole line; `None` when there is none.
///
/// # Errors
/// When the file cannot be read.
pub fn last_time(path: &Path) -> io::Result<Option<Timestamp>> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    let mut length = FIRST.min(size);
    loop {
        file.seek(SeekFrom::Start(size - length))?;
        let mut end = Vec::new();
        file.by_ref().take(length).read_to_end(&mut end)?;
        let mut lines = end.split(|&byte| byte == b'\n').rev();
        let time = lines.find_map(|line| serde_json::from_slice::<Stamp>(line).ok());
        if time.is_some() || length >= size.min(MOST) {
            return Ok(time.map(|stamp| stamp.at));
        }
        length = (length * 4).min(size).min(MOST);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn the_last_whole_line_tells_the_time() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(last_time(file.path()).unwrap(), None);
        let filler = "x".repeat(usize::try_from(FIRST).unwrap());
        for (text, at) in [
            ("{\"lockscope\":\"recording\",\"version\":1,\"at\":5}\n".to_owned(), 5),
            (format!("{{\"at\":6,\"what\":{{\"later\":\"{filler}\"}}}}\n"), 6),
            ("{\"at\":7,\"what\":{\"prog".to_owned(), 6),
            ("ress\":9}}\n".to_owned(), 7),
        ] {
            file.write_all(text.as_bytes()).unwrap();
            assert_eq!(last_time(file.path()).unwrap(), Some(Timestamp(at)), "{}", &text[..20.min(text.len())]);
        }
    }
}
