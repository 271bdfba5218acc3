//! What can go wrong at the port, in words a person can act on.
//!
//! Every message is one line that names what was being done and to what. Text that came from
//! a server is made printable here, so that no message can steer a terminal; a password is in
//! none of them.

use std::error::Error as StdError;
use std::fmt::Write as _;
use std::time::Duration;

use tonic::{Code, Status};

use super::direct::UNREADABLE;
use super::stream::{Cause, LastWords};
use super::wire::DialError;
use crate::domain::{Key, KeyRange, Revision};

/// An error of a call or of a connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PortError {
    /// The endpoint is not one.
    #[error("endpoint {endpoint:?} cannot be used: {why}")]
    BadEndpoint {
        /// As it was given.
        endpoint: String,
        /// What is wrong with it.
        why: String,
    },
    /// No connection, or the connection broke.
    #[error("cannot reach {endpoint}: {why}")]
    Unreachable {
        /// Where to.
        endpoint: String,
        /// The network's words.
        why: String,
    },
    /// No answer in time.
    #[error("{doing} on {endpoint}: no answer within {}; it may be overloaded, paused or without a quorum", seconds(*.after))]
    Deadline {
        /// What was asked.
        doing: String,
        /// Whom.
        endpoint: String,
        /// How long was waited.
        after: Duration,
    },
    /// The user may not do this.
    #[error("{doing}: {}: {why}", refused(.user))]
    Denied {
        /// What was asked.
        doing: String,
        /// Who asked; empty when nobody is logged in.
        user: String,
        /// The server's words.
        why: String,
    },
    /// The server wants to know who asks, or no longer knows.
    #[error("{doing}: {why}; give a user with --user NAME")]
    Unauthenticated {
        /// What was asked.
        doing: String,
        /// The server's words.
        why: String,
    },
    /// Logging in failed.
    #[error("cannot log in to {endpoint} as {user:?}: {why}")]
    AuthFailed {
        /// Where.
        endpoint: String,
        /// As whom.
        user: String,
        /// The server's words.
        why: String,
    },
    /// The revision is no longer there.
    #[error("{doing}: that revision was compacted; read again from now")]
    Compacted {
        /// What was asked.
        doing: String,
        /// The compaction's revision, where the server tells.
        at: Option<Revision>,
    },
    /// The member knows no leader.
    #[error("{doing} on {endpoint}: the member knows no leader; see whether a majority of the members runs")]
    NoLeader {
        /// What was asked.
        doing: String,
        /// Whom.
        endpoint: String,
    },
    /// The quota of the database is used up.
    #[error("{doing}: the database of etcd is full (NOSPACE); compact, defragment, then disarm the alarm")]
    NoSpace {
        /// What was asked.
        doing: String,
    },
    /// The answer does not fit into one message.
    #[error("{doing}: the answer is too large for one message: {why}")]
    TooLarge {
        /// What was asked.
        doing: String,
        /// The sizes.
        why: String,
    },
    /// Something answers there, and it is no etcd.
    #[error("{endpoint} answers, but not as etcd does: {why}")]
    NotEtcd {
        /// Where.
        endpoint: String,
        /// What gave it away.
        why: String,
    },
    /// TLS does not come about.
    #[error("{what}: {why}")]
    Tls {
        /// The flag with its file, or the endpoint.
        what: String,
        /// What is wrong, and what helps.
        why: String,
    },
    /// Anything else the server said.
    #[error("{doing} on {endpoint}: {message} ({code})")]
    Other {
        /// What was asked.
        doing: String,
        /// Whom.
        endpoint: String,
        /// The gRPC code's name.
        code: String,
        /// The server's words.
        message: String,
    },
}

impl PortError {
    /// Whether the connection itself is of no use, as opposed to this one question.
    pub fn is_connection(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::NotEtcd { .. } | Self::Tls { .. } | Self::BadEndpoint { .. })
    }
}

