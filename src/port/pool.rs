//! The endpoints of a cluster: which one to use now, and a connection to each member.
//!
//! Endpoints are tried in order, each a little after the one before unless that failed
//! already, so that a dead or paused first endpoint delays nothing. A password is sent only
//! to a server that said which member it is, unless it tells nobody but users.

use std::collections::{HashMap, HashSet, VecDeque};
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::{Client, Etcd, Header, PortError};
use crate::config::Connection;
use crate::domain::{Member, MemberId, Status};

/// Once a member's own URL has failed the reason is known: it may be found through another endpoint,
/// but one that is silent there must not make that reason be forgotten.
const ELSEWHERE: Duration = Duration::from_millis(700);

/// How long one endpoint may keep the next from being tried.
const STAGGER: Duration = Duration::from_millis(150);

/// The endpoints of one cluster and the connections to its members. Clones share them.
#[derive(Clone, Debug)]
pub struct Pool {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    connection: Connection,
    state: Mutex<State>,
    returned: watch::Sender<()>,
}

#[derive(Default)]
struct State {
    /// Connections by endpoint; each opens itself again when it broke.
    clients: HashMap<String, Client>,
    /// The endpoint each member was last found at.
    routes: HashMap<MemberId, String>,
    /// Client URLs of members that are no configured endpoints.
    learnt: Vec<String>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("routes", &self.routes).field("learnt", &self.learnt).finish_non_exhaustive()
    }
}

/// A connection with what its member said of itself.
pub struct Connected {
    /// The connection, logged in.
    pub client: Client,
    /// Who answered.
    pub header: Header,
    /// What it said, if this user may ask for it. It has no leader only if no endpoint that
    /// answered has one.
    pub status: Option<Status>,
    /// The endpoints that failed before this one answered.
    pub failed: Vec<Failed>,
}

impl Connected {
    /// Whether the member said that it knows no leader.
    pub fn is_leaderless(&self) -> bool {
        leaderless(self.status.as_ref())
    }

    /// The leader, if the member said which it is.
    pub fn leader(&self) -> Option<MemberId> {
        self.status.as_ref()?.leader
    }
}

/// Why one endpoint could not be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{endpoint}: {error}")]
pub struct Failed {
    /// The endpoint's URL.
    pub endpoint: String,
    /// What went wrong.
    pub error: PortError,
}

impl Pool {
    /// The pool of these settings; connects to nothing yet.
    pub fn new(connection: Connection) -> Self {
        let returned = watch::channel(()).0;
        Self { shared: Arc::new(Shared { connection, state: Mutex::default(), returned }) }
    }

    /// The settings.
    pub fn settings(&self) -> &Connection {
        &self.shared.connection
    }

    /// Changes whenever a member that did not answer answers again, or one that knew no leader knows
    /// one, to whoever asked it: whoever waits for the next try need not wait any longer.
    pub fn returned(&self) -> watch::Receiver<()> {
        self.shared.returned.subscribe()
    }

    /// Connects to the first endpoint that answers and has a leader, and logs in. When none
    /// has a leader, to one that answers, without logging in: that would need the leader.
    ///
    /// # Errors
    /// Every endpoint with its reason, in their order, when none answers.
    pub async fn connect_any(&self) -> Result<Connected, Vec<Failed>> {
        self.connect_any_but(None).await
    }

