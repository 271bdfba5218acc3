//! What a client is told whose message is larger than the server takes: Go's library has another
//! code and other words for it than the one here.

use tonic::body::Body;
use tonic::codegen::http;
use tonic::{Code, Status};

use super::MAX_MESSAGE;

/// Rewrites an answer.
pub(super) type Reword = fn(http::Response<Body>) -> http::Response<Body>;

/// An answer as it came, or the refusal of a message that is too large as etcd's clients know it
/// (grpc-go `rpc_util.go`, `recvAndDecompress`).
pub(super) fn in_etcds_words(answer: http::Response<Body>) -> http::Response<Body> {
    // An answer with something in it has its status at the end, and is not looked at.
    if !answer.headers().contains_key(Status::GRPC_STATUS) {
        return answer;
    }
    match Status::from_header_map(answer.headers()) {
        Some(status) if status.code() == Code::OutOfRange => match found(status.message()) {
            Some(size) => {
                let why = format!("grpc: received message larger than max ({size} vs. {MAX_MESSAGE})");
                Status::resource_exhausted(why).into_http()
            }
            None => answer,
        },
        _ => answer,
    }
}

/// The size in this library's words.
fn found(message: &str) -> Option<u64> {
    let rest = message.strip_prefix("Error, decoded message length too large: found ")?;
    rest.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(status: &Status) -> (Code, String) {
        let answer = in_etcds_words(status.clone().into_http());
        let told = Status::from_header_map(answer.headers()).expect("it is a refusal");
        (told.code(), told.message().to_owned())
    }

    #[test]
    fn only_the_refusal_of_a_large_message_changes() {
        let large = "Error, decoded message length too large: found 3000014 bytes, the limit is: 2097152 bytes";
        let expected = "grpc: received message larger than max (3000014 vs. 2097152)";
        assert_eq!(told(&Status::out_of_range(large)), (Code::ResourceExhausted, expected.into()));
        for status in [
            Status::out_of_range("etcdserver: mvcc: required revision has been compacted"),
            Status::unavailable(large),
            Status::ok(""),
        ] {
            assert_eq!(told(&status), (status.code(), status.message().to_owned()));
        }
    }
}
