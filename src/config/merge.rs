//! Puts the layers over each other and decides what follows from several settings together.

use std::fmt;
use std::path::{Path, PathBuf};

use super::layer::Secret;
use super::{
    Config, Connection, Credentials, Display, Endpoint, File, FileError, Layer, Logging, Origin, Output, Polling,
    Recording, Tls, ValueError, reach,
};

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A variable's value is no good.
    #[error("{name}: {why}")]
    Variable {
        /// The variable.
        name: &'static str,
        /// What is wrong with its value.
        why: ValueError,
    },
    /// The configuration file is no good.
    #[error(transparent)]
    File(#[from] FileError),
    /// A context that there is none of.
    #[error("there is no context `{name}`{}", ContextHint { nearest: nearest.as_deref(), known, missing: missing.as_deref() })]
    UnknownContext {
        /// The name that was asked for.
        name: String,
        /// The context whose name is nearest.
        nearest: Option<String>,
        /// Those there are.
        known: Vec<String>,
        /// Where a file was looked for and is none.
        missing: Option<PathBuf>,
    },
    /// A client certificate without its key, or the other way round.
    #[error("--{given} is given without --{missing}: a client certificate needs both files")]
    HalfAnIdentity {
        /// The setting that is there.
        given: &'static str,
        /// The setting that is missing.
        missing: &'static str,
    },
    /// The password of a user is not known and could not be asked for.
    #[error("no password for user `{user}`: {why}")]
    NoPassword {
        /// The user's name.
        user: String,
        /// Why it could not be asked for.
        why: String,
    },
    /// A person broke off at the question for the password.
    #[error("interrupted")]
    Interrupted,
}

struct ContextHint<'a> {
    nearest: Option<&'a str>,
    known: &'a [String],
    missing: Option<&'a Path>,
}

impl fmt::Display for ContextHint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = self.missing {
            return write!(f, "; there is no configuration file at {}", path.display());
        }
        match self.nearest {
            Some(name) => write!(f, "; did you mean `{name}`?"),
            None if self.known.is_empty() => f.write_str("; the configuration file has no section [contexts.NAME]"),
            None => write!(f, "; the contexts are {}", self.known.join(", ")),
        }
    }
}

/// What the context says that these layers, the strongest first, choose together; `None` when
/// they choose none. Empty is none: so a flag can refuse the file's. `missing` is where the file was
/// looked for when it is not there.
///
/// # Errors
/// When there is no context of that name.
pub fn chosen(layers: &[&Layer], file: &File, missing: Option<&Path>) -> Result<Option<(String, Layer)>, ConfigError> {
    let name = layers.iter().chain(&[&file.layer]).find_map(|layer| layer.context.as_ref());
    let Some(name) = name.filter(|name| !name.is_empty()) else { return Ok(None) };
    match file.contexts.get(name) {
        Some(layer) => Ok(Some((name.clone(), layer.clone()))),
        None => Err(ConfigError::UnknownContext {
            nearest: crate::nearest::nearest(name, file.contexts.keys().map(String::as_str)).map(str::to_owned),
            known: file.contexts.keys().cloned().collect(),
            missing: missing.map(Path::to_owned),
            name: name.clone(),
        }),
    }
}

