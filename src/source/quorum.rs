//! Whether the members still agree with each other: a member that lost them knows the old leader
//! for a second or more, and answers what it can answer alone.

use std::time::Duration;

use tokio::time::sleep;

use crate::domain::KeyRange;
use crate::port::{Client, Etcd, PortError, Range, Want};

/// How often it is looked where no watch is open that would end.
const EVERY: Duration = Duration::from_secs(2);
/// How long an answer is waited for before the member is asked whether it still knows a leader.
const DOUBT: Duration = Duration::from_millis(500);

/// Asks for something that takes the quorum.
///
/// # Errors
/// When no answer comes within the deadline of the client, and as soon as the member says that it
/// knows no leader.
pub(super) async fn prove(client: &Client) -> Result<(), PortError> {
    let nothing = Range { want: Want::Keys, limit: 1, ..Range::of(KeyRange::single(b"\0")) };
    tokio::select! {
        page = client.range(nothing) => match page {
            // etcd looks whether somebody may read only when the quorum has agreed.
            Ok(_) | Err(PortError::Denied { .. }) => Ok(()),
            Err(error) => Err(error),
        },
        error = leader_lost(client) => Err(error),
    }
}

/// Ends when the quorum is lost; looks from time to time.
pub(super) async fn lost(client: Client) -> PortError {
    loop {
        sleep(EVERY).await;
        if let Err(error) = prove(&client).await {
            return error;
        }
    }
}

/// Ends when the member says that it knows no leader.
async fn leader_lost(client: &Client) -> PortError {
    loop {
        sleep(DOUBT).await;
        // Whoever may not ask for the status waits for the deadline.
        if client.status().await.is_ok_and(|(_, status)| status.leader.is_none()) {
            return PortError::NoLeader { doing: "read".into(), endpoint: client.endpoint().to_owned() };
        }
    }
}
