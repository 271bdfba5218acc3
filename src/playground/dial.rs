//! How a client comes by a connection, and by another one when it is lost.

use std::future::Future;
use std::time::Duration;

use crate::config::Connection;
use crate::port::{Client, Pool, Services};

/// How long a call waits at most by the wall's clock. Long: what counts is the cluster's clock,
/// which may run slowly or stand.
const PATIENCE: Duration = Duration::from_hours(24);

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

/// The members of a cluster, those of each client in another order, so that clients are spread
/// over members as in real life.
#[derive(Clone, Debug)]
pub struct Members {
    pools: Vec<Pool>,
}

impl Members {
    /// The members that these settings name.
    pub fn new(connection: &Connection) -> Self {
        let turned = |by| {
            let mut connection = connection.clone();
            connection.endpoints.rotate_left(by);
            Pool::new(connection)
        };
        Self { pools: (0..connection.endpoints.len().max(1)).map(turned).collect() }
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
