//! The Watch service: a stream of requests in, a stream of answers out
//! (etcd `api/v3rpc/watch.go`).
//!
//! The stream of answers is the machine itself and is asked for one answer at a time, when the
//! client has room for it: no task, no queue that grows, and a client that goes away takes all
//! of it with it. It reads the store when its bell rings.

mod answer;
mod watches;

use std::collections::VecDeque;
use std::pin::Pin;
use std::time::Duration;

use etcd_client::proto::{PbWatchRequest, PbWatchRequestUnion, PbWatchResponse, PbWatchService};
use futures::stream::{self, BoxStream, StreamExt};
use tokio::time::{Instant, Sleep};
use tonic::{Request, Response, Status, Streaming};

use self::answer::Answer;
use self::watches::{News, Wanted, WatchId, Watches};
use super::bells::Bell;
use super::{Api, status, wants_leader};
use crate::domain::Revision;
use crate::embedded::Refusal;
use crate::mvcc;

/// How often those who want it and were told nothing else are told how far they are; up to a
/// tenth more, so that the streams of a member do not all do it at once.
const PROGRESS: Duration = Duration::from_mins(10);

/// Of how many revisions at most, the latest, the cluster is told that watches were told of
/// them: it wants to know for the requests that it remembers, and these are few.
const REMEMBERED: usize = 32;

/// The filters of the wire (rpc.proto, `WatchCreateRequest.FilterType`).
const NO_PUT: i32 = 0;
const NO_DELETE: i32 = 1;

#[tonic::async_trait]
impl PbWatchService for Api {
    type WatchStream = BoxStream<'static, Result<PbWatchResponse, Status>>;

    async fn watch(&self, request: Request<Streaming<PbWatchRequest>>) -> Result<Response<Self::WatchStream>, Status> {
        self.admit(&request)?;
        let wants_leader = wants_leader(request.metadata());
        let watching = Watching::new(self.clone(), request.into_inner(), wants_leader);
        let answers = stream::unfold(Some(watching), |watching| async move {
            let mut watching = watching?;
            match watching.next().await {
                Ok(Some(answer)) => Some((Ok(answer), Some(watching))),
                Ok(None) => None,
                Err(status) => Some((Err(status), None)),
            }
        });
        Ok(Response::new(answers.boxed()))
    }
}

/// One stream of watches.
struct Watching {
    api: Api,
    requests: Streaming<PbWatchRequest>,
    /// Whether the client may still ask for something.
    asking: bool,
    wants_leader: bool,
    watches: Watches,
    bell: Bell,
    /// What is to be sent before anything else is read.
    answers: VecDeque<Answer>,
    /// The parts of an answer that was too large for one message.
    fragments: VecDeque<PbWatchResponse>,
    /// Whether those in step have not been told everything yet.
    more: bool,
    progress: Pin<Box<Sleep>>,
    /// The revisions that watches were told of since the cluster was told that, and how many.
    told: VecDeque<(Revision, u32)>,
}

impl Watching {
    fn new(api: Api, requests: Streaming<PbWatchRequest>, wants_leader: bool) -> Self {
        let bell = api.bells.bell();
        Self {
            requests,
            asking: true,
            wants_leader,
            watches: Watches::default(),
            bell,
            answers: VecDeque::new(),
            fragments: VecDeque::new(),
            more: false,
            progress: Box::pin(tokio::time::sleep(progress_interval(&api))),
            told: VecDeque::new(),
            api,
        }
    }

    /// The next answer; none when the stream ends.
    async fn next(&mut self) -> Result<Option<PbWatchResponse>, Status> {
        loop {
            if let Some(fragment) = self.fragments.pop_front() {
                return Ok(Some(fragment));
            }
            if let Some(answer) = self.answers.pop_front() {
                self.fragments = answer.into_messages(&self.api.door);
                continue;
            }
            while let Some((revision, watches)) = self.told.pop_front() {
                self.api.door.watchers_told(revision, watches).await;
            }
            self.wait().await?;
        }
    }

    /// Waits until something happens, and works out what it means.
    async fn wait(&mut self) -> Result<(), Status> {
        let busy = self.more || self.watches.has_behind();
        let wants_progress = self.watches.want_progress();
        tokio::select! {
            // What the client wants comes first: it may be to cancel the watch that has the work.
            biased;
            () = self.api.ended.cancelled() => return Err(status::refusal(Refusal::Stopped)),
            () = self.api.bells.leaderless(), if self.wants_leader => return Err(status::refusal(Refusal::NoLeader)),
            request = self.requests.message(), if self.asking => match request? {
                Some(request) => self.take(request),
                // A client that asks for no more still listens.
                None => self.asking = false,
            },
            () = &mut self.progress, if wants_progress => self.tell_progress(),
            () = tokio::task::yield_now(), if busy => self.read(),
            () = self.bell.rings() => self.read(),
        }
        Ok(())
    }

