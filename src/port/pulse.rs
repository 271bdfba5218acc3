//! The signs of life of whoever is at the other end of a connection: whoever answered a moment
//! ago need not be asked whether it is still there, and whoever answers again can be used again.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::watch;
use tokio::time::{Duration, Instant};

use super::PortError;
use crate::domain::{RaftIndex, Status, Term};

/// What was heard on one connection.
#[derive(Debug)]
pub(super) struct Pulse {
    opened: Instant,
    /// Milliseconds from then to the last answer.
    heard: AtomicU64,
    term: AtomicU64,
    index: AtomicU64,
    /// Whether the last question got no answer.
    silent: AtomicBool,
    /// Whether the member last said that it knows no leader.
    leaderless: AtomicBool,
    /// Told when either is over.
    returned: watch::Sender<()>,
}

impl Pulse {
    /// Of a connection that was just opened; `returned` is told when its member can be used again
    /// after it could not.
    pub fn new(returned: watch::Sender<()>) -> Self {
        Self {
            opened: Instant::now(),
            heard: AtomicU64::new(0),
            term: AtomicU64::new(0),
            index: AtomicU64::new(0),
            silent: AtomicBool::new(false),
            leaderless: AtomicBool::new(false),
            returned,
        }
    }

    /// Takes in what came of a question: a refusal is an answer too.
    pub fn note<T>(&self, came: &Result<T, PortError>) {
        match came {
            Err(error) if error.is_connection() || matches!(error, PortError::Deadline { .. }) => {
                self.silent.store(true, Ordering::Relaxed);
            }
            _ => {
                let since = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
                self.heard.fetch_max(since, Ordering::Relaxed);
                self.is_over(&self.silent);
            }
        }
    }

    fn is_over(&self, trouble: &AtomicBool) {
        if trouble.load(Ordering::Relaxed) && trouble.swap(false, Ordering::Relaxed) {
            self.returned.send_replace(());
        }
    }

    /// Takes in what a member says of itself. Without a leader a term means nothing yet.
    pub fn note_status(&self, status: &Status) {
        if status.leader.is_some() {
            self.term.fetch_max(status.term.0, Ordering::Relaxed);
            self.index.fetch_max(status.raft_index.0, Ordering::Relaxed);
            self.is_over(&self.leaderless);
        } else {
            self.leaderless.store(true, Ordering::Relaxed);
        }
    }

    /// When the last answer came; when the connection was opened, if none did.
    pub fn heard_at(&self) -> Instant {
        self.opened + Duration::from_millis(self.heard.load(Ordering::Relaxed))
    }

    /// The highest term and committed index that were told while there was a leader.
    pub fn furthest(&self) -> (Term, RaftIndex) {
        (Term(self.term.load(Ordering::Relaxed)), RaftIndex(self.index.load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::MemberId;

    fn pulse() -> Pulse {
        Pulse::new(watch::channel(()).0)
    }

    #[tokio::test(start_paused = true)]
    async fn answers_and_refusals_are_signs_of_life_and_silence_is_none() {
        let pulse = pulse();
        let start = pulse.heard_at();
        let (doing, endpoint) = ("list".to_owned(), "http://a:1".to_owned());
        let after = Duration::from_secs(1);
        tokio::time::advance(after).await;
        pulse.note::<()>(&Err(PortError::Deadline { doing: doing.clone(), endpoint: endpoint.clone(), after }));
        pulse.note::<()>(&Err(PortError::Unreachable { endpoint, why: "refused".into() }));
        assert_eq!(pulse.heard_at(), start);
        pulse.note::<()>(&Err(PortError::Denied { doing, user: "ann".into(), why: "permission denied".into() }));
        assert_eq!(pulse.heard_at(), start + after);
        tokio::time::advance(after).await;
        pulse.note(&Ok(()));
        assert_eq!(pulse.heard_at(), start + 2 * after);
    }

    #[test]
    fn a_term_without_a_leader_means_nothing_yet() {
        let pulse = pulse();
        let told = Status { term: Term(5), raft_index: RaftIndex(9), ..Status::default() };
        pulse.note_status(&told);
        assert_eq!(pulse.furthest(), (Term(0), RaftIndex(0)));
        pulse.note_status(&Status { leader: Some(MemberId(1)), ..told });
        assert_eq!(pulse.furthest(), (Term(5), RaftIndex(9)));
    }

    #[test]
    fn only_who_can_be_used_again_after_it_could_not_has_returned() {
        let (returned, mut told) = watch::channel(());
        let pulse = Pulse::new(returned);
        let mut is_told = || {
            let is_told = told.has_changed().unwrap();
            told.mark_unchanged();
            is_told
        };
        pulse.note(&Ok(()));
        assert!(!is_told(), "it was never away");
        let gone = Err(PortError::Unreachable { endpoint: "http://a:1".into(), why: "refused".into() });
        pulse.note::<()>(&gone);
        pulse.note::<()>(&gone);
        assert!(!is_told());
        pulse.note(&Ok(()));
        assert!(is_told());
        pulse.note(&Ok(()));
        assert!(!is_told(), "once is enough");
        let status = Status::default();
        pulse.note_status(&status);
        pulse.note_status(&status);
        assert!(!is_told());
        let led = Status { leader: Some(MemberId(1)), ..status };
        pulse.note_status(&led);
        assert!(is_told());
        pulse.note_status(&led);
        assert!(!is_told());
    }
}
