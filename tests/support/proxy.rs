//! A TCP connection in the middle that can be cut, frozen and opened again.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// Forwards connections to a server until told otherwise.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    target: Option<SocketAddr>,
    mode: Mode,
    open: Vec<TcpStream>,
    accepted: usize,
    forwarded: u64,
    copiers: Vec<JoinHandle<()>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Open,
    Cut,
    Frozen,
    Muted,
    Ended,
}

impl Proxy {
    /// Starts to forward from a free port of loopback to `target`.
    pub fn start(target: SocketAddr) -> Self {
        // It listens from here on, so the kernel can choose a port that nobody else gets.
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("some port is free");
        let address = listener.local_addr().expect("it is bound");
        let state = State { target: Some(target), ..State::default() };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let acceptor = Some(thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared)
        }));
        Self { address, shared, acceptor }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it listens, as an endpoint without TLS.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Closes every connection and closes new ones at once, until [`Proxy::open`].
    pub fn cut(&self) {
        let mut state = self.shared.state();
        state.mode = Mode::Cut;
        for stream in state.open.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.shared.changed.notify_all();
    }

    /// Keeps every connection and forwards nothing, until [`Proxy::open`].
    pub fn freeze(&self) {
        self.shared.state().mode = Mode::Frozen;
    }

    /// Forwards what clients say and swallows what the server answers, until [`Proxy::open`].
    pub fn mute(&self) {
        self.shared.state().mode = Mode::Muted;
        self.shared.changed.notify_all();
    }

    /// Forwards (again).
    pub fn open(&self) {
        self.shared.state().mode = Mode::Open;
        self.shared.changed.notify_all();
    }

    /// Forwards new connections to another server.
    pub fn lead_to(&self, target: SocketAddr) {
        self.shared.state().target = Some(target);
    }

    /// How many connections were forwarded so far.
    pub fn connections(&self) -> usize {
        self.shared.state().accepted
    }

    /// How many bytes came from the server so far.
    pub fn bytes_from_server(&self) -> u64 {
        self.shared.state().forwarded
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.cut();
        self.shared.state().mode = Mode::Ended;
        self.shared.changed.notify_all();
        // The acceptor sits in accept(); one more connection lets it see the end.
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
        let copiers = std::mem::take(&mut self.shared.state().copiers);
        for copier in copiers {
            let _ = copier.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while the proxy is frozen; how to go on afterwards, if at all.
    fn goes_on(&self) -> Option<Mode> {
        let frozen = |state: &mut State| state.mode == Mode::Frozen;
        let state = self.changed.wait_while(self.state(), frozen).unwrap_or_else(PoisonError::into_inner);
        matches!(state.mode, Mode::Open | Mode::Muted).then_some(state.mode)
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for client in listener.incoming().flatten() {
        let mut state = shared.state();
        match state.mode {
            Mode::Ended => return,
            Mode::Cut => drop(client),
            Mode::Open | Mode::Frozen | Mode::Muted => {
                let Some(Ok(server)) = state.target.map(TcpStream::connect) else { continue };
                state.accepted += 1;
                let _ = (client.set_nodelay(true), server.set_nodelay(true));
                for (from, to, counts) in [(&client, &server, false), (&server, &client, true)] {
                    let (Ok(from), Ok(to)) = (from.try_clone(), to.try_clone()) else { continue };
                    let shared = Arc::clone(shared);
                    state.copiers.push(thread::spawn(move || {
                        let _ = copy(&from, &to, &shared, counts);
                        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
                    }));
                }
                state.open.extend([client, server]);
            }
        }
    }
}

fn copy(mut from: &TcpStream, mut to: &TcpStream, shared: &Shared, counts: bool) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let length = from.read(&mut buffer)?;
        let Some(mode) = shared.goes_on().filter(|_| length > 0) else { return Ok(()) };
        if counts && mode == Mode::Muted {
            continue;
        }
        to.write_all(&buffer[..length])?;
        if counts {
            shared.state().forwarded += length as u64;
        }
    }
}
