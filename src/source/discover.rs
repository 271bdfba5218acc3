//! Finds locks through the leases: what hangs on a lease may be one, and its neighbours too.
//!
//! New leases are asked for their keys once. Those without keys are asked again, seldomer each
//! time, because a lease is granted before its key is put; and a few of the others in turn,
//! because a lease may get more keys elsewhere. What is seen on keys that are watched already
//! needs no question.
//!
//! These questions are outside the budget for times to live, so they have one of their own: a
//! round asks a few thousand leases at most, and what is left over waits for the next rounds.
//! What was found is watched even when a question fails or takes too long; whoever did not
//! answer is asked again later. Now and then it is looked which places still hold keys.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::{BoxStream, iter};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout};

use super::cover::{Cover, KUBERNETES_LEASES};
use super::live::{Contact, Wish};
use super::out::{NoReader, Out};
use super::poll::{ANSWER, Burst, IN_FLIGHT, Patience};
use super::silence::Silence;
use crate::domain::{Key, KeyRange, LeaseId};
use crate::event::{Denied, LeaseTtl, Observation};
use crate::port::{Client, Etcd, PortError, Range, Want};

/// How often leases are listed, unless that costs more than one part in a hundred of the time.
const EVERY: Duration = Duration::from_secs(2);
/// How often at least, however much it costs.
const SELDOMEST: Duration = Duration::from_mins(1);
/// How many leases are asked before what they lead to is watched.
const AT_ONCE: usize = 512;
/// How many leases that nobody asked before are asked in one round.
const NEW_A_ROUND: usize = 2_000;
/// How many leases without keys are asked again in one round.
const EMPTY_A_ROUND: usize = 256;
/// How often it is looked whether places still hold keys, unless they double before.
const LOOK_EVERY: Duration = Duration::from_mins(5);
/// How many places are looked at in one round.
const LOOKED_AT: usize = 256;
/// Fewer places than this do not matter.
const FEW_PLACES: usize = 512;
/// How many leases whose keys are known are asked again each time.
const AGAIN: usize = 32;
/// How long to wait for the keys of new ranges, which name leases that need no question then.
const PATIENCE: Duration = Duration::from_millis(500);
/// Every so many rounds it is looked whether there are leases of Kubernetes.
const KUBERNETES_EVERY: u32 = 15;

/// Finds locks until nobody reads: wishes for the ranges they are in, and tells `LeaseList` and
/// a `LeaseTtl` with keys of each lease it asks.
pub(super) async fn keep_finding(
    contact: watch::Receiver<Option<Contact>>,
    wish: watch::Sender<Wish>,
    seen: mpsc::Receiver<Vec<LeaseId>>,
    out: Out,
) -> Result<Infallible, NoReader> {
    let search = Search {
        finder: Finder::default(),
        life: None,
        wish,
        seen,
        out,
        denied: false,
        places: Vec::new(),
        last_look: Instant::now(),
        places_then: 0,
    };
    search.keep(contact).await
}

/// The search on a live cluster.
struct Search {
    finder: Finder,
    life: Option<u64>,
    wish: watch::Sender<Wish>,
    seen: mpsc::Receiver<Vec<LeaseId>>,
    out: Out,
    denied: bool,
    /// Places that are still to be looked at.
    places: Vec<KeyRange>,
    /// When the last look at all places began, and how many there were.
    last_look: Instant,
    places_then: usize,
}

/// Why a round ended early.
enum Interrupted {
    NoReader(NoReader),
    Failed(PortError),
}

impl From<NoReader> for Interrupted {
    fn from(gone: NoReader) -> Self {
        Self::NoReader(gone)
    }
}

impl From<PortError> for Interrupted {
    fn from(error: PortError) -> Self {
        Self::Failed(error)
    }
}

impl Search {
    async fn keep(mut self, mut contact: watch::Receiver<Option<Contact>>) -> Result<Infallible, NoReader> {
        loop {
            let known = contact.borrow_and_update().clone();
            let mut rest = EVERY;
            if let Some(Contact { client, life }) = known {
                if self.life.replace(life) != Some(life) {
                    self.finder = Finder::default();
                    self.denied = false;
                    self.places.clear();
                    self.places_then = 0;
                }
                let start = Instant::now();
                let failed = match self.round(&client).await {
                    Ok(()) => false,
                    // What is wrong with the connection is noticed by whoever keeps it.
                    Err(Interrupted::Failed(error)) => {
                        tracing::debug!(%error, "looking for locks failed");
                        true
                    }
                    Err(Interrupted::NoReader(gone)) => return Err(gone),
                };
                // What is left over shall not wait for a minute, nor that somebody answers again: the
                // time that was waited in vain cost nobody anything.
                let share = match (failed, self.finder.unknown(1).is_empty()) {
                    (true, _) => 0,
                    (false, false) => 1,
                    (false, true) => 99,
                };
                rest = (start.elapsed() * share).clamp(EVERY, SELDOMEST);
            }
            tokio::select! {
                changed = contact.changed() => if changed.is_err() { std::future::pending().await },
                () = sleep_until(self.out.beat.near(Instant::now() + rest)) => {}
            }
        }
    }

