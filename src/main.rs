//! The program: see the library's documentation.
#![forbid(unsafe_code)]

fn main() {}
