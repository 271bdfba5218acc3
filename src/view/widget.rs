//! The pieces screens are put together from.
//!
//! Each takes plain data and draws on a [`Canvas`](super::canvas::Canvas); none knows a screen.

pub mod footer;
pub mod gauge;
pub mod help;
pub mod lanes;
pub mod notice;
pub mod panel;
pub mod spark;
pub mod stairs;
pub mod strip;
pub mod table;
pub mod ttl;
