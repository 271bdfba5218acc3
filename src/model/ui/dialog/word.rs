//! The word that confirms a write: one for the dashboard's dialog and for the commands.
//!
//! It says what the write is about, so that nobody types it about something else, and it has at
//! least four characters, so that nobody types it by accident. Whatever would be shorter, or
//! cannot be typed, has the name of the deed before it: `release a`, `release 42`.

use crate::domain::escape::escape_text;
use crate::domain::write::Write;
use crate::domain::{Key, LeaseId};
use crate::model::Facts;

/// The fewest characters that anybody is asked to type.
const FEWEST: usize = 4;
/// The most characters of a name that anybody is asked to type.
const MOST: usize = 40;

/// What has to be typed to confirm a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    text: String,
    /// The lease, where that is what is typed: its id can be written in more than one way.
    lease: Option<LeaseId>,
    /// Whether it is the name of an alarm, which people write in small letters too.
    any_case: bool,
}

impl Word {
    /// The word for a write, by what is known of the cluster.
    pub fn of(write: &Write, facts: &Facts) -> Self {
        let (deed, text) = match write {
            Write::Revoke { lease } => ("revoke", lease.to_string()),
            Write::Release { lock, key, create_revision } => {
                let name = if lock.is_empty() { key } else { lock };
                ("release", name_of(name).unwrap_or_else(|| create_revision.to_string()))
            }
            Write::MoveLeader { to } => {
                let name = facts.cluster.member(*to).and_then(|known| typable(known.member.name.as_bytes()));
                ("move-leader", name.unwrap_or_else(|| to.to_string()))
            }
            Write::Disarm(kind) => ("disarm", kind.name()),
        };
        let lease = match write {
            Write::Revoke { lease } => Some(*lease),
            _ => None,
        };
        let text = if text.chars().count() < FEWEST { format!("{deed} {text}") } else { text };
        Self { text, lease, any_case: matches!(write, Write::Disarm(_)) }
    }

    /// The word as it is shown.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether this is the word. Spaces around it are nobody's intent; the id of a lease may have
    /// `0x` and zeros before it, and an alarm may be written in small letters.
    pub fn is(&self, typed: &str) -> bool {
        let typed = typed.trim();
        let is_same = if self.any_case { typed.eq_ignore_ascii_case(&self.text) } else { typed == self.text };
        let is_lease = |lease| typed.len() >= FEWEST && LeaseId::parse_hex(typed) == Ok(lease);
        is_same || self.lease.is_some_and(is_lease)
    }
}

/// The last segment of a lock's name, or all of it where that is too short; `None` where neither
/// can be typed.
fn name_of(name: &Key) -> Option<String> {
    let last = name.split(|&byte| byte == b'/').rfind(|segment| !segment.is_empty()).unwrap_or(name);
    let last = typable(last)?;
    if last.chars().count() >= FEWEST { Some(last) } else { typable(name).or(Some(last)) }
}

/// A name that a person can type and that means itself.
fn typable(name: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(name).ok()?;
    let is_typable =
        !text.is_empty() && text.trim() == text && text.chars().count() <= MOST && escape_text(text) == text;
    is_typable.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AlarmKind, MemberId, Revision};

    fn word(write: &Write) -> Word {
        Word::of(write, &Facts::default())
    }

    fn release(lock: &[u8]) -> Word {
        word(&Write::Release { lock: lock.into(), key: "/q/k".into(), create_revision: Revision(7) })
    }

    #[test]
    fn a_lock_is_named_by_as_much_as_takes_thought_to_type() {
        for (lock, text) in [
            (&b"/jobs/reindex"[..], "reindex"),
            (b"/jobs/a", "/jobs/a"),
            (b"/a", "release /a"),
            (b"/jobs/ ", "release 7"),
            (b"/jobs/\x1b[2J", "release 7"),
            (b"/jobs/\xff", "release 7"),
            (b"", "/q/k"),
        ] {
            let word = release(lock);
            assert_eq!(word.text(), text, "{}", String::from_utf8_lossy(lock));
            assert!(word.is(text) && word.is(&format!("  {text} ")), "{text}");
            assert!(!word.is("") && !word.is("y") && !word.is("yes") && !word.is("a"), "{text}");
        }
        assert!(!release(b"/jobs/reindex").is("Reindex"));
    }

    #[test]
    fn the_id_of_a_lease_may_be_written_as_everywhere() {
        let long = word(&Write::Revoke { lease: LeaseId(0x694d_8225_4d5f_a305) });
        assert_eq!(long.text(), "694d82254d5fa305");
        for typed in ["694d82254d5fa305", "0x694d82254d5fa305", "694D82254D5FA305"] {
            assert!(long.is(typed), "{typed}");
        }
        let short = word(&Write::Revoke { lease: LeaseId(0xa1) });
        assert_eq!(short.text(), "revoke a1");
        assert!(short.is("revoke a1") && short.is("0xa1") && !short.is("a1"));
    }

    #[test]
    fn a_member_without_a_name_is_its_id_and_an_alarm_its_name() {
        assert_eq!(word(&Write::MoveLeader { to: MemberId(0xabcd_ef01) }).text(), "abcdef01");
        assert_eq!(word(&Write::MoveLeader { to: MemberId(7) }).text(), "move-leader 7");
        let word = word(&Write::Disarm(AlarmKind::NoSpace));
        assert!(word.text() == "NOSPACE" && word.is("nospace") && word.is("NOSPACE") && !word.is("space"));
    }
}
