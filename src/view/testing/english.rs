//! What is still English on a screen in another language.

/// What is Latin in any language: etcd's words, units, keys of the keyboard and ourselves.
const LATIN_EVERYWHERE: &[&str] = &[
    "etcd",
    "Raft",
    "raft",
    "TTL",
    "lockscope",
    "ms",
    "KiB",
    "MiB",
    "GiB",
    "KB",
    "MB",
    "GB",
    "UTC",
    "Tab",
    "Enter",
    "Esc",
    "esc",
    "space",
    "tab",
    "Ctrl-C",
    "Shift",
    "ID",
    "id",
    "API",
    "demo",
];

/// The English words that are left on a screen in another language, apart from those that are
/// allowed there. Names of a cluster are none: they have a slash, a digit, an underscore or a
/// point in them, or were cut; nor are single letters, which are keys.
pub fn english_left(screen: &str, allowed: &[&str]) -> Vec<String> {
    let in_word = |char: char| char.is_ascii_alphanumeric() || "-_./:…".contains(char);
    let is_name = |word: &str| word.contains(|char: char| char.is_ascii_digit() || "_/:…".contains(char));
    let mut left: Vec<String> = Vec::new();
    for word in screen.split(|char| !in_word(char)) {
        let trimmed = word.trim_matches(['-', '.', ':']);
        let known = LATIN_EVERYWHERE.contains(&trimmed) || allowed.contains(&trimmed);
        if trimmed.len() > 1 && !is_name(trimmed) && !known && !trimmed.contains('.') && !word.starts_with(':') {
            left.push(trimmed.to_owned());
        }
    }
    left
}

/// The same of what is expected of a run, or of what tells how it stands, once that is said in Chinese.
pub fn english_left_of_expected(english: &str, names: &[&str]) -> Vec<String> {
    crate::lang::within(crate::domain::Lang::Chinese, || {
        english_left(&crate::view::playground::expected::said(english), names)
    })
}

#[test]
fn english_words_are_left_unless_they_are_names_keys_or_allowed() {
    let screen = "│ 锁 /jobs/night 42s held etcd-2 …ightly reindex: q :sort ▇▇ 租约 a305，Leader changes. 1.2 MiB";
    assert_eq!(english_left(screen, &["reindex"]), ["held", "Leader", "changes"]);
}
