//! Reads the values of settings as etcdctl's users write them: durations, booleans, endpoints.
//!
//! Every error says what was read, why it is no good and what would be; where the text came
//! from (a flag, a variable, a file) is added by the caller.

use std::fmt;
use std::time::Duration;

/// Why a setting's text could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// A number without a unit where a duration is wanted.
    #[error("a duration needs a unit: say `{0}s` for seconds or `{0}ms` for milliseconds")]
    NoUnit(String),
    /// No duration at all.
    #[error("`{0}` is no duration: write it as 5s, 500ms or 1m30s")]
    NotADuration(String),
    /// A duration below zero, or zero itself where time has to pass.
    #[error("`{0}` is too short: it has to be longer than zero")]
    TooShort(String),
    /// A duration below the least that makes a difference.
    #[error("`{0}` is too short: it has to be at least {1}")]
    Shorter(String, &'static str),
    /// A duration beyond what can be counted.
    #[error("`{0}` is too long")]
    TooLong(String),
    /// Neither true nor false.
    #[error("`{0}` is neither true nor false")]
    NotABoolean(String),
    /// No endpoint in a list of endpoints.
    #[error("no endpoint in it: write host:port, several with commas between them")]
    NoEndpoint,
    /// An endpoint with a scheme that cannot be spoken.
    #[error("endpoint `{endpoint}` starts with `{scheme}://`; only http:// and https:// are known")]
    Scheme {
        /// The endpoint as it was written.
        endpoint: String,
        /// Its scheme.
        scheme: String,
    },
    /// An endpoint without a port.
    #[error("endpoint `{0}` has no port: etcd's is usually 2379, as in `{0}:2379`")]
    NoPort(String),
    /// An endpoint that is no address.
    #[error("endpoint `{0}` is no address: write host:port")]
    NotAnEndpoint(String),
    /// Not a count, or one that is out of bounds.
    #[error("`{text}` is no whole number from {least} to {most}")]
    NotACount {
        /// What was read.
        text: String,
        /// The least that is accepted.
        least: u32,
        /// The most that is accepted.
        most: u32,
    },
    /// Not one of a few words.
    #[error("`{text}` is not one of {words}")]
    NotAWord {
        /// What was read.
        text: String,
        /// The words that are accepted, for people to read.
        words: &'static str,
    },
    /// Bytes that are no text.
    #[error("it is not UTF-8")]
    NotText,
}

/// An endpoint as it was written; whether one without a scheme is plain or TLS is decided
/// when all settings are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The scheme, when one was written: `http` or `https`.
    pub tls: Option<bool>,
    /// Host and port.
    pub authority: String,
}

impl fmt::Display for Endpoint {
    /// As it was written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.tls {
            Some(tls) => f.write_str(&self.url(tls)),
            None => f.write_str(&self.authority),
        }
    }
}

impl Endpoint {
    /// The endpoint as a URL; `tls` is for endpoints that do not say it themselves.
    pub fn url(&self, tls: bool) -> String {
        let scheme = if self.tls.unwrap_or(tls) { "https" } else { "http" };
        format!("{scheme}://{}", self.authority)
    }
}

/// Reads a duration longer than zero as Go writes them: `5s`, `1m30s`, `500ms`, `1.5h`.
pub fn duration(text: &str) -> Result<Duration, ValueError> {
    let bad = || ValueError::NotADuration(text.to_owned());
    if text.strip_prefix(['-', '+']).is_some() {
        return Err(if text.starts_with('-') { ValueError::TooShort(text.to_owned()) } else { bad() });
    }
    if text.parse::<f64>().is_ok_and(|number| number.is_finite() && number > 0.0) {
        return Err(ValueError::NoUnit(text.to_owned()));
    }
    let mut nanos = 0_u128;
    let mut rest = text;
    while !rest.is_empty() {
        let number_len = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(bad)?;
        let (number, tail) = rest.split_at(number_len);
        let unit_len = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_len);
        let unit = match unit {
            "ns" => 1,
            // Both the micro sign and the Greek letter are in use.
            "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return Err(bad()),
        };
        nanos += scaled(number, unit).ok_or_else(bad)?;
        rest = tail;
    }
    if nanos == 0 {
        return Err(if text.is_empty() { bad() } else { ValueError::TooShort(text.to_owned()) });
    }
    u64::try_from(nanos).map(Duration::from_nanos).map_err(|_| ValueError::TooLong(text.to_owned()))
}

/// `number` (digits with at most one point) times `unit`, cut to whole nanoseconds.
fn scaled(number: &str, unit: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || whole.len() > 12 || fraction.contains('.') {
        return None;
    }
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let fraction = &fraction[..fraction.len().min(12)];
    let divisor = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    let fraction: u128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    Some(whole * unit + fraction * unit / divisor)
}

/// Reads a boolean in the spellings Go's flags take.
pub fn boolean(text: &str) -> Result<bool, ValueError> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(ValueError::NotABoolean(text.to_owned())),
    }
}

