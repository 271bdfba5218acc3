//! Asks a member that has been silent for a while whether it is still there.
//!
//! A paused member keeps its connections and answers nothing, and etcd allows pings of HTTP/2
//! too seldom to notice that soon. So the cheapest call is made instead; any answer will do,
//! also one to somebody else's question: where members are polled there is nothing to do here.

use std::future::pending;

use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use super::beat::Beat;
use crate::config::Connection;
use crate::port::{Client, Etcd, PortError};
use crate::wheel;

/// A task that asks, until it is dropped.
pub(super) struct Heartbeat {
    task: JoinHandle<PortError>,
    /// What it ended with.
    ended: Option<PortError>,
}

impl Heartbeat {
    /// Asks after as much silence as idle connections are pinged after by these settings, and
    /// waits for an answer as long as for that of a ping.
    pub fn start(client: &Client, settings: &Connection, beat: Beat) -> Self {
        let (silence, patience) = (settings.keepalive_time, settings.keepalive_timeout);
        // Who is asked this often by others is left to them; it is not waited for any longer.
        let grace = (silence / 8).min(patience / 2);
        let client = client.clone();
        let task = tokio::spawn(async move {
            let mut asked = Instant::now();
            loop {
                let heard = client.heard_at().max(asked);
                let (now, due) = (Instant::now(), heard + silence + grace);
                if due > now {
                    // Others ask at the beat itself; a little later their answer is here.
                    sleep_until(wheel::put_off(beat.after(due, silence) + grace)).await;
                    continue;
                }
                let waited = (now - heard).saturating_sub(silence);
                let rest = client.with_deadline(patience.saturating_sub(waited).max(patience / 2));
                if let Err(error @ (PortError::Deadline { .. } | PortError::Unreachable { .. })) = rest.status().await {
                    return error;
                }
                asked = Instant::now();
            }
        });
        Self { task, ended: None }
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
        let mut heartbeat = Heartbeat { task, ended: None };
        assert_eq!(heartbeat.stopped().await, error);
        assert_eq!(heartbeat.stopped().await, error);
    }
}
