//! A client as a task: carries out what its recipe wants, on a real cluster.
//!
//! The task owns the recipe's machine and its connection. Nothing it does for the client
//! outlives it, except that a call which is under way when the client crashes may still be done:
//! the packet has left.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::{BoxStream, FuturesUnordered, StreamExt as _};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::calls;
use super::dial::{Dial, Line};
use super::{ClientId, Note, Told, What};
use crate::domain::raft::ClusterTime;
use crate::domain::{KeyRange, LeaseId, Revision};
use crate::pace::Clock;
use crate::port::{Etcd, PortError, Services, WatchAnswer, WatchRange, WatchStream};
use crate::recipe::{Answer, Call, CallId, Command, Failure, Input, Recipe, Timer, WatchId};

/// How long a call may take by the cluster's clock. Shorter than a third of the leases, so that
/// a member that answers nothing is left before the lease has run out.
pub const DEADLINE: Duration = Duration::from_millis(1_500);

/// How long a client may take to give up what it has, by the wall's clock.
const FAREWELL: Duration = Duration::from_secs(3);

/// How long after a crash its lease can still be there, on the cluster's clock, with a change of
/// leaders or two.
const FORGOTTEN: Duration = Duration::from_mins(1);

/// A client that runs.
pub struct Client<R, D: Dial> {
    id: ClientId,
    recipe: R,
    dial: D,
    clock: Clock,
    notes: mpsc::Sender<Note>,
    line: Connection<D::Etcd>,
    /// Calls that wait for a connection.
    waiting: Vec<(CallId, Call)>,
    calls: FuturesUnordered<BoxFuture<'static, Answered>>,
    watch: Option<Watching>,
    timers: BTreeMap<Timer, ClusterTime>,
    /// What the recipe has to know next.
    known: VecDeque<Input>,
    /// The lease that was granted last, and those of lives that ended in a crash, with when: what
    /// is still there of them at the end is tidied up.
    lease: Option<LeaseId>,
    former: Vec<(LeaseId, ClusterTime)>,
    stopped: bool,
}

enum Connection<E> {
    Up(Line<E>),
    Dialling(BoxFuture<'static, Result<Line<E>, String>>),
    /// Lost, or never had; where it led.
    Down(Option<String>),
}

/// A watch that is on, or waits for a connection.
struct Watching {
    id: WatchId,
    range: KeyRange,
    from: Revision,
    events: Option<BoxStream<'static, Input>>,
}

struct Answered {
    call: CallId,
    endpoint: String,
    answer: Result<Answer, PortError>,
}

impl<R: Recipe + Send, D: Dial> Client<R, D> {
    /// A client that connects by `dial`, lives by `clock` and tells `notes` where it stands.
    pub fn new(id: ClientId, recipe: R, dial: D, clock: Clock, notes: mpsc::Sender<Note>) -> Self {
        Self {
            id,
            recipe,
            dial,
            clock,
            notes,
            line: Connection::Down(None),
            waiting: Vec::new(),
            calls: FuturesUnordered::new(),
            watch: None,
            timers: BTreeMap::new(),
            known: VecDeque::new(),
            lease: None,
            former: Vec::new(),
            stopped: false,
        }
    }

    /// Takes part until it is cancelled, then gives up what it has. `faults` is what is done to
    /// it meanwhile.
    pub async fn run(mut self, mut faults: mpsc::Receiver<Input>, cancelled: CancellationToken) {
        self.tell(Input::Start).await;
        let mut may_fault = true;
        loop {
            let input = tokio::select! {
                // The end first, then what is done to it: neither waits for a busy cluster.
                biased;
                () = cancelled.cancelled() => break,
                fault = faults.recv(), if may_fault => {
                    may_fault = fault.is_some();
                    let Some(fault) = fault else { continue };
                    fault
                }
                input = self.next() => input,
            };
            self.tell(input).await;
        }
        let farewell = async {
            self.tell(Input::Stop).await;
            while !self.stopped {
                let input = self.next().await;
                self.tell(input).await;
            }
            self.tidy_up().await;
        };
        if tokio::time::timeout(FAREWELL, farewell).await.is_err() {
            debug!(client = %self.id, "what it has runs out by itself: nobody takes it back");
        }
    }

