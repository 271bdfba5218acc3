//! Asking leases for their time, within the budget.

use std::collections::BTreeSet;

use tokio::time::{Duration, Instant, sleep_until, timeout_at};
use tracing::debug;

use super::{NO_TIME, Reading, feed};
use crate::cli::exit::say;
use crate::cli::show::KeysOfLeases;
use crate::cli::unseen::Unseen;
use crate::domain::LeaseId;
use crate::event::{LeaseTtl, Observation};
use crate::port::PortError;
use crate::source;
use crate::view::text::{quantity, sanitise};

/// A burst of lease polls starts this long after the one before.
const BURST: Duration = Duration::from_secs(1);

/// Leases that were asked and did not tell their time.
#[derive(Clone, Debug)]
pub(super) struct Unanswered {
    leases: usize,
    why: String,
    /// Whether they may not be asked: that is an answer, and no other look would show more.
    refused: bool,
}

impl Reading {
    /// Asks those of the leases that were not asked yet, in bursts within the budget.
    pub async fn poll(&mut self, leases: impl IntoIterator<Item = LeaseId>) {
        let mut seen = BTreeSet::new();
        let open: Vec<_> = leases
            .into_iter()
            .filter(|id| !id.is_none() && !self.facts().leases().is_polled(*id) && seen.insert(*id))
            .collect();
        self.burst(&open, None).await;
    }

    /// The same until then: the leases that are not asked by then count as unanswered.
    pub async fn poll_until(&mut self, leases: Vec<LeaseId>, deadline: Instant) {
        if timeout_at(deadline, self.poll(leases.iter().copied())).await.is_ok() {
            return;
        }
        self.pass_time();
        let known = self.facts().leases();
        let left: BTreeSet<_> = leases.into_iter().filter(|id| !id.is_none() && !known.is_polled(*id)).collect();
        if !left.is_empty() {
            let why = NO_TIME.into();
            self.unanswered = Some(Unanswered { leases: left.len(), why, refused: false });
        }
    }

    /// How long so many leases take at least by the budget.
    pub fn time_for(&self, leases: usize) -> Duration {
        BURST * u32::try_from(leases).unwrap_or(u32::MAX).div_ceil(self.budget.max(1))
    }

    /// Asks the leases for their time and their keys; the keys go to `told`.
    pub async fn poll_with_keys(&mut self, leases: &[LeaseId], told: &mut KeysOfLeases) {
        self.burst(leases, Some(told)).await;
    }

    async fn burst(&mut self, leases: &[LeaseId], mut told: Option<&mut KeysOfLeases>) {
        let mut rest = leases;
        let (mut failed, mut why) = (0, None);
        let mut connected_again = false;
        while !rest.is_empty() {
            // The rate falls when the leader answers slowly.
            let rate = usize::try_from(self.facts().poll_rate()).unwrap_or(usize::MAX).max(1);
            if rest.len() == leases.len() && rest.len() > 2 * rate {
                let seconds = rest.len().div_ceil(rate);
                say(format_args!(
                    "asking {} leases for their TTL, {rate} a second: some {seconds} s (--ttl none skips it, \
                     --ttl-budget N asks faster)",
                    rest.len(),
                ));
            }
            let (now, later) = rest.split_at(rate.min(rest.len()));
            let next = Instant::now() + BURST;
            let Self { pool, clock, connected, model, .. } = self;
            let polled = source::poll_leases(pool, connected, now, told.is_some(), clock, &mut |observed| {
                if let (Some(told), Observation::LeaseTtl(LeaseTtl { lease, keys: Some(keys), .. })) =
                    (&mut told, &observed.what)
                {
                    told.insert(*lease, keys.clone());
                }
                feed(model, observed);
            })
            .await;
            debug!(?polled, "asked leases");
            // The leader may be another one by now; a cluster that is silent is not asked for long.
            if polled.is_silence()
                && !connected_again
                && !self.connected.is_leaderless()
                && self.connect_again().await.is_ok()
            {
                connected_again = true;
                if !self.connected.is_leaderless() {
                    continue;
                }
            }
            let silence = polled.is_silence();
            failed += if silence { rest.len() } else { polled.cost.failed as usize };
            why = why.or(polled.why);
            if silence {
                break;
            }
            rest = later;
            if !rest.is_empty() {
                sleep_until(next).await;
            }
        }
        if let Some(why) = why.filter(|_| failed > 0) {
            let refused = matches!(why, PortError::Denied { .. } | PortError::Unauthenticated { .. });
            self.unanswered = Some(Unanswered { leases: failed, why: why.to_string(), refused });
        }
        self.pass_time();
    }

    /// Says how many leases did not tell their time, and why.
    pub fn say_unanswered(&self) {
        if let Some(Unanswered { leases, why, .. }) = &self.unanswered {
            say(format_args!("lockscope: {} did not tell how long they live: {why}", quantity(*leases, "lease")));
        }
    }

    /// The leases that were asked and gave no answer, if any.
    pub fn unanswered(&self) -> Option<Unseen> {
        let Unanswered { leases, why, refused } = self.unanswered.as_ref()?;
        let what = format!("the time of {}", quantity(*leases, "lease"));
        let why = sanitise(why).into_owned();
        Some(if *refused { Unseen::new(what, why) } else { Unseen::unanswered(what, why) })
    }
}
