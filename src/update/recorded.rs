//! What was recorded is fed to the facts: time passes by the recording's own stamps.
//!
//! A session is told the time at each of its deadlines, and a recording has none of these ticks,
//! for they follow from what was observed. So they are made up between two observations, and the
//! same recording always leads to the same facts.

use super::observation;
use crate::domain::Timestamp;
use crate::event::{Observation, Stamped};
use crate::model::Facts;

/// How many deadlines are kept between two observations: hours of a quiet cluster. A longer time
/// passes at once.
const MOST: usize = 100_000;

/// Takes in an observation, and lets pass what time lies before it.
pub fn observe(facts: &mut Facts, observed: Stamped<Observation>) {
    pass_time(facts, observed.at);
    observation::observe(facts, observed);
}

/// Lets time pass, with every deadline on the way. What would be asked of a cluster then was
/// asked when it was recorded.
pub fn pass_time(facts: &mut Facts, until: Timestamp) {
    for _ in 0..MOST {
        let Some(due) = facts.next_deadline().filter(|due| *due <= until) else { break };
        facts.pass_time(due, &[]);
        if facts.next_deadline() == Some(due) {
            // One that is never over would hold the clock.
            break;
        }
    }
    facts.pass_time(until, &[]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Key, KeyEvent, LeaseId, Revision};
    use crate::event::Change;
    use crate::model::{Cause, What};
    use crate::update::testing::{START, World, lease_of};

    #[test]
    fn deadlines_are_kept_as_in_a_session() {
        // A key went with its lease, and nobody tells why: after a while the cause stays unknown.
        let world = World::new(&[("/a", 0)]);
        let mut facts = world.model.live().clone();
        let key = Key::from(format!("/a/{}", lease_of("/a", 0)).as_str());
        let gone = Change { revision: Revision(99), event: KeyEvent::Delete { key, previous: None } };
        let at = Timestamp(START.0 + 10);
        observe(&mut facts, Stamped { at, what: Observation::Watched(vec![gone]) });
        let cause = |facts: &Facts| {
            let mut causes = facts.timeline.from(0).filter_map(|happening| match &happening.what {
                What::Released(_, cause) => Some(*cause),
                _ => None,
            });
            causes.next_back()
        };
        assert!(facts.timeline.from(0).any(|happening| happening.what.is_pending()));
        observe(
            &mut facts,
            Stamped { at: Timestamp(at.0 + 3_600_000), what: Observation::LeaseList(vec![LeaseId(1)]) },
        );
        assert_eq!(cause(&facts), Some(Cause::Unknown));
        assert_eq!(facts.now(), Timestamp(at.0 + 3_600_000));
    }

    #[test]
    fn a_time_that_does_not_end_passes_at_once() {
        let mut facts = World::new(&[("/a", 2)]).model.live().clone();
        pass_time(&mut facts, Timestamp(i64::MAX));
        assert_eq!(facts.now(), Timestamp(i64::MAX));
    }
}
