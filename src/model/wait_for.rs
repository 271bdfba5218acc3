//! Who waits for whom, across locks.
//!
//! A client that waits for a lock waits for whoever holds it, and the holder may itself wait for
//! another lock. Followed to the end this leads to a client that waits for nobody, the root
//! blocker, or round in a circle that never opens by itself: a deadlock.
//!
//! ```text
//!   a305  holds /d/one                      root blocker: 3 behind it
//!   ├─ 770a  waits for /d/one, holds /d/two
//!   │  └─ c0de  waits for /d/two
//!   └─ 41cc  waits for /d/one, behind 770a
//! ```
//!
//! What a client is:
//!
//! - all keys on one lease are one client's;
//! - several leases are one client's when values on them name the same process, as
//!   [`layout::value::process`](crate::layout::value::process) reads it. Who stands with two leases
//!   in one lock's queue waits for itself or has workers, so such a name joins nothing;
//! - a key without a lease is a client of its own.
//!
//! Only clients that wait, or that hold what others wait for, are in the graph. Everything is done in
//! time linear in the keys of contended locks, but for sorting, and without recursion: a queue may
//! have 100,000 waiters, and a chain 10,000 locks.

mod circles;
mod forest;
mod scan;
#[cfg(test)]
mod tests;
mod walk;

use crate::domain::{LeaseId, Millis, Timestamp};

use super::{Facts, KeyView, LockView, Since};

pub use walk::{Step, Walk};

/// Where a client stands in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientIx(u32);

/// Where a wait stands in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaitIx(u32);

/// Where a lock that others wait for stands in the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContendedIx(u32);

/// Who waits for whom, at one moment.
pub struct WaitFor<'a> {
    clients: Vec<Client<'a>>,
    locks: Vec<Contended<'a>>,
    waits: Vec<Wait<'a>>,
    circles: Vec<Circle>,
    roots: Vec<Root>,
}

/// A client that waits, or that holds what others wait for.
pub struct Client<'a> {
    /// The key it is known by: of its keys in contended locks the first by name.
    pub key: KeyView<'a>,
    /// Its leases, in the order of their ids; none when its key has none.
    pub leases: Vec<LeaseId>,
    /// The process that its values name, when that joined several leases.
    pub process: Option<String>,
    /// What it waits for, longest first.
    pub waits: Vec<WaitIx>,
    /// The contended locks it holds, in the order of their names.
    pub holds: Vec<ContendedIx>,
    /// The wait by which it hangs in the forest, and on whom; `None` for a root and in a circle.
    pub hangs: Option<(WaitIx, ClientIx)>,
    /// Who hangs on it, by the locks' names and then in the order of the queue.
    pub children: Vec<ClientIx>,
    /// The wait for a lock that another key of the same lease holds.
    pub waits_for_itself: Option<WaitIx>,
    /// Whether it is entangled in a circle with others.
    pub entangled: bool,
    /// Who is blocked by it.
    pub behind: Behind,
}

/// How many are blocked by a client, or by a circle of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Behind {
    /// Those that wait for a lock it holds.
    pub direct: usize,
    /// All of them: those that wait for these, too.
    pub all: usize,
    /// Over how many locks.
    pub locks: usize,
    /// The sum of the times at which they began to wait, in milliseconds since the epoch.
    began: i128,
}

impl Behind {
    /// How long all of them together have waited.
    pub fn waited(&self, now: Timestamp) -> Millis {
        let total = i128::from(now.0) * i128::try_from(self.all).unwrap_or(0) - self.began;
        Millis(i64::try_from(total.max(0)).unwrap_or(i64::MAX))
    }
}

/// A lock that others wait for.
pub struct Contended<'a> {
    /// The lock.
    pub lock: LockView<'a>,
    /// Who holds it, each client once, the first holder first.
    pub holders: Vec<ClientIx>,
    /// Whether those that wait for it work meanwhile: candidates of an election stand by in the
    /// background, so a circle through one need not be a deadlock.
    pub in_background: bool,
}

/// A client's waiting for a lock.
pub struct Wait<'a> {
    /// Who waits.
    pub client: ClientIx,
    /// For which lock.
    pub on: ContendedIx,
    /// The key it waits with.
    pub key: KeyView<'a>,
    /// Its place among those that wait: 1 is next.
    pub position: usize,
}

impl Wait<'_> {
    /// Since when it waits.
    pub const fn since(&self) -> Since {
        self.key.since()
    }
}

/// Clients that wait for each other in a circle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circle {
    /// The circle: each waits for a lock that the next one holds, the last one for one of the first.
    pub links: Vec<Link>,
    /// All clients that are entangled in it, among which there may be more circles.
    pub clients: Vec<ClientIx>,
    /// Whether it is a deadlock for certain, as far as clients are what they are taken for: nobody
    /// in it waits in the background.
    pub certain: bool,
    /// Since when it is closed: the last of them began to wait, or to hold what another waits for.
    pub since: Since,
}

