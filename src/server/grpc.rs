//! etcd's v3 gRPC API, served for one member of the embedded cluster.
//!
//! Each service is a file; all of them share one [`Api`], which is the member's door and little
//! else. What a request means is the store's to know, what a majority agrees on the cluster's:
//! here is only what etcd's own API layer does (its `api/v3rpc`, `api/v3lock` and
//! `api/v3election`), with its texts and codes, because clients match these.
//!
//! The API is that of [`VERSION`].

mod auth;
mod bells;
mod cluster;
mod convert;
mod election;
mod header;
mod kv;
mod large;
mod lease;
mod lock;
mod maintenance;
mod messages;
mod recipe;
mod status;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod unary;
mod watch;

use std::sync::Arc;

use etcd_client::proto::{PbClusterServer, PbKvServer, PbLeaseServer, PbMaintenanceServer, PbWatchServer};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::metadata::MetadataMap;
use tonic::transport::Server;
use tonic::transport::server::Router;
use tonic::{Request, Status};
use tower::layer::util::{Identity, Stack};
use tower::util::MapResponseLayer;

use self::auth::AuthServer;
use self::bells::Bells;
use self::election::Election;
use self::lock::Lock;
use self::unary::Serving;
use super::door::Door;
use crate::embedded::Refusal;
use crate::{domain, mvcc};

/// The etcd whose API this is. Members report it as theirs, for clients look at it to learn
/// what they may ask; what of it is missing here answers Unimplemented.
const VERSION: &str = "3.5.30";

/// The largest request that is proposed, in bytes (etcd's default of `--max-request-bytes`).
const MAX_REQUEST: usize = 3 * 512 * 1024;

/// What a message may be larger than its request (etcd `api/v3rpc/grpc.go`, `grpcOverheadBytes`).
const OVERHEAD: usize = 512 * 1024;

/// The largest message that is taken, and the size watch answers are fragmented at.
const MAX_MESSAGE: usize = MAX_REQUEST + OVERHEAD;

/// How many calls that their caller gave up may wait to be noticed on a connection; beyond that
/// the connection is closed. etcd has no such limit, and a client may give up a thousand at once.
const RESETS: usize = 1 << 16;

/// The services of one member.
pub(super) type Services = Router<Stack<MapResponseLayer<large::Reword>, Identity>>;

/// The API of the member behind `door`, ready to be put on connections. It ends when `shutdown`
/// is cancelled: requests that wait answer that the server stopped, and streams end.
///
/// Has to be called in a runtime; the one task that is begun there is held by `tasks`.
pub(super) fn routes(door: Door, shutdown: &CancellationToken, tasks: &TaskTracker) -> Services {
    let api = Api::new(door, shutdown, tasks);
    // etcd sets no limit to streams of a connection: a client may have a lock request and a
    // watch for each of a thousand locks.
    Server::builder()
        .layer(MapResponseLayer::new(large::in_etcds_words as large::Reword))
        .max_concurrent_streams(u32::MAX)
        .http2_max_pending_accept_reset_streams(Some(RESETS))
        .tcp_nodelay(true)
        .add_service(PbKvServer::new(api.clone()).max_decoding_message_size(MAX_MESSAGE))
        .add_service(PbWatchServer::new(api.clone()).max_decoding_message_size(MAX_MESSAGE))
        .add_service(PbLeaseServer::new(api.clone()).max_decoding_message_size(MAX_MESSAGE))
        .add_service(PbClusterServer::new(api.clone()).max_decoding_message_size(MAX_MESSAGE))
        .add_service(PbMaintenanceServer::new(api.clone()).max_decoding_message_size(MAX_MESSAGE))
        .add_service(AuthServer)
        .add_service(Serving::new(api.clone(), Lock))
        .add_service(Serving::new(api, Election))
}

/// What every service has. Cheap to clone.
#[derive(Clone, Debug)]
struct Api {
    door: Door,
    bells: Arc<Bells>,
    /// Cancelled when the member stops.
    ended: CancellationToken,
    /// What goes on after its caller went away.
    tasks: TaskTracker,
    /// Where that runs.
    runtime: Handle,
}

impl Api {
    fn new(door: Door, shutdown: &CancellationToken, tasks: &TaskTracker) -> Self {
        let bells = Arc::new(Bells::new(&door));
        let ended = shutdown.child_token();
        tasks.spawn(Arc::clone(&bells).run(door.clone(), ended.clone()));
        Self { door, bells, ended, tasks: tasks.clone(), runtime: Handle::current() }
    }

    /// Whether the member takes this request at all (etcd `api/v3rpc/interceptor.go`).
    fn admit<T>(&self, request: &Request<T>) -> Result<(), Status> {
        if self.door.board.borrow().learner {
            return Err(status::refusal(Refusal::NotForLearners));
        }
        self.admit_to_learner(request)
    }

    /// The same for the few requests that a learner takes, too.
    fn admit_to_learner<T>(&self, request: &Request<T>) -> Result<(), Status> {
        if wants_leader(request.metadata()) && self.door.board.borrow().leader.is_none() {
            return Err(status::refusal(Refusal::NoLeader));
        }
        Ok(())
    }

    /// Has the cluster agree on a request. `size` is that of the message it came in.
    async fn write(&self, request: mvcc::Request, size: usize) -> Result<mvcc::Response, Status> {
        request.check().map_err(status::store)?;
        if size > MAX_REQUEST {
            return Err(status::too_large());
        }
        self.door.write(request).await.map_err(status::refusal)
    }

    /// Waits until a read of the store is linearizable.
    async fn barrier(&self) -> Result<(), Status> {
        self.door.barrier().await.map_err(status::refusal)
    }

    /// The store's revision.
    fn revision(&self) -> domain::Revision {
        self.door.store().revision()
    }
}

/// Whether the caller asks to be refused rather than served without a leader.
fn wants_leader(metadata: &MetadataMap) -> bool {
    metadata.get("hasleader").is_some_and(|value| value == "true")
}

/// The cluster answered something else than it was asked: never, and not worth a panic.
fn mismatch() -> Status {
    Status::internal("lockscope: the answer is not of the request's kind")
}
