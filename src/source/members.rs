//! Asks each member about itself; one that is slow or gone keeps nobody waiting.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::domain::{Alarm, AlarmKind, Member, MemberId, Millis, Status};
use crate::port::{Etcd, Pool, PortError};

/// How long a member may take, connecting included.
const ANSWER: Duration = Duration::from_secs(1);

/// What a member says of itself, or why it does not, in words.
pub(super) async fn status(pool: &Pool, member: &Member) -> Result<Status, String> {
    let asked = timeout(ANSWER, ask(pool, member)).await.unwrap_or_else(|_| {
        let endpoint = member.client_urls.first().cloned().unwrap_or_else(|| member.name.clone());
        Err(PortError::Deadline { doing: "ask for the status".into(), endpoint, after: ANSWER })
    });
    asked.map_err(|error| {
        pool.forget(member.id);
        error.to_string()
    })
}

async fn ask(pool: &Pool, member: &Member) -> Result<Status, PortError> {
    let client = pool.member(member).await?;
    let start = Instant::now();
    let (header, status) = client.with_deadline(ANSWER).status().await?;
    let latency = Millis(i64::try_from(start.elapsed().as_millis()).unwrap_or(i64::MAX));
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
pub(super) fn alarms<'a>(errors: impl IntoIterator<Item = &'a String>) -> Vec<Alarm> {
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
    fn an_alarm_of_a_newer_etcd_is_kept() {
        assert_eq!(alarms(&["memberID:7 alarm:3".into()]), [Alarm { member: MemberId(7), kind: AlarmKind::Other(3) }]);
    }
}
