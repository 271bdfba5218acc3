//! Asks each member about itself; one that is slow or gone keeps nobody waiting.

use std::collections::HashMap;
use std::convert::Infallible;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::beat::Beat;
use super::live::{Contact, Leadership};
use super::out::{NoReader, Out};
use crate::domain::{Alarm, AlarmKind, Member, MemberId, Millis, Status};
use crate::event::{NoStatus, Observation};
use crate::port::{Etcd, Pool, PortError};
use crate::wheel;

/// How often each member is asked.
const STATUS_EVERY: Duration = Duration::from_secs(1);
/// At every which beat when it has nothing new to say, and when it had nothing new for a while: not even
/// an entry of the log, as if nobody wrote anything.
const CALM_BEATS: u32 = 1;
const STILL_BEATS: u32 = 2;
/// After so many answers like the one before it is still.
const STILL: u32 = 2;
/// At every which beat it is asked who the members are.
const MEMBERS_BEATS: u32 = 4;

/// How long a member may take, connecting included.
const ANSWER: Duration = Duration::from_secs(1);

/// Keeps asking until nobody reads: who the members are, and each of them about itself in a
/// task of its own. Tells `Members` and `Alarms` when they change, and every `Status`.
pub(super) async fn poll(
    pool: Pool,
    contact: watch::Receiver<Option<Contact>>,
    leadership: watch::Sender<Leadership>,
    out: Out,
) -> Result<Infallible, NoReader> {
    Poller::new(pool, leadership, out).keep(contact).await
}

type Answer = Result<Status, NoStatus>;

/// Who is asked, and what they last said.
struct Poller {
    pool: Pool,
    leadership: watch::Sender<Leadership>,
    out: Out,
    members: Vec<Member>,
    tasks: JoinSet<()>,
    errors: HashMap<MemberId, Vec<String>>,
    alarms: Option<Vec<Alarm>>,
}

impl Poller {
    fn new(pool: Pool, leadership: watch::Sender<Leadership>, out: Out) -> Self {
        let (members, tasks, errors) = (Vec::new(), JoinSet::new(), HashMap::new());
        Self { pool, leadership, out, members, tasks, errors, alarms: None }
    }

    async fn keep(mut self, mut contact: watch::Receiver<Option<Contact>>) -> Result<Infallible, NoReader> {
        let (answers_in, mut answers) = mpsc::channel(16);
        let beat = self.out.beat;
        let mut ask_members = Instant::now();
        loop {
            tokio::select! {
                Some((member, answer)) = answers.recv() => {
                    self.answered(member, answer).await?;
                    continue;
                }
                () = sleep_until(ask_members) => {}
                Ok(()) = contact.changed() => {}
            }
            let listed = self.ask_members(&contact, &answers_in).await?;
            ask_members = beat.after_nth(Instant::now(), if listed { MEMBERS_BEATS } else { 1 });
        }
    }

    /// Asks who the members are; whether there was an answer.
    async fn ask_members(
        &mut self,
        contact: &watch::Receiver<Option<Contact>>,
        answers: &mpsc::Sender<(MemberId, Answer)>,
    ) -> Result<bool, NoReader> {
        let Some(Contact { client, life }) = contact.borrow().clone() else { return Ok(false) };
        if self.leadership.send_if_modified(|known| known.live_in(life)) {
            // Whoever reads has forgotten everything with the old store, the members included.
            (self.members, self.errors, self.alarms) = (Vec::new(), HashMap::new(), None);
        }
        let client = client.with_deadline(ANSWER);
        // Whoever keeps the connection notices when it is gone; here the next try will do.
        let Ok((_, mut members)) = client.members().await else { return Ok(false) };
        members.sort_by_key(|member| member.id);
        if members == self.members {
            return Ok(true);
        }
        self.pool.learn(&members);
        self.tasks.shutdown().await;
        for member in &members {
            let (pool, member, answers, beat) = (self.pool.clone(), member.clone(), answers.clone(), self.out.beat);
            self.tasks.spawn(async move {
                let (mut last, mut equal) = (None, 0);
                loop {
                    let start = Instant::now();
                    let answer = status(&pool, &member).await;
                    let said = without_latency(&answer);
                    equal = if last.as_ref() == Some(&said) { equal + 1 } else { 0 };
                    let next = next_question(beat, start, equal, said.is_ok());
                    last = Some(said);
                    if answers.send((member.id, answer)).await.is_err() {
                        return;
                    }
                    sleep_until(next).await;
                }
            });
        }
        self.errors.retain(|member, _| members.iter().any(|known| known.id == *member));
        self.leadership.send_modify(|known| known.members.clone_from(&members));
        self.members.clone_from(&members);
        self.out.tell(Observation::Members(members)).await?;
        Ok(true)
    }

    async fn answered(&mut self, member: MemberId, answer: Answer) -> Result<(), NoReader> {
        if self.members.iter().all(|known| known.id != member) {
            return Ok(());
        }
        match &answer {
            Ok(status) => {
                self.errors.insert(member, status.errors.clone());
                self.leadership.send_if_modified(|known| known.learn(status));
            }
            Err(_) => {
                self.errors.remove(&member);
            }
        }
        self.out.tell(Observation::Status { member, answer }).await?;
        let raised = alarms(self.errors.values().flatten());
        if !self.errors.is_empty() && self.alarms.as_ref() != Some(&raised) {
            self.alarms = Some(raised.clone());
            self.out.tell(Observation::Alarms(raised)).await?;
        }
        Ok(())
    }
}

