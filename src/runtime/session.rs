//! The loop: takes in what happens, has the model brought up to date, does what follows, and
//! draws.
//!
//! A frame is drawn only when something changed, or when time alone made the last one wrong,
//! and only when the terminal took that one and those before were not too many bytes. In between
//! the loop sleeps until the model's next deadline; nothing to show means nothing done.

use std::io;
use std::time::Duration;

use ratatui::buffer::Buffer;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::{Instant, sleep_until};
use tracing::debug;

use super::appearance::Appearance;
use super::awaited::Awaited;
use super::beside::Beside;
use super::clock::Clock;
use super::journal::{self, Journal, Line};
use super::replay::Replay;
use super::signals::{Signals, Told};
use super::taping::Taping;
use super::terminal::{self, Inputs, Terminal};
use super::writes::{self, Left, Writes};
use super::{ExitReason, RuntimeError, logging};
use crate::domain::play::Order;
use crate::domain::raft::Fault;
use crate::domain::write::Write;
use crate::domain::{LeaseId, Timestamp};
use crate::effect::{Effect, Effects};
use crate::event::{Event, Observation, Stamped};
use crate::input::{Hits, Input, Pane, Screen};
use crate::model::{BlastRadius, Model};
use crate::source::{WantedPast, Wires};
use crate::update::update;
use crate::view;
use crate::wheel;

/// The time from one frame to the next, at least.
const FRAME: Duration = Duration::from_millis(16);
/// While observations come without a pause, a frame is drawn this often all the same.
const BUSY_FRAME: Duration = Duration::from_millis(40);
/// For how long observations are taken in before hands are looked at again.
const DRAIN: Duration = Duration::from_millis(8);
/// The time from one tick that a deadline asks for to the next, at least: a deadline that is
/// always past would not let the loop sleep.
const TICK: Duration = Duration::from_millis(5);

/// The dashboard while it is shown.
pub struct Session {
    model: Model,
    terminal: Terminal,
    appearance: Appearance,
    clock: Clock,
    signals: Signals,
    inputs: Inputs,
    wires: Wires,
    /// The cluster embedded in this program, when that is the one that is shown.
    embedded: Option<Beside<Fault>>,
    /// The simulated clients, where there are any.
    play: Option<Beside<Order>>,
    /// Who carries out writes to the cluster, where there may be any.
    writes: Option<Writes>,
    /// A recording in place of the source.
    replay: Option<Replay>,
    /// What is recorded of all this.
    taping: Taping,
    hits: Hits,
    journal: Journal,
    drawn: Drawn,
    /// The leases that were asked and have not all answered.
    awaited: Awaited,
    ticked: Instant,
    /// Whether observations were left waiting to look at hands.
    busy: bool,
}

/// The last frame.
struct Drawn {
    at: Timestamp,
    instant: Instant,
    /// The version of the model it shows; `None` when the next frame is wanted in any case.
    version: Option<u64>,
}

/// What the loop woke up for.
enum Woken {
    Signal(Told),
    Hands(Option<Input>),
    Drained(io::Result<()>),
    Panic,
    Observed(Option<Stamped<Observation>>),
    Replay,
    Logged,
    Deadline,
}

impl Session {
    /// A dashboard that shows nothing yet.
    pub fn new(
        model: Model,
        terminal: Terminal,
        appearance: Appearance,
        clock: Clock,
        signals: Signals,
        inputs: Inputs,
        wires: Wires,
    ) -> Self {
        let now = Instant::now();
        let long_ago = now.checked_sub(Duration::from_secs(1)).unwrap_or(now);
        Self {
            model,
            terminal,
            appearance,
            clock,
            signals,
            inputs,
            wires,
            embedded: None,
            play: None,
            writes: None,
            replay: None,
            taping: Taping::default(),
            hits: Hits::default(),
            journal: Journal::default(),
            drawn: Drawn { at: Timestamp::default(), instant: long_ago, version: None },
            awaited: Awaited::default(),
            ticked: long_ago,
            busy: false,
        }
    }

    /// Shows the insides of a cluster that is embedded in this program.
    #[must_use]
    pub fn beside(mut self, embedded: Option<Beside<Fault>>) -> Self {
        self.embedded = embedded;
        self
    }

    /// Shows clients that play.
    #[must_use]
    pub fn with_play(mut self, play: Option<Beside<Order>>) -> Self {
        self.play = play;
        self
    }

    /// Lets a person write to the cluster.
    #[must_use]
    pub fn with_writes(mut self, writes: Option<Writes>) -> Self {
        self.writes = writes;
        self
    }

