//! A recording in place of a cluster.
//!
//! ```text
//! file ──► Player ── what is due by the Pace ──► session ──► update ──► the same model
//!             ▲
//!             └── orders: play, faster, back, to a time, find
//! ```
//! The clock of the session is that of the recording. Nothing is asked of a cluster, and what a
//! person could do to one is refused by `update`.

pub mod goal;
mod pace;
mod player;

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::tz::TimeZone;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::domain::{Revision, Timestamp};
use crate::effect;
use crate::event::{Observation, Stamped};
use crate::input::SeekTo;
use crate::input::action::Replay as Key;
use crate::model::Model;
use crate::model::ui::{Edge, Landed, Notice, ReplaySpeed, ReplayUi};
use crate::record::{Item, OpenError, Trouble};
use crate::update::recorded;

pub use goal::Goal;
use pace::Pace;
pub use player::is_whole;
use player::{Player, Went};

/// For how long lines are taken in before hands are looked at again.
const TURN: Duration = Duration::from_millis(8);
/// How often the end of a recording that grows is looked at.
const AGAIN: Duration = Duration::from_millis(200);
/// How long a message stays, whatever the recording's clock does.
const MESSAGE: Duration = Duration::from_secs(4);

/// What to replay and how to begin.
#[derive(Clone, Debug)]
pub struct Options {
    /// The recording.
    pub file: PathBuf,
    /// Where to begin; at its begin when that is not said.
    pub at: Option<SeekTo>,
    /// How fast it goes.
    pub speed: ReplaySpeed,
    /// Whether to wait at its end for more.
    pub follow: bool,
}

/// A replay that is shown.
#[expect(clippy::struct_excessive_bools, reason = "each is a state of its own")]
pub struct Replay {
    player: Player,
    pace: Pace,
    follow: bool,
    ended: bool,
    /// Whether there is no closing line at its end.
    truncated: bool,
    sought: Option<String>,
    /// The place it is on its way to, if a person named one.
    asked: Option<SeekTo>,
    /// Whether it stands once it is where it goes.
    stops: bool,
    /// When its end is looked at again.
    again: Option<Instant>,
    /// When the message goes.
    message_goes: Option<Instant>,
    told: Trouble,
}

impl Replay {
    /// Opens a recording, at its begin.
    ///
    /// # Errors
    /// When it is none that can be read.
    pub fn open(options: &Options, budget: u32) -> Result<Self, OpenError> {
        let player = Player::open(&options.file, budget, options.follow)?;
        let mut pace = Pace::new(player.begin(), options.speed);
        pace.play(true);
        info!(file = %options.file.display(), "replaying");
        Ok(Self {
            player,
            pace,
            follow: options.follow,
            ended: false,
            truncated: false,
            sought: None,
            asked: None,
            stops: false,
            again: None,
            message_goes: None,
            told: Trouble::default(),
        })
    }

    /// Goes where it is to begin, if that was said.
    pub fn begin(&mut self, model: &mut Model, at: Option<SeekTo>, zone: &TimeZone) {
        if let Some(place) = at {
            // Whoever names a place wants to look at it.
            self.pace.play(false);
            self.order(model, effect::Replay::Seek(place), zone);
        }
        self.show(model);
    }

    /// The recording's time.
    pub fn now(&self) -> Timestamp {
        // Behind what is known to come, the clock waits for it.
        self.pace.now().min(self.player.end().max(self.player.at()))
    }

    /// When it will be that time; `None` while the clock stands.
    pub fn instant(&self, at: Timestamp) -> Option<Instant> {
        (!self.player.is_going()).then(|| self.pace.instant(at))?
    }

    /// When there is something to do.
    pub fn due(&mut self) -> Option<Instant> {
        let message = self.message_goes;
        let work = if self.player.is_going() { Some(Instant::now()) } else { self.next_due() };
        work.into_iter().chain(message).min()
    }

    fn next_due(&mut self) -> Option<Instant> {
        if !self.pace.is_playing() {
            return None;
        }
        if self.again.is_some() {
            return self.again;
        }
        match self.player.peek() {
            Ok(Some(item)) => self.pace.instant(item.at()),
            // The turn finds out what that is.
            Ok(None) | Err(_) => Some(Instant::now()),
        }
    }

    /// Does what is due for a little while; what was observed is given to `take_in`.
    pub fn turn(&mut self, model: &mut Model, mut take_in: impl FnMut(&mut Model, Stamped<Observation>)) {
        self.again = None;
        if self.message_goes.is_some_and(|goes| goes <= Instant::now()) {
            self.message_goes = None;
            model.ui.toast = None;
            model.ui.touch();
        }
        let done = if self.player.is_going() { self.go(model) } else { self.play(model, &mut take_in) };
        if let Err(error) = done {
            self.broke(model, &error);
        }
        // What was recorded may have led to one.
        self.hold_message(model);
        self.show(model);
    }

