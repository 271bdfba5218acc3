//! Settings from the configuration file: TOML whose keys are the flags' names.
//!
//! Errors name the file, the line and the column, and for an unknown key the one that was
//! probably meant.

pub(super) mod de;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize as _;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue, Deserializer, ValueDeserializer};

use super::{Findings, Layer};
use crate::domain::line_and_column;

/// Why a configuration file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It could not be read.
    #[error("cannot read the configuration file {}: {why}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        why: io::Error,
    },
    /// It has a key that means nothing.
    #[error("{}: unknown setting `{key}`{}", Place(path, *line, *column), Hint(nearest.as_deref()))]
    Unknown {
        /// The file.
        path: PathBuf,
        /// The line of the key, from 1.
        line: usize,
        /// The column of the key in characters, from 1.
        column: usize,
        /// The key.
        key: String,
        /// The setting whose name is nearest.
        nearest: Option<String>,
    },
    /// It is no TOML, or a value is no good.
    #[error("{}: {why}", Place(path, *line, *column))]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// What is wrong.
        why: String,
    },
}

struct Place<'a>(&'a Path, usize, usize);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.0.display(), self.1, self.2)
    }
}

struct Hint<'a>(Option<&'a str>);

impl fmt::Display for Hint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(name) => write!(f, "; did you mean `{name}`?"),
            None => write!(f, "; the settings are the flags of `lockscope --help` without their dashes"),
        }
    }
}

/// Where the configuration file is looked for when none is named:
/// `$XDG_CONFIG_HOME/lockscope/config.toml`, else `~/.config/lockscope/config.toml`; `None`
/// when neither variable says where that is.
pub fn default_path(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    // The XDG base directory specification says that relative paths are to be ignored.
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path: &PathBuf| path.is_absolute());
    let folder = absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")))?;
    Some(folder.join("lockscope").join("config.toml"))
}

/// A configuration file: what it says for every cluster, and under a name for one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File {
    /// What stands outside contexts.
    pub layer: Layer,
    /// The contexts by their names.
    pub contexts: BTreeMap<String, Layer>,
}

/// The section whose sections are contexts.
const CONTEXTS: &str = "contexts";

impl File {
    /// Reads a configuration file; a file that is not there says nothing when it is the
    /// default one.
    ///
    /// # Errors
    /// When the file cannot be read, is no TOML, has unknown keys or bad values, or is not
    /// there although it was asked for.
    pub fn read(path: &Path, asked_for: bool) -> Result<Option<Self>, FileError> {
        match std::fs::read(path) {
            Ok(bytes) => Self::from_bytes(&bytes, path).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !asked_for => Ok(None),
            Err(why) => Err(FileError::Read { path: path.to_owned(), why }),
        }
    }

    fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self, FileError> {
        match std::str::from_utf8(bytes) {
            // Editors of Windows put a mark before the text, which would count as a column.
            Ok(text) => Self::from_toml(text.strip_prefix('\u{feff}').unwrap_or(text), path),
            Err(error) => {
                let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
                let (line, column) = line_and_column(&before, before.len());
                let why = "this is no UTF-8, and a configuration file has to be".to_owned();
                Err(FileError::Invalid { path: path.to_owned(), line, column, why })
            }
        }
    }

    /// Reads a configuration from its text; `path` is for messages.
    ///
    /// # Errors
    /// When the text is no TOML, has unknown keys or bad values.
    pub fn from_toml(text: &str, path: &Path) -> Result<Self, FileError> {
        let reader = Reader { text, path };
        let mut table = DeTable::parse(text).map_err(|error| reader.invalid(&error))?;
        let names: Vec<_> = Layer::NAMES.into_iter().chain(Layer::SECTIONS).chain([CONTEXTS]).collect();
        reader.refuse_unknown(table.get_ref(), &names)?;
        let contexts = match table.get_mut().remove(CONTEXTS) {
            Some(contexts) => reader.contexts(contexts)?,
            None => BTreeMap::new(),
        };
        if let Some((key, given)) = table.get_ref().get_key_value("context")
            && let Some(sections) = given.get_ref().as_table()
        {
            let name = sections.keys().next().map_or("prod".into(), |name| name.get_ref().to_string());
            let why = format!(
                "`context` names the context to use, in quotes; the settings of one are in `contexts`: write [contexts.{name}]"
            );
            return Err(reader.invalid_at(key.span().start, &why));
        }
        reader.refuse_unknown_findings(table.get_ref())?;
        let layer = Layer::deserialize(Deserializer::from(table)).map_err(|error| reader.invalid(&error))?;
        Ok(Self { layer, contexts })
    }
}

