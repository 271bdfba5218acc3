//! What a scenario can wait for.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::domain::play::{ClientId, Happening, Moment, Whom};
use crate::nearest;

/// Something that happens in a run and that a cue waits for, such as `client-1 acquires`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// To whom it happens.
    pub who: Who,
    /// What.
    pub what: What,
}

/// To whom something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// To this client.
    Client(ClientId),
    /// To any.
    Somebody,
}

/// What can be waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Its key stands in the queue.
    Enqueues,
    /// It holds.
    Acquires,
    /// It lets go.
    Releases,
    /// It notices that it has lost its lease or key.
    Loses,
    /// It crashes.
    Crashes,
    /// Its key goes with its lease.
    Expires,
    /// It comes back.
    Returns,
}

/// Nothing like that is waited for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{said}` does not say what to wait for{hint}; say `somebody acquires` or `client-1 expires`: a client or \
         `somebody`, and one of {}", What::ALL.map(What::word).join(", "))]
pub struct UnknownTrigger {
    said: String,
    hint: String,
}

impl What {
    /// All of them.
    pub(super) const ALL: [Self; 7] =
        [Self::Enqueues, Self::Acquires, Self::Releases, Self::Loses, Self::Crashes, Self::Expires, Self::Returns];

    /// The word for it.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Enqueues => "enqueues",
            Self::Acquires => "acquires",
            Self::Releases => "releases",
            Self::Loses => "loses",
            Self::Crashes => "crashes",
            Self::Expires => "expires",
            Self::Returns => "returns",
        }
    }

    const fn is(self, what: &Happening) -> bool {
        match self {
            Self::Enqueues => matches!(what, Happening::Enqueued(_)),
            Self::Acquires => matches!(what, Happening::Acquired(..)),
            Self::Releases => matches!(what, Happening::Released(_)),
            Self::Loses => matches!(what, Happening::Lost(_)),
            Self::Crashes => matches!(what, Happening::Crashed(_)),
            Self::Expires => matches!(what, Happening::Expired(..) | Happening::Dropped(..)),
            Self::Returns => matches!(what, Happening::Returned),
        }
    }
}

impl Trigger {
    /// Whether this is it.
    pub fn is(&self, moment: &Moment) -> bool {
        let to_it = match self.who {
            Who::Client(client) => moment.client == Some(client),
            Who::Somebody => moment.client.is_some(),
        };
        to_it && self.what.is(&moment.what)
    }
}

impl FromStr for Trigger {
    type Err = UnknownTrigger;

    fn from_str(said: &str) -> Result<Self, UnknownTrigger> {
        let unknown = |hint: String| UnknownTrigger { said: said.to_owned(), hint };
        let mut words = said.split_whitespace();
        let (Some(who), Some(what), None) = (words.next(), words.next(), words.next()) else {
            return Err(unknown(String::new()));
        };
        let who = match who {
            "somebody" => Who::Somebody,
            _ => match who.parse() {
                Ok(Whom::Client(client)) => Who::Client(client),
                _ => return Err(unknown(String::new())),
            },
        };
        if let Some(what) = What::ALL.into_iter().find(|known| known.word() == what) {
            return Ok(Self { who, what });
        }
        let near = nearest::nearest(what, What::ALL.map(What::word));
        Err(unknown(near.map(|near| format!(", did you mean `{near}`?")).unwrap_or_default()))
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.who {
            Who::Client(client) => write!(f, "{client} {}", self.what.word()),
            Who::Somebody => write!(f, "somebody {}", self.what.word()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::raft::ClusterTime;
    use crate::domain::{Key, Revision};

    #[test]
    fn what_is_written_reads_back_and_matches_its_moment() {
        let moment = |client, what| Moment { at: ClusterTime(1), lock: Key::default(), client, what };
        let acquired = Happening::Acquired(Revision(5), Duration::ZERO);
        let (one, two) = (Some(ClientId(1)), Some(ClientId(2)));
        for (line, moment, is) in [
            ("somebody acquires", moment(two, acquired.clone()), true),
            ("client-1 acquires", moment(one, acquired.clone()), true),
            ("client-1 acquires", moment(two, acquired), false),
            ("client-1 releases", moment(one, Happening::Returned), false),
            ("client-1 expires", moment(one, Happening::Expired(Revision(7), Duration::ZERO)), true),
        ] {
            let trigger: Trigger = line.parse().unwrap();
            assert_eq!(trigger.to_string(), line);
            assert_eq!(trigger.is(&moment), is, "{line}");
        }
    }

    #[test]
    fn what_cannot_be_waited_for_is_quoted() {
        let error = "client-1 acquire".parse::<Trigger>().unwrap_err().to_string();
        assert!(
            error.starts_with("`client-1 acquire` does not say what to wait for, did you mean `acquires`?"),
            "{error}"
        );
        for line in ["", "holder acquires", "somebody", "somebody acquires twice"] {
            assert!(line.parse::<Trigger>().is_err(), "{line}");
        }
    }
}
