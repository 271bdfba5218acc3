//! A real etcd, through `etcd-client`, on one connection to one endpoint.
//!
//! Which endpoint to use, and what to do when it fails, is decided above; see
//! [`super::pool`] and `source`. A lost connection is opened again by the next call.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use etcd_client::proto::{PbLeaseTimeToLiveRequest, PbTxnOpResponse, PbWatchRequest};
use etcd_client::{Channel, KvClient};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tonic::Status as Refusal;
use tonic::codec::Streaming;
use tower::util::BoxCloneSyncService;

use super::direct::{Direct, LARGEST_MESSAGE, UNREADABLE};
use super::error::{Asked, PortError, range_name};
use super::login::{Login, Token, is_stale};
use super::pulse::Pulse;
use super::stream::LastWords;
use super::wire::{Target, Wire};
use super::{
    Delete, Deleted, Etcd, Granted, Header, OpDone, Page, Put, Range, RawPage, TimeToLive, Txn, TxnDone, Want,
    WatchAnswer, WatchId, WatchRange, WatchStream, Written, convert,
};
use crate::config::{Connection, Credentials};
use crate::domain::{Alarm, Key, LeaseId, Member, MemberId, RaftIndex, Status, Term};

mod keeper;
mod services;

use keeper::{Keeper, Keepers};

/// A connection to one endpoint. Clones share it.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
    deadline: Duration,
}

struct Shared {
    endpoint: String,
    login: Login,
    words: LastWords,
    etcd: etcd_client::Client,
    kv: KvClient,
    direct: Direct,
    keepers: Keepers,
    pulse: Pulse,
}

impl Client {
    /// Connects to `endpoint` and, when the settings name a user, logs in.
    ///
    /// # Errors
    /// When a file for TLS cannot be used, nobody answers in time, or the login is refused. A
    /// server that accepts connections and then stays silent is noticed by the first call only.
    pub async fn connect(endpoint: &str, connection: &Connection) -> Result<Self, PortError> {
        let client = Self::open(endpoint, connection, watch::channel(()).0).await?;
        if let Some(user) = &connection.user {
            client.log_in(user).await?;
        }
        Ok(client)
    }

    /// Connects to `endpoint` as nobody: enough to ask a member who it is, before a password is
    /// sent to it. `returned` is told when the member can be used again after it could not.
    pub(super) async fn open(
        endpoint: &str,
        connection: &Connection,
        returned: watch::Sender<()>,
    ) -> Result<Self, PortError> {
        let target = Target::new(endpoint, connection)?;
        let token = Token::default();
        let wire = Wire::new(target.connect(connection).await?, token.clone());
        let channel = Channel::Custom(BoxCloneSyncService::new(wire.clone()));
        let asked = Asked { endpoint, user: None, words: None, doing: "connect".into() };
        // Logging in is done here, for the calls that go past this client need the token as well.
        let etcd = etcd_client::Client::from_channel(channel, None).await.map_err(|error| asked.failed(&error))?;
        let kv = etcd.kv_client().max_decoding_message_size(LARGEST_MESSAGE);
        let (login, direct) = (Login::new(token), Direct::new(wire));
        let words = target.last_words();
        let (endpoint, pulse) = (target.endpoint, Pulse::new(returned));
        let shared = Shared { endpoint, login, words, etcd, kv, direct, keepers: Keepers::default(), pulse };
        Ok(Self { shared: Arc::new(shared), deadline: connection.command_timeout })
    }

