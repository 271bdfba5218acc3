//! Which leases are asked when: one burst a second, within a budget.
//!
//! The leader answers a burst an order of magnitude cheaper than questions spread over the
//! second. What matters most goes first: keys that vanished and whose cause is open, leases
//! never asked, what is on the screen, what runs out soon; the rest takes turns. How many
//! fit adapts to how fast the leader answers.

use std::collections::VecDeque;

use hashbrown::HashSet;

use crate::domain::{LeaseId, Millis, Timestamp};
use crate::event::LeasePollCost;

use super::lease::{Leases, TtlState};

/// The time from one burst to the next, unless another is set.
const PERIOD: Millis = Millis(1_000);
/// The time between questions that cannot wait for the next burst.
const URGENT_PERIOD: Millis = Millis(100);
/// How many questions that cannot wait are asked at once.
const URGENT_BATCH: usize = 16;
/// A burst that takes longer than this is too large for the leader.
const SLOW: Millis = Millis(250);
/// A lease that runs out within this time is asked every second.
const SOON: Millis = Millis(8_000);
/// How many leases that were never asked wait to be asked first.
const MOST_FRESH: usize = 100_000;
/// A lease is not asked again within this part of the time it was granted, unless it runs out soon: what
/// is left is counted down, and a renewal comes after a third of that time.
const PART_OF_GRANTED: i64 = 60;
/// And that is this much at most: older answers are shown as old (`view/widget/ttl.rs`).
const LONGEST_PAUSE: Millis = Millis(4_000);

/// The plan.
#[derive(Clone, Debug)]
pub struct PollPlan {
    period: Millis,
    most: u32,
    allowed: u32,
    urgent: VecDeque<LeaseId>,
    fresh: VecDeque<LeaseId>,
    turns: VecDeque<LeaseId>,
    last_burst: Option<Timestamp>,
    last_urgent: Option<Timestamp>,
    /// Whether leases of the last burst gave no answer.
    unanswered: bool,
    /// How many were asked since the last burst began, it included.
    spent: u32,
}

impl Default for PollPlan {
    fn default() -> Self {
        Self::new(200)
    }
}

impl PollPlan {
    /// A plan that asks at most `most` leases a second; 0 asks none.
    pub const fn new(most: u32) -> Self {
        Self {
            period: PERIOD,
            most,
            allowed: most,
            urgent: VecDeque::new(),
            fresh: VecDeque::new(),
            turns: VecDeque::new(),
            last_burst: None,
            last_urgent: None,
            unanswered: false,
            spent: 0,
        }
    }

    /// How many leases a second are asked at present.
    pub const fn allowed(&self) -> u32 {
        self.allowed
    }

    /// Whether leases of the last burst gave no answer.
    pub(super) const fn is_unanswered(&self) -> bool {
        self.unanswered
    }

    /// Has the bursts be this far apart.
    pub(super) const fn set_period(&mut self, period: Millis) {
        self.period = period;
    }

    /// A lease whose state decides what just happened.
    pub(super) fn ask_urgently(&mut self, id: LeaseId) {
        if self.urgent.len() < self.most as usize && !self.urgent.contains(&id) {
            self.urgent.push_back(id);
        }
    }

    /// A lease that was never asked.
    pub(super) fn ask_first(&mut self, id: LeaseId) {
        // Those that do not fit get their turn like all others.
        if self.fresh.len() >= MOST_FRESH {
            self.fresh.pop_front();
        }
        self.fresh.push_back(id);
    }

    /// Takes in what the last burst cost.
    pub(super) fn adapt(&mut self, cost: LeasePollCost) {
        if cost.asked == 0 {
            return;
        }
        self.unanswered = cost.failed > 0;
        if cost.took > SLOW || cost.failed > 0 {
            self.allowed = (self.allowed / 2).max(self.most.min(10));
        } else if cost.asked >= self.allowed / 2 {
            self.allowed = (self.allowed + self.allowed / 4 + 1).min(self.most);
        }
    }

    /// When the next questions are due; `None` when nothing is to ask.
    pub(super) fn next_at(&self, leases: &Leases) -> Option<Timestamp> {
        if self.most == 0 || leases.is_empty() && self.urgent.is_empty() {
            return None;
        }
        let burst = self.last_burst.map_or(Timestamp(0), |at| at + self.period);
        if self.urgent.is_empty() || self.spent >= self.allowed {
            return Some(burst);
        }
        Some(self.last_urgent.map_or(Timestamp(0), |at| at + URGENT_PERIOD).min(burst))
    }

