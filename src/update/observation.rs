//! A fact about the cluster arrives.

use crate::event::{Observation, Stamped, WatchLoss};
use crate::model::{Facts, What};

/// Takes one fact in.
pub fn observe(facts: &mut Facts, Stamped { at, what }: Stamped<Observation>) {
    facts.see_time(at);
    match what {
        Observation::Link(state) => {
            if facts.link.state != state {
                facts.link.since = at;
            }
            facts.link.state = state;
        }
        Observation::Cluster(id) => {
            let former = facts.link.cluster_id.replace(id);
            if former.is_some_and(|former| former != id) {
                facts.link.replaced_cluster = former;
                facts.forget_cluster(at);
            }
        }
        Observation::Scope(ranges) => {
            facts.link.denied.retain(|denied| ranges.contains(&denied.range));
            facts.link.scope = ranges;
        }
        Observation::Listed(page) => {
            facts.take_page(at, page);
            facts.note_listed();
        }
        Observation::Watched(changes) => facts.take_changes(at, changes),
        Observation::Progress(revision) => facts.see_revision(revision),
        // A broken connection loses nothing: the watch resumes where it stopped.
        Observation::WatchLost(WatchLoss::Transport { .. }) => {}
        Observation::WatchLost(WatchLoss::Compacted { .. } | WatchLoss::Cancelled { .. }) => facts.lose_history(),
        Observation::Denied(denied) => {
            facts.link.denied.retain(|known| known.range != denied.range);
            facts.link.denied.push(denied);
            facts.note_listed();
        }
        Observation::LeaseList(ids) => facts.take_lease_list(&ids),
        Observation::LeaseTtl(answer) => facts.take_ttl(at, &answer),
        Observation::LeasesPolled(cost) => facts.take_poll_cost(cost),
        Observation::Members(members) => facts.cluster.set_members(members),
        Observation::Status { member, answer } => {
            if let Some(change) = facts.cluster.set_status(at, member, answer) {
                let revision = facts.link.revision;
                facts.timeline.push(at, revision, What::LeaderChanged(change));
            }
        }
        Observation::Alarms(alarms) => {
            let (raised, gone) = facts.cluster.set_alarms(alarms);
            let revision = facts.link.revision;
            for (alarm, is_raised) in
                raised.into_iter().map(|alarm| (alarm, true)).chain(gone.into_iter().map(|alarm| (alarm, false)))
            {
                facts.timeline.push(at, revision, What::Alarm(alarm, is_raised));
            }
        }
    }
    facts.bump();
}
