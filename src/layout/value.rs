//! What values say about who wrote them: decoded for people, never for decisions.
use super::{Family, KeyFacts};

/// What a value says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    /// Who wrote the key, as short as it can be said: a host, a member name, a candidate.
    pub owner: Option<String>,
    /// All that could be read, in the order it is worth reading: label and text.
    pub fields: Vec<(&'static str, String)>,
}

/// Decodes a key's value as its family writes it.
pub fn decode(_key: &KeyFacts<'_>, _family: Family) -> Decoded {
    Decoded::default()
}
