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
use crate::port::{Client, Etcd, Page, PortError, Range};

/// Keys on a range's first page, before it is known how large they are. Small pages cost the
/// server much: it walks the whole range's index for each.
const FIRST_PAGE: u32 = 10_000;
/// Keys on a page that follows, when they are small.
const LARGEST_PAGE: u32 = 20_000;
/// A page's least keys, however large the values are.
const SMALLEST_PAGE: u32 = 100;
/// About how large a page may become.
const PAGE_BYTES: usize = 32 << 20;
/// From this size on a database may hold values so large that the first page starts small.
const LARGE_DATABASE: i64 = 256 << 20;
/// How many ranges have their first page asked for ahead of time.
const AHEAD: usize = 8;

/// What came of reading.
#[derive(Debug)]
pub(super) enum Read {
    /// A page. The pages of a range come without another range's between them.
    Page(ListPage),
    /// A range this user may not read; the others go on.
    Denied(Denied),
}

/// Reads ranges one after the other.
pub(super) struct Lister {
    client: Client,
    serializable: bool,
    page: u32,
    /// The revision everything is read at, once the first answer named it.
    revision: Option<Revision>,
    waiting: VecDeque<KeyRange>,
    asked: VecDeque<Asked>,
}

type Asking = BoxFuture<'static, Result<Page, PortError>>;

/// A page that was asked for.
struct Asked {
    range: KeyRange,
    /// Where the page starts, when it is not the range's first.
    from: Option<Key>,
    answer: Pin<Box<MaybeDone<Asking>>>,
}

impl Lister {
    /// Reads `ranges` in this order from a member whose database has `database` bytes in use.
    /// With `serializable` the member answers from what it has, which works without a quorum.
    pub fn new(client: &Client, ranges: Vec<KeyRange>, database: i64, serializable: bool) -> Self {
        let page = if database > LARGE_DATABASE { SMALLEST_PAGE } else { FIRST_PAGE };
        let client = client.clone();
        Self { client, serializable, page, revision: None, waiting: ranges.into(), asked: VecDeque::new() }
    }

    /// The next page, `None` when all ranges were read. Cancelling it loses nothing.
    ///
    /// A revision that is compacted while a range is read starts that range anew, at a newer
    /// revision: its next page is a first one again.
    ///
    /// # Errors
    /// When the connection or the server fails; what was handed out until then is incomplete.
    pub async fn next(&mut self) -> Result<Option<Read>, PortError> {
        loop {
            self.ask_ahead();
            let Some(front) = self.asked.front_mut() else { return Ok(None) };
            front.answer.as_mut().await;
            let Some(mut asked) = self.asked.pop_front() else { return Ok(None) };
            match asked.answer.as_mut().take_output() {
                Some(Ok(page)) => return Ok(Some(self.hand_out(asked.range, asked.from.is_none(), page))),
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
                Some(Err(PortError::TooLarge { .. })) if self.page > SMALLEST_PAGE => {
                    self.page = (self.page / 8).max(SMALLEST_PAGE);
                    let again = self.ask(asked.range, asked.from);
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
            let first = self.ask(range, None);
            self.asked.push_back(first);
        }
    }

    /// Puts a question on its way.
    fn ask(&self, range: KeyRange, from: Option<Key>) -> Asked {
        let rest = KeyRange { start: from.as_ref().unwrap_or(&range.start).clone(), end: range.end.clone() };
        // Whatever the first answer's revision is, this member has it.
        let serializable = self.serializable || self.revision.is_some();
        // First pages are asked for ahead of time: several are in memory at once.
        let limit = if from.is_none() { self.page.min(FIRST_PAGE) } else { self.page };
        let question = Range { revision: self.revision, limit, serializable, ..Range::of(rest) };
        let client = self.client.clone();
        let asking: Asking = Box::pin(async move { client.range(question).await });
        let mut answer = Box::pin(maybe_done(asking));
        // Polled once, the question is on its way; whoever awaits the answer polls it again.
        let _ = answer.as_mut().now_or_never();
        Asked { range, from, answer }
    }

    fn hand_out(&mut self, range: KeyRange, first: bool, page: Page) -> Read {
        let revision = *self.revision.get_or_insert(page.header.revision);
        let bytes: usize = page.keys.iter().map(|kv| kv.key.len() + kv.value.len()).sum();
        if let Some(fitting) = (PAGE_BYTES * page.keys.len()).checked_div(bytes) {
            self.page = u32::try_from(fitting).unwrap_or(LARGEST_PAGE).clamp(SMALLEST_PAGE, LARGEST_PAGE);
        }
        let last_key = page.keys.last().filter(|_| page.more).map(|kv| Key::from([&kv.key[..], b"\0"].concat()));
        let last = last_key.is_none();
        if last_key.is_some() {
            let next = self.ask(range.clone(), last_key);
            self.asked.push_front(next);
        }
        Read::Page(ListPage { range, revision, keys: page.keys, first, last })
    }
}
