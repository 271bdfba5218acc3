//! Readers of single values. They fail in the place where the value stands, so that TOML's reader can
//! tell the line.

use std::fmt;
use std::time::Duration;

use serde::de::{self, Deserializer, SeqAccess, Visitor};

use crate::config::parse::{self, ValueError};
use crate::config::{Endpoint, Format, Secret, TtlPolicy, environment};
use crate::domain::Lang;

/// Text that `read` makes a value of.
struct Text<T> {
    expecting: &'static str,
    read: fn(&str) -> Result<T, ValueError>,
}

impl<T> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expecting)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.read)(text).map_err(E::custom)
    }
}

pub fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    let expecting = "a duration in quotes, such as \"5s\"";
    from.deserialize_str(Text { expecting, read: parse::duration }).map(Some)
}

pub fn format<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Format>, D::Error> {
    from.deserialize_str(Text { expecting: "simple, table or json", read: environment::format }).map(Some)
}

pub fn lang<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Lang>, D::Error> {
    from.deserialize_str(Text { expecting: "en or zh", read: environment::lang }).map(Some)
}

pub fn ttl<'de, D: Deserializer<'de>>(from: D) -> Result<Option<TtlPolicy>, D::Error> {
    from.deserialize_str(Text { expecting: "holders, all or none", read: environment::ttl }).map(Some)
}

/// A secret; unlike other text it is never quoted in an error.
pub fn secret<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Secret>, D::Error> {
    struct Hidden;

    impl Visitor<'_> for Hidden {
        type Value = Secret;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("text in quotes")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Secret, E> {
            Ok(Secret(text.to_owned()))
        }

        fn visit_bool<E: de::Error>(self, _: bool) -> Result<Secret, E> {
            Err(E::custom("it has to be text in quotes"))
        }

        fn visit_i64<E: de::Error>(self, _: i64) -> Result<Secret, E> {
            Err(E::custom("it has to be text in quotes"))
        }

        fn visit_f64<E: de::Error>(self, _: f64) -> Result<Secret, E> {
            Err(E::custom("it has to be text in quotes"))
        }
    }
    from.deserialize_any(Hidden).map(Some)
}

pub fn ttl_budget<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    struct Count;

    impl Visitor<'_> for Count {
        type Value = u32;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a whole number")
        }

        fn visit_i64<E: de::Error>(self, number: i64) -> Result<u32, E> {
            environment::ttl_budget(&number.to_string()).map_err(E::custom)
        }

        fn visit_u64<E: de::Error>(self, number: u64) -> Result<u32, E> {
            environment::ttl_budget(&number.to_string()).map_err(E::custom)
        }
    }
    from.deserialize_any(Count).map(Some)
}

/// A number of things.
pub fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    struct Number;

    impl Visitor<'_> for Number {
        type Value = u32;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a whole number")
        }

        fn visit_i64<E: de::Error>(self, number: i64) -> Result<u32, E> {
            parse::count(&number.to_string(), 1, 1_000_000).map_err(E::custom)
        }
    }
    from.deserialize_any(Number).map(Some)
}

/// One text, or a list of them.
struct List<T> {
    expecting: &'static str,
    read: fn(&str) -> Result<Vec<T>, ValueError>,
}

impl<'de, T> Visitor<'de> for List<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expecting)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<T>, E> {
        (self.read)(text).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
        let mut all = Vec::new();
        while let Some(text) = items.next_element::<String>()? {
            all.extend((self.read)(&text).map_err(de::Error::custom)?);
        }
        Ok(all)
    }
}

pub fn endpoints<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<Endpoint>>, D::Error> {
    let expecting = "a list of endpoints, such as [\"db1:2379\", \"db2:2379\"]";
    let all = from.deserialize_any(List { expecting, read: parse::endpoints })?;
    if all.is_empty() { Err(de::Error::custom(ValueError::NoEndpoint)) } else { Ok(Some(all)) }
}

pub fn prefixes<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<Vec<u8>>>, D::Error> {
    let expecting = "a prefix or a list of prefixes";
    from.deserialize_any(List { expecting, read: |text| Ok(vec![text.as_bytes().to_vec()]) }).map(Some)
}
