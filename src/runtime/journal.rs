//! What is written to the log of what happens to the connection and the cluster.
//!
//! A change is told once, not with every try that meets it again. Names are escaped; values
//! of keys are never told.

use tracing::{info, warn};

use crate::domain::write::WriteResult;
use crate::domain::{KeyRange, MemberId, Millis};
use crate::event::{EndpointError, LeasePollCost, LinkState, NoStatus, Observation, Stamped, WatchLoss};
use crate::model::ui::Notice;
use crate::model::{Facts, What};
use crate::view::text::{duration, escape, escape_text, grouped, in_english, quantity};

/// A burst of lease polls that takes longer than this is slow: the next one is due.
const SLOW: Millis = Millis(1_000);

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// Something happened as it should.
    Info(String),
    /// Something is not as it should be.
    Warn(String),
}

/// Follows what happens and says what of it is worth a line.
#[derive(Debug, Default)]
pub struct Journal {
    /// What is wrong with the endpoints, as it was told last.
    told: Vec<EndpointError>,
    /// Whether the last burst of lease polls was told as failed or slow.
    polls_fail: bool,
}

impl Line {
    /// Writes it to the log.
    pub fn log(&self) {
        match self {
            Self::Info(text) => info!("{text}"),
            Self::Warn(text) => warn!("{text}"),
        }
    }
}

impl Journal {
    /// What an observation says that `facts`, which have not taken it in yet, do not know.
    pub fn observed(&mut self, observed: &Stamped<Observation>, facts: &Facts) -> Vec<Line> {
        match &observed.what {
            Observation::Link(state) => self.link(state, &facts.link.state),
            Observation::Cluster(id) => match facts.link.cluster_id {
                None => vec![Line::Info(format!("the cluster is {id}"))],
                Some(former) if former == *id => Vec::new(),
                Some(former) => {
                    vec![Line::Warn(format!("another cluster answers: {id}, before it was {former}; all is read anew"))]
                }
            },
            Observation::WatchLost(loss) => vec![Line::Warn(lost(loss))],
            Observation::Denied(denied) if !facts.link.denied.contains(denied) => {
                let who = match denied.user.as_str() {
                    "" => "nobody being logged in".to_owned(),
                    user => format!("to {}", escape_text(user)),
                };
                let range = range_name(&denied.range);
                vec![Line::Warn(format!("reading {range} is denied {who}: {}", escape_text(&denied.why)))]
            }
            Observation::Status { member, answer } => {
                let failed_before = facts.cluster.member(*member).is_some_and(|of| of.error.is_some());
                match answer {
                    Ok(_) if failed_before => vec![Line::Info(format!("{} answers again", name(facts, *member)))],
                    Err(reason) if !failed_before => {
                        let (name, why) = (name(facts, *member), escape_text(reason.why()));
                        vec![Line::Warn(match reason {
                            NoStatus::Unreachable(_) => format!("{name} does not answer: {why}"),
                            NoStatus::Denied(_) => format!("{name} may not be asked for its status: {why}"),
                        })]
                    }
                    _ => Vec::new(),
                }
            }
            Observation::FillEnded { through, why: Some(why) } => vec![Line::Warn(format!(
                "what was missed is told up to revision {}, the rest is not: {}",
                grouped(through.0),
                escape_text(why)
            ))],
            Observation::FillEnded { through, why: None } => {
                vec![Line::Info(format!("what was missed is told, up to revision {}", grouped(through.0)))]
            }
            Observation::LeasesPolled(cost) => self.polled(*cost),
            Observation::WriteDone(done) => {
                let is_done = matches!(done.result, WriteResult::Done { .. });
                let notice = Notice::Written(Box::new((done.write.clone(), done.result.clone())));
                let text = format!("written to the cluster: {}", in_english(&notice.sentence()));
                let notes = done.notes.iter().map(|note| Line::Warn(escape_text(note).into_owned()));
                [if is_done { Line::Info(text) } else { Line::Warn(text) }].into_iter().chain(notes).collect()
            }
            Observation::FaultDone(fault, Ok(())) => vec![Line::Info(format!("done to the cluster: {fault}"))],
            Observation::FaultDone(fault, Err(why)) => {
                vec![Line::Warn(format!("not done to the cluster: {fault}: {}", escape_text(why)))]
            }
            _ => Vec::new(),
        }
    }

