//! The Lock and Election services in memory, step for step what etcd's do on its own client
//! (`concurrency/mutex.go`, `election.go`, `key.go`).

use tonic::Status;

use super::{Memory, NAME, header};
use crate::domain::{Key, KeyRange, KeyValue, LeaderKey, LeaseId, Revision};
use crate::mvcc::{
    self, DeleteRequest, Op, OpResponse, PutRequest, RangeRequest, RangeResponse, Request, Response, TxnRequest,
    TxnResponse, queue,
};
use crate::port::error::{Asked, name_of, range_name};
use crate::port::services::{NOT_LEADER, SESSION_EXPIRED};
use crate::port::{Header, PortError, Services};

impl Services for Memory {
    async fn lock(&self, name: Key, lease: LeaseId) -> Result<Key, PortError> {
        let locked = async {
            let lease = self.session(lease)?;
            let (queue, key) = (queue::of(&name), queue::place(&name, lease));
            let Entered { created, .. } = self.enter(&key, lease, Vec::new())?;
            let place = Place { etcd: self, key: &key, created };
            self.wait_for_predecessors(queue, created).await?;
            let is_there = !self.read(&queue::get(&key))?.kvs.is_empty();
            place.keep();
            if is_there { Ok(key) } else { Err(Refused::Says(SESSION_EXPIRED)) }
        };
        locked.await.map_err(|refused| refused.to(format!("take lock {}", name_of(&name))))
    }

    async fn unlock(&self, key: Key) -> Result<Header, PortError> {
        let delete = DeleteRequest { range: KeyRange::single(&key), prev_kv: false };
        let txn = TxnRequest { success: vec![Op::Delete(delete)], ..TxnRequest::default() };
        let done =
            self.run(txn).map_err(|refused| refused.to(format!("unlock {}", range_name(&KeyRange::single(&key)))))?;
        Ok(header(done.revision))
    }

    async fn campaign(&self, name: Key, lease: LeaseId, value: Vec<u8>) -> Result<LeaderKey, PortError> {
        let doing = format!("campaign in election {}", name_of(&name));
        let won = async {
            let lease = self.session(lease)?;
            let (queue, key) = (queue::of(&name), queue::place(&name, lease));
            let Entered { created, said } = self.enter(&key, lease, value.clone())?;
            let place = Place { etcd: self, key: &key, created };
            if said.is_some_and(|said| said != value) {
                self.say(&key, created, lease, value)?;
            }
            self.wait_for_predecessors(queue, created).await?;
            place.keep();
            Ok(LeaderKey { name, key, created, lease })
        };
        won.await.map_err(|refused: Refused| refused.to(doing))
    }

    async fn proclaim(&self, leader: LeaderKey, value: Vec<u8>) -> Result<Header, PortError> {
        let LeaderKey { name, key, created, lease } = leader;
        let said = self.session(lease).and_then(|lease| self.say(&key, created, lease, value));
        said.map(header).map_err(|refused| refused.to(format!("proclaim in election {}", name_of(&name))))
    }

    async fn resign(&self, leader: LeaderKey) -> Result<Header, PortError> {
        let resigned = self.run(queue::delete_if(&leader.key, leader.created));
        let doing = || format!("resign from election {}", name_of(&leader.name));
        resigned.map(|done| header(done.revision)).map_err(|refused| refused.to(doing()))
    }

    async fn leader(&self, name: Key) -> Result<Option<KeyValue>, PortError> {
        let found = self.read(&queue::first(queue::of(&name)));
        let found = found.map_err(|refused| refused.to(format!("ask who leads election {}", name_of(&name))))?;
        Ok(found.kvs.first().map(|kv| KeyValue::clone(kv)))
    }
}

/// What a service refuses, in its words: their code is lost on the way through etcd's own client.
enum Refused {
    Store(mvcc::Error),
    Says(&'static str),
}

impl From<mvcc::Error> for Refused {
    fn from(error: mvcc::Error) -> Self {
        Self::Store(error)
    }
}

impl Refused {
    fn to(self, doing: String) -> PortError {
        let words = match self {
            Self::Store(error) => error.message(),
            Self::Says(words) => words.into(),
        };
        let status = etcd_client::Error::GRpcStatus(Status::unknown(words));
        Asked { endpoint: NAME, user: None, words: None, doing }.failed(&status)
    }
}

/// A key in the queue.
struct Entered {
    /// When it was created.
    created: Revision,
    /// What it says, when it was there before.
    said: Option<Vec<u8>>,
}

impl Memory {
    /// The lease to queue by: the caller's, or a new one. Nobody renews either.
    fn session(&self, lease: LeaseId) -> Result<LeaseId, Refused> {
        if !lease.is_none() {
            return Ok(lease);
        }
        let mut state = self.state();
        let lease = state.free_lease();
        self.apply_in(&mut state, &Request::Grant { lease, ttl: queue::SESSION_TTL })?;
        Ok(lease)
    }

    fn run(&self, txn: TxnRequest) -> Result<TxnResponse, Refused> {
        let request = Request::Txn(txn);
        request.check()?;
        match self.apply_in(&mut self.state(), &request)? {
            Response::Txn(done) => Ok(done),
            _ => Err(Refused::Says("the store gave another answer")),
        }
    }

    fn read(&self, ask: &RangeRequest) -> Result<RangeResponse, Refused> {
        ask.check()?;
        Ok(self.state().store.range(ask)?)
    }

    /// Puts the key in the queue, or finds that it is there.
    fn enter(&self, key: &Key, lease: LeaseId, value: Vec<u8>) -> Result<Entered, Refused> {
        let put = PutRequest { key: key.clone(), value, lease, ..PutRequest::default() };
        let (compare, success) = (vec![queue::created_at(key, Revision(0))], vec![Op::Put(put)]);
        let failure = vec![Op::Range(queue::get(key))];
        let done = self.run(TxnRequest { compare, success, failure })?;
        let before = done.responses.first().and_then(|response| match response {
            OpResponse::Range(found) => found.kvs.first(),
            _ => None,
        });
        Ok(match before {
            Some(kv) => Entered { created: kv.create_revision, said: Some(kv.value.clone()) },
            None => Entered { created: done.revision, said: None },
        })
    }

    /// Gives the key another value if it is still the one that was created then.
    fn say(&self, key: &Key, created: Revision, lease: LeaseId, value: Vec<u8>) -> Result<Revision, Refused> {
        let done = self.run(queue::put_if(key, created, value, lease))?;
        if done.succeeded { Ok(done.revision) } else { Err(Refused::Says(NOT_LEADER)) }
    }

    /// Waits until nothing in the queue was created before `own`.
    async fn wait_for_predecessors(&self, queue: KeyRange, own: Revision) -> Result<(), Refused> {
        let mut moved = self.0.revision.subscribe();
        let before = queue::last_before(queue, own);
        loop {
            // What moves the store while it is looked at, or later, is noticed.
            moved.borrow_and_update();
            if self.read(&before)?.kvs.is_empty() {
                return Ok(());
            }
            // The other end is this etcd's own.
            let _ = moved.changed().await;
        }
    }
}

/// Gives a caller's key up when it is dropped, unless it was kept: a caller who goes away while
/// it waits must not stay in the queue until its lease ends.
struct Place<'a> {
    etcd: &'a Memory,
    key: &'a Key,
    created: Revision,
}

impl Place<'_> {
    /// The key is kept.
    fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        // A key that is gone already is left alone.
        let _ = self.etcd.run(queue::delete_if(self.key, self.created));
    }
}