/// When a member is asked again that was asked at `start` and gave the same answer as so many times before
/// that. One that is gone may be back at any time, and others wait for it.
fn next_question(beat: Beat, start: Instant, equal: u32, answers: bool) -> Instant {
    match equal {
        0 => wheel::put_off(start + STATUS_EVERY),
        STILL.. if answers => beat.after_nth(start, STILL_BEATS),
        _ => beat.after_nth(start, CALM_BEATS),
    }
}

/// What a member said, for comparing: how fast it was differs each time.
fn without_latency(answer: &Answer) -> Answer {
    answer.clone().map(|status| Status { latency: Millis::default(), ..status })
}

/// What a member says of itself, or why it does not.
pub(super) async fn status(pool: &Pool, member: &Member) -> Answer {
    let asked = timeout(ANSWER, ask(pool, member)).await.unwrap_or_else(|_| {
        let endpoint = member.client_urls.first().cloned().unwrap_or_else(|| member.name.clone());
        Err(PortError::Deadline { doing: "ask for the status".into(), endpoint, after: ANSWER })
    });
    asked.map_err(|error| {
        // Whoever answers something is where it was.
        if error.is_connection() || matches!(error, PortError::Deadline { .. }) {
            pool.forget(member.id);
        }
        no_status(&error)
    })
}

fn no_status(error: &PortError) -> NoStatus {
    match error {
        // etcd `authMaintenanceServer.Status`: for who may administer it only.
        PortError::Denied { .. } => NoStatus::Denied(format!("{error}; it takes the role root")),
        PortError::Unauthenticated { .. } => NoStatus::Denied(error.to_string()),
        _ => NoStatus::Unreachable(error.to_string()),
    }
}

async fn ask(pool: &Pool, member: &Member) -> Result<Status, PortError> {
    let client = pool.member(member).await?;
    let start = Instant::now();
    let (header, status) = client.with_deadline(ANSWER).status().await?;
    let latency = Millis::from(start.elapsed());
    if header.member != member.id {
        let why = format!("member {} answers there, not {}", header.member, member.id);
        return Err(PortError::Unreachable { endpoint: client.endpoint().into(), why });
    }
    Ok(Status { latency, ..status })
}

/// The alarms that statuses tell of, sorted.
///
/// Every member knows all alarms and reports them among its errors, in the text form of an
/// `AlarmMember`: `memberID:1027 alarm:NOSPACE`. Asking for alarms outright would be a write to
/// the Raft log of every member (etcd `v3_server.go`, `Alarm`), which an onlooker should not
/// make every few seconds.
pub fn alarms<'a>(errors: impl IntoIterator<Item = &'a String>) -> Vec<Alarm> {
    let mut alarms: Vec<_> = errors.into_iter().filter_map(|error| alarm(error)).collect();
    alarms.sort();
    alarms.dedup();
    alarms
}

fn alarm(error: &str) -> Option<Alarm> {
    let field = |name: &str| error.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix(':'));
    let kind = match field("alarm")? {
        "NOSPACE" => AlarmKind::NoSpace,
        "CORRUPT" => AlarmKind::Corrupt,
        "NONE" => return None,
        other => AlarmKind::Other(other.parse().unwrap_or(-1)),
    };
    // A field of value 0 is left out of the text.
    let member = field("memberID").map_or(Some(0), |id| id.parse().ok())?;
    Some(Alarm { member: MemberId(member), kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_has_nothing_new_to_say_is_asked_less_and_who_is_gone_is_not() {
        let beat = Beat::start();
        let start = Instant::now();
        let after = |equal, answers| (next_question(beat, start, equal, answers) - start).as_secs();
        assert_eq!([0, 1, 2, 9].map(|equal| after(equal, true)), [1, 2, 4, 4]);
        assert_eq!([0, 1, 2, 9].map(|equal| after(equal, false)), [1, 2, 2, 2]);
    }

    #[test]
    fn alarms_are_read_from_what_members_report() {
        let errors =
            ["memberID:10276657743932975437 alarm:NOSPACE ", "etcdserver: no leader", "memberID:7 alarm:CORRUPT "];
        let errors: Vec<_> = errors.iter().chain(&errors[..1]).map(|&error| error.to_owned()).collect();
        let no_space = Alarm { member: MemberId(10_276_657_743_932_975_437), kind: AlarmKind::NoSpace };
        let corrupt = Alarm { member: MemberId(7), kind: AlarmKind::Corrupt };
        assert_eq!(alarms(&errors), [corrupt, no_space]);
    }

    #[test]
    fn a_member_that_refuses_to_answer_is_told_from_one_that_is_gone() {
        let (doing, why) = ("ask for the status".to_owned(), "etcdserver: permission denied".to_owned());
        let denied = no_status(&PortError::Denied { doing, user: "app".into(), why });
        assert!(
            matches!(&denied, NoStatus::Denied(why) if why.contains("permission denied") && why.contains("role root")),
            "{denied:?}"
        );
        let gone = no_status(&PortError::Unreachable { endpoint: "http://a:1".into(), why: "refused".into() });
        assert!(matches!(&gone, NoStatus::Unreachable(why) if why.contains("refused")), "{gone:?}");
    }

    #[test]
    fn an_alarm_of_a_newer_etcd_is_kept() {
        assert_eq!(alarms(&["memberID:7 alarm:3".into()]), [Alarm { member: MemberId(7), kind: AlarmKind::Other(3) }]);
    }
}