/// Merges layers, the strongest first. `ask` is called with the user's name when the
/// password is known to none of them.
///
/// # Errors
/// When settings contradict each other, or `ask` fails.
pub fn merge(
    layers: &[(Origin, Layer)],
    ask: impl FnOnce(&str) -> Result<String, ConfigError>,
) -> Result<Config, ConfigError> {
    let read_only = read_only(layers);
    let user = match login(layers) {
        Some((name, Some(password))) => Some(Credentials { name, password }),
        Some((name, None)) => {
            let password = ask(&name)?;
            Some(Credentials { name, password })
        }
        None => None,
    };
    let all = layers.iter().rev().fold(Layer::default(), |below, (_, layer)| layer.clone().over(below));
    let tls = Tls {
        cacert: not_empty(all.cacert),
        cert: not_empty(all.cert),
        key: not_empty(all.key),
        skip_verify: all.insecure_skip_tls_verify.unwrap_or(false),
    };
    match (&tls.cert, &tls.key) {
        (Some(_), None) => return Err(ConfigError::HalfAnIdentity { given: "cert", missing: "key" }),
        (None, Some(_)) => return Err(ConfigError::HalfAnIdentity { given: "key", missing: "cert" }),
        _ => {}
    }
    // etcdctl speaks TLS to an endpoint without a scheme when it has any file for it, or is
    // told that plain transport will not do; --insecure-skip-tls-verify alone changes nothing.
    let secure =
        tls.cacert.is_some() || tls.cert.is_some() || tls.key.is_some() || all.insecure_transport == Some(false);
    let Connection { endpoints, dial_timeout, command_timeout, keepalive_time, keepalive_timeout, .. } =
        Connection::default();
    let endpoints = match all.endpoints {
        Some(list) => list.iter().map(|endpoint| endpoint.url(secure)).collect(),
        None if secure => vec![Endpoint { tls: None, authority: "127.0.0.1:2379".into() }.url(true)],
        None => endpoints,
    };
    let connection = Connection {
        endpoints,
        tls,
        user,
        dial_timeout: all.dial_timeout.unwrap_or(dial_timeout),
        command_timeout: all.command_timeout.unwrap_or(command_timeout),
        keepalive_time: all.keepalive_time.unwrap_or(keepalive_time),
        keepalive_timeout: all.keepalive_timeout.unwrap_or(keepalive_timeout),
    };
    Ok(Config {
        context: all.context.filter(|name| !name.is_empty()),
        endpoints_from: reach::endpoints_from(layers),
        reach: reach::reach(layers, &connection),
        connection,
        prefixes: all.prefix.unwrap_or_default(),
        read_only,
        audit_log: not_empty(all.audit_log),
        lang: all.lang.unwrap_or_default(),
        display: Display {
            theme: all.theme.filter(|name| !name.is_empty()),
            ascii: all.ascii.unwrap_or(false),
            mouse: !all.no_mouse.unwrap_or(false),
            reduce_motion: all.reduce_motion.unwrap_or(false),
        },
        output: Output { format: all.write_out, hex: all.hex.unwrap_or(false) },
        polling: Polling { budget: all.ttl_budget.unwrap_or(Polling::default().budget), ttl: all.ttl },
        logging: Logging { debug: all.debug.unwrap_or(false), file: not_empty(all.log_file) },
        findings: all.findings,
        // That is for one run alone, and no setting.
        recording: Recording::default(),
    })
}

/// What says that writes are refused, unless what is stronger says that they are not.
fn read_only(layers: &[(Origin, Layer)]) -> Option<String> {
    let (origin, _) = layers
        .iter()
        .find(|(_, layer)| layer.read_only.is_some())
        .filter(|(_, layer)| layer.read_only == Some(true))?;
    Some(match origin {
        Origin::Context(_) | Origin::File(_) => format!("read-only in {origin}"),
        _ => origin.words_for("read-only"),
    })
}

/// Who logs in, by etcdctl's rules: with a password of its own the user is a name and
/// nothing else; without one the user may be `name:password`. A password from a layer below
/// the user's is taken for a bare name only: it belongs to nobody in particular, whereas one
/// inside another layer's user belongs to that user.
fn login(layers: &[(Origin, Layer)]) -> Option<(String, Option<String>)> {
    let user_at = layers.iter().position(|(_, layer)| layer.user.is_some())?;
    let Secret(user) = layers[user_at].1.user.clone()?;
    if user.is_empty() {
        return None;
    }
    let password_at = layers.iter().position(|(_, layer)| layer.password.is_some());
    let password = password_at.and_then(|at| layers[at].1.password.clone()).map(|Secret(password)| password);
    let beside = password.clone().filter(|password| !password.is_empty() && password_at <= Some(user_at));
    match (beside, user.split_once(':')) {
        (Some(password), _) => Some((user, Some(password))),
        (None, Some((name, inline))) => Some((name.to_owned(), Some(inline.to_owned()))),
        (None, None) => Some((user, password.filter(|password| !password.is_empty()))),
    }
}

