//! What findings are about: those about one lock, member or lease belong together.

use hashbrown::HashMap;

use super::{Finding, Severity};
use crate::domain::{Key, LeaseId, MemberId};

/// What a finding is about first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A lock, by its name.
    Lock(Key),
    /// A member.
    Member(MemberId),
    /// A lease.
    Lease(LeaseId),
    /// A key that is no lock's.
    Key(Key),
    /// The cluster, or what is known of it.
    Cluster,
}

/// All that was found about one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// What it is about.
    pub subject: Subject,
    /// The worst finding, by its place among all.
    pub(super) worst: usize,
    /// The codes of the rules that found it, the worst first. What is only worth knowing is not
    /// among them where something is wrong.
    pub codes: Vec<&'static str>,
}

impl Subject {
    fn of(finding: &Finding) -> Self {
        let Finding { locks, members, leases, keys, .. } = finding;
        let lock = locks.first().map(|name| Self::Lock(name.clone()));
        let member = members.first().map(|&id| Self::Member(id));
        let lease = leases.first().map(|&id| Self::Lease(id));
        let key = keys.first().map(|key| Self::Key(key.clone()));
        lock.or(member).or(lease).or(key).unwrap_or(Self::Cluster)
    }
}

/// Findings in the order of their weight as cases in that order.
pub(super) fn cases(findings: &[Finding]) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut known: HashMap<Subject, usize> = HashMap::new();
    for (at, finding) in findings.iter().enumerate() {
        let subject = Subject::of(finding);
        if let Some(&case) = known.get(&subject) {
            let case = &mut cases[case];
            let matters = finding.severity > Severity::Info || findings[case.worst].severity == Severity::Info;
            if matters && !case.codes.contains(&finding.code) {
                case.codes.push(finding.code);
            }
            continue;
        }
        known.insert(subject.clone(), cases.len());
        cases.push(Case { subject, worst: at, codes: vec![finding.code] });
    }
    cases
}

/// The cases of which each has trouble that none before it has, in their order: with them first, every
/// kind of trouble is named as soon as can be.
pub(super) fn naming(findings: &[Finding], cases: &[Case]) -> Vec<usize> {
    let mut named: Vec<&str> = Vec::new();
    let mut first = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        if findings[case.worst].severity == Severity::Info {
            break;
        }
        if case.codes.iter().any(|code| !named.contains(code)) {
            named.extend(&case.codes);
            first.push(at);
        }
    }
    first
}
