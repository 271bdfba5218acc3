//! What a look at a cluster could not see, and why: an absence of findings means no more than
//! what was looked at.

use serde::Serialize;

use crate::event::NoStatus;
use crate::model::{Facts, LeaseView, LockView, Renewal, TtlState};
use crate::view::text::{escape_text, quantity};

/// Something that was not seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unseen {
    /// What.
    pub what: String,
    /// Why, or what shows it.
    pub why: String,
    /// Whether it was asked for and nobody answered: then nobody can say that all is well. What this
    /// user may not see, or did not want to be asked, is another matter.
    #[serde(skip)]
    pub unanswered: bool,
}

impl Unseen {
    /// Something that was not seen, in words that a terminal only prints.
    pub fn new(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into(), unanswered: false }
    }

    /// Something that was asked for and that nobody answered.
    pub fn unanswered(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { unanswered: true, ..Self::new(what, why) }
    }
}

/// Whether all was answered that was asked.
pub fn is_complete(all: &[Unseen]) -> bool {
    !all.iter().any(|unseen| unseen.unanswered)
}

/// What these facts lack besides what may not be read; `watched` when leases were asked again and
/// again, `leases` when some of them gave no answer.
pub fn unseen(facts: &Facts, watched: bool, leases: Option<Unseen>) -> Vec<Unseen> {
    let mut all = Vec::new();
    of_members(facts, &mut all);
    of_leases(facts, watched, leases, &mut all);
    if facts.link.gaps > 0 {
        all.push(Unseen::new(
            quantity(facts.link.gaps as usize, "stretch of revisions"),
            "the watch was interrupted and etcd had compacted them",
        ));
    }
    all
}

fn of_members(facts: &Facts, all: &mut Vec<Unseen>) {
    let members = facts.cluster.members();
    let silent = members.iter().filter(|member| matches!(member.error, Some(NoStatus::Unreachable(_)))).count();
    // One that is silent is a finding; with so many nobody knows how the cluster is.
    let too_many = 2 * silent >= members.len();
    for member in members {
        let Some(error) = &member.error else { continue };
        let name = escape_text(&member.member.name);
        let name = if name.is_empty() { member.member.id.to_string().into() } else { name };
        let what = match error {
            NoStatus::Denied(_) => format!("the status of member {name}"),
            NoStatus::Unreachable(_) => format!("member {name}"),
        };
        let unanswered = too_many && matches!(error, NoStatus::Unreachable(_));
        all.push(Unseen { unanswered, ..Unseen::new(what, escape_text(&error.to_string())) });
    }
    if members.iter().all(|member| member.status.is_none() || member.error.is_some()) {
        all.push(Unseen::new("alarms", "members report them with their status, and none was told"));
    }
}

/// Leases that keys of locks hang on: whether their time is known, and whether they are renewed.
fn of_leases(facts: &Facts, watched: bool, unanswered: Option<Unseen>, all: &mut Vec<Unseen>) {
    let (mut times, mut renewals) = (0, 0);
    for lease in facts.leases().ids().filter_map(|id| facts.lease(id)).filter(is_of_a_lock) {
        match lease.ttl() {
            TtlState::Unpolled | TtlState::Unknown => times += 1,
            TtlState::Live { .. } if lease.renewal() == Renewal::Unknown => renewals += 1,
            _ => {}
        }
    }
    if let Some(unanswered) = unanswered {
        all.push(unanswered);
    } else if times > 0 {
        all.push(Unseen::new(format!("the time of {}", quantity(times, "lease")), "they were not asked"));
    }
    if renewals > 0 {
        let why = if watched {
            "neither a renewal nor the lack of one was seen in that time"
        } else {
            "one look cannot tell; --for 30s watches them"
        };
        all.push(Unseen::new(format!("whether {} {} renewed", quantity(renewals, "lease"), is(renewals)), why));
    }
}

const fn is(number: usize) -> &'static str {
    if number == 1 { "is" } else { "are" }
}

fn is_of_a_lock(lease: &LeaseView<'_>) -> bool {
    let any = |locks: Vec<LockView<'_>>| locks.iter().any(LockView::has_etcd_leases);
    any(lease.holds()) || any(lease.waits_for())
}
