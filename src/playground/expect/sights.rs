//! What clients that watch come to know, and when.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::{Facts, Judging, Said, Scene, Verdict, point, shown, span};
use crate::domain::Key;
use crate::domain::play::{ClientId, Happening, Ill, Moment, Sight};
use crate::domain::raft::ClusterTime;

/// What changes is known soon to all who watch it.
#[derive(Debug)]
pub(super) struct Changes {
    within: Duration,
    /// Changes that not all know yet, oldest first.
    open: VecDeque<Change>,
    /// The keys that are there as far as anybody knows; of very many keys, some.
    known: BTreeMap<Key, Vec<u8>>,
    /// Since when each watcher looks: at first it learns what others know already.
    since: BTreeMap<ClientId, ClusterTime>,
    seen: u64,
    slowest: Duration,
    watchers: usize,
    late: Option<Said>,
}

#[derive(Debug)]
struct Change {
    since: ClusterTime,
    key: Key,
    /// Its new value; none when the key went.
    value: Option<Vec<u8>>,
    missing: BTreeSet<ClientId>,
}

/// More changes, or leaders, than this are not kept open.
const OPEN: usize = 4_096;

impl Changes {
    pub const fn new(within: Duration) -> Self {
        Self {
            within,
            open: VecDeque::new(),
            known: BTreeMap::new(),
            since: BTreeMap::new(),
            seen: 0,
            slowest: Duration::ZERO,
            watchers: 0,
            late: None,
        }
    }

    /// What is known of a key by now is not missed any more, and neither is what it was before.
    fn sees(&mut self, at: ClusterTime, client: ClientId, sight: &Sight, scene: &Scene) {
        let value = match sight {
            Sight::Appeared(_, value) | Sight::Changed(_, value) => Some(value.clone()),
            Sight::Went(_) => None,
        };
        let of_it = |change: &Change| change.key == *sight.key() && change.value == value;
        if !self.open.iter().any(|change| of_it(change) && change.missing.contains(&client)) {
            let catches_up = self.since.get(&client).is_some_and(|since| at.since(*since) < self.within);
            if self.known.get(sight.key()) == value.as_ref() || catches_up && self.known.contains_key(sight.key()) {
                return;
            }
            match &value {
                None => drop(self.known.remove(sight.key())),
                Some(value) if self.known.len() < OPEN || self.known.contains_key(sight.key()) => {
                    self.known.insert(sight.key().clone(), value.clone());
                }
                Some(_) => {}
            }
            let missing: BTreeSet<_> = scene.watchers(sight.key()).filter(|watcher| *watcher != client).collect();
            self.watchers = self.watchers.max(missing.len() + 1);
            self.open.push_back(Change { since: at, key: sight.key().clone(), value: value.clone(), missing });
        }
        let newest = self.open.iter().rposition(of_it).unwrap_or_default();
        for change in self.open.iter_mut().take(newest + 1).filter(|change| change.key == *sight.key()) {
            change.missing.remove(&client);
        }
        let mut known = Vec::new();
        self.open.retain(|change| {
            if change.missing.is_empty() {
                known.push(change.since);
            }
            !change.missing.is_empty()
        });
        for since in known {
            let took = at.since(since);
            self.seen += 1;
            self.slowest = self.slowest.max(took);
            if took > self.within {
                self.late.get_or_insert_with(|| {
                    let said = Said::new("a change at {time} was known to all after {length}");
                    said.with("time", point(since)).with("length", span(took))
                });
            }
        }
        while self.open.len() > OPEN {
            // One that was missed for too long is remembered, or it would be forgiven.
            let oldest = self.open.pop_front().filter(|change| at.since(change.since) > self.within);
            self.late = self.late.take().or(oldest.map(|change| change.missed()));
        }
    }
}

impl Change {
    /// Who did not see it, in words.
    fn missed(&self) -> Said {
        let who = self.missing.first().map(ToString::to_string).unwrap_or_default();
        let said = Said::new("{who} did not see what became of {name} at {time}").with("who", who);
        said.with("name", shown(&self.key)).with("time", point(self.since))
    }
}

