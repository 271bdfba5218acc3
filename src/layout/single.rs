//! Keys that stand alone.
use super::{Layout, Recognised, SingleFacts};
/// Says which recipe a key that stands alone follows.
pub fn recognise_single(_single: &SingleFacts<'_>) -> Recognised {
    Recognised { layout: Layout::Data, family: "" }
}
