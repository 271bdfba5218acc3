//! A member's door: what its API services ask of the cluster behind them.
//!
//! Reads of the store go straight to it; whatever the cluster has to agree on goes to the
//! driver, which owns the cluster, and comes back when the member has applied it.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, RwLock, RwLockReadGuard};

use tokio::sync::{mpsc, oneshot, watch};

use crate::domain::raft::NodeId;
use crate::domain::{ClusterId, Member, MemberId, Revision};
use crate::embedded::{Ask, Board, Change, LeaseAnswer, LeaseQuestion, Refusal, Told};
use crate::mvcc::{Request, Response, Store};
use crate::pace::Clock;

/// One member's door. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Door {
    /// The node behind it.
    pub node: NodeId,
    /// The id its API reports.
    pub member: MemberId,
    /// The cluster it is of.
    pub cluster: ClusterId,
    pub(super) store: Arc<RwLock<Store>>,
    pub(super) asks: mpsc::Sender<Call>,
    pub(super) board: watch::Receiver<Board>,
    /// The cluster's clock.
    pub(super) clock: Clock,
    /// How many lease ids the member chose, in all of its runs.
    pub(super) leases_chosen: Arc<AtomicU64>,
}

/// What the driver is asked, and where the answer goes.
#[derive(Debug)]
pub(super) struct Call {
    pub node: NodeId,
    pub ask: Ask,
    pub answer: oneshot::Sender<Result<Told, Refusal>>,
}

impl Door {
    /// The member's store as it is now. Not to be held across an await.
    pub fn store(&self) -> RwLockReadGuard<'_, Store> {
        self.store.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// What is known of the member.
    pub fn board(&self) -> Board {
        self.board.borrow().clone()
    }

    /// Waits until the store is beyond `revision`.
    ///
    /// # Errors
    /// When the member stops.
    pub async fn beyond(&mut self, revision: Revision) -> Result<(), Refusal> {
        self.board.wait_for(|board| board.revision > revision).await.map(drop).map_err(|_| Refusal::Stopped)
    }

    /// Waits until the member's leader or term is another one than on `seen`.
    ///
    /// # Errors
    /// When the member stops.
    pub async fn leader_changed(&mut self, seen: &Board) -> Result<Board, Refusal> {
        let changed = |board: &Board| board.leader != seen.leader || board.term != seen.term;
        self.board.wait_for(changed).await.map(|board| board.clone()).map_err(|_| Refusal::Stopped)
    }

    /// Has the cluster agree on a request; answers when this member has applied it.
    ///
    /// # Errors
    /// When the store refuses it, or no majority agrees in time.
    pub async fn write(&self, request: Request) -> Result<Response, Refusal> {
        match self.ask(Ask::Write(Arc::new(request))).await? {
            Told::Response(answer) => Ok(answer?),
            _ => Err(Refusal::Stopped),
        }
    }

    /// Waits until the store has everything that was acknowledged before (a linearizable read
    /// may follow).
    ///
    /// # Errors
    /// When no majority confirms the leader in time.
    pub async fn barrier(&self) -> Result<(), Refusal> {
        self.ask(Ask::Barrier).await.map(drop)
    }

    /// Asks the leader's lease clock.
    ///
    /// # Errors
    /// When there is no leader, or it does not answer in time.
    pub async fn lease(&self, question: LeaseQuestion) -> Result<LeaseAnswer, Refusal> {
        match self.ask(Ask::Lease(question)).await? {
            Told::Lease(answer) => Ok(answer),
            _ => Err(Refusal::Stopped),
        }
    }

    /// Changes the membership; answers with the members as they are then.
    ///
    /// # Errors
    /// When the change is refused, or no majority agrees in time.
    pub async fn change(&self, change: Change) -> Result<Arc<[Member]>, Refusal> {
        match self.ask(Ask::Change(change)).await? {
            Told::Members(members) => Ok(members),
            _ => Err(Refusal::Stopped),
        }
    }

    /// Hands the lead over to another member.
    ///
    /// # Errors
    /// When this member does not lead, or the other cannot.
    pub async fn transfer(&self, to: MemberId) -> Result<(), Refusal> {
        self.ask(Ask::Transfer(to)).await.map(drop)
    }

    /// Says that watches were told what a revision changed.
    pub async fn watchers_told(&self, revision: Revision, watches: u32) {
        // Only a trace wants to know; a driver that is gone has none.
        let (answer, _) = oneshot::channel();
        let ask = Ask::WatchersTold { revision, watches };
        let _ = self.asks.send(Call { node: self.node, ask, answer }).await;
    }

    async fn ask(&self, ask: Ask) -> Result<Told, Refusal> {
        let (answer, answered) = oneshot::channel();
        self.asks.send(Call { node: self.node, ask, answer }).await.map_err(|_| Refusal::Stopped)?;
        answered.await.map_err(|_| Refusal::Stopped)?
    }
}
