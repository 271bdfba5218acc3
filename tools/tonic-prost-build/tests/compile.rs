//! What comes out for a small service with every kind of streaming.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::fs;
use std::io;
use std::path::Path;

use tonic_prost_build::{Builder, configure};

const TICKER: &str = r#"
syntax = "proto3";
package ticker;

import "shared/price.proto";
import "google/protobuf/empty.proto";

// Tells prices.
service Ticker {
  // Tells one price.
  rpc Once(Symbol) returns (shared.Price) {}
  rpc Follow(Symbol) returns (stream shared.Price) {}
  rpc Feed(stream shared.Price) returns (google.protobuf.Empty) {}
  rpc Trade(stream Symbol) returns (stream shared.Price) {
    option deprecated = true;
  }
}

// What is traded.
message Symbol {
  string name = 1;
}
"#;

const PRICE: &str = r#"
syntax = "proto3";
package shared;

message Price {
  int64 cents = 1;
}
"#;

/// Compiles the two files above and gives the text of the package `ticker` and of `shared`.
fn generated(builder: Builder) -> (String, String) {
    let (protos, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir(protos.path().join("shared")).unwrap();
    fs::write(protos.path().join("shared/price.proto"), PRICE).unwrap();
    fs::write(protos.path().join("ticker.proto"), TICKER).unwrap();
    compile(builder, protos.path(), out.path()).unwrap();
    let text = |package: &str| fs::read_to_string(out.path().join(package)).unwrap();
    (text("ticker.rs"), text("shared.rs"))
}

fn compile(builder: Builder, protos: &Path, out: &Path) -> io::Result<()> {
    builder.out_dir(out).compile_protos(&[protos.join("ticker.proto")], &[protos])
}

/// The text without white space and trailing commas: line breaks are the formatter's affair.
fn dense(text: &str) -> String {
    let text: String = text.split_whitespace().collect();
    [">", ")", "}"].iter().fold(text, |text, close| text.replace(&format!(",{close}"), close))
}

#[track_caller]
fn assert_has(text: &str, part: &str) {
    assert!(dense(text).contains(&dense(part)), "no {part:?} in\n{text}");
}

#[test]
fn messages_become_structs_with_their_comments_and_each_package_a_file() {
    let (ticker, shared) = generated(configure());
    assert_has(&ticker, "/// What is traded.");
    assert_has(&ticker, "pub struct Symbol { #[prost(string, tag = \"1\")] pub name: ::prost::alloc::string::String }");
    assert_has(&shared, "pub struct Price { #[prost(int64, tag = \"1\")] pub cents: i64 }");
}

#[test]
fn clients_stream_in_the_directions_the_proto_says() {
    let (ticker, _) = generated(configure().build_server(false));
    assert_has(&ticker, "/// Tells prices. #[derive(Debug, Clone)] pub struct TickerClient<T>");
    assert_has(&ticker, "/// Tells one price. pub async fn once");
    assert_has(&ticker, "http::uri::PathAndQuery::from_static(\"/ticker.Ticker/Once\")");
    assert_has(&ticker, "tonic_prost::ProstCodec::default()");
    let symbol = "request: impl tonic::IntoRequest<super::Symbol>";
    let symbols = "request: impl tonic::IntoStreamingRequest<Message = super::Symbol>";
    let prices = "request: impl tonic::IntoStreamingRequest<Message = super::super::shared::Price>";
    for (method, request, response) in [
        ("once", symbol, "super::super::shared::Price"),
        ("follow", symbol, "tonic::codec::Streaming<super::super::shared::Price>"),
        ("feed", prices, "()"),
        ("trade", symbols, "tonic::codec::Streaming<super::super::shared::Price>"),
    ] {
        let result = format!("std::result::Result<tonic::Response<{response}>, tonic::Status>");
        assert_has(&ticker, &format!("pub async fn {method}(&mut self, {request}) -> {result}"));
    }
    assert_has(&ticker, "#[deprecated] pub async fn trade");
}

#[test]
fn servers_stream_in_the_directions_the_proto_says() {
    let (ticker, _) = generated(configure().build_client(false));
    assert_has(&ticker, "pub trait Ticker: std::marker::Send + std::marker::Sync + 'static");
    assert_has(&ticker, "async fn once(&self, request: tonic::Request<super::Symbol>)");
    assert_has(&ticker, "type FollowStream: tonic::codegen::tokio_stream::Stream<");
    assert_has(&ticker, "async fn feed(&self, request: tonic::Request<tonic::Streaming<super::super::shared::Price>>)");
    assert_has(&ticker, "type TradeStream: tonic::codegen::tokio_stream::Stream<");
    assert_has(&ticker, "pub const SERVICE_NAME: &str = \"ticker.Ticker\";");
}

#[test]
fn only_the_sides_that_are_asked_for_are_written() {
    for (client, server) in [(true, true), (true, false), (false, true), (false, false)] {
        let (ticker, _) = generated(configure().build_client(client).build_server(server));
        assert_eq!(ticker.contains("pub mod ticker_client"), client, "client with {client}, {server}");
        assert_eq!(ticker.contains("pub mod ticker_server"), server, "server with {client}, {server}");
    }
}

#[test]
fn an_error_says_which_file_and_where() {
    let folder = tempfile::tempdir().unwrap();
    let missing = compile(configure(), folder.path(), folder.path()).unwrap_err().to_string();
    assert!(missing.contains("ticker.proto"), "{missing}");

    fs::write(folder.path().join("ticker.proto"), "syntax = \"proto3\";\nmessage A {\n  B b = 1;\n}\n").unwrap();
    let wrong = compile(configure(), folder.path(), folder.path()).unwrap_err().to_string();
    assert!(wrong.contains("ticker.proto:3:3") && wrong.contains("'B'"), "{wrong}");
}
