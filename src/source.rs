//! Where observations come from.

pub mod cover;