/// A text under way to settings, with what messages say of it.
struct Reader<'a> {
    text: &'a str,
    path: &'a Path,
}

impl Reader<'_> {
    fn contexts(&self, section: Spanned<DeValue<'_>>) -> Result<BTreeMap<String, Layer>, FileError> {
        let start = section.span().start;
        let DeValue::Table(contexts) = section.into_inner() else {
            return Err(self.invalid_at(start, "contexts are sections: write [contexts.prod] and its settings below"));
        };
        contexts
            .into_iter()
            .map(|(name, settings)| Ok((name.get_ref().to_string(), self.context(&name, settings)?)))
            .collect()
    }

    fn context(&self, name: &Spanned<DeString<'_>>, settings: Spanned<DeValue<'_>>) -> Result<Layer, FileError> {
        if name.get_ref().is_empty() {
            return Err(self.invalid_at(name.span().start, "a context needs a name"));
        }
        let Some(table) = settings.get_ref().as_table() else {
            let name = name.get_ref();
            let why = format!("a context is a section: write [contexts.{name}] and its settings below");
            return Err(self.invalid_at(settings.span().start, &why));
        };
        if let Some(key) = table.keys().find(|key| key.get_ref() == "context") {
            return Err(self.invalid_at(key.span().start, "a context cannot name another context"));
        }
        let names: Vec<_> = Layer::NAMES.into_iter().skip(1).chain(Layer::SECTIONS).collect();
        self.refuse_unknown(table, &names)?;
        self.refuse_unknown_findings(table)?;
        Layer::deserialize(ValueDeserializer::from(settings)).map_err(|error| self.invalid(&error))
    }

    fn refuse_unknown_findings(&self, table: &DeTable<'_>) -> Result<(), FileError> {
        let section = table.get("findings").and_then(|section| section.get_ref().as_table());
        section.map_or(Ok(()), |section| self.refuse_unknown(section, Findings::NAMES))
    }

    /// Fails at the first key that is none of these names, and says which was probably meant.
    fn refuse_unknown(&self, table: &DeTable<'_>, names: &[&'static str]) -> Result<(), FileError> {
        let unknown = table.keys().filter(|key| !names.contains(&key.get_ref().as_ref()));
        let Some(key) = unknown.min_by_key(|key| key.span().start) else { return Ok(()) };
        let (line, column) = line_and_column(self.text, key.span().start);
        let key = key.get_ref().as_ref().to_owned();
        let nearest = crate::nearest::nearest(&key, names.iter().copied()).map(str::to_owned);
        Err(FileError::Unknown { path: self.path.to_owned(), line, column, key, nearest })
    }

    fn invalid(&self, error: &toml::de::Error) -> FileError {
        self.invalid_at(error.span().map_or(0, |span| span.start), error.message())
    }

    fn invalid_at(&self, at: usize, why: &str) -> FileError {
        let (line, column) = line_and_column(self.text, at);
        FileError::Invalid { path: self.path.to_owned(), line, column, why: why.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn read(text: &str) -> Result<Layer, String> {
        file(text).map(|file| file.layer)
    }

    fn file(text: &str) -> Result<File, String> {
        File::from_bytes(text.as_bytes(), Path::new("/c/config.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_has_the_flags_names() {
        let layer = read(
            r#"
            endpoints = ["db1:2379", "https://db2:2379"]
            dial-timeout = "3s"
            prefix = "/jobs/"
            theme = "light"
            no-mouse = true
            ttl-budget = 50
            write-out = "json"
            ttl = "all"
            "#,
        )
        .unwrap();
        assert_eq!(layer.endpoints.unwrap().len(), 2);
        assert_eq!(layer.dial_timeout, Some(Duration::from_secs(3)));
        assert_eq!(layer.prefix, Some(vec![b"/jobs/".to_vec()]));
        assert_eq!(layer.no_mouse, Some(true));
        assert_eq!(layer.ttl_budget, Some(50));
        assert_eq!(read("").unwrap(), Layer::default());
    }

    #[test]
    fn the_list_of_names_is_that_of_the_reader() {
        // Serde knows the fields it takes; its message is the independent witness.
        let error = toml::from_str::<Layer>("nonsense = 1").unwrap_err().message().to_owned();
        let fields: Vec<_> = error.split('`').skip(3).step_by(2).collect();
        assert_eq!(fields, Layer::NAMES.into_iter().chain(Layer::SECTIONS).collect::<Vec<_>>());
        let error = toml::from_str::<Findings>("nonsense = 1").unwrap_err().message().to_owned();
        let fields: Vec<_> = error.split('`').skip(3).step_by(2).collect();
        assert_eq!(fields, Findings::NAMES);
    }

    #[test]
    fn what_counts_as_a_finding_has_a_section() {
        let layer = read("hex = true\n[findings]\nlong-hold = \"1m30s\"\nlong-hold-medians = 3").unwrap();
        assert_eq!(
            layer.findings,
            Findings { long_hold: Some(Duration::from_secs(90)), long_hold_medians: Some(3), ..Findings::default() }
        );
        assert_eq!(
            read("[findings]\nlong-holt = \"1m\""),
            Err("/c/config.toml:2:1: unknown setting `long-holt`; did you mean `long-hold`?".into())
        );
        let error = read("[findings]\nlong-hold = 5").unwrap_err();
        assert!(error.starts_with("/c/config.toml:2:13: ") && error.contains("a duration in quotes"), "{error}");
        assert!(read("[findings]\nlong-hold-medians = 0").unwrap_err().contains("no whole number from 1"));
        assert!(read("findings = 3").unwrap_err().starts_with("/c/config.toml:1:12: "));
    }

    #[test]
    fn an_unknown_setting_is_placed_and_the_nearest_named() {
        assert_eq!(
            read("# look\n  dial_timout = \"3s\"\n"),
            Err("/c/config.toml:2:3: unknown setting `dial_timout`; did you mean `dial-timeout`?".into())
        );
        assert_eq!(
            read("zebra = 1"),
            Err("/c/config.toml:1:1: unknown setting `zebra`; \
                 the settings are the flags of `lockscope --help` without their dashes"
                .into())
        );
        assert!(read("[endpoint]\nx = 1").unwrap_err().contains(":1:2: unknown setting `endpoint`; did you mean"));
    }

    #[test]
    fn a_bad_value_is_placed() {
        assert_eq!(
            read("hex = true\nkeepalive-time = \"5\""),
            Err("/c/config.toml:2:18: a duration needs a unit: \
                 say `5s` for seconds or `5ms` for milliseconds"
                .into())
        );
        let error = read("dial-timeout = 5").unwrap_err();
        assert!(error.starts_with("/c/config.toml:1:16: "), "{error}");
        assert!(error.contains("a duration in quotes, such as \"5s\""), "{error}");
        assert!(read("hex = ").unwrap_err().starts_with("/c/config.toml:1:7: "));
        assert!(read("ttl-budget = 0").unwrap_err().contains("no whole number from 1"));
        assert!(read("ttl-budget = -3").unwrap_err().contains("`-3`"));
        assert!(read("endpoints = []").unwrap_err().contains("no endpoint"));
        assert!(read("endpoints = [\"db1\"]").unwrap_err().contains("`db1` has no port"));
        assert!(read("read-only = \"yes\"").unwrap_err().contains("expected a boolean"));
        assert!(read("hex = true\nhex = false").unwrap_err().starts_with("/c/config.toml:2:1: "));
    }

    #[test]
    fn contexts_are_sections_with_the_settings_of_the_file() {
        let read = file(
            "context = \"prod\"\nhex = true\n[contexts.prod]\nendpoints = \"db1:2379\"\nread-only = true\n\
             [contexts.prod.findings]\nlag = \"9s\"\n[contexts.\"a b\"]\n",
        )
        .unwrap();
        assert_eq!((read.layer.context.as_deref(), read.layer.hex), (Some("prod"), Some(true)));
        let prod = &read.contexts["prod"];
        assert_eq!((prod.read_only, prod.hex, prod.findings.lag), (Some(true), None, Some(Duration::from_secs(9))));
        assert_eq!(read.contexts["a b"], Layer::default());
        for (text, error) in [
            ("[contexts.prod]\n  endpoint = 1", "2:3: unknown setting `endpoint`; did you mean `endpoints`?"),
            ("[contexts.prod]\nhex = 1", "2:7: invalid type: integer `1`, expected a boolean"),
            ("[contexts.prod]\ncontext = \"dev\"", "2:1: a context cannot name another context"),
            ("[contexts]\nprod = 3", "2:8: a context is a section: write [contexts.prod] and its settings below"),
            ("contexts = 3", "1:12: contexts are sections: write [contexts.prod] and its settings below"),
            ("[contexts.\"\"]", "1:11: a context needs a name"),
            ("[contexts.prod.findings]\nlagg = 1", "2:1: unknown setting `lagg`; did you mean `lag`?"),
            (
                "[context.prod]\nhex = true",
                "1:2: `context` names the context to use, in quotes; the settings of one are in `contexts`: write [contexts.prod]",
            ),
        ] {
            assert_eq!(file(text).map(drop), Err(format!("/c/config.toml:{error}")), "{text}");
        }
    }

    #[test]
    fn a_mark_before_the_text_and_ends_of_lines_of_windows_count_for_nothing() {
        let read = file("\u{feff}hex = true\r\nascii = true\r\n").unwrap().layer;
        assert_eq!((read.hex, read.ascii), (Some(true), Some(true)));
        let error = file("\u{feff}# a\r\nhexx = true\r\n").unwrap_err();
        assert!(error.starts_with("/c/config.toml:2:1: unknown setting `hexx`"), "{error}");
    }

    #[test]
    fn bytes_that_are_no_text_are_placed() {
        let error = File::from_bytes(b"hex = true\ntheme = \"\xff\"", Path::new("c.toml")).unwrap_err();
        assert_eq!(error.to_string(), "c.toml:2:10: this is no UTF-8, and a configuration file has to be");
        assert!(File::from_bytes(b"\0\x01\x02", Path::new("c.toml")).is_err());
    }

    #[test]
    fn of_several_unknown_settings_the_first_in_the_file_is_told() {
        assert!(read("zebra = 1\napple = 2").unwrap_err().contains(":1:1: unknown setting `zebra`"));
    }

    #[test]
    fn errors_never_quote_a_password() {
        for text in ["password = 4711", "password = [4711]", "user = 4711", "password = 4711.5", "password = \"4711"] {
            let error = read(text).unwrap_err();
            assert!(!error.contains("4711"), "{error}");
        }
        let layer = read("user = \"root:4711\"\npassword = \"4711\"").unwrap();
        assert!(!format!("{layer:?}").contains("4711"));
    }

    #[test]
    fn the_default_file_follows_the_base_directory_specification() {
        let path = |pairs: &[(&str, &str)]| {
            let pairs: Vec<(String, OsString)> =
                pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
            default_path(move |name| pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone()))
        };
        assert_eq!(path(&[("XDG_CONFIG_HOME", "/x"), ("HOME", "/h")]), Some(PathBuf::from("/x/lockscope/config.toml")));
        assert_eq!(
            path(&[("XDG_CONFIG_HOME", "x"), ("HOME", "/h")]),
            Some(PathBuf::from("/h/.config/lockscope/config.toml"))
        );
        assert_eq!(path(&[("HOME", "")]), None);
    }
}
