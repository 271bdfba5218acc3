//! The lines of a recording.
//!
//! `docs/recording.md` describes them; what is written here and there has to be read by every
//! later release. A reader of the same version ignores fields it does not know, so fields may be
//! added, with a default for recordings that lack them; what changes or takes away needs another
//! version.

use serde::{Deserialize, Serialize};

use super::harmless::Harmless;
use crate::domain::{ClusterId, Key, Redaction, Timestamp};
use crate::event::{Observation, Stamped};

/// The version of the format.
pub const VERSION: u32 = 1;

/// What the first field of a recording says.
pub(super) const MARK: &str = "recording";

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// That it is a recording.
    lockscope: String,
    /// The version of the format.
    version: u32,
    /// The version of the program that wrote it.
    #[serde(default)]
    pub program: String,
    /// When it began.
    pub at: Timestamp,
    /// The same for people, in UTC.
    #[serde(default)]
    pub when: String,
    /// The cluster, when it was known by then.
    #[serde(default)]
    pub cluster_id: Option<ClusterId>,
    /// The endpoints, without credentials.
    #[serde(default)]
    pub endpoints: Vec<String>,
    /// The prefixes that are watched; none when locks are found by themselves.
    #[serde(default)]
    pub prefixes: Vec<Key>,
    /// What was done to values.
    #[serde(default)]
    pub redaction: Redaction,
}

impl Header {
    /// The header of a recording that begins at `at`.
    pub fn new(at: Timestamp, endpoints: &[String], prefixes: &[Vec<u8>], redaction: Redaction) -> Self {
        Self {
            lockscope: MARK.to_owned(),
            version: VERSION,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            at,
            when: at.rfc3339().unwrap_or_default(),
            cluster_id: None,
            endpoints: endpoints.iter().map(|endpoint| without_credentials(endpoint)).collect(),
            prefixes: prefixes.iter().map(|prefix| Key::from(&prefix[..])).collect(),
            redaction,
        }
    }

    /// Says which cluster it is.
    #[must_use]
    pub const fn of(mut self, cluster: Option<ClusterId>) -> Self {
        self.cluster_id = cluster;
        self
    }
}

/// A URL without `name:password@`.
fn without_credentials(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").map_or(("", url), |(scheme, rest)| (scheme, rest));
    let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if scheme.is_empty() { format!("{host}{path}") } else { format!("{scheme}://{host}{path}") }
}

/// The last line of a recording that was ended in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// When it ended.
    pub at: Timestamp,
    /// Why, in a word or two.
    pub end: String,
    /// How many lines of observations there are.
    #[serde(default)]
    pub count: u64,
}

/// A line that says that something is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Dropped {
    pub at: Timestamp,
    pub dropped: u64,
}

/// Any line behind the first, as far as it is known.
#[derive(Debug, Deserialize)]
pub(super) struct Line {
    pub at: Option<Timestamp>,
    pub what: Option<Observation>,
    pub end: Option<String>,
    pub count: Option<u64>,
    pub dropped: Option<u64>,
}

/// Adds a line.
pub(super) fn write(line: &impl Serialize, to: &mut Vec<u8>) -> Result<(), serde_json::Error> {
    let before = to.len();
    let written = line.serialize(&mut serde_json::Serializer::with_formatter(&mut *to, Harmless));
    match &written {
        Ok(()) => to.push(b'\n'),
        // Half a line would spoil the next.
        Err(_) => to.truncate(before),
    }
    written
}

/// Adds the line of an observation.
pub(super) fn write_observation(observed: &Stamped<Observation>, to: &mut Vec<u8>) -> Result<(), serde_json::Error> {
    write(observed, to)
}

/// The names of all kinds of observations, as they stand in the lines.
pub const KINDS: [&str; 24] = [
    "link",
    "cluster",
    "scope",
    "listed",
    "watched",
    "progress",
    "watch_lost",
    "filled",
    "fill_ended",
    "past",
    "denied",
    "lease_list",
    "leases_missing",
    "lease_ttl",
    "leases_polled",
    "members",
    "status",
    "alarms",
    "raft",
    "fault_done",
    "play",
    "order_done",
    "lease_keys",
    "write_done",
];

/// The name of an observation's kind.
pub const fn kind(what: &Observation) -> &'static str {
    match what {
        Observation::Link(_) => "link",
        Observation::Cluster(_) => "cluster",
        Observation::Scope(_) => "scope",
        Observation::Listed(_) => "listed",
        Observation::Watched(_) => "watched",
        Observation::Progress(_) => "progress",
        Observation::WatchLost(_) => "watch_lost",
        Observation::Filled(_) => "filled",
        Observation::FillEnded { .. } => "fill_ended",
        Observation::Past { .. } => "past",
        Observation::Denied(_) => "denied",
        Observation::LeaseList(_) => "lease_list",
        Observation::LeasesMissing { .. } => "leases_missing",
        Observation::LeaseTtl(_) => "lease_ttl",
        Observation::LeasesPolled(_) => "leases_polled",
        Observation::Members(_) => "members",
        Observation::Status { .. } => "status",
        Observation::Alarms(_) => "alarms",
        Observation::Raft(_) => "raft",
        Observation::FaultDone(..) => "fault_done",
        Observation::Play(_) => "play",
        Observation::OrderDone(..) => "order_done",
        Observation::LeaseKeys(..) => "lease_keys",
        Observation::WriteDone(_) => "write_done",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_endpoint_keeps_its_credentials() {
        for (url, without) in [
            ("http://a:2379", "http://a:2379"),
            ("https://root:secret@a:2379", "https://a:2379"),
            ("root:s@cret@a:2379", "a:2379"),
            ("http://u@[::1]:2379/x@y", "http://[::1]:2379/x@y"),
        ] {
            let header = Header::new(Timestamp(0), &[url.to_owned()], &[], Redaction::None);
            assert_eq!(header.endpoints, [without], "{url}");
        }
    }

    #[test]
    fn a_header_says_when_for_people() {
        let header = Header::new(Timestamp(1_700_000_000_123), &[], &[b"/a/".to_vec()], Redaction::Values);
        let mut line = Vec::new();
        write(&header, &mut line).unwrap();
        let text = String::from_utf8(line).unwrap();
        assert!(text.starts_with("{\"lockscope\":\"recording\",\"version\":1,"), "{text}");
        assert!(text.contains("\"when\":\"2023-11-14T22:13:20.123Z\"") && text.contains("\"values\""), "{text}");
        assert!(text.contains("\"prefixes\":[\"/a/\"]") && text.ends_with("}\n"), "{text}");
    }
}
