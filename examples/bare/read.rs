//! Listing and watching with as little around it as possible.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use color_eyre::Result;
use color_eyre::eyre::ContextCompat;
use etcd_client::{EventType, GetOptions, WatchOptions};

use crate::Target;

/// Enough for any page or watch response of the comparison.
const LARGEST_MESSAGE: usize = 256 << 20;

/// Keys a page; see "Numbers that shaped it" in `docs/architecture.md`.
const PAGE: i64 = 10_000;

/// The smallest model that can say who holds a lock: keys by create_revision, by lock.
type Locks = HashMap<Vec<u8>, BTreeMap<i64, Vec<u8>>>;

/// Lists the prefix at one revision and prints what was found.
pub async fn list(target: &Target) -> Result<()> {
    let mut kv = target.connect().await?.kv_client().max_decoding_message_size(LARGEST_MESSAGE);
    let end = end_of(target.prefix.as_bytes());
    let (mut locks, mut keys, mut revision) = (Locks::new(), 0, 0);
    let mut start = target.prefix.clone().into_bytes();
    loop {
        let options = GetOptions::new().with_range(end.clone()).with_limit(PAGE).with_revision(revision);
        let mut page = kv.get(start, Some(options)).await?;
        revision = page.header().context("an answer has a header")?.revision();
        let found = page.take_kvs();
        keys += found.len();
        start = found.last().map(|last| [last.key(), b"\0"].concat()).unwrap_or_default();
        for kv in found {
            let created = kv.create_revision();
            let (key, _) = kv.into_key_value();
            locks.entry(name(&key).to_vec()).or_default().insert(created, key);
        }
        if !page.more() {
            break;
        }
    }
    println!("{} locks, {keys} keys at revision {revision}", locks.len());
    Ok(())
}

/// Prints one line a change, and who is first when somebody went; sends them on whenever a
/// response has been read.
pub async fn watch(target: &Target) -> Result<()> {
    let mut client = target.connect().await?.watch_client().max_decoding_message_size(LARGEST_MESSAGE);
    let mut stream =
        client.watch(target.prefix.as_str(), Some(WatchOptions::new().with_prefix().with_prev_key())).await?;
    let mut locks = Locks::new();
    let mut out = io::BufWriter::new(io::stdout().lock());
    while let Some(response) = stream.message().await? {
        for event in response.events() {
            let Some(kv) = event.kv() else { continue };
            let keys = locks.entry(name(kv.key()).to_vec()).or_default();
            if event.event_type() == EventType::Put {
                keys.insert(kv.create_revision(), kv.key().to_vec());
                writeln!(out, "PUT {}", kv.key().escape_ascii())?;
            } else {
                keys.retain(|_, key| key != kv.key());
                writeln!(out, "DELETE {}", kv.key().escape_ascii())?;
                if let Some(first) = keys.values().next() {
                    writeln!(out, "FIRST {}", first.escape_ascii())?;
                }
            }
        }
        out.flush()?;
    }
    Ok(())
}

/// The lock's name: all before the last slash.
fn name(key: &[u8]) -> &[u8] {
    key.iter().rposition(|&byte| byte == b'/').map_or(key, |at| &key[..at])
}

/// The end of the range of a prefix that does not end with 0xff.
fn end_of(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    end
}
