//! Liveness (§5.2, §5.6): when a majority can talk to each other and messages are much faster
//! than timeouts, there is a leader soon, and every member commits what it is asked for.

use std::collections::BTreeSet;
use std::time::Duration;

use lockscope::domain::raft::{Fault, Life, NodeId, Rules};
use lockscope::raft::Config;

use crate::Cluster;
use crate::chance::Chance;
use crate::play::Play;
use crate::registers::{Put, Registers};

/// How many of the longest election timeouts a cluster has to find its leader: votes may split
/// some times.
const TIMEOUTS: u32 = 12;

/// How many runs on a bad network are made.
const BAD_NETWORKS: u64 = 8;

/// How long a run on a bad network is, in spells: something is committed in each.
const SPELLS: u32 = 4;
const SPELL: Duration = Duration::from_secs(20);

/// How often something is written on a bad network: several times in a round trip.
const WRITES: Duration = Duration::from_millis(50);

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

/// The last index that some node knows to be committed.
fn committed(cluster: &Cluster) -> u64 {
    cluster.nodes().into_iter().filter_map(|id| cluster.node(id)).map(|node| node.commit().0).max().unwrap_or(0)
}

/// A network that loses much, is slow and is never mended, with a majority that is up all the
/// time: what is written without a pause is committed without an end.
fn goes_on(seed: u64) -> Result<(), String> {
    let mut chance = Chance::new(seed);
    let nodes = chance.pick(&[5, 7]).unwrap();
    let config = Config {
        nodes,
        seed,
        rules: Rules {
            heartbeat: Duration::from_millis(100),
            election_min: Duration::from_secs(1),
            election_max: Duration::from_secs(2),
            pre_vote: true,
            check_quorum: chance.coin(),
        },
        delay: Duration::from_millis(60 + chance.below(60)),
        jitter: if chance.coin() { Duration::ZERO } else { chance.millis(60) },
        compact_after: 20 + chance.below(2000),
        ..Config::default()
    };
    let mut cluster = Cluster::new(config, |_| Registers::default());
    while cluster.leader().is_none() {
        cluster.advance(cluster.now() + WRITES);
    }
    let loss = u16::try_from(200 + chance.below(120)).unwrap();
    cluster.fault(&Fault::Loss(loss)).unwrap();
    // One more than a majority stays, so that an election does not need each message.
    let all = cluster.nodes();
    let down = usize::try_from(chance.below((nodes as u64 - 1) / 2)).unwrap();
    let leader = cluster.leader();
    for id in all.iter().filter(|id| Some(**id) != leader).take(down) {
        cluster.fault(&Fault::Kill(*id)).unwrap();
    }
    for spell in 0..SPELLS {
        let before = committed(&cluster);
        let end = cluster.now() + SPELL;
        while cluster.now() < end {
            let at = chance.pick(&all).unwrap();
            cluster.propose(at, Put { key: 0, value: chance.next() });
            cluster.advance(cluster.now() + WRITES);
            cluster.take_done().for_each(drop);
        }
        if committed(&cluster) <= before {
            return Err(format!(
                "nothing after entry {before} is committed in spell {spell}, {loss} of 1000 lost, {config:?}"
            ));
        }
    }
    Ok(())
}

#[test]
fn what_is_written_is_committed_as_long_as_a_majority_is_there_however_bad_the_network_is() {
    let first = crate::number("LOCKSCOPE_SEED").unwrap_or_else(crate::any_seed);
    println!("LOCKSCOPE_SEED={first}");
    let wrong: Vec<_> = (first..first + BAD_NETWORKS)
        .filter_map(|seed| goes_on(seed).err().map(|why| format!("LOCKSCOPE_SEED={seed}: {why}")))
        .collect();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
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
    // A change that was under way may have made one of them a member meanwhile.
    let members = self::members(&play.cluster);
    let removed = play.cluster.nodes().into_iter().filter(|id| !members.contains(id)).find(|id| {
        let voters = play.cluster.node(*id).unwrap().members().voters;
        voters.contains(id) && voters.iter().any(|voter| members.contains(voter))
    });
    removed.map_or(Ok(()), |id| Err(format!("{id} was removed and takes itself for a member")))
}
