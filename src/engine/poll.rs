//! Asking the members how they are: one task a member, at most once a second.

use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};

use crate::config::Connection;
use crate::domain::raft::{ClusterTime, NodeId};
use crate::domain::{MemberId, Revision, Status};
use crate::port::{Client, Etcd as _};

/// The time between two questions to a member.
const PAUSE: Duration = Duration::from_secs(1);
/// And while the cluster starts, which is waited for.
const EAGER: Duration = Duration::from_millis(100);
/// How long an answer is waited for.
const DEADLINE: Duration = Duration::from_secs(1);

/// What a member answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    /// Which.
    pub node: NodeId,
    /// When.
    pub at: ClusterTime,
    /// Its id.
    pub member: MemberId,
    /// The revision of its store.
    pub revision: Revision,
    /// What it said of itself.
    pub status: Status,
}

/// Who asks one member.
#[derive(Debug)]
pub(super) struct Poller {
    /// Which.
    pub node: NodeId,
    /// Where it serves clients, as a URL.
    pub endpoint: String,
    /// When the cluster's time began.
    pub began: Instant,
    /// Whether the cluster has started.
    pub started: watch::Receiver<bool>,
    /// Who is told.
    pub tell: mpsc::Sender<Answer>,
}

impl Poller {
    /// Asks until nobody wants to know.
    pub async fn run(self) {
        let settings = settings(&self.endpoint, DEADLINE);
        let mut client = None;
        loop {
            if client.is_none() {
                client = Client::connect(&self.endpoint, &settings).await.ok();
            }
            // One that does not answer is asked again; that it is silent is seen elsewhere.
            if let Some(client) = &client
                && let Ok((header, status)) = client.status().await
            {
                let at = ClusterTime(0) + self.began.elapsed();
                let answer = Answer { node: self.node, at, member: header.member, revision: header.revision, status };
                if self.tell.send(answer).await.is_err() {
                    return;
                }
            }
            sleep(if *self.started.borrow() { PAUSE } else { EAGER }).await;
        }
    }
}

/// How to reach one member, which has so long for an answer.
pub(super) fn settings(endpoint: &str, deadline: Duration) -> Connection {
    Connection {
        endpoints: vec![endpoint.to_owned()],
        dial_timeout: deadline,
        command_timeout: deadline,
        ..Connection::default()
    }
}