impl Judging for Changes {
    fn see(&mut self, moment: &Moment, scene: &Scene) {
        match (moment.client, &moment.what) {
            (Some(client), Happening::Saw(sight)) => self.sees(moment.at, client, sight, scene),
            (Some(client), Happening::Returned | Happening::Resumed | Happening::Suffered(Ill::Mend)) => {
                self.since.insert(client, moment.at);
            }
            // Who does not run misses nothing.
            (
                Some(client),
                Happening::Crashed(_) | Happening::Stopped | Happening::Paused | Happening::Suffered(Ill::Cut),
            ) => {
                for change in &mut self.open {
                    change.missing.remove(&client);
                }
                self.open.retain(|change| !change.missing.is_empty());
            }
            _ => {}
        }
    }

    fn verdict(&self, facts: &Facts<'_>) -> Verdict {
        let waits = self.open.iter().find(|change| facts.now.since(change.since) > self.within);
        if let Some(evidence) = self.late.clone().or_else(|| waits.map(Change::missed)) {
            return Verdict::new(false, evidence);
        }
        let evidence = match self.seen {
            0 => Said::new("nobody saw anything change"),
            seen => Said::new("{changes}, each known to {watchers} after {length} at most")
                .count("changes", seen, "change")
                .count("watchers", self.watchers as u64, "watcher")
                .with("length", span(self.slowest)),
        };
        Verdict::enough(self.seen > 0, evidence)
    }
}

/// Who takes a lock is known soon to all who watch it.
#[derive(Debug)]
pub(super) struct Leader {
    lock: Key,
    within: Duration,
    /// When each watcher last learnt of a key of it that is there.
    last: BTreeMap<ClientId, ClusterTime>,
    /// Who does not know yet of a leader that took it then, oldest first.
    open: VecDeque<(ClusterTime, BTreeSet<ClientId>)>,
    seen: u64,
    slowest: Duration,
    late: Option<Said>,
}

impl Leader {
    pub const fn new(lock: Key, within: Duration) -> Self {
        Self {
            lock,
            within,
            last: BTreeMap::new(),
            open: VecDeque::new(),
            seen: 0,
            slowest: Duration::ZERO,
            late: None,
        }
    }

    /// Whether this is the lock itself or below it.
    fn is_of_it(&self, key: &Key) -> bool {
        key.strip_prefix(&*self.lock).is_some_and(|rest| rest.first().is_none_or(|next| *next == b'/'))
    }

    fn settle(&mut self, at: ClusterTime) {
        while let Some((since, _)) = self.open.pop_front_if(|(_, missing)| missing.is_empty()) {
            let took = at.since(since);
            self.seen += 1;
            self.slowest = self.slowest.max(took);
            if took > self.within {
                self.late.get_or_insert_with(|| {
                    let said = Said::new("who took it at {time} was known to all after {length}");
                    said.with("time", point(since)).with("length", span(took))
                });
            }
        }
        while self.open.len() > OPEN {
            // One that was missed for too long is remembered, or it would be forgiven.
            let oldest = self.open.pop_front().filter(|(since, _)| at.since(*since) > self.within);
            self.late = self.late.take().or(oldest.map(|(since, missing)| missed(since, &missing)));
        }
    }
}

/// Who does not know a leader, in words.
fn missed(since: ClusterTime, missing: &BTreeSet<ClientId>) -> Said {
    let who = missing.first().map(ToString::to_string).unwrap_or_default();
    Said::new("{who} does not know who took it at {time}").with("who", who).with("time", point(since))
}

impl Judging for Leader {
    fn see(&mut self, moment: &Moment, scene: &Scene) {
        let Some(client) = moment.client else { return };
        match &moment.what {
            Happening::Saw(Sight::Appeared(key, _) | Sight::Changed(key, _)) if self.is_of_it(key) => {
                self.last.insert(client, moment.at);
                for (_, missing) in &mut self.open {
                    missing.remove(&client);
                }
                self.settle(moment.at);
            }
            Happening::Acquired(..) if moment.lock == self.lock => {
                // Watchers may know it before the client does, whose answer is still on its way.
                let is_told = |watcher: &ClientId| {
                    self.last.get(watcher).is_some_and(|last| moment.at.since(*last) <= self.within)
                };
                let watchers = scene.watchers(&self.lock).filter(|watcher| *watcher != client);
                let (known, missing): (BTreeSet<_>, BTreeSet<_>) = watchers.partition(is_told);
                if !known.is_empty() || !missing.is_empty() {
                    self.open.push_back((moment.at, missing));
                    self.settle(moment.at);
                }
            }
            Happening::Crashed(_) | Happening::Stopped | Happening::Paused | Happening::Suffered(Ill::Cut)
                if scene.watches(client) =>
            {
                for (_, missing) in &mut self.open {
                    missing.remove(&client);
                }
                self.settle(moment.at);
            }
            _ => {}
        }
    }

