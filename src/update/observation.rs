//! A fact about the cluster arrives.

use crate::domain::{Alarm, Status, Timestamp};
use crate::event::{Denied, LinkState, NoStatus, Observation, Stamped, WatchLoss};
use crate::model::{Facts, MemberFacts, What};

/// Takes one fact in. What is asked again and again and answered as before is no news: the
/// facts keep their version, and nobody looks at them anew for it.
pub fn observe(facts: &mut Facts, Stamped { at, what }: Stamped<Observation>) {
    facts.see_time(at);
    facts.timeline.trim();
    if is_told_by_cluster(&what) {
        facts.hear(at);
    }
    let news = match what {
        Observation::Link(state) => take_link(facts, at, state),
        Observation::Cluster(id) => {
            let former = facts.link.cluster_id.replace(id);
            if former.is_some_and(|former| former != id) {
                facts.link.replaced_cluster = former;
                facts.forget_cluster(at);
                facts.bump_keys();
            }
            former != Some(id)
        }
        Observation::Scope(ranges) => {
            // Who may not find locks everywhere may well have found some.
            facts.link.denied.retain(|denied| denied.is_everything() || ranges.contains(&denied.range));
            facts.set_scope(ranges);
            true
        }
        Observation::Listed(page) => {
            facts.link.denied.retain(|denied| denied.range != page.range);
            facts.take_page(at, page);
            facts.bump_keys();
            facts.note_listed();
            true
        }
        Observation::Watched(changes) => {
            facts.take_changes(at, changes);
            facts.bump_keys();
            true
        }
        Observation::Progress(revision) => {
            let before = facts.link.revision;
            facts.see_revision(revision);
            facts.link.revision != before
        }
        // A broken connection loses nothing: the watch resumes where it stopped. What a fault, an
        // order or a write led to is told to the person; of the rest the next picture tells, or
        // the watch.
        Observation::WatchLost(WatchLoss::Transport { .. })
        | Observation::FaultDone(..)
        | Observation::OrderDone(..)
        | Observation::LeaseKeys(..)
        | Observation::WriteDone(_) => false,
        Observation::WatchLost(WatchLoss::Skipped { .. }) => {
            facts.skip_history();
            true
        }
        Observation::Filled(changes) => {
            facts.take_filled(at, changes);
            false
        }
        Observation::FillEnded { through, .. } => facts.end_fill(through),
        Observation::Past { lock, part } => facts.take_past_part(at, &lock, part),
        Observation::WatchLost(WatchLoss::Compacted { .. } | WatchLoss::Cancelled { .. }) => {
            facts.lose_history();
            true
        }
        Observation::WatchLost(WatchLoss::BeganAnew { .. }) => {
            facts.forget_cluster(at);
            facts.bump_keys();
            true
        }
        Observation::Denied(denied) => take_denied(facts, denied),
        Observation::LeaseList(ids) => {
            let news = facts.take_lease_list(&ids);
            let listed = facts.link.listed;
            if ids.is_empty() {
                // No lease leads anywhere: there is nothing to wait for.
                facts.note_listed();
            }
            news || facts.link.listed != listed
        }
        Observation::LeasesMissing { member, leases } => facts.take_missing_leases(at, member, leases),
        Observation::LeaseTtl(answer) => {
            facts.take_ttl(at, &answer);
            true
        }
        Observation::LeasesPolled(cost) => {
            facts.take_poll_cost(cost);
            false
        }
        Observation::Members(members) => facts.cluster.set_members(members),
        Observation::Status { member, answer } => {
            let news = says_more(facts.cluster.member(member), &answer);
            if let Some(change) = facts.cluster.set_status(at, member, answer) {
                let revision = facts.link.revision;
                facts.timeline.push(at, revision, What::LeaderChanged(change));
            }
            news
        }
        Observation::Alarms(alarms) => take_alarms(facts, at, alarms),
        Observation::Raft(picture) => facts.take_picture(picture),
        Observation::Play(picture) => facts.take_play(*picture),
    };
    if news {
        facts.bump();
    }
}

