//! From when on something counts as a finding: the section `[findings]` of the file.

use std::time::Duration;

use serde::Deserialize;
use toml::Value;

use super::Setting;
use super::file::de;

/// A section of lengths and numbers, each with its name in the file, its default there as the rules
/// have it, and what it means.
macro_rules! section {
    (lengths { $($length:ident = $length_name:literal ($usual_length:literal): $of_length:literal,)* }
     numbers { $($number:ident = $number_name:literal ($usual_number:literal): $of_number:literal,)* }) => {
        /// What the file says; `None` leaves it to the rules.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Findings {
            $(
                #[doc = $of_length]
                #[serde(rename = $length_name, deserialize_with = "de::duration")]
                pub $length: Option<Duration>,
            )*
            $(
                #[doc = $of_number]
                #[serde(rename = $number_name, deserialize_with = "de::number")]
                pub $number: Option<u32>,
            )*
        }

        impl Findings {
            /// The names of all settings of the section.
            pub const NAMES: &'static [&'static str] = &[$($length_name,)* $($number_name,)*];

            /// All of them, with what they mean and what they are when nobody sets them.
            pub const SETTINGS: &'static [Setting] = &[
                $(Setting { name: $length_name, about: $of_length, value: $usual_length, is_default: true },)*
                $(Setting { name: $number_name, about: $of_number, value: $usual_number, is_default: true },)*
            ];

            /// What is said of each, as the file would have it, in the order of [`Findings::NAMES`].
            pub fn said(&self) -> Vec<(&'static str, Option<Value>)> {
                vec![
                    $(($length_name, self.$length.map(super::origin::duration)),)*
                    $(($number_name, self.$number.map(|number| Value::from(i64::from(number)))),)*
                ]
            }

            /// These settings laid over those `below`.
            #[must_use]
            pub fn over(self, below: Self) -> Self {
                Self {
                    $($length: self.$length.or(below.$length),)*
                    $($number: self.$number.or(below.$number),)*
                }
            }
        }
    };
}

section! {
    lengths {
        long_hold = "long-hold" (r#""15m""#): "Warn of a lock that is held for longer than this while others wait.",
        kept_waiting = "kept-waiting" (r#""20s""#): "Report a client that renews and keeps others waiting for longer than this.",
        long_ttl = "long-ttl" (r#""5m""#): "A lease of more time than this blocks others for long when its client crashes.",
        lost_holder = "lost-holder" (r#""1m""#): "How long a holder that lost its lease is reported.",
        leader_change = "leader-change" (r#""2m""#): "How long a change of leader is reported.",
        leaderless = "leaderless" (r#""5s""#): "A cluster without a leader for longer than this is in trouble.",
        silent = "silent" (r#""3s""#): "A member that gives no answer for so long is unreachable.",
        link_lost = "link-lost" (r#""2s""#): "A link that is down for longer than this is reported as unreachable.",
        lag = "lag" (r#""5s""#): "A member that lacks what others had so long ago lags.",
        stuck = "stuck" (r#""10m""#): "A live holder with waiters that holds for longer than this may not know that it holds,",
        dropped_for = "dropped-for" (r#""5m""#): "How long a waiter that fell out of its queue is reported.",
        free_for = "free-for" (r#""1m""#): "Report a lock that is usually held once it is free for longer than this.",
    }
    numbers {
        long_hold_medians = "long-hold-medians" ("5"): "Warn of a hold of so many times the lock's own median, too.",
        lag_entries = "lag-entries" ("10000"): "So many entries behind the others is a lag, however soon it came.",
        near_quota = "near-quota" ("80"): "A backend that fills so much of its quota is nearly full, in percent.",
        stuck_longest = "stuck-longest" ("20"): "if that is also so many times the longest hold that was seen.",
        keyless = "keyless" ("10"): "Report keyless leases of one TTL that nobody renews from this many on.",
        keyless_many = "keyless-many" ("100"): "From this many on it is a warning.",
    }
}
