//! A client as a task: carries out what its recipe wants, on a real cluster.
//!
//! The task owns the recipe's machine and its connection. Nothing it does for the client
//! outlives it, except that a call which is under way when the client crashes may still be done:
//! the packet has left.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::time::Duration;

use futures::future::{AbortHandle, Abortable, BoxFuture, FutureExt as _};
use futures::stream::{FuturesUnordered, StreamExt as _};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::calls;
use super::dial::{Dial, Line};
use super::left::{Leaves, Left};
use super::resource::Ledgers;
use super::skew::Skew;
use super::traffic::Traffic;
use super::{ClientId, Note, Told, What};
use crate::domain::Revision;
use crate::domain::play::Ill;
use crate::domain::raft::ClusterTime;
use crate::pace::Clock;
use crate::port::{PortError, Services};
use crate::recipe::{Answer, Call, CallId, Command, Failure, Input, Recipe, Timer};

mod watching;

use watching::{Watching, follow, next_event};

/// How long a call may take by the cluster's clock. Shorter than a third of the leases, so that
/// a member that answers nothing is left before the lease has run out.
pub const DEADLINE: Duration = Duration::from_millis(1_500);

/// How long a client may take to give up what it has, by the wall's clock.
const FAREWELL: Duration = Duration::from_secs(3);

/// A client that runs.
pub struct Client<R, D: Dial> {
    id: ClientId,
    recipe: R,
    dial: D,
    around: Around,
    line: Connection<D::Etcd>,
    /// Whether its link is cut: nothing it sends arrives, and nothing reaches it.
    cut: bool,
    skew: Skew,
    /// Calls that wait for a connection.
    waiting: Vec<(CallId, Call)>,
    calls: FuturesUnordered<BoxFuture<'static, Option<Answered>>>,
    /// What there is to know of the calls that are under way.
    open: BTreeMap<CallId, Open>,
    watch: Option<Watching>,
    /// Timers, by the client's own clock.
    timers: BTreeMap<Timer, ClusterTime>,
    /// What the recipe has to know next.
    known: VecDeque<Input>,
    left: Left,
    stopped: bool,
}

/// What a client on a real cluster stands in.
#[derive(Clone, Debug)]
pub struct Around {
    /// The clock that all live by.
    pub clock: Clock,
    /// Whom it tells where it stands.
    pub notes: mpsc::Sender<Note>,
    /// What it writes to as a holder.
    pub ledgers: Ledgers,
    /// What counts what it asks for.
    pub traffic: Traffic,
}

enum Connection<E> {
    Up(Line<E>),
    Dialling(BoxFuture<'static, Result<Line<E>, String>>),
    /// Lost, or never had; where it led.
    Down(Option<String>),
}

/// A call that is under way.
struct Open {
    endpoint: String,
    /// When it is given up; never when it waits for a turn to come.
    late: Option<ClusterTime>,
    leaves: Leaves,
    /// Whether nobody waits for its answer any more.
    orphan: bool,
    abort: AbortHandle,
}

struct Answered {
    call: CallId,
    endpoint: String,
    answer: Result<Answer, PortError>,
}

impl<R: Recipe + Send, D: Dial> Client<R, D> {
    /// A client that connects by `dial`.
    pub fn new(id: ClientId, recipe: R, dial: D, around: Around) -> Self {
        Self {
            id,
            recipe,
            dial,
            around,
            line: Connection::Down(None),
            cut: false,
            skew: Skew::default(),
            waiting: Vec::new(),
            calls: FuturesUnordered::new(),
            open: BTreeMap::new(),
            watch: None,
            timers: BTreeMap::new(),
            known: VecDeque::new(),
            left: Left::default(),
            stopped: false,
        }
    }

    /// Takes part until it is cancelled or removed, then gives up what it has; what could not be
    /// given up. `ills` is what is done to it meanwhile.
    pub async fn run(mut self, mut ills: mpsc::Receiver<Ill>, cancelled: CancellationToken) -> Left {
        self.tell(Input::Start).await;
        let mut may_suffer = true;
        loop {
            tokio::select! {
                // The end first, then what is done to it: neither waits for a busy cluster.
                biased;
                () = cancelled.cancelled() => break,
                ill = ills.recv(), if may_suffer => match ill {
                    Some(Ill::Remove) => {
                        self.say(What::Suffers(Ill::Remove)).await;
                        break;
                    }
                    Some(ill) => self.suffer(ill).await,
                    None => may_suffer = false,
                },
                input = self.next() => self.tell(input).await,
            }
        }
        let farewell = async {
            self.tell(Input::Stop).await;
            // Behind a cut link nobody is told.
            while !self.stopped && !self.cut {
                let input = self.next().await;
                self.tell(input).await;
            }
            while !self.open.is_empty() && !self.cut {
                let Some(answered) = self.calls.next().await else { break };
                if let Some(answered) = answered {
                    self.answered(answered);
                }
            }
        };
        if tokio::time::timeout(FAREWELL, farewell).await.is_err() || !self.stopped {
            debug!(client = %self.id, "what it has is left to others to take back");
            self.say(What::Stopped).await;
        }
        // What is still under way may have been done.
        for open in std::mem::take(&mut self.open).into_values() {
            self.left.note(open.leaves, &Err(Failure::Unanswered));
        }
        self.left
    }