    /// The same, trying `last` as the last of the configured endpoints: it was just lost. Then
    /// where members said that they serve clients.
    ///
    /// # Errors
    /// As [`Pool::connect_any`].
    pub async fn connect_any_but(&self, last: Option<&str>) -> Result<Connected, Vec<Failed>> {
        let mut endpoints = self.shared.connection.endpoints.clone();
        // What was asked for comes first even if it was just lost: a name can lead elsewhere.
        endpoints.sort_by_key(|endpoint| last == Some(endpoint.as_str()));
        endpoints.extend(self.state().learnt.iter().cloned());
        let order: HashMap<String, usize> = endpoints.iter().cloned().zip(0..).collect();
        let mut failed = Vec::new();
        let mut second_best = None;
        let mut trying = Staggered::new(endpoints, |endpoint| self.greet(endpoint));
        let found = loop {
            match trying.next().await {
                Some((endpoint, Ok((.., Some(status))))) if status.learner => {
                    let why = "the member is a learner and answers hardly any question yet".into();
                    failed.push(Failed { error: PortError::Unreachable { endpoint: endpoint.clone(), why }, endpoint });
                }
                Some((_, Ok(greeted))) if !leaderless(greeted.2.as_ref()) => break Some(greeted),
                Some((endpoint, Ok(greeted))) => {
                    let error = PortError::NoLeader { doing: "connect".into(), endpoint: endpoint.clone() };
                    failed.push(Failed { endpoint, error });
                    second_best = Some(greeted);
                }
                Some((endpoint, Err(error))) => failed.push(Failed { endpoint, error }),
                None => break second_best,
            }
        };
        failed.sort_by_key(|failed| order.get(&failed.endpoint).copied());
        match found {
            Some((client, header, status)) => {
                let endpoint = client.endpoint().to_owned();
                let mut state = self.state();
                state.routes.insert(header.member, endpoint.clone());
                state.clients.insert(endpoint, client.clone());
                Ok(Connected { client, header, status, failed })
            }
            None => Err(failed),
        }
    }

    /// A connection to this member, at its own client URLs; where those cannot be reached from
    /// here, at a configured endpoint that answers as this member.
    ///
    /// # Errors
    /// The reason of its first client URL, when it is found nowhere.
    pub async fn member(&self, member: &Member) -> Result<Client, PortError> {
        let known = {
            let state = self.state();
            state.routes.get(&member.id).and_then(|endpoint| state.clients.get(endpoint)).cloned()
        };
        if let Some(client) = known {
            return Ok(client);
        }
        let mut endpoints = member.client_urls.clone();
        for endpoint in &self.shared.connection.endpoints {
            if !endpoints.contains(endpoint) {
                endpoints.push(endpoint.clone());
            }
        }
        let mut reason = None;
        let mut give_up = None;
        let mut trying = Staggered::new(endpoints, |endpoint| self.find(endpoint, member));
        loop {
            let tried = match give_up {
                Some(at) => timeout_at(at, trying.next()).await.unwrap_or_default(),
                None => trying.next().await,
            };
            let Some((endpoint, found)) = tried else { break };
            if member.client_urls.first() == Some(&endpoint) {
                give_up = Some(Instant::now() + ELSEWHERE);
            }
            match found {
                Ok(client) => {
                    let mut state = self.state();
                    state.routes.insert(member.id, endpoint.clone());
                    state.clients.insert(endpoint, client.clone());
                    return Ok(client);
                }
                Err(error) if reason.is_none() || member.client_urls.first() == Some(&endpoint) => reason = Some(error),
                Err(_) => {}
            }
        }
        Err(reason.unwrap_or_else(|| PortError::Unreachable {
            endpoint: super::error::printable(&member.name),
            why: "the member has no client URL; it has not started yet".into(),
        }))
    }

    /// Looks for this member anew the next time: what answered was not it, or did not answer.
    pub fn forget(&self, member: MemberId) {
        self.state().routes.remove(&member);
    }