    /// Shows a recording.
    #[must_use]
    pub fn with_replay(mut self, replay: Option<Replay>) -> Self {
        self.replay = replay;
        self
    }

    /// Is recorded, or may be.
    #[must_use]
    pub fn taped(mut self, taping: Taping) -> Self {
        self.taping = taping;
        self
    }

    /// Runs until the dashboard is left. The terminal is given back before it waits for a write
    /// that is not over; what comes of it is still recorded.
    ///
    /// # Errors
    /// See [`RuntimeError`].
    pub async fn run(mut self) -> Result<ExitReason, RuntimeError> {
        let reason = self.until_left().await;
        if let Some(embedded) = self.embedded.take() {
            embedded.end().await;
        }
        if let Some(play) = self.play.take() {
            play.end().await;
        }
        let Self { terminal, inputs, mut model, writes, mut signals, mut taping, clock, .. } = self;
        drop((inputs, terminal));
        let left = match (writes, model.ui.writing) {
            (Some(writes), running) => {
                let looks = writes.under_way().map(|write| how_to_look(&model, write));
                let running = running.map(|id| (id, looks.unwrap_or_default()));
                writes.finish(running, &mut signals, |observed| taping.take(observed, &mut model)).await
            }
            (None, _) => Left::Knowing,
        };
        let cut = taping.end(clock.now(), &reason).await;
        if let Some(cut) = &cut {
            writes::say(cut);
        }
        match (left, reason) {
            (Left::Told(number), Ok(_)) => Ok(ExitReason::Signal(number)),
            (Left::Unknown, Ok(ExitReason::Quit)) => Ok(ExitReason::Unknown),
            (_, Ok(ExitReason::Quit)) if cut.is_some() => Ok(ExitReason::NotRecorded),
            (_, reason) => reason,
        }
    }

    async fn until_left(&mut self) -> Result<ExitReason, RuntimeError> {
        loop {
            if self.wants_tick() {
                self.tick().await?;
            }
            if self.may_draw() {
                self.draw().await?;
            }
            let end = match self.woken().await {
                Woken::Signal(Told::End(number)) => Some(ExitReason::Signal(number)),
                Woken::Signal(Told::GoOn) => {
                    self.come_back().map_err(RuntimeError::Terminal)?;
                    None
                }
                Woken::Hands(Some(input)) => self.take_input(input).await?,
                // It was closed, or the connection it is at the end of was.
                Woken::Hands(None) | Woken::Drained(Err(_)) => Some(ExitReason::HungUp),
                Woken::Panic => return Err(RuntimeError::Panicked),
                Woken::Observed(Some(observed)) => {
                    self.take_in(observed);
                    None
                }
                Woken::Observed(None) if terminal::has_panicked() => return Err(RuntimeError::Panicked),
                Woken::Observed(None) => return Err(RuntimeError::SourceEnded),
                Woken::Replay => {
                    self.replay_turn();
                    None
                }
                Woken::Logged => {
                    self.drawn.version = None;
                    None
                }
                Woken::Drained(Ok(())) | Woken::Deadline => None,
            };
            if let Some(reason) = end {
                return Ok(reason);
            }
        }
    }

    /// Sleeps until something happens.
    async fn woken(&mut self) -> Woken {
        let wake = self.next_wake();
        let shows_log = self.hits.panes().iter().any(|&(pane, _)| pane == Pane::Log);
        let idle = self.terminal.is_idle();
        let replay = self.replay.as_mut().and_then(Replay::due);
        tokio::select! {
            // Whoever wants to leave or to do something goes first, then the terminal that
            // waits for the rest of a frame; a cluster that is busy must not keep anybody out.
            biased;
            told = self.signals.next() => Woken::Signal(told),
            input = self.inputs.next() => Woken::Hands(input),
            () = terminal::panicked() => Woken::Panic,
            drained = self.terminal.drain(), if !idle => Woken::Drained(drained),
            observed = Beside::observe(self.embedded.as_mut()) => Woken::Observed(Some(observed)),
            observed = Beside::observe(self.play.as_mut()) => Woken::Observed(Some(observed)),
            observed = Writes::observe(self.writes.as_mut()) => Woken::Observed(Some(observed)),
            () = sleep_until(replay.unwrap_or_else(Instant::now)), if replay.is_some() => Woken::Replay,
            observed = self.wires.observations.recv() => Woken::Observed(observed),
            () = logging::logged(), if shows_log => Woken::Logged,
            () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => Woken::Deadline,
        }
    }

    /// The time: that of a recording where there is one.
    fn now(&self) -> Timestamp {
        self.replay.as_ref().map_or_else(|| self.clock.now(), Replay::now)
    }