/// Who asks what of whom: what an error has to name.
pub(super) struct Asked<'a> {
    pub endpoint: &'a str,
    pub user: Option<&'a str>,
    /// Where the connection leaves why it ended.
    pub words: Option<&'a LastWords>,
    pub doing: String,
}

impl Asked<'_> {
    /// Says what an error of etcd's client means.
    pub(super) fn failed(self, error: &etcd_client::Error) -> PortError {
        match error {
            etcd_client::Error::GRpcStatus(status) => self.status(status),
            etcd_client::Error::TransportError(error) => self.transport(error),
            other => PortError::Other {
                doing: self.doing,
                endpoint: self.endpoint.into(),
                code: "client".into(),
                message: printable(&other.to_string()),
            },
        }
    }

    /// Says that no answer came.
    pub(super) fn late(self, after: Duration) -> PortError {
        PortError::Deadline { doing: self.doing, endpoint: self.endpoint.into(), after }
    }

    /// Says what a gRPC status means. etcd's own texts are matched because its codes are too
    /// coarse: clients in Go do the same (etcd `rpctypes/error.go`).
    fn status(self, status: &Status) -> PortError {
        if let Some(source) = status.source() {
            return self.transport(source);
        }
        let why = printable(status.message());
        let Self { endpoint, user, doing, .. } = self;
        let endpoint = endpoint.to_owned();
        match status.code() {
            Code::PermissionDenied => PortError::Denied { doing, user: user.unwrap_or_default().into(), why },
            Code::Unauthenticated => PortError::Unauthenticated { doing, why },
            Code::InvalidArgument if why.contains("authentication failed") => {
                PortError::AuthFailed { endpoint, user: user.unwrap_or_default().into(), why }
            }
            Code::InvalidArgument if why.contains("user name is empty") || why.contains("auth store is old") => {
                PortError::Unauthenticated { doing, why }
            }
            // The name of a client certificate is a login too.
            Code::FailedPrecondition if why.contains("user name not found") => {
                PortError::Unauthenticated { doing, why }
            }
            Code::OutOfRange if why.contains("has been compacted") => PortError::Compacted { doing, at: None },
            Code::OutOfRange if why.contains("message length too large") => PortError::TooLarge { doing, why },
            Code::ResourceExhausted if why.contains("database space exceeded") => PortError::NoSpace { doing },
            Code::ResourceExhausted if why.contains("larger than max") => PortError::TooLarge { doing, why },
            Code::Unavailable if why.contains("no leader") || why.contains("leader changed") => {
                PortError::NoLeader { doing, endpoint }
            }
            Code::Internal if why == UNREADABLE => PortError::NotEtcd { endpoint, why },
            Code::Unimplemented if why.contains("unknown service") => PortError::NotEtcd { endpoint, why },
            _ if why.contains("mapped from HTTP status") || why.contains("invalid compression flag") => {
                PortError::NotEtcd { endpoint, why }
            }
            code => PortError::Other { doing, endpoint, code: format!("{code:?}"), message: why },
        }
    }

    /// Says what an error below gRPC means, by the first cause in its chain that tells.
    pub(super) fn transport(self, error: &(dyn StdError + 'static)) -> PortError {
        let endpoint = self.endpoint.to_owned();
        let not_etcd = |why: &str| PortError::NotEtcd { endpoint: endpoint.clone(), why: why.into() };
        match self.words.and_then(LastWords::get) {
            Some(Cause::Tls(error)) => return DialError::Tls(error).at(&endpoint),
            Some(Cause::Http1) => {
                return not_etcd("it speaks HTTP/1; is it a client URL of etcd, and http or https right?");
            }
            Some(Cause::UnwantedTls) => return not_etcd("it wants TLS; write https:// instead of http://"),
            Some(Cause::Nothing) => {
                let why = "it closed the connection at once; is it a client URL of etcd, and http or https right?";
                return PortError::Unreachable { endpoint, why: why.into() };
            }
            None => {}
        }
        let mut words = Vec::new();
        let mut cause = Some(error);
        while let Some(error) = cause {
            if let Some(dial) = error.downcast_ref::<DialError>() {
                return dial.at(&endpoint);
            }
            let text = error.to_string();
            if text.contains("frame with invalid size") {
                return not_etcd("it does not speak HTTP/2; is it a client URL of etcd?");
            }
            // Wrappers repeat what they wrap; each word once is enough.
            if words.last().is_none_or(|last: &String| !last.contains(&text)) && text != "transport error" {
                words.push(text);
            }
            cause = error.source();
        }
        let why = if words.is_empty() { "the connection broke".into() } else { printable(&words.join(": ")) };
        PortError::Unreachable { endpoint, why: format!("{}: {why}", self.doing) }
    }
}

