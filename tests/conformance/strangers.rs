//! Servers that are no etcd: an error that names the endpoint and says what is wrong, in time.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use lockscope::config::Connection;
use lockscope::port::{Pool, PortError};
use tokio::time::Instant;

use crate::common::{block_on, settings};
use crate::support::etcd::free_port;

/// Serves each connection with `serve` until the test's process ends; the endpoint.
fn server(serve: impl Fn(TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let endpoint = format!("http://{}", listener.local_addr().expect("it is bound"));
    thread::spawn(move || listener.incoming().flatten().for_each(serve));
    endpoint
}

fn error_of(endpoint: &str, settings: Connection) -> (PortError, Duration) {
    let start = Instant::now();
    let mut failed = block_on(Pool::new(settings).connect_any()).err().expect("no etcd there");
    assert_eq!(failed.len(), 1);
    let failed = failed.remove(0);
    assert_eq!(failed.endpoint, endpoint);
    assert!(failed.error.to_string().contains(endpoint) && !failed.to_string().contains('\n'), "{failed}");
    (failed.error, start.elapsed())
}

#[test]
fn a_web_server_is_no_etcd() {
    let endpoint = server(|mut stream| {
        let _ = stream.read(&mut [0; 1024]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 4\r\n\r\noops");
    });
    let (error, took) = error_of(&endpoint, settings(std::slice::from_ref(&endpoint)));
    assert!(matches!(error, PortError::NotEtcd { .. }), "{error}");
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[test]
fn a_silent_server_costs_no_more_than_the_dial_timeout() {
    let held = std::sync::Mutex::new(Vec::new());
    let endpoint = server(move |stream| held.lock().expect("nobody panics with it").push(stream));
    let dial_timeout = Duration::from_millis(700);
    let (error, took) = error_of(&endpoint, Connection { dial_timeout, ..settings(std::slice::from_ref(&endpoint)) });
    assert!(matches!(error, PortError::Deadline { .. }), "{error}");
    assert!((dial_timeout..dial_timeout * 2).contains(&took), "{took:?}");
}

#[test]
fn a_server_that_closes_at_once_is_unreachable() {
    let endpoint = server(drop);
    let (error, took) = error_of(&endpoint, settings(std::slice::from_ref(&endpoint)));
    assert!(matches!(error, PortError::Unreachable { .. }), "{error}");
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[test]
fn nobody_listening_is_connection_refused() {
    let endpoint = format!("http://127.0.0.1:{}", free_port());
    let (error, _) = error_of(&endpoint, settings(std::slice::from_ref(&endpoint)));
    assert!(error.to_string().contains("connection refused"), "{error}");
}

#[test]
fn a_name_that_does_not_resolve_says_so() {
    let endpoint = "http://no-such-host.invalid:2379".to_owned();
    let (error, _) = error_of(&endpoint, settings(std::slice::from_ref(&endpoint)));
    assert!(matches!(error, PortError::Unreachable { .. }), "{error}");
}
