//! The members, what each said last, and who led when.

use std::collections::VecDeque;

use crate::domain::{Alarm, Member, MemberId, Millis, RaftIndex, Status, Term, Timestamp};
use crate::event::NoStatus;

/// How many leader changes are remembered.
const REMEMBERED_CHANGES: usize = 64;
/// How many heights of the log are remembered, and how far they are apart: half a minute.
const REMEMBERED_HEIGHTS: usize = 64;
const HEIGHTS_APART: Millis = Millis(500);

/// What is known of the members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    members: Vec<MemberFacts>,
    alarms: Vec<Alarm>,
    leader: Option<MemberId>,
    term: Term,
    leader_since: Option<Timestamp>,
    leaderless_since: Option<Timestamp>,
    changes: VecDeque<LeaderChange>,
    /// When the log was known to reach how far, oldest first; both grow.
    heights: VecDeque<(Timestamp, RaftIndex)>,
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
    /// When a question first went without an answer that could have come; `None` while the last one
    /// was answered.
    pub silent_since: Option<Timestamp>,
    /// How far it was behind the others by its last answer, if at all.
    pub behind: Option<Behind>,
}

/// How far a member is behind the others, at the least.
///
/// Answers of different members are not of the same moment, and a busy log moves on between
/// them. So only that counts which was known before the member was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behind {
    /// How many entries it lacks that others had before it was asked.
    pub entries: u64,
    /// When others were first known to have an entry that it lacks.
    pub since: Timestamp,
    /// That entry.
    index: RaftIndex,
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

    /// What to call it: its name, or its id while it has none.
    pub fn label(&self) -> String {
        if self.member.name.is_empty() { self.member.id.to_string() } else { self.member.name.clone() }
    }

    /// What it said last, while it answers.
    pub fn answer(&self) -> Option<&Status> {
        self.status.as_ref().filter(|_| self.error.is_none())
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

    /// Why this user is not told how the members are, if one of them says that.
    pub fn denied(&self) -> Option<&str> {
        self.members.iter().find_map(|facts| match &facts.error {
            Some(NoStatus::Denied(why)) => Some(why.as_str()),
            _ => None,
        })
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

    /// Since when nobody leads, as far as those tell that answer; `None` while somebody does.
    ///
    /// A member that is cut off raises its term alone where pre-votes are off, and knows no leader
    /// there. So a leader of an older term counts as long as it says so itself, or a majority does.
    pub const fn leaderless_since(&self) -> Option<Timestamp> {
        self.leaderless_since
    }

    /// The members that vote: all but learners.
    pub fn voters(&self) -> impl Iterator<Item = &MemberFacts> {
        self.members.iter().filter(|facts| !facts.member.learner)
    }

    /// How many of them it takes to decide anything (Raft §5.2).
    pub fn quorum(&self) -> usize {
        self.voters().count() / 2 + 1
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
                None => MemberFacts {
                    member,
                    status: None,
                    answered_at: None,
                    error: None,
                    silent_since: None,
                    behind: None,
                },
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
                facts.behind = behind(&self.heights, at - status.latency, applied(&status), facts.behind);
                let height = status.raft_index.max(status.applied_index);
                facts.status = Some(status);
                facts.answered_at = Some(at);
                facts.error = None;
                facts.silent_since = None;
                self.note_height(at, height);
            }
            Err(error) => {
                facts.behind = None;
                match error {
                    NoStatus::Unreachable(_) => facts.silent_since = facts.silent_since.or(Some(at)),
                    NoStatus::Denied(_) => facts.silent_since = None,
                }
                facts.error = Some(error);
            }
        }
        self.settle_leaderless(at);
        self.settle_leader(at)
    }

    fn note_height(&mut self, at: Timestamp, index: RaftIndex) {
        if self.heights.back().is_some_and(|&(last, highest)| at <= last || index <= highest) {
            return;
        }
        // The newest one is kept whenever it came, the others at some distance.
        if let [.., (before, _), (last, _)] = self.heights.make_contiguous()
            && *last < *before + HEIGHTS_APART
        {
            self.heights.pop_back();
        }
        if self.heights.len() == REMEMBERED_HEIGHTS {
            self.heights.pop_front();
        }
        self.heights.push_back((at, index));
    }

    fn settle_leaderless(&mut self, at: Timestamp) {
        let answering = || self.members.iter().filter(|facts| facts.error.is_none());
        let named = |facts: &MemberFacts| facts.status.as_ref().and_then(|status| status.leader);
        let leads = |facts: &MemberFacts| named(facts) == Some(facts.member.id);
        let voices = |leader| answering().filter(|facts| named(facts) == Some(leader)).count();
        let is_led = || {
            let newest = self.answering().map(|status| status.term).max();
            let mut of_newest = self.answering().filter(|status| Some(status.term) == newest);
            of_newest.any(|status| status.leader.is_some())
                || answering().any(leads)
                || answering().filter_map(named).any(|leader| voices(leader) >= self.quorum())
        };
        // Nobody answers: nobody tells that there is no leader either.
        if self.answering().next().is_some() {
            self.leaderless_since = if is_led() { None } else { self.leaderless_since.or(Some(at)) };
        }
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

/// The last entry that a member has applied; etcd tells it from 3.4 on.
fn applied(status: &Status) -> RaftIndex {
    if status.applied_index == RaftIndex::default() { status.raft_index } else { status.applied_index }
}

/// How far one who had applied `applied` when it was asked is behind what was known then.
fn behind(
    heights: &VecDeque<(Timestamp, RaftIndex)>,
    asked: Timestamp,
    applied: RaftIndex,
    before: Option<Behind>,
) -> Option<Behind> {
    let &(_, known) = heights.iter().rev().find(|(at, _)| *at < asked)?;
    let entries = known.0.checked_sub(applied.0).filter(|&entries| entries > 0)?;
    let since = before.filter(|before| before.index > applied).map(|before| (before.since, before.index));
    let (since, index) = since.or_else(|| heights.iter().find(|(_, index)| *index > applied).copied())?;
    Some(Behind { entries, since, index })
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

    fn at_index(index: u64) -> Status {
        Status { raft_index: RaftIndex(index), applied_index: RaftIndex(index), latency: Millis(2), ..status(4, 1) }
    }

    fn said(cluster: &mut Cluster, at: i64, id: u64, index: u64) -> Option<Behind> {
        cluster.set_status(Timestamp(at), MemberId(id), Ok(at_index(index)));
        cluster.member(MemberId(id)).unwrap().behind
    }

    #[test]
    fn who_was_asked_earlier_is_not_behind_for_what_came_since() {
        let mut cluster = three();
        assert_eq!(said(&mut cluster, 1_000, 1, 5_000), None);
        assert_eq!(said(&mut cluster, 1_001, 2, 4_000), None, "asked before the other had answered");
        let late = Status { latency: Millis(900), ..at_index(4_500) };
        cluster.set_status(Timestamp(1_700), MemberId(3), Ok(late));
        assert_eq!(cluster.member(MemberId(3)).unwrap().behind, None, "so was this one");
        let behind = said(&mut cluster, 2_000, 2, 4_990).unwrap();
        assert_eq!((behind.entries, behind.since), (10, Timestamp(1_000)));
        assert_eq!(said(&mut cluster, 3_000, 2, 5_000), None, "it caught up");
    }

    #[test]
    fn who_stands_still_is_behind_since_the_first_entry_that_it_lacks() {
        let mut cluster = three();
        for second in 0..200 {
            said(&mut cluster, second * 1_000, 1, 100 + second.unsigned_abs());
            said(&mut cluster, second * 1_000 + 500, 2, 110);
        }
        let behind = cluster.member(MemberId(2)).unwrap().behind.unwrap();
        assert_eq!((behind.entries, behind.since), (189, Timestamp(11_000)));
        assert!(cluster.heights.len() <= REMEMBERED_HEIGHTS);
    }

    #[test]
    fn silence_counts_from_the_first_question_without_an_answer() {
        let mut cluster = three();
        let silent = |cluster: &Cluster| cluster.member(MemberId(1)).unwrap().silent_since;
        for at in [1, 2] {
            cluster.set_status(Timestamp(at), MemberId(1), Err(NoStatus::Unreachable("refused".into())));
        }
        assert_eq!(silent(&cluster), Some(Timestamp(1)));
        cluster.set_status(Timestamp(3), MemberId(1), Ok(status(4, 1)));
        assert_eq!(silent(&cluster), None);
        cluster.set_status(Timestamp(4), MemberId(1), Err(NoStatus::Denied("root only".into())));
        assert_eq!(silent(&cluster), None, "to refuse is to answer");
    }

    #[test]
    fn a_member_alone_in_a_newer_term_takes_nobodys_leader_away() {
        let mut cluster = three();
        for id in [1, 2, 3] {
            cluster.set_status(Timestamp(1), MemberId(id), Ok(status(4, 1)));
        }
        cluster.set_status(Timestamp(2), MemberId(3), Ok(status(40, 0)));
        assert_eq!(cluster.leaderless_since(), None);
        cluster.set_status(Timestamp(3), MemberId(1), Err(NoStatus::Unreachable("refused".into())));
        assert_eq!(cluster.leaderless_since(), Some(Timestamp(3)), "one of three is no majority");
        cluster.set_status(Timestamp(4), MemberId(2), Ok(status(41, 2)));
        assert_eq!(cluster.leaderless_since(), None);
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
