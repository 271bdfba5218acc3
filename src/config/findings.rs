//! From when on something counts as a finding: the section `[findings]` of the file.

use std::time::Duration;

use serde::Deserialize;
use toml::Value;

use super::Setting;
use super::file::de;

/// A section of lengths and numbers, each with its name in the file, its reader, its default there as
/// the rules have it, and what it means.
macro_rules! section {
    ($($field:ident: $type:ty = $name:literal by $read:literal ($usual:literal): $about:literal,)*) => {
        /// What the file says; `None` leaves it to the rules.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Findings {
            $(
                #[doc = $about]
                #[serde(rename = $name, deserialize_with = $read)]
                pub $field: Option<$type>,
            )*
        }

        impl Findings {
            /// The names of all settings of the section.
            pub const NAMES: &'static [&'static str] = &[$($name,)*];

            /// All of them, with what they mean and what they are when nobody sets them.
            pub const SETTINGS: &'static [Setting] = &[
                $(Setting { name: $name, about: $about, value: $usual, is_default: true },)*
            ];

            /// What is said of each, as the file would have it, in the order of [`Findings::NAMES`].
            pub fn said(&self) -> Vec<(&'static str, Option<Value>)> {
                vec![
                    $(($name, self.$field.map(InFile::in_file)),)*
                ]
            }

            /// These settings laid over those `below`.
            #[must_use]
            pub fn over(self, below: Self) -> Self {
                Self {
                    $($field: self.$field.or(below.$field),)*
                }
            }
        }
    };
}

/// A value as the file has it.
trait InFile {
    fn in_file(self) -> Value;
}

impl InFile for Duration {
    fn in_file(self) -> Value {
        super::origin::duration(self)
    }
}

impl InFile for u32 {
    fn in_file(self) -> Value {
        Value::from(i64::from(self))
    }
}

section! {
    long_hold: Duration = "long-hold" by "de::length" (r#""15m""#):
        "Warn of a lock that is held for longer than this while others wait.",
    long_hold_medians: u32 = "long-hold-medians" by "de::number" ("5"):
        "Warn of a hold that is longer than so many times the lock's own median hold.",
    kept_waiting: Duration = "kept-waiting" by "de::length" (r#""20s""#):
        "Report a client that renews its lease and keeps others waiting for longer than this.",
    stuck: Duration = "stuck" by "de::length" (r#""10m""#):
        "Report a queue as stuck whose holder is alive and holds for longer than this, if stuck-longest is \
         exceeded as well: it may not know that it holds.",
    stuck_longest: u32 = "stuck-longest" by "de::number" ("20"):
        "Report a queue as stuck only if its hold is so many times as long as the longest that was seen of \
         that lock before.",
    long_ttl: Duration = "long-ttl" by "de::length" (r#""5m""#):
        "Report a lease with a TTL above this: when its client crashes, others wait that long.",
    lost_holder: Duration = "lost-holder" by "de::length" (r#""1m""#):
        "For how long a holder that lost its lease is reported.",
    dropped_for: Duration = "dropped-for" by "de::length" (r#""5m""#):
        "For how long a waiter that fell out of its queue is reported.",
    free_for: Duration = "free-for" by "de::length" (r#""1m""#):
        "Report a lock that is usually held once it is free for longer than this.",
    keyless: u32 = "keyless" by "de::number" ("10"):
        "Report leases without keys that nobody renews from so many of one TTL on.",
    keyless_many: u32 = "keyless-many" by "de::number" ("100"):
        "Warn of leases without keys that nobody renews from so many of one TTL on.",
    leader_change: Duration = "leader-change" by "de::length" (r#""2m""#):
        "For how long a change of leader is reported.",
    leaderless: Duration = "leaderless" by "de::length" (r#""5s""#):
        "Report a cluster that has no leader for longer than this.",
    silent: Duration = "silent" by "de::length" (r#""3s""#):
        "Report a member that gives no answer for so long as unreachable.",
    link_lost: Duration = "link-lost" by "de::length" (r#""2s""#):
        "Report a cluster that cannot be reached for longer than this.",
    lag: Duration = "lag" by "de::length" (r#""5s""#):
        "Report a member that lacks what the others had so long ago.",
    lag_entries: u32 = "lag-entries" by "de::number" ("10000"):
        "Report a member that is so many log entries behind the others, however soon it came.",
    near_quota: u32 = "near-quota" by "de::percent" ("80"):
        "Report a member whose database fills so much of its quota, in percent.",
}
