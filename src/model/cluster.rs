//! The members, what each said last, and who led when.

use std::collections::VecDeque;

use crate::domain::{Alarm, Member, MemberId, RaftIndex, Status, Term, Timestamp};
use crate::event::NoStatus;

/// How many leader changes are remembered.
const REMEMBERED_CHANGES: usize = 64;

/// What is known of the members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    members: Vec<MemberFacts>,
    alarms: Vec<Alarm>,
    leader: Option<MemberId>,
    term: Term,
    leader_since: Option<Timestamp>,
    changes: VecDeque<LeaderChange>,
}

/// One member and its last answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberFacts {
    /// The member as the membership lists it.
    pub member: Member,
    /// What it said last, even when it does not answer any more.
    pub status: Option<Status>,
    /// When it said so.
    pub answered_at: Option<Timestamp>,
    /// Why the last question was not answered.
    pub error: Option<NoStatus>,
}

impl MemberFacts {
    /// Why it could not be reached the last time, in words; `None` when it answered, if only
    /// that it may not be asked.
    pub fn unreachable(&self) -> Option<&str> {
        match &self.error {
            Some(NoStatus::Unreachable(why)) => Some(why),
            _ => None,
        }
    }

    /// Whether it is there, as far as is known: it said something of itself, or that it may not
    /// be asked.
    pub const fn is_up(&self) -> bool {
        match &self.error {
            Some(NoStatus::Unreachable(_)) => false,
            Some(NoStatus::Denied(_)) => true,
            None => self.status.is_some(),
        }
    }
}

/// What part a member plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// It leads.
    Leader,
    /// It follows.
    Follower,
    /// It gets the log and has no vote.
    Learner,
    /// It does not answer.
    Unreachable,
    /// It was not asked yet, or may not be asked.
    Unknown,
}

impl Role {
    /// The name used in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Leader => "leader",
            Self::Follower => "follower",
            Self::Learner => "learner",
            Self::Unreachable => "unreachable",
            Self::Unknown => "unknown",
        }
    }
}

/// The leadership passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaderChange {
    /// When it was noticed.
    pub at: Timestamp,
    /// Who led before; `None` when nobody did.
    pub from: Option<MemberId>,
    /// Who leads now; `None` when nobody does.
    pub to: Option<MemberId>,
    /// The term it was noticed in.
    pub term: Term,
}

impl Cluster {
    /// The members in the order of their ids, as the membership lists them.
    pub fn members(&self) -> &[MemberFacts] {
        &self.members
    }

    /// The alarms that are raised.
    pub fn alarms(&self) -> &[Alarm] {
        &self.alarms
    }

    /// Who leads, as far as the newest term tells.
    pub const fn leader(&self) -> Option<MemberId> {
        self.leader
    }

    /// The leader's facts.
    pub fn leader_facts(&self) -> Option<&MemberFacts> {
        self.members.iter().find(|facts| Some(facts.member.id) == self.leader)
    }

    /// The newest term any member named.
    pub const fn term(&self) -> Term {
        self.term
    }

    /// Since when the present leader is known to lead.
    pub const fn leader_since(&self) -> Option<Timestamp> {
        self.leader_since
    }

    /// Changes of the leader, oldest first.
    pub fn changes(&self) -> impl DoubleEndedIterator<Item = &LeaderChange> {
        self.changes.iter()
    }

    /// The highest raft index any member ever named.
    pub fn raft_index(&self) -> RaftIndex {
        let last_words = self.members.iter().filter_map(|facts| facts.status.as_ref());
        last_words.map(|status| status.raft_index).max().unwrap_or_default()
    }

    /// The member with this id.
    pub fn member(&self, id: MemberId) -> Option<&MemberFacts> {
        self.members.iter().find(|facts| facts.member.id == id)
    }

    /// What part a member plays now.
    pub fn role(&self, facts: &MemberFacts) -> Role {
        match &facts.status {
            _ if facts.unreachable().is_some() => Role::Unreachable,
            _ if facts.error.is_some() => Role::Unknown,
            None => Role::Unknown,
            Some(status) if status.learner => Role::Learner,
            Some(_) if self.leader == Some(facts.member.id) => Role::Leader,
            Some(_) => Role::Follower,
        }
    }

    /// How many entries a member is behind the furthest one; `None` when it does not answer.
    pub fn lag(&self, facts: &MemberFacts) -> Option<u64> {
        let status = facts.status.as_ref().filter(|_| facts.error.is_none())?;
        Some(self.raft_index().0.saturating_sub(status.applied_index.0))
    }

    fn answering(&self) -> impl Iterator<Item = &Status> {
        self.members.iter().filter(|facts| facts.error.is_none()).filter_map(|facts| facts.status.as_ref())
    }

    /// Takes in the membership; what members said before is kept. Returns whether it is
    /// another than before.
    pub fn set_members(&mut self, mut members: Vec<Member>) -> bool {
        members.sort_by_key(|member| member.id);
        let news = !members.iter().eq(self.members.iter().map(|facts| &facts.member));
        let mut known = std::mem::take(&mut self.members);
        self.members = members
            .into_iter()
            .map(|member| match known.iter().position(|facts| facts.member.id == member.id) {
                Some(at) => MemberFacts { member, ..known.swap_remove(at) },
                None => MemberFacts { member, status: None, answered_at: None, error: None },
            })
            .collect();
        news
    }

