//! Members: the documents of `members` and `info`.

use std::borrow::Cow;

use serde::Serialize;

use super::{Head, Hex};
use crate::domain;
use crate::model::{Facts, MemberFacts, Role};

/// The document of `members`.
#[derive(Debug, Serialize)]
pub struct Members<'a> {
    #[serde(flatten)]
    head: Head,
    members: Vec<Member<'a>>,
    alarms: Vec<Alarm>,
}

impl<'a> Members<'a> {
    /// The members these facts know.
    pub fn of(facts: &'a Facts) -> Self {
        let cluster = &facts.cluster;
        Self {
            head: Head::of(facts),
            members: cluster
                .members()
                .iter()
                .map(|member| Member::of(member, cluster.role(member), cluster.lag(member)))
                .collect(),
            alarms: cluster.alarms().iter().copied().map(Alarm::of).collect(),
        }
    }
}

#[derive(Debug, Serialize)]
struct Member<'a> {
    id: Hex,
    name: &'a str,
    endpoint: Option<&'a str>,
    role: &'static str,
    is_learner: bool,
    term: Option<u64>,
    raft_index: Option<u64>,
    applied_index: Option<u64>,
    lag: Option<u64>,
    db_size: Option<i64>,
    db_in_use: Option<i64>,
    db_quota: Option<i64>,
    version: Option<&'a str>,
    latency_ms: Option<i64>,
    client_urls: &'a [String],
    peer_urls: &'a [String],
    errors: Vec<Cow<'a, str>>,
}

impl<'a> Member<'a> {
    fn of(facts: &'a MemberFacts, role: Role, lag: Option<u64>) -> Self {
        let MemberFacts { member, status, error, .. } = facts;
        // What a member said before it fell silent is no news of it.
        let status = status.as_ref().filter(|_| error.is_none());
        let mut errors: Vec<_> = error.iter().map(|error| Cow::Owned(error.to_string())).collect();
        errors.extend(
            status.into_iter().flat_map(|status| status.errors.iter().map(|error| Cow::Borrowed(error.as_str()))),
        );
        Self {
            id: member.id.into(),
            name: &member.name,
            endpoint: status.map(|status| status.endpoint.as_str()).or(member.client_urls.first().map(String::as_str)),
            role: role.name(),
            is_learner: member.learner,
            term: status.map(|status| status.term.0),
            raft_index: status.map(|status| status.raft_index.0),
            applied_index: status.map(|status| status.applied_index.0),
            lag,
            db_size: status.map(|status| status.db_size),
            db_in_use: status.map(|status| status.db_in_use),
            db_quota: status.and_then(|status| status.db_quota),
            version: status.map(|status| status.version.as_str()),
            latency_ms: status.map(|status| status.latency.0),
            client_urls: &member.client_urls,
            peer_urls: &member.peer_urls,
            errors,
        }
    }
}

/// An alarm that is raised.
#[derive(Debug, Serialize)]
pub struct Alarm {
    member: Hex,
    alarm: String,
}

impl Alarm {
    /// An alarm by its name in etcd.
    pub fn of(alarm: domain::Alarm) -> Self {
        Self { member: alarm.member.into(), alarm: alarm.kind.name() }
    }
}

/// The document of `info`.
#[derive(Debug, Serialize)]
pub struct Info<'a> {
    /// Always [`SCHEMA`](super::SCHEMA).
    pub schema: &'static str,
    /// Of lockscope.
    pub version: &'static str,
    /// What it was built for and how.
    pub build: String,
    /// The commit it was built from; none in a debug build, or when the sources do not tell.
    pub commit: Option<&'static str>,
    /// The compiler it was built with.
    pub rustc: &'static str,
    /// The target it was built for.
    pub target: &'static str,
    /// Where the configuration file is looked for, whether it is there or not.
    pub config_path: Option<String>,
    /// The configuration file that was read.
    pub config_file: Option<String>,
    /// Where themes of one's own are looked for.
    pub themes_folder: Option<String>,
    /// The context that was chosen.
    pub context: Option<&'a str>,
    /// What names other endpoints than the context's, if something does.
    pub endpoints_from: Option<&'a str>,
    /// The endpoints as URLs.
    pub endpoints: &'a [String],
    /// Who logs in.
    pub user: Option<&'a str>,
    /// Always masked.
    pub password: Option<&'static str>,
    /// The prefixes that are watched; empty when locks find themselves.
    pub prefixes: Vec<super::Text<'a>>,
    /// The theme that was asked for.
    pub theme: Option<&'a str>,
    /// Whether writes are refused.
    pub read_only: bool,
    /// The log file.
    pub log_file: Option<String>,
    /// The file that writes are noted in.
    pub audit_log: Option<String>,
    /// Whether a member answered.
    pub reachable: bool,
    /// The cluster, when it answered.
    pub cluster_id: Option<Hex>,
    /// The members and their versions, when one answered.
    pub members: Vec<Version<'a>>,
    /// Why the cluster could not be reached.
    pub errors: Vec<Unreached>,
}

/// A member's version.
#[derive(Debug, Serialize)]
pub struct Version<'a> {
    /// The member.
    pub id: Hex,
    /// Its name.
    pub name: &'a str,
    /// Its version, when it answered.
    pub version: Option<&'a str>,
}

impl<'a> Version<'a> {
    /// The versions of all members these facts know.
    pub fn of(facts: &'a Facts) -> Vec<Self> {
        let version = |member: &'a MemberFacts| member.status.as_ref().map(|status| status.version.as_str());
        let all = facts.cluster.members().iter();
        all.map(|member| Version { id: member.member.id.into(), name: &member.member.name, version: version(member) })
            .collect()
    }
}

/// An endpoint that could not be used.
#[derive(Debug, Serialize)]
pub struct Unreached {
    /// The endpoint.
    pub endpoint: String,
    /// Why.
    pub error: String,
}