    /// Lists the leases, asks those that should be asked, and wishes for where they lead.
    async fn round(&mut self, client: &Client) -> Result<(), Interrupted> {
        self.take_in_seen();
        let leases = match client.leases().await {
            Ok(leases) => leases,
            Err(PortError::Denied { user, why, .. }) => return Ok(self.deny(user, &why).await?),
            Err(error) => return Err(error.into()),
        };
        self.finder.alive(&leases);
        self.out.tell(Observation::LeaseList(leases)).await?;
        let mut failed = None;
        if self.finder.round % KUBERNETES_EVERY == 1 {
            failed = self.finder.look_for_kubernetes(client).await.err();
        }
        let mut left = NEW_A_ROUND;
        let mut ask = self.finder.due(EMPTY_A_ROUND, AGAIN);
        loop {
            let new = self.finder.unknown(AT_ONCE.min(left));
            left -= new.len();
            ask.extend(new);
            let mut burst = Burst::new(client, ask.clone(), true, Patience::once(ANSWER));
            while let Some(ttl) = burst.next().await {
                self.finder.answered(&ttl);
                self.out.tell(Observation::LeaseTtl(ttl)).await?;
            }
            // When nobody answers, that says nothing of these leases.
            if !burst.gave_up() {
                self.finder.asked(&ask);
            }
            match burst.end().1 {
                Some(PortError::Denied { user, why, .. }) => self.deny(user, &why).await?,
                error => failed = failed.or(error),
            }
            let counted = self.finder.count(client).await;
            // What was found is watched whatever else failed.
            let found = Wish { life: self.life, ranges: self.finder.ranges() };
            let new = self.wish.send_if_modified(|wish| {
                let new = *wish != found;
                *wish = found;
                new
            });
            if let Some(error) = failed.take().or(counted.err()) {
                return Err(error.into());
            }
            if left == 0 || self.finder.unknown(1).is_empty() {
                break;
            }
            if new && let Ok(Some(leases)) = timeout(PATIENCE, self.seen.recv()).await {
                self.finder.all_seen(leases);
            }
            self.take_in_seen();
            ask = Vec::new();
        }
        Ok(self.look_at_places(client).await?)
    }

    /// Looks at some places now and then, to forget those that are no more.
    async fn look_at_places(&mut self, client: &Client) -> Result<(), PortError> {
        let places = self.finder.cover.len();
        let doubled = places > FEW_PLACES.max(2 * self.places_then);
        if self.places.is_empty() && (doubled || self.last_look.elapsed() >= LOOK_EVERY) {
            self.places = self.finder.cover.places();
            (self.places_then, self.last_look) = (places, Instant::now());
        }
        let some = self.places.split_off(self.places.len().saturating_sub(LOOKED_AT));
        self.finder.look_at(client, some).await
    }

    fn take_in_seen(&mut self) {
        while let Ok(leases) = self.seen.try_recv() {
            self.finder.all_seen(leases);
        }
    }

    async fn deny(&mut self, user: String, why: &str) -> Result<(), NoReader> {
        if std::mem::replace(&mut self.denied, true) {
            return Ok(());
        }
        self.out.tell(Observation::Denied(Finder::denied(user, why))).await
    }
}

/// What is known of the leases and where they lead.
#[derive(Default)]
pub(super) struct Finder {
    cover: Cover,
    leases: HashMap<LeaseId, Known>,
    /// Counts calls of [`Finder::alive`].
    round: u32,
}

/// What is known of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// That it exists.
    Name,
    /// No keys so far: asked so many times, due again in this round.
    Empty { asked: u32, due: u32 },
    /// Where its keys are, as of this round.
    Keys { round: u32 },
}

impl Known {
    /// No keys were found in this round either.
    fn found_empty(&mut self, round: u32) {
        let asked = if let Self::Empty { asked, .. } = self { *asked + 1 } else { 1 };
        *self = Self::Empty { asked, due: round + (1 << asked.min(5)) / 2 };
    }
}

impl Finder {
    /// Takes in which leases there are; starts a round.
    pub fn alive(&mut self, leases: &[LeaseId]) {
        self.round += 1;
        let alive: HashSet<_> = leases.iter().copied().collect();
        self.leases.retain(|lease, _| alive.contains(lease));
        for lease in alive {
            self.leases.entry(lease).or_insert(Known::Name);
        }
    }

