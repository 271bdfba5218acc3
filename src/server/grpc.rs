//! Stub.
use super::door::Door;
use tokio_util::sync::CancellationToken;
pub(super) fn routes(_door: Door, _shutdown: CancellationToken) -> tonic::service::Routes {
    tonic::service::Routes::default()
}
