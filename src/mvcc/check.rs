//! What a member refuses before it proposes anything, whatever the store holds
//! (etcd `api/v3rpc/key.go`).

use std::collections::BTreeSet;

use crate::domain::{Key, KeyRange};

use super::lease::LONGEST_TTL;
use super::{DeleteRequest, Error, Op, PutRequest, RangeRequest, Request, TxnRequest};

/// How many comparisons, and how many operations in each branch, a transaction may have (etcd's
/// default of `--max-txn-ops`). One in another gets what its parent leaves.
pub const MAX_TXN_OPS: usize = 128;

impl Request {
    /// Whether a member would propose this.
    ///
    /// # Errors
    /// What etcd's API layer says otherwise.
    pub fn check(&self) -> Result<(), Error> {
        match self {
            Self::Put(put) => put.check(),
            Self::Delete(delete) => delete.check(),
            Self::Txn(txn) => txn.check(),
            Self::Grant { ttl, .. } if *ttl > LONGEST_TTL => Err(Error::LeaseTtlTooLarge),
            Self::Compact { .. } | Self::Grant { .. } | Self::Revoke { .. } => Ok(()),
        }
    }
}

impl RangeRequest {
    /// Whether a member would look at this.
    ///
    /// # Errors
    /// [`Error::EmptyKey`].
    pub fn check(&self) -> Result<(), Error> {
        given(&self.range.start)
    }
}

impl DeleteRequest {
    fn check(&self) -> Result<(), Error> {
        given(&self.range.start)
    }
}

impl PutRequest {
    fn check(&self) -> Result<(), Error> {
        given(&self.key)?;
        if self.ignore_value && !self.value.is_empty() {
            return Err(Error::ValueProvided);
        }
        if self.ignore_lease && !self.lease.is_none() {
            return Err(Error::LeaseProvided);
        }
        Ok(())
    }
}

impl TxnRequest {
    /// Whether a member would propose this, or read it.
    ///
    /// # Errors
    /// What etcd's API layer says otherwise.
    pub fn check(&self) -> Result<(), Error> {
        self.check_operations(MAX_TXN_OPS)?;
        Written::by(&self.success)?;
        Written::by(&self.failure)?;
        Ok(())
    }

    fn check_operations(&self, most: usize) -> Result<(), Error> {
        let count = self.compare.len().max(self.success.len()).max(self.failure.len());
        let left = most.checked_sub(count).ok_or(Error::TooManyOps)?;
        self.compare.iter().try_for_each(|compare| given(&compare.range.start))?;
        self.success.iter().chain(&self.failure).try_for_each(|op| match op {
            Op::Range(ask) => ask.check(),
            Op::Put(put) => put.check(),
            Op::Delete(delete) => delete.check(),
            Op::Txn(txn) => txn.check_operations(left),
        })
    }
}

fn given(key: &Key) -> Result<(), Error> {
    if key.is_empty() { Err(Error::EmptyKey) } else { Ok(()) }
}

/// What a list of operations may put and delete: no key is put twice, or put and deleted.
///
/// This follows etcd's `checkIntervals` with its gaps: a put of an inner transaction is compared
/// only with the deletes before it and on its parent's level, and a delete from a key on counts
/// for no key at all.
struct Written<'a> {
    puts: BTreeSet<&'a Key>,
    deletes: Vec<&'a KeyRange>,
}

impl<'a> Written<'a> {
    fn by(ops: &'a [Op]) -> Result<Self, Error> {
        let deletes = ops.iter().filter_map(|op| match op {
            Op::Delete(delete) => Some(&delete.range),
            _ => None,
        });
        let mut own = Self { puts: BTreeSet::new(), deletes: deletes.collect() };
        for op in ops {
            let Op::Txn(txn) = op else { continue };
            let (then, or_else) = (Self::by(&txn.success)?, Self::by(&txn.failure)?);
            for put in &then.puts {
                own.put(put)?;
            }
            // Only one of the two branches runs.
            for put in or_else.puts.iter().filter(|put| !then.puts.contains(*put)) {
                own.put(put)?;
            }
            own.deletes.extend(then.deletes);
            own.deletes.extend(or_else.deletes);
        }
        for op in ops {
            if let Op::Put(put) = op {
                own.put(&put.key)?;
            }
        }
        Ok(own)
    }

    fn put(&mut self, key: &'a Key) -> Result<(), Error> {
        let deleted = self.deletes.iter().any(|range| takes(range, key));
        if deleted || !self.puts.insert(key) { Err(Error::DuplicateKey) } else { Ok(()) }
    }
}

