//! `watch`: a line for each thing that happens.

use std::collections::VecDeque;
use std::io::Write;
use std::pin::pin;

use tokio::time::{Duration, sleep};

use super::args::WatchArgs;
use super::exit::{Failure, say};
use super::json::{self, Style};
use super::live::Live;
use super::rest::Load;
use super::{reading, table};
use crate::config::{Config, Format};
use crate::domain::{ClusterId, Timestamp};
use crate::event::{LinkState, Observation, Stamped, WatchLoss};
use crate::model::timeline::Party;
use crate::model::{Happening, Timeline, What};
use crate::runtime::clock::Clock;
use crate::source;
use crate::view::text::quantity;

/// The model remembers twice as many happenings as may wait here for a cause. Beyond that they
/// are printed as they are: better a cause that stays unknown than an event that is lost.
const BACKLOG: u64 = 2_048;

/// How many facts that wait already are taken in before anything else is looked at.
const AT_ONCE: usize = 64;

/// Watches and prints until the time is over; `load` is told how much comes. Whoever runs it ends it where
/// nobody reads any more.
///
/// # Errors
/// When no endpoint can be connected to at the start. Later on that is a state, and is said
/// on standard error.
pub async fn run(args: &WatchArgs, config: &Config, load: Load, to: &mut impl Write) -> Result<(), Failure> {
    let pool = reading::pool(config)?;
    source::connect(&pool).await?;
    let mut watcher = Watcher {
        source: Live::start(pool, config, Clock::start()),
        live: Reader::default(),
        past: Reader::default(),
        lost: None,
        load,
        printer: Printer::new(config.output.format.unwrap_or(Format::Json), Style { hex: config.output.hex }),
    };
    let ended = watcher.watch(args.length, to).await;
    watcher.source.stop().await;
    ended
}

/// Facts go in, happenings come out.
struct Watcher {
    source: Live,
    live: Reader,
    /// Of what is told late, after a gap.
    past: Reader,
    /// Why the connection is lost, as it was said.
    lost: Option<Vec<String>>,
    load: Load,
    printer: Printer,
}

/// How far one timeline is printed.
#[derive(Default)]
struct Reader {
    /// The number of the next happening to look at.
    next: u64,
    /// Those before it that wait for their causes.
    open: VecDeque<u64>,
}

impl Watcher {
    async fn watch(&mut self, length: Option<Duration>, to: &mut impl Write) -> Result<(), Failure> {
        let mut over = pin!(sleep(length.unwrap_or_default()));
        // The first happening that comes after the end; those before it still get their causes.
        let mut last = None;
        while last.is_none_or(|last| self.live.next < last || !self.live.open.is_empty()) {
            tokio::select! {
                // A cluster that is busy must not keep the end away.
                biased;
                () = &mut over, if length.is_some() && last.is_none() => {
                    last = Some(self.source.model.live().timeline.next_seq());
                }
                observed = self.source.observed() => {
                    if let Some(observed) = observed? {
                        self.take(observed);
                    }
                }
            }
            let mut lines = self.print(last, to)?;
            // Lines of what came together go out together.
            for _ in 0..AT_ONCE {
                let Some(observed) = self.source.observed_already() else { break };
                self.take(observed);
                lines += self.print(last, to)?;
            }
            if lines > 0 {
                to.flush()?;
            }
        }
        Ok(())
    }

    fn take(&mut self, observed: Stamped<Observation>) {
        let known = &self.source.model.live().link;
        match &observed.what {
            Observation::Link(LinkState::Retrying { why, .. }) => {
                let why: Vec<String> = why.iter().map(|failed| failed.error.clone()).collect();
                if self.lost.as_ref() != Some(&why) {
                    say(format_args!("lockscope: the connection is lost and tried again:"));
                    for why in &why {
                        say(format_args!("  {why}"));
                    }
                    self.lost = Some(why);
                }
            }
            Observation::Link(LinkState::Live { endpoint }) if self.lost.is_some() => {
                self.lost = None;
                say(format_args!("lockscope: connected again, to {endpoint}"));
            }
            Observation::Cluster(id) if known.cluster_id.is_some_and(|before| before != *id) => {
                say(format_args!("lockscope: another cluster answers: {id}"));
            }
            Observation::WatchLost(WatchLoss::Skipped { from, to }) => {
                say(format_args!(
                    "lockscope: missed {}; what is there now is told first",
                    quantity(usize::try_from(to.0 - from.0).unwrap_or_default(), "revision")
                ));
            }
            Observation::FillEnded { through, why: None } => {
                say(format_args!("lockscope: all that was missed is told, up to revision {through}"));
            }
            Observation::FillEnded { through, why: Some(why) } => {
                say(format_args!("lockscope: what was missed after revision {through} is not told: {why}"));
            }
            Observation::Watched(changes) => self.load.add(changes.len()),
            Observation::Denied(denied) if !known.denied.contains(denied) => {
                reading::say_denied(denied);
            }
            _ => {}
        }
        self.source.take(observed);
    }

