//! One connection to one endpoint: TCP, TLS, HTTP/2.
//!
//! Nothing here knows etcd's calls. No proxy of the environment is used: an inspector that
//! goes another way than it was told inspects the wrong thing.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper_util::rt::TokioIo;
use rustls::{AlertDescription, CertificateError, ClientConfig};
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tonic::body::Body;
use tonic::codegen::http::{HeaderValue, Request, Response, Uri};
use tonic::codegen::{Service, StdError as BoxError};
use tonic::transport::{Channel, Endpoint};

use super::direct::WATCH;
use super::error::{Asked, PortError, printable};
use super::login::Token;
use super::stream::{LastWords, Stream};
use super::tls;
use crate::config::Connection;

/// The port etcd serves clients on unless told otherwise.
const DEFAULT_PORT: u16 = 2379;

/// How much of an answer may be under way before it is read. Large, so that a page of a list
/// or a burst of events is not held up by round trips; the connection's window has room for
/// a stream that nobody reads beside the others.
const STREAM_WINDOW: u32 = 8 << 20;
const CONNECTION_WINDOW: u32 = 32 << 20;

/// etcd drops a connection that is pinged more often than every 5 s
/// (`--grpc-keepalive-min-time`), and clients in Go never ping more often than this.
const SHORTEST_PING: Duration = Duration::from_secs(10);

/// The path of the call that gets a token, and so needs none.
const AUTHENTICATE: &str = "/etcdserverpb.Auth/Authenticate";

/// Where to connect to, and how.
#[derive(Clone)]
pub(super) struct Target {
    /// The endpoint as it was given.
    pub endpoint: String,
    host: String,
    port: u16,
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    dial_timeout: Duration,
    words: LastWords,
}

impl Target {
    /// Reads an endpoint and, for `https`, the files TLS needs.
    pub fn new(endpoint: &str, connection: &Connection) -> Result<Self, PortError> {
        let bad = |why: &str| {
            // What stands before an @ may be a password.
            let shown = endpoint.rsplit('@').next().unwrap_or_default();
            PortError::BadEndpoint { endpoint: printable(shown), why: why.into() }
        };
        if endpoint.contains('@') {
            return Err(bad("a user does not belong into it; use --user"));
        }
        let uri: Uri =
            endpoint.parse().map_err(|_| bad("it is no URL; write http://HOST:PORT or https://HOST:PORT"))?;
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(|| bad("it names no host"))?;
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err(bad("a path does not belong into it"));
        }
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let tls = match uri.scheme_str() {
            Some("http") => None,
            Some("https") => {
                let name = ServerName::try_from(host.clone())
                    .map_err(|_| bad("its host is no name a certificate can have"))?;
                Some((tls::client_config(&connection.tls)?, name))
            }
            Some(_) => return Err(bad("its scheme is neither http nor https")),
            None => return Err(bad("it has no scheme; write http://HOST:PORT or https://HOST:PORT")),
        };
        let rest =
            uri.authority().and_then(|authority| authority.as_str().strip_prefix(uri.host()?)).unwrap_or_default();
        let port = match rest.strip_prefix(':') {
            Some(text) => text.parse().map_err(|_| bad(&format!("{text:?} is no port")))?,
            None => DEFAULT_PORT,
        };
        Ok(Self {
            endpoint: endpoint.to_owned(),
            host,
            port,
            tls,
            dial_timeout: connection.dial_timeout,
            words: LastWords::default(),
        })
    }

    /// Where a connection leaves why it ended.
    pub fn last_words(&self) -> LastWords {
        self.words.clone()
    }

    /// Opens a connection and speaks HTTP/2 on it.
    pub async fn connect(&self, connection: &Connection) -> Result<Channel, PortError> {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let bad = |_| PortError::BadEndpoint { endpoint: self.endpoint.clone(), why: "it is no URL".into() };
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let origin: Uri = format!("{scheme}://{host}:{}", self.port).parse().map_err(bad)?;
        // tonic would insist on its own TLS for https; the origin tells the server the truth.
        let address: Uri = format!("http://{host}:{}", self.port).parse().map_err(bad)?;
        Endpoint::from(address)
            .origin(origin)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .http2_keep_alive_interval(connection.keepalive_time.max(SHORTEST_PING))
            .keep_alive_timeout(connection.keepalive_timeout)
            .connect_with_connector(Dialer(self.clone()))
            .await
            .map_err(|error| {
                Asked { endpoint: &self.endpoint, user: None, words: None, doing: "connect".into() }.transport(&error)
            })
    }

    async fn dial(&self) -> Result<Stream, DialError> {
        let open = async {
            let tcp = TcpStream::connect((&*self.host, self.port)).await.map_err(DialError::Io)?;
            tcp.set_nodelay(true).map_err(DialError::Io)?;
            match &self.tls {
                None => Ok(Stream::plain(tcp, self.words.clone())),
                Some((config, name)) => {
                    let connector = TlsConnector::from(Arc::clone(config));
                    let tls = connector.connect(name.clone(), tcp).await.map_err(DialError::handshake)?;
                    Ok(Stream::tls(tls, self.words.clone()))
                }
            }
        };
        tokio::time::timeout(self.dial_timeout, open).await.unwrap_or(Err(DialError::Timeout(self.dial_timeout)))
    }
}

