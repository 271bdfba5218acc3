//! Transactions: compare, check everything, then run (etcd `apply.go`, `Txn`).
//!
//! Every comparison, those of transactions in transactions too, sees the store as it was before
//! the outermost one. The branches that will run are checked before anything is written.

use crate::domain::{KeyValue, LeaseId, Revision};

use super::write::Writing;
use super::{
    Compare, CompareResult, CompareTarget, Error, Op, OpResponse, PutRequest, RangeRequest, Store, TxnRequest,
    TxnResponse,
};

impl Store {
    /// Runs a transaction that only reads, which [`TxnRequest::is_read_only`] tells. It changes
    /// nothing and needs no place in a log.
    ///
    /// # Errors
    /// As [`Self::range`]; [`Error::KeyNotFound`] stands for an operation that is no read.
    pub fn read(&self, txn: &TxnRequest) -> Result<TxnResponse, Error> {
        let plan = self.plan(txn);
        self.check_ranges(&plan)?;
        let answer = |step: &Step<'_>| match step {
            Step::Op(Op::Range(ask)) => self.range(ask).map(OpResponse::Range),
            Step::Op(_) | Step::Txn(_) => Err(Error::KeyNotFound),
        };
        let responses = plan.steps.iter().map(answer).collect::<Result<_, _>>()?;
        Ok(TxnResponse { revision: self.revision, succeeded: plan.succeeded, responses })
    }

    /// Runs a transaction, all of it or nothing.
    pub(super) fn run(&mut self, txn: &TxnRequest) -> Result<TxnResponse, Error> {
        let plan = self.plan(txn);
        self.check_puts(&plan)?;
        self.check_ranges(&plan)?;
        let mut writing = Writing::begin(self);
        match execute(&mut writing, &plan) {
            Ok(response) => Ok(TxnResponse { revision: writing.commit(), ..response }),
            // etcd ends itself here: a delete up to the last key escapes its search for keys
            // that are put and deleted, so that a key a put has to find may be gone.
            Err(error) => {
                writing.undo();
                Err(error)
            }
        }
    }

    /// Which branches run.
    fn plan<'a>(&self, txn: &'a TxnRequest) -> Plan<'a> {
        let succeeded = txn.compare.iter().all(|compare| self.holds(compare));
        let branch = if succeeded { &txn.success } else { &txn.failure };
        let step = |op: &'a Op| match op {
            Op::Txn(inner) => Step::Txn(self.plan(inner)),
            op => Step::Op(op),
        };
        Plan { succeeded, steps: branch.iter().map(step).collect() }
    }

    fn holds(&self, compare: &Compare) -> bool {
        let mut found = self.index.range(&compare.range, self.revision).peekable();
        if found.peek().is_none() {
            // A missing value cannot be told from an empty one on the wire.
            let is_value = matches!(compare.target, CompareTarget::Value(_));
            return !is_value && compare_one(compare, &KeyValue::default());
        }
        found.all(|kv| compare_one(compare, kv))
    }

    /// Checks the puts of the branches that run (etcd `apply.go`, `checkRequestPut`).
    fn check_puts(&self, plan: &Plan<'_>) -> Result<(), Error> {
        plan.steps.iter().try_for_each(|step| match step {
            Step::Op(Op::Put(put)) => self.check_put(put),
            Step::Op(_) => Ok(()),
            Step::Txn(inner) => self.check_puts(inner),
        })
    }

    fn check_put(&self, put: &PutRequest) -> Result<(), Error> {
        if (put.ignore_value || put.ignore_lease) && self.index.latest(&put.key).is_none() {
            return Err(Error::KeyNotFound);
        }
        self.check_lease(put.lease)
    }

    pub(super) fn check_lease(&self, lease: LeaseId) -> Result<(), Error> {
        if lease.is_none() || self.leases.get(lease).is_some() { Ok(()) } else { Err(Error::LeaseNotFound) }
    }

    fn check_ranges(&self, plan: &Plan<'_>) -> Result<(), Error> {
        plan.steps.iter().try_for_each(|step| match step {
            Step::Op(Op::Range(ask)) => self.check_range(ask),
            Step::Op(_) => Ok(()),
            Step::Txn(inner) => self.check_ranges(inner),
        })
    }

    /// A negative revision is compacted here, and now in a read of its own (etcd `apply.go`,
    /// `checkRequestRange`).
    fn check_range(&self, ask: &RangeRequest) -> Result<(), Error> {
        match ask.revision {
            Revision(0) => Ok(()),
            future if future > self.revision => Err(Error::FutureRevision),
            past if past < self.compacted => Err(Error::Compacted),
            _ => Ok(()),
        }
    }
}

/// The branches of a transaction that run.
struct Plan<'a> {
    succeeded: bool,
    steps: Vec<Step<'a>>,
}

enum Step<'a> {
    Op(&'a Op),
    Txn(Plan<'a>),
}

fn execute(writing: &mut Writing<'_>, plan: &Plan<'_>) -> Result<TxnResponse, Error> {
    let mut responses = Vec::with_capacity(plan.steps.len());
    for step in &plan.steps {
        responses.push(match step {
            Step::Op(Op::Range(ask)) => OpResponse::Range(writing.range(ask)?),
            Step::Op(Op::Put(put)) => OpResponse::Put(writing.put(put)?),
            Step::Op(Op::Delete(delete)) => OpResponse::Delete(writing.delete(delete)),
            Step::Op(Op::Txn(_)) => continue, // `plan` makes a `Step::Txn` of it
            Step::Txn(inner) => OpResponse::Txn(execute(writing, inner)?),
        });
    }
    Ok(TxnResponse { revision: Revision(0), succeeded: plan.succeeded, responses })
}

fn compare_one(compare: &Compare, kv: &KeyValue) -> bool {
    let order = match &compare.target {
        CompareTarget::Version(version) => kv.version.cmp(version),
        CompareTarget::Create(revision) => kv.create_revision.cmp(revision),
        CompareTarget::Mod(revision) => kv.mod_revision.cmp(revision),
        CompareTarget::Value(value) => kv.value.cmp(value),
        CompareTarget::Lease(lease) => kv.lease.cmp(lease),
    };
    match compare.result {
        CompareResult::Equal => order.is_eq(),
        CompareResult::Greater => order.is_gt(),
        CompareResult::Less => order.is_lt(),
        CompareResult::NotEqual => order.is_ne(),
    }
}
