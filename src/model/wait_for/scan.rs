//! Reads the contended locks: who holds them, who waits, and which of these are one client.

use hashbrown::{HashMap, HashSet};

use super::{Behind, Client, ClientIx, Contended, ContendedIx, Wait, WaitFor, WaitIx};
use crate::domain::LeaseId;
use crate::layout::value::process;
use crate::layout::{Layout, has_lock_word};
use crate::model::{Facts, KeyView, LockView};

/// A lease, or a key without one, before it is known which of them are one client.
struct Session<'a> {
    /// Its first key by name.
    key: KeyView<'a>,
    /// The session it was joined to; itself when it was not.
    joined: u32,
    /// The last lock it was seen to hold.
    holds: u32,
}

/// A process that values name, with the sessions whose values do.
struct Named {
    sessions: Vec<u32>,
    /// The lock and the session it was seen in last.
    seen: (u32, u32),
    /// Whether two sessions in one lock have its name, which then joins nothing.
    doubted: bool,
}

#[derive(Default)]
struct Scan<'a> {
    sessions: Vec<Session<'a>>,
    by_lease: HashMap<LeaseId, u32>,
    processes: HashMap<String, Named>,
    holders: Vec<Vec<u32>>,
    /// Session, lock, key, position.
    waits: Vec<(u32, u32, KeyView<'a>, usize)>,
    /// The waits for what another key of the same session holds.
    for_itself: Vec<u32>,
}

/// The locks that others wait for.
fn contended(facts: &Facts) -> impl Iterator<Item = LockView<'_>> {
    facts.locks().filter(|lock| lock.layout().has_queue() && lock.waiter_count() > 0)
}

/// Whether one of those who hold what others wait for waits as well, as far as its lease tells, or may
/// with another lease, because a value names its process.
pub(super) fn can_close(facts: &Facts) -> bool {
    let mut asked = HashSet::new();
    let waits = |lease: LeaseId| facts.lease(lease).is_some_and(|lease| lease.is_waiting());
    contended(facts).flat_map(|lock| lock.holders()).filter(|key| !key.lease().is_none()).any(|key| {
        process(&key.entry().facts(), key.family).is_some() || asked.insert(key.lease()) && waits(key.lease())
    })
}

/// Reads them all.
pub(super) fn scan(facts: &Facts) -> WaitFor<'_> {
    read(&sorted(facts), None)
}

/// The same without those who wait and hold nothing: no circle goes through them.
pub(super) fn scan_holders(facts: &Facts) -> WaitFor<'_> {
    let locks = sorted(facts);
    read(&locks, Some(&may_hold(&locks)))
}

/// The contended locks by name.
fn sorted(facts: &Facts) -> Vec<LockView<'_>> {
    let mut locks: Vec<LockView<'_>> = contended(facts).collect();
    locks.sort_unstable_by_key(|lock| (lock.name(), lock.ix()));
    locks
}

/// Reads locks, with the waiters on these leases only, if any are named.
fn read<'a>(locks: &[LockView<'a>], only: Option<&HashSet<LeaseId>>) -> WaitFor<'a> {
    let mut scan = Scan::default();
    for (at, lock) in (0..).zip(locks) {
        scan.take(at, *lock, only);
    }
    scan.join();
    scan.graph(locks)
}

