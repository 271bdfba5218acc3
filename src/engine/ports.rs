//! Ports that nobody listens on.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

/// They are taken from below the range in which the system chooses the ports of outgoing
/// connections: one of those would keep a killed member from its port when it is started again.
const FIRST: u16 = 10_000;
const COUNT: u16 = 10_000;

/// So many ports. Somebody else may take one of them before it is used.
pub(super) fn free(wanted: usize) -> Option<Vec<u16>> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Programs that are started together have ids close to each other.
    let start = std::process::id().wrapping_mul(97);
    let tried = (0..COUNT).map(|_| {
        let offset = start.wrapping_add(u32::from(NEXT.fetch_add(1, Ordering::Relaxed))) % u32::from(COUNT);
        FIRST + u16::try_from(offset).unwrap_or_default()
    });
    let free = tried.filter(|&port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok());
    let ports: Vec<u16> = free.take(wanted).collect();
    (ports.len() == wanted).then_some(ports)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_different_and_can_be_listened_on() {
        let mut ports = free(20).unwrap();
        assert!(ports.iter().all(|&port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()));
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 20);
    }
}