    /// Logs in; a cluster that has no users takes everybody. The server needs its quorum for it
    /// and some tenth of a second.
    pub(super) async fn log_in(&self, user: &Credentials) -> Result<(), PortError> {
        let asked = Asked { user: Some(&user.name), ..self.asked("log in") };
        match tokio::time::timeout(self.deadline, self.shared.login.log_in(&self.shared.etcd, user)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(etcd_client::Error::GRpcStatus(status)))
                if status.message().contains("authentication is not enabled") =>
            {
                Ok(())
            }
            Ok(Err(error)) => Err(asked.failed(&error)),
            Err(_) => Err(asked.late(self.deadline)),
        }
    }

    /// The endpoint this client speaks to.
    pub fn endpoint(&self) -> &str {
        &self.shared.endpoint
    }

    /// Who is logged in.
    pub fn user(&self) -> Option<&str> {
        self.shared.login.user()
    }

    /// How long a call may take.
    pub const fn deadline(&self) -> Duration {
        self.deadline
    }

    /// When something was last heard on this connection, whoever asked for it.
    pub(crate) fn heard_at(&self) -> Instant {
        self.shared.pulse.heard_at()
    }

    /// The highest term and committed index that were told on this connection while there was a
    /// leader.
    pub(crate) fn furthest(&self) -> (Term, RaftIndex) {
        self.shared.pulse.furthest()
    }

    /// The same connection with another deadline for each call.
    #[must_use]
    pub fn with_deadline(&self, deadline: Duration) -> Self {
        Self { shared: Arc::clone(&self.shared), deadline }
    }

    /// Hands the lead of the cluster over to this member. Only the leader can be asked that.
    ///
    /// # Errors
    /// When the one that is asked does not lead, or the other cannot take over.
    pub async fn move_leader(&self, to: MemberId) -> Result<(), PortError> {
        let call = |to: MemberId| {
            let mut client = self.shared.etcd.maintenance_client();
            async move { client.move_leader(to.0).await }
        };
        self.call(to, call, || format!("hand the lead over to member {to}")).await.map(drop)
    }

    /// Disarms an alarm.
    ///
    /// # Errors
    /// When the call fails. An alarm that is not raised is no error.
    pub async fn disarm(&self, alarm: Alarm) -> Result<(), PortError> {
        let call = |Alarm { member, kind }| {
            let mut client = self.shared.etcd.maintenance_client();
            async move {
                let mut options = etcd_client::AlarmOptions::new();
                options.with_member(member.0);
                client.alarm(etcd_client::AlarmAction::Deactivate, convert::alarm_type(kind), Some(options)).await
            }
        };
        self.call(alarm, call, || format!("disarm {} of member {}", alarm.kind.name(), alarm.member)).await.map(drop)
    }

    /// Reads a range as [`Etcd::range`] does, and leaves its keys to be read from the answer.
    ///
    /// # Errors
    /// When the call fails.
    pub async fn raw_page(&self, ask: Range) -> Result<RawPage, PortError> {
        let verb = if ask.want == Want::Count { "count" } else { "list" };
        let name = range_name(&ask.range);
        let call = |ask: Range| async move { Ok(self.shared.direct.range(convert::range_request(&ask)).await?) };
        self.call(ask, call, || format!("{verb} {name}")).await
    }

    /// The error for keys that cannot be read from an answer.
    pub(crate) fn unreadable(&self) -> PortError {
        PortError::NotEtcd { endpoint: self.endpoint().into(), why: UNREADABLE.into() }
    }

    fn asked(&self, doing: impl Into<String>) -> Asked<'_> {
        Asked { endpoint: self.endpoint(), user: self.user(), words: Some(&self.shared.words), doing: doing.into() }
    }

    /// One call with its deadline.
    async fn call<Q, A, F, W>(&self, question: Q, ask: impl Fn(Q) -> F + Send + Sync, doing: W) -> Result<A, PortError>
    where
        Q: Clone + Send,
        A: Send,
        F: Future<Output = Result<A, etcd_client::Error>> + Send,
        W: FnOnce() -> String + Send,
    {
        let came = match tokio::time::timeout(self.deadline, self.ask(question, ask)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(self.asked(doing()).failed(&error)),
            Err(_) => Err(self.asked(doing()).late(self.deadline)),
        };
        self.shared.pulse.note(&came);
        came
    }

    /// One call that the server answers when the caller's turn has come: it ends with its future.
    async fn patient_call<Q, A, F, W>(
        &self,
        question: Q,
        ask: impl Fn(Q) -> F + Send + Sync,
        doing: W,
    ) -> Result<A, PortError>
    where
        Q: Clone + Send,
        A: Send,
        F: Future<Output = Result<A, etcd_client::Error>> + Send,
        W: FnOnce() -> String + Send,
    {
        let came = self.ask(question, ask).await.map_err(|error| self.asked(doing()).failed(&error));
        self.shared.pulse.note(&came);
        came
    }

    /// Asks, and asks again when a login has to be renewed for it.
    async fn ask<Q, A, F>(&self, question: Q, ask: impl Fn(Q) -> F + Send + Sync) -> Result<A, etcd_client::Error>
    where
        Q: Clone + Send,
        A: Send,
        F: Future<Output = Result<A, etcd_client::Error>> + Send,
    {
        let login = &self.shared.login;
        let again = login.user().is_some().then(|| (question.clone(), login.token()));
        match (ask(question).await, again) {
            (Err(etcd_client::Error::GRpcStatus(status)), Some((again, sent))) if is_stale(&status) => {
                let renewing = login.renew(&self.shared.etcd, &status, sent);
                // Whoever waits for a turn has no deadline for all of it.
                let late = |_| Refusal::deadline_exceeded("the login could not be renewed in time");
                tokio::time::timeout(self.deadline, renewing).await.map_err(late)??;
                ask(again).await
            }
            (answer, _) => answer,
        }
    }
}