/// One client of a circle and what it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The client.
    pub client: ClientIx,
    /// Its wait for a lock of the next one.
    pub wait: WaitIx,
}

/// What others are blocked by in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// The client that waits for nobody, or all those that are entangled in circles, those of the
    /// first circle in its order.
    pub clients: Vec<ClientIx>,
    /// The circles among them, as indices into [`WaitFor::circles`].
    pub circles: Vec<usize>,
    /// Who is blocked by them, apart from themselves.
    pub behind: Behind,
}

impl ClientIx {
    /// Its place among [`WaitFor::clients`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl<'a> WaitFor<'a> {
    /// Whether somebody may wait for what others hold while others wait for them, or for themselves.
    /// Where this says no there is no circle; it costs much less than the graph.
    pub fn can_close(facts: &Facts) -> bool {
        scan::can_close(facts)
    }

    /// Who waits for whom by these facts.
    pub fn of(facts: &'a Facts) -> Self {
        Self::grown(scan::scan(facts), facts)
    }

    /// The same among those who may hold something: its circles, and who waits for itself, are those
    /// of the whole. Most clients of a long queue only wait, so it costs a part.
    pub fn of_holders(facts: &'a Facts) -> Self {
        Self::grown(scan::scan_holders(facts), facts)
    }

    fn grown(mut graph: Self, facts: &Facts) -> Self {
        let components = circles::find(&mut graph);
        forest::grow(&mut graph, &components, facts.now());
        graph
    }

    /// What everybody is blocked by in the end: circles first, then by how long how many wait.
    pub fn roots(&self) -> &[Root] {
        &self.roots
    }

    /// The circles, those that are a deadlock for certain first, then the longest closed.
    pub fn circles(&self) -> &[Circle] {
        &self.circles
    }

    /// A client of this graph.
    ///
    /// # Panics
    /// When the index is of another graph.
    pub fn client(&self, ix: ClientIx) -> &Client<'a> {
        &self.clients[ix.0 as usize]
    }

    /// A wait of this graph.
    ///
    /// # Panics
    /// When the index is of another graph.
    pub fn wait(&self, ix: WaitIx) -> &Wait<'a> {
        &self.waits[ix.0 as usize]
    }

    /// A contended lock of this graph.
    ///
    /// # Panics
    /// When the index is of another graph.
    pub fn contended(&self, ix: ContendedIx) -> &Contended<'a> {
        &self.locks[ix.0 as usize]
    }

    /// All clients.
    pub fn clients(&self) -> impl Iterator<Item = (ClientIx, &Client<'a>)> {
        (0..).map(ClientIx).zip(&self.clients)
    }

    /// How many clients wait.
    pub fn waiting(&self) -> usize {
        self.clients.iter().filter(|client| !client.waits.is_empty()).count()
    }

    /// The lock that is waited for by a wait.
    pub fn lock_of(&self, wait: WaitIx) -> &Contended<'a> {
        self.contended(self.wait(wait).on)
    }

    /// The clients that a lock is about: those that hold it or wait for it, all that are behind
    /// them, and whoever they are behind, up to the root. Marks them in the order of their indices.
    pub fn around(&self, lock: LockView<'_>) -> Vec<bool> {
        let mut shown = vec![false; self.clients.len()];
        let contended = self.locks.iter().position(|known| known.lock.ix() == lock.ix());
        let mut open: Vec<ClientIx> = if let Some(on) = contended.and_then(|at| u32::try_from(at).ok()).map(ContendedIx)
        {
            let waiting = self.waits.iter().filter(|wait| wait.on == on).map(|wait| wait.client);
            self.contended(on).holders.iter().copied().chain(waiting).collect()
        } else {
            // Nobody waits for it, but its holder may wait for another, or be waited for there.
            let leases: Vec<LeaseId> = lock.holders().map(|key| key.lease()).collect();
            let holds = |client: &Client<'_>| client.leases.iter().any(|lease| leases.contains(lease));
            self.clients().filter(|(_, client)| holds(client)).map(|(ix, _)| ix).collect()
        };
        let mut above = open.clone();
        while let Some(client) = open.pop() {
            if !std::mem::replace(&mut shown[client.0 as usize], true) {
                open.extend(&self.client(client).children);
            }
        }
        let mut seen_above = vec![false; self.clients.len()];
        while let Some(client) = above.pop() {
            if !std::mem::replace(&mut seen_above[client.0 as usize], true) {
                above.extend(self.client(client).hangs.map(|(_, on)| on));
            }
        }
        // Circles are shown whole.
        for root in self.roots.iter().filter(|root| root.clients.len() > 1) {
            if root.clients.iter().any(|client| shown[client.0 as usize] || seen_above[client.0 as usize]) {
                root.clients.iter().for_each(|client| shown[client.0 as usize] = true);
            }
        }
        shown.iter_mut().zip(seen_above).for_each(|(shown, above)| *shown |= above);
        shown
    }

    /// The whole forest, roots first, each followed by those that hang on it.
    pub fn walk(&self) -> Walk<'_, 'a> {
        Walk::through(self)
    }
}