    /// The leases to ask now; empty when nothing is due.
    pub(super) fn due(&mut self, now: Timestamp, leases: &Leases, visible: &[LeaseId]) -> Vec<LeaseId> {
        if self.next_at(leases).is_none_or(|at| at > now) {
            return Vec::new();
        }
        self.last_urgent = Some(now);
        if self.last_burst.is_none_or(|at| at + self.period <= now) {
            self.last_burst = Some(now);
            let burst = self.burst(now, leases, visible);
            self.spent = u32::try_from(burst.len()).unwrap_or(u32::MAX);
            return burst;
        }
        let room = self.allowed.saturating_sub(self.spent) as usize;
        let count = self.urgent.len().min(URGENT_BATCH).min(room);
        self.spent += u32::try_from(count).unwrap_or(u32::MAX);
        self.urgent.drain(..count).collect()
    }

    fn burst(&mut self, now: Timestamp, leases: &Leases, visible: &[LeaseId]) -> Vec<LeaseId> {
        let mut chosen = Chosen { ids: Vec::new(), seen: HashSet::new(), room: self.allowed as usize };
        while chosen.has_room()
            && let Some(id) = self.urgent.pop_front()
        {
            chosen.add(id);
        }
        while chosen.has_room()
            && let Some(id) = self.fresh.pop_front()
        {
            // It may have been polled for another reason, or be gone, since it was noted.
            if leases.contains(id) && !leases.is_polled(id) {
                chosen.add(id);
            }
        }
        for &id in visible.iter().filter(|&&id| leases.contains(id) && self.is_due(now, leases, id)) {
            chosen.add(id);
        }
        for (_, id) in leases.soonest().take_while(|&(end, _)| end <= now + SOON) {
            chosen.add(id);
        }
        self.take_turns(now, leases, &mut chosen);
        chosen.ids
    }

    /// Whether a lease may have something new to say.
    fn is_due(&self, now: Timestamp, leases: &Leases, id: LeaseId) -> bool {
        let Some(answered) = leases.polled_at(id) else { return true };
        let part = match leases.ttl(id, now) {
            TtlState::Live { granted, .. } if !leases.is_doubtful(id) => Millis::from_secs(granted).0 / PART_OF_GRANTED,
            // Whatever else there is to say of it may change at any time.
            _ => 0,
        };
        // Answers come some time after their burst.
        answered + Millis(part.min(LONGEST_PAUSE.0).max(self.period.0)) <= now + Millis(self.period.0 / 2)
    }

    /// Fills the burst with whoever's turn it is, and leaves a quarter of the budget for what
    /// cannot wait until the next one.
    fn take_turns(&mut self, now: Timestamp, leases: &Leases, chosen: &mut Chosen) {
        chosen.room = (self.allowed - self.allowed / 4) as usize;
        let mut refilled = false;
        while chosen.has_room() {
            match self.turns.pop_front() {
                Some(id) if leases.contains(id) && self.is_due(now, leases, id) => chosen.add(id),
                Some(_) => {}
                None if refilled => break,
                None => {
                    refilled = true;
                    let mut all: Vec<LeaseId> = leases.ids().collect();
                    all.sort_unstable();
                    self.turns.extend(all);
                }
            }
        }
    }
}

struct Chosen {
    ids: Vec<LeaseId>,
    seen: HashSet<LeaseId>,
    room: usize,
}

impl Chosen {
    fn has_room(&self) -> bool {
        self.ids.len() < self.room
    }

