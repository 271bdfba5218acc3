//! A state machine of a few registers that remembers all it took in.

use std::collections::BTreeMap;

use lockscope::domain::Revision;
use lockscope::domain::raft::ClusterTime;
use lockscope::raft::Machine;

/// Puts a value that nobody else puts into a register.
#[derive(Clone, Copy, Debug)]
pub struct Put {
    pub key: u8,
    pub value: u64,
}

/// A register: its value and how often it was put.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Register {
    pub version: u64,
    pub value: u64,
}

/// The machine. What is replicated can be broken on purpose.
#[derive(Clone, Debug, Default)]
pub struct Registers {
    by_key: BTreeMap<u8, Register>,
    /// All values in the order in which they were put.
    pub journal: Vec<u64>,
    pub leads: bool,
    broken: bool,
}

impl Registers {
    /// One that takes every seventh command in twice.
    pub fn broken() -> Self {
        Self { broken: true, ..Self::default() }
    }

    pub fn read(&self, key: u8) -> Register {
        self.by_key.get(&key).copied().unwrap_or_default()
    }

    fn put(&mut self, Put { key, value }: Put) -> u64 {
        let register = self.by_key.entry(key).or_default();
        *register = Register { version: register.version + 1, value };
        self.journal.push(value);
        register.version
    }
}

impl Machine for Registers {
    type Command = Put;
    /// The register's version after it.
    type Answer = u64;
    type Snapshot = (BTreeMap<u8, Register>, Vec<u64>);
    type Question = u8;
    type Reply = Register;

    fn apply(&mut self, _: ClusterTime, put: &Put) -> u64 {
        if self.broken && put.value.is_multiple_of(7) {
            self.put(*put);
        }
        self.put(*put)
    }

    fn revision(&self) -> Revision {
        Revision(i64::try_from(self.journal.len()).unwrap() + 1)
    }

    fn snapshot(&self) -> Self::Snapshot {
        (self.by_key.clone(), self.journal.clone())
    }

    fn restore(&mut self, snapshot: &Self::Snapshot) {
        (self.by_key, self.journal) = snapshot.clone();
    }

    fn describe(put: &Put) -> String {
        format!("put {} {}", put.key, put.value)
    }

    fn lead(&mut self, _: ClusterTime) {
        assert!(!self.leads, "the lead begins twice");
        self.leads = true;
    }

    fn follow(&mut self) {
        assert!(self.leads, "the lead ends and did not begin");
        self.leads = false;
    }

    fn next_due(&self) -> Option<ClusterTime> {
        assert!(self.leads, "only the leader is asked what is due");
        None
    }

    fn due(&mut self, _: ClusterTime) -> Vec<Put> {
        Vec::new()
    }

    fn answer(&mut self, _: ClusterTime, key: &u8) -> Register {
        assert!(self.leads, "only the leader is asked");
        self.read(*key)
    }
}
