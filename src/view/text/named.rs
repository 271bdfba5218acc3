//! Names that are nothing, which would look as if nothing were there.

/// How the empty name is printed.
pub const NO_NAME: &str = "''";

/// A name as it is shown: that of a lock may be empty.
pub fn named(name: &[u8]) -> &[u8] {
    if name.is_empty() { NO_NAME.as_bytes() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_name_is_something_to_be_seen() {
        assert_eq!(named(b""), b"''");
        assert_eq!(named(b"/a"), b"/a");
    }
}
