//! From when on something counts as a finding: the section `[findings]` of the file.

use std::time::Duration;

use serde::Deserialize;

use super::file::de;

/// A section of lengths and numbers, each with its name in the file.
macro_rules! section {
    (lengths { $($length:ident = $length_name:literal: $of_length:literal,)* }
     numbers { $($number:ident = $number_name:literal: $of_number:literal,)* }) => {
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
        long_hold = "long-hold": "A lock that is held for longer while others wait is held long.",
        kept_waiting = "kept-waiting": "Waiting for longer behind a client that renews is worth knowing.",
        long_ttl = "long-ttl": "A lease of more time than this blocks others for long when its client crashes.",
        lost_holder = "lost-holder": "For so long a holder is told of that lost its lease.",
        leader_change = "leader-change": "For so long a change of the leader is told.",
        leaderless = "leaderless": "A cluster without a leader for longer than this is in trouble.",
        silent = "silent": "A member that gives no answer for so long is unreachable.",
        link_lost = "link-lost": "A link that is down for so long is no matter of one member that went.",
        lag = "lag": "A member that lacks what others had so long ago lags.",
        stuck = "stuck": "A live holder that others wait behind for longer may not know that it holds.",
        dropped_for = "dropped-for": "For so long it is told that somebody fell out of a queue.",
        free_for = "free-for": "A lock that is usually held is to be free for this long at least before that is told.",
    }
    numbers {
        long_hold_medians = "long-hold-medians": "So many times its own median hold is long, too.",
        lag_entries = "lag-entries": "So many entries behind the others is a lag, however soon it came.",
        near_quota = "near-quota": "A backend that fills so much of its quota is nearly full, in percent.",
        stuck_longest = "stuck-longest": "So many times the longest hold that was seen is too long to be work.",
        keyless = "keyless": "From so many leases of one TTL without keys and renewals on they are told.",
        keyless_many = "keyless-many": "From so many on that is a warning.",
    }
}