    /// Takes a request of the client.
    fn take(&mut self, request: PbWatchRequest) {
        match request.request_union {
            Some(PbWatchRequestUnion::CreateRequest(create)) => {
                let watch = mvcc::Watch {
                    no_put: create.filters.contains(&NO_PUT),
                    no_delete: create.filters.contains(&NO_DELETE),
                    prev_kv: create.prev_kv,
                    ..mvcc::Watch::from_wire(create.key, create.range_end)
                };
                self.create(Wanted {
                    id: create.watch_id,
                    watch,
                    from: Revision(create.start_revision),
                    fragment: create.fragment,
                    progress_notify: create.progress_notify,
                });
            }
            Some(PbWatchRequestUnion::CancelRequest(cancel)) => {
                let id = WatchId(cancel.watch_id);
                // etcd says nothing to a number that it does not know.
                if let Some(range) = self.watches.cancel(id) {
                    self.bell.take_down(&range);
                    self.answers.push_back(Answer::Cancelled { watch: id, revision: self.api.revision() });
                }
            }
            Some(PbWatchRequestUnion::ProgressRequest(_)) => {
                let now = self.read_all();
                if self.watches.all_in_step(now) {
                    self.answers.push_back(Answer::Progress { watch: WatchId::NONE, revision: now });
                }
            }
            None => {}
        }
    }

    fn create(&mut self, wanted: Wanted) {
        if wanted.from.0 < 0 {
            let why = mvcc::Error::Compacted.message();
            self.answers.push_back(Answer::Refused { why, revision: self.api.revision() });
            return;
        }
        let range = wanted.watch.range.clone();
        // It hangs before the store is looked at, so that no change falls between the two.
        self.bell.hang(&range);
        let now = self.api.revision();
        self.answers.push_back(match self.watches.create(wanted, now) {
            Ok(watch) => Answer::Created { watch, revision: now },
            Err(error) => {
                self.bell.take_down(&range);
                Answer::Refused { why: error.to_string(), revision: now }
            }
        });
    }

    /// Reads what is new for the watches; what is a lot to read goes in several steps.
    fn read(&mut self) {
        let mut news = Vec::new();
        {
            let store = self.api.door.store();
            if !self.more {
                self.watches.skip_to(self.bell.look_from());
            }
            self.more = self.watches.tell_in_step(&store, &mut news);
            self.watches.tell_behind(&store, &mut news);
        }
        self.announce(news);
    }

    /// Reads all that is new for those in step; the revision that they are at then.
    fn read_all(&mut self) -> Revision {
        let mut news = Vec::new();
        let now = {
            let store = self.api.door.store();
            while self.more {
                self.more = self.watches.tell_in_step(&store, &mut news);
            }
            self.watches.skip_to(self.bell.look_from());
            while self.watches.tell_in_step(&store, &mut news) {}
            store.revision()
        };
        self.announce(news);
        now
    }

    fn announce(&mut self, news: Vec<News>) {
        let mut told = std::collections::BTreeMap::<Revision, u32>::new();
        for news in news {
            let watch = match &news {
                News::Changes { watch, changes, which, .. } => {
                    let mut last = None;
                    for at in which {
                        let revision = changes[*at].revision;
                        if last.replace(revision) != Some(revision) {
                            *told.entry(revision).or_default() += 1;
                        }
                    }
                    watch
                }
                News::Compacted { watch, .. } => watch,
            };
            if let Some(wanted) = self.watches.wanted(*watch) {
                self.answers.push_back(Answer::news(news, wanted));
            }
        }
        let old = told.len().saturating_sub(REMEMBERED);
        self.told.extend(told.into_iter().skip(old));
    }

    fn tell_progress(&mut self) {
        let now = self.read_all();
        for watch in self.watches.due_for_progress(now) {
            self.answers.push_back(Answer::Progress { watch, revision: now });
        }
        let next = Instant::now() + progress_interval(&self.api);
        self.progress.as_mut().reset(next);
    }
}

/// The interval of progress, spread by the member and the streams that it has.
fn progress_interval(api: &Api) -> Duration {
    let spread = (api.door.member.0 ^ api.revision().0.unsigned_abs()) % 16;
    PROGRESS + PROGRESS / 160 * u32::try_from(spread).unwrap_or(0)
}
