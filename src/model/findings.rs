//! What is wrong, or about to be, and what to do: the diagnosis of everything that is known.
//!
//! One rule a file, one line in [`RULES`]. A rule is a function over the facts with the words
//! that explain it; lists, the screens, `doctor` and `docs/findings.md` are made from the same
//! table. Rules read what the model remembers and remember nothing themselves.

mod alarm;
#[cfg(test)]
mod calm_tests;
mod corrupt;
mod db_near_quota;
mod deadlock;
mod denied;
mod detached_lease;
mod document;
mod foreign_key;
mod grounds;
mod holder_lost;
mod holder_not_renewing;
mod holder_without_lease;
mod keyless_leases;
mod kubernetes_lease;
mod leader_changed;
mod learner_behind;
mod lease_missing_on_member;
mod lease_overdue;
mod long_hold;
mod long_ttl;
mod member_lag;
mod member_unreachable;
mod no_holder;
mod no_leader;
mod no_quorum;
mod nospace;
mod other_cluster;
mod passed_to_idle;
mod prefix_trap;
mod queue_stuck;
mod quorum_at_risk;
mod reacquired;
mod remedy;
mod rewritten_holder;
#[cfg(test)]
pub(super) mod scene;
mod server_made_lease;
mod shared_lease;
mod single_key_lock;
mod stolen;
mod subject;
mod thresholds;
mod unreachable;
mod version_skew;
mod waiter_dropped;
mod waiter_will_drop;
mod watch_gap;

use hashbrown::HashMap;

use crate::domain::{Key, LeaseId, MemberId, Sentence};

use super::{Facts, KeyView, LockView, Since};

pub use document::document;
pub use grounds::Grounds;
pub use subject::{Case, Subject};
pub use thresholds::Thresholds;

use grounds::{Moving, Sorted};

/// All rules, the gravest first: in this order their codes are listed for a lock.
pub const RULES: &[Rule] = &[
    unreachable::RULE,
    no_quorum::RULE,
    no_leader::RULE,
    corrupt::RULE,
    nospace::RULE,
    alarm::RULE,
    holder_without_lease::RULE,
    stolen::RULE,
    queue_stuck::RULE,
    deadlock::RULE,
    lease_overdue::RULE,
    detached_lease::RULE,
    passed_to_idle::RULE,
    foreign_key::RULE,
    denied::RULE,
    holder_not_renewing::RULE,
    server_made_lease::RULE,
    lease_missing_on_member::RULE,
    no_holder::RULE,
    waiter_will_drop::RULE,
    waiter_dropped::RULE,
    rewritten_holder::RULE,
    long_hold::RULE,
    keyless_leases::RULE,
    shared_lease::RULE,
    long_ttl::RULE,
    prefix_trap::RULE,
    quorum_at_risk::RULE,
    member_unreachable::RULE,
    member_lag::RULE,
    learner_behind::RULE,
    other_cluster::RULE,
    db_near_quota::RULE,
    version_skew::RULE,
    leader_changed::RULE,
    holder_lost::RULE,
    reacquired::RULE,
    watch_gap::RULE,
    single_key_lock::RULE,
    kubernetes_lease::RULE,
];

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; nothing has to be done.
    Info,
    /// Something is about to go wrong, or may.
    Warn,
    /// Something does not work, or never will by itself.
    Error,
}

impl Severity {
    /// The word used in output and for `--fail-on`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// What a rule is and how it looks.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its code: short, stable, for scripts.
    pub code: &'static str,
    /// The severities its findings can have, the worst first.
    pub severities: &'static [Severity],
    /// When it finds something, as a clause without its full stop.
    pub when: &'static str,
    /// Why that matters: one sentence.
    pub why: &'static str,
    /// What to do about it: one or two sentences.
    pub advice: &'static str,
    /// Where the rule comes from: etcd's source, a public report, a recipe.
    pub source: &'static str,
    /// How it looks.
    pub look: Look,
}

