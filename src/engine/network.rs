//! The network between the members: every connection of one to another leads through a proxy of
//! its own side's, so that any pair can be cut.
//!
//! ```text
//! n1 ── SOCKS5, HTTP_PROXY of n1 ──► its proxy: "192.0.2.2:2380" ── unless n1-n2 is cut ──► n2
//! ```
//!
//! A member has one peer URL, the same for all others, and TCP does not tell which of them
//! connects. So it is the source that is told by the proxy that is used, and the target by what is
//! asked of it: members advertise addresses that are nobody's (RFC 5737), and etcd, as every
//! program in Go, connects to what is no loopback address through the proxy that its
//! environment names. Nothing is ever sent to those addresses. Clients, and the proxies, reach
//! members where they listen.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::socks::{self, Refusal};
use crate::domain::raft::NodeId;

/// The port of the addresses that members advertise: etcd's own for peers.
const PORT: u16 = 2380;
/// How long somebody who connects may take to say where to.
const PATIENCE: Duration = Duration::from_secs(5);
/// The connections of a member to others: etcd keeps a handful to each.
const TUNNELS: usize = 256;

/// Pairs of members that cannot reach each other, the smaller id first, in order.
type Cuts = Vec<(NodeId, NodeId)>;

/// Where each member takes connections of peers.
type Peers = BTreeMap<SocketAddrV4, (NodeId, SocketAddr)>;

/// The network. When it is dropped nothing gets through any more.
#[derive(Debug)]
pub(super) struct Network {
    cuts: watch::Sender<Cuts>,
    proxies: BTreeMap<NodeId, SocketAddr>,
    tasks: JoinSet<()>,
}

impl Network {
    /// Starts a proxy for each of these members, which take connections of peers at these ports.
    pub async fn start(members: &[(NodeId, u16)]) -> io::Result<Self> {
        let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let peers = members.iter().map(|&(node, port)| (advertised(node), (node, at(port))));
        let peers: Arc<Peers> = Arc::new(peers.collect());
        let mut network =
            Self { cuts: watch::Sender::new(Vec::new()), proxies: BTreeMap::new(), tasks: JoinSet::new() };
        for &(from, _) in members {
            let listener = TcpListener::bind(at(0)).await?;
            network.proxies.insert(from, listener.local_addr()?);
            let proxy = Proxy { from, peers: Arc::clone(&peers), cuts: network.cuts.subscribe() };
            network.tasks.spawn(proxy.serve(listener));
        }
        Ok(network)
    }

    /// The URL of the proxy through which a member connects to others.
    pub fn proxy(&self, from: NodeId) -> Option<String> {
        self.proxies.get(&from).map(|address| format!("socks5://{address}"))
    }

    /// The pairs that are cut.
    pub fn cuts(&self) -> Cuts {
        self.cuts.borrow().clone()
    }

    /// Cuts two members off from each other: connections end, and none is made.
    pub fn cut(&self, one: NodeId, other: NodeId) {
        let pair = (one.min(other), one.max(other));
        self.cuts.send_if_modified(|cuts| match cuts.binary_search(&pair) {
            Ok(_) => false,
            Err(at) => {
                cuts.insert(at, pair);
                true
            }
        });
    }

    /// Cuts a member off from all others.
    pub fn isolate(&self, node: NodeId) {
        for &other in self.proxies.keys().filter(|&&other| other != node) {
            self.cut(node, other);
        }
    }

    /// Mends all cuts.
    pub fn heal(&self) {
        self.cuts.send_replace(Vec::new());
    }

    /// Ends it and waits until it has ended.
    pub async fn stop(mut self) {
        self.tasks.shutdown().await;
    }
}

/// The address that a member advertises to its peers, which nobody has.
pub(super) fn advertised(node: NodeId) -> SocketAddrV4 {
    let host = u8::try_from(node.0).unwrap_or(u8::MAX);
    SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, host), PORT)
}

/// What one member connects through.
#[derive(Clone, Debug)]
struct Proxy {
    from: NodeId,
    peers: Arc<Peers>,
    cuts: watch::Receiver<Cuts>,
}

impl Proxy {
    async fn serve(self, listener: TcpListener) {
        let mut tunnels = JoinSet::new();
        loop {
            tokio::select! {
                Some(_) = tunnels.join_next() => {}
                accepted = listener.accept(), if tunnels.len() < TUNNELS => match accepted {
                    Ok((stream, _)) => {
                        let proxy = self.clone();
                        tunnels.spawn(async move {
                            // Whoever connects learns by the end of the connection that it has ended.
                            let _ = proxy.tunnel(stream).await;
                        });
                    }
                    // No descriptor is left, say: that passes with those that are open.
                    Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                },
            }
        }
    }