/// Whether a delete counts as one of `key`. For etcd's interval tree "from here on" ends at the
/// lowest key, so that nothing is in it.
fn takes(range: &KeyRange, key: &Key) -> bool {
    range.end.as_bytes() != [0] && range.contains(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::LeaseId;
    use crate::mvcc::{Compare, CompareResult, CompareTarget};

    fn put(key: &str) -> Op {
        Op::Put(PutRequest { key: key.into(), ..PutRequest::default() })
    }

    fn delete(start: &str, end: &str) -> Op {
        let range = KeyRange { start: start.into(), end: end.into() };
        Op::Delete(DeleteRequest { range, prev_kv: false })
    }

    fn txn(success: Vec<Op>, failure: Vec<Op>) -> TxnRequest {
        TxnRequest { compare: Vec::new(), success, failure }
    }

    fn inner(success: Vec<Op>, failure: Vec<Op>) -> Op {
        Op::Txn(txn(success, failure))
    }

    #[test]
    fn a_request_without_a_key_is_refused() {
        let empty = || Key::default();
        assert_eq!(Request::Put(PutRequest::default()).check(), Err(Error::EmptyKey));
        assert_eq!(Request::Delete(DeleteRequest::default()).check(), Err(Error::EmptyKey));
        assert_eq!(RangeRequest::default().check(), Err(Error::EmptyKey));
        assert_eq!(Request::Txn(txn(vec![inner(vec![], vec![put("")])], vec![])).check(), Err(Error::EmptyKey));
        let range = KeyRange { start: empty(), end: empty() };
        let compare = Compare { range, result: CompareResult::Equal, target: CompareTarget::Version(0) };
        assert_eq!(TxnRequest { compare: vec![compare], ..TxnRequest::default() }.check(), Err(Error::EmptyKey));
    }

    #[test]
    fn what_is_to_be_kept_cannot_be_given() {
        let put = PutRequest { key: "a".into(), ignore_value: true, ignore_lease: true, ..PutRequest::default() };
        assert_eq!(put.check(), Ok(()));
        assert_eq!(PutRequest { value: b"v".into(), ..put.clone() }.check(), Err(Error::ValueProvided));
        assert_eq!(PutRequest { lease: LeaseId(1), ..put }.check(), Err(Error::LeaseProvided));
    }

    #[test]
    fn a_transaction_shares_its_operations_with_those_in_it() {
        let puts = |count: usize| (0..count).map(|n| put(&n.to_string())).collect::<Vec<_>>();
        assert_eq!(txn(puts(128), puts(128)).check(), Ok(()));
        assert_eq!(txn(puts(129), vec![]).check(), Err(Error::TooManyOps));
        assert_eq!(txn(vec![inner(puts(127), vec![])], vec![]).check(), Ok(()));
        assert_eq!(txn(vec![inner(puts(128), vec![])], vec![]).check(), Err(Error::TooManyOps));
    }

    #[test]
    fn a_key_is_put_once_and_not_deleted() {
        let refused = |ops: Vec<Op>| txn(ops, vec![]).check() == Err(Error::DuplicateKey);
        assert!(refused(vec![put("a"), put("a")]));
        assert!(refused(vec![put("a"), delete("a", "")]));
        assert!(refused(vec![delete("a", "c"), put("b")]));
        assert!(refused(vec![put("a"), inner(vec![put("a")], vec![])]));
        assert!(refused(vec![inner(vec![put("a")], vec![]), inner(vec![], vec![put("a")])]));
        assert!(refused(vec![inner(vec![delete("a", "")], vec![]), inner(vec![put("a")], vec![])]));
        assert!(!refused(vec![put("a"), put("b"), delete("c", ""), delete("c", "d")]));
        assert!(!refused(vec![inner(vec![put("a")], vec![put("a")])]), "only one branch runs");
    }

    #[test]
    fn etcds_gaps_are_kept() {
        let taken = |ops: Vec<Op>| txn(ops, vec![]).check() == Ok(());
        assert!(taken(vec![inner(vec![put("a")], vec![]), inner(vec![delete("a", "")], vec![])]));
        assert!(taken(vec![delete("a", "\0"), put("b")]));
        assert!(taken(vec![delete("a", "\0"), put("a")]));
        assert!(!taken(vec![delete("a", "b"), put("a")]));
    }
}
