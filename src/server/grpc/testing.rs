//! A member without a cluster: one store, agreed on by nobody else, behind a door. What the
//! cluster would do that this cannot is set by hand.

use std::net::SocketAddr;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::transport::server::TcpIncoming;

use super::routes;
use crate::domain::raft::{ClusterTime, NodeId, Speed};
use crate::domain::{ClusterId, LeaseId, Member, MemberId, RaftIndex, Revision, Term};
use crate::embedded::Board;
use crate::embedded::{Ask, Change, LeaseAnswer, LeaseQuestion, Refusal, Told};
use crate::mvcc::{Lessor, Request, Response, Store};
use crate::pace::Reins;
use crate::server::door::{Call, Door};

/// A member that serves its API on loopback until it is dropped.
pub struct Served {
    /// Where.
    pub address: SocketAddr,
    /// What is known of it, to be changed by a test.
    pub board: Arc<watch::Sender<Board>>,
    /// What the driver was told of watches.
    pub told: mpsc::Receiver<(Revision, u32)>,
    shutdown: CancellationToken,
    tasks: TaskTracker,
}

impl Served {
    /// Starts it.
    pub async fn start() -> Self {
        let Behind { door, store, board, calls, .. } = Behind::new();
        let (tell, told) = mpsc::channel(1024);
        let (shutdown, tasks) = (CancellationToken::new(), TaskTracker::new());
        let driver =
            Driver { store, board: Arc::clone(&board), lessor: Lessor::default(), began: Instant::now(), tell };
        tasks.spawn(driver.run(calls, shutdown.clone()));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("it is bound");
        let serving = routes(door, &shutdown, &tasks)
            .serve_with_incoming_shutdown(TcpIncoming::from(listener), shutdown.clone().cancelled_owned());
        tasks.spawn(serving);
        Self { address, board, told, shutdown, tasks }
    }

    /// A client of it.
    pub async fn client(&self) -> etcd_client::Client {
        etcd_client::Client::connect([self.address.to_string()], None).await.expect("it serves")
    }

    /// Stops it and waits until all of it is gone.
    pub async fn stop(self) {
        self.shutdown.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}

/// A door, and what is behind it.
pub struct Behind {
    pub door: Door,
    pub store: Arc<RwLock<Store>>,
    pub board: Arc<watch::Sender<Board>>,
    pub calls: mpsc::Receiver<Call>,
    /// Of the cluster's clock, which begins at the speed of the wall's.
    pub reins: Reins,
}

impl Behind {
    /// An empty store of a member that leads a cluster of one.
    pub fn new() -> Self {
        let store = Arc::new(RwLock::new(Store::new()));
        let member = Member {
            id: MemberId(0xa1),
            name: "n1".into(),
            peer_urls: vec!["http://127.0.0.1:1".into()],
            ..Member::default()
        };
        let (node, cluster) = (NodeId(1), ClusterId(0xc1));
        let board = Board {
            term: Term(2),
            leader: Some(member.id),
            revision: Revision(1),
            members: [member.clone()].into(),
            ..Board::default()
        };
        let (board, seen) = watch::channel(board);
        let (asks, calls) = mpsc::channel(1024);
        let reins = Reins::start(ClusterTime(0), Speed(1000));
        let door = Door {
            node,
            member: member.id,
            cluster,
            store: Arc::clone(&store),
            asks,
            board: seen,
            clock: reins.clock(),
            leases_chosen: Arc::default(),
        };
        Self { door, store, board: Arc::new(board), calls, reins }
    }