impl Etcd for Client {
    type Watch = Watch;

    async fn range(&self, ask: Range) -> Result<Page, PortError> {
        let page = self.raw_page(ask).await?;
        page.whole().ok_or_else(|| self.unreadable())
    }

    async fn watch(&self, first: WatchRange) -> Result<Watch, PortError> {
        let name = range_name(&first.range);
        let call =
            |first: WatchRange| async move { Ok(self.shared.direct.watch(convert::watch_request(&first)).await?) };
        let (asks, answers) = self.call(first, call, || format!("watch {name}")).await?;
        Ok(Watch { client: self.clone(), asks, answers })
    }

    async fn time_to_live(&self, lease: LeaseId, keys: bool) -> Result<TimeToLive, PortError> {
        let ask = PbLeaseTimeToLiveRequest { id: lease.0, keys };
        let call = |ask| async move { Ok(self.shared.direct.time_to_live(ask).await?) };
        let answer = self.call(ask, call, || format!("ask lease {lease}")).await?;
        let term = Term(answer.header.map_or(0, |header| header.raft_term));
        let keys = keys.then(|| answer.keys.into_iter().map(Key::from).collect());
        Ok(TimeToLive { term, granted: answer.granted_ttl, remaining: answer.ttl, keys })
    }

    async fn leases(&self) -> Result<Vec<LeaseId>, PortError> {
        let call = |()| async { Ok(self.shared.direct.leases().await?) };
        let answer = self.call((), call, || "list leases".into()).await?;
        Ok(answer.leases.into_iter().map(|lease| LeaseId(lease.id)).collect())
    }

    async fn members(&self) -> Result<(Header, Vec<Member>), PortError> {
        let call = |()| {
            let mut client = self.shared.etcd.cluster_client();
            async move { client.member_list().await }
        };
        let answer = self.call((), call, || "list members".into()).await?.0;
        Ok((convert::header(answer.header), answer.members.into_iter().map(convert::member).collect()))
    }

    async fn status(&self) -> Result<(Header, Status), PortError> {
        let call = |()| {
            let mut client = self.shared.etcd.maintenance_client();
            async move { client.status().await }
        };
        let mut answer = self.call((), call, || "ask for the status".into()).await?.0;
        let header = convert::header(answer.header.take());
        let endpoint = self.endpoint().into();
        let status = Status { endpoint, revision: header.revision, ..convert::status(answer) };
        self.shared.pulse.note_status(&status);
        Ok((header, status))
    }

    async fn alarms(&self) -> Result<Vec<Alarm>, PortError> {
        let call = |()| {
            let mut client = self.shared.etcd.maintenance_client();
            async move { client.alarm(etcd_client::AlarmAction::Get, etcd_client::AlarmType::None, None).await }
        };
        let answer = self.call((), call, || "list alarms".into()).await?.0;
        let raised = answer.alarms.into_iter().filter_map(|alarm| {
            convert::alarm_kind(alarm.alarm).map(|kind| Alarm { member: MemberId(alarm.member_id), kind })
        });
        Ok(raised.collect())
    }

    async fn put(&self, put: Put) -> Result<Written, PortError> {
        let name = range_name(&crate::domain::KeyRange::single(&put.key));
        let call = |put: Put| {
            let mut kv = self.shared.kv.clone();
            let options = convert::put_options(&put);
            async move { kv.put(&*put.key, put.value, Some(options)).await }
        };
        let answer = self.call(put, call, || format!("put {name}")).await?.0;
        Ok(Written { header: convert::header(answer.header) })
    }

    async fn delete(&self, delete: Delete) -> Result<Deleted, PortError> {
        let name = range_name(&delete.range);
        let call = |delete: Delete| {
            let mut kv = self.shared.kv.clone();
            async move { kv.delete(&*delete.range.start, Some(convert::delete_options(&delete))).await }
        };
        let answer = self.call(delete, call, || format!("delete {name}")).await?.0;
        Ok(Deleted { header: convert::header(answer.header), deleted: answer.deleted })
    }

