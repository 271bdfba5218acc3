//! The Auth service, which answers that there are no users. A client that gives no user asks
//! for nothing here.

use std::convert::Infallible;
use std::task::{Context, Poll};

use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::server::NamedService;

use super::status;

/// Every call of the service: some of its messages are not to be had from etcd's client crate,
/// and none is needed to say no.
#[derive(Clone, Copy, Debug)]
pub(super) struct AuthServer;

impl NamedService for AuthServer {
    const NAME: &'static str = "etcdserverpb.Auth";
}

impl Service<http::Request<Body>> for AuthServer {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: http::Request<Body>) -> Self::Future {
        let no = status::missing("the embedded cluster has no users: leave user and password out");
        std::future::ready(Ok(no.into_http()))
    }
}
