//! The messages of the Lock and Election services (etcd `v3lock.proto`, `v3election.proto`) that
//! etcd's client crate keeps to itself: the requests. The answers it has.

use etcd_client::proto::PbLeaderKey;

/// Asks for a lock.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct LockRequest {
    /// The lock's name.
    #[prost(bytes = "vec", tag = "1")]
    pub name: Vec<u8>,
    /// The lease to hold it by; 0 for one of the server's.
    #[prost(int64, tag = "2")]
    pub lease: i64,
}

/// Gives a lock up.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct UnlockRequest {
    /// The key that came with the lock.
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
}

/// Stands for election.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct CampaignRequest {
    /// The election's name.
    #[prost(bytes = "vec", tag = "1")]
    pub name: Vec<u8>,
    /// The lease to lead by; 0 for one of the server's.
    #[prost(int64, tag = "2")]
    pub lease: i64,
    /// What to say as the leader.
    #[prost(bytes = "vec", tag = "3")]
    pub value: Vec<u8>,
}

/// Says something else as the leader.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ProclaimRequest {
    /// What came with the lead.
    #[prost(message, optional, tag = "1")]
    pub leader: Option<PbLeaderKey>,
    /// What to say.
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

/// Asks for the leader.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct LeaderRequest {
    /// The election's name.
    #[prost(bytes = "vec", tag = "1")]
    pub name: Vec<u8>,
}

/// Gives the lead up.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ResignRequest {
    /// What came with the lead.
    #[prost(message, optional, tag = "1")]
    pub leader: Option<PbLeaderKey>,
}
