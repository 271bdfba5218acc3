//! Commands of `lockscope` that rules advise.
//!
//! A name that begins with a dash would be taken for a flag, so two dashes come before it. A key is
//! named by its place and not with `--key`, which is the file of a client's certificate where there
//! is one.

use crate::domain::{Key, LeaseId, Sentence};

/// Looks at a lock.
pub(super) fn show(lock: impl Into<Key>) -> Sentence {
    let lock = lock.into();
    let words = if is_like_a_flag(&lock) { "lockscope show -- {lock}" } else { "lockscope show {lock}" };
    Sentence::new(words).with("lock", lock)
}

/// Deletes the key of a lock's holder.
pub(super) fn release_holder(lock: impl Into<Key>) -> Sentence {
    let lock = lock.into();
    let words = if is_like_a_flag(&lock) { "lockscope release -- {lock}" } else { "lockscope release {lock}" };
    Sentence::new(words).with("lock", lock)
}

/// Deletes one key of a lock.
pub(super) fn release(lock: impl Into<Key>, key: impl Into<Key>) -> Sentence {
    let (lock, key) = (lock.into(), key.into());
    let words = if is_like_a_flag(&lock) || is_like_a_flag(&key) {
        "lockscope release -- {lock} {key}"
    } else {
        "lockscope release {lock} {key}"
    };
    Sentence::new(words).with("lock", lock).with("key", key)
}

/// Takes a lease with all its keys.
pub(super) fn revoke(lease: LeaseId) -> Sentence {
    // The command reads an id below zero as what it is.
    Sentence::new("lockscope revoke {lease}").with("lease", lease)
}

fn is_like_a_flag(name: &[u8]) -> bool {
    name.starts_with(b"-")
}

#[cfg(test)]
mod tests {
    use super::{release, release_holder, revoke, show};
    use crate::domain::LeaseId;
    use crate::view::text::command;

    #[test]
    fn a_name_that_looks_like_a_flag_is_kept_from_being_one() {
        assert_eq!(command(&show(&b"/a b"[..])), "lockscope show '/a b'");
        assert_eq!(command(&show(&b"-a"[..])), "lockscope show -- -a");
        assert_eq!(command(&release_holder(&b"-a"[..])), "lockscope release -- -a");
        assert_eq!(command(&release(&b"/a"[..], &b"/a/1"[..])), "lockscope release /a /a/1");
        assert_eq!(command(&release(&b"a"[..], &b"--yes"[..])), "lockscope release -- a --yes");
        assert_eq!(command(&revoke(LeaseId(-0x7fab))), "lockscope revoke -7fab");
    }
}
