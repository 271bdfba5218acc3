//! Settings from the configuration file: TOML whose keys are the flags' names.
//!
//! Errors name the file, the line and the column, and for an unknown key the one that was
//! probably meant.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::{Findings, Layer};

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

impl Layer {
    /// Reads a configuration file; a file that is not there says nothing when it is the
    /// default one.
    ///
    /// # Errors
    /// When the file cannot be read, is no TOML, has unknown keys or bad values, or is not
    /// there although it was asked for.
    pub fn from_file(path: &Path, asked_for: bool) -> Result<Option<Self>, FileError> {
        match std::fs::read_to_string(path) {
            Ok(text) => Self::from_toml(&text, path).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !asked_for => Ok(None),
            Err(why) => Err(FileError::Read { path: path.to_owned(), why }),
        }
    }

    /// Reads a configuration from its text; `path` is for messages.
    ///
    /// # Errors
    /// When the text is no TOML, has unknown keys or bad values.
    pub fn from_toml(text: &str, path: &Path) -> Result<Self, FileError> {
        let invalid = |error: &toml::de::Error| {
            let (line, column) = place(text, error.span().map_or(0, |span| span.start));
            FileError::Invalid { path: path.to_owned(), line, column, why: error.message().to_owned() }
        };
        let table = toml::de::DeTable::parse(text).map_err(|error| invalid(&error))?;
        let names: Vec<_> = Self::NAMES.into_iter().chain(Self::SECTIONS).collect();
        refuse_unknown(text, path, table.get_ref(), &names)?;
        let section = table.get_ref().get("findings").and_then(|section| section.get_ref().as_table());
        if let Some(section) = section {
            refuse_unknown(text, path, section, Findings::NAMES)?;
        }
        toml::from_str(text).map_err(|error| invalid(&error))
    }
}

/// Fails at the first key that is none of these names, and says which was probably meant.
fn refuse_unknown(
    text: &str,
    path: &Path,
    table: &toml::de::DeTable<'_>,
    names: &[&'static str],
) -> Result<(), FileError> {
    let Some(key) = table.keys().find(|key| !names.contains(&key.get_ref().as_ref())) else { return Ok(()) };
    let (line, column) = place(text, key.span().start);
    let key = key.get_ref().as_ref().to_owned();
    let nearest = crate::nearest::nearest(&key, names.iter().copied()).map(str::to_owned);
    Err(FileError::Unknown { path: path.to_owned(), line, column, key, nearest })
}

/// Line and column, both from 1, of a byte in a text.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let start_of_line = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[start_of_line..].chars().count() + 1)
}

/// Readers of single values. They fail in the place where the value stands, so that TOML's
/// reader can tell the line.
pub(super) mod de {
    use std::fmt;
    use std::time::Duration;

    use serde::de::{self, Deserializer, SeqAccess, Visitor};

    use crate::config::parse::{self, ValueError};
    use crate::config::{Endpoint, Format, Secret, TtlPolicy, environment};
    use crate::domain::Lang;

    /// Text that `read` makes a value of.
    struct Text<T> {
        expecting: &'static str,
        read: fn(&str) -> Result<T, ValueError>,
    }

    impl<T> Visitor<'_> for Text<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.expecting)
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
            (self.read)(text).map_err(E::custom)
        }
    }

    pub fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        let expecting = "a duration in quotes, such as \"5s\"";
        from.deserialize_str(Text { expecting, read: parse::duration }).map(Some)
    }

    pub fn format<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Format>, D::Error> {
        from.deserialize_str(Text { expecting: "simple, table or json", read: environment::format }).map(Some)
    }

    pub fn lang<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Lang>, D::Error> {
        from.deserialize_str(Text { expecting: "en or zh", read: environment::lang }).map(Some)
    }

    pub fn ttl<'de, D: Deserializer<'de>>(from: D) -> Result<Option<TtlPolicy>, D::Error> {
        from.deserialize_str(Text { expecting: "holders, all or none", read: environment::ttl }).map(Some)
    }

    /// A secret; unlike other text it is never quoted in an error.
    pub fn secret<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Secret>, D::Error> {
        struct Hidden;

        impl Visitor<'_> for Hidden {
            type Value = Secret;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text in quotes")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Secret, E> {
                Ok(Secret(text.to_owned()))
            }

            fn visit_bool<E: de::Error>(self, _: bool) -> Result<Secret, E> {
                Err(E::custom("it has to be text in quotes"))
            }

            fn visit_i64<E: de::Error>(self, _: i64) -> Result<Secret, E> {
                Err(E::custom("it has to be text in quotes"))
            }

            fn visit_f64<E: de::Error>(self, _: f64) -> Result<Secret, E> {
                Err(E::custom("it has to be text in quotes"))
            }
        }
        from.deserialize_any(Hidden).map(Some)
    }

    pub fn ttl_budget<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
        struct Count;

        impl Visitor<'_> for Count {
            type Value = u32;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<u32, E> {
                environment::ttl_budget(&number.to_string()).map_err(E::custom)
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<u32, E> {
                environment::ttl_budget(&number.to_string()).map_err(E::custom)
            }
        }
        from.deserialize_any(Count).map(Some)
    }

    /// A number of things.
    pub fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
        struct Number;

        impl Visitor<'_> for Number {
            type Value = u32;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<u32, E> {
                parse::count(&number.to_string(), 1, 1_000_000).map_err(E::custom)
            }
        }
        from.deserialize_any(Number).map(Some)
    }

    /// One text, or a list of them.
    struct List<T> {
        expecting: &'static str,
        read: fn(&str) -> Result<Vec<T>, ValueError>,
    }

    impl<'de, T> Visitor<'de> for List<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.expecting)
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<T>, E> {
            (self.read)(text).map_err(E::custom)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
            let mut all = Vec::new();
            while let Some(text) = items.next_element::<String>()? {
                all.extend((self.read)(&text).map_err(de::Error::custom)?);
            }
            Ok(all)
        }
    }

    pub fn endpoints<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<Endpoint>>, D::Error> {
        let expecting = "a list of endpoints, such as [\"db1:2379\", \"db2:2379\"]";
        let all = from.deserialize_any(List { expecting, read: parse::endpoints })?;
        if all.is_empty() { Err(de::Error::custom(ValueError::NoEndpoint)) } else { Ok(Some(all)) }
    }

    pub fn prefixes<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<Vec<u8>>>, D::Error> {
        let expecting = "a prefix or a list of prefixes";
        from.deserialize_any(List { expecting, read: |text| Ok(vec![text.as_bytes().to_vec()]) }).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn read(text: &str) -> Result<Layer, String> {
        Layer::from_toml(text, Path::new("/c/config.toml")).map_err(|error| error.to_string())
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
