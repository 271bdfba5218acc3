//! No acknowledged write is lost (§8): a command whose answer reached its client is in every
//! machine in the end, and once.

use std::collections::BTreeMap;

#[derive(Default)]
pub struct AcknowledgedWrites {
    acknowledged: Vec<u64>,
}

impl AcknowledgedWrites {
    pub fn acknowledge(&mut self, value: u64) {
        self.acknowledged.push(value);
    }

    /// Looks at a machine that has taken in all there is.
    pub fn look(&self, journal: &[u64]) -> Result<(), String> {
        let mut times = BTreeMap::new();
        for value in journal {
            *times.entry(value).or_insert(0) += 1;
        }
        if let Some((value, _)) = times.iter().find(|(_, times)| **times > 1) {
            return Err(format!("{value} was written twice"));
        }
        let lost: Vec<_> = self.acknowledged.iter().filter(|value| !times.contains_key(value)).collect();
        if lost.is_empty() { Ok(()) } else { Err(format!("acknowledged and lost: {lost:?}")) }
    }

    pub fn seen(&self) -> usize {
        self.acknowledged.len()
    }
}

#[test]
fn a_lost_write_and_one_that_is_there_twice_are_noticed() {
    let mut check = AcknowledgedWrites::default();
    check.acknowledge(1);
    check.look(&[2, 1]).unwrap();
    assert!(check.look(&[2]).is_err(), "lost");
    assert!(check.look(&[1, 2, 1]).is_err(), "twice");
}