    /// Takes in what a member said, or why it said nothing. Returns the change of leader that
    /// came of it.
    ///
    /// A leader counts when the member that names it is in the newest term: a member that
    /// was cut off keeps an old leader in its mind (Raft §5.1, terms as a logical clock).
    pub fn set_status(
        &mut self,
        at: Timestamp,
        id: MemberId,
        answer: Result<Status, NoStatus>,
    ) -> Option<LeaderChange> {
        let facts = self.members.iter_mut().find(|facts| facts.member.id == id)?;
        match answer {
            Ok(status) => {
                facts.status = Some(status);
                facts.answered_at = Some(at);
                facts.error = None;
            }
            Err(error) => facts.error = Some(error),
        }
        self.settle_leader(at)
    }

    /// Takes in the alarms; returns those raised and those gone.
    pub fn set_alarms(&mut self, mut alarms: Vec<Alarm>) -> (Vec<Alarm>, Vec<Alarm>) {
        alarms.sort_unstable();
        alarms.dedup();
        let raised = alarms.iter().filter(|alarm| !self.alarms.contains(alarm)).copied().collect();
        let gone = self.alarms.iter().filter(|alarm| !alarms.contains(alarm)).copied().collect();
        self.alarms = alarms;
        (raised, gone)
    }

    fn settle_leader(&mut self, at: Timestamp) -> Option<LeaderChange> {
        let term = self.answering().map(|status| status.term).max()?.max(self.term);
        let named = self.answering().filter(|status| status.term == term).find_map(|status| status.leader);
        // Nobody in the newest term answers: what was known stays until somebody says more.
        if named.is_none() && !self.answering().any(|status| status.term == term) {
            return None;
        }
        let first = self.term == Term::default() && self.leader.is_none();
        if named == self.leader {
            self.term = term;
            return None;
        }
        let change = LeaderChange { at, from: self.leader, to: named, term };
        self.term = term;
        self.leader = named;
        self.leader_since = named.map(|_| at);
        if first {
            return None;
        }
        if self.changes.len() == REMEMBERED_CHANGES {
            self.changes.pop_front();
        }
        self.changes.push_back(change);
        Some(change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(term: u64, leader: u64) -> Status {
        Status {
            term: Term(term),
            leader: (leader != 0).then_some(MemberId(leader)),
            raft_index: RaftIndex(100),
            applied_index: RaftIndex(90 + term),
            ..Status::default()
        }
    }

    fn three() -> Cluster {
        let mut cluster = Cluster::default();
        cluster.set_members((1..=3).map(|id| Member { id: MemberId(id), ..Member::default() }).collect());
        cluster
    }

    #[test]
    fn the_first_leader_is_no_change_and_the_second_is() {
        let mut cluster = three();
        assert_eq!(cluster.set_status(Timestamp(1), MemberId(1), Ok(status(4, 2))), None);
        assert_eq!(cluster.leader(), Some(MemberId(2)));
        let change = cluster.set_status(Timestamp(9), MemberId(3), Ok(status(5, 3)));
        let expected = LeaderChange { at: Timestamp(9), from: Some(MemberId(2)), to: Some(MemberId(3)), term: Term(5) };
        assert_eq!(change, Some(expected));
        assert_eq!(cluster.changes().collect::<Vec<_>>(), [&expected]);
    }

    #[test]
    fn a_member_of_an_older_term_does_not_name_the_leader() {
        let mut cluster = three();
        cluster.set_status(Timestamp(1), MemberId(1), Ok(status(5, 3)));
        assert_eq!(cluster.set_status(Timestamp(2), MemberId(2), Ok(status(4, 2))), None);
        assert_eq!(cluster.leader(), Some(MemberId(3)));
        assert_eq!(cluster.term(), Term(5));
    }

    #[test]
    fn a_silent_member_is_unreachable_and_has_no_lag() {
        let mut cluster = three();
        cluster.set_status(Timestamp(1), MemberId(1), Ok(status(4, 1)));
        cluster.set_status(Timestamp(2), MemberId(2), Ok(status(4, 1)));
        cluster.set_status(Timestamp(3), MemberId(2), Err(NoStatus::Unreachable("deadline".into())));
        let roles: Vec<Role> = cluster.members().iter().map(|facts| cluster.role(facts)).collect();
        assert_eq!(roles, [Role::Leader, Role::Unreachable, Role::Unknown]);
        assert_eq!(cluster.lag(&cluster.members()[0]), Some(6));
        assert_eq!(cluster.lag(&cluster.members()[1]), None);
    }

    #[test]
    fn a_member_that_may_not_be_asked_is_unknown_and_not_unreachable() {
        let mut cluster = three();
        cluster.set_status(Timestamp(1), MemberId(1), Ok(status(4, 1)));
        for id in [1, 2] {
            let denied = NoStatus::Denied("permission denied".into());
            cluster.set_status(Timestamp(2), MemberId(id), Err(denied));
        }
        let roles: Vec<Role> = cluster.members().iter().map(|facts| cluster.role(facts)).collect();
        assert_eq!(roles, [Role::Unknown, Role::Unknown, Role::Unknown]);
        let up: Vec<_> = cluster.members().iter().map(|facts| (facts.is_up(), facts.unreachable())).collect();
        assert_eq!(up, [(true, None), (true, None), (false, None)]);
        assert_eq!(cluster.leader(), Some(MemberId(1)), "what was known stays");
    }

    #[test]
    fn the_membership_changes_without_forgetting_what_members_said() {
        let mut cluster = three();
        cluster.set_status(Timestamp(1), MemberId(2), Ok(status(4, 1)));
        cluster.set_members(vec![Member { id: MemberId(2), name: "b".into(), ..Member::default() }]);
        assert_eq!(cluster.members().len(), 1);
        assert_eq!(cluster.members()[0].member.name, "b");
        assert!(cluster.members()[0].status.is_some());
    }
}