    /// When it will be that time; `None` while a recording's clock stands.
    fn instant(&self, at: Timestamp) -> Option<Instant> {
        match &self.replay {
            Some(replay) => replay.instant(at),
            None => Some(self.clock.instant(at)),
        }
    }

    /// When the loop has something to do although nothing happens.
    fn next_wake(&self) -> Option<Instant> {
        let ticks = self.model.next_tick().and_then(|at| self.instant(at)).map(|at| at.max(self.ticked + TICK));
        // While the terminal does not take the last frame no other is due.
        let frame = if self.terminal.is_idle() { self.frame_due() } else { None };
        // A frame is not put off: a countdown would leave out a second now and then.
        ticks.map(wheel::put_off).into_iter().chain(frame).min()
    }

    /// Whether a deadline of the model is over. Looked at each time, so that a cluster that
    /// never stops talking cannot keep its leases from being asked.
    fn wants_tick(&self) -> bool {
        self.model.next_tick().is_some_and(|at| at <= self.now()) && Instant::now() >= self.ticked + TICK
    }

    /// When the next frame is due; `None` when the last one still shows what is.
    fn frame_due(&self) -> Option<Instant> {
        let earliest = self.terminal.next_frame().into_iter().chain([self.drawn.instant + FRAME]).max()?;
        if self.drawn.version != Some(self.model.version()) {
            return Some(earliest);
        }
        self.model
            .next_frame(self.drawn.at)
            .and_then(|at| self.instant(at))
            .map(|at| self.awaited.defer(at.max(earliest)))
    }

    fn may_draw(&self) -> bool {
        let Some(due) = self.frame_due() else { return false };
        // Read after that: a deadline that is past is told as the very moment of asking.
        let now = Instant::now();
        // What already waits may change the picture again, so it is taken in first.
        let held_back = self.busy && now < self.drawn.instant + BUSY_FRAME;
        due <= now && !held_back && self.terminal.is_idle()
    }

    async fn draw(&mut self) -> Result<(), RuntimeError> {
        // Lists and times are those of the moment of drawing.
        self.tick().await?;
        self.appearance.change_to(&self.model.ui.theme);
        self.taping.show(&mut self.model);
        logging::collect();
        let (model, theme) = (&self.model, &self.appearance.theme);
        let mut hits = Hits::default();
        let render = |cells: &mut Buffer| {
            let (drawn, cursor) = view::draw_cells(model, theme, cells);
            hits = drawn;
            cursor
        };
        self.terminal.draw(render).map_err(RuntimeError::Terminal)?;
        self.hits = hits;
        if let Some(embedded) = &self.embedded {
            embedded.look_at(matches!(model.ui.screen, Screen::Raft | Screen::Way));
        }
        if let Some(play) = &self.play {
            play.look_at(model.ui.screen == Screen::Playground);
        }
        self.drawn =
            Drawn { at: self.model.live().now(), instant: Instant::now(), version: Some(self.model.version()) };
        Ok(())
    }

    async fn tick(&mut self) -> Result<Option<ExitReason>, RuntimeError> {
        self.ticked = Instant::now();
        if let Some(replay) = &mut self.replay {
            replay.show(&mut self.model);
        }
        let now = self.now();
        let effects = update(&mut self.model, Event::Tick(now));
        self.carry_out(effects).await
    }

    async fn take_input(&mut self, input: Input) -> Result<Option<ExitReason>, RuntimeError> {
        if let Input::Resize(columns, rows) = input {
            self.terminal.resize(columns, rows);
        }
        let now = self.now();
        let effects = update(&mut self.model, Event::Tick(now));
        self.carry_out(effects).await?;
        let effects = update(&mut self.model, Event::Input(input, self.hits.clone()));
        let ended = self.carry_out(effects).await;
        if let Some(replay) = &mut self.replay {
            replay.hold_message(&mut self.model);
        }
        ended
    }

    /// Lets a replay do what is due.
    fn replay_turn(&mut self) {
        let Self { replay: Some(replay), model, journal, .. } = self else { return };
        replay.turn(model, |model, observed| take_one(journal, model, observed));
    }

    /// Takes in an observation and those that wait behind it, for a while.
    fn take_in(&mut self, first: Stamped<Observation>) {
        let until = Instant::now() + DRAIN;
        let mut next = Some(first);
        while let Some(observed) = next {
            self.taping.take(&observed, &mut self.model);
            if matches!(observed.what, Observation::LeasesPolled(_)) {
                self.awaited.answered();
            }
            take_one(&mut self.journal, &mut self.model, observed);
            if Instant::now() >= until {
                break;
            }
            next = self.wires.observations.try_recv().ok();
        }
        self.busy = !self.wires.observations.is_empty();
    }