    /// Takes in that keys which are watched hang on these leases.
    fn all_seen(&mut self, leases: Vec<LeaseId>) {
        for lease in leases {
            self.seen(lease);
        }
    }

    /// Takes in that a key which is watched hangs on this lease.
    pub fn seen(&mut self, lease: LeaseId) {
        if !lease.is_none() {
            self.leases.insert(lease, Known::Keys { round: self.round });
        }
    }

    /// Leases nobody asked yet.
    pub fn unknown(&self, most: usize) -> Vec<LeaseId> {
        self.pick(most, |known| *known == Known::Name)
    }

    /// Leases to ask again: `empty` of those without keys that are due, the longest overdue
    /// first, and `most` of the others, the longest unasked first.
    pub fn due(&self, empty: usize, most: usize) -> Vec<LeaseId> {
        let overdue = self.leases.iter().filter_map(|(&lease, known)| match known {
            Known::Empty { due, .. } if *due <= self.round => Some((*due, lease)),
            _ => None,
        });
        let mut due = oldest(overdue.collect(), empty);
        let keyed = self
            .leases
            .iter()
            .filter_map(|(&lease, known)| match known {
                Known::Keys { round } if *round < self.round => Some((*round, lease)),
                _ => None,
            })
            .collect();
        due.extend(oldest(keyed, most));
        due
    }

    fn pick(&self, most: usize, wanted: impl Fn(&Known) -> bool) -> Vec<LeaseId> {
        self.leases.iter().filter(|(_, known)| wanted(known)).map(|(&lease, _)| lease).take(most).collect()
    }

    /// Takes in that these were asked: whoever did not answer is asked again later, as if
    /// it had no keys.
    pub fn asked(&mut self, leases: &[LeaseId]) {
        for lease in leases {
            match self.leases.get_mut(lease) {
                Some(Known::Keys { .. }) | None => {}
                // It answered in this round.
                Some(Known::Empty { due, .. }) if *due > self.round => {}
                Some(known) => known.found_empty(self.round),
            }
        }
    }

    /// Takes in what a lease answered: where its keys are.
    pub fn answered(&mut self, ttl: &LeaseTtl) {
        let Some(known) = self.leases.get_mut(&ttl.lease) else { return };
        let keys = ttl.keys.as_deref().unwrap_or_default();
        if keys.is_empty() {
            known.found_empty(self.round);
        } else {
            *known = Known::Keys { round: self.round };
        }
        self.found(keys);
    }

