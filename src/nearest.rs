//! "Did you mean": the name that is nearest to one that does not exist.

/// The name nearest to `wanted`, when one is near enough to be a slip of the hand. Dashes
/// and underscores count as the same.
pub fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = plain(wanted);
    names
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&wanted, &plain(name)), name))
        .filter(|(likeness, _)| *likeness > LIKE)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, name)| name)
}

/// Up to `most` names like `wanted`, the nearest first: those that contain it or are
/// contained in it, and those that differ by a slip.
pub fn near<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let plain_wanted = plain(wanted);
    let mut all: Vec<(f64, &str)> = names
        .into_iter()
        .filter_map(|name| {
            let plain_name = plain(name);
            let part = !wanted.is_empty() && (plain_name.contains(&plain_wanted) || plain_wanted.contains(&plain_name));
            // By edits, not by common beginnings: paths all begin alike.
            let likeness = strsim::normalized_damerau_levenshtein(&plain_wanted, &plain_name);
            // A part beats every slip; among parts the one that leaves least over comes first.
            (part || likeness > LIKE_PATH).then_some((if part { 1.0 + likeness } else { likeness }, name))
        })
        .collect();
    all.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(other.1)));
    all.into_iter().take(most).map(|(_, name)| name).collect()
}

/// Above this two names are alike; the value clap uses for its own suggestions is 0.7.
const LIKE: f64 = 0.8;

/// Above this share of characters that stay two paths are alike.
const LIKE_PATH: f64 = 0.7;

fn plain(name: &str) -> String {
    name.to_lowercase().replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_name_and_nonsense_none() {
        let names = ["dial-timeout", "command-timeout", "endpoints"];
        assert_eq!(nearest("dial_timout", names), Some("dial-timeout"));
        assert_eq!(nearest("Endpoint", names), Some("endpoints"));
        assert_eq!(nearest("zebra", names), None);
    }

    #[test]
    fn the_nearest_come_first() {
        let names = ["/jobs/reindex", "/jobs/rebuild", "/leader", "/jobs/reindex/nightly"];
        assert_eq!(near("reindex", names, 2), ["/jobs/reindex", "/jobs/reindex/nightly"]);
        assert_eq!(near("/jobs/reinedx", names, 1), ["/jobs/reindex"]);
        assert!(near("zzzzzz", names, 3).is_empty());
        assert!(near("/recipes/go-mutex/tasks", ["/recipes/rw/cfg"], 3).is_empty());
    }
}
