//! Finds out whether what was denied may be read by now: somebody may wait for a role that was just
//! granted. It is asked beside the watches, which are opened anew only when there is something to gain.

use std::future::pending;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::session::Session;
use super::watches::Open;
use crate::domain::{KeyRange, Revision};
use crate::port::{Client, Etcd, Range, Want};

/// How long after the watches were opened, or after it was asked last, it is asked; at the next look at
/// the flow.
pub(super) const ASKED_AGAIN: Duration = Duration::from_secs(15);
/// How many ranges are asked for in one round; the next goes on with those behind them.
const MOST: usize = 16;

/// A round of questions; ends with the revision of the first answer, when there is one.
pub(super) type Asking = BoxFuture<'static, Option<Revision>>;

impl Session<'_> {
    /// Starts a round of questions for what is denied, if anything is.
    pub(super) fn ask_for_denied(&self, open: &mut Open, round: usize) {
        let denied = in_turn(self.memory.denied(), round);
        if !denied.is_empty() && open.asking.is_none() {
            open.asking = Some(first_answer(self.client().clone(), denied).boxed());
        }
    }
}

/// The ranges to ask for in this round.
fn in_turn(mut denied: Vec<KeyRange>, round: usize) -> Vec<KeyRange> {
    let first = (round * MOST).checked_rem(denied.len()).unwrap_or_default();
    denied.rotate_left(first);
    denied.truncate(MOST);
    denied
}

async fn first_answer(client: Client, ranges: Vec<KeyRange>) -> Option<Revision> {
    for range in ranges {
        let question = Range { want: Want::Keys, limit: 1, serializable: true, ..Range::of(range) };
        if let Ok(page) = client.range(question).await {
            return Some(page.header.revision);
        }
    }
    None
}

/// What comes of the questions that are under way.
pub(super) async fn answer(asking: &mut Option<Asking>) -> Option<Revision> {
    match asking {
        Some(under_way) => {
            let came = under_way.await;
            *asking = None;
            came
        }
        None => pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_range_is_asked_for_in_its_turn() {
        let range = |at: usize| KeyRange::single(at.to_string().as_bytes());
        let denied: Vec<_> = (0..40).map(range).collect();
        assert_eq!(in_turn(denied.clone(), 0), denied[..16]);
        assert_eq!(in_turn(denied.clone(), 2), [&denied[32..], &denied[..8]].concat());
        assert_eq!(in_turn(denied[..3].to_vec(), 7).len(), 3, "none twice in a round");
        assert_eq!(in_turn(Vec::new(), 7), []);
    }
}
