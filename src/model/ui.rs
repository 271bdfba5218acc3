//! What the person in front of the screen chose to look at.

/// The state of the screen.
#[derive(Clone, Debug, Default)]
pub struct Ui {}
