//! Asks a member from time to time whether it is still there.
//!
//! A paused member keeps its connections and answers nothing, and etcd allows pings of HTTP/2
//! too seldom to notice that soon. So the cheapest call is made instead; any answer will do.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::config::Connection;
use crate::domain::{RaftIndex, Term};
use crate::port::{Client, Etcd, PortError};

/// A task that asks, until it is dropped.
pub(super) struct Heartbeat {
    task: JoinHandle<PortError>,
    /// What it ended with.
    ended: Option<PortError>,
    latest: Arc<(AtomicU64, AtomicU64)>,
}

impl Heartbeat {
    /// Asks as often as idle connections are pinged by these settings, and waits for an answer
    /// as long as for that of a ping.
    pub fn start(client: &Client, settings: &Connection) -> Self {
        let client = client.with_deadline(settings.keepalive_timeout);
        let every = settings.keepalive_time;
        let latest = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
        let told = Arc::clone(&latest);
        let task = tokio::spawn(async move {
            loop {
                sleep(every).await;
                match client.status().await {
                    // Without a leader a term means nothing yet.
                    Ok((_, status)) if status.leader.is_some() => {
                        told.0.fetch_max(status.term.0, Ordering::Relaxed);
                        told.1.fetch_max(status.raft_index.0, Ordering::Relaxed);
                    }
                    Err(error @ (PortError::Deadline { .. } | PortError::Unreachable { .. })) => return error,
                    _ => {}
                }
            }
        });
        Self { task, ended: None, latest }
    }

    /// Ends when the member does not answer, and at once when it did so before.
    pub async fn stopped(&mut self) -> PortError {
        if let Some(error) = &self.ended {
            return error.clone();
        }
        match (&mut self.task).await {
            Ok(error) => self.ended.insert(error).clone(),
            Err(_) => pending().await,
        }
    }

    /// The highest term and committed index seen while there was a leader.
    pub fn latest(&self) -> (Term, RaftIndex) {
        (Term(self.latest.0.load(Ordering::Relaxed)), RaftIndex(self.latest.1.load(Ordering::Relaxed)))
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_member_that_stopped_answering_is_told_as_often_as_one_asks() {
        let error = PortError::Unreachable { endpoint: "http://a:1".into(), why: "refused".into() };
        let task = tokio::spawn(std::future::ready(error.clone()));
        let mut heartbeat = Heartbeat { task, ended: None, latest: Arc::default() };
        assert_eq!(heartbeat.stopped().await, error);
        assert_eq!(heartbeat.stopped().await, error);
    }
}
