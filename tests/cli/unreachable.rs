//! Servers that are not there, do not answer, or are no etcd.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread;

use crate::program::lockscope;
use crate::store::{Store, json_on, on};
use crate::support::etcd::{free_port, newest};

/// Serves every connection with `answer` until the test ends; returns where.
fn server(answer: impl Fn(&mut std::net::TcpStream) + Send + Sync + Clone + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for connection in listener.incoming() {
            let Ok(mut connection) = connection else { return };
            let answer = answer.clone();
            thread::spawn(move || {
                answer(&mut connection);
                // Stays open until the other side goes.
                let _ = connection.read_to_end(&mut Vec::new());
            });
        }
    });
    address
}

#[test]
fn every_endpoint_that_cannot_be_connected_to_is_named_with_its_error() {
    let ports = [free_port(), free_port()];
    let endpoints = format!("127.0.0.1:{},127.0.0.1:{}", ports[0], ports[1]);
    for command in [&["ls"][..], &["show", "/a"], &["leases"], &["members"], &["watch"]] {
        let ended = lockscope([&["--endpoints", &endpoints], command].concat()).run().expect(2);
        assert!(ended.stdout.is_empty(), "{command:?}");
        for port in ports {
            assert_eq!(ended.stderr.matches(&port.to_string()).count(), 1, "{command:?}: {}", ended.stderr);
        }
        assert!(ended.stderr.contains("refused") && ended.stderr.contains("--endpoints"), "{}", ended.stderr);
    }
}

#[test]
fn a_server_that_is_no_etcd_is_told_so() {
    let http = server(|connection| {
        let _ = connection.read(&mut [0; 1024]);
        let _ = connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\n\x1b[2Jnot etcd\r\n");
    });
    let noise = server(|connection| {
        let _ = connection.write_all(b"220 \x1b]0;owned\x07 mail ready\r\n");
    });
    for address in [http, noise] {
        let ended = lockscope(["--endpoints", &address.to_string(), "ls"]).run().expect(2);
        assert!(ended.stderr.contains(&address.port().to_string()), "{}", ended.stderr);
        assert!(!ended.stderr.contains(['\x1b', '\x07']), "{:?}", ended.stderr);
    }
}

#[test]
fn a_server_that_says_nothing_is_given_up_on() {
    let silent = server(|_| {});
    let ended = lockscope(["--endpoints", &silent.to_string(), "--dial-timeout", "300ms", "ls"]).run().expect(2);
    assert!(ended.stderr.contains(&silent.port().to_string()), "{}", ended.stderr);
}

#[test]
fn control_c_ends_any_command_with_5() {
    let (asked, when_asked) = std::sync::mpsc::channel();
    let silent = server(move |connection| {
        let _ = connection.read(&mut [0; 24]);
        let _ = asked.send(());
    });
    for command in [&["ls"][..], &["show", "/a"], &["leases"], &["members"], &["info"], &["watch"]] {
        let endpoint = silent.to_string();
        let mut run = lockscope([&["--endpoints", &endpoint, "--dial-timeout", "60s"], command].concat()).start();
        when_asked.recv().expect("it connects");
        run.signal("INT");
        let ended = run.end().expect(5);
        assert!(ended.stdout.is_empty() && ended.stderr.is_empty(), "{command:?}: {}", ended.stderr);
    }
}

#[test]
fn a_file_for_tls_that_cannot_be_used_is_named_with_its_flag() {
    let run =
        |arguments: &[&str]| lockscope([&["--endpoints", "https://127.0.0.1:1"], arguments, &["ls"]].concat()).run();
    let ended = run(&["--cacert", "/nonexistent.pem"]).expect(6);
    assert!(ended.stderr.contains("--cacert /nonexistent.pem"), "{}", ended.stderr);
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let ended = run(&["--cacert", manifest]).expect(6);
    assert!(ended.stderr.contains(&format!("--cacert {manifest}")), "{}", ended.stderr);
    let ended = run(&["--cert", "/no/cert.pem", "--key", "/no/key.pem"]).expect(6);
    assert!(ended.stderr.contains("--cert /no/cert.pem"), "{}", ended.stderr);
    let ended = lockscope(["--cacert", "/nonexistent.pem", "info"]).run().expect(6);
    assert!(ended.stderr.contains("--cacert /nonexistent.pem"), "{}", ended.stderr);
}

#[test]
fn without_a_quorum_what_one_member_knows_is_told_as_that() {
    let Some(version) = newest("unreachable: without a quorum") else { return };
    let mut cluster = version.cluster().members(3).start();
    Store::of(&cluster).join("/a", 0x1000, 600);
    cluster.kill(0);
    cluster.kill(1);
    // Until the one that is left knows that it is alone, it promises a leader it does not have.
    let ended = loop {
        let ended = on(&cluster, ["ls", "", "--ttl", "none"]).run();
        if ended.code == Some(0) {
            break ended;
        }
        assert!(ended.stderr.contains("leader") || ended.stderr.contains("no answer"), "{}", ended.stderr);
    };
    assert!(ended.text().starts_with("/a\tqueue\theld\t"), "{}", ended.text());
    assert!(ended.stderr.contains("no leader"), "{}", ended.stderr);
    let ended = on(&cluster, ["ls", "--command-timeout", "1s"]).run().expect(1);
    assert!(ended.stderr.contains("lockscope ls ''"), "{}", ended.stderr);
}

#[test]
fn an_election_is_waited_for() {
    let Some(version) = newest("unreachable: an election is waited for") else { return };
    let mut cluster = version.cluster().members(3).start();
    Store::of(&cluster).join("/a", 0x1000, 600);
    let members = json_on(&cluster, ["members"]);
    let leader = members["members"].as_array().unwrap().iter().find(|member| member["role"] == "leader").unwrap();
    let leader = (0..3).find(|&n| leader["name"] == cluster.name(n)).unwrap();
    cluster.kill(leader);
    let ended = on(&cluster, ["ls", "", "--ttl", "none"]).run().expect(0);
    assert!(ended.text().starts_with("/a\tqueue\theld\t"), "{}", ended.text());
}
