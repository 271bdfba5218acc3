//! Words in paths: the weakest evidence there is, asked only when keys and values are silent.
//! A word counts as a whole segment; `/lockers/7` says nothing of locks.

/// What a path segment says as a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// Something one takes: lock, mutex.
    Lock,
    /// Something one becomes: leader, owner.
    Role,
    /// Somewhere one is listed: members, services.
    Presence,
}

/// The word a segment is, if it is one of those that matter.
pub(super) fn word(segment: &[u8]) -> Option<Word> {
    Some(match segment {
        b"lock" | b"locks" | b".locks" | b"_locks" | b"mutex" | b"mutexes" => Word::Lock,
        b"leader" | b"leaders" | b"leadership" | b"master" | b"owner" | b"owners" | b"election" | b"elections"
        | b"primary" => Word::Role,
        b"instance" | b"instances" | b"member" | b"members" | b"service" | b"services" | b"node" | b"nodes"
        | b"endpoint" | b"endpoints" | b"provider" | b"providers" | b"consumers" | b"server" | b"servers"
        | b"worker" | b"workers" | b"broker" | b"brokers" | b"registry" | b"discovery" | b"session" | b"sessions"
        | b"candidates" | b"peers" | b"clients" | b"hosts" | b"agents" | b"heartbeat" | b"heartbeats" => Word::Presence,
        _ => return None,
    })
}

/// Whether one of the path's segments is such a word.
pub(super) fn has(path: &[u8], wanted: Word) -> bool {
    segments(path).any(|segment| word(segment) == Some(wanted))
}

/// Whether a path speaks of a lock: a lock word anywhere, or a role in its last two segments.
/// Roles are common words further up (`/master/users/…`).
pub(super) fn names_lock(path: &[u8]) -> bool {
    segments(path).rev().enumerate().any(|(from_end, segment)| match word(segment) {
        Some(Word::Lock) => true,
        Some(Word::Role) => from_end < 2,
        _ => false,
    })
}

/// Whether a path's last two segments speak of a role: whoever holds it leads for as long as it
/// lives.
pub fn names_role(path: &[u8]) -> bool {
    segments(path).rev().take(2).any(|segment| word(segment) == Some(Word::Role))
}

/// A path's segments.
pub(super) fn segments(path: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/')
}

/// Whether `path` has `part` anywhere in it, slashes included.
pub(super) fn contains(path: &[u8], part: &[u8]) -> bool {
    path.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_count_as_whole_segments_only() {
        assert!(has(b"/cron/lock/x", Word::Lock));
        assert!(!has(b"/cron/lockers/x", Word::Lock));
        assert!(has(b"lock", Word::Lock));
    }

    #[test]
    fn a_role_far_up_the_path_says_nothing() {
        assert!(names_lock(b"/lock/a/b/c"));
        assert!(names_lock(b"/app/leader/eu"));
        assert!(!names_lock(b"/master/users/by-name"));
    }
}
