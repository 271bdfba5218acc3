//! What a leader proclaims and a publisher publishes: one value after the other.

use std::time::Duration;

use super::{Command, Timer};
use crate::domain::raft::ClusterTime;

/// What is proclaimed or published, one after the other, and how often.
#[derive(Clone, Debug)]
pub(super) struct Words {
    value: Vec<u8>,
    said: u64,
    pub every: Option<Duration>,
}

impl Words {
    /// Values that begin with this one.
    pub const fn new(value: Vec<u8>) -> Self {
        Self { value, said: 0, every: None }
    }

    /// The value without a number.
    pub fn first(&self) -> Vec<u8> {
        self.value.clone()
    }

    /// The next value: ` #1`, ` #2` and so on behind the first.
    pub fn next(&mut self) -> Vec<u8> {
        self.said += 1;
        [&*self.value, format!(" #{}", self.said).as_bytes()].concat()
    }

    /// Sets the timer for it.
    pub fn set(&self, now: ClusterTime) -> Vec<Command> {
        self.every.map(|every| Command::Set(Timer::Write, now + every)).into_iter().collect()
    }
}