/// etcdctl takes an empty path for none, and scripts rely on it.
fn not_empty(path: Option<PathBuf>) -> Option<PathBuf> {
    path.filter(|path| !path.as_os_str().is_empty())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::{File, Format, TtlPolicy, parse};

    /// Layers whose origins do not matter.
    fn merge(layers: Vec<Layer>, ask: impl FnOnce(&str) -> Result<String, ConfigError>) -> Result<Config, ConfigError> {
        super::merge(&layers.into_iter().map(|layer| (Origin::Default, layer)).collect::<Vec<_>>(), ask)
    }

    fn never(_: &str) -> Result<String, ConfigError> {
        panic!("nobody is to be asked")
    }

    fn toml(text: &str) -> Layer {
        File::from_toml(text, Path::new("config.toml")).unwrap().layer
    }

    fn environment(pairs: &[(&str, &str)]) -> Layer {
        Layer::from_environment(|name| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1.into())).unwrap()
    }

    /// What three sources say about one setting, by the name of the flag.
    fn three(name: &str, flag: &str, variable: &str, file: &str) -> [Layer; 3] {
        let variable_name = crate::config::VARIABLES.iter().find(|pair| pair.0 == name).unwrap().1;
        // A flag's text is read by the functions that read a variable's; the table of both is
        // tested where flags are defined.
        [
            environment(&[(variable_name, flag)]),
            environment(&[(variable_name, variable)]),
            toml(&format!("{name} = {file}")),
        ]
    }

    #[test]
    fn flags_beat_variables_beat_the_file_beats_the_default_for_every_setting() {
        type Show = fn(&Config) -> String;
        let secs = |secs: u64| format!("{:?}", Duration::from_secs(secs));
        let table: [(&str, [&str; 3], [String; 4], Show); 24] = [
            (
                "endpoints",
                ["a:1", "b:1", "['c:1']"],
                ["http://a:1", "http://b:1", "http://c:1", "http://127.0.0.1:2379"].map(Into::into),
                |c| c.connection.endpoints.join(","),
            ),
            ("cacert", ["a", "b", "'c'"], ["a", "b", "c", "-"].map(Into::into), |c| {
                path(c.connection.tls.cacert.as_ref())
            }),
            ("insecure-skip-tls-verify", ["1", "0", "true"], ["true", "false", "true", "false"].map(Into::into), |c| {
                c.connection.tls.skip_verify.to_string()
            }),
            ("insecure-transport", ["0", "1", "false"], ["true", "false", "true", "false"].map(Into::into), |c| {
                c.connection.endpoints[0].starts_with("https").to_string()
            }),
            ("dial-timeout", ["1s", "3s", "'4s'"], [secs(1), secs(3), secs(4), secs(2)], |c| {
                format!("{:?}", c.connection.dial_timeout)
            }),
            ("command-timeout", ["1s", "3s", "'4s'"], [secs(1), secs(3), secs(4), secs(5)], |c| {
                format!("{:?}", c.connection.command_timeout)
            }),
            ("keepalive-time", ["1s", "3s", "'4s'"], [secs(1), secs(3), secs(4), secs(2)], |c| {
                format!("{:?}", c.connection.keepalive_time)
            }),
            ("keepalive-timeout", ["1s", "3s", "'4s'"], [secs(1), secs(3), secs(4), secs(6)], |c| {
                format!("{:?}", c.connection.keepalive_timeout)
            }),
            ("user", ["a:1", "b:1", "'c:1'"], ["a", "b", "c", "-"].map(Into::into), |c| {
                c.connection.user.as_ref().map_or("-".into(), |user| user.name.clone())
            }),
            (
                "write-out",
                ["json", "table", "'simple'"],
                ["Some(Json)", "Some(Table)", "Some(Simple)", "None"].map(Into::into),
                |c| format!("{:?}", c.output.format),
            ),
            ("hex", ["1", "0", "true"], ["true", "false", "true", "false"].map(Into::into), |c| {
                c.output.hex.to_string()
            }),
            ("debug", ["1", "0", "true"], ["true", "false", "true", "false"].map(Into::into), |c| {
                c.logging.debug.to_string()
            }),
            ("prefix", ["/a", "/b", "['/c', '/d']"], ["/a", "/b", "/c,/d", ""].map(Into::into), |c| {
                String::from_utf8(c.prefixes.join(&b","[..])).unwrap()
            }),
            ("read-only", ["0", "1", "false"], ["false", "true", "false", "false"].map(Into::into), |c| {
                c.read_only.is_some().to_string()
            }),
            (
                "context",
                ["a", "b", "'c'"],
                ["Some(\"a\")", "Some(\"b\")", "Some(\"c\")", "None"].map(Into::into),
                |c| format!("{:?}", c.context),
            ),
            ("lang", ["zh", "en", "'zh'"], ["Chinese", "English", "Chinese", "English"].map(Into::into), |c| {
                format!("{:?}", c.lang)
            }),
            ("theme", ["a", "b", "'c'"], ["Some(\"a\")", "Some(\"b\")", "Some(\"c\")", "None"].map(Into::into), |c| {
                format!("{:?}", c.display.theme)
            }),
            ("ascii", ["1", "0", "true"], ["true", "false", "true", "false"].map(Into::into), |c| {
                c.display.ascii.to_string()
            }),
            ("no-mouse", ["1", "0", "true"], ["false", "true", "false", "true"].map(Into::into), |c| {
                c.display.mouse.to_string()
            }),
            ("reduce-motion", ["1", "0", "true"], ["true", "false", "true", "false"].map(Into::into), |c| {
                c.display.reduce_motion.to_string()
            }),
            ("log-file", ["a", "b", "'c'"], ["a", "b", "c", "-"].map(Into::into), |c| path(c.logging.file.as_ref())),
            ("audit-log", ["a", "b", "'c'"], ["a", "b", "c", "-"].map(Into::into), |c| path(c.audit_log.as_ref())),
            ("ttl-budget", ["1", "2", "3"], ["1", "2", "3", "200"].map(Into::into), |c| c.polling.budget.to_string()),
            (
                "ttl",
                ["all", "none", "'holders'"],
                ["Some(All)", "Some(None)", "Some(Holders)", "None"].map(Into::into),
                |c| format!("{:?}", c.polling.ttl),
            ),
        ];
        for (name, [flag, variable, file], expected, show) in table {
            let [flag, variable, file] = three(name, flag, variable, file);
            let none = Layer::default;
            let layers = [
                vec![flag, variable.clone(), file.clone()],
                vec![none(), variable, file.clone()],
                vec![none(), none(), file],
                vec![none(), none(), none()],
            ];
            for (layers, expected) in layers.into_iter().zip(expected) {
                assert_eq!(show(&merge(layers, never).unwrap()), expected, "{name}");
            }
        }
    }

    #[test]
    fn what_refuses_writes_is_named_as_one_would_look_for_it() {
        let says = |read_only| Layer { read_only, ..Layer::default() };
        let by = |layers: &[(Origin, Option<bool>)]| {
            let layers = layers.iter().map(|(origin, said)| (origin.clone(), says(*said))).collect::<Vec<_>>();
            super::merge(&layers, never).unwrap().read_only
        };
        let file = Origin::File("/c.toml".into());
        let prod = Origin::Context("prod".into());
        for (layers, expected) in [
            (&[(Origin::Flags, Some(true)), (Origin::Environment, Some(false))][..], Some("--read-only")),
            (&[(Origin::Flags, None), (Origin::Environment, Some(true))], Some("LOCKSCOPE_READ_ONLY")),
            (&[(prod, Some(true)), (file.clone(), Some(true))], Some("read-only in context prod")),
            (&[(Origin::Flags, None), (file.clone(), Some(true))], Some("read-only in /c.toml")),
            (&[(Origin::Flags, Some(false)), (file, Some(true))], None),
            (&[], None),
        ] {
            assert_eq!(by(layers).as_deref(), expected, "{layers:?}");
        }
    }

    #[test]
    fn the_strongest_source_chooses_the_context_and_the_nearest_is_named_for_one_that_is_not_there() {
        let file = File::from_toml(
            "context = 'dev'\n[contexts.dev]\nhex = true\n[contexts.prod]\nread-only = true",
            Path::new("c.toml"),
        )
        .unwrap();
        let name = |name: &str| Layer { context: Some(name.to_owned()), ..Layer::default() };
        let choose = |flag: &Layer, variable: &Layer| {
            chosen(&[flag, variable], &file, None)
                .map(|found| found.map(|found| found.0))
                .map_err(|error| error.to_string())
        };
        let none = Layer::default();
        assert_eq!(choose(&none, &none), Ok(Some("dev".into())));
        assert_eq!(choose(&none, &name("prod")), Ok(Some("prod".into())));
        assert_eq!(choose(&name("dev"), &name("prod")), Ok(Some("dev".into())));
        assert_eq!(choose(&name(""), &name("prod")), Ok(None));
        assert_eq!(choose(&name("prdo"), &none), Err("there is no context `prdo`; did you mean `prod`?".into()));
        assert_eq!(
            choose(&name("zebra"), &none),
            Err("there is no context `zebra`; the contexts are dev, prod".into())
        );
        let error = chosen(&[&name("x")], &File::default(), None).unwrap_err().to_string();
        assert!(error.contains("has no section [contexts.NAME]"), "{error}");
    }

    #[test]
    fn a_context_stands_between_the_environment_and_the_file() {
        let file =
            "dial-timeout = '4s'\ncommand-timeout = '4s'\nkeepalive-time = '4s'\n[findings]\nlag = '4s'\nsilent = '4s'";
        let context = "dial-timeout = '3s'\ncommand-timeout = '3s'\n[findings]\nlag = '3s'";
        let layers = vec![environment(&[("ETCDCTL_DIAL_TIMEOUT", "1s")]), toml(context), toml(file)];
        let config = merge(layers, never).unwrap();
        let secs = Duration::from_secs;
        assert_eq!(config.connection.dial_timeout, secs(1));
        assert_eq!(config.connection.command_timeout, secs(3));
        assert_eq!(config.connection.keepalive_time, secs(4));
        assert_eq!((config.findings.lag, config.findings.silent), (Some(secs(3)), Some(secs(4))));
    }

    fn path(path: Option<&PathBuf>) -> String {
        path.map_or("-".into(), |path| path.display().to_string())
    }

    #[test]
    fn the_defaults_are_those_of_etcdctl() {
        let config = merge(vec![], never).unwrap();
        assert_eq!(config, Config::default());
        assert_eq!(config.polling.budget, 200);
        assert_eq!(config.output.format.unwrap_or(Format::Simple), Format::Simple);
        assert_eq!(config.polling.ttl.unwrap_or(TtlPolicy::Holders), TtlPolicy::Holders);
    }

    #[test]
    fn files_for_tls_or_no_insecure_transport_make_endpoints_without_a_scheme_https() {
        let urls = |pairs: &[(&str, &str)]| merge(vec![environment(pairs)], never).map(|c| c.connection.endpoints);
        let list = ("ETCDCTL_ENDPOINTS", "a:1,http://b:1,https://c:1");
        let plain = ["http://a:1", "http://b:1", "https://c:1"];
        let secure = ["https://a:1", "http://b:1", "https://c:1"];
        assert_eq!(urls(&[list]).unwrap(), plain);
        assert_eq!(urls(&[list, ("ETCDCTL_INSECURE_SKIP_TLS_VERIFY", "true")]).unwrap(), plain);
        assert_eq!(urls(&[list, ("ETCDCTL_INSECURE_TRANSPORT", "true")]).unwrap(), plain);
        assert_eq!(urls(&[list, ("ETCDCTL_INSECURE_TRANSPORT", "false")]).unwrap(), secure);
        assert_eq!(urls(&[list, ("ETCDCTL_CACERT", "ca.pem")]).unwrap(), secure);
        assert_eq!(urls(&[list, ("ETCDCTL_CERT", "c.pem"), ("ETCDCTL_KEY", "k.pem")]).unwrap(), secure);
        assert_eq!(urls(&[("ETCDCTL_CACERT", "ca.pem")]).unwrap(), ["https://127.0.0.1:2379"]);
        let error = urls(&[list, ("ETCDCTL_KEY", "k.pem")]).unwrap_err().to_string();
        assert_eq!(error, "--key is given without --cert: a client certificate needs both files");
    }

    fn who(user: Option<&str>, password: Option<&str>) -> Layer {
        let secret = |text: &str| Secret(text.to_owned());
        Layer { user: user.map(secret), password: password.map(secret), ..Layer::default() }
    }

    #[test]
    fn a_password_goes_with_the_user_it_was_given_for() {
        let logged_in = |layers: Vec<Layer>| {
            merge(layers, |name| Ok(format!("asked for {name}")))
                .unwrap()
                .connection
                .user
                .map(|user| (user.name, user.password))
        };
        let is = |name: &str, password: &str| Some((name.to_owned(), password.to_owned()));
        assert_eq!(logged_in(vec![who(None, Some("x"))]), None);
        assert_eq!(logged_in(vec![who(Some("root:a:b"), None)]), is("root", "a:b"));
        assert_eq!(logged_in(vec![who(Some("root"), None)]), is("root", "asked for root"));
        assert_eq!(logged_in(vec![who(Some("root:x"), Some("y"))]), is("root:x", "y"));
        assert_eq!(logged_in(vec![who(Some("bob"), None), who(Some("root:x"), None)]), is("bob", "asked for bob"));
        assert_eq!(logged_in(vec![who(Some("bob"), None), who(Some("root"), Some("x"))]), is("bob", "x"));
        assert_eq!(logged_in(vec![who(Some("bob:y"), None), who(None, Some("x"))]), is("bob", "y"));
        assert_eq!(logged_in(vec![who(None, Some("z")), who(Some("root"), Some("x"))]), is("root", "z"));
        assert_eq!(logged_in(vec![who(Some(""), None), who(Some("root"), Some("x"))]), None);
        assert_eq!(logged_in(vec![who(Some("root:"), None)]), is("root", ""));
    }

    #[test]
    fn no_debug_output_shows_a_password() {
        let layers = vec![who(Some("root:hunter2"), None)];
        assert!(!format!("{layers:?}").contains("hunter2"));
        let config = merge(layers, never).unwrap();
        assert!(!format!("{config:?}").contains("hunter2"));
    }

    #[test]
    fn an_empty_path_is_none() {
        let layer = Layer { cacert: Some(PathBuf::new()), ..Layer::default() };
        let config = merge(vec![layer], never).unwrap();
        assert_eq!(config.connection, Connection::default());
        assert_eq!(
            config.connection.endpoints,
            parse::endpoints("127.0.0.1:2379").unwrap().iter().map(|e| e.url(false)).collect::<Vec<_>>()
        );
    }
}
