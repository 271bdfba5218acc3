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
    /// How many cases more there are that tell the same of another thing and are only worth knowing.
    pub alike: usize,
}

/// Of what is only worth knowing, so many things that tell the same have a case of their own.
const ALIKE: usize = 3;

impl Subject {
    fn of(finding: &Finding) -> Self {
        let Finding { locks, members, leases, keys, .. } = finding;
        let lock = locks.first().map(|name| Self::Lock(name.clone()));
        let member = members.first().map(|&id| Self::Member(id));
        let lease = leases.first().map(|&id| Self::Lease(id));
        let key = keys.first().map(|key| Self::Key(key.clone()));
        // What several members are in is the cluster's.
        if lock.is_none() && members.len() > 1 {
            return Self::Cluster;
        }
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
        cases.push(Case { subject, worst: at, codes: vec![finding.code], alike: 0 });
    }
    fold(findings, cases)
}

/// Where very many infos tell the same, the first stands for all of them: they shall bury nothing.
fn fold(findings: &[Finding], mut cases: Vec<Case>) -> Vec<Case> {
    let code = |case: &Case| {
        let worst = &findings[case.worst];
        (worst.severity == Severity::Info).then_some(worst.code)
    };
    let mut alike: HashMap<&str, usize> = HashMap::new();
    for code in cases.iter().filter_map(code) {
        *alike.entry(code).or_default() += 1;
    }
    cases.retain_mut(|case| {
        let Some(count) =
            code(case).and_then(|code| alike.get_mut(code)).filter(|count| **count > ALIKE || **count == 0)
        else {
            return true;
        };
        // The first takes the others in.
        case.alike = count.saturating_sub(1);
        std::mem::take(count) > 0
    });
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

#[cfg(test)]
mod tests {
    use crate::model::Diagnosis;
    use crate::model::findings::Thresholds;
    use crate::model::findings::scene::Scene;

    #[test]
    fn infos_that_repeat_share_a_case_and_few_have_their_own() {
        let mut scene = Scene::reading(&[]);
        let mut cases = |locks: std::ops::Range<i64>| {
            for lock in locks {
                scene.put(&format!("/jobs/{lock}/{lock:x}"), lock, "");
                scene.ttl(lock, 3_600, 3_599);
            }
            let diagnosis = Diagnosis::of(scene.model.live(), &Thresholds::default());
            let case = |at| diagnosis.case(at).map(|(case, worst)| (worst.code, case.alike));
            (diagnosis.findings().len(), (0..).map_while(case).collect::<Vec<_>>())
        };
        assert_eq!(cases(0x10..0x13), (3, vec![("long-ttl", 0); 3]));
        assert_eq!(cases(0x13..0x30), (32, vec![("long-ttl", 31)]));
    }
}