/// Opens connections for tonic, the first one and those after a loss.
struct Dialer(Target);

impl Service<Uri> for Dialer {
    type Response = TokioIo<Stream>;
    type Error = DialError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, DialError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), DialError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let target = self.0.clone();
        Box::pin(async move { target.dial().await.map(TokioIo::new) })
    }
}

/// Why no connection came about.
#[derive(Debug)]
pub(super) enum DialError {
    /// The network refused.
    Io(io::Error),
    /// The handshake failed.
    Tls(rustls::Error),
    /// It took too long.
    Timeout(Duration),
}

impl DialError {
    fn handshake(error: io::Error) -> Self {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            Some(tls) => Self::Tls(tls.clone()),
            None => Self::Io(error),
        }
    }

    /// The same for people: with the endpoint, and what helps.
    pub fn at(&self, endpoint: &str) -> PortError {
        let unreachable = |why: String| PortError::Unreachable { endpoint: endpoint.into(), why };
        match self {
            Self::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                unreachable("connection refused; is etcd running there?".into())
            }
            Self::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                unreachable("it closed the connection while TLS was set up; does it speak TLS?".into())
            }
            Self::Io(error) => unreachable(printable(&error.to_string())),
            Self::Timeout(after) => unreachable(format!("no connection within {} s", after.as_secs_f64())),
            Self::Tls(error) => PortError::Tls { what: endpoint.into(), why: tls_words(error) },
        }
    }
}

fn tls_words(error: &rustls::Error) -> String {
    use rustls::Error;
    let said = printable(&error.to_string());
    match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => format!(
            "{said}: its certificate is signed by nobody we trust; give its authority with --cacert, or skip the check \
             with --insecure-skip-tls-verify"
        ),
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => {
            format!("{said}; use a name the certificate has")
        }
        Error::AlertReceived(
            AlertDescription::CertificateRequired
            | AlertDescription::BadCertificate
            | AlertDescription::UnknownCA
            | AlertDescription::CertificateUnknown
            | AlertDescription::HandshakeFailure,
        ) => format!("{said}: it wants a client certificate that it can trust; give --cert and --key"),
        Error::InvalidMessage(_) => format!("{said}: it does not seem to speak TLS; try http:// instead of https://"),
        _ => said,
    }
}

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Tls(error) => error.fmt(f),
            Self::Timeout(after) => write!(f, "no connection within {} s", after.as_secs_f64()),
        }
    }
}

impl StdError for DialError {}

/// A connection that sends with each call what has to go with it: the token of whoever is logged
/// in, and on watches the wish for a leader. A watch on a member that lost its leader must end
/// instead of going silent, while reads from such a member shall still work.
#[derive(Clone)]
pub(super) struct Wire {
    channel: Channel,
    token: Token,
}

impl Wire {
    pub const fn new(channel: Channel, token: Token) -> Self {
        Self { channel, token }
    }
}

impl Service<Request<Body>> for Wire {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.channel.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let path = request.uri().path();
        let (watches, logs_in) = (path == WATCH, path == AUTHENTICATE);
        let headers = request.headers_mut();
        if watches {
            headers.insert("hasleader", HeaderValue::from_static("true"));
        }
        if !logs_in && let Some(token) = self.token.get() {
            headers.insert("token", token);
        }
        let answer = self.channel.call(request);
        Box::pin(async move { answer.await.map_err(Into::into) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(endpoint: &str) -> String {
        Target::new(endpoint, &Connection::default()).map(|_| ()).expect_err(endpoint).to_string()
    }

    #[test]
    fn endpoints_that_are_none_are_refused_with_the_reason() {
        for (endpoint, why) in [
            ("127.0.0.1:2379", "http://HOST:PORT"),
            ("ftp://one:2379", "neither http nor https"),
            ("http://one:2379/v3", "path"),
            ("http://:2379", "host"),
            ("http://one:99999", "port"),
            ("", "http://HOST:PORT"),
        ] {
            let error = refused(endpoint);
            assert!(error.contains(why), "{endpoint:?}: {error}");
        }
    }

    #[test]
    fn a_password_in_an_endpoint_is_not_repeated() {
        let error = refused("http://ann:secret@one:2379");
        assert!(!error.contains("secret") && error.contains("one:2379") && error.contains("--user"), "{error}");
    }

    #[test]
    fn hosts_ports_and_addresses_are_read() {
        for (endpoint, host, port) in [
            ("http://one", "one", 2379),
            ("http://one:1", "one", 1),
            ("http://[::1]:3", "::1", 3),
            ("http://[::1]/", "::1", 2379),
        ] {
            let target = Target::new(endpoint, &Connection::default()).expect(endpoint);
            assert_eq!((&*target.host, target.port), (host, port), "{endpoint}");
        }
    }
}