/// Reads a count between two bounds, both included.
pub fn count(text: &str, least: u32, most: u32) -> Result<u32, ValueError> {
    text.parse().ok().filter(|number| (least..=most).contains(number)).ok_or_else(|| ValueError::NotACount {
        text: text.to_owned(),
        least,
        most,
    })
}

/// Reads a list of endpoints with commas between them; empty items are skipped.
pub fn endpoints(text: &str) -> Result<Vec<Endpoint>, ValueError> {
    let list: Vec<_> =
        text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(endpoint).collect::<Result<_, _>>()?;
    if list.is_empty() { Err(ValueError::NoEndpoint) } else { Ok(list) }
}

/// Reads one endpoint: `host:port` with or without a scheme.
pub fn endpoint(text: &str) -> Result<Endpoint, ValueError> {
    let (tls, authority) = match text.split_once("://") {
        Some(("http", rest)) => (Some(false), rest),
        Some(("https", rest)) => (Some(true), rest),
        Some((scheme, _)) => {
            return Err(ValueError::Scheme { endpoint: text.to_owned(), scheme: scheme.to_owned() });
        }
        None => (None, text),
    };
    let authority = authority.strip_suffix('/').unwrap_or(authority);
    let bad = || ValueError::NotAnEndpoint(text.to_owned());
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]%".contains(c);
    if authority.is_empty() || !authority.chars().all(plain) {
        return Err(bad());
    }
    // An IPv6 address stands in brackets, so that its colons are not taken for the port's.
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']').ok_or_else(bad)?;
            (host, port.strip_prefix(':'))
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let Some(port) = port else { return Err(ValueError::NoPort(text.trim_end_matches('/').to_owned())) };
    if host.is_empty() || !matches!(port.parse::<u16>(), Ok(1..)) {
        return Err(bad());
    }
    Ok(Endpoint { tls, authority: authority.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_writes_them() {
        for (text, millis) in
            [("5s", 5_000), ("1m30s", 90_000), ("500ms", 500), ("1.5h", 5_400_000), (".5s", 500), ("2h0m1s", 7_201_000)]
        {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        assert_eq!(duration("7us"), Ok(Duration::from_micros(7)));
        assert_eq!(duration("7\u{b5}s"), Ok(Duration::from_micros(7)));
        assert_eq!(duration("9ns"), Ok(Duration::from_nanos(9)));
    }

    #[test]
    fn a_bare_number_is_no_duration_and_the_error_says_what_to_write() {
        assert_eq!(duration("5"), Err(ValueError::NoUnit("5".into())));
        let message = duration("30").map_err(|error| error.to_string());
        assert_eq!(
            message,
            Err("a duration needs a unit: say `30s` for seconds or `30ms` for milliseconds".to_owned())
        );
    }

    #[test]
    fn nonsense_is_no_duration() {
        for text in ["", "s", "5 s", "5x", "1m30", "1..5s", "five", "5s!", "nan", "inf", "1e3s", "+5s", ".s"] {
            assert_eq!(duration(text), Err(ValueError::NotADuration(text.into())), "{text}");
        }
        for text in ["0s", "0", "0h0m", "-5s"] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert_eq!(duration("999999999999h"), Err(ValueError::TooLong("999999999999h".into())));
        assert!(duration("9999999999999999999999999999s").is_err());
    }

    #[test]
    fn booleans_are_those_of_go() {
        assert_eq!(boolean("T"), Ok(true));
        assert_eq!(boolean("0"), Ok(false));
        assert!(boolean("yes").is_err());
    }

    #[test]
    fn endpoints_may_leave_out_the_scheme() {
        let list = endpoints("127.0.0.1:2379, https://etcd-1.example:2379/,http://[::1]:2379,").unwrap();
        let plain: Vec<_> = list.iter().map(|endpoint| endpoint.url(false)).collect();
        assert_eq!(plain, ["http://127.0.0.1:2379", "https://etcd-1.example:2379", "http://[::1]:2379"]);
        let secure: Vec<_> = list.iter().map(|endpoint| endpoint.url(true)).collect();
        assert_eq!(secure, ["https://127.0.0.1:2379", "https://etcd-1.example:2379", "http://[::1]:2379"]);
    }

    #[test]
    fn what_is_no_endpoint_is_refused() {
        assert_eq!(endpoints(" , "), Err(ValueError::NoEndpoint));
        assert_eq!(endpoint("db1"), Err(ValueError::NoPort("db1".into())));
        assert_eq!(endpoint("[::1]"), Err(ValueError::NoPort("[::1]".into())));
        assert!(matches!(endpoint("unix:///run/etcd.sock"), Err(ValueError::Scheme { .. })));
        for text in
            ["host:", ":2379", "host:0", "host:65536", "host:x", "::1:2379", "a b:1", "http://", "h:1/x", "[::1:1"]
        {
            assert_eq!(endpoint(text), Err(ValueError::NotAnEndpoint(text.into())), "{text}");
        }
    }

    #[test]
    fn counts_keep_their_bounds() {
        assert_eq!(count("200", 1, 1_000), Ok(200));
        for text in ["0", "1001", "-1", "x", "", "1.5"] {
            assert!(count(text, 1, 1_000).is_err(), "{text}");
        }
    }
}
