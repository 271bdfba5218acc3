//! What the screen of waits lists: the forest of who waits for whom as rows, long branches folded.
//!
//! Made from the facts when keys changed while the screen is shown, like the other lists: at once
//! while there are few, and at most twice a second when there are many.

use std::collections::BTreeSet;

use super::{Cursor, Filter};
use crate::domain::{Key, LeaseId, Millis, Timestamp};
use crate::input::WaitId;
use crate::model::wait_for::{Behind, Client, ClientIx, Step, WaitFor};
use crate::model::{Facts, KeyView, LockIx, LockView, Since};

/// Up to so many keys, the list is always up to date.
const FEW: usize = 2_000;
/// With more, it is made anew this long after the last time.
const PAUSE: Millis = Millis(500);
/// So many of those that wait for one lock are shown before the rest is folded.
const UNFOLDED: usize = 5;
/// A rest of fewer than this is shown: the row that counts it would take as much room.
const WORTH_FOLDING: usize = 2;

/// What is looked at of the waits.
#[derive(Clone, Debug, Default)]
pub struct WaitsUi {
    /// The selected row.
    pub cursor: Cursor<WaitId>,
    rows: Vec<WaitRow>,
    total: usize,
    shown: usize,
    /// Long branches that were unfolded: by the client at their top, and the lock.
    unfolded: BTreeSet<(Key, Key)>,
    /// The version of the facts the rows were made from, and when.
    made: Option<(u64, Timestamp)>,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitRow {
    /// What it is.
    pub id: WaitId,
    /// How deep it hangs.
    pub depth: usize,
    /// The lock that is waited for, or, of whoever waits for nothing, one that is held.
    pub lock: Option<(LockIx, Key)>,
    /// The key that stands in that lock's queue for it.
    pub stands: Option<Key>,
    /// What it shows.
    pub what: WaitWhat,
}

/// What a row shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitWhat {
    /// Clients that wait for each other; they follow one level deeper.
    Circle {
        /// Those of the first circle, in its order.
        clients: Vec<Called>,
        /// Whether it is a deadlock for certain.
        certain: bool,
        /// Since when it is closed.
        since: Since,
        /// How many wait behind it.
        behind: usize,
    },
    /// A client.
    Client {
        /// What it is called by.
        called: Called,
        /// All its leases.
        leases: Vec<LeaseId>,
        /// Its place in the queue of the lock it waits for: 1 is next.
        position: Option<usize>,
        /// For how many locks more it waits.
        more: usize,
        /// Whether it waits for another key of its own lease.
        for_itself: bool,
        /// Since when it waits; of whoever waits for nothing, since when it holds.
        since: Option<Since>,
        /// Who is behind it.
        behind: Behind,
    },
    /// The rest of a long branch.
    Fold {
        /// How many there are.
        count: usize,
        /// Whether they are shown.
        is_open: bool,
    },
}

/// What a client is called by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    /// The key it is known by.
    pub key: Key,
    /// Its first lease.
    pub lease: LeaseId,
    /// The process that its values name, where that joined leases.
    pub process: Option<String>,
}

impl WaitsUi {
    /// The rows.
    pub fn rows(&self) -> &[WaitRow] {
        &self.rows
    }

    /// How many clients wait.
    pub const fn total(&self) -> usize {
        self.total
    }

    /// How many of them the filter shows.
    pub const fn shown(&self) -> usize {
        self.shown
    }

    /// The selected row.
    pub fn selected(&self) -> Option<&WaitRow> {
        self.rows.get(self.cursor.index())
    }

    /// Has the selection stay with the row where it is.
    pub fn pin(&mut self) {
        let there = self.selected().map(|row| row.id.clone());
        self.cursor.pin(there);
    }

    /// Where a row stands.
    pub fn row_of(&self, id: &WaitId) -> Option<usize> {
        self.rows.iter().position(|row| row.id == *id)
    }

    /// Unfolds a branch, or folds it again.
    pub fn fold(&mut self, client: &Key, lock: &Key) {
        let branch = (client.clone(), lock.clone());
        if !self.unfolded.remove(&branch) {
            self.unfolded.insert(branch);
        }
        self.spoil();
    }

    /// Has the rows made anew at the next occasion.
    pub const fn spoil(&mut self) {
        self.made = None;
    }

