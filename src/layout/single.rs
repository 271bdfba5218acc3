//! Keys that stand alone: the table's rows for them, tried in order.

use super::family::{self, Single};
use super::{Layout, Recognised, SingleFacts};

/// Says which recipe a key that stands alone follows; plain data when none does.
pub fn recognise_single(single: &SingleFacts<'_>) -> Recognised {
    let single = Single::new(single);
    family::singles().find(|row| (row.matches)(&single)).map_or(
        Recognised { layout: Layout::Data, family: "" },
        |row| Recognised { layout: row.layout, family: row.family },
    )
}