    /// Prints what happened before `last`, and what is told late; how many lines that was.
    fn print(&mut self, last: Option<u64>, to: &mut impl Write) -> Result<usize, Failure> {
        let Self { source, live, past, printer, .. } = self;
        let facts = source.model.live();
        let cluster = facts.link.cluster_id;
        let mut lines = live.read(&facts.timeline, last, |happening| {
            printer.print(&Told { happening, cluster, replayed: false }, to)
        })?;
        lines += past.read(facts.past(), last.map(|_| 0), |happening| {
            printer.print(&Told { happening, cluster, replayed: true }, to)
        })?;
        Ok(lines)
    }
}

impl Reader {
    /// Hands out what happened before `last`; how much that was. What has no cause yet is
    /// handed out when it has one; the rest does not wait for it, so that a new holder is told
    /// of at once.
    fn read(
        &mut self,
        timeline: &Timeline,
        last: Option<u64>,
        mut tell: impl FnMut(&Happening) -> Result<(), Failure>,
    ) -> Result<usize, Failure> {
        let mut told = 0;
        for _ in 0..self.open.len() {
            let Some(seq) = self.open.pop_front() else { break };
            let Some(happening) = timeline.get(seq) else { continue };
            if happening.what.is_pending() && timeline.next_seq() - seq <= BACKLOG {
                self.open.push_back(seq);
            } else {
                tell(happening)?;
                told += 1;
            }
        }
        for happening in timeline.from(self.next).take_while(|happening| last.is_none_or(|last| happening.seq < last)) {
            if happening.seq > self.next {
                say(format_args!("lockscope: {} events came too fast to be told", happening.seq - self.next));
            }
            self.next = happening.seq + 1;
            if happening.what.is_pending() {
                self.open.push_back(happening.seq);
            } else {
                tell(happening)?;
                told += 1;
            }
        }
        Ok(told)
    }
}

/// A happening to print.
pub struct Told<'a> {
    /// What happened.
    pub happening: &'a Happening,
    /// On which cluster.
    pub cluster: Option<ClusterId>,
    /// Whether it is told long after, so that nobody knows when it was.
    pub replayed: bool,
}

impl Told<'_> {
    /// When it happened, when that is known.
    pub fn at(&self) -> Option<Timestamp> {
        (!self.replayed).then_some(self.happening.at)
    }
}

/// Prints happenings, each as a line.
struct Printer {
    format: Format,
    style: Style,
    json: json::Lines,
}

impl Printer {
    fn new(format: Format, style: Style) -> Self {
        Self { format, style, json: json::Lines::default() }
    }

    fn print(&mut self, told: &Told<'_>, to: &mut impl Write) -> Result<(), Failure> {
        if self.format == Format::Json {
            return Ok(self.json.write(told, self.style, to)?);
        }
        let happening = told.happening;
        let party = happening.what.party();
        let text = |bytes: Option<&[u8]>| bytes.map(|bytes| table::text(bytes, self.style)).unwrap_or_default();
        let fields = [
            told.at().and_then(Timestamp::rfc3339).unwrap_or_default(),
            json::event(&happening.what).into(),
            text(party.map(Party::lock)),
            text(party.map(|party| party.key.as_bytes())),
            party.map(|party| table::lease(party.lease)).unwrap_or_default(),
            table::number(party.map(|party| party.create_revision)),
            table::number(happening.known_revision()),
            more(&happening.what),
        ];
        Ok(table::line(&fields, to)?)
    }
}