    fn verdict(&self, facts: &Facts<'_>) -> Verdict {
        let waits = self.open.front().filter(|(since, _)| facts.now.since(*since) > self.within);
        let waits = waits.map(|(since, missing)| missed(*since, missing));
        if let Some(evidence) = self.late.clone().or(waits) {
            return Verdict::new(false, evidence);
        }
        let evidence = match self.seen {
            0 => Said::new("nobody who is watched took it"),
            seen => Said::new("{leaders}, each known to all who watch after {length} at most")
                .count("leaders", seen, "leader")
                .with("length", span(self.slowest)),
        };
        Verdict::enough(self.seen > 0, evidence)
    }
}

/// Keys that watchers see go.
#[derive(Debug)]
pub(super) struct Going {
    least: u64,
    keys: BTreeSet<Key>,
    seen: u64,
}

impl Going {
    pub const fn new(least: u64) -> Self {
        Self { least, keys: BTreeSet::new(), seen: 0 }
    }
}

impl Judging for Going {
    fn see(&mut self, moment: &Moment, _: &Scene) {
        match &moment.what {
            Happening::Saw(Sight::Went(key)) if self.keys.insert(key.clone()) => {
                self.seen += 1;
                if self.keys.len() > OPEN {
                    self.keys.pop_first();
                }
            }
            Happening::Saw(Sight::Appeared(key, _)) => {
                self.keys.remove(key);
            }
            _ => {}
        }
    }

