//! Reads ranges whole, in pages, all at one revision.
//!
//! The next page is asked for before the last one is handed out, so that the server works
//! while the reader does; never more than a few pages are in memory.

use std::collections::VecDeque;
use std::pin::Pin;

use futures::FutureExt;
use futures::future::{BoxFuture, MaybeDone, maybe_done};

use crate::domain::{Key, KeyRange, Revision};
use crate::event::{Denied, ListPage};
use crate::port::{Client, PortError, Range, RawPage};

/// Keys on a range's first page, before it is known how large they are. Small pages cost the
/// server much: for each it walks the index of all that is left.
const FIRST_PAGE: u32 = 10_000;
/// The most keys on a page, however small they are.
const LARGEST_PAGE: u32 = 50_000;
/// A page's least keys, however large the values are.
const SMALLEST_PAGE: u32 = 100;
/// About how large a page may become.
const PAGE_BYTES: usize = 32 << 20;
/// From this size on a database may hold values so large that the first page starts small.
const LARGE_DATABASE: i64 = 256 << 20;
/// Up to this size all of a database is less than what may be asked for ahead of time.
const SMALL_DATABASE: i64 = 32 << 20;
/// Keys that are handed out at once: so few are still in the processor's caches when they are taken
/// in.
const PART: usize = 4_000;
/// How many ranges have their first page asked for ahead of time. With the page that is waited for,
/// they have to fit into the connection's window (`port/wire.rs`): what nobody reads yet would keep
/// it out.
const AHEAD: usize = 3;

/// What came of reading.
#[derive(Debug)]
pub(super) enum Read {
    /// A page, or a part of a large one. Those of a range come without another range's between them.
    Page(ListPage),
    /// A range this user may not read; the others go on.
    Denied(Denied),
}

/// Reads ranges one after the other.
pub(super) struct Lister {
    client: Client,
    serializable: bool,
    /// The most keys on the next page.
    page: u32,
    /// The most on a range's first page; of these several are in memory at once.
    first_page: u32,
    /// The revision everything is read at, once the first answer named it.
    revision: Option<Revision>,
    waiting: VecDeque<KeyRange>,
    asked: VecDeque<Asked>,
    /// The page that is handed out.
    open: Option<Open>,
}

type Asking = BoxFuture<'static, Result<RawPage, PortError>>;

/// A page that came.
struct Open {
    range: KeyRange,
    revision: Revision,
    page: RawPage,
    /// Whether nothing of its range was handed out yet.
    first: bool,
}

/// A page that was asked for.
struct Asked {
    range: KeyRange,
    /// Where the page starts, when it is not the range's first.
    from: Option<Key>,
    /// How many keys at most.
    limit: u32,
    answer: Pin<Box<MaybeDone<Asking>>>,
}

impl Lister {
    /// Reads `ranges` in this order from a member whose database has `database` bytes in use.
    /// With `serializable` the member answers from what it has, which works without a quorum.
    pub fn new(client: &Client, ranges: Vec<KeyRange>, database: i64, serializable: bool) -> Self {
        let first_page = match database {
            1..=SMALL_DATABASE => LARGEST_PAGE,
            ..=LARGE_DATABASE => FIRST_PAGE,
            _ => SMALLEST_PAGE,
        };
        let (client, page) = (client.clone(), first_page);
        let first_page = first_page.max(FIRST_PAGE);
        let (waiting, asked) = (ranges.into(), VecDeque::new());
        Self { client, serializable, page, first_page, revision: None, waiting, asked, open: None }
    }

