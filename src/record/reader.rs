//! Reads a recording line by line, whatever state it is in.
//!
//! A line that cannot be read is passed over and counted, with its number; so is a line of a kind
//! that this release does not know. What stands behind the last end of a line is kept until the
//! rest of it comes: a recording may be read while it is being written.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use thiserror::Error;

use super::format::{End, Header, Line, MARK, VERSION};
use crate::domain::Timestamp;
use crate::domain::escape::escape;
use crate::event::{Observation, Stamped};

/// The longest first line: what is longer is no recording.
const LONGEST_HEADER: u64 = 1 << 20;
/// The longest line, in bytes. A page of a list is the longest there is; it has 10,000 keys.
const LONGEST: usize = 256 << 20;
/// How many broken lines are remembered with their numbers.
const REMEMBERED: usize = 5;
/// How much is read at once.
const BUFFER: usize = 1 << 17;

/// Why a file cannot be replayed.
#[derive(Debug, Error)]
pub enum OpenError {
    /// It cannot be read.
    #[error("cannot read the recording {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is a folder, a pipe or a device.
    #[error("cannot read the recording {}: it is {what}", .path.display())]
    NoFile {
        /// What was named.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// There is nothing in it.
    #[error("{} is empty: nothing was recorded, or it is lost", .0.display())]
    Empty(PathBuf),
    /// It is something else.
    #[error("{} is no recording: {why}", path.display())]
    NoRecording {
        /// The file.
        path: PathBuf,
        /// How that is known.
        why: String,
    },
    /// It ends within its first line.
    #[error("{} is truncated: it ends within its first line, and nothing of it can be replayed", .0.display())]
    Truncated(PathBuf),
    /// A later release wrote it.
    #[error(
        "{} is a recording of version {version}, of lockscope {program}; this lockscope reads version {VERSION}",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u64,
        /// The program that wrote it.
        program: String,
    },
}

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// Something was observed.
    Observed(Stamped<Observation>),
    /// So many observations were left out here.
    Dropped(Timestamp, u64),
    /// The recording was ended.
    End(End),
}

impl Item {
    /// When that was.
    pub const fn at(&self) -> Timestamp {
        match self {
            Self::Observed(observed) => observed.at,
            Self::Dropped(at, _) => *at,
            Self::End(end) => end.at,
        }
    }
}

/// What was wrong with the lines so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    /// How many lines could not be read.
    pub broken: u64,
    /// The first of them, by number and reason.
    pub first_broken: Vec<(u64, String)>,
    /// Lines of kinds that are not known, by kind.
    pub unknown: BTreeMap<String, u64>,
    /// How many observations the recorder left out.
    pub dropped: u64,
}

/// The start of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Its first byte.
    pub offset: u64,
    /// Its number; the header is line 1.
    pub line: u64,
}

/// A recording that is read.
pub struct Reader<R = File> {
    from: BufReader<R>,
    header: Header,
    /// Where the line starts that is read next.
    place: Place,
    /// What of that line is there already.
    partial: Vec<u8>,
    /// Whether its bytes are passed over, for it is too long.
    too_long: bool,
    /// How far was read: what lies before is counted already.
    seen: u64,
    trouble: Trouble,
}

impl Reader<File> {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// When it is no recording that this release reads.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let unreadable = |source| OpenError::Read { path: path.to_owned(), source };
        let kind = std::fs::metadata(path).map_err(unreadable)?.file_type();
        if !kind.is_file() {
            let what = if kind.is_dir() { "a folder" } else { "no regular file" };
            return Err(OpenError::NoFile { path: path.to_owned(), what });
        }
        Self::new(File::open(path).map_err(unreadable)?, path)
    }

    /// How many bytes the file has now.
    pub fn size(&self) -> u64 {
        self.from.get_ref().metadata().map_or(self.place.offset, |about| about.len())
    }
}

