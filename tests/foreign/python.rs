//! A client in another language: etcd3aio, in Python.
//!
//! `LOCKSCOPE_PYTHON` names a Python that has it; without, the `python3` on `PATH` is asked.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::support::etcd::{self, not_run};
use crate::support::served::Kind;

/// A Python that has the client, or why there is none.
fn python() -> Result<PathBuf, String> {
    let python = env::var_os("LOCKSCOPE_PYTHON").map_or_else(|| PathBuf::from("python3"), PathBuf::from);
    let asked = Command::new(&python).args(["-c", "import etcd3aio"]).stdin(Stdio::null()).output();
    match asked {
        Ok(output) if output.status.success() => Ok(python),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(format!("{}: {}", python.display(), said.lines().last().unwrap_or("it fails")))
        }
        Err(error) => Err(format!("{}: {error}", python.display())),
    }
}

/// Runs a part of the script against the embedded cluster, and against etcd when there is one.
fn run(test: &str, part: &str) {
    let python = match python() {
        Ok(python) => python,
        Err(why) => return not_run(test, &why),
    };
    let real = etcd::newest(test).map(Kind::Real);
    for kind in [Kind::Embedded].into_iter().chain(real) {
        let cluster = kind.cluster().members(3).start();
        let endpoints: Vec<_> = (0..3).map(|n| cluster.address(n).to_string()).collect();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/foreign/client.py");
        let output =
            Command::new(&python).arg("-B").arg(script).arg(part).args(endpoints).stdin(Stdio::null()).output();
        let output = output.expect("python runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && output.stdout == b"ok\n", "{kind}: {said}");
    }
}

#[test]
fn python_locks_in_order() {
    run("python_locks_in_order", "lock");
}

#[test]
fn python_keeps_leases_alive() {
    run("python_keeps_leases_alive", "lease");
}

#[test]
fn python_watches() {
    run("python_watches", "watch");
}
