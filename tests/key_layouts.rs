//! `docs/key-layouts.md` lists every rule as the source has it, and every family in its text.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use lockscope::layout::families;

const BEGIN: &str = "<!-- begin: rules -->\n";
const END: &str = "<!-- end: rules -->\n";

fn table() -> String {
    let mut table = String::from("| family | layout | told by |\n|---|---|---|\n");
    for (family, layout, evidence) in families() {
        let family = if family.is_empty() { "any".to_owned() } else { format!("`{family}`") };
        writeln!(table, "| {family} | {} | {evidence} |", layout.name()).expect("a string takes it");
    }
    table
}

#[test]
fn the_page_has_the_rules_of_the_source() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/key-layouts.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page marks where the rules begin");
    let (rules, after) = rest.split_once(END).expect("the page marks where the rules end");
    if std::env::var_os("LOCKSCOPE_WRITE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{}{END}{after}", table())).unwrap();
        return;
    }
    assert_eq!(rules, table(), "run LOCKSCOPE_WRITE_DOCS=1 cargo test --test key_layouts");
}

#[test]
fn the_page_says_of_every_family_which_programs_write_it() {
    let page = include_str!("../docs/key-layouts.md");
    let (text, _) = page.split_once(BEGIN).expect("the page marks where the rules begin");
    let known: BTreeSet<_> = families().map(|(family, ..)| family).filter(|family| !family.is_empty()).collect();
    let listed: BTreeSet<_> = text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    assert_eq!(known.difference(&listed).collect::<Vec<_>>(), Vec::<&&str>::new(), "families without programs");
    assert_eq!(listed.difference(&known).collect::<Vec<_>>(), Vec::<&&str>::new(), "families nobody recognises");
}

#[test]
fn no_rule_breaks_the_pages_table() {
    for (family, _, evidence) in families() {
        assert!(!evidence.contains(['|', '\n']), "{family}: {evidence}");
        assert!(!evidence.ends_with('.'), "{family}: {evidence}");
    }
}
