//! A server of etcd's API, asked with raw messages, its answers without what differs from server
//! to server.

use std::time::Duration;

use etcd_client::proto::{PbCompactionRequest, PbLeaseGrantRequest};
use etcd_client::proto::{
    PbCompactionResponse, PbLeaseLeasesRequest, PbLeaseLeasesResponse, PbLeaseRevokeRequest, PbLeaseTimeToLiveRequest,
    PbLeaseTimeToLiveResponse, PbRangeResponse, PbResponseHeader, PbTxnResponse, PbWatchRequest, PbWatchRequestUnion,
    PbWatchResponse,
};
use lockscope::domain::{Key, LeaseId, Revision};
use lockscope::mvcc::{RangeRequest, Request, TxnRequest, Watch};
use prost::Message;
use tokio::sync::mpsc;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic::{IntoRequest, Status, Streaming};
use tonic_prost::ProstCodec;

use crate::wire::{self, Answer};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// What is wrong: the code's number and the text.
pub type Refusal = (i32, String);

/// See the module.
#[derive(Clone, Debug)]
pub struct Server(Grpc<Channel>);

impl Server {
    /// Connects to an endpoint.
    pub async fn connect(endpoint: &str) -> Self {
        let endpoint = Endpoint::from_shared(endpoint.to_owned()).expect("it is a URL");
        Self(Grpc::new(endpoint.connect().await.expect("the server runs")))
    }

    /// Asks for something that may change the store.
    pub async fn apply(&mut self, request: &Request) -> Result<Answer, Refusal> {
        Ok(match request {
            Request::Put(put) => Answer::Put(self.call("KV/Put", wire::put(put)).await?),
            Request::Delete(delete) => Answer::Delete(self.call("KV/DeleteRange", wire::delete(delete)).await?),
            Request::Txn(txn) => Answer::Txn(self.txn(txn).await?),
            Request::Compact { revision, physical } => {
                let ask = PbCompactionRequest { revision: revision.0, physical: *physical };
                Answer::Compact(self.call::<_, PbCompactionResponse>("KV/Compact", ask).await?)
            }
            Request::Grant { lease, ttl } => {
                let ask = PbLeaseGrantRequest { ttl: *ttl, id: lease.0 };
                Answer::Grant(self.call("Lease/LeaseGrant", ask).await?)
            }
            Request::Revoke { lease } => {
                Answer::Revoke(self.call("Lease/LeaseRevoke", PbLeaseRevokeRequest { id: lease.0 }).await?)
            }
        })
    }

    /// Reads a range.
    pub async fn range(&mut self, ask: &RangeRequest) -> Result<PbRangeResponse, Refusal> {
        self.call("KV/Range", wire::range(ask)).await
    }

    /// The granted TTL of a lease and its keys in order; 0 and none when there is no such lease.
    pub async fn lease(&mut self, lease: LeaseId) -> Result<(i64, Vec<Key>), Refusal> {
        let ask = PbLeaseTimeToLiveRequest { id: lease.0, keys: true };
        let answer: PbLeaseTimeToLiveResponse = self.call("Lease/LeaseTimeToLive", ask).await?;
        let mut keys: Vec<_> = answer.keys.into_iter().map(Key::from).collect();
        keys.sort();
        Ok((answer.granted_ttl, keys))
    }

    /// The leases in order of their ids.
    pub async fn leases(&mut self) -> Result<Vec<LeaseId>, Refusal> {
        let answer: PbLeaseLeasesResponse = self.call("Lease/LeaseLeases", PbLeaseLeasesRequest {}).await?;
        let mut ids: Vec<_> = answer.leases.into_iter().map(|lease| LeaseId(lease.id)).collect();
        ids.sort();
        Ok(ids)
    }

    /// Opens a stream with one watch on it.
    pub async fn watch(&mut self, watch: &Watch, from: Revision) -> WatchStream {
        let (requests, mut to_send) = mpsc::channel(1);
        requests.send(create(watch, from)).await.expect("the stream is not closed");
        let outgoing = futures::stream::poll_fn(move |context| to_send.poll_recv(context));
        self.0.ready().await.expect("the server runs");
        let path = PathAndQuery::from_static("/etcdserverpb.Watch/Watch");
        let answers = self.0.streaming(outgoing.into_request(), path, ProstCodec::default()).await;
        WatchStream { answers: answers.expect("the stream opens").into_inner(), _open: requests }
    }

    async fn txn(&mut self, txn: &TxnRequest) -> Result<PbTxnResponse, Refusal> {
        self.call("KV/Txn", wire::txn(txn)).await
    }

    async fn call<A, B>(&mut self, name: &str, ask: A) -> Result<B, Refusal>
    where
        A: Message + Send + Sync + 'static,
        B: Message + Answered + Default + Send + Sync + 'static,
    {
        let path = PathAndQuery::try_from(format!("/etcdserverpb.{name}")).expect("it is a path");
        self.0.ready().await.expect("the server runs");
        let codec = ProstCodec::<A, B>::default();
        let call = tokio::time::timeout(PATIENCE, self.0.unary(ask.into_request(), path, codec));
        match call.await.unwrap_or_else(|_| panic!("{name}: no answer")) {
            Ok(answer) => Ok(comparable(answer.into_inner())),
            Err(status) => Err(refusal(&status)),
        }
    }
}

fn refusal(status: &Status) -> Refusal {
    (i32::from(status.code()), status.message().to_owned())
}

fn create(watch: &Watch, from: Revision) -> PbWatchRequest {
    #[expect(clippy::default_trait_access, reason = "the client does not export the type's name")]
    let mut union = PbWatchRequestUnion::CreateRequest(Default::default());
    if let PbWatchRequestUnion::CreateRequest(create) = &mut union {
        create.key = watch.range.start.to_vec();
        create.range_end = watch.range.end.to_vec();
        create.start_revision = from.0;
        create.prev_kv = watch.prev_kv;
        create.filters.extend(watch.no_put.then_some(0));
        create.filters.extend(watch.no_delete.then_some(1));
    }
    PbWatchRequest { request_union: Some(union) }
}

/// An open watch.
#[derive(Debug)]
pub struct WatchStream {
    answers: Streaming<PbWatchResponse>,
    /// Closing it would end the stream.
    _open: mpsc::Sender<PbWatchRequest>,
}

impl WatchStream {
    /// The next message.
    pub async fn next(&mut self) -> PbWatchResponse {
        let answer = tokio::time::timeout(PATIENCE, self.answers.message()).await;
        answer.expect("the watch tells in time").expect("the stream lives").expect("it goes on")
    }
}

/// An answer with a header.
pub trait Answered {
    fn header(&mut self) -> &mut Option<PbResponseHeader>;
}

/// Leaves of the header what a store knows.
fn comparable<T: Answered>(mut answer: T) -> T {
    let header = answer.header();
    assert!(header.as_ref().is_some_and(|header| header.cluster_id != 0 && header.member_id != 0), "{header:?}");
    *header = header.take().map(|header| wire::header(Revision(header.revision)));
    answer
}

macro_rules! answered {
    ($($name:ident),+) => {$(
        impl Answered for etcd_client::proto::$name {
            fn header(&mut self) -> &mut Option<PbResponseHeader> {
                &mut self.header
            }
        }
    )+};
}
answered!(
    PbPutResponse,
    PbDeleteResponse,
    PbTxnResponse,
    PbRangeResponse,
    PbCompactionResponse,
    PbLeaseGrantResponse,
    PbLeaseRevokeResponse,
    PbLeaseTimeToLiveResponse,
    PbLeaseLeasesResponse
);