    /// When the rows are to be made anew; `None` while they are up to date.
    pub fn due(&self, facts: &Facts) -> Option<Timestamp> {
        match self.made {
            None => Some(Timestamp(0)),
            Some((version, _)) if version == facts.keys_version() => None,
            Some((_, at)) if facts.keyspace().len() <= FEW => Some(at),
            Some((_, at)) => Some(at + PAUSE),
        }
    }

    /// Makes the rows.
    pub fn list(&mut self, facts: &Facts, at: Timestamp, filter: &Filter) {
        let graph = WaitFor::of(facts);
        let shown = shown(&graph, filter);
        let waits = |client: &Client<'_>| !client.waits.is_empty();
        self.total = graph.waiting();
        self.shown = match &shown {
            None => self.total,
            Some(shown) => graph.clients().filter(|(ix, client)| shown[ix.index()] && waits(client)).count(),
        };
        let mut rows = Vec::new();
        let mut listing = Listing { graph: &graph, shown: shown.as_deref(), unfolded: &self.unfolded, rows: &mut rows };
        listing.list();
        self.rows = rows;
        // What went needs no place any more.
        if self.unfolded.len() > FEW {
            self.unfolded.retain(|(client, _)| facts.key(client).is_some());
        }
        self.made = Some((facts.keys_version(), at));
        let rows = &self.rows;
        self.cursor.follow(rows.len(), |row, picked| rows[row].id == *picked);
    }
}

/// Which clients the filter shows, with those they hang on; `None` for all.
fn shown(graph: &WaitFor<'_>, filter: &Filter) -> Option<Vec<bool>> {
    if filter.is_empty() {
        return None;
    }
    let mut shown = vec![false; graph.clients().count()];
    for (ix, client) in graph.clients() {
        if !matches(graph, client, filter) {
            continue;
        }
        let mut at = Some(ix);
        while let Some(client) = at.filter(|client| !std::mem::replace(&mut shown[client.index()], true)) {
            at = graph.client(client).hangs.map(|(_, on)| on);
        }
    }
    // A circle is shown whole.
    for root in graph.roots().iter().filter(|root| !root.circles.is_empty()) {
        if root.clients.iter().any(|client| shown[client.index()]) {
            root.clients.iter().for_each(|client| shown[client.index()] = true);
        }
    }
    Some(shown)
}

/// By the names of the locks it waits for and of those it holds while others wait, by its leases, or
/// by the name its value gives.
fn matches(graph: &WaitFor<'_>, client: &Client<'_>, filter: &Filter) -> bool {
    let waits = client.waits.iter().map(|&wait| graph.lock_of(wait).lock.name());
    let holds = client.holds.iter().map(|&held| graph.contended(held).lock.name());
    let leases: Vec<String> = client.leases.iter().map(ToString::to_string).collect();
    let owner = client.process.clone().or_else(|| client.key.owner());
    let texts = leases.iter().map(String::as_bytes).chain(owner.as_deref().map(str::as_bytes));
    filter.shows(waits.chain(holds).chain(texts))
}

struct Listing<'l, 'a> {
    graph: &'l WaitFor<'a>,
    shown: Option<&'l [bool]>,
    unfolded: &'l BTreeSet<(Key, Key)>,
    rows: &'l mut Vec<WaitRow>,
}

/// What is still to be listed.
enum Open<'a> {
    Step(usize, Step),
    Fold { depth: usize, top: Key, lock: LockView<'a>, count: usize, is_open: bool },
}