    async fn carry_out(&mut self, effects: Effects) -> Result<Option<ExitReason>, RuntimeError> {
        for effect in effects {
            let done = match effect {
                Effect::PollLeases(leases) => {
                    self.poll(leases);
                    Ok(())
                }
                Effect::ReadPast(open) => {
                    let wanted = open.map(|(lock, range)| WantedPast { lock, range });
                    self.wires.past.send_replace(wanted);
                    Ok(())
                }
                Effect::Fault(fault) => {
                    if let Some(embedded) = &self.embedded {
                        if let Err(why) = embedded.ask(fault) {
                            let what = Observation::FaultDone(fault, Err(why));
                            self.take_in(Stamped { at: self.clock.now(), what });
                        }
                    } else {
                        debug!(?fault, "there is no embedded cluster to do this to");
                    }
                    Ok(())
                }
                Effect::Order(order) => {
                    if let Some(play) = &self.play {
                        if let Err(why) = play.ask(order.clone()) {
                            let what = Observation::OrderDone(order, Err(why));
                            self.take_in(Stamped { at: self.clock.now(), what });
                        }
                    } else {
                        debug!(%order, "nobody plays here");
                    }
                    Ok(())
                }
                Effect::LeaseKeys(lease) => {
                    if let Some(writes) = &self.writes {
                        writes.ask(lease);
                    }
                    Ok(())
                }
                Effect::Write { id, confirmed } => {
                    let asked = match &mut self.writes {
                        Some(writes) => writes.carry_out(id, confirmed),
                        None => Err(Box::new(writes::not_sent(id, confirmed, "nothing here can be written to"))),
                    };
                    if let Err(refused) = asked {
                        self.take_in(Stamped { at: self.clock.now(), what: Observation::WriteDone(refused) });
                    }
                    Ok(())
                }
                Effect::CopyCommand(command) => self.terminal.copy(&view::text::command(&command)),
                Effect::CopyRemedy(remedy) => self.terminal.copy(&view::text::remedy(&remedy, &self.model.ui.given)),
                Effect::Replay(what) => {
                    if let Some(replay) = &mut self.replay {
                        replay.order(&mut self.model, what, &self.appearance.theme.zone);
                    }
                    Ok(())
                }
                Effect::Record(file) => {
                    let now = self.clock.now();
                    self.taping.toggle(file, now, &self.appearance.theme.zone, &mut self.model).await;
                    Ok(())
                }
                Effect::Copy(text) => self.terminal.copy(&text),
                Effect::CaptureMouse(capture) => self.terminal.capture_mouse(capture),
                Effect::Redraw => {
                    self.drawn.version = None;
                    self.terminal.redraw();
                    Ok(())
                }
                Effect::Suspend => {
                    self.terminal.pause();
                    self.signals.stop_job().await;
                    self.come_back()
                }
                Effect::Quit => return Ok(Some(ExitReason::Quit)),
            };
            done.map_err(RuntimeError::Terminal)?;
        }
        Ok(None)
    }

    /// Takes the terminal again after the job was stopped: it may have been used by others
    /// and have another size.
    fn come_back(&mut self) -> io::Result<()> {
        self.terminal.resume()?;
        self.drawn.version = None;
        let (columns, rows) = self.terminal.size();
        update(&mut self.model, Event::Input(Input::Resize(columns, rows), self.hits.clone()));
        Ok(())
    }

    fn poll(&mut self, leases: Vec<LeaseId>) {
        // When the source is gone the loop learns it from the observations. When it is still
        // at the bursts before, these leases wait for their next turn.
        match self.wires.polls.try_send(leases) {
            Ok(()) => self.awaited.ask(Instant::now()),
            Err(TrySendError::Full(leases)) => debug!(leases = leases.len(), "a burst of lease polls is left out"),
            Err(TrySendError::Closed(_)) => {}
        }
    }
}

/// The command that shows what came of a write.
fn how_to_look(model: &Model, write: &Write) -> String {
    view::text::command(&BlastRadius::of(model.live(), write).reached_by(&model.ui.reach).look)
}

/// Takes in one observation, and logs what came of it.
fn take_one(journal: &mut Journal, model: &mut Model, observed: Stamped<Observation>) {
    journal.observed(&observed, model.live()).iter().for_each(Line::log);
    let seq = model.live().timeline.next_seq();
    // Facts lead to effects at the next tick only.
    update(model, Event::Observed(observed));
    journal::happened(model.live(), seq).iter().for_each(Line::log);
}
