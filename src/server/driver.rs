//! The one task that owns the cluster: takes what is asked, moves the clock, hands out answers.
//!
//! The order of a turn is always the same: what was asked is put to the cluster, the cluster is
//! moved to the time of its clock, what is done goes back to those who asked, and the boards
//! that the services read are brought up to date.

use std::collections::BTreeMap;
use std::io;
use std::iter;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, info, warn};

use crate::control::Command;
use crate::domain::raft::{Fault, NodeId, RaftPicture};
use crate::embedded::{Board, Cluster, Finished, Refusal, RequestId, Told};
use crate::pace::{Clock, Reins};

use super::door::{Call, Door};
use super::listen::{self, Run};
use super::{Options, Served, StartError};

/// Calls that wait for the driver; beyond them clients wait at their member.
const CALLS: usize = 1024;
/// How many calls are put to the cluster before it is moved on.
const BATCH: usize = 512;

/// How often it is looked for callers that went away. Those that wait for a leader are looked at
/// before each step of the cluster, so that nothing is proposed for who is not there any more.
const SWEEP: Duration = Duration::from_millis(100);

/// The owner of the cluster.
pub(super) struct Driver {
    cluster: Cluster,
    pace: Reins,
    calls: mpsc::Receiver<Call>,
    commands: mpsc::Receiver<Command>,
    /// Who waits for which answer.
    waiting: BTreeMap<RequestId, oneshot::Sender<Result<Told, Refusal>>>,
    /// When it was last looked for callers that went away.
    swept: Instant,
    seats: BTreeMap<NodeId, Seat>,
    /// Handed to the door of a member that joins later.
    asks: mpsc::Sender<Call>,
    advertise: Option<String>,
    /// Where members that join later listen.
    host: IpAddr,
    shutdown: CancellationToken,
    /// What members still do for callers that went away.
    tasks: TaskTracker,
}

/// What belongs to one member.
struct Seat {
    address: SocketAddr,
    board: watch::Sender<Board>,
    door: Door,
    /// Its listener while it is not killed.
    run: Option<Run>,
    /// Its address while it is.
    held: Option<TcpSocket>,
}

impl Driver {
    /// Listens for every member and starts to serve.
    ///
    /// # Errors
    /// When a member cannot listen.
    pub async fn start(
        cluster: Cluster,
        options: &Options,
        commands: mpsc::Receiver<Command>,
        shutdown: CancellationToken,
    ) -> Result<Self, StartError> {
        if !options.listen.ip().is_loopback() {
            return Err(StartError::NotLoopback(options.listen));
        }
        let (asks, calls) = mpsc::channel(CALLS);
        let pace = Reins::start(cluster.now(), options.speed);
        let mut driver = Self {
            cluster,
            pace,
            calls,
            commands,
            waiting: BTreeMap::new(),
            swept: Instant::now(),
            seats: BTreeMap::new(),
            asks,
            advertise: options.advertise.clone(),
            host: options.listen.ip(),
            shutdown,
            tasks: TaskTracker::new(),
        };
        let mut listeners = Vec::new();
        for (offset, node) in (0_u16..).zip(driver.cluster.nodes()) {
            let at = address(options.listen, offset).ok_or(StartError::NoPortLeft(options.listen))?;
            let listener = listen::bind(at).await.map_err(|why| StartError::Listen { at, why })?;
            listeners.push((node, listener));
        }
        for (node, listener) in listeners {
            driver.seat(node, listener).map_err(|why| StartError::Listen { at: options.listen, why })?;
        }
        driver.publish();
        Ok(driver)
    }

    /// The members with what is known of each, in the order of their nodes.
    pub fn served(&self) -> (Vec<Served>, Vec<watch::Receiver<Board>>) {
        let served = self.seats.values().map(|Seat { address, board, door, .. }| {
            let Door { node, member, .. } = *door;
            let served = Served { node, member, name: node.to_string(), endpoint: address.to_string() };
            (served, board.subscribe())
        });
        served.unzip()
    }