    fn add(&mut self, id: LeaseId) {
        if self.has_room() && self.seen.insert(id) {
            self.ids.push(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Term;
    use crate::event::LeaseTtl;

    fn leases(count: i64) -> Leases {
        let mut leases = Leases::default();
        leases.set_listed(&(1..=count).map(LeaseId).collect::<Vec<_>>());
        leases
    }

    fn polled(leases: &mut Leases, id: i64, remaining: i64) {
        let answer = LeaseTtl { lease: LeaseId(id), granted: 60, remaining, keys: None, term: Term(0) };
        leases.set_ttl(Timestamp(0), Term(1), &answer);
    }

    #[test]
    fn a_burst_stays_within_the_budget_and_everyone_gets_a_turn() {
        let leases = leases(25);
        let mut plan = PollPlan::new(12);
        let mut seen = HashSet::new();
        for second in 0..3 {
            let burst = plan.due(Timestamp(second * 1_000), &leases, &[]);
            assert_eq!(burst.len(), 9);
            seen.extend(burst);
            assert_eq!(plan.due(Timestamp(second * 1_000 + 500), &leases, &[]), []);
        }
        assert_eq!(seen.len(), 25);
    }

    #[test]
    fn open_causes_go_first_then_new_then_visible_then_ending() {
        let mut leases = leases(20);
        for id in 1..=20 {
            polled(&mut leases, id, if id == 9 { 3 } else { 50 });
        }
        leases.set_listed(&(1..=21).map(LeaseId).collect::<Vec<_>>());
        let mut plan = PollPlan::new(4);
        plan.ask_first(LeaseId(21));
        plan.ask_urgently(LeaseId(99));
        let burst = plan.due(Timestamp(1_000), &leases, &[LeaseId(17)]);
        assert_eq!(burst, [LeaseId(99), LeaseId(21), LeaseId(17), LeaseId(9)]);
    }

    #[test]
    fn the_longer_a_lease_was_granted_the_less_often_it_is_asked() {
        let asked = |granted, late| {
            let mut leases = leases(1);
            let mut plan = PollPlan::new(8);
            let asked = (1..=20).filter(|&second| {
                let is_asked = !plan.due(Timestamp(second * 1_000), &leases, &[LeaseId(1)]).is_empty();
                if is_asked {
                    let answer = LeaseTtl { lease: LeaseId(1), granted, remaining: granted, keys: None, term: Term(0) };
                    leases.set_ttl(Timestamp(second * 1_000 + late), Term(1), &answer);
                }
                is_asked
            });
            asked.count()
        };
        for late in [30, 240] {
            assert_eq!([10, 60, 120, 3_600].map(|granted| asked(granted, late)), [20, 20, 10, 5], "{late} ms");
        }
    }

    #[test]
    fn a_lease_that_may_not_be_renewed_is_asked_again_at_once() {
        let mut leases = leases(1);
        let mut plan = PollPlan::new(8);
        let mut asked = Vec::new();
        for second in 0..7 {
            let at = Timestamp(second * 1_000);
            if !plan.due(at, &leases, &[]).is_empty() {
                let remaining = if second < 4 { 3_000 } else { 1_500 };
                let answer = LeaseTtl { lease: LeaseId(1), granted: 3_600, remaining, keys: None, term: Term(0) };
                leases.set_ttl(at, Term(1), &answer);
                asked.push(second);
            }
        }
        assert_eq!(asked, [0, 4, 5], "two low answers say it");
    }

    #[test]
    fn an_open_cause_does_not_wait_for_the_next_burst() {
        let leases = leases(3);
        let mut plan = PollPlan::new(10);
        plan.due(Timestamp(0), &leases, &[]);
        plan.ask_urgently(LeaseId(2));
        assert_eq!(plan.next_at(&leases), Some(Timestamp(100)));
        assert_eq!(plan.due(Timestamp(100), &leases, &[]), [LeaseId(2)]);
    }

    #[test]
    fn what_cannot_wait_is_within_the_budget_too() {
        let leases = leases(3);
        let mut plan = PollPlan::new(8);
        assert_eq!(plan.due(Timestamp(0), &leases, &[]).len(), 3);
        for id in 0..8 {
            plan.ask_urgently(LeaseId(id));
        }
        assert_eq!(plan.due(Timestamp(200), &leases, &[]).len(), 5);
        assert_eq!(plan.due(Timestamp(400), &leases, &[]), []);
        assert_eq!(plan.next_at(&leases), Some(Timestamp(1_000)));
    }

    #[test]
    fn a_slow_leader_is_asked_less_and_a_fast_one_more() {
        let mut plan = PollPlan::new(200);
        plan.adapt(LeasePollCost { asked: 200, failed: 0, took: Millis(900) });
        assert_eq!(plan.allowed(), 100);
        for _ in 0..9 {
            plan.adapt(LeasePollCost { asked: 100, failed: 1, took: Millis(10) });
        }
        assert_eq!(plan.allowed(), 10);
        for _ in 0..40 {
            let asked = plan.allowed();
            plan.adapt(LeasePollCost { asked, failed: 0, took: Millis(10) });
        }
        assert_eq!(plan.allowed(), 200);
    }

    #[test]
    fn no_budget_asks_nothing() {
        let leases = leases(3);
        let mut plan = PollPlan::new(0);
        plan.ask_urgently(LeaseId(1));
        assert_eq!(plan.next_at(&leases), None);
        assert_eq!(plan.due(Timestamp(5_000), &leases, &[LeaseId(1)]), []);
    }
}
