//! The Election service, as etcd does it on its own client's election (`api/v3election`,
//! `concurrency/election.go`).

use std::collections::VecDeque;
use std::future::ready;
use std::sync::Arc;

use etcd_client::proto::{PbCampaignResponse, PbLeaderKey, PbLeaderResponse, PbProclaimResponse, PbResignResponse};
use futures::stream::{self, BoxStream, StreamExt};
use tonic::body::Body;
use tonic::codegen::http;
use tonic::{Request, Response, Status};

use super::messages::{CampaignRequest, LeaderRequest, ProclaimRequest, ResignRequest};
use super::recipe::{self, Followed, Following, Place};
use super::unary::{ByHand, streaming, unary, unimplemented};
use super::{Api, convert, header, mismatch, status, wants_leader};
use crate::domain::{Key, KeyRange, KeyValue, LeaseId, Revision};
use crate::embedded::Refusal;
use crate::mvcc::{Change, Event, Op, OpResponse, PutRequest, TxnRequest, queue};

/// The service `v3electionpb.Election`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Election;

impl ByHand for Election {
    const NAME: &'static str = "v3electionpb.Election";

    async fn answer(api: Api, method: &str, call: http::Request<Body>) -> http::Response<Body> {
        match method {
            "Campaign" => unary(call, |request| api.as_client(request, campaign)).await,
            "Proclaim" => unary(call, |request| api.as_client(request, proclaim)).await,
            "Leader" => unary(call, |request| api.as_client(request, leader)).await,
            "Observe" => streaming(call, |request| ready(observe(&api, request))).await,
            "Resign" => unary(call, |request| api.as_client(request, resign)).await,
            _ => unimplemented(&call),
        }
    }
}

async fn campaign(api: &Api, request: CampaignRequest) -> Result<PbCampaignResponse, Status> {
    let CampaignRequest { name, lease, value } = request;
    let lease = api.session(LeaseId(lease)).await?;
    let (queue, key) = (queue::of(&name), queue::place(&name, lease));
    let entering = enter(api.clone(), key.clone(), lease, value.clone());
    let Entered { own, said, revision, place } = recipe::to_its_end(api, entering).await?;
    // From here on a caller who goes away gives the key up, also one that was there before.
    let place = place.unwrap_or_else(|| Place::new(api, &key, own));
    if said.is_some_and(|said| said != value) {
        say(api, &key, own, lease, value).await?;
    }
    let waited = api.wait_for_predecessors(&queue, own).await;
    // etcd gives the key up only for a caller who went away; who gets an error may come back.
    place.keep();
    waited?;
    Ok(PbCampaignResponse {
        header: Some(header::at(&api.door, revision)),
        leader: Some(PbLeaderKey { name, key: key.to_vec(), rev: own.0, lease: lease.0 }),
    })
}

/// A key in the queue.
struct Entered {
    /// When it was created.
    own: Revision,
    /// What it says, when it was there before.
    said: Option<Vec<u8>>,
    revision: Revision,
    /// What this call has to give up if its caller leaves; none if the key was there before.
    place: Option<Place>,
}

/// Puts the key in the queue, or finds that it is there.
async fn enter(api: Api, key: Key, lease: LeaseId, value: Vec<u8>) -> Result<Entered, Status> {
    let put = PutRequest { key: key.clone(), value, lease, ..PutRequest::default() };
    let done = api
        .run(TxnRequest {
            compare: vec![queue::created_at(&key, Revision(0))],
            success: vec![Op::Put(put)],
            failure: vec![Op::Range(queue::get(&key))],
        })
        .await?;
    let (own, said, place) = match &*done.responses {
        [OpResponse::Put(_)] => (done.revision, None, Some(Place::new(&api, &key, done.revision))),
        [OpResponse::Range(found)] => {
            let kv = found.kvs.first().ok_or_else(mismatch)?;
            (kv.create_revision, Some(kv.value.clone()), None)
        }
        _ => return Err(mismatch()),
    };
    Ok(Entered { own, said, revision: done.revision, place })
}

async fn proclaim(api: &Api, request: ProclaimRequest) -> Result<PbProclaimResponse, Status> {
    let ProclaimRequest { leader, value } = request;
    let leader = leader.ok_or_else(no_leader_key)?;
    let lease = api.session(LeaseId(leader.lease)).await?;
    let revision = say(api, &Key::from(leader.key), Revision(leader.rev), lease, value).await?;
    Ok(PbProclaimResponse { header: Some(header::at(&api.door, revision)) })
}

