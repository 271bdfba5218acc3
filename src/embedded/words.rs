//! Requests in a few words, for logs and traces that people read.
//!
//! Keys are any bytes: they are escaped here, once and as everywhere, and long ones are cut.

use crate::domain::KeyRange;
use crate::domain::escape::escape;
use crate::mvcc::{Op, Request, TxnRequest};

/// Characters of a key that are shown.
const LONG: usize = 60;

/// A request to the store in a few words, such as `put /demo/lock/a`.
pub(super) fn of(request: &Request) -> String {
    match request {
        Request::Put(put) => format!("put {}", key(put.key.as_bytes())),
        Request::Delete(delete) => format!("delete {}", range(&delete.range)),
        Request::Txn(txn) => format!("txn {}", first_write(txn)),
        Request::Compact { revision, .. } => format!("compact {revision}"),
        Request::Grant { lease, ttl } => format!("grant {lease} {ttl}s"),
        Request::Revoke { lease } => format!("revoke {lease}"),
    }
}

/// What a transaction is about: its first write, whichever branch that is in.
fn first_write(txn: &TxnRequest) -> String {
    let ops = || txn.success.iter().chain(&txn.failure);
    let write = ops().find_map(|op| match op {
        Op::Put(put) => Some(format!("put {}", key(put.key.as_bytes()))),
        Op::Delete(delete) => Some(format!("delete {}", range(&delete.range))),
        Op::Txn(inner) => Some(first_write(inner)),
        Op::Range(_) => None,
    });
    let read = || {
        ops().find_map(|op| if let Op::Range(read) = op { Some(format!("get {}", range(&read.range))) } else { None })
    };
    write.or_else(read).unwrap_or_else(|| "of nothing".to_owned())
}

fn range(range: &KeyRange) -> String {
    let label = key(range.label());
    if *range == KeyRange::single(range.label()) { label } else { format!("{label}…") }
}

fn key(key: &[u8]) -> String {
    let mut text: String = escape(key).chars().take(LONG + 1).collect();
    if text.chars().count() > LONG {
        text.pop();
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Key;
    use crate::mvcc::PutRequest;

    fn put(key: &[u8]) -> String {
        of(&Request::Put(PutRequest { key: Key::from(key), ..PutRequest::default() }))
    }

    #[test]
    fn a_key_looks_as_it_does_on_every_other_screen() {
        assert_eq!(put(b"/it's/\\"), r"put /it's/\\");
        assert_eq!(put(b"a\xff\xfe"), r"put a\xff\xfe");
        assert_eq!(put(b"a\x1b\n"), r"put a\x1b\n");
        assert_eq!(put("\u{202e}é".as_bytes()), r"put \u{202e}é");
    }

    #[test]
    fn a_long_key_is_cut() {
        assert_eq!(put(&[b'k'; LONG]), format!("put {}", "k".repeat(LONG)));
        assert_eq!(put(&[b'k'; LONG + 1]), format!("put {}…", "k".repeat(LONG)));
    }
}
