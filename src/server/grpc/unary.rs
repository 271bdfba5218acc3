//! Services that are not generated: the little that tonic's generated code does, by hand. A
//! service looks at the path of a call and hands it to a function.

use std::convert::Infallible;
use std::future::Future;

use futures::Stream;
use futures::future::BoxFuture;
use prost::Message;
use tonic::body::Body;
use tonic::codegen::http;
use tonic::server::Grpc;
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;
use tower::service_fn;

use super::MAX_MESSAGE;

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
pub(super) fn unimplemented(status: Status) -> http::Response<Body> {
    status.into_http()
}