    /// Remembers where members serve clients, to be tried when every configured endpoint is
    /// lost. URLs without TLS are left out when the configured endpoints have it. Connections to
    /// where no member is any more are closed.
    pub fn learn(&self, members: &[Member]) {
        let configured = &self.shared.connection.endpoints;
        let tls = configured.iter().all(|endpoint| endpoint.starts_with("https://"));
        let urls = members.iter().flat_map(|member| &member.client_urls);
        let new = urls.filter(|url| !configured.contains(url) && (!tls || url.starts_with("https://")));
        let mut state = self.state();
        let state = &mut *state;
        state.learnt = new.cloned().collect();
        let ids: HashSet<_> = members.iter().map(|member| member.id).collect();
        state.routes.retain(|member, _| ids.contains(member));
        let used: HashSet<_> = configured.iter().chain(&state.learnt).chain(state.routes.values()).collect();
        state.clients.retain(|endpoint, _| used.contains(endpoint));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connects to an endpoint, asks who it is and, if it has a leader, logs in.
    async fn greet(&self, endpoint: String) -> Result<(Client, Header, Option<Status>), PortError> {
        let client = self.open(&endpoint).await?;
        let (header, status) = self.introduce(&client).await?;
        if !leaderless(status.as_ref()) {
            self.log_in(&client).await?;
        }
        Ok((client, header, status))
    }

    async fn open(&self, endpoint: &str) -> Result<Client, PortError> {
        Client::open(endpoint, &self.shared.connection, self.shared.returned.clone()).await
    }

    /// Asks a member who it is, before a password is sent to it. Newer etcds tell only those who
    /// have logged in, and their status only root.
    async fn introduce(&self, client: &Client) -> Result<(Header, Option<Status>), PortError> {
        let connection = &self.shared.connection;
        let stranger = client.with_deadline(connection.dial_timeout);
        let mut answer = stranger.status().await;
        if matches!(answer, Err(PortError::Unauthenticated { .. })) && connection.user.is_some() {
            self.log_in(client).await?;
            answer = stranger.status().await;
        }
        match answer {
            Ok((header, status)) => Ok((header, Some(status))),
            Err(PortError::Denied { .. }) => Ok((stranger.members().await?.0, None)),
            Err(error) => Err(error),
        }
    }

    async fn log_in(&self, client: &Client) -> Result<(), PortError> {
        match &self.shared.connection.user {
            Some(user) if client.user().is_none() => client.log_in(user).await,
            _ => Ok(()),
        }
    }

    /// Connects to an endpoint if that is `member`.
    async fn find(&self, endpoint: String, member: &Member) -> Result<Client, PortError> {
        let open = self.state().clients.get(&endpoint).cloned();
        let client = match open {
            Some(client) => client,
            None => self.open(&endpoint).await?,
        };
        let (header, status) = self.introduce(&client).await?;
        if header.member != member.id {
            let why = format!("member {} answers there, not {}", header.member, member.id);
            // It may be asked again soon; whoever it is keeps the connection.
            let mut state = self.state();
            state.routes.entry(header.member).or_insert_with(|| endpoint.clone());
            state.clients.insert(endpoint.clone(), client);
            return Err(PortError::Unreachable { endpoint, why });
        }
        if !leaderless(status.as_ref()) {
            self.log_in(&client).await?;
        }
        Ok(client)
    }
}

fn leaderless(status: Option<&Status>) -> bool {
    status.is_some_and(|status| status.leader.is_none())
}

/// Tries one endpoint after the other, the next one before the last is done when that takes
/// long. Dropping it gives up on all that are under way.
struct Staggered<'a, F, A> {
    waiting: VecDeque<String>,
    start: F,
    running: FuturesUnordered<BoxFuture<'a, (String, A)>>,
    next_start: Instant,
}

