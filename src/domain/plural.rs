//! The plural of an English noun, for a number that stands before it.

use std::borrow::Cow;

/// The noun as it stands behind this number: `1 entry`, `0 entries`, `2 watches`, and
/// `3 stretches of revisions`, where the word before `of` is the one that is counted.
pub fn noun(number: u64, one: &str) -> Cow<'_, str> {
    if number == 1 { Cow::Borrowed(one) } else { Cow::Owned(plural(one)) }
}

fn plural(one: &str) -> String {
    if let Some((counted, rest)) = one.split_once(" of ") {
        return format!("{} of {rest}", plural(counted));
    }
    if let Some(stem) = one.strip_suffix('y')
        && !stem.ends_with(['a', 'e', 'i', 'o', 'u'])
    {
        return format!("{stem}ies");
    }
    let hisses = ["s", "x", "z", "ch", "sh"].iter().any(|end| one.ends_with(end));
    format!("{one}{}", if hisses { "es" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_it_is_singular_and_none_or_more_are_plural() {
        for (one, several) in [
            ("entry", "entries"),
            ("key", "keys"),
            ("watch", "watches"),
            ("prefix", "prefixes"),
            ("stretch of revisions", "stretches of revisions"),
            ("voting member", "voting members"),
        ] {
            assert_eq!(noun(1, one), one);
            for number in [0, 2, 1_000] {
                assert_eq!(noun(number, one), several, "{number}");
            }
        }
    }
}