impl<'a> Listing<'_, 'a> {
    fn shows(&self, client: ClientIx) -> bool {
        self.shown.is_none_or(|shown| shown[client.index()])
    }

    fn list(&mut self) {
        for (at, root) in self.graph.roots().iter().enumerate() {
            let mut open = Vec::new();
            let in_circle = !root.circles.is_empty();
            let clients = root.clients.iter().rev().copied().filter(|&client| self.shows(client));
            open.extend(clients.map(|client| Open::Step(usize::from(in_circle), Step::Client(client))));
            if in_circle && !open.is_empty() {
                open.push(Open::Step(0, Step::Circle(at)));
            }
            while let Some(next) = open.pop() {
                match next {
                    Open::Step(depth, Step::Circle(root)) => self.circle(depth, root),
                    Open::Step(depth, Step::Client(client)) => {
                        self.client(depth, client);
                        let below = self.below(depth + 1, client);
                        open.extend(below.into_iter().rev());
                    }
                    Open::Fold { depth, top, lock, count, is_open } => self.rows.push(WaitRow {
                        id: WaitId::Fold(top, lock.name().into()),
                        depth,
                        lock: Some((lock.ix(), lock.name().into())),
                        stands: None,
                        what: WaitWhat::Fold { count, is_open },
                    }),
                }
            }
        }
    }

    /// What hangs on a client: of a long branch the first ones, and those that block others.
    fn below(&self, depth: usize, client: ClientIx) -> Vec<Open<'a>> {
        let graph = self.graph;
        let known = graph.client(client);
        let on = |child: &ClientIx| graph.client(*child).hangs.map(|(wait, _)| graph.wait(wait).on);
        let mut below = Vec::new();
        let children: Vec<ClientIx> = known.children.iter().copied().filter(|&child| self.shows(child)).collect();
        for branch in children.chunk_by(|a, b| on(a) == on(b)) {
            let Some(on) = branch.first().and_then(on) else { continue };
            let lock = graph.contended(on).lock;
            let top: Key = known.key.key().into();
            let is_open = self.unfolded.contains(&(top.clone(), lock.name().into()));
            let stays = |at: usize, child: ClientIx| at < UNFOLDED || graph.client(child).behind.all > 0;
            let count = branch.iter().enumerate().filter(|&(at, &child)| !stays(at, child)).count();
            let folds = count >= WORTH_FOLDING;
            for (at, &child) in branch.iter().enumerate() {
                if !folds || is_open || stays(at, child) {
                    below.push(Open::Step(depth, Step::Client(child)));
                }
            }
            if folds {
                below.push(Open::Fold { depth, top, lock, count, is_open });
            }
        }
        below
    }

    fn circle(&mut self, depth: usize, root: usize) {
        let graph = self.graph;
        let root = &graph.roots()[root];
        let Some(circle) = root.circles.first().map(|&circle| &graph.circles()[circle]) else { return };
        let first = graph.client(circle.links[0].client);
        let wait = circle.links[0].wait;
        let lock = graph.lock_of(wait).lock;
        self.rows.push(WaitRow {
            id: WaitId::Circle(first.key.key().into()),
            depth,
            lock: Some((lock.ix(), lock.name().into())),
            stands: Some(graph.wait(wait).key.key().into()),
            what: WaitWhat::Circle {
                clients: circle.links.iter().map(|link| called(graph.client(link.client))).collect(),
                certain: circle.certain,
                since: circle.since,
                behind: root.behind.all,
            },
        });
    }

    fn client(&mut self, depth: usize, ix: ClientIx) {
        let graph = self.graph;
        let client = graph.client(ix);
        let wait = client.hangs.map(|(wait, _)| wait).or_else(|| client.waits.first().copied());
        let held = most_waited_for(graph, client);
        let lock = wait.map(|wait| graph.lock_of(wait).lock).or(held);
        let holding = |lock: LockView<'a>| lock.holders().find(|key| is_of(client, key));
        let stands = match wait {
            Some(wait) => Some(graph.wait(wait).key),
            None => held.and_then(holding),
        };
        let since = match wait {
            Some(wait) => Some(graph.wait(wait).since()),
            None => client.holds.iter().filter_map(|&held| graph.contended(held).lock.held_since()).min(),
        };
        self.rows.push(WaitRow {
            id: WaitId::Client(client.key.key().into()),
            depth,
            lock: lock.map(|lock| (lock.ix(), lock.name().into())),
            stands: stands.map(|key| key.key().into()),
            what: WaitWhat::Client {
                called: called(client),
                leases: client.leases.clone(),
                position: wait.map(|wait| graph.wait(wait).position),
                more: client.waits.len().saturating_sub(1),
                for_itself: client.waits_for_itself.is_some(),
                since,
                behind: client.behind,
            },
        });
    }
}

/// Of the locks that a client holds the one that most wait for.
fn most_waited_for<'a>(graph: &WaitFor<'a>, client: &Client<'_>) -> Option<LockView<'a>> {
    client.holds.iter().map(|&held| graph.contended(held).lock).max_by_key(LockView::waiter_count)
}

fn is_of(client: &Client<'_>, key: &KeyView<'_>) -> bool {
    if key.lease().is_none() { key.key() == client.key.key() } else { client.leases.contains(&key.lease()) }
}

fn called(client: &Client<'_>) -> Called {
    Called {
        key: client.key.key().into(),
        lease: client.leases.first().copied().unwrap_or(LeaseId::NONE),
        process: client.process.clone(),
    }
}