    async fn txn(&self, txn: Txn) -> Result<TxnDone, PortError> {
        let call = |txn: Txn| {
            let mut kv = self.shared.kv.clone();
            let compares: Vec<_> = txn.when.into_iter().map(convert::compare).collect();
            let then: Vec<_> = txn.then.into_iter().map(convert::operation).collect();
            let or_else: Vec<_> = txn.or_else.into_iter().map(convert::operation).collect();
            async move { kv.txn(etcd_client::Txn::new().when(compares).and_then(then).or_else(or_else)).await }
        };
        let answer = self.call(txn, call, || "run a transaction".into()).await?.0;
        let answers = answer.responses.into_iter().filter_map(|answer| match answer.response? {
            PbTxnOpResponse::ResponseRange(page) => Some(OpDone::Range(Page {
                header: convert::header(page.header),
                keys: convert::key_values(page.kvs),
                more: page.more,
                count: page.count,
            })),
            PbTxnOpResponse::ResponsePut(put) => Some(OpDone::Put(Written { header: convert::header(put.header) })),
            PbTxnOpResponse::ResponseDeleteRange(gone) => {
                Some(OpDone::Delete(Deleted { header: convert::header(gone.header), deleted: gone.deleted }))
            }
            PbTxnOpResponse::ResponseTxn(_) => None,
        });
        Ok(TxnDone { header: convert::header(answer.header), succeeded: answer.succeeded, answers: answers.collect() })
    }

    async fn grant(&self, lease: LeaseId, ttl: i64) -> Result<Granted, PortError> {
        let call = |()| {
            let mut client = self.shared.etcd.lease_client();
            let options = etcd_client::LeaseGrantOptions::new().with_id(lease.0);
            async move { client.grant(ttl, Some(options)).await }
        };
        let answer = self.call((), call, || format!("grant a lease of {ttl} s")).await?.0;
        Ok(Granted { lease: LeaseId(answer.id), ttl: answer.ttl })
    }

    async fn revoke(&self, lease: LeaseId) -> Result<Header, PortError> {
        let call = |()| {
            let mut client = self.shared.etcd.lease_client();
            async move { client.revoke(lease.0).await }
        };
        let answer = self.call((), call, || format!("revoke lease {lease}")).await?.0;
        Ok(convert::header(answer.header))
    }

    async fn keep_alive(&self, lease: LeaseId) -> Result<bool, PortError> {
        let call = |()| Keeper::renew(self.shared.keepers.take(lease), self.shared.etcd.lease_client(), lease);
        let keeper = self.call((), call, || format!("renew lease {lease}")).await?;
        let lives = keeper.is_some();
        if let Some(keeper) = keeper {
            self.shared.keepers.put(lease, keeper);
        }
        Ok(lives)
    }
}

/// A stream of watch answers from one endpoint.
pub struct Watch {
    client: Client,
    asks: mpsc::Sender<PbWatchRequest>,
    answers: Streaming<WatchAnswer>,
}

impl Watch {
    async fn ask(&self, ask: PbWatchRequest) -> Result<(), PortError> {
        // Who reads the answers is told why the stream ended.
        self.asks.send(ask).await.map_err(|_| self.failed(Refusal::unavailable("the watch stream has ended")))
    }

    fn failed(&self, status: Refusal) -> PortError {
        self.client.asked("watch").failed(&status.into())
    }
}

impl WatchStream for Watch {
    async fn next(&mut self) -> Result<Option<WatchAnswer>, PortError> {
        let came = self.answers.message().await.map_err(|status| self.failed(status));
        self.client.shared.pulse.note(&came);
        came
    }

    async fn add(&mut self, watch: WatchRange) -> Result<(), PortError> {
        self.ask(convert::watch_request(&watch)).await
    }

    async fn cancel(&mut self, watch: WatchId) -> Result<(), PortError> {
        self.ask(convert::cancel_request(watch)).await
    }

    async fn ask_progress(&mut self) -> Result<(), PortError> {
        self.ask(convert::progress_request()).await
    }
}

/// Whether a server of this version tells the truth when it is asked for a watch stream's
/// progress: before 3.4.25 and 3.5.8 the answer could overtake events (etcd issue 15220).
pub(crate) fn progress_is_reliable(version: &str) -> bool {
    let mut parts = version.split(['.', '-']).map(|part| part.parse::<u32>().unwrap_or(0));
    let number = [parts.next().unwrap_or(0), parts.next().unwrap_or(0), parts.next().unwrap_or(0)];
    match number {
        [3, 4, patch] => patch >= 25,
        [3, 5, patch] => patch >= 8,
        newer => newer >= [3, 6, 0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_of_old_servers_is_not_trusted() {
        for (version, reliable) in [
            ("3.4.23", false),
            ("3.4.25", true),
            ("3.5.7", false),
            ("3.5.16", true),
            ("3.6.0-rc.1", true),
            ("3.3.9", false),
            ("", false),
        ] {
            assert_eq!(progress_is_reliable(version), reliable, "{version}");
        }
    }
}