    fn link(&mut self, state: &LinkState, before: &LinkState) -> Vec<Line> {
        match state {
            LinkState::Live { endpoint } if state != before => {
                self.told.clear();
                vec![Line::Info(format!("connected to {}", escape_text(endpoint)))]
            }
            LinkState::Retrying { why, .. } => {
                let mut lines = Vec::new();
                if let LinkState::Live { endpoint } = before {
                    lines.push(Line::Warn(format!("lost the connection to {}", escape_text(endpoint))));
                }
                let news = why.iter().filter(|error| !self.told.contains(error));
                lines.extend(news.map(|EndpointError { endpoint, error }| {
                    // Most errors name the endpoint themselves.
                    let endpoint =
                        if error.contains(endpoint.as_str()) { String::new() } else { format!("{endpoint}: ") };
                    Line::Warn(format!("{}{}", escape_text(&endpoint), escape_text(error)))
                }));
                self.told.clone_from(why);
                lines
            }
            LinkState::Live { .. } | LinkState::Connecting => Vec::new(),
        }
    }

    fn polled(&mut self, cost: LeasePollCost) -> Vec<Line> {
        let fails = cost.failed > 0 || cost.took > SLOW;
        let changed = fails != self.polls_fail;
        self.polls_fail = fails;
        let asked = quantity(cost.asked as usize, "lease");
        match (changed, fails) {
            (false, _) => Vec::new(),
            (true, true) if cost.failed > 0 => {
                vec![Line::Warn(format!("{} of {asked} did not tell their TTL in time", cost.failed))]
            }
            (true, true) => vec![Line::Warn(format!("asking {asked} for their TTL took {}", duration(cost.took)))],
            (true, false) => vec![Line::Info("leases tell their TTL in time again".to_owned())],
        }
    }
}

/// What came of an observation, from the number `seq` of the timeline on.
pub fn happened(facts: &Facts, seq: u64) -> Vec<Line> {
    let line = |what: &What| match what {
        What::LeaderChanged(change) => {
            let term = change.term;
            Some(match (change.from, change.to) {
                (_, None) => Line::Warn(format!("there is no leader in term {term}")),
                (None, Some(to)) => Line::Info(format!("{} leads in term {term}", name(facts, to))),
                (Some(from), Some(to)) => {
                    Line::Warn(format!("{} leads in term {term}, before it was {}", name(facts, to), name(facts, from)))
                }
            })
        }
        What::Alarm(alarm, true) => {
            Some(Line::Warn(format!("alarm {} is raised on {}", alarm.kind.name(), name(facts, alarm.member))))
        }
        What::Alarm(alarm, false) => {
            Some(Line::Info(format!("alarm {} is gone on {}", alarm.kind.name(), name(facts, alarm.member))))
        }
        // When another cluster answers its revisions do not go on from there; that is told as such.
        What::Gap { from, to } if from < to => Some(Line::Warn(format!(
            "what happened between the revisions {} and {} was not seen",
            grouped(from.0),
            grouped(to.0)
        ))),
        _ => None,
    };
    facts.timeline.from(seq).filter_map(|happening| line(&happening.what)).collect()
}

fn lost(loss: &WatchLoss) -> String {
    match loss {
        WatchLoss::Compacted { at } => {
            format!("the watch is lost: compacted up to revision {}; all is read anew", grouped(at.0))
        }
        WatchLoss::BeganAnew { why } => {
            format!("the store began anew: {}; what was known is forgotten", escape_text(why))
        }
        WatchLoss::Skipped { from, to } => format!(
            "missed {}: what is there now is read at once, what happened follows",
            quantity(usize::try_from(to.0 - from.0).unwrap_or_default(), "revision")
        ),
        WatchLoss::Cancelled { why } => format!("the watch was cancelled: {}; all is read anew", escape_text(why)),
        WatchLoss::Transport { why } => format!("the watch broke off and will resume: {}", escape_text(why)),
    }
}

fn range_name(range: &KeyRange) -> String {
    match range.label() {
        b"" => "all keys".to_owned(),
        label => escape(label).into_owned(),
    }
}