    /// What is done to it comes about.
    async fn suffer(&mut self, ill: Ill) {
        self.say(What::Suffers(ill)).await;
        match ill {
            Ill::Pause => self.tell(Input::Pause).await,
            Ill::Resume => self.tell(Input::Resume).await,
            Ill::Crash => self.tell(Input::Crash).await,
            Ill::Heartbeat(every) => self.tell(Input::Heartbeat(every)).await,
            Ill::Release => self.tell(Input::Release).await,
            Ill::Hold(length) => self.tell(Input::Hold(length)).await,
            Ill::Cut => self.lose_link(),
            Ill::Mend => self.mend_link(),
            Ill::Skew(millis) => self.skew = Skew::of(millis),
            // The one ends its run, the other is done to its lease and not to it.
            Ill::Remove | Ill::Revoke => {}
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
                        self.around.clock.until(self.skew.world(at)).await;
                        timer
                    }
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                // What others wait for comes first; a recipe takes it in any order.
                biased;
                answered = self.calls.next(), if !self.calls.is_empty() => {
                    if let Some(Some(answered)) = answered {
                        self.answered(answered);
                    }
                }
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
        self.around.traffic.heard(&input);
        for command in self.recipe.step(self.skew.own(self.around.clock.now()), input) {
            self.around.traffic.asked(&command);
            match command {
                Command::Call(id, call) => {
                    self.waiting.push((id, call));
                    self.use_line();
                }
                Command::Abandon(id) => {
                    self.waiting.retain(|(waiting, _)| *waiting != id);
                    if let Some(open) = self.open.remove(&id) {
                        open.abort.abort();
                    }
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
                Command::Write(token) => self.write(token).await,
                Command::Saw(sight) => self.say(What::Saw(sight)).await,
                Command::Crashed => {
                    self.drop_everything();
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

    /// Writes to what its lock protects. There is room for the notes before it writes, so that
    /// they are in the order of the writes.
    async fn write(&mut self, token: Revision) {
        let Around { clock, notes, ledgers, .. } = &self.around;
        let mut permits = notes.reserve_many(ledgers.len()).await.ok();
        let refused = ledgers.write(token, |written| {
            // When nobody listens any more, the end is near.
            if let Some(permit) = permits.as_mut().and_then(Iterator::next) {
                permit.send(Note::Client(Told { at: clock.now(), client: self.id, what: What::Wrote(written) }));
            }
        });
        self.known.extend(refused.map(Input::Refused));
    }

    async fn say(&mut self, what: What) {
        // When nobody listens any more, the end is near.
        let at = self.around.clock.now();
        let _ = self.around.notes.send(Note::Client(Told { at, client: self.id, what })).await;
    }

    fn drop_everything(&mut self) {
        self.waiting.clear();
        // A lease that is granted when nobody waits for it any more has to be known all the same.
        for (_, open) in self.open.extract_if(.., |_, open| open.leaves != Leaves::Lease) {
            open.abort.abort();
            self.left.note(open.leaves, &Err(Failure::Unanswered));
        }
        for open in self.open.values_mut() {
            open.orphan = true;
        }
        self.watch = None;
        self.timers.clear();
        self.known.clear();
        self.line = Connection::Down(None);
    }

    /// What is under way is not answered any more, and the watch is lost.
    fn lose_link(&mut self) {
        if std::mem::replace(&mut self.cut, true) {
            return;
        }
        let soon = self.around.clock.now() + DEADLINE;
        for (&call, open) in &mut self.open {
            open.abort.abort();
            let (clock, late, endpoint) = (self.around.clock.clone(), open.late.unwrap_or(soon), open.endpoint.clone());
            let (abort, registration) = AbortHandle::new_pair();
            open.abort = abort;
            let waits = async move {
                clock.until(late).await;
                let doing = "wait for an answer".into();
                let answer = Err(PortError::Deadline { doing, endpoint: endpoint.clone(), after: DEADLINE });
                Answered { call, endpoint, answer }
            };
            self.calls.push(Abortable::new(waits, registration).map(Result::ok).boxed());
        }
        self.line = Connection::Down(None);
        self.known.extend(self.watch.take().map(|watching| Input::WatchLost(watching.id)));
        if !self.waiting.is_empty() {
            self.use_line();
        }
    }

    /// What waits for a connection goes on its way.
    fn mend_link(&mut self) {
        self.cut = false;
        if matches!(self.line, Connection::Dialling(_)) {
            self.line = Connection::Down(None);
            self.use_line();
        }
    }

    /// Starts what waits for a connection; without one, dials.
    fn use_line(&mut self) {
        match &self.line {
            Connection::Dialling(_) => {}
            Connection::Down(_) if self.cut => {
                let clock = self.around.clock.clone();
                let late = clock.now() + DEADLINE;
                let dials = async move {
                    clock.until(late).await;
                    Err("the link is cut".to_owned())
                };
                self.line = Connection::Dialling(dials.boxed());
            }
            Connection::Down(lost) => {
                let (dial, lost) = (self.dial.clone(), lost.clone());
                self.line = Connection::Dialling(async move { dial.dial(lost.as_deref()).await }.boxed());
            }
            Connection::Up(line) => {
                for (id, call) in self.waiting.drain(..) {
                    let late = (!call.is_patient()).then(|| self.around.clock.now() + DEADLINE);
                    let (abort, registration) = AbortHandle::new_pair();
                    let open =
                        Open { endpoint: line.endpoint.clone(), late, leaves: Leaves::of(&call), orphan: false, abort };
                    self.open.insert(id, open);
                    let answer = within(self.around.clock.clone(), line.clone(), id, call, late);
                    self.calls.push(Abortable::new(answer, registration).map(Result::ok).boxed());
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
        let open = self.open.remove(&call);
        let answer = answer.map_err(|error| {
            debug!(client = %self.id, %error, "a call failed");
            if error.is_lease_gone() {
                return Failure::LeaseGone;
            }
            if calls::is_refusal(&error) {
                return Failure::Refused;
            }
            self.give_up(endpoint);
            Failure::Unanswered
        });
        let Some(open) = open else { return };
        self.left.note(open.leaves, &answer);
        if !open.orphan {
            self.known.push_back(Input::Answer(call, answer));
        }
    }

    /// Leaves a member that does not answer as it should, and what waits there with it: of a
    /// member that stands still a watch would never tell anything again, and no turn come.
    fn give_up(&mut self, endpoint: String) {
        // Of several calls that fail on one connection the first did this.
        if !matches!(&self.line, Connection::Up(line) if line.endpoint == endpoint) {
            return;
        }
        self.known.extend(self.watch.take().map(|watching| Input::WatchLost(watching.id)));
        let patient = |_: &CallId, open: &mut Open| open.late.is_none() && open.endpoint == endpoint;
        for (call, open) in self.open.extract_if(.., patient) {
            open.abort.abort();
            self.known.push_back(Input::Answer(call, Err(Failure::Unanswered)));
        }
        self.line = Connection::Down(Some(endpoint));
    }
}

/// One call with its deadline by the cluster's clock.
async fn within<E: Services>(
    clock: Clock,
    Line { etcd, endpoint }: Line<E>,
    call: CallId,
    what: Call,
    late: Option<ClusterTime>,
) -> Answered {
    let too_late = async {
        match late {
            Some(late) => clock.until(late).await,
            None => std::future::pending().await,
        }
    };
    let answer = tokio::select! {
        // An answer that is there counts, however late it is read.
        biased;
        answer = calls::make(&etcd, what) => answer,
        () = too_late => {
            let (doing, endpoint) = ("wait for an answer".into(), endpoint.clone());
            Err(PortError::Deadline { doing, endpoint, after: DEADLINE })
        }
    };
    Answered { call, endpoint, answer }
}

/// What comes of dialling; never anything while nobody dials.
async fn dialled<E>(line: &mut Connection<E>) -> Result<Line<E>, String> {
    match line {
        Connection::Dialling(dialling) => Pin::new(dialling).await,
        Connection::Up(_) | Connection::Down(_) => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::raft::Speed;
    use crate::domain::{KeyValue, LeaseId};
    use crate::pace::Reins;
    use crate::port::Memory;
    use crate::recipe::{Part, Watch};

    /// Nobody answers.
    #[derive(Clone)]
    struct Nobody;

    impl Dial for Nobody {
        type Etcd = Memory;

        async fn dial(&self, _: Option<&str>) -> Result<Line<Memory>, String> {
            Err("nobody answers".into())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_put_whose_answer_did_not_come_before_the_end_is_left_to_be_looked_for() {
        let reins = Reins::start(ClusterTime(0), Speed(1000));
        let (notes, _heard) = mpsc::channel(8);
        let (ledgers, traffic) = (Ledgers::default(), Traffic::default());
        let around = Around { clock: reins.clock(), notes, ledgers, traffic };
        let mut client = Client::new(ClientId(1), Watch::new(b"/a"), Nobody, around);
        let put = Call::Put { key: "/a".into(), value: b"me".to_vec(), lease: LeaseId::NONE };
        let (abort, _) = AbortHandle::new_pair();
        let (endpoint, leaves) = ("memory".into(), Leaves::of(&put));
        let id = CallId { part: Part::Lock, number: 1 };
        client.open.insert(id, Open { endpoint, late: None, leaves, orphan: false, abort });
        client.cut = true;
        let ended = CancellationToken::new();
        ended.cancel();
        let left = client.run(mpsc::channel(1).1, ended).await;
        assert!(left.has(&KeyValue { key: "/a".into(), value: b"me".to_vec(), ..KeyValue::default() }));
    }
}
