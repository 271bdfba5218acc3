//! Calls whose answers are large, made past etcd-client's own stubs.
//!
//! Those stubs read every answer into generated types, and take no setting for how large it may be
//! where leases are asked for. The requests are etcd-client's all the same.

use std::marker::PhantomData;

use etcd_client::proto::{
    PbLeaseLeasesRequest, PbLeaseLeasesResponse, PbLeaseTimeToLiveRequest, PbLeaseTimeToLiveResponse, PbRangeRequest,
    PbWatchRequest,
};
use futures::stream::unfold;
use prost::Message;
use prost::bytes::Buf as _;
use tokio::sync::mpsc;
use tonic::client::Grpc;
use tonic::codec::{BufferSettings, Codec, DecodeBuf, Decoder, Streaming};
use tonic::codegen::Bytes;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::{Request, Status};
use tonic_prost::{ProstCodec, ProstEncoder};

use super::WatchAnswer;
use super::answers::{RawPage, watch_answer};
use super::wire::Wire;

/// Larger than anything an etcd sends: gRPC in Go stops at 2 GiB. The default of 4 MiB is less
/// than a page of a list or what a watch tells after a pause.
pub(super) const LARGEST_MESSAGE: usize = i32::MAX as usize;

/// The path of the call that opens a watch stream.
pub(super) const WATCH: &str = "/etcdserverpb.Watch/Watch";

/// How many questions may wait on a watch stream.
const QUESTIONS: usize = 100;

/// Makes these calls on one connection. Clones share it.
#[derive(Clone)]
pub(super) struct Direct(Wire);

/// What is said of an answer that is none.
pub(super) const UNREADABLE: &str = "the answer cannot be read: it is not what etcd answers to this question";

/// Both directions of a watch stream.
pub(super) type Watching = (mpsc::Sender<PbWatchRequest>, Streaming<WatchAnswer>);

impl Direct {
    pub const fn new(wire: Wire) -> Self {
        Self(wire)
    }

    pub async fn range(&self, ask: PbRangeRequest) -> Result<RawPage, Status> {
        self.unary(ask, "/etcdserverpb.KV/Range", ReadBy::new(RawPage::of)).await
    }

    pub async fn leases(&self) -> Result<PbLeaseLeasesResponse, Status> {
        self.unary(PbLeaseLeasesRequest {}, "/etcdserverpb.Lease/LeaseLeases", ProstCodec::default()).await
    }

    pub async fn time_to_live(&self, ask: PbLeaseTimeToLiveRequest) -> Result<PbLeaseTimeToLiveResponse, Status> {
        self.unary(ask, "/etcdserverpb.Lease/LeaseTimeToLive", ProstCodec::default()).await
    }

    /// Opens a stream with a first question on it.
    pub async fn watch(&self, first: PbWatchRequest) -> Result<Watching, Status> {
        let (asks, asked) = mpsc::channel(QUESTIONS);
        let asked = unfold((Some(first), asked), |(first, mut rest)| async move {
            let next = match first {
                Some(first) => first,
                None => rest.recv().await?,
            };
            Some((next, (None, rest)))
        });
        let mut grpc = self.ready().await?;
        let path = PathAndQuery::from_static(WATCH);
        let answers = grpc.streaming(Request::new(asked), path, ReadBy::new(|message| watch_answer(&message))).await?;
        Ok((asks, answers.into_inner()))
    }

    async fn unary<C>(&self, ask: C::Encode, path: &'static str, codec: C) -> Result<C::Decode, Status>
    where
        C: Codec<Encode: Send + Sync, Decode: Send + Sync> + Send,
    {
        let answer = self.ready().await?.unary(Request::new(ask), PathAndQuery::from_static(path), codec).await;
        answer.map(tonic::Response::into_inner)
    }

    async fn ready(&self) -> Result<Grpc<Wire>, Status> {
        let mut grpc = Grpc::new(self.0.clone()).max_decoding_message_size(LARGEST_MESSAGE);
        grpc.ready().await.map_err(Status::from_error)?;
        Ok(grpc)
    }
}

/// Requests as prost writes them, answers as a function reads them.
struct ReadBy<Q, A> {
    read: Read<A>,
    asked: PhantomData<Q>,
}

/// Reads a message; `None` when it is another.
type Read<A> = fn(Bytes) -> Option<A>;

impl<Q, A> ReadBy<Q, A> {
    const fn new(read: Read<A>) -> Self {
        Self { read, asked: PhantomData }
    }
}

impl<Q: Message + 'static, A: Send + 'static> Codec for ReadBy<Q, A> {
    type Encode = Q;
    type Decode = A;
    type Encoder = ProstEncoder<Q>;
    type Decoder = Reader<A>;

    fn encoder(&mut self) -> Self::Encoder {
        ProstEncoder::new(BufferSettings::default())
    }

    fn decoder(&mut self) -> Reader<A> {
        Reader(self.read)
    }
}

struct Reader<A>(Read<A>);

impl<A> Decoder for Reader<A> {
    type Item = A;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<A>, Status> {
        // A message is handed over whole and in one piece, so nothing is copied here.
        let message = from.copy_to_bytes(from.remaining());
        (self.0)(message).map(Some).ok_or_else(|| Status::internal(UNREADABLE))
    }
}