    /// On the way to a place.
    fn go(&mut self, model: &mut Model) -> std::io::Result<()> {
        let went = self.player.work(model.live_mut(), Instant::now() + TURN)?;
        match went {
            Went::On => return Ok(()),
            Went::Arrived(at) => self.arrive(model, at),
            Went::Reached { at, asked, before } => {
                self.arrive(model, at);
                let landed = match model.live().link.revision {
                    at if at == asked => Landed::AtRevision(at),
                    at if before == Revision(0) => Landed::First { asked, at },
                    at => Landed::Between { asked, before, at },
                };
                self.tell(model, Notice::Landed(landed));
            }
            Went::Ended(at) => {
                let asked = self.asked.take();
                self.arrive(model, at);
                self.end(model)?;
                if let Some(asked) = asked.filter(|asked| *asked != SeekTo::End) {
                    let at = model.live().link.revision;
                    self.tell(model, Notice::Landed(Landed::Beyond { asked, at }));
                }
            }
            Went::NotFound { text, behind } => {
                let at = self.player.at();
                self.arrive(model, at);
                self.tell(
                    model,
                    match behind {
                        None => Notice::NotFound(text),
                        Some(at) => Notice::FoundBehind(text, at),
                    },
                );
            }
        }
        Ok(())
    }

    fn arrive(&mut self, model: &mut Model, at: Timestamp) {
        self.asked = None;
        if std::mem::take(&mut self.stops) {
            self.pace.play(false);
        }
        self.pace.set(at);
        model.ui.spoil();
        model.ui.checkup.spoil();
        model.settle(at);
        model.ui.touch();
    }