fn name(facts: &Facts, id: MemberId) -> String {
    let name = facts.cluster.member(id).map(|of| of.member.name.as_str()).filter(|name| !name.is_empty());
    name.map_or_else(|| format!("member {id}"), |name| escape_text(name).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::write::{Write, WriteId};
    use crate::domain::{Alarm, AlarmKind, ClusterId, Revision, Status, Term, Timestamp};
    use crate::event::{Denied, WriteDone};
    use crate::model::{Model, Ui};
    use crate::update::update;

    /// The lines that some observations lead to, each with `!` before it when it warns.
    fn lines(observations: impl IntoIterator<Item = Observation>) -> Vec<String> {
        let mut model = Model::new(Facts::new(200), Ui::default());
        let mut journal = Journal::default();
        let mut all = Vec::new();
        for (what, at) in observations.into_iter().zip(1..) {
            let observed = Stamped { at: Timestamp(at), what };
            let seq = model.live().timeline.next_seq();
            all.extend(journal.observed(&observed, model.live()));
            update(&mut model, crate::event::Event::Observed(observed));
            all.extend(happened(model.live(), seq));
        }
        let text = |line| match line {
            Line::Info(text) => text,
            Line::Warn(text) => format!("! {text}"),
        };
        all.into_iter().map(text).collect()
    }

    fn live() -> Observation {
        Observation::Link(LinkState::Live { endpoint: "http://a:2379".into() })
    }

    fn retrying(attempt: u32, error: &str) -> Observation {
        let why = vec![EndpointError { endpoint: "http://a:2379".into(), error: error.into() }];
        Observation::Link(LinkState::Retrying { attempt, next_at: Timestamp(9), why })
    }

    fn status(term: u64, leader: u64) -> Observation {
        let status = Status { term: Term(term), leader: Some(MemberId(leader)), ..Status::default() };
        Observation::Status { member: MemberId(1), answer: Ok(status) }
    }

    fn members() -> Observation {
        let member = |(name, id): (&str, u64)| crate::domain::Member {
            id: MemberId(id),
            name: name.into(),
            ..crate::domain::Member::default()
        };
        Observation::Members([("one", 1), ("two\x1b", 2)].map(member).to_vec())
    }

    #[test]
    fn each_error_of_an_endpoint_is_told_once_until_it_changes() {
        let told = lines([
            live(),
            live(),
            retrying(1, "refused"),
            retrying(2, "refused"),
            Observation::Link(LinkState::Connecting),
            retrying(3, "refused"),
            retrying(4, "cannot reach http://a:2379: timed out"),
            live(),
        ]);
        let expected = [
            "connected to http://a:2379",
            "! lost the connection to http://a:2379",
            "! http://a:2379: refused",
            "! cannot reach http://a:2379: timed out",
            "connected to http://a:2379",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn what_was_written_is_told_with_its_key_escaped_once() {
        let lock = crate::domain::Key::from("/a\x1b");
        let write = Write::Release { key: lock.clone(), lock, create_revision: Revision(5) };
        let done = WriteDone { id: WriteId(1), write, result: WriteResult::Gone, notes: Vec::new() };
        let told = lines([Observation::WriteDone(Box::new(done))]);
        assert_eq!(told, [r"! written to the cluster: not done: release /a\x1b: it was gone already"]);
    }

    #[test]
    fn another_cluster_and_lost_watches_and_denied_ranges_are_told() {
        let denied = || {
            Observation::Denied(Denied {
                range: KeyRange::prefix(b"/s\x1b/"),
                user: "app".into(),
                why: "permission denied".into(),
            })
        };
        let told = lines([
            Observation::Cluster(ClusterId(10)),
            Observation::Cluster(ClusterId(10)),
            Observation::Cluster(ClusterId(11)),
            Observation::WatchLost(WatchLoss::Compacted { at: crate::domain::Revision(1_234) }),
            denied(),
            denied(),
        ]);
        let expected = [
            "the cluster is a",
            "! another cluster answers: b, before it was a; all is read anew",
            "! the watch is lost: compacted up to revision 1,234; all is read anew",
            "! reading /s\\x1b/ is denied to app: permission denied",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn faults_are_told_with_what_they_led_to() {
        use crate::domain::raft::{Fault, NodeId};
        let told = lines([
            Observation::FaultDone(Fault::Kill(NodeId(2)), Ok(())),
            Observation::FaultDone(Fault::Kill(NodeId(9)), Err("there is no\x1b node n9".into())),
        ]);
        let expected = ["done to the cluster: kill n2", "! not done to the cluster: kill n9: there is no\\x1b node n9"];
        assert_eq!(told, expected);
    }

    #[test]
    fn members_leaders_and_alarms_are_told_by_name() {
        let silent =
            || Observation::Status { member: MemberId(1), answer: Err(NoStatus::Unreachable("deadline".into())) };
        let alarm = Alarm { member: MemberId(1), kind: AlarmKind::NoSpace };
        let told = lines([
            members(),
            status(3, 1),
            silent(),
            silent(),
            status(4, 2),
            Observation::Alarms(vec![alarm]),
            Observation::Alarms(vec![]),
        ]);
        let expected = [
            "! one does not answer: deadline",
            "one answers again",
            "! two\\x1b leads in term 4, before it was one",
            "! alarm NOSPACE is raised on one",
            "alarm NOSPACE is gone on one",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn lease_polls_are_told_when_they_begin_to_fail_and_when_they_work_again() {
        let burst = |failed, took| Observation::LeasesPolled(LeasePollCost { asked: 5, failed, took: Millis(took) });
        let told = lines([burst(0, 10), burst(2, 10), burst(1, 10), burst(0, 10), burst(0, 3_000)]);
        let expected = [
            "! 2 of 5 leases did not tell their TTL in time",
            "leases tell their TTL in time again",
            "! asking 5 leases for their TTL took 3s",
        ];
        assert_eq!(told, expected);
    }
}