/// Whether it is something that the cluster said, and not that it says nothing.
const fn is_told_by_cluster(what: &Observation) -> bool {
    !matches!(
        what,
        Observation::Link(_)
            | Observation::WatchLost(_)
            | Observation::LeasesPolled(_)
            | Observation::Status { answer: Err(_), .. }
            | Observation::FaultDone(..)
            | Observation::OrderDone(..)
            | Observation::WriteDone(_)
            | Observation::Play(_)
    )
}

/// Takes in the state of the connection; whether that is news.
fn take_link(facts: &mut Facts, at: Timestamp, state: LinkState) -> bool {
    let link = &mut facts.link;
    let changed = link.state != state;
    if changed {
        link.since = at;
    }
    link.lost_since = match state {
        LinkState::Retrying { .. } => link.lost_since.or(Some(at)),
        LinkState::Connecting | LinkState::Live { .. } => None,
    };
    link.state = state;
    changed
}

/// Takes in that a range may not be read, which is news.
fn take_denied(facts: &mut Facts, denied: Denied) -> bool {
    facts.link.denied.retain(|known| known.range != denied.range);
    facts.link.denied.push(denied);
    facts.note_listed();
    true
}

/// Takes in which alarms are raised; whether that is news.
fn take_alarms(facts: &mut Facts, at: Timestamp, alarms: Vec<Alarm>) -> bool {
    let (raised, gone) = facts.cluster.set_alarms(alarms);
    let revision = facts.link.revision;
    let news = !raised.is_empty() || !gone.is_empty();
    let raised = raised.into_iter().map(|alarm| (alarm, true));
    for (alarm, is_raised) in raised.chain(gone.into_iter().map(|alarm| (alarm, false))) {
        facts.timeline.push(at, revision, What::Alarm(alarm, is_raised));
    }
    news
}

/// Whether a member's answer differs from its last one in more than how long it took.
fn says_more(known: Option<&MemberFacts>, answer: &Result<Status, NoStatus>) -> bool {
    let Some(known) = known else { return false };
    match (answer, &known.status, &known.error) {
        (Ok(now), Some(before), None) => Status { latency: before.latency, ..now.clone() } != *before,
        (Err(now), _, Some(before)) => now != before,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AlarmKind, LeaseId, MemberId, Millis, Revision};
    use crate::event::LeasePollCost;
    use crate::update::testing::{World, lease_of};

    #[test]
    fn what_says_nothing_new_is_nothing_to_draw() {
        let mut world = World::new(&[("/a", 0)]);
        let status = Status { leader: Some(MemberId(1)), latency: Millis(2), ..Status::default() };
        let alarm = Alarm { member: MemberId(1), kind: AlarmKind::NoSpace };
        let cost = LeasePollCost { asked: 5, failed: 0, took: Millis(3) };
        let revision = world.model.live().link.revision;
        let answer = |answer| Observation::Status { member: MemberId(1), answer };
        let told = [
            (answer(Ok(status.clone())), true),
            (answer(Ok(Status { latency: Millis(9), ..status.clone() })), false),
            (answer(Ok(Status { db_size: 1, ..status.clone() })), true),
            (answer(Err(NoStatus::Unreachable("refused".into()))), true),
            (answer(Err(NoStatus::Unreachable("refused".into()))), false),
            (answer(Ok(status)), true),
            (
                Observation::Members(world.model.live().cluster.members().iter().map(|of| of.member.clone()).collect()),
                false,
            ),
            (Observation::Members(vec![]), true),
            (Observation::Alarms(vec![alarm]), true),
            (Observation::Alarms(vec![alarm]), false),
            (Observation::Progress(revision), false),
            (Observation::Progress(Revision(revision.0 + 1)), true),
            (Observation::LeaseList(vec![lease_of("/a", 0)]), false),
            (Observation::LeaseList(vec![lease_of("/a", 0), LeaseId(9)]), true),
            (Observation::LeaseList(vec![lease_of("/a", 0)]), true),
            (Observation::LeasesPolled(cost), false),
            (Observation::Link(world.model.live().link.state.clone()), false),
        ];
        for (what, news) in told {
            let before = world.model.version();
            let named = format!("{what:?}");
            world.observe(what);
            assert_eq!(world.model.version() > before, news, "{named}");
        }
    }
}