/// What only some events have.
fn more(what: &What) -> String {
    match what {
        What::Enqueued(_) | What::Acquired(_) => String::new(),
        What::Released(_, cause) | What::WaiterGone(_, cause) => json::cause(*cause).into(),
        What::Rewritten { former_lease, .. } if former_lease.is_none() => "had no lease".into(),
        What::Rewritten { former_lease, .. } => format!("had lease {former_lease}"),
        What::LeaderChanged(change) => {
            let name =
                |id: Option<crate::domain::MemberId>| id.map_or_else(|| "nobody".to_owned(), |id| id.to_string());
            format!("from {} to {} in term {}", name(change.from), name(change.to), change.term)
        }
        What::Alarm(alarm, raised) => {
            format!("{} on {} {}", alarm.kind.name(), alarm.member, if *raised { "raised" } else { "gone" })
        }
        What::Gap { from, to } => format!("revisions {from} to {to} were not seen"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::domain::{Alarm, AlarmKind, LeaseId, MemberId, Revision, Term};
    use crate::model::{Cause, LeaderChange};

    fn printed(what: What, format: Format) -> String {
        let happening = Happening { seq: 1, at: Timestamp(1_700_000_000_123), revision: Revision(9), what };
        let mut out = Vec::new();
        let told = Told { happening: &happening, cluster: Some(ClusterId(0xc1)), replayed: false };
        Printer::new(format, Style::default()).print(&told, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn party() -> Party {
        Party::of(b"/a", "/a/7".into(), LeaseId(7), Revision(5))
    }

    fn kinds() -> Vec<(What, Value)> {
        let change = LeaderChange { at: Timestamp(0), from: Some(MemberId(1)), to: None, term: Term(8) };
        let alarm = Alarm { member: MemberId(2), kind: AlarmKind::NoSpace };
        vec![
            (What::Enqueued(party()), json!({"event": "enqueued"})),
            (What::Acquired(party()), json!({"event": "acquired"})),
            (What::Released(party(), Cause::Expired), json!({"event": "released", "cause": "expired"})),
            (What::WaiterGone(party(), Cause::Unknown), json!({"event": "waiter_gone", "cause": "unknown"})),
            (
                What::Rewritten { party: party(), former_lease: LeaseId(255) },
                json!({"event": "rewritten", "former_lease": "ff"}),
            ),
            (What::LeaderChanged(change), json!({"event": "leader_changed", "from": "1", "to": null, "term": 8})),
            (What::Alarm(alarm, true), json!({"event": "alarm", "member": "2", "alarm": "NOSPACE", "raised": true})),
            (
                What::Gap { from: Revision(3), to: Revision(9) },
                json!({"event": "gap", "from_revision": 3, "to_revision": 9}),
            ),
        ]
    }

    #[test]
    fn every_event_is_one_line_with_its_own_fields() {
        for (what, own) in kinds() {
            let line = printed(what.clone(), Format::Json);
            assert_eq!(line.matches('\n').count(), 1);
            let event: Value = serde_json::from_str(&line).unwrap();
            let mut expected = json!({
                "schema": "lockscope/1", "at": "2023-11-14T22:13:20.123Z", "cluster_id": "c1", "revision": 9,
            });
            if what.party().is_some() {
                let place = json!({"lock": "/a", "key": "/a/7", "lease": "7", "create_revision": 5});
                expected.as_object_mut().unwrap().extend(place.as_object().unwrap().clone());
            }
            expected.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
            assert_eq!(event, expected);
        }
    }

    #[test]
    fn what_is_told_late_has_no_time() {
        let what = What::Released(party(), Cause::Released);
        let happening = Happening { seq: 1, at: Timestamp(1_700_000_000_123), revision: Revision(9), what };
        let told = Told { happening: &happening, cluster: None, replayed: true };
        let mut out = Vec::new();
        Printer::new(Format::Json, Style::default()).print(&told, &mut out).unwrap();
        let line: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!((&line["at"], &line["replayed"], &line["revision"]), (&Value::Null, &json!(true), &json!(9)));
    }

    #[test]
    fn a_revision_that_was_not_known_yet_is_none() {
        let change = LeaderChange { at: Timestamp(0), from: None, to: Some(MemberId(1)), term: Term(2) };
        let what = What::LeaderChanged(change);
        let happening = Happening { seq: 0, at: Timestamp(1_700_000_000_123), revision: Revision(0), what };
        let told = Told { happening: &happening, cluster: None, replayed: false };
        for (format, none) in [(Format::Json, "\"revision\":null"), (Format::Simple, "\t-\t")] {
            let mut out = Vec::new();
            Printer::new(format, Style::default()).print(&told, &mut out).unwrap();
            let line = String::from_utf8(out).unwrap();
            assert!(line.contains(none), "{line}");
        }
    }

    #[test]
    fn every_line_of_text_has_the_same_number_of_fields() {
        for (what, _) in kinds() {
            let line = printed(what, Format::Simple);
            assert_eq!(line.trim_end().split('\t').count(), 8, "{line}");
        }
    }
}