/// The leases of clients that may hold one of these locks: they do, or a value on them names a
/// process, which may hold one with another lease.
fn may_hold(locks: &[LockView<'_>]) -> HashSet<LeaseId> {
    let mut leases = HashSet::new();
    for lock in locks {
        leases.extend(lock.holders().map(|key| key.lease()));
        let named = |key: &KeyView<'_>| process(&key.entry().facts(), key.family).is_some();
        leases.extend(lock.waiters().map(|waiter| waiter.key).filter(named).map(|key| key.lease()));
    }
    leases.remove(&LeaseId::NONE);
    leases
}

impl<'a> Scan<'a> {
    /// Takes in a lock, with the waiters on these leases only, if any are named.
    fn take(&mut self, at: u32, lock: LockView<'a>, only: Option<&HashSet<LeaseId>>) {
        let mut holders = Vec::new();
        for key in lock.holders() {
            let session = self.session(at, key);
            self.sessions[session as usize].holds = at;
            holders.push(session);
        }
        self.holders.push(holders);
        for waiter in lock.waiters() {
            if only.is_some_and(|only| !only.contains(&waiter.key.lease())) {
                continue;
            }
            let session = self.session(at, waiter.key);
            let wait = u32::try_from(self.waits.len()).unwrap_or(u32::MAX);
            if self.sessions[session as usize].holds == at {
                self.for_itself.push(wait);
            }
            self.waits.push((session, at, waiter.key, waiter.position));
        }
    }

    /// The session of a key.
    fn session(&mut self, lock: u32, key: KeyView<'a>) -> u32 {
        let next = u32::try_from(self.sessions.len()).unwrap_or(u32::MAX);
        let at = if key.lease().is_none() { next } else { *self.by_lease.entry(key.lease()).or_insert(next) };
        match self.sessions.get_mut(at as usize) {
            None => self.sessions.push(Session { key, joined: at, holds: u32::MAX }),
            Some(session) if key.key() < session.key.key() => session.key = key,
            Some(_) => {}
        }
        if !key.lease().is_none()
            && let Some(process) = process(&key.entry().facts(), key.family)
        {
            let new = || Named { sessions: Vec::new(), seen: (lock, at), doubted: false };
            let named = self.processes.entry(process).or_insert_with(new);
            named.doubted |= named.seen.0 == lock && named.seen.1 != at;
            named.seen = (lock, at);
            if named.sessions.last() != Some(&at) {
                named.sessions.push(at);
            }
        }
        at
    }

    /// Joins the sessions of each process.
    fn join(&mut self) {
        for named in self.processes.values().filter(|named| !named.doubted) {
            for pair in named.sessions.windows(2) {
                let (a, b) = (root(&mut self.sessions, pair[0]), root(&mut self.sessions, pair[1]));
                // The lower number stays, whatever the order of the names.
                self.sessions[a.max(b) as usize].joined = a.min(b);
            }
        }
    }

    fn graph(mut self, locks: &[LockView<'a>]) -> WaitFor<'a> {
        let mut clients: Vec<Client<'a>> = Vec::new();
        let mut of_session: Vec<ClientIx> = Vec::with_capacity(self.sessions.len());
        for at in 0..u32::try_from(self.sessions.len()).unwrap_or(u32::MAX) {
            let root = root(&mut self.sessions, at);
            let Session { key, .. } = self.sessions[at as usize];
            // A root has the lowest number of those that were joined.
            let ix = match of_session.get(root as usize) {
                Some(&known) => known,
                None => ClientIx(u32::try_from(clients.len()).unwrap_or(u32::MAX)),
            };
            of_session.push(ix);
            match clients.get_mut(ix.0 as usize) {
                None => clients.push(client(key)),
                Some(client) => {
                    client.leases.push(key.lease());
                    if key.key() < client.key.key() {
                        client.key = key;
                    }
                }
            }
        }
        for (process, named) in self.processes.into_iter().filter(|(_, named)| !named.doubted) {
            if let [first, _, ..] = named.sessions[..] {
                let client = &mut clients[of_session[first as usize].0 as usize];
                // One lease may carry the names of two processes; which is shown must not be chance.
                if client.leases.len() > 1 && client.process.as_ref().is_none_or(|known| process < *known) {
                    client.process = Some(process);
                }
            }
        }
        let mut waits = Vec::with_capacity(self.waits.len());
        for (session, lock, key, position) in self.waits {
            let client = of_session[session as usize];
            clients[client.0 as usize].waits.push(WaitIx(u32::try_from(waits.len()).unwrap_or(u32::MAX)));
            waits.push(Wait { client, on: ContendedIx(lock), key, position });
        }
        for wait in self.for_itself {
            clients[waits[wait as usize].client.0 as usize].waits_for_itself.get_or_insert(WaitIx(wait));
        }
        let mut contended = Vec::with_capacity(locks.len());
        for ((at, sessions), &lock) in (0..).map(ContendedIx).zip(self.holders).zip(locks) {
            let mut holders = Vec::new();
            for holder in sessions.into_iter().map(|session| of_session[session as usize]) {
                let holds = &mut clients[holder.0 as usize].holds;
                if holds.last() != Some(&at) {
                    holds.push(at);
                    holders.push(holder);
                }
            }
            contended.push(Contended { lock, holders, in_background: in_background(&lock) });
        }
        for client in &mut clients {
            client.leases.sort_unstable();
            client.waits.sort_by_key(|wait| waits[wait.0 as usize].key.token());
        }
        WaitFor { clients, locks: contended, waits, circles: Vec::new(), roots: Vec::new() }
    }
}

/// The session that a session was joined to in the end; the way there is made shorter.
fn root(sessions: &mut [Session<'_>], mut at: u32) -> u32 {
    while sessions[at as usize].joined != at {
        let next = sessions[at as usize].joined;
        sessions[at as usize].joined = sessions[next as usize].joined;
        at = next;
    }
    at
}

fn client(key: KeyView<'_>) -> Client<'_> {
    Client {
        key,
        leases: if key.lease().is_none() { Vec::new() } else { vec![key.lease()] },
        process: None,
        waits: Vec::new(),
        holds: Vec::new(),
        hangs: None,
        children: Vec::new(),
        waits_for_itself: None,
        entangled: false,
        behind: Behind::default(),
    }
}

/// Whether those that wait for a lock do other work meanwhile. A key with a value in it may be a
/// candidate's or a lock's; where the path speaks of a lock it is taken for that.
fn in_background(lock: &LockView<'_>) -> bool {
    lock.layout() == Layout::Election && !has_lock_word(lock.name())
}
