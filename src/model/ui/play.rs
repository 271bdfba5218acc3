//! What is looked at of a run of simulated clients: a client, a moment, a stretch of time.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Cursor;
use crate::domain::play::{ClientId, ClientPicture, Life};
use crate::domain::raft::ClusterTime;
use crate::input::action::Blow;
use crate::model::Play;

/// The columns in front of a lane, with its frame: the client's name and what it does.
pub const LABEL: u16 = 21;
/// The columns behind a lane, with its frame.
pub const MARGIN: u16 = 3;
/// The time that a column of a lane stands for before anybody zooms.
const COLUMN: Duration = Duration::from_millis(250);
/// How far one can zoom in and out, in powers of two.
const ZOOM: std::ops::RangeInclusive<i8> = -8..=12;
/// The shortest and the longest time that keys make a client hold.
const HOLDS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_mins(10));
/// A heartbeat that was made slower takes so many times as long.
const SLOWER: u32 = 3;

/// What is looked at.
#[derive(Clone, Debug, Default)]
pub struct PlayUi {
    /// The selected client; until one is picked, whoever holds.
    pub clients: Cursor<ClientId>,
    /// The selected moment, by its number.
    pub happened: Cursor<u64>,
    /// Whether clients are to play here, whether or not they have begun.
    pub awaited: bool,
    /// Whether expectations are shown where there is no room for them beside the keys.
    pub expectations: bool,
    /// The right edge of the lanes; none follows the run.
    end: Option<ClusterTime>,
    /// How far is zoomed out, in powers of two.
    zoom: i8,
    /// The heartbeats that clients had before they were made slower.
    heartbeats: BTreeMap<ClientId, Duration>,
    /// How long clients were told to hold, until the picture says so.
    holds: BTreeMap<ClientId, (Duration, Duration)>,
    /// To whom a key did what the same key takes back.
    done: BTreeMap<Blow, ClientId>,
}

/// The stretch of time that lanes show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its left edge; before the run's beginning there is nothing.
    pub start: ClusterTime,
    /// Its right edge, one column behind which is what has not happened yet.
    pub end: ClusterTime,
    /// The time of a column, in microseconds.
    pub column: u64,
}

impl PlayUi {
    /// Where clients play, or are about to, or not.
    pub fn new(awaited: bool) -> Self {
        Self { awaited, ..Self::default() }
    }

    /// The client that was picked.
    pub fn picked(&self, play: &Play) -> Option<ClientId> {
        self.clients.picked().copied().filter(|&id| play.row(id).is_some())
    }

    /// The selected client: the picked one, or whoever holds.
    pub fn client(&self, play: &Play) -> Option<ClientId> {
        let first = || play.in_row(0).map(|client| client.id);
        self.picked(play).or_else(|| play.holder()).or_else(|| play.last_holder()).or_else(first)
    }

    /// Whom a key means: the selected client, but for what it did before to one that was not
    /// picked and takes back now. Whoever stands still, by whatever, is woken before another is
    /// stopped.
    pub fn meant(&self, play: &Play, blow: Blow) -> Option<ClientId> {
        let done = || {
            let client = play.picture().client(*self.done.get(&blow)?)?;
            self.suffers(client, blow).then_some(client.id)
        };
        let still = || {
            let mut clients = play.picture().clients.iter().filter(|_| blow == Blow::PauseOrResume);
            clients.find(|client| client.life == Life::Paused).map(|client| client.id)
        };
        self.picked(play).or_else(done).or_else(still).or_else(|| self.client(play))
    }

    /// Remembers whom a key meant, if it takes back what it does.
    pub fn note_done(&mut self, blow: Blow, id: ClientId) {
        if matches!(blow, Blow::PauseOrResume | Blow::CutOrMend | Blow::SlowHeartbeat | Blow::SkewClock) {
            self.done.insert(blow, id);
        }
    }

    /// Whether what a key does is done to a client.
    fn suffers(&self, client: &ClientPicture, blow: Blow) -> bool {
        match blow {
            Blow::PauseOrResume => client.life == Life::Paused,
            Blow::CutOrMend => client.cut,
            Blow::SlowHeartbeat => self.heartbeats.contains_key(&client.id),
            Blow::SkewClock => client.skew_ms != 0,
            Blow::Crash | Blow::Revoke | Blow::Release | Blow::HoldLonger | Blow::HoldShorter | Blow::Remove => false,
        }
    }

    /// The moment that is marked.
    pub fn marked(&self, play: &Play) -> Option<ClusterTime> {
        play.moment(*self.happened.picked()?).map(|happened| happened.moment.at)
    }

    /// Whether the lanes follow the run.
    pub const fn follows(&self) -> bool {
        self.end.is_none()
    }

    /// How many columns a lane has on a screen of so many.
    pub const fn columns(screen: u16) -> u16 {
        screen.saturating_sub(LABEL + MARGIN)
    }

    /// The stretch of time that lanes of so many columns show.
    pub fn span(&self, play: &Play, columns: u16) -> Span {
        let column = self.column();
        let length = u64::from(columns) * column;
        // The edge goes on in whole columns, so that what is over does not flicker.
        let end = self
            .end
            .unwrap_or_else(|| ClusterTime(play.now().0.checked_next_multiple_of(column).unwrap_or(u64::MAX)))
            .0
            .max(length);
        Span { start: ClusterTime(end - length), end: ClusterTime(end), column }
    }