    /// Gives a node its listener, its board and its door, and serves it.
    fn seat(&mut self, node: NodeId, listener: TcpListener) -> io::Result<()> {
        let address = listener.local_addr()?;
        let (board, seen) = watch::channel(Board::default());
        self.cluster.serve_at(node, self.advertise.clone().unwrap_or_else(|| format!("http://{address}")));
        let door = Door {
            node,
            member: self.cluster.member(node),
            cluster: self.cluster.id(),
            store: self.cluster.store(node),
            asks: self.asks.clone(),
            board: seen,
            clock: self.pace.clock(),
            leases_chosen: std::sync::Arc::default(),
        };
        let run = Some(Run::start(listener, door.clone(), self.shutdown.clone(), self.tasks.clone()));
        self.seats.insert(node, Seat { address, board, door, run, held: None });
        Ok(())
    }

    /// The cluster's clock.
    pub fn clock(&self) -> Clock {
        self.pace.clock()
    }

    /// Runs until it is told to stop.
    pub async fn run(mut self) {
        loop {
            let due = self.cluster.next_event().and_then(|at| self.pace.instant(at));
            tokio::select! {
                // The end first, then what people do: a busy cluster must not outrun either.
                biased;
                () = self.shutdown.cancelled() => break,
                Some(command) = self.commands.recv() => self.command(command).await,
                Some(call) = self.calls.recv() => self.take_calls(call),
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
            }
            self.turn().await;
        }
        // Whoever still waits for an answer learns that there will be none.
        drop((self.calls, self.waiting));
        for (_, seat) in self.seats {
            if let Some(run) = seat.run {
                run.ended().await;
            }
        }
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Puts a call to the cluster, and those that wait behind it.
    fn take_calls(&mut self, first: Call) {
        let behind = iter::from_fn(|| self.calls.try_recv().ok());
        for Call { node, ask, answer } in iter::once(first).chain(behind).take(BATCH) {
            let request = self.cluster.ask(node, ask);
            self.waiting.insert(request, answer);
        }
    }

    /// Takes back what callers asked that went away: at members without a leader, or at all.
    fn withdraw(&mut self, everywhere: bool) {
        if everywhere {
            self.swept = Instant::now();
        }
        // A member that is killed waits for no leader: what was asked of it is answered already.
        let is_waiting = |seat: &Seat| seat.run.is_some() && seat.board.borrow().leader.is_none();
        let is_gone = |request| self.waiting.get(&request).is_some_and(oneshot::Sender::is_closed);
        for (&node, _) in self.seats.iter().filter(|(_, seat)| everywhere || is_waiting(seat)) {
            self.cluster.withdraw(node, is_gone);
        }
    }

    /// Moves the cluster on and hands out what that led to.
    async fn turn(&mut self) {
        self.withdraw(self.swept.elapsed() >= SWEEP);
        if !self.pace.is_frozen() {
            self.cluster.advance(self.pace.now());
        }
        self.deliver().await;
    }

    async fn deliver(&mut self) {
        for Finished { request, outcome } in self.cluster.take_finished() {
            if let Some(answer) = self.waiting.remove(&request) {
                // Whoever does not wait any more has hung up.
                let _ = answer.send(outcome);
            }
        }
        self.publish();
        if self.cluster.membership_changed() {
            self.follow_membership().await;
        }
    }

    /// Brings the boards up to date; who waits for a change is woken by one only.
    fn publish(&mut self) {
        for (&node, seat) in &self.seats {
            let cluster = &mut self.cluster;
            seat.board.send_if_modified(|board| cluster.update_board(node, board));
        }
    }

    /// Seats members that joined and ends the runs of those that left.
    async fn follow_membership(&mut self) {
        let nodes = self.cluster.nodes();
        let gone: Vec<_> = self.seats.keys().copied().filter(|node| !nodes.contains(node)).collect();
        for node in gone {
            info!(%node, "a member left");
            if let Some(Seat { run: Some(run), .. }) = self.seats.remove(&node) {
                run.kill().await;
            }
        }
        for node in nodes.into_iter().filter(|node| !self.seats.contains_key(node)).collect::<Vec<_>>() {
            match self.seat_anew(node).await {
                Ok(()) => info!(%node, "a member joined"),
                Err(error) => warn!(%node, %error, "a member that joined cannot listen"),
            }
        }
        self.publish();
    }

    /// Serves a member that has no seat yet, on a port the system chooses.
    async fn seat_anew(&mut self, node: NodeId) -> io::Result<()> {
        let listener = listen::bind((self.host, 0).into()).await?;
        self.seat(node, listener)
    }

    async fn command(&mut self, command: Command) {
        match command {
            Command::Fault(fault, answer) => {
                let done = self.fault(fault).await;
                debug!(%fault, ?done, "a fault");
                let _ = answer.send(done);
            }
            Command::Picture(answer) => {
                let picture =
                    RaftPicture { speed: self.pace.speed(), paused: self.pace.is_frozen(), ..self.cluster.picture() };
                let _ = answer.send(picture);
            }
            Command::Terms(answer) => drop(answer.send(self.cluster.terms())),
        }
    }

    async fn fault(&mut self, fault: Fault) -> Result<(), String> {
        // What was due before the fault happens before it, but nothing for who is not there any
        // more: a clock may start to run, or a member to go on.
        self.withdraw(true);
        self.turn().await;
        match fault {
            Fault::Speed(speed) => self.pace.set_speed(speed),
            Fault::Freeze => self.pace.freeze(true),
            Fault::Thaw => self.pace.freeze(false),
            Fault::Step => {
                self.cluster.step();
                self.pace.stand_at(self.cluster.now());
            }
            Fault::Start(node) => self.start_node(node).await?,
            _ => {
                self.cluster.fault(fault).map_err(|refused| refused.to_string())?;
                self.follow(fault).await;
            }
        }
        self.deliver().await;
        Ok(())
    }

    /// Does to a member's connections what a fault does to the node.
    async fn follow(&mut self, fault: Fault) {
        match fault {
            Fault::Kill(node) => {
                let Some(seat) = self.seats.get_mut(&node) else { return };
                if let Some(run) = seat.run.take() {
                    run.kill().await;
                    seat.held =
                        listen::hold(seat.address).inspect_err(|why| warn!(%node, %why, "its port is free")).ok();
                }
            }
            Fault::Pause(node) | Fault::Resume(node) => {
                if let Some(run) = self.seats.get(&node).and_then(|seat| seat.run.as_ref()) {
                    run.pause(matches!(fault, Fault::Pause(_)));
                }
            }
            _ => {}
        }
    }

    /// Starts a killed node where it listened before.
    async fn start_node(&mut self, node: NodeId) -> Result<(), String> {
        self.cluster.fault(Fault::Start(node)).map_err(|refused| refused.to_string())?;
        let Err(why) = self.listen_again(node).await else { return Ok(()) };
        // It was down, so it can be killed; nobody could reach it.
        let _ = self.cluster.fault(Fault::Kill(node));
        if let Some(seat) = self.seats.get_mut(&node) {
            seat.held = listen::hold(seat.address).ok();
        }
        Err(format!("{node} cannot listen again: {why}"))
    }

    /// Serves a member where it was served; one that found no port when it joined gets one.
    async fn listen_again(&mut self, node: NodeId) -> io::Result<()> {
        let Some(seat) = self.seats.get_mut(&node) else {
            return self.seat_anew(node).await;
        };
        if seat.run.is_none() {
            let listener = match seat.held.take() {
                Some(socket) => listen::listen_again(socket),
                None => listen::bind(seat.address).await,
            };
            seat.run = Some(Run::start(listener?, seat.door.clone(), self.shutdown.clone(), self.tasks.clone()));
        }
        Ok(())
    }
}

/// Where the member with this offset listens; `None` when there is no such port.
fn address(first: SocketAddr, offset: u16) -> Option<SocketAddr> {
    let port = if first.port() == 0 { 0 } else { first.port().checked_add(offset)? };
    Some((first.ip(), port).into())
}

#[cfg(test)]
mod tests;
