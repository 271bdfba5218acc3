//! One key by itself.
use super::{KeyFacts, Placement, Shape, ValueKind};
/// Says where a key belongs.
pub fn place(key: &KeyFacts<'_>) -> Placement {
    let (parent, _) = crate::domain::key::split_last(key.key);
    Placement { name_len: u32::try_from(parent.len()).unwrap_or(u32::MAX), shape: Shape::Plain, value: ValueKind::Text }
}