    /// Takes in keys that hang on leases.
    pub fn found<'a>(&mut self, keys: impl IntoIterator<Item = &'a Key>) {
        for key in keys {
            self.cover.add(key);
        }
    }

    /// Counts the keys of directories that were found and not counted yet.
    ///
    /// # Errors
    /// When the connection fails. A directory that may not be counted counts as empty: reading
    /// it says that it is denied.
    pub async fn count(&mut self, client: &Client) -> Result<(), PortError> {
        let directories = self.cover.uncounted().into_iter().map(|path| KeyRange::prefix(&path)).collect();
        let mut counts = counts(client, directories);
        let mut failed = None;
        let mut silence = Silence::default();
        while let Some((directory, counted)) = counts.next().await {
            let is_enough = silence.is_enough_after(&counted);
            match counted {
                Ok(keys) => self.cover.counted(directory.start.as_bytes(), keys.unwrap_or(0)),
                Err(error) => failed = Some(error),
            }
            if is_enough {
                break;
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Looks at places, to forget those that hold no key any more.
    ///
    /// # Errors
    /// When the connection fails.
    pub async fn look_at(&mut self, client: &Client, places: Vec<KeyRange>) -> Result<(), PortError> {
        let mut counts = counts(client, places);
        let mut looked = Vec::new();
        while let Some((place, counted)) = counts.next().await {
            // What may not be counted may well be there.
            looked.push((place, counted? == Some(0)));
        }
        self.cover.looked_at(looked);
        Ok(())
    }

    /// Covers the leases of Kubernetes if there are any: they hang on no lease of etcd.
    ///
    /// # Errors
    /// When the connection fails.
    pub async fn look_for_kubernetes(&mut self, client: &Client) -> Result<(), PortError> {
        if count(client, KeyRange::prefix(KUBERNETES_LEASES)).await?.is_some_and(|keys| keys > 0) {
            self.cover.add_directory(KUBERNETES_LEASES);
        }
        Ok(())
    }

    /// The ranges to watch.
    pub fn ranges(&self) -> Vec<KeyRange> {
        self.cover.ranges()
    }

    /// What to say when leases may not be listed or asked.
    pub fn denied(user: String, why: &str) -> Denied {
        let why =
            format!("{why}; finding locks needs to read leases and their keys: name prefixes with --prefix instead");
        Denied { range: KeyRange::prefix(b""), user, why }
    }
}

/// How many keys a range has; `None` when that may not be asked.
async fn count(client: &Client, range: KeyRange) -> Result<Option<i64>, PortError> {
    match client.range(Range { want: Want::Count, serializable: true, ..Range::of(range) }).await {
        Ok(page) => Ok(Some(page.count)),
        Err(PortError::Denied { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

type Counted = (KeyRange, Result<Option<i64>, PortError>);

/// Counts each of these ranges, some at a time.
fn counts(client: &Client, ranges: Vec<KeyRange>) -> BoxStream<'static, Counted> {
    let client = client.clone();
    let counting = move |range: KeyRange| {
        let client = client.clone();
        async move { (range.clone(), count(&client, range).await) }
    };
    iter(ranges).map(counting).buffer_unordered(IN_FLIGHT).boxed()
}

/// The leases with the lowest rounds.
fn oldest(mut leases: Vec<(u32, LeaseId)>, most: usize) -> Vec<LeaseId> {
    if leases.len() > most {
        leases.select_nth_unstable(most);
        leases.truncate(most);
    }
    leases.into_iter().map(|(_, lease)| lease).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Key;

    fn answer(lease: i64, keys: &[&str]) -> LeaseTtl {
        let keys = Some(keys.iter().map(|&key| Key::from(key)).collect());
        LeaseTtl { lease: LeaseId(lease), granted: 10, remaining: 9, keys, term: crate::domain::Term(0) }
    }

    #[test]
    fn leases_without_keys_are_asked_again_seldomer_each_time() {
        let mut finder = Finder::default();
        let mut asked_in = Vec::new();
        for round in 1..=40 {
            finder.alive(&[LeaseId(1)]);
            let ask = [finder.unknown(9), finder.due(9, 0)].concat();
            if !ask.is_empty() {
                asked_in.push(round);
                finder.answered(&answer(1, &[]));
            }
        }
        assert_eq!(asked_in, [1, 2, 4, 8, 16, 32]);
    }

    #[test]
    fn few_of_many_empty_leases_are_asked_again_at_once_and_none_is_left_out() {
        let mut finder = Finder::default();
        let all: Vec<_> = (1..=30).map(LeaseId).collect();
        finder.alive(&all);
        finder.asked(&all);
        let mut asked = HashSet::new();
        for _ in 0..3 {
            finder.alive(&all);
            let due = finder.due(10, 0);
            assert_eq!(due.len(), 10);
            for lease in due {
                finder.answered(&answer(lease.0, &[]));
                asked.insert(lease);
            }
        }
        assert_eq!(asked.len(), all.len());
    }

    #[test]
    fn a_lease_that_does_not_answer_is_asked_seldomer_each_time() {
        let mut finder = Finder::default();
        let mut asked_in = Vec::new();
        for round in 1..=20 {
            finder.alive(&[LeaseId(1)]);
            let ask = [finder.unknown(9), finder.due(9, 0)].concat();
            if !ask.is_empty() {
                asked_in.push(round);
                finder.asked(&ask);
            }
        }
        assert_eq!(asked_in, [1, 2, 4, 8, 16]);
    }

    #[test]
    fn a_lease_seen_on_a_watched_key_is_not_asked() {
        let mut finder = Finder::default();
        finder.alive(&[LeaseId(1), LeaseId(2)]);
        finder.seen(LeaseId(1));
        finder.seen(LeaseId::NONE);
        assert_eq!(finder.unknown(9), [LeaseId(2)]);
        assert_eq!(finder.due(9, 9), []);
    }

    #[test]
    fn leases_with_keys_are_asked_again_in_turn() {
        let mut finder = Finder::default();
        let all: Vec<_> = (1..=4).map(LeaseId).collect();
        finder.alive(&all);
        for lease in &all {
            finder.answered(&answer(lease.0, &["/a/b/1"]));
        }
        let mut asked = Vec::new();
        for _ in 0..2 {
            finder.alive(&all);
            let due = finder.due(9, 2);
            for lease in &due {
                finder.answered(&answer(lease.0, &["/a/b/1"]));
            }
            asked.extend(due);
        }
        asked.sort();
        assert_eq!(asked, all);
        assert_eq!(finder.ranges(), [KeyRange::prefix(b"/a/b/")]);
    }

    #[test]
    fn a_lease_that_is_gone_is_forgotten() {
        let mut finder = Finder::default();
        finder.alive(&[LeaseId(1)]);
        finder.alive(&[]);
        finder.answered(&answer(1, &["/a/b/1"]));
        assert_eq!((finder.unknown(9), finder.leases.len()), (Vec::new(), 0));
    }
}