    fn verdict(&self, _: &Facts<'_>) -> Verdict {
        let evidence = Said::new("watchers saw {keys} go").count("keys", self.seen, "key");
        Verdict::enough(self.seen >= self.least, evidence)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{LOCK, Run, holds};
    use super::*;
    use crate::domain::Revision;
    use crate::recipe::{Belief, Kind};

    const WATCHED: [(Kind, &str); 3] = [(Kind::Queue, LOCK), (Kind::Watch, "/run/"), (Kind::Watch, "/run/")];

    fn saw(run: &mut Run, millis: u64, client: u32, sight: Sight) {
        run.tells_of(millis, "/run/", client, Happening::Saw(sight));
    }

    fn appeared(value: &str) -> Sight {
        Sight::Appeared(Key::from("/run/a"), value.into())
    }

    #[test]
    fn a_change_is_known_when_the_last_watcher_knows_it() {
        let mut run = Run::of("watchers see within 1s", WATCHED);
        assert_eq!(run.stands(), (None, "nobody saw anything change".into()));
        saw(&mut run, 1_000, 2, appeared("1"));
        assert_eq!(run.stands().0, None);
        run.reach(2_100);
        assert_eq!(run.stands(), (Some(false), "client-3 did not see what became of /run/a at 1.00 s".into()));
        let mut run = Run::of("watchers see within 1s", WATCHED);
        saw(&mut run, 1_000, 2, appeared("1"));
        saw(&mut run, 1_020, 3, appeared("1"));
        assert_eq!(run.stands(), (Some(true), "1 change, each known to 2 watchers after 20 ms at most".into()));
        // The same again is another change.
        saw(&mut run, 2_000, 2, Sight::Went(Key::from("/run/a")));
        saw(&mut run, 2_001, 3, Sight::Went(Key::from("/run/a")));
        saw(&mut run, 3_000, 3, appeared("1"));
        run.reach(9_000);
        assert_eq!(run.stands().0, Some(false));
    }

    #[test]
    fn who_knows_the_newer_value_has_not_missed_the_older() {
        let mut run = Run::of("watchers see within 1s", WATCHED);
        saw(&mut run, 1_000, 2, appeared("1"));
        saw(&mut run, 1_100, 2, Sight::Changed(Key::from("/run/a"), b"2".to_vec()));
        saw(&mut run, 1_200, 3, appeared("2"));
        run.reach(9_000);
        assert!(holds(&run), "{:?}", run.stands());
    }

    #[test]
    fn who_stood_still_learns_first_what_has_passed() {
        let mut run = Run::of("watchers see within 1s", WATCHED);
        let changed = |value: &str| Sight::Changed(Key::from("/run/a"), value.into());
        saw(&mut run, 1_000, 2, appeared("1"));
        saw(&mut run, 1_000, 3, appeared("1"));
        run.tells_of(1_500, "/run/", 3, Happening::Paused);
        saw(&mut run, 2_000, 2, changed("2"));
        saw(&mut run, 3_000, 2, changed("3"));
        run.tells_of(5_000, "/run/", 3, Happening::Resumed);
        saw(&mut run, 5_000, 3, changed("2"));
        saw(&mut run, 5_000, 3, changed("3"));
        run.reach(9_000);
        assert!(holds(&run), "{:?}", run.stands());
    }

    #[test]
    fn who_comes_late_is_told_what_all_others_know() {
        let mut run = Run::of("watchers see within 1s", WATCHED);
        run.tells_of(500, "/run/", 3, Happening::Crashed(Belief::Idle));
        saw(&mut run, 1_000, 2, appeared("1"));
        run.tells_of(5_000, "/run/", 3, Happening::Returned);
        saw(&mut run, 5_000, 3, appeared("1"));
        run.reach(9_000);
        assert!(holds(&run), "{:?}", run.stands());
        // From then on it is expected to know.
        saw(&mut run, 9_000, 2, Sight::Went(Key::from("/run/a")));
        run.reach(10_100);
        assert_eq!(run.stands().0, Some(false));
    }

    #[test]
    fn a_leader_is_known_to_those_who_watch_before_or_after_it_knows_itself() {
        let elected = Happening::Acquired(Revision(3), Duration::ZERO);
        let mut run = Run::of("leader seen within 1s", WATCHED);
        let key = || Sight::Appeared(Key::from("/run/lock/7"), b"me".to_vec());
        saw(&mut run, 1_000, 2, key());
        run.tells(1_050, 1, elected.clone());
        assert_eq!(run.stands().0, None);
        saw(&mut run, 1_100, 3, key());
        let evidence = "1 leader, each known to all who watch after 50 ms at most";
        assert_eq!(run.stands(), (Some(true), evidence.into()));
        run.tells(5_000, 1, elected);
        run.reach(6_100);
        assert_eq!(run.stands().0, Some(false));
    }

    #[test]
    fn the_leader_of_another_lock_is_another() {
        let mut run = Run::of("leader seen within 1s", WATCHED);
        run.tells(1_000, 1, Happening::Acquired(Revision(3), Duration::ZERO));
        for client in [2, 3] {
            saw(&mut run, 1_100, client, Sight::Appeared(Key::from("/run/lock-2/7"), b"other".to_vec()));
        }
        run.reach(2_100);
        assert_eq!(run.stands(), (Some(false), "client-2 does not know who took it at 1.00 s".into()));
    }

    #[test]
    fn what_was_missed_is_not_forgiven_for_all_that_was_missed_since() {
        let mut run = Run::of("leader seen within 1s", WATCHED);
        for turn in 0..=OPEN as u64 {
            run.tells(2_000 * (turn + 1), 1, Happening::Acquired(Revision(3), Duration::ZERO));
        }
        let key = || Sight::Appeared(Key::from("/run/lock/7"), b"me".to_vec());
        saw(&mut run, 9_000_000, 2, key());
        saw(&mut run, 9_000_000, 3, key());
        assert_eq!(run.stands(), (Some(false), "client-2 does not know who took it at 2.00 s".into()));
    }

    #[test]
    fn a_key_that_two_see_go_went_once() {
        let mut run = Run::of("keys seen to go >= 2", WATCHED);
        let went = || Sight::Went(Key::from("/run/a"));
        saw(&mut run, 1_000, 2, went());
        saw(&mut run, 1_000, 3, went());
        assert!(!holds(&run));
        saw(&mut run, 2_000, 2, appeared("1"));
        saw(&mut run, 3_000, 2, went());
        assert!(holds(&run));
    }
}