impl<R: Read> Reader<R> {
    /// Reads the header; `path` is for messages.
    ///
    /// # Errors
    /// When it is no recording that this release reads.
    pub fn new(from: R, path: &Path) -> Result<Self, OpenError> {
        let mut from = BufReader::with_capacity(BUFFER, from);
        let mut line = Vec::new();
        let read = from.by_ref().take(LONGEST_HEADER).read_until(b'\n', &mut line);
        read.map_err(|source| OpenError::Read { path: path.to_owned(), source })?;
        let header = read_header(&line, path)?;
        let place = Place { offset: line.len() as u64, line: 2 };
        let (partial, trouble) = (Vec::new(), Trouble::default());
        Ok(Self { from, header, place, partial, too_long: false, seen: place.offset, trouble })
    }

    /// The first line.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// What was wrong so far.
    pub const fn trouble(&self) -> &Trouble {
        &self.trouble
    }

    /// Where the line starts that is read next.
    pub const fn place(&self) -> Place {
        self.place
    }

    /// How many bytes there are of a line without an end.
    pub const fn partial(&self) -> usize {
        self.partial.len()
    }

    /// The next line; `None` when there is none yet. More may come when the file grows.
    ///
    /// # Errors
    /// When the file cannot be read any more.
    pub fn next_item(&mut self) -> io::Result<Option<Item>> {
        while self.fill_line()? {
            let line = std::mem::take(&mut self.partial);
            let read = self.take_line(&line, self.too_long);
            self.partial = line;
            self.partial.clear();
            self.too_long = false;
            if let Some(item) = read {
                return Ok(Some(item));
            }
        }
        Ok(None)
    }

    /// What stands behind the last end of a line, when it is a whole line but for that; nothing
    /// more is expected to come.
    pub fn last_item(&mut self) -> Option<Item> {
        let line: Line = serde_json::from_slice(&self.partial).ok()?;
        let item = as_item(line).ok()?;
        let length = self.partial.len() as u64;
        self.partial.clear();
        self.place = Place { offset: self.place.offset + length, line: self.place.line + 1 };
        Some(item)
    }