    /// The next thing its recipe has to know.
    async fn next(&mut self) -> Input {
        loop {
            if let Some(input) = self.known.pop_front() {
                return input;
            }
            let timer = self.timers.iter().min_by_key(|(_, at)| **at).map(|(timer, at)| (*timer, *at));
            let due = async {
                match timer {
                    Some((timer, at)) => {
                        self.clock.until(at).await;
                        timer
                    }
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                // What others wait for comes first; a recipe takes it in any order.
                biased;
                Some(answered) = self.calls.next() => self.answered(answered),
                Some(event) = next_event(&mut self.watch) => self.known.push_back(event),
                line = dialled(&mut self.line) => self.connected(line),
                timer = due => {
                    self.timers.remove(&timer);
                    return Input::Timer(timer);
                }
            }
        }
    }

    async fn tell(&mut self, input: Input) {
        for command in self.recipe.step(self.clock.now(), input) {
            match command {
                Command::Call(id, call) => {
                    self.waiting.push((id, call));
                    self.use_line();
                }
                Command::Watch { watch, range, from } => {
                    self.watch = Some(Watching { id: watch, range, from, events: None });
                    self.use_line();
                }
                Command::Unwatch(watch) => {
                    self.watch.take_if(|watching| watching.id == watch);
                }
                Command::Set(timer, at) => {
                    self.timers.insert(timer, at);
                }
                Command::Report(standing) => self.say(What::Stands(standing)).await,
                Command::Abandon(_) | Command::Write(_) | Command::Saw(_) => {}
                Command::Crashed => {
                    self.drop_everything();
                    let now = self.clock.now();
                    self.former.retain(|(_, at)| now.since(*at) < FORGOTTEN);
                    self.former.extend(self.lease.take().map(|lease| (lease, now)));
                    self.say(What::Crashed).await;
                }
                Command::Stopped => {
                    self.drop_everything();
                    self.stopped = true;
                    self.say(What::Stopped).await;
                }
            }
        }
    }

    /// Revokes what lives that ended in a crash left. In the run itself that runs out.
    async fn tidy_up(&mut self) {
        if self.former.is_empty() {
            return;
        }
        let Ok(Line { etcd, .. }) = self.dial.dial(None).await else { return };
        for (lease, _) in std::mem::take(&mut self.former) {
            // Most of them are gone already, which is an error to the server.
            let _ = calls::make(&etcd, Call::Revoke(lease)).await;
        }
    }

    async fn say(&mut self, what: What) {
        // When nobody listens any more, the end is near.
        let _ = self.notes.send(Note::Client(Told { at: self.clock.now(), client: self.id, what })).await;
    }

    fn drop_everything(&mut self) {
        self.waiting.clear();
        self.calls.clear();
        self.watch = None;
        self.timers.clear();
        self.known.clear();
        self.line = Connection::Down(None);
    }

    /// Starts what waits for a connection; without one, dials.
    fn use_line(&mut self) {
        match &self.line {
            Connection::Dialling(_) => {}
            Connection::Down(lost) => {
                let (dial, lost) = (self.dial.clone(), lost.clone());
                self.line = Connection::Dialling(async move { dial.dial(lost.as_deref()).await }.boxed());
            }
            Connection::Up(line) => {
                for (id, call) in self.waiting.drain(..) {
                    self.calls.push(within(self.clock.clone(), line.clone(), id, call).boxed());
                }
                if let Some(watching) = self.watch.as_mut().filter(|watching| watching.events.is_none()) {
                    let (range, from) = (watching.range.clone(), watching.from);
                    watching.events = Some(follow(line.etcd.clone(), watching.id, range, from));
                }
            }
        }
    }

    /// Takes in what came of dialling. Without a connection all that waited for one fails.
    fn connected(&mut self, line: Result<Line<D::Etcd>, String>) {
        match line {
            Ok(line) => {
                self.line = Connection::Up(line);
                self.use_line();
            }
            Err(why) => {
                debug!(client = %self.id, %why, "no connection");
                self.line = Connection::Down(None);
                let failed = self.waiting.drain(..).map(|(id, _)| Input::Answer(id, Err(Failure::Unanswered)));
                self.known.extend(failed);
                let unwatched = self.watch.take_if(|watching| watching.events.is_none());
                self.known.extend(unwatched.map(|watching| Input::WatchLost(watching.id)));
            }
        }
    }

    fn answered(&mut self, Answered { call, endpoint, answer }: Answered) {
        let answer = answer.map_err(|error| {
            debug!(client = %self.id, %error, "a call failed");
            if calls::is_lease_gone(&error) {
                return Failure::LeaseGone;
            }
            if calls::is_refusal(&error) {
                return Failure::Refused;
            }
            self.give_up(endpoint);
            Failure::Unanswered
        });
        if let Ok(Answer::Granted { lease, .. }) = answer {
            self.lease = Some(lease);
        }
        self.known.push_back(Input::Answer(call, answer));
    }

    /// Leaves a member that does not answer as it should, and the watch there with it: of a
    /// member that stands still a watch would never tell anything again.
    fn give_up(&mut self, endpoint: String) {
        // Of several calls that fail on one connection the first did this.
        if matches!(&self.line, Connection::Up(line) if line.endpoint == endpoint) {
            self.line = Connection::Down(Some(endpoint));
            self.known.extend(self.watch.take().map(|watching| Input::WatchLost(watching.id)));
        }
    }
}

/// One call with its deadline by the cluster's clock.
async fn within<E: Services>(clock: Clock, Line { etcd, endpoint }: Line<E>, call: CallId, what: Call) -> Answered {
    let (late, is_patient) = (clock.now() + DEADLINE, what.is_patient());
    let answer = tokio::select! {
        // An answer that is there counts, however late it is read.
        biased;
        answer = calls::make(&etcd, what) => answer,
        () = clock.until(late), if !is_patient => {
            let (doing, endpoint) = ("wait for an answer".into(), endpoint.clone());
            Err(PortError::Deadline { doing, endpoint, after: DEADLINE })
        }
    };
    Answered { call, endpoint, answer }
}

/// The changes of a range as inputs; the last one is that the watch is lost.
fn follow<E: Etcd>(etcd: E, id: WatchId, range: KeyRange, from: Revision) -> BoxStream<'static, Input> {
    let ask = WatchRange { id: crate::port::WatchId(1), range, from: Some(from) };
    let opened = async move {
        match etcd.watch(ask).await {
            Ok(stream) => batches(stream, id).boxed(),
            Err(_) => futures::stream::iter([Input::WatchLost(id)]).boxed(),
        }
    };
    futures::stream::once(opened).flatten().boxed()
}

fn batches(stream: impl WatchStream, id: WatchId) -> impl futures::Stream<Item = Input> + Send {
    let batches = futures::stream::unfold(Some(stream), move |stream| async move {
        let mut stream = stream?;
        Some(match stream.next().await {
            Ok(Some(WatchAnswer::Events { changes, .. })) => {
                let changed = |(revision, event)| Input::Changed { watch: id, revision, event };
                (changes.into_iter().map(changed).collect(), Some(stream))
            }
            Ok(Some(WatchAnswer::Created { .. } | WatchAnswer::Progress { .. })) => (Vec::new(), Some(stream)),
            Ok(Some(WatchAnswer::Cancelled { .. }) | None) | Err(_) => (vec![Input::WatchLost(id)], None),
        })
    });
    batches.flat_map(futures::stream::iter)
}

async fn next_event(watch: &mut Option<Watching>) -> Option<Input> {
    let event = match watch.as_mut().and_then(|watching| watching.events.as_mut()) {
        Some(events) => events.next().await,
        None => std::future::pending().await,
    };
    if matches!(event, None | Some(Input::WatchLost(_))) {
        *watch = None;
    }
    event
}

/// What comes of dialling; never anything while nobody dials.
async fn dialled<E>(line: &mut Connection<E>) -> Result<Line<E>, String> {
    match line {
        Connection::Dialling(dialling) => Pin::new(dialling).await,
        Connection::Up(_) | Connection::Down(_) => std::future::pending().await,
    }
}