    /// The time of a column, in microseconds.
    fn column(&self) -> u64 {
        let base = u64::try_from(COLUMN.as_micros()).unwrap_or(u64::MAX);
        if self.zoom < 0 { base >> self.zoom.unsigned_abs() } else { base << self.zoom.unsigned_abs() }
    }

    /// Shows half as much time in a column, or twice as much; what is marked, or the middle, stays
    /// where it is unless the run is followed.
    pub fn zoom(&mut self, play: &Play, columns: u16, nearer: bool) {
        let zoom = if nearer { self.zoom - 1 } else { self.zoom + 1 };
        if !ZOOM.contains(&zoom) {
            return;
        }
        let before = self.span(play, columns);
        self.zoom = zoom;
        if self.end.is_some() {
            let within = |at: &ClusterTime| (before.start..=before.end).contains(at);
            let middle = || ClusterTime(u64::midpoint(before.start.0, before.end.0));
            let stays = self.marked(play).filter(within).unwrap_or_else(middle);
            let right = before.end.0.saturating_sub(stays.0) / before.column * self.column();
            self.look_to(play, stays.0.saturating_add(right));
        }
    }

    /// Shows what was before, or after, by so many columns; at the run's present it follows again.
    pub fn pan(&mut self, play: &Play, columns: u16, by: i64) {
        let span = self.span(play, columns);
        let way = by.unsigned_abs().saturating_mul(span.column);
        let to = if by < 0 { span.end.0.saturating_sub(way) } else { span.end.0.saturating_add(way) };
        // Before the first moment that is known there is nothing to see.
        let first = play.happened().front().map_or(0, |first| first.moment.at.0);
        self.look_to(play, to.max(first.saturating_add(u64::from(columns / 2) * span.column)));
    }

    /// Follows the run, with no moment marked and no client picked. Returns whether that was not
    /// so before.
    pub fn follow(&mut self) -> bool {
        let picked = self.happened.picked().is_some() || self.clients.picked().is_some();
        self.happened.reset();
        self.clients.pin(None);
        self.end.take().is_some() || picked
    }

    /// Shows the marked moment, and stays there.
    pub fn show_marked(&mut self, play: &Play, columns: u16) {
        let Some(at) = self.marked(play) else { return };
        let span = self.span(play, columns);
        let seen = (span.start..=span.end).contains(&at);
        let half = u64::from(columns / 2) * span.column;
        self.end = Some(if seen { span.end } else { ClusterTime(at.0.saturating_add(half)) });
    }

    fn look_to(&mut self, play: &Play, end: u64) {
        self.end = (end < play.now().0).then_some(ClusterTime(end));
    }

    /// The heartbeat to ask for so that a client's is slower, or as it was before.
    pub fn other_heartbeat(&mut self, id: ClientId, now: Duration) -> Duration {
        let asked = self.heartbeats.remove(&id).unwrap_or_else(|| {
            self.heartbeats.insert(id, now);
            now.saturating_mul(SLOWER)
        });
        // A third of a lease has no end of decimals, and is told to people.
        let millis = asked.saturating_add(Duration::from_micros(500)).as_millis();
        Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
    }

    /// How long to ask a client to hold so that it is twice as long, or half as long.
    pub fn other_hold(&mut self, client: &ClientPicture, longer: bool) -> Duration {
        // Keys are pressed faster than pictures come.
        let asked = self.holds.get(&client.id).filter(|(before, _)| *before == client.hold);
        let now = asked.map_or(client.hold, |&(_, asked)| asked);
        let then = if longer { now.saturating_mul(2) } else { now / 2 };
        // Whoever types it again types whole milliseconds.
        let millis = u64::try_from(then.as_millis()).unwrap_or(u64::MAX);
        let then = Duration::from_millis(millis).clamp(HOLDS.0, HOLDS.1);
        self.holds.insert(client.id, (client.hold, then));
        then
    }

    /// Has so many rows show the selected client while nobody is picked and the run is followed.
    pub fn show_holder(&mut self, play: &Play, rows: usize) {
        if self.clients.picked().is_none()
            && self.follows()
            && let Some(row) = self.client(play).and_then(|id| play.row(id))
        {
            self.clients.position.place(row, rows, play.clients().len());
        }
    }

    /// Brings the selections up to date with the run.
    pub fn settle(&mut self, play: &Play) {
        let clients = play.clients();
        let row = self.clients.picked().and_then(|&id| play.row(id));
        if self.clients.picked().is_some() && row.is_none() {
            self.clients.pin(None);
        }
        if self.clients.picked().is_some() {
            self.clients.follow(clients.len(), |at, _| row == Some(at));
        }
        // Newest first.
        let happened = play.happened();
        let picked = self.happened.picked().copied();
        if picked.is_some_and(|number| play.moment(number).is_none()) {
            self.happened.pin(None);
        }
        self.happened.follow(happened.len(), |at, number| happened[happened.len() - 1 - at].number == *number);
        if self.heartbeats.len() > clients.len() {
            self.heartbeats.retain(|&id, _| play.row(id).is_some());
        }
        if self.holds.len() > clients.len() {
            self.holds.retain(|&id, _| play.row(id).is_some());
        }
    }
}

impl Span {
    /// The column of a moment; none when it is not shown.
    pub fn place(self, at: ClusterTime) -> Option<u16> {
        let shown = (self.start..self.end).contains(&at);
        shown.then(|| u16::try_from((at.0 - self.start.0) / self.column.max(1)).unwrap_or(u16::MAX))
    }
}
