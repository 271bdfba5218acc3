//! What a client watches, as inputs of its recipe.

use futures::stream::{BoxStream, StreamExt as _};

use crate::domain::{KeyRange, Revision};
use crate::port::{Etcd, WatchAnswer, WatchRange, WatchStream};
use crate::recipe::{Input, WatchId};

/// A watch that is on, or waits for a connection.
pub(super) struct Watching {
    pub id: WatchId,
    pub range: KeyRange,
    pub from: Revision,
    pub events: Option<BoxStream<'static, Input>>,
}

/// The changes of a range as inputs; the last one is that the watch is lost.
pub(super) fn follow<E: Etcd>(etcd: E, id: WatchId, range: KeyRange, from: Revision) -> BoxStream<'static, Input> {
    let ask = WatchRange { id: crate::port::WatchId(1), range, from: Some(from) };
    let opened = async move {
        match etcd.watch(ask).await {
            Ok(stream) => batches(stream, id).boxed(),
            Err(_) => futures::stream::iter([Input::WatchLost(id)]).boxed(),
        }
    };
    futures::stream::once(opened).flatten().boxed()
}

fn batches(stream: impl WatchStream, id: WatchId) -> impl futures::Stream<Item = Input> + Send {
    let batches = futures::stream::unfold(Some(stream), move |stream| async move {
        let mut stream = stream?;
        Some(match stream.next().await {
            Ok(Some(WatchAnswer::Events { changes, .. })) => {
                let changed = |(revision, event)| Input::Changed { watch: id, revision, event };
                (changes.into_iter().map(changed).collect(), Some(stream))
            }
            Ok(Some(WatchAnswer::Created { .. } | WatchAnswer::Progress { .. })) => (Vec::new(), Some(stream)),
            Ok(Some(WatchAnswer::Cancelled { .. }) | None) | Err(_) => (vec![Input::WatchLost(id)], None),
        })
    });
    batches.flat_map(futures::stream::iter)
}

pub(super) async fn next_event(watch: &mut Option<Watching>) -> Option<Input> {
    let event = match watch.as_mut().and_then(|watching| watching.events.as_mut()) {
        Some(events) => events.next().await,
        None => std::future::pending().await,
    };
    if matches!(event, None | Some(Input::WatchLost(_))) {
        *watch = None;
    }
    event
}