/// What a rule looks at.
#[derive(Clone, Copy, Debug)]
pub enum Look {
    /// One lock after the other. Of one that is held with leases that are renewed, with nobody behind and
    /// nothing behind it, the time that it is makes no difference (`grounds`).
    Locks(fn(LockView<'_>, &Thresholds, &mut Found<'_>)),
    /// All keys and how much time their leases were granted, at any time in the same way.
    Keys(fn(&Facts, &Thresholds, &mut Found<'_>)),
    /// All locks, and the time that it is only for those whose own findings it can change.
    Moving(fn(&Facts, &Thresholds, &mut Found<'_>)),
    /// Everything at once.
    All(fn(&Facts, &Thresholds, &mut Found<'_>)),
}

/// One thing that a rule found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule's code.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The locks it is about, the one to look at first.
    pub locks: Vec<Key>,
    /// The leases it is about.
    pub leases: Vec<LeaseId>,
    /// The keys it is about.
    pub keys: Vec<Key>,
    /// The members it is about.
    pub members: Vec<MemberId>,
    /// Since when it is so, where that is known.
    pub since: Option<Since>,
    /// What shows it, with the numbers.
    pub evidence: Sentence,
    /// A command that helps, ready to be run: its values are quoted for a shell.
    pub remedy: Sentence,
}

impl Finding {
    /// A finding that is about nothing in particular so far.
    pub const fn new(severity: Severity, evidence: Sentence, remedy: Sentence) -> Self {
        Self {
            code: "",
            severity,
            locks: Vec::new(),
            leases: Vec::new(),
            keys: Vec::new(),
            members: Vec::new(),
            since: None,
            evidence,
            remedy,
        }
    }

    /// The same about a lock more.
    #[must_use]
    pub fn lock(mut self, name: impl Into<Key>) -> Self {
        self.locks.push(name.into());
        self
    }

    /// The same about a lease more.
    #[must_use]
    pub fn lease(mut self, id: LeaseId) -> Self {
        self.leases.extend((!id.is_none()).then_some(id));
        self
    }

    /// The same about a key more.
    #[must_use]
    pub fn key(mut self, key: impl Into<Key>) -> Self {
        self.keys.push(key.into());
        self
    }

    /// The same about a key of a lock more, with its lease.
    #[must_use]
    pub fn key_of(self, lock: LockView<'_>, key: KeyView<'_>) -> Self {
        self.lock(lock.name()).lease(key.lease()).key(key.key())
    }

    /// The same about a member more.
    #[must_use]
    pub fn member(mut self, id: MemberId) -> Self {
        self.members.push(id);
        self
    }

    /// The same, being so since then.
    #[must_use]
    pub const fn since(mut self, since: Option<Since>) -> Self {
        self.since = since;
        self
    }

    /// Whether it tells of what is over, and stays until somebody takes note of it.
    pub fn is_of_the_past(&self) -> bool {
        [watch_gap::RULE.code, other_cluster::RULE.code].contains(&self.code)
    }

    /// The rule that found it.
    pub fn rule(&self) -> Option<&'static Rule> {
        rule(self.code)
    }
}

/// The rule of a code.
pub fn rule(code: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.code == code)
}

/// Where rules put what they find.
#[derive(Debug)]
pub struct Found<'a> {
    code: &'static str,
    findings: &'a mut Vec<Finding>,
}

impl Found<'_> {
    /// Notes a finding.
    pub fn add(&mut self, finding: Finding) {
        self.findings.push(Finding { code: self.code, ..finding });
    }
}

/// All findings of one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnosis {
    /// The findings, the worst first.
    findings: Vec<Finding>,
    of_lock: HashMap<Key, Vec<u32>>,
    cases: Vec<Case>,
    /// Those that name another trouble each.
    naming: Vec<usize>,
    /// Whether something is among them that is over and can be taken away.
    passing: bool,
    /// Whether all that is watched was read by then.
    whole: bool,
}

impl Diagnosis {
    /// Lets every rule look at everything.
    pub fn of(facts: &Facts, thresholds: &Thresholds) -> Self {
        Self::look(facts, thresholds).0
    }

    /// The same with what says whether it still stands later, for which every lease is looked at.
    pub fn with_grounds(facts: &Facts, thresholds: &Thresholds) -> (Self, Grounds) {
        let (diagnosis, moving) = Self::look(facts, thresholds);
        (diagnosis, Grounds::new(facts, moving))
    }