/// Puts another value if the key is still the one that was created at this revision.
async fn say(api: &Api, key: &Key, own: Revision, lease: LeaseId, value: Vec<u8>) -> Result<Revision, Status> {
    let done = api.run(queue::put_if(key, own, value, lease)).await?;
    if done.succeeded { Ok(done.revision) } else { Err(Status::unknown("election: not leader")) }
}

async fn leader(api: &Api, LeaderRequest { name }: LeaderRequest) -> Result<PbLeaderResponse, Status> {
    let found = api.read(&queue::first(queue::of(&name))).await?;
    let Some(kv) = found.kvs.first() else { return Err(Status::unknown("election: no leader")) };
    Ok(told(api, kv, found.revision))
}

async fn resign(api: &Api, ResignRequest { leader }: ResignRequest) -> Result<PbResignResponse, Status> {
    let leader = leader.ok_or_else(no_leader_key)?;
    let done = api.run(queue::delete_if(&Key::from(leader.key), Revision(leader.rev))).await?;
    Ok(PbResignResponse { header: Some(header::at(&api.door, done.revision)) })
}

type Observed = BoxStream<'static, Result<PbLeaderResponse, Status>>;

fn observe(api: &Api, request: Request<LeaderRequest>) -> Result<Response<Observed>, Status> {
    api.admit(&request)?;
    let wants_leader = wants_leader(request.metadata());
    let queue = queue::of(&request.into_inner().name);
    let observing = Observing { api: api.clone(), queue, stage: Stage::Looking };
    let answers = stream::unfold(Some(observing), move |observing| async move {
        let mut observing = observing?;
        let bells = Arc::clone(&observing.api.bells);
        let ended = observing.api.ended.clone();
        let answer = tokio::select! {
            // The end first, then what ends the stream: a busy election must not outrun either.
            biased;
            () = ended.cancelled() => Err(status::refusal(Refusal::Stopped)),
            () = bells.leaderless(), if wants_leader => Err(status::refusal(Refusal::NoLeader)),
            answer = observing.next() => answer,
        };
        match answer {
            Ok(answer) => Some((Ok(answer), Some(observing))),
            Err(status) => Some((Err(status::through_client(&status)), None)),
        }
    });
    Ok(Response::new(answers.boxed()))
}

/// Follows who leads and what he says.
struct Observing {
    api: Api,
    queue: KeyRange,
    stage: Stage,
}

enum Stage {
    /// Looks who leads.
    Looking,
    /// Listens to the leader. What he did and was not passed on yet, in order.
    Listening(Box<Following>, VecDeque<Change>),
}

impl Observing {
    /// What is to be told next (etcd `concurrency/election.go`, `observe`).
    async fn next(&mut self) -> Result<PbLeaderResponse, Status> {
        loop {
            match &mut self.stage {
                Stage::Looking => {
                    let (kv, revision) = self.find().await?;
                    let key = KeyRange::single(&kv.key);
                    let following = Following::new(&self.api, key, revision.next());
                    self.stage = Stage::Listening(Box::new(following), VecDeque::new());
                    return Ok(told(&self.api, &kv, revision));
                }
                Stage::Listening(following, done) => match done.pop_front() {
                    None => done.extend(following.changes().await.map_err(closed)?),
                    Some(Change { event: Event::Put(kv), revision, .. }) => return Ok(told(&self.api, &kv, revision)),
                    Some(Change { event: Event::Delete(_), .. }) => self.stage = Stage::Looking,
                },
            }
        }
    }

    /// Who leads, or will be the first to, and as of which revision.
    async fn find(&self) -> Result<(Arc<KeyValue>, Revision), Status> {
        let found = self.api.read(&queue::first(self.queue.clone())).await?;
        if let Some(kv) = found.kvs.into_iter().next() {
            return Ok((kv, found.revision));
        }
        let mut following = Following::new(&self.api, self.queue.clone(), found.revision);
        loop {
            for change in following.changes().await.map_err(closed)? {
                if let Event::Put(kv) = change.event {
                    return Ok((kv, change.revision));
                }
            }
        }
    }
}

fn closed(why: Followed) -> Status {
    match why {
        Followed::Compacted => Status::unknown("election: observe closed early"),
        Followed::Stopped => status::refusal(Refusal::Stopped),
    }
}

fn told(api: &Api, kv: &KeyValue, revision: Revision) -> PbLeaderResponse {
    PbLeaderResponse { header: Some(header::at(&api.door, revision)), kv: Some(convert::response::key_value(kv)) }
}

fn no_leader_key() -> Status {
    Status::unknown("\"leader\" field must be provided")
}