    /// Reads up to the end of a line; whether there is one.
    fn fill_line(&mut self) -> io::Result<bool> {
        loop {
            let read = match self.from.fill_buf() {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if read.is_empty() {
                return Ok(false);
            }
            let end = read.iter().position(|&byte| byte == b'\n');
            let used = end.map_or(read.len(), |end| end + 1);
            if self.partial.len() + used > LONGEST {
                self.too_long = true;
                // Its length still tells where the next line starts.
                self.place.offset += self.partial.len() as u64;
                self.partial.clear();
            }
            self.partial.extend_from_slice(&read[..used]);
            self.from.consume(used);
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    /// Takes a whole line in; `None` when it says nothing that is known.
    fn take_line(&mut self, line: &[u8], too_long: bool) -> Option<Item> {
        let number = self.place.line;
        self.place = Place { offset: self.place.offset + line.len() as u64, line: number + 1 };
        let is_new = self.place.offset > self.seen;
        self.seen = self.seen.max(self.place.offset);
        if line.trim_ascii().is_empty() {
            return None;
        }
        let read = match serde_json::from_slice::<Line>(line) {
            _ if too_long => Err(Unread::Broken(format!("it is longer than {LONGEST} bytes"))),
            Ok(line) => as_item(line),
            Err(error) => Err(unread(&error)),
        };
        match read {
            Ok(item) => {
                if let Item::Dropped(_, count) = item
                    && is_new
                {
                    self.trouble.dropped = self.trouble.dropped.saturating_add(count);
                }
                return Some(item);
            }
            // It was counted before when it is read again.
            Err(_) if !is_new => {}
            Err(Unread::Unknown(kind)) => *self.trouble.unknown.entry(kind).or_default() += 1,
            Err(Unread::Broken(why)) => {
                self.trouble.broken += 1;
                if self.trouble.first_broken.len() < REMEMBERED {
                    self.trouble.first_broken.push((number, why));
                }
            }
        }
        None
    }
}

impl<R: Read + Seek> Reader<R> {
    /// Goes to the start of a line, where [`Reader::place`] once said that it was.
    ///
    /// # Errors
    /// When the file cannot be read any more.
    pub fn go_to(&mut self, place: Place) -> io::Result<()> {
        self.from.seek(SeekFrom::Start(place.offset))?;
        self.partial.clear();
        self.too_long = false;
        self.place = place;
        Ok(())
    }
}

/// Why a line says nothing.
enum Unread {
    /// It is of a kind that is not known.
    Unknown(String),
    /// It is no such line.
    Broken(String),
}

fn as_item(line: Line) -> Result<Item, Unread> {
    let Some(at) = line.at else { return Err(Unread::Broken("it has no time".to_owned())) };
    match (line.what, line.dropped, line.end) {
        (Some(what), None, None) => Ok(Item::Observed(Stamped { at, what })),
        (None, Some(count), None) => Ok(Item::Dropped(at, count)),
        (None, None, Some(end)) => Ok(Item::End(End { at, end, count: line.count.unwrap_or_default() })),
        (None, None, None) => Err(Unread::Unknown("no name".to_owned())),
        _ => Err(Unread::Broken("it says two things at once".to_owned())),
    }
}

/// What kept a line from being read. Serde names a variant that it does not know.
fn unread(error: &serde_json::Error) -> Unread {
    let text = error.to_string();
    if let Some((name, _)) = text.strip_prefix("unknown variant `").and_then(|rest| rest.split_once('`')) {
        return Unread::Unknown(escape(name.as_bytes()).into_owned());
    }
    // The number of the line is that of the file, not that of one line read by itself.
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
    Unread::Broken(format!("column {}: {text}", error.column()))
}

/// The fields that every version has.
#[derive(Deserialize)]
struct Marked {
    lockscope: String,
    version: u64,
    #[serde(default)]
    program: String,
}

fn read_header(line: &[u8], path: &Path) -> Result<Header, OpenError> {
    let no_recording = |why: &str| OpenError::NoRecording { path: path.to_owned(), why: why.to_owned() };
    if line.is_empty() {
        return Err(OpenError::Empty(path.to_owned()));
    }
    let Ok(marked) = serde_json::from_slice::<Marked>(line) else {
        let begins = |start: &[u8]| line.starts_with(start) || start.starts_with(line);
        return Err(if !line.ends_with(b"\n") && begins(b"{\"lockscope\":\"recording\"") {
            OpenError::Truncated(path.to_owned())
        } else if serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok() {
            no_recording("its first line is other JSON than the header of a recording")
        } else {
            no_recording("its first line is no JSON, and a recording begins with its header")
        });
    };
    if marked.lockscope != MARK {
        return Err(no_recording(&format!("it says that it is `{}`", escape(marked.lockscope.as_bytes()))));
    }
    if marked.version > u64::from(VERSION) || marked.version == 0 {
        let program = escape(marked.program.as_bytes()).into_owned();
        return Err(OpenError::Newer { path: path.to_owned(), version: marked.version, program });
    }
    serde_json::from_slice(line).map_err(|error| no_recording(&format!("its header: {error}")))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    const HEADER: &str = "{\"lockscope\":\"recording\",\"version\":1,\"at\":5}\n";

    fn open(text: &[u8]) -> Result<Reader<Cursor<Vec<u8>>>, String> {
        Reader::new(Cursor::new(text.to_vec()), Path::new("x.jsonl")).map_err(|error| error.to_string())
    }

    fn read(lines: &str) -> (Vec<Item>, Trouble) {
        let mut reader = open(format!("{HEADER}{lines}").as_bytes()).unwrap();
        let mut items = Vec::new();
        while let Some(item) = reader.next_item().unwrap() {
            items.push(item);
        }
        (items, reader.trouble().clone())
    }

    #[test]
    fn other_files_are_told_from_recordings_with_the_reason() {
        for (text, words) in [
            (&b""[..], "is empty"),
            (b"\x7fELF\x02\x01\x00", "no JSON"),
            (b"hello\nworld\n", "no JSON"),
            (b"{\"a\":1}\n", "other JSON"),
            (b"[1,2]\n", "other JSON"),
            (b"{\"lockscope\":\"scena\x1brio\",\"version\":1}\n", "no JSON"),
            (b"{\"lockscope\":\"scena\\u001brio\",\"version\":1}\n", "`scena\\x1brio`"),
            (b"{\"lockscope\":\"recording\",\"version\":2,\"program\":\"9.1\"}\n", "version 2, of lockscope 9.1"),
            (b"{\"lockscope\":\"recording\",\"version\":0}\n", "version 0"),
            (b"{\"lockscope\":\"recording\",\"version\":1}\n", "its header: missing field `at`"),
            (b"{\"lockscope\":\"recording\",\"ver", "truncated"),
            (b"{\"lock", "truncated"),
        ] {
            let Err(error) = open(text) else { panic!("{text:?} is read") };
            assert!(error.contains(words) && error.contains("x.jsonl"), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_folder_is_no_recording_nor_is_what_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(Reader::open(folder.path()), Err(OpenError::NoFile { what: "a folder", .. })));
        assert!(matches!(Reader::open(&folder.path().join("none")), Err(OpenError::Read { .. })));
    }

    #[test]
    fn lines_that_cannot_be_read_are_passed_over_and_counted() {
        let (items, trouble) = read(concat!(
            "{\"at\":1,\"what\":{\"progress\":7}}\n",
            "\n",
            "{\"at\":2,\"what\":{\"progress\":\"x\"}}\n",
            "{\"at\":3,\"what\":{\"weather\":[\"rain\"]}}\n",
            "{\"at\":4,\"moon\":\"full\"}\n",
            "garbage\n",
            "{\"at\":5,\"dropped\":3}\n",
            "{\"at\":6,\"what\":{\"progress\":8},\"mood\":\"good\"}\n",
            "{\"what\":{\"progress\":8}}\n",
            "{\"at\":9,\"end\":\"quit\",\"count\":2}\n",
        ));
        let times: Vec<_> = items.iter().map(|item| item.at().0).collect();
        assert_eq!(times, [1, 5, 6, 9]);
        assert_eq!(items[1], Item::Dropped(Timestamp(5), 3));
        assert_eq!(items[3], Item::End(End { at: Timestamp(9), end: "quit".into(), count: 2 }));
        assert_eq!((trouble.broken, trouble.dropped), (3, 3));
        let lines: Vec<_> = trouble.first_broken.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [4, 7, 10]);
        assert!(trouble.first_broken[0].1.contains("invalid type"), "{trouble:?}");
        assert_eq!(
            trouble.unknown.iter().map(|(kind, count)| (kind.as_str(), *count)).collect::<Vec<_>>(),
            [("no name", 1), ("weather", 1)]
        );
    }

    #[test]
    fn a_line_is_waited_for_until_it_has_its_end() {
        let line = "{\"at\":1,\"what\":{\"progress\":7}}\n";
        let whole = format!("{HEADER}{line}{line}");
        for cut in HEADER.len()..=whole.len() {
            let mut reader = open(&whole.as_bytes()[..cut]).unwrap();
            let mut items = 0;
            while reader.next_item().unwrap().is_some() {
                items += 1;
            }
            assert_eq!(items, (cut - HEADER.len()) / line.len(), "{cut}");
            assert_eq!(reader.partial(), (cut - HEADER.len()) % line.len());
            let last = reader.last_item();
            assert_eq!(last.is_some(), (cut - HEADER.len()) % line.len() == line.len() - 1, "but for its end");
        }
    }

    #[test]
    fn a_place_is_found_again_and_nothing_is_counted_twice() {
        let lines = "{\"at\":1,\"what\":{\"progress\":7}}\nbad\n{\"at\":2,\"what\":{\"progress\":8}}\n";
        let mut reader = open(format!("{HEADER}{lines}").as_bytes()).unwrap();
        let start = reader.place();
        let first = reader.next_item().unwrap();
        let second = reader.place();
        let rest = reader.next_item().unwrap();
        reader.go_to(second).unwrap();
        assert_eq!(reader.next_item().unwrap(), rest);
        reader.go_to(start).unwrap();
        assert_eq!(reader.next_item().unwrap(), first);
        assert_eq!(reader.place(), second);
        assert_eq!(reader.next_item().unwrap(), rest);
        assert_eq!((reader.trouble().broken, reader.place().line), (1, 5));
    }

    proptest::proptest! {
        #[test]
        fn whatever_the_bytes_are_they_lead_to_lines_or_to_a_message(bytes: Vec<u8>, mark: bool) {
            let text = if mark { [HEADER.as_bytes(), &bytes].concat() } else { bytes };
            if let Ok(mut reader) = open(&text) {
                while let Ok(Some(_)) = reader.next_item() {}
                reader.last_item();
            }
        }
    }
}
