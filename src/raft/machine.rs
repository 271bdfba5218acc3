//! What the log drives: the replicated state machine, of which each node has one.

use std::fmt::Debug;

use crate::domain::Revision;
use crate::domain::raft::ClusterTime;

/// A replicated state machine (§2). Two machines that took in the same commands in the same
/// order have the same state and gave the same answers; all else is volatile and a node's own.
pub trait Machine {
    /// What a log entry carries.
    type Command: Clone + Debug;
    /// What taking in a command gives.
    type Answer: Clone + Debug;
    /// The whole replicated state; sent to nodes that lag, and kept in place of the log (§7).
    type Snapshot: Clone;
    /// A question to the leader's volatile state, which the log knows nothing of: in etcd, to
    /// renew a lease or to tell how long it still lives.
    type Question: Clone + Debug;
    /// What is said to it.
    type Reply: Clone + Debug;

    /// Takes in a command. `now` differs from node to node: nothing that is replicated may
    /// depend on it, only what the leader keeps for itself, such as when a lease ends.
    fn apply(&mut self, now: ClusterTime, command: &Self::Command) -> Self::Answer;

    /// The revision of the store, for the picture and for the ways of requests.
    fn revision(&self) -> Revision;

    /// The replicated state.
    fn snapshot(&self) -> Self::Snapshot;

    /// How much work a snapshot is, in what commands add to the state. After one a node applies
    /// that many more commands before it takes the next, so that those of a large state do not
    /// take all of its time.
    fn weight(&self) -> u64 {
        0
    }

    /// Puts the replicated state in place of what is there.
    fn restore(&mut self, snapshot: &Self::Snapshot);

    /// A command in a few words, such as `put /demo/lock/a`; escaped for a terminal.
    fn describe(command: &Self::Command) -> String;

    /// The node leads from now on, and this machine has taken in all that was committed in
    /// earlier terms.
    fn lead(&mut self, now: ClusterTime);

    /// The node leads no more.
    fn follow(&mut self);

    /// When the leader has something to propose by itself; asked of no other node.
    fn next_due(&self) -> Option<ClusterTime>;

    /// What the leader proposes by itself now, such as to revoke leases that ended. Who has
    /// nothing else to say of a matter it proposed may say it again until it is applied: it is
    /// asked a tenth of a second later at the earliest.
    fn due(&mut self, now: ClusterTime) -> Vec<Self::Command>;

    /// Answers a question at the leader, which has just made sure that it leads.
    fn answer(&mut self, now: ClusterTime, question: &Self::Question) -> Self::Reply;
}
