//! The diagnosis that is kept beside the facts, and when it is made anew.
//!
//! Rules look at every lock, so they are not asked for every event: at most twice a second, and
//! less often the more locks there are. What time alone can change, such as a hold that grows
//! long, is looked at when the program is awake anyhow, and wakes nobody by itself.

use std::fmt;
use std::sync::Arc;

use crate::domain::{Millis, Timestamp};

use super::Facts;
use super::findings::{Diagnosis, Grounds, Thresholds};

/// The least time from one diagnosis to the next.
const PAUSE: Millis = Millis(500);
/// So many locks lengthen it by a millisecond: 100,000 by five seconds.
const LOCKS_A_MILLI: i64 = 20;
/// So old a diagnosis may be out of date although nothing changed but the time.
const OLD: Millis = Millis(5_000);

/// The diagnosis with what it was made of.
#[derive(Clone)]
pub struct Checkup {
    /// From when on something counts; `None` when nobody wants a diagnosis.
    thresholds: Option<Thresholds>,
    diagnosis: Arc<Diagnosis>,
    /// What it stands on, once one was made.
    grounds: Option<Arc<Grounds>>,
    made: Option<Made>,
    /// Grows with every diagnosis that says something else than the one before.
    version: u64,
}

#[derive(Clone, Copy, Debug)]
struct Made {
    /// The version of the facts.
    facts: u64,
    /// When it was made.
    at: Timestamp,
    /// The time of the facts, which stands still while the screen is paused.
    seen: Timestamp,
}

impl Default for Checkup {
    fn default() -> Self {
        Self {
            thresholds: Some(Thresholds::default()),
            diagnosis: Arc::default(),
            grounds: None,
            made: None,
            version: 0,
        }
    }
}

impl fmt::Debug for Checkup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let findings = self.diagnosis.findings().len();
        f.debug_struct("Checkup").field("made", &self.made).field("findings", &findings).finish_non_exhaustive()
    }
}

impl Checkup {
    /// The latest diagnosis.
    pub fn diagnosis(&self) -> &Diagnosis {
        &self.diagnosis
    }

    /// A number that grows whenever the diagnosis changes.
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// Sets from when on something counts, or that nobody wants to know.
    pub fn set_thresholds(&mut self, thresholds: Option<Thresholds>) {
        *self = Self { thresholds, version: self.version + 1, ..Self::default() };
    }

    /// Has the next look be a whole one: the facts are those of another place of a recording.
    pub fn spoil(&mut self) {
        (self.made, self.grounds) = (None, None);
    }

    /// When these facts are to be looked at; `None` while what is known of them is up to date.
    pub fn due(&self, facts: &Facts) -> Option<Timestamp> {
        self.thresholds?;
        match self.made {
            None => Some(Timestamp(0)),
            // What was found in a part of the list was for the meantime.
            Some(_) if facts.link.listed && !self.diagnosis.is_whole() => Some(Timestamp(0)),
            Some(made) if made.facts == facts.version() => None,
            Some(made) => Some(made.at + pause(facts)),
        }
    }

    /// Whether time alone may have made it wrong.
    pub fn is_old(&self, facts: &Facts) -> bool {
        let wait = OLD.max(pause(facts));
        self.thresholds.is_some() && self.made.is_some_and(|made| facts.now() >= made.seen + wait)
    }

    /// Looks at the facts if that is due, or the last look is long ago; whether anything changed.
    pub fn look(&mut self, facts: &Facts, now: Timestamp) -> bool {
        let Some(thresholds) = self.thresholds else { return false };
        if self.due(facts).is_none_or(|due| due > now) && !self.is_old(facts) {
            return false;
        }
        self.made = Some(Made { facts: facts.version(), at: now, seen: facts.now() });
        if self.grounds.as_ref().is_some_and(|grounds| grounds.holds(&self.diagnosis, facts, &thresholds)) {
            debug_assert_eq!(*self.diagnosis, Diagnosis::of(facts, &thresholds), "a rule is not what its `Look` says");
            return false;
        }
        let (diagnosis, grounds) = Diagnosis::with_grounds(facts, &thresholds);
        self.grounds = Some(Arc::new(grounds));
        let changed = diagnosis != *self.diagnosis;
        if changed {
            self.diagnosis = Arc::new(diagnosis);
            self.version += 1;
        }
        changed
    }
}

/// The least time from one look at these facts to the next.
fn pause(facts: &Facts) -> Millis {
    let locks = i64::try_from(facts.lock_count()).unwrap_or(i64::MAX);
    Millis(PAUSE.0 + locks / LOCKS_A_MILLI)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{KeyRange, Revision};
    use crate::event::{Event, LinkState, ListPage, Observation, Stamped};
    use crate::model::{Model, Ui};
    use crate::update::update;

    #[test]
    fn the_first_diagnosis_of_a_complete_list_does_not_wait() {
        let mut model = Model::new(Facts::new(200), Ui::default());
        let at = Timestamp(1_000);
        let observe = |model: &mut Model, what| update(model, Event::Observed(Stamped { at, what }));
        observe(&mut model, Observation::Link(LinkState::Live { endpoint: "http://a:1".into() }));
        observe(&mut model, Observation::Scope(vec![KeyRange::prefix(b"")]));
        update(&mut model, Event::Tick(at));
        assert!(!model.diagnosis().is_whole(), "nothing was read");
        let (range, keys) = (KeyRange::prefix(b""), Vec::new());
        let page = ListPage { range, revision: Revision(1), keys, first: true, last: true };
        observe(&mut model, Observation::Listed(page));
        assert_eq!(model.ui.checkup.due(model.shown()), Some(Timestamp(0)));
        update(&mut model, Event::Tick(at + Millis(1)));
        assert!(model.diagnosis().is_whole());
    }
}