impl<'a, F, R> Staggered<'a, F, R::Output>
where
    F: Fn(String) -> R,
    R: Future + Send + 'a,
{
    fn new(endpoints: Vec<String>, start: F) -> Self {
        Self { waiting: endpoints.into(), start, running: FuturesUnordered::new(), next_start: Instant::now() }
    }

    /// The next endpoint that is done, with what came of it.
    async fn next(&mut self) -> Option<(String, R::Output)> {
        loop {
            if (self.running.is_empty() || Instant::now() >= self.next_start)
                && let Some(endpoint) = self.waiting.pop_front()
            {
                let trying = (self.start)(endpoint.clone());
                self.running.push(Box::pin(async move { (endpoint, trying.await) }));
                self.next_start = Instant::now() + STAGGER;
            }
            tokio::select! {
                done = self.running.next() => {
                    self.next_start = Instant::now();
                    return done;
                }
                () = sleep_until(self.next_start), if !self.waiting.is_empty() => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    async fn order_of(delays: &[(&str, u64)]) -> Vec<(String, u128)> {
        let start = Instant::now();
        let endpoints = delays.iter().map(|(name, _)| (*name).to_owned()).collect();
        let delays: HashMap<_, _> = delays.iter().map(|&(name, delay)| (name.to_owned(), delay)).collect();
        let mut trying = Staggered::new(endpoints, |name| tokio::time::sleep(Duration::from_millis(delays[&name])));
        let mut done = Vec::new();
        while let Some((name, ())) = trying.next().await {
            done.push((name, start.elapsed().as_millis()));
        }
        done
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_endpoint_delays_the_next_by_the_stagger_only() {
        let done = order_of(&[("silent", 2000), ("good", 10)]).await;
        assert_eq!(done[0].0, "good");
        assert!((150..=170).contains(&done[0].1), "{done:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusing_endpoint_delays_the_next_not_at_all() {
        let done = order_of(&[("refusing", 1), ("good", 10)]).await;
        assert_eq!(done.iter().map(|done| &*done.0).collect::<Vec<_>>(), ["refusing", "good"]);
        assert!(done[1].1 <= 20, "{done:?}");
    }

    #[tokio::test]
    async fn connections_to_where_no_member_is_any_more_are_closed() {
        let mut listening = Vec::new();
        for _ in 0..3 {
            listening.push(TcpListener::bind("127.0.0.1:0").await.unwrap());
        }
        let urls: Vec<_> =
            listening.iter().map(|listener| format!("http://{}", listener.local_addr().unwrap())).collect();
        let settings = Connection { endpoints: urls[..1].to_vec(), ..Connection::default() };
        let pool = Pool::new(settings);
        for (id, url) in (1..).zip(&urls) {
            let client = pool.open(url).await.unwrap();
            pool.state().routes.insert(MemberId(id), url.clone());
            pool.state().clients.insert(url.clone(), client);
        }
        let member =
            |id, url: &String| Member { id: MemberId(id), client_urls: vec![url.clone()], ..Member::default() };
        pool.learn(&[member(1, &urls[0]), member(2, &urls[1])]);
        let open: HashSet<_> = pool.state().clients.keys().cloned().collect();
        assert_eq!(open, urls[..2].iter().cloned().collect());
    }

    #[tokio::test]
    async fn why_a_member_is_not_there_is_known_although_another_endpoint_is_silent() {
        let listen = || TcpListener::bind("127.0.0.1:0");
        let (silent, gone) = (listen().await.unwrap(), listen().await.unwrap());
        let url = |listener: &TcpListener| format!("http://{}", listener.local_addr().unwrap());
        let pool = Pool::new(Connection { endpoints: vec![url(&silent)], ..Connection::default() });
        let member = Member { client_urls: vec![url(&gone)], ..Member::default() };
        drop(gone);
        let found = tokio::time::timeout(Duration::from_secs(2), pool.member(&member)).await;
        let error = found.expect("it gives up on the silent one").err().expect("nobody is there");
        assert!(error.to_string().contains("refused"), "{error}");
    }

    #[test]
    fn members_without_tls_are_not_learnt_by_a_pool_with_it() {
        let pool = |endpoint: &str| Pool::new(Connection { endpoints: vec![endpoint.into()], ..Connection::default() });
        let member = |url: &str| Member { client_urls: vec![url.into()], ..Member::default() };
        let members = [member("http://one:1"), member("https://two:2")];
        let safe = pool("https://one:1");
        safe.learn(&members);
        assert_eq!(safe.state().learnt, ["https://two:2"]);
        let open = pool("http://one:1");
        open.learn(&members);
        assert_eq!(open.state().learnt, ["https://two:2"]);
    }
}
