//! The same seed makes the same run, to the byte.

use lockscope::domain::raft::RaftPicture;
use lockscope::raft::{Done, Outcome};

use crate::play::{Broken, Play};
use crate::registers::Registers;

/// All that could be seen of a run, in order, as one number and a length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transcript {
    bytes: usize,
    /// FNV-1a.
    hash: u64,
}

impl Default for Transcript {
    fn default() -> Self {
        Self { bytes: 0, hash: 0xcbf2_9ce4_8422_2325 }
    }
}

impl Transcript {
    pub fn write(&mut self, picture: &RaftPicture) {
        self.take(&serde_json::to_string(picture).unwrap());
    }

    pub fn done(&mut self, done: &Done<Registers>) {
        let outcome = match &done.outcome {
            Outcome::Applied { answer, term, index } => format!("applied {answer} {term} {index}"),
            Outcome::Readable { index } => format!("readable {index}"),
            Outcome::Answered(register) => format!("answered {register:?}"),
            Outcome::Changed => "changed".to_owned(),
            Outcome::Transferred => "transferred".to_owned(),
            Outcome::Refused(why) => why.to_string(),
            Outcome::Failed(why) => why.to_string(),
        };
        self.take(&format!("{:?} {} {outcome}", done.request, done.node));
    }

    fn take(&mut self, text: &str) {
        self.bytes += text.len();
        for byte in text.bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[test]
fn the_same_seed_makes_the_same_run_to_the_byte_and_another_seed_another() {
    let run = |seed| {
        let mut play = Play::new(seed, Broken::Nothing).write_down();
        play.run().unwrap_or_else(|why| panic!("LOCKSCOPE_SEED={seed} LOCKSCOPE_SEEDS=1\n{why}"));
        play.transcript().unwrap().clone()
    };
    let runs: Vec<_> = (1..=4).map(run).collect();
    assert!(runs.iter().all(|transcript| transcript.bytes > 100_000), "{runs:?}");
    assert_eq!(runs, (1..=4).map(run).collect::<Vec<_>>());
    assert_ne!(runs[0], runs[1]);
}