    /// Applies a request and tells the board.
    pub fn apply(&self, request: &Request) {
        let applied = self.store.write().expect("no panic").apply(request);
        assert!(applied.result.is_ok(), "{applied:?}");
        self.board.send_modify(|board| board.revision = applied.revision);
    }
}

impl Behind {
    /// Applies what was asked for, and answers.
    pub fn answer(&self, call: Call) {
        let told = match call.ask {
            Ask::Write(request) => {
                let applied = self.store.write().expect("no panic").apply(&request);
                self.board.send_modify(|board| board.revision = applied.revision);
                Told::Response(applied.result)
            }
            _ => Told::Nothing,
        };
        let _ = call.answer.send(Ok(told));
    }
}

/// Applies what is asked at once.
struct Driver {
    store: Arc<RwLock<Store>>,
    board: Arc<watch::Sender<Board>>,
    lessor: Lessor,
    began: Instant,
    tell: mpsc::Sender<(Revision, u32)>,
}

impl Driver {
    async fn run(mut self, mut calls: mpsc::Receiver<Call>, shutdown: CancellationToken) {
        self.lessor.lead(Duration::ZERO, Duration::ZERO);
        let mut calling = Vec::new();
        loop {
            let expiry = self.lessor.next_expiry().map(|at| self.began + at);
            let expired = async {
                match expiry {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                count = calls.recv_many(&mut calling, 256) => {
                    if count == 0 {
                        return;
                    }
                    let answers: Vec<_> = calling.drain(..).map(|call| (self.answer(call.ask), call.answer)).collect();
                    self.announce();
                    for (done, answer) in answers {
                        let _ = answer.send(done);
                    }
                }
                () = expired => {
                    for lease in self.lessor.expired(self.began.elapsed()) {
                        let _ = self.apply(&Request::Revoke { lease });
                    }
                    self.announce();
                }
                () = shutdown.cancelled() => return,
            }
        }
    }

    fn announce(&self) {
        let revision = self.store.read().expect("no panic").revision();
        self.board.send_if_modified(|board| std::mem::replace(&mut board.revision, revision) != revision);
    }

    fn answer(&mut self, ask: Ask) -> Result<Told, Refusal> {
        Ok(match ask {
            Ask::Write(request) => Told::Response(self.apply(&request)),
            Ask::Barrier => Told::Nothing,
            Ask::Lease(question) => Told::Lease(self.lease(question)),
            Ask::Change(change) => Told::Members(self.change(change)?),
            Ask::Transfer(_) => return Err(Refusal::BadTransferee),
            Ask::WatchersTold { revision, watches } => {
                let _ = self.tell.try_send((revision, watches));
                Told::Nothing
            }
        })
    }

    fn apply(&mut self, request: &Request) -> Result<Response, crate::mvcc::Error> {
        let applied = self.store.write().expect("no panic").apply(request);
        self.board.send_if_modified(|board| {
            board.applied = RaftIndex(board.applied.0 + 1);
            board.commit = board.applied;
            false
        });
        match (&applied.result, request) {
            (Ok(Response::Grant(granted)), _) => self.lessor.granted(granted.lease, granted.ttl, self.began.elapsed()),
            (_, Request::Revoke { lease }) => self.lessor.revoked(*lease),
            _ => {}
        }
        applied.result
    }

    fn lease(&mut self, question: LeaseQuestion) -> LeaseAnswer {
        let now = self.began.elapsed();
        let gone = LeaseAnswer { granted: 0, remaining: -1 };
        let granted =
            |store: &RwLock<Store>, lease: LeaseId| store.read().expect("no panic").lease(lease).map(|info| info.ttl);
        match question {
            LeaseQuestion::Renew(lease) => match (self.lessor.renew(lease, now), granted(&self.store, lease)) {
                (Ok(_), Some(granted)) => LeaseAnswer { granted, remaining: granted },
                _ => gone,
            },
            LeaseQuestion::TimeToLive(lease) => {
                match (self.lessor.remaining(lease, now), granted(&self.store, lease)) {
                    (Some(left), Some(granted)) => {
                        LeaseAnswer { granted, remaining: i64::try_from(left.as_secs()).unwrap_or(i64::MAX) }
                    }
                    _ => gone,
                }
            }
        }
    }

    fn change(&mut self, change: Change) -> Result<Arc<[Member]>, Refusal> {
        let mut members = self.board.borrow().members.to_vec();
        match change {
            Change::Add { peer_urls, learner } => {
                if members.iter().any(|member| member.peer_urls == peer_urls) {
                    return Err(Refusal::PeerUrlsExist);
                }
                let id = MemberId(0xa1 + members.len() as u64);
                members.push(Member { id, peer_urls, learner, ..Member::default() });
            }
            Change::Promote(id) => {
                let member = members.iter_mut().find(|member| member.id == id).ok_or(Refusal::MemberNotFound)?;
                if !std::mem::replace(&mut member.learner, false) {
                    return Err(Refusal::NotLearner);
                }
            }
            Change::Remove(id) => {
                let at = members.iter().position(|member| member.id == id).ok_or(Refusal::MemberNotFound)?;
                members.remove(at);
            }
        }
        let members: Arc<[Member]> = members.into();
        self.board.send_modify(|board| board.members = Arc::clone(&members));
        Ok(members)
    }
}
