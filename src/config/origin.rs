//! What is in force, setting by setting, and where each came from.

use std::fmt;
use std::path::PathBuf;

use toml::Value;

use super::{Findings, Layer, SETTINGS, Secret, VARIABLES};

/// What is shown of a password.
pub const MASK: &str = "***";

/// A source of settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The command line.
    Flags,
    /// Environment variables.
    Environment,
    /// The context of this name.
    Context(String),
    /// The configuration file, outside its contexts.
    File(PathBuf),
    /// The locale.
    Locale,
    /// Nobody said anything.
    Default,
}

/// What is in force of one setting.
#[derive(Clone, Debug, PartialEq)]
pub struct InForce {
    /// Its name; behind a dot when it stands in a section.
    pub name: String,
    /// Its value; none where there is no default, or each command has its own.
    pub value: Option<Value>,
    /// Where it came from.
    pub origin: Origin,
}

impl InForce {
    /// The flag, the variable or the place that it came from, as one types or reads it.
    pub fn origin_words(&self) -> String {
        self.origin.words_for(&self.name)
    }
}

impl Origin {
    /// The flag, the variable or the place that a setting came from, as one types or reads it.
    pub fn words_for(&self, setting: &str) -> String {
        match self {
            Self::Flags => format!("--{setting}"),
            Self::Environment => {
                VARIABLES.iter().find(|(name, _)| *name == setting).map_or("environment", |pair| pair.1).to_owned()
            }
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flags => f.write_str("flags"),
            Self::Environment => f.write_str("environment"),
            Self::Context(name) => write!(f, "context {name}"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Locale => f.write_str("locale"),
            Self::Default => f.write_str("default"),
        }
    }
}

/// All settings as these sources, the strongest first, say them together.
pub fn in_force(layers: &[(Origin, Layer)]) -> Vec<InForce> {
    let said: Vec<_> = layers.iter().map(|(origin, layer)| (origin, layer.said(), layer.findings.said())).collect();
    let alone = SETTINGS.iter().enumerate().map(|(at, setting)| {
        let found = said.iter().find_map(|(origin, said, _)| Some(((*origin).clone(), said[at].1.clone()?)));
        (setting.name.to_owned(), setting, found)
    });
    let findings = Findings::SETTINGS.iter().enumerate().map(|(at, setting)| {
        let found = said.iter().find_map(|(origin, _, said)| Some(((*origin).clone(), said[at].1.clone()?)));
        (format!("findings.{}", setting.name), setting, found)
    });
    let all = alone.chain(findings).map(|(name, setting, found)| match found {
        Some((origin, value)) => InForce { name, value: Some(value), origin },
        None => InForce {
            name,
            value: if setting.is_default { setting.value.parse().ok() } else { None },
            origin: Origin::Default,
        },
    });
    all.collect()
}

impl Layer {
    /// What it says of every setting outside a section, as the file would have it, in the order
    /// of [`Layer::NAMES`]. Passwords are masked.
    pub fn said(&self) -> [(&'static str, Option<Value>); 27] {
        // Without `..`, so that a new setting cannot be forgotten.
        let Self {
            context,
            endpoints,
            cacert,
            cert,
            key,
            user,
            password,
            insecure_skip_tls_verify,
            insecure_transport,
            dial_timeout,
            command_timeout,
            keepalive_time,
            keepalive_timeout,
            write_out,
            hex,
            debug,
            prefix,
            read_only,
            lang,
            theme,
            ascii,
            no_mouse,
            reduce_motion,
            log_file,
            audit_log,
            ttl_budget,
            ttl,
            findings: _,
        } = self;
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| text(path.to_string_lossy()));
        let switch = |on: &Option<bool>| on.map(Value::from);
        let length = |length: &Option<std::time::Duration>| length.map(duration);
        let values = [
            context.as_ref().map(text),
            endpoints.as_ref().map(|all| list(all.iter().map(ToString::to_string))),
            path(cacert),
            path(cert),
            path(key),
            user.as_ref().map(user_without_password),
            password.as_ref().map(|_| text(MASK)),
            switch(insecure_skip_tls_verify),
            switch(insecure_transport),
            length(dial_timeout),
            length(command_timeout),
            length(keepalive_time),
            length(keepalive_timeout),
            write_out.map(|format| text(format.word())),
            switch(hex),
            switch(debug),
            prefix.as_ref().map(|all| list(all.iter().map(|prefix| String::from_utf8_lossy(prefix)))),
            switch(read_only),
            lang.map(|lang| text(lang.word())),
            theme.as_ref().map(text),
            switch(ascii),
            switch(no_mouse),
            switch(reduce_motion),
            path(log_file),
            path(audit_log),
            ttl_budget.map(|budget| Value::from(i64::from(budget))),
            ttl.map(|ttl| text(ttl.word())),
        ];
        let mut names = Self::NAMES.into_iter();
        values.map(|value| (names.next().unwrap_or_default(), value))
    }
}

/// A length of time as the file has it, in the largest unit of which it is a whole number.
pub(super) fn duration(length: std::time::Duration) -> Value {
    let nanos = length.as_nanos();
    let units =
        [("h", 3_600_000_000_000), ("m", 60_000_000_000), ("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    let (unit, size) = units.into_iter().find(|(_, size)| nanos.is_multiple_of(*size)).unwrap_or(("ns", 1));
    text(format!("{}{unit}", nanos / size))
}

/// A password that is written into the user's name stays what it is: a secret.
fn user_without_password(Secret(user): &Secret) -> Value {
    text(match user.split_once(':') {
        Some((name, _)) => format!("{name}:{MASK}"),
        None => user.clone(),
    })
}

fn list(texts: impl Iterator<Item = impl AsRef<str>>) -> Value {
    Value::Array(texts.map(text).collect())
}

fn text(text: impl AsRef<str>) -> Value {
    Value::from(text.as_ref())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::File;

    fn file(text: &str) -> Layer {
        File::from_toml(text, Path::new("c.toml")).unwrap().layer
    }

    fn of<'a>(all: &'a [InForce], name: &str) -> &'a InForce {
        all.iter().find(|one| one.name == name).unwrap()
    }

    #[test]
    fn each_setting_names_the_strongest_source_that_says_it() {
        let environment = Layer::from_environment(|name| (name == "ETCDCTL_DIAL_TIMEOUT").then(|| "3s".into()));
        let all = in_force(&[
            (Origin::Flags, Layer { hex: Some(true), ..Layer::default() }),
            (Origin::Environment, environment.unwrap()),
            (Origin::Context("prod".into()), file("read-only = true\n[findings]\nlag = \"9s\"")),
            (Origin::File("c.toml".into()), file("hex = false\nread-only = false\nendpoints = ['a:1', 'https://b:1']")),
        ]);
        let told = |name: &str| {
            let one = of(&all, name);
            (one.value.as_ref().map(ToString::to_string).unwrap_or_default(), one.origin_words())
        };
        let is = |value: &str, origin: &str| (value.to_owned(), origin.to_owned());
        assert_eq!(told("hex"), is("true", "--hex"));
        assert_eq!(told("dial-timeout"), is("\"3s\"", "ETCDCTL_DIAL_TIMEOUT"));
        assert_eq!(told("read-only"), is("true", "context prod"));
        assert_eq!(told("endpoints"), is("[\"a:1\", \"https://b:1\"]", "c.toml"));
        assert_eq!(told("ttl-budget"), is("200", "default"));
        assert_eq!(told("theme"), is("", "default"));
        assert_eq!(told("findings.lag"), is("\"9s\"", "context prod"));
        assert_eq!(told("findings.long-hold"), is("\"15m\"", "default"));
        assert_eq!(all.len(), Layer::NAMES.len() + Findings::NAMES.len());
    }

    #[test]
    fn no_password_is_among_what_is_said() {
        let all = in_force(&[(Origin::Flags, file("user = \"root:hunter2\"\npassword = \"hunter3\""))]);
        assert!(!format!("{all:?}").contains("hunter"));
        assert_eq!(of(&all, "user").value, Some(text("root:***")));
    }

    #[test]
    fn lengths_of_time_are_written_one_way_whoever_says_them() {
        let layer = file("[findings]\nlong-hold = '900s'\nkept-waiting = '1m30s'\nlag = '1.5s'\nstuck = '0h420s'");
        let all = in_force(&[(Origin::Flags, layer)]);
        let said = |name: &str| of(&all, name).value.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
        let is: Vec<_> =
            ["long-hold", "kept-waiting", "lag", "stuck"].map(|name| said(&format!("findings.{name}"))).into();
        assert_eq!(is, ["15m", "90s", "1500ms", "7m"]);
        for one in in_force(&[]) {
            let Some(said) = one.value.as_ref().and_then(Value::as_str) else { continue };
            let Ok(length) = crate::config::parse::duration(said) else { continue };
            assert_eq!(duration(length).as_str(), Some(said), "the default of {}", one.name);
        }
    }

    #[test]
    fn what_is_said_reads_as_what_was_meant() {
        let said = file("dial-timeout = \"1m30s\"\nkeepalive-time = \"500ms\"").said();
        let again: String =
            said.iter().filter_map(|(name, value)| Some(format!("{name} = {}\n", value.as_ref()?))).collect();
        assert_eq!(file(&again).said(), said);
    }
}