    /// Takes in what is due by the clock.
    fn play(
        &mut self,
        model: &mut Model,
        take_in: &mut impl FnMut(&mut Model, Stamped<Observation>),
    ) -> std::io::Result<()> {
        let until = Instant::now() + TURN;
        let as_fast_as_it_goes = self.pace.speed().thousandths().is_none();
        while self.pace.is_playing() {
            let now = self.pace.now();
            match self.player.peek()? {
                Some(Item::Observed(next)) if next.at <= now || as_fast_as_it_goes => {}
                Some(Item::Observed(_)) => return Ok(()),
                Some(Item::End(end)) if end.at > now && !as_fast_as_it_goes => return Ok(()),
                Some(Item::Dropped(..)) | None if self.follow => {
                    self.again = Some(Instant::now() + AGAIN);
                    return Ok(());
                }
                Some(Item::End(_) | Item::Dropped(..)) | None => return self.end(model),
            }
            let Some(observed) = self.player.take(model.live())? else { return Ok(()) };
            recorded::pass_time(model.live_mut(), observed.at);
            take_in(model, observed);
            if as_fast_as_it_goes {
                self.pace.set(self.player.at());
            }
            if Instant::now() >= until {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Nothing follows: it stands there.
    fn end(&mut self, model: &mut Model) -> std::io::Result<()> {
        let close = match self.player.peek()? {
            Some(Item::End(end)) => Some(end.at),
            _ => None,
        };
        if close.is_none() && self.follow {
            self.again = Some(Instant::now() + AGAIN);
            return Ok(());
        }
        let at = close.unwrap_or(self.player.at());
        recorded::pass_time(model.live_mut(), at);
        self.pace.play(false);
        self.pace.set(at);
        (self.ended, self.truncated) = (true, close.is_none());
        model.settle(at);
        model.ui.touch();
        Ok(())
    }

    /// Does what a person asks for.
    pub fn order(&mut self, model: &mut Model, what: effect::Replay, zone: &TimeZone) {
        let done = match what {
            effect::Replay::Do(key) => self.key(model, key),
            effect::Replay::Seek(place) => {
                let goal = Goal::of(place, (self.player.begin(), self.player.end()), self.now(), zone);
                self.ended = false;
                let is_recorded = matches!(goal, Goal::Time(at) if at <= self.player.end());
                self.asked = Some(place).filter(|_| !is_recorded);
                if matches!(goal, Goal::Time(at) if at < self.player.begin()) {
                    self.tell(model, Notice::Landed(Landed::BeforeStart));
                }
                self.player.go(model.live_mut(), goal)
            }
            effect::Replay::Find(text) => {
                self.find(model, &text);
                self.sought = Some(text);
                Ok(())
            }
        };
        // A step is made at once, before anything is drawn of being on the way.
        let gone = if self.player.is_going() { done.and_then(|()| self.go(model)) } else { done };
        if let Err(error) = gone {
            self.broke(model, &error);
        }
        self.hold_message(model);
        self.show(model);
    }

    fn key(&mut self, model: &mut Model, key: Key) -> std::io::Result<()> {
        match key {
            Key::PlayOrPause if self.player.is_going() => {
                // On the way somewhere: it stays where it is.
                self.player.stop();
                self.stops = true;
                self.arrive(model, self.player.at());
            }
            Key::PlayOrPause if self.ended && !self.pace.is_playing() => {
                self.ended = false;
                self.pace.play(true);
                return self.player.go(model.live_mut(), Goal::Time(self.player.begin()));
            }
            Key::PlayOrPause => self.pace.play(!self.pace.is_playing()),
            Key::Faster | Key::Slower => {
                let speed = self.pace.speed();
                match if key == Key::Faster { speed.faster() } else { speed.slower() } {
                    Some(speed) => self.pace.run_at(speed),
                    None => self.tell(model, Notice::ReplayLimit(speed)),
                }
            }
            Key::Next | Key::NextRevision if self.ended => self.tell(model, Notice::ReplayEdge(Edge::End)),
            Key::Next => self.set_out(Player::go_on),
            Key::NextRevision => {
                let facts = model.live();
                self.set_out(|player| player.go_to_next_revision(facts));
            }
            Key::Previous | Key::PreviousRevision => {
                let facts = model.live_mut();
                let back = if key == Key::Previous {
                    self.player.go_back(facts)?
                } else {
                    self.player.go_to_previous_revision(facts)?
                };
                if back {
                    self.set_out(|_| {});
                } else {
                    self.tell(model, Notice::ReplayEdge(Edge::Start));
                }
            }
            Key::FindNext => match self.sought.clone() {
                Some(text) => self.find(model, &text),
                None => self.tell(model, Notice::NothingSought),
            },
        }
        Ok(())
    }

    fn find(&mut self, model: &Model, text: &str) {
        let facts = model.live();
        self.set_out(|player| player.find(facts, text));
    }

    /// Sets out for a place where it is to stand.
    fn set_out(&mut self, go: impl FnOnce(&mut Player)) {
        self.pace.play(false);
        (self.ended, self.stops) = (false, true);
        // A place that was asked for before is not where it goes now.
        self.asked = None;
        go(&mut self.player);
    }

    fn broke(&mut self, model: &mut Model, error: &std::io::Error) {
        warn!(%error, "the recording cannot be read any more");
        self.player.stop();
        self.pace.play(false);
        self.tell(model, Notice::ReplayBroke(error.to_string()));
    }

    fn tell(&mut self, model: &mut Model, notice: Notice) {
        model.tell(notice);
        self.hold_message(model);
    }

    /// Sees to it that a message stays as long as everywhere, though the recording's clock stands
    /// or flies.
    pub fn hold_message(&mut self, model: &mut Model) {
        if let Some(toast) = &mut model.ui.toast
            && toast.until < Timestamp(i64::MAX)
        {
            toast.until = Timestamp(i64::MAX);
            self.message_goes = Some(Instant::now() + MESSAGE);
        }
    }

    /// Brings what the screen says of the replay up to date.
    pub fn show(&mut self, model: &mut Model) {
        let trouble = self.player.trouble();
        if *trouble != self.told {
            for (line, why) in trouble.first_broken.iter().skip(self.told.first_broken.len()) {
                warn!(line, why, "a line of the recording is broken and passed over");
            }
            for kind in trouble.unknown.keys().filter(|kind| !self.told.unknown.contains_key(*kind)) {
                warn!(kind, "the recording has lines of a kind that is not known");
            }
            self.told = trouble.clone();
        }
        let (offset, size) = self.player.bytes();
        let replay = ReplayUi {
            playing: self.pace.is_playing(),
            speed: self.pace.speed(),
            begin: self.player.begin(),
            at: self.now(),
            end: self.player.end(),
            count: self.player.count(),
            offset,
            size,
            ended: self.ended,
            follow: self.follow,
            busy: self.player.is_going(),
            truncated: self.truncated,
            dropped: self.told.dropped,
            broken: self.told.broken,
            sought: self.sought.clone(),
        };
        if model.ui.replay.as_ref() != Some(&replay) {
            model.ui.replay = Some(replay);
            model.ui.touch();
        }
    }
}

/// The name of a recording that was given none, by when it begins.
pub fn default_name(at: Timestamp, zone: &TimeZone) -> PathBuf {
    let when = jiff::Timestamp::from_millisecond(at.0).map(|at| zone.to_datetime(at));
    let when = when.map_or_else(|_| at.0.to_string(), |when| when.strftime("%Y%m%d-%H%M%S").to_string());
    Path::new(&format!("lockscope-{when}.jsonl")).to_owned()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::event::Event;
    use crate::update::update;

    /// A recording that was begun at a time, with the revision that was heard of at each time after
    /// that; it is there as long as its file.
    fn recording(
        begun: i64,
        progress: impl IntoIterator<Item = (i64, i64)>,
        follow: bool,
    ) -> (tempfile::NamedTempFile, Replay) {
        let mut text = format!("{{\"lockscope\":\"recording\",\"version\":1,\"at\":{begun}}}\n");
        for (at, revision) in progress {
            writeln!(text, "{{\"at\":{at},\"what\":{{\"progress\":{revision}}}}}").unwrap();
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let speed = ReplaySpeed::named("1").unwrap();
        let options = Options { file: file.path().to_owned(), at: None, speed, follow };
        let replay = Replay::open(&options, 200).unwrap();
        (file, replay)
    }

    #[test]
    fn a_seek_says_where_it_landed_and_why() {
        let (_file, mut replay) = recording(1_000, [(2_000, 10), (3_000, 20), (4_000, 30)], false);
        let mut model = Model::default();
        for (place, told) in [
            ("rev 20", "at revision 20"),
            ("rev 21", "at revision 30: nothing that is watched changed at 21; the one before is 20"),
            ("rev 11", "at revision 20: nothing that is watched changed at 11; the one before is 10"),
            ("rev 3", "at revision 10, the first in the recording; 3 is before it"),
            ("rev 31", "at the end, revision 30: the recording ends before revision 31"),
            ("-1h", "at the start: the recording begins after that time"),
            ("00:00:00", "at the start: the recording begins after that time"),
            ("1970-01-01T01:00:00Z", "at the end, revision 30: the recording ends before that time"),
        ] {
            model.ui.toast = None;
            replay.order(&mut model, effect::Replay::Seek(place.parse().unwrap()), &TimeZone::UTC);
            let toast = model.ui.toast.as_ref().map(|toast| toast.notice.to_string());
            assert_eq!(toast.as_deref(), Some(told), "{place}");
        }
        for place in ["end", "start", "+1s", "00:00:04"] {
            model.ui.toast = None;
            replay.order(&mut model, effect::Replay::Seek(place.parse().unwrap()), &TimeZone::UTC);
            assert_eq!(model.ui.toast, None, "{place}");
        }
    }

    #[test]
    fn a_place_that_was_given_up_for_another_is_not_said_to_be_beyond_the_end() {
        let (_file, mut replay) = recording(0, (1..=20_000).map(|at| (at, 10)), false);
        let mut model = Model::default();
        let arrive = |replay: &mut Replay, model: &mut Model| {
            while replay.player.is_going() {
                replay.turn(model, |_, _| {});
            }
            model.ui.toast.take().map(|toast| toast.notice.to_string())
        };
        let seek = || effect::Replay::Seek("rev 99".parse().unwrap());
        replay.order(&mut model, seek(), &TimeZone::UTC);
        assert!(replay.player.is_going(), "the way is longer than a turn");
        // The next revision is none: it comes to the end as well.
        replay.order(&mut model, effect::Replay::Do(Key::NextRevision), &TimeZone::UTC);
        assert_eq!(arrive(&mut replay, &mut model), None);
        assert!(replay.ended);
        replay.order(&mut model, seek(), &TimeZone::UTC);
        let told = arrive(&mut replay, &mut model);
        assert_eq!(told.as_deref(), Some("at the end, revision 10: the recording ends before revision 99"));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_followed_keeps_up_however_much_there_is() {
        let (_file, mut replay) = recording(0, (1..=1_000).map(|at| (at, at)), true);
        let mut model = Model::default();
        let take_in = |model: &mut Model, observed| {
            update(model, Event::Observed(observed));
        };
        tokio::time::advance(Duration::from_millis(500)).await;
        replay.turn(&mut model, take_in);
        assert_eq!(replay.player.count(), 500);
        tokio::time::advance(Duration::from_secs(9)).await;
        replay.turn(&mut model, take_in);
        assert_eq!((replay.player.count(), replay.now()), (1_000, Timestamp(1_000)), "its clock waits for what comes");
    }
}
