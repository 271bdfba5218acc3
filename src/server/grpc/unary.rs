//! Services that are not generated: the little that tonic's generated code does, by hand. A
//! service looks at the path of a call and hands it to a function.

use std::convert::Infallible;
use std::future::Future;
use std::task::{Context, Poll};

use futures::Stream;
use futures::future::BoxFuture;
use prost::Message;
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::server::{Grpc, NamedService};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;
use tower::service_fn;

use super::{Api, MAX_MESSAGE};

/// A service that is not generated.
pub(super) trait ByHand: Clone + Send + Sync + 'static {
    /// Its full name.
    const NAME: &'static str;

    /// Answers the call of one of its methods.
    fn answer(api: Api, method: &str, call: http::Request<Body>) -> impl Future<Output = http::Response<Body>> + Send;
}

/// What tonic is given to serve one of them.
#[derive(Clone, Debug)]
pub(super) struct Serving<S>(Api, S);

impl<S: ByHand> Serving<S> {
    /// Has it served for the member of `api`.
    pub fn new(api: Api, service: S) -> Self {
        Self(api, service)
    }
}

impl<S: ByHand> NamedService for Serving<S> {
    const NAME: &'static str = S::NAME;
}

impl<S: ByHand> Service<http::Request<Body>> for Serving<S> {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Answer;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: http::Request<Body>) -> Answer {
        let api = self.0.clone();
        Box::pin(async move {
            // A path is `/<service>/<method>`.
            let method = call.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
            Ok(S::answer(api, &method, call).await)
        })
    }
}

/// What a service answers with, in the end.
pub(super) type Answer = BoxFuture<'static, Result<http::Response<Body>, Infallible>>;

/// Answers a call of one message with one message.
pub(super) async fn unary<Ask, Told, Work, Doing>(call: http::Request<Body>, work: Work) -> http::Response<Body>
where
    Ask: Message + Default + 'static,
    Told: Message + 'static,
    Work: FnMut(Request<Ask>) -> Doing,
    Doing: Future<Output = Result<Response<Told>, Status>>,
{
    let codec = ProstCodec::<Told, Ask>::default();
    Grpc::new(codec).max_decoding_message_size(MAX_MESSAGE).unary(service_fn(work), call).await
}

/// Answers a call of one message with a stream of them.
pub(super) async fn streaming<Ask, Told, Stream_, Work, Doing>(
    call: http::Request<Body>,
    work: Work,
) -> http::Response<Body>
where
    Ask: Message + Default + 'static,
    Told: Message + 'static,
    Stream_: Stream<Item = Result<Told, Status>> + Send + 'static,
    Work: FnMut(Request<Ask>) -> Doing,
    Doing: Future<Output = Result<Response<Stream_>, Status>>,
{
    let codec = ProstCodec::<Told, Ask>::default();
    Grpc::new(codec).max_decoding_message_size(MAX_MESSAGE).server_streaming(service_fn(work), call).await
}

/// The answer to a call that the service does not have.
pub(super) fn unimplemented(call: &http::Request<Body>) -> http::Response<Body> {
    Status::unimplemented(format!("unknown method {}", call.uri().path())).into_http()
}