    fn look(facts: &Facts, thresholds: &Thresholds) -> (Self, Moving) {
        let Sorted { findings, moving, locks } = grounds::look(facts, thresholds);
        let anybody_waits = locks.iter().filter_map(|&ix| facts.lock(ix)).any(|lock| lock.waiter_count() > 0);
        let mut weighed: Vec<(u128, usize, Finding)> =
            findings.into_iter().enumerate().map(|(at, finding)| (weight(facts, &finding), at, finding)).collect();
        // By the severity, then for how long how many are blocked by it, then the names.
        weighed.sort_by(|(a, _, left), (b, _, right)| {
            (right.severity.cmp(&left.severity)).then(b.cmp(a)).then_with(|| left.locks.cmp(&right.locks))
        });
        let waits = |name: &Key| facts.lock_named(name).is_some_and(|lock| lock.waiter_count() > 0);
        let weighs = anybody_waits && weighed.iter().any(|(.., finding)| finding.locks.iter().any(waits));
        let mut places = vec![0; weighed.len()];
        for (place, (_, at, _)) in (0..).zip(&weighed) {
            places[*at] = place;
        }
        let moving = Moving { locks, findings: moving.into_iter().map(|at| places[at]).collect(), weighs };
        let findings = weighed.into_iter().map(|(.., finding)| finding).collect();
        (Self::ranked(facts, findings), moving)
    }

    fn ranked(facts: &Facts, findings: Vec<Finding>) -> Self {
        let mut of_lock: HashMap<Key, Vec<u32>> = HashMap::new();
        for (at, finding) in (0..).zip(&findings) {
            for name in &finding.locks {
                of_lock.entry(name.clone()).or_default().push(at);
            }
        }
        let cases = subject::cases(&findings);
        let naming = subject::naming(&findings, &cases);
        let passing = findings.iter().any(Finding::is_of_the_past);
        Self { findings, of_lock, cases, naming, passing, whole: facts.link.listed }
    }

    /// All findings, the worst first.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// How many are at least as bad as this.
    pub fn count(&self, least: Severity) -> usize {
        self.findings.partition_point(|finding| finding.severity >= least)
    }

    /// Whether something is among them that is over and can be taken away.
    pub const fn is_passing(&self) -> bool {
        self.passing
    }

    /// Whether all that is watched had been read when it was made: before that, finding nothing means
    /// nothing.
    pub const fn is_whole(&self) -> bool {
        self.whole
    }

    /// How many things they are about.
    pub const fn case_count(&self) -> usize {
        self.cases.len()
    }

    /// About how many things something is wrong.
    pub fn wrong_count(&self) -> usize {
        self.cases.partition_point(|case| self.findings[case.worst].severity > Severity::Info)
    }

    /// What was found about one thing, with the worst of it; they are in the order of their weight.
    pub fn case(&self, at: usize) -> Option<(&Case, &Finding)> {
        let case = self.cases.get(at)?;
        Some((case, &self.findings[case.worst]))
    }

    /// The same in the order in which the first ones name every kind of trouble.
    pub fn case_naming(&self, at: usize) -> Option<(&Case, &Finding)> {
        if let Some(&first) = self.naming.get(at) {
            return self.case(first);
        }
        // Of the others, so many are before it.
        let mut nth = at - self.naming.len();
        for &first in &self.naming {
            nth += usize::from(first <= nth);
        }
        self.case(nth)
    }

    /// Those about a lock, the worst first.
    pub fn of_lock(&self, name: &[u8]) -> impl Iterator<Item = &Finding> {
        self.of_lock.get(name).into_iter().flatten().filter_map(|&at| self.findings.get(at as usize))
    }

    /// The codes that apply to a lock, the gravest first, each once.
    pub fn codes(&self, name: &[u8]) -> Vec<&'static str> {
        let mut codes = Vec::new();
        for finding in self.of_lock(name) {
            if !codes.contains(&finding.code) {
                codes.push(finding.code);
            }
        }
        codes
    }

    /// The worst that is known of a lock.
    pub fn severity(&self, name: &[u8]) -> Option<Severity> {
        self.of_lock(name).map(|finding| finding.severity).max()
    }
}

/// How much waiting a finding stands for: waiters of its locks by the time the lock is held. What does
/// not work and is no matter of certain locks keeps everybody waiting.
fn weight(facts: &Facts, finding: &Finding) -> u128 {
    if finding.locks.is_empty() && finding.severity == Severity::Error {
        return u128::MAX;
    }
    let of_lock = |name: &Key| {
        let Some(lock) = facts.lock_named(name) else { return 0 };
        let held = lock.held_since().map_or(0, |since| facts.now().since(since.at).0);
        lock.waiter_count() as u128 * u128::try_from(held).unwrap_or(0)
    };
    finding.locks.iter().map(of_lock).sum()
}