    /// The next page, or part of a large one; `None` when all ranges were read. Cancelling it loses
    /// nothing.
    ///
    /// A revision that is compacted while a range is read starts that range anew, at a newer
    /// revision: its next page is a first one again.
    ///
    /// # Errors
    /// When the connection or the server fails; what was handed out until then is incomplete.
    pub async fn next(&mut self) -> Result<Option<Read>, PortError> {
        loop {
            if let Some(open) = self.open.take() {
                return self.hand_out(open).map(Some);
            }
            self.ask_ahead();
            let Some(front) = self.asked.front_mut() else { return Ok(None) };
            front.answer.as_mut().await;
            let Some(mut asked) = self.asked.pop_front() else { return Ok(None) };
            match asked.answer.as_mut().take_output() {
                Some(Ok(page)) => self.open(asked.range, asked.from.is_none(), page),
                Some(Err(PortError::Denied { user, why, .. })) => {
                    return Ok(Some(Read::Denied(Denied { range: asked.range, user, why })));
                }
                Some(Err(PortError::Compacted { .. })) => {
                    // What was asked at the compacted revision is asked again at a newer one.
                    self.revision = None;
                    for later in self.asked.drain(..).rev() {
                        self.waiting.push_front(later.range);
                    }
                    self.waiting.push_front(asked.range);
                }
                Some(Err(PortError::TooLarge { .. })) if asked.limit > SMALLEST_PAGE => {
                    let limit = (asked.limit / 8).max(SMALLEST_PAGE);
                    self.page = self.page.min(limit);
                    let again = self.ask(asked.range, asked.from, limit);
                    self.asked.push_front(again);
                }
                Some(Err(error)) => return Err(error),
                None => {}
            }
        }
    }

    /// Asks for first pages ahead of time; only for one before the revision is known.
    fn ask_ahead(&mut self) {
        let ahead = if self.revision.is_some() { AHEAD } else { 1 };
        while self.asked.len() < ahead
            && let Some(range) = self.waiting.pop_front()
        {
            let first = self.ask(range, None, self.page.min(self.first_page));
            self.asked.push_back(first);
        }
    }

    /// Puts the question for a page of so many keys on its way.
    fn ask(&self, range: KeyRange, from: Option<Key>, limit: u32) -> Asked {
        let rest = KeyRange { start: from.as_ref().unwrap_or(&range.start).clone(), end: range.end.clone() };
        // Whatever the first answer's revision is, this member has it.
        let serializable = self.serializable || self.revision.is_some();
        let question = Range { revision: self.revision, limit, serializable, ..Range::of(rest) };
        let client = self.client.clone();
        let asking: Asking = Box::pin(async move { client.raw_page(question).await });
        let mut answer = Box::pin(maybe_done(asking));
        // Polled once, the question is on its way; whoever awaits the answer polls it again.
        let _ = answer.as_mut().now_or_never();
        Asked { range, from, limit, answer }
    }

    /// Takes a page that came, and asks for the next one.
    fn open(&mut self, range: KeyRange, first: bool, page: RawPage) {
        // The first answer's revision is the one that all are read at.
        let revision = *self.revision.get_or_insert(page.header.revision);
        if let Some(fitting) = (PAGE_BYTES * page.left()).checked_div(page.size()).filter(|_| page.left() > 0) {
            self.page = u32::try_from(fitting).unwrap_or(LARGEST_PAGE).clamp(SMALLEST_PAGE, LARGEST_PAGE);
        }
        if let Some(last) = page.last_key().filter(|_| page.more) {
            let left = page.count.saturating_sub_unsigned(page.left() as u64);
            let next = self.ask(range.clone(), Some(last.successor()), share(left).min(self.page));
            self.asked.push_front(next);
        }
        self.open = Some(Open { range, revision, page, first });
    }

    /// Reads a part of the page that is open.
    fn hand_out(&mut self, mut open: Open) -> Result<Read, PortError> {
        let keys = open.page.read(PART).ok_or_else(|| self.client.unreadable())?;
        let (range, revision, first) = (open.range.clone(), open.revision, open.first);
        let done = open.page.left() == 0;
        // One that says there is more behind no key at all would never end.
        let last = done && !(open.page.more && open.page.last_key().is_some());
        if !done {
            self.open = Some(Open { first: false, ..open });
        }
        Ok(Read::Page(ListPage { range, revision, keys, first, last }))
    }
}

/// How many of the keys that are left to ask for on the next page. More than half: what the server
/// does while a page is taken in is done, and the last page, which nothing is done beside, is short.
fn share(left: i64) -> u32 {
    u32::try_from(left / 5 * 3).unwrap_or(LARGEST_PAGE).max(FIRST_PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_become_shorter_towards_the_end() {
        assert_eq!([80_000, 50_000, 20_000, 12_000, 1].map(share), [48_000, 30_000, 12_000, 10_000, 10_000]);
        assert_eq!(share(i64::MAX), LARGEST_PAGE);
    }
}
