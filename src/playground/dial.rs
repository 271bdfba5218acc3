//! How a client comes by a connection, and by another one when it is lost.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::config::Connection;
use crate::port::{Client, Pool, Services};

/// How long a call waits at most by the wall's clock. Long: what counts is the cluster's clock,
/// which may run slowly or stand.
const PATIENCE: Duration = Duration::from_hours(24);

/// How many clients of a company dial at the same time; the others wait for their turn.
const DIALLING: usize = 64;

/// How many connections a company has at most. Beyond that clients share them: with one for each
/// of a thousand clients, and a member's end of it in the same program, most machines' limit of
/// open files would be reached.
const LINES: usize = 96;

/// Where connections come from.
pub trait Dial: Clone + Send + Sync + 'static {
    /// What is connected to.
    type Etcd: Services;

    /// A connection to a member that answers; rather not to `lost`, where one was just lost.
    ///
    /// # Errors
    /// Why there is none, in words.
    fn dial(&self, lost: Option<&str>) -> impl Future<Output = Result<Line<Self::Etcd>, String>> + Send;
}

/// A connection, and where it leads.
#[derive(Clone, Debug)]
pub struct Line<E> {
    /// The connection.
    pub etcd: E,
    /// The endpoint at its other end.
    pub endpoint: String,
}

/// A way to connect that waits until not too many others connect.
#[derive(Clone, Debug)]
pub struct Limited<D> {
    dial: D,
    limit: Arc<Semaphore>,
}

impl Limited<()> {
    /// What those share that are not to dial all at once.
    pub fn limit() -> Arc<Semaphore> {
        Arc::new(Semaphore::new(DIALLING))
    }
}

impl<D: Dial> Limited<D> {
    /// This way, within that limit.
    pub const fn new(dial: D, limit: Arc<Semaphore>) -> Self {
        Self { dial, limit }
    }
}

impl<D: Dial> Dial for Limited<D> {
    type Etcd = D::Etcd;

    async fn dial(&self, lost: Option<&str>) -> Result<Line<D::Etcd>, String> {
        // It is never closed, and if it were there would be no limit.
        let _turn = self.limit.acquire().await;
        self.dial.dial(lost).await
    }
}

/// The members of a cluster, those of each client in another order, so that clients are spread
/// over members as in real life. The first hundred or so have a connection each.
#[derive(Clone, Debug)]
pub struct Members {
    connection: Connection,
    pools: Vec<Pool>,
}

impl Members {
    /// The members that these settings name.
    pub fn new(connection: &Connection) -> Self {
        let members = connection.endpoints.len().max(1);
        let turned = |number: usize| {
            let mut connection = connection.clone();
            connection.endpoints.rotate_left(number % members);
            Pool::new(connection)
        };
        // As many for each order of members.
        Self { connection: connection.clone(), pools: (0..LINES.next_multiple_of(members)).map(turned).collect() }
    }

    /// The one member that the `number`th client is at, for a client that reaches no other.
    pub fn only(&self, number: u32) -> Pool {
        let mut connection = self.connection.clone();
        let members = connection.endpoints.len().max(1);
        connection.endpoints.rotate_left(number as usize % members);
        connection.endpoints.truncate(1);
        Pool::new(connection)
    }

    /// As the `number`th client sees them.
    pub fn of(&self, number: u32) -> Pool {
        self.pools[number as usize % self.pools.len()].clone()
    }
}

impl Dial for Pool {
    type Etcd = Client;

    async fn dial(&self, lost: Option<&str>) -> Result<Line<Client>, String> {
        match self.connect_any_but(lost).await {
            Ok(connected) => {
                let etcd = connected.client.with_deadline(PATIENCE);
                Ok(Line { endpoint: etcd.endpoint().to_owned(), etcd })
            }
            Err(failed) => Err(failed.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
        }
    }
}
