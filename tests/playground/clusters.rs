//! Helpers of this suite.

use std::time::Duration;

use lockscope::config::Connection;
use lockscope::port::{Client, Etcd};
use tokio::time::{Instant, sleep};

/// The place of the member that leads by the word of the others; `but` is one that does not any
/// more.
pub async fn leader(endpoints: &[String], but: Option<usize>) -> usize {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let mut ids = Vec::new();
        let mut named = None;
        for endpoint in endpoints {
            let answer = status(endpoint).await;
            if let Some((_, leader)) = answer {
                named = named.or(leader);
            }
            ids.push(answer.map(|(id, _)| id));
        }
        let found = named.and_then(|leader| ids.iter().position(|id| *id == Some(leader)));
        if let Some(found) = found.filter(|found| Some(*found) != but) {
            return found;
        }
        assert!(Instant::now() < end, "nobody leads");
        sleep(Duration::from_millis(50)).await;
    }
}

/// A member's id, and whom it takes for the leader.
async fn status(endpoint: &str) -> Option<(lockscope::domain::MemberId, Option<lockscope::domain::MemberId>)> {
    let quick = Duration::from_millis(300);
    let settings = Connection {
        endpoints: vec![endpoint.to_owned()],
        dial_timeout: quick,
        command_timeout: quick,
        ..Connection::default()
    };
    let etcd = Client::connect(endpoint, &settings).await.ok()?;
    let (header, status) = etcd.status().await.ok()?;
    Some((header.member, status.leader))
}
