//! The vocabulary: identities, revisions, times, keys, members, as plain data.
//!
//! Nothing here knows etcd's client, a clock or a screen. Numbers are newtypes so that a
//! revision can never be passed where a lease is meant; `i64` and `u64` stop at the port.

pub mod bytes;
pub mod escape;
pub mod ids;
pub mod key;
pub mod kv;
mod lang;
mod measure;
pub mod member;
pub mod play;
pub mod plural;
mod position;
pub mod protobuf;
pub mod raft;
mod reach;
pub mod redaction;
pub mod sentence;
pub mod time;
mod words;
pub mod write;

pub use ids::{ClusterId, LeaseId, MemberId, RaftIndex, Revision, Term, hex_digits};
pub use key::{Key, KeyRange};
pub use kv::{KeyEvent, KeyValue, LeaderKey};
pub use lang::Lang;
pub use measure::Length;
pub use member::{Alarm, AlarmKind, Member, Status};
pub use position::line_and_column;
pub use reach::Reach;
pub use redaction::Redaction;
pub use sentence::{Sentence, Value};
pub use time::{Millis, Timestamp};
pub use words::WordError;