/// Text that came from elsewhere, made harmless: no control characters, nothing that turns
/// the direction of writing, one line.
pub fn printable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        let turns = matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if character.is_control() || turns {
            let _ = write!(safe, "{}", character.escape_unicode());
        } else {
            safe.push(character);
        }
    }
    safe
}

/// A range in words: what an error names as its object.
pub(crate) fn range_name(range: &KeyRange) -> String {
    if range.label().is_empty() {
        return "the whole keyspace".into();
    }
    let label = printable(&String::from_utf8_lossy(range.label()));
    if range.end.is_empty() { format!("key {label}") } else { format!("prefix {label}") }
}

/// The name of a lock or an election in words.
pub(super) fn name_of(name: &Key) -> String {
    printable(&String::from_utf8_lossy(name))
}

fn refused(user: &str) -> String {
    if user.is_empty() { "nobody is logged in".into() } else { format!("user {user:?} needs a role for it") }
}

fn seconds(length: Duration) -> String {
    format!("{} s", length.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> Asked<'static> {
        Asked { endpoint: "http://one:2379", user: Some("ann"), words: None, doing: "list prefix /a/".into() }
    }

    #[test]
    fn servers_words_cannot_steer_a_terminal() {
        let error = asked().status(&Status::unknown("\u{1b}[2Jgone\nnext\u{202e}line"));
        assert_eq!(
            error.to_string(),
            "list prefix /a/ on http://one:2379: \\u{1b}[2Jgone\\u{a}next\\u{202e}line (Unknown)"
        );
    }

    #[test]
    fn etcds_texts_are_told_apart() {
        let is = |status: Status| asked().status(&status);
        assert!(matches!(is(Status::permission_denied("etcdserver: permission denied")), PortError::Denied { .. }));
        assert!(matches!(
            is(Status::unauthenticated("etcdserver: invalid auth token")),
            PortError::Unauthenticated { .. }
        ));
        assert!(matches!(
            is(Status::invalid_argument("etcdserver: user name is empty")),
            PortError::Unauthenticated { .. }
        ));
        assert!(matches!(is(Status::unavailable("etcdserver: no leader")), PortError::NoLeader { .. }));
        assert!(matches!(is(Status::unavailable("etcdserver: request timed out")), PortError::Other { .. }));
        let compacted = "etcdserver: mvcc: required revision has been compacted";
        assert!(matches!(is(Status::out_of_range(compacted)), PortError::Compacted { at: None, .. }));
        let future = "etcdserver: mvcc: required revision is a future revision";
        assert!(matches!(is(Status::out_of_range(future)), PortError::Other { .. }));
        let full = "etcdserver: mvcc: database space exceeded";
        assert!(matches!(is(Status::resource_exhausted(full)), PortError::NoSpace { .. }));
    }

    #[test]
    fn a_refusal_names_who_asked_and_for_what() {
        let error = asked().status(&Status::permission_denied("etcdserver: permission denied"));
        assert_eq!(
            error.to_string(),
            r#"list prefix /a/: user "ann" needs a role for it: etcdserver: permission denied"#
        );
    }

    #[test]
    fn ranges_have_names() {
        assert_eq!(range_name(&KeyRange::prefix(b"")), "the whole keyspace");
        assert_eq!(range_name(&KeyRange::prefix(b"/a/")), "prefix /a/");
        assert_eq!(range_name(&KeyRange::single(b"/a\n")), "key /a\\u{a}");
    }
}