    async fn tunnel(mut self, mut member: TcpStream) -> io::Result<()> {
        let wanted = timeout(PATIENCE, socks::wanted(&mut member)).await??;
        let Some(&(to, address)) = self.peers.get(&wanted) else {
            return socks::refuse(&mut member, Refusal::Forbidden).await;
        };
        let pair = (self.from.min(to), self.from.max(to));
        if self.cuts.borrow().contains(&pair) {
            return socks::refuse(&mut member, Refusal::Unreachable).await;
        }
        let Ok(mut peer) = TcpStream::connect(address).await else {
            return socks::refuse(&mut member, Refusal::NotListening).await;
        };
        member.set_nodelay(true)?;
        peer.set_nodelay(true)?;
        socks::agree(&mut member).await?;
        tokio::select! {
            // A cut first: what was sent before it may still be on its way, and then is lost.
            biased;
            _ = self.cuts.wait_for(|cuts| cuts.contains(&pair)) => Ok(()),
            done = copy_bidirectional(&mut member, &mut peer) => done.map(drop),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    const ONE: NodeId = NodeId(1);
    const TWO: NodeId = NodeId(2);
    const THREE: NodeId = NodeId(3);

    /// Three members that say their number to whoever connects, and then repeat what they hear.
    async fn members() -> (Network, JoinSet<()>) {
        let mut tasks = JoinSet::new();
        let mut members = Vec::new();
        for node in [ONE, TWO, THREE] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            members.push((node, listener.local_addr().unwrap().port()));
            tasks.spawn(async move {
                let mut echoes = JoinSet::new();
                loop {
                    let (mut stream, _) = listener.accept().await.unwrap();
                    echoes.spawn(async move {
                        stream.write_all(&[u8::try_from(node.0).unwrap()]).await.unwrap();
                        let (mut from, mut to) = stream.split();
                        let _ = tokio::io::copy(&mut from, &mut to).await;
                    });
                }
            });
        }
        (Network::start(&members).await.unwrap(), tasks)
    }

    /// Connects as this member to that one; the code of the refusal when it is refused.
    async fn connect(network: &Network, from: NodeId, to: SocketAddrV4) -> Result<TcpStream, u8> {
        let mut stream = TcpStream::connect(network.proxies[&from]).await.unwrap();
        stream.write_all(&[5, 1, 0]).await.unwrap();
        let mut chosen = [9; 2];
        stream.read_exact(&mut chosen).await.unwrap();
        assert_eq!(chosen, [5, 0]);
        let [a, b, c, d] = to.ip().octets();
        let [high, low] = to.port().to_be_bytes();
        stream.write_all(&[5, 1, 0, 1, a, b, c, d, high, low]).await.unwrap();
        let mut reply = [9; 10];
        stream.read_exact(&mut reply).await.unwrap();
        if reply[1] == 0 { Ok(stream) } else { Err(reply[1]) }
    }

    async fn number(stream: &mut TcpStream) -> u8 {
        stream.read_u8().await.unwrap()
    }

    #[tokio::test]
    async fn every_member_reaches_every_other_by_its_advertised_address_and_nothing_else() {
        let (network, _members) = members().await;
        for (from, to) in [(ONE, TWO), (TWO, THREE), (THREE, ONE)] {
            let mut stream = connect(&network, from, advertised(to)).await.unwrap();
            assert_eq!(u64::from(number(&mut stream).await), to.0);
            stream.write_all(b"x").await.unwrap();
            assert_eq!(number(&mut stream).await, b'x');
        }
        let other = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 22);
        assert_eq!(connect(&network, ONE, other).await.unwrap_err(), 2);
        network.stop().await;
    }

    #[tokio::test]
    async fn a_cut_ends_what_is_open_both_ways_and_leaves_other_pairs_alone() {
        let (network, _members) = members().await;
        let mut there = connect(&network, ONE, advertised(TWO)).await.unwrap();
        let mut back = connect(&network, TWO, advertised(ONE)).await.unwrap();
        let mut other = connect(&network, ONE, advertised(THREE)).await.unwrap();
        for stream in [&mut there, &mut back, &mut other] {
            number(stream).await;
        }
        network.cut(TWO, ONE);
        network.cut(ONE, TWO);
        assert_eq!(network.cuts(), [(ONE, TWO)]);
        for mut stream in [there, back] {
            assert!(matches!(stream.read(&mut [0]).await, Ok(0) | Err(_)), "it has ended");
        }
        assert_eq!(connect(&network, ONE, advertised(TWO)).await.unwrap_err(), 4);
        assert_eq!(connect(&network, TWO, advertised(ONE)).await.unwrap_err(), 4);
        other.write_all(b"x").await.unwrap();
        assert_eq!(number(&mut other).await, b'x');
        network.heal();
        assert_eq!(network.cuts(), []);
        assert!(connect(&network, ONE, advertised(TWO)).await.is_ok());
    }

    #[tokio::test]
    async fn a_member_that_is_isolated_is_cut_off_from_each_other() {
        let (network, _members) = members().await;
        network.isolate(TWO);
        assert_eq!(network.cuts(), [(ONE, TWO), (TWO, THREE)]);
        assert!(connect(&network, ONE, advertised(THREE)).await.is_ok());
        assert_eq!(connect(&network, TWO, advertised(THREE)).await.unwrap_err(), 4);
    }
}
