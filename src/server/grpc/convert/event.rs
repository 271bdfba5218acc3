//! Changes of the store to the events of a watch.

use etcd_client::proto::{PbEvent, PbKeyValue};

use super::response::key_value;
use crate::mvcc::{Change, Event};

/// A change, with the key as it was before if `prev_kv`.
pub(in crate::server::grpc) fn event(change: &Change, prev_kv: bool) -> PbEvent {
    let prev_kv = if prev_kv { change.previous.as_deref().map(key_value) } else { None };
    match &change.event {
        Event::Put(kv) => PbEvent { r#type: 0, kv: Some(key_value(kv)), prev_kv },
        Event::Delete(key) => {
            // Of a key that is gone etcd tells nothing but its name and the revision it went at.
            let gone = PbKeyValue { key: key.to_vec(), mod_revision: change.revision.0, ..PbKeyValue::default() };
            PbEvent { r#type: 1, kv: Some(gone), prev_kv }
        }
    }
}
