//! Liveness (§5.2, §5.6): when a majority can talk to each other and messages are much faster
//! than timeouts, there is a leader soon, and every member commits what it is asked for.

use std::collections::BTreeSet;

use lockscope::domain::raft::{Life, NodeId};

use crate::Cluster;
use crate::play::Play;

/// How many of the longest election timeouts a cluster has to find its leader: votes may split
/// some times.
const TIMEOUTS: u32 = 12;

/// The members, as those say whose log goes furthest.
pub fn members(cluster: &Cluster) -> BTreeSet<NodeId> {
    let nodes = cluster.nodes();
    let views = nodes.iter().filter_map(|id| cluster.node(*id));
    let members = views.max_by_key(|node| (node.commit(), node.last())).map(|node| node.members());
    members.into_iter().flat_map(|members| [members.voters, members.incoming, members.learners]).flatten().collect()
}

/// Whether all members follow one leader, and know that they are what they are.
fn is_settled(cluster: &Cluster) -> bool {
    let Some(leader) = cluster.leader() else { return false };
    let view = cluster.node(leader).unwrap();
    let members = view.members();
    let agree = |id: &NodeId| {
        cluster.node(*id).is_some_and(|node| {
            node.life() == Life::Up
                && node.leader() == Some(leader)
                && node.applied() == view.last()
                && node.members() == members
        })
    };
    members.incoming.is_empty()
        && members.voters.iter().chain(&members.learners).all(agree)
        && view.commit() == view.last()
}

/// All was mended: the cluster finds a leader and goes on.
pub fn recovers(play: &mut Play) -> Result<(), String> {
    let timeout = play.cluster.picture().rules.election_max;
    let began = play.cluster.now();
    let mut settled = false;
    for _ in 0..TIMEOUTS * 4 {
        play.run_until(play.cluster.now() + timeout / 4)?;
        settled = is_settled(&play.cluster);
        if settled {
            break;
        }
    }
    if !settled {
        return Err(format!("no leader that all follow {:?} after all was mended", play.cluster.now().since(began)));
    }
    let members = members(&play.cluster);
    let writes: Vec<_> = members.iter().map(|id| (*id, play.write(*id))).collect();
    play.run_until(play.cluster.now() + timeout)?;
    if let Some((id, _)) = writes.iter().find(|(id, request)| play.is_open(*id, *request)) {
        return Err(format!("{id} has not written within an election timeout after all was mended"));
    }
    if !is_settled(&play.cluster) {
        return Err("some members lag an election timeout after the last write".to_owned());
    }
    if play.cluster.nodes().iter().all(|id| members.contains(id)) {
        return Ok(());
    }
    // Those that were removed stop as soon as they ask one that is still there for its vote.
    play.run_until(play.cluster.now() + timeout * 4)?;
    let removed = play.cluster.nodes().into_iter().filter(|id| !members.contains(id)).find(|id| {
        let voters = play.cluster.node(*id).unwrap().members().voters;
        voters.contains(id) && voters.iter().any(|voter| members.contains(voter))
    });
    removed.map_or(Ok(()), |id| Err(format!("{id} was removed and takes itself for a member")))
}
