//! Linearizability (§8; Ongaro's thesis §6.4): every request takes effect at one moment between
//! its call and its answer.
//!
//! Versions of a register make that easy to check. Whatever began after an answer saw the
//! version that the answer told, or a later one; a write made a later one.

use std::collections::BTreeMap;

use lockscope::raft::RequestId;

use crate::registers::Register;

#[derive(Default)]
pub struct LinearizableReads {
    /// The latest version of each register that an answer told of.
    told: BTreeMap<u8, u64>,
    values: BTreeMap<(u8, u64), u64>,
    open: BTreeMap<RequestId, (u8, u64)>,
    reads: usize,
}

impl LinearizableReads {
    /// A request begins.
    pub fn begins(&mut self, request: RequestId, key: u8) {
        let told = self.told.get(&key).copied().unwrap_or(0);
        self.open.insert(request, (key, told));
    }

    /// A read is answered.
    pub fn read(&mut self, request: RequestId, register: Register) -> Result<(), String> {
        let Some((key, told)) = self.open.remove(&request) else { return Ok(()) };
        self.reads += 1;
        if register.version < told {
            return Err(format!(
                "{request:?} reads version {} of register {key}, and began after version {told} was told of",
                register.version
            ));
        }
        self.tell(key, register)
    }

    /// A write is answered.
    pub fn wrote(&mut self, request: RequestId, register: Register) -> Result<(), String> {
        let Some((key, told)) = self.open.remove(&request) else { return Ok(()) };
        if register.version <= told {
            return Err(format!(
                "{request:?} makes version {} of register {key}, and began after version {told} was told of",
                register.version
            ));
        }
        self.tell(key, register)
    }

    /// A request has no answer.
    pub fn failed(&mut self, request: RequestId) {
        self.open.remove(&request);
    }

    /// The register a request is about.
    pub fn key(&self, request: RequestId) -> Option<u8> {
        self.open.get(&request).map(|(key, _)| *key)
    }

    fn tell(&mut self, key: u8, Register { version, value }: Register) -> Result<(), String> {
        let told = self.told.entry(key).or_default();
        *told = version.max(*told);
        let known = *self.values.entry((key, version)).or_insert(value);
        if known == value { Ok(()) } else { Err(format!("version {version} of register {key} is {known} and {value}")) }
    }

    pub fn reads(&self) -> usize {
        self.reads
    }
}

#[test]
fn a_stale_read_is_noticed_and_a_concurrent_one_is_none() {
    let mut check = LinearizableReads::default();
    let register = |version| Register { version, value: version * 10 };
    check.begins(RequestId(1), 0);
    check.begins(RequestId(2), 0);
    check.wrote(RequestId(1), register(1)).unwrap();
    check.begins(RequestId(3), 0);
    check.read(RequestId(2), register(0)).unwrap();
    assert!(check.read(RequestId(3), register(0)).is_err(), "began after the write was answered");

    check.begins(RequestId(4), 0);
    check.read(RequestId(4), register(2)).unwrap();
    check.begins(RequestId(5), 0);
    assert!(check.read(RequestId(5), register(1)).is_err(), "another read has seen the next one");
    check.begins(RequestId(6), 0);
    assert!(check.wrote(RequestId(6), register(2)).is_err(), "made before it began");
    check.begins(RequestId(7), 0);
    assert!(check.read(RequestId(7), Register { version: 2, value: 1 }).is_err(), "another value");
}
