//! That the documents still speak of this code.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use lockscope::config::{File, Findings, commented_file};
use lockscope::model::findings::Thresholds;
use lockscope::runtime::thresholds;
use syn::{Item, Visibility};

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The names of the public structs and enums of a source text.
fn public_types(text: &str) -> Vec<String> {
    let file = syn::parse_file(text).unwrap();
    let names = file.items.into_iter().filter_map(|item| match item {
        Item::Struct(item) if matches!(item.vis, Visibility::Public(_)) => Some(item.ident),
        Item::Enum(item) if matches!(item.vis, Visibility::Public(_)) => Some(item.ident),
        _ => None,
    });
    names.map(|name| name.to_string()).collect()
}

/// The files of a folder and of those in it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The top-level modules: what stands in `src` as `foo.rs` or `foo/`.
fn modules() -> Vec<String> {
    let entries = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    names.dedup();
    names
}

/// Whether the picture of the modules has a line that begins with this one, and does not
/// promise it for later.
fn is_described(architecture: &str, module: &str) -> bool {
    architecture.lines().any(|line| {
        let described = line.strip_prefix("  ").and_then(|line| line.strip_prefix(module));
        described.is_some_and(|rest| rest.starts_with(['/', '.']) && !rest.ends_with("not yet"))
    })
}

#[test]
fn every_public_type_of_the_domain_has_its_term() {
    let terms = read("docs/terms.md");
    let files = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/domain"));
    let mut types: Vec<String> =
        files.iter().flat_map(|file| public_types(&fs::read_to_string(file).unwrap())).collect();
    assert!(types.len() > 10, "only {types:?} found");
    types.retain(|name| !terms.contains(&format!("`{name}`")));
    assert!(types.is_empty(), "without an entry in docs/terms.md: {types:?}");
}

#[test]
fn every_module_is_described_in_the_architecture() {
    let architecture = read("docs/architecture.md");
    let mut missing = modules();
    assert!(missing.contains(&"domain".into()), "{missing:?}");
    missing.retain(|module| !is_described(&architecture, module));
    assert!(missing.is_empty(), "docs/architecture.md lacks, or still calls \"not yet\": {missing:?}");
}

#[test]
fn a_module_that_is_missing_or_put_off_is_noticed() {
    let picture = "src/\n  domain/     words\n  mvcc/     a machine     not yet\n";
    assert!(is_described(picture, "domain"));
    assert!(!is_described(picture, "mvcc"));
    assert!(!is_described(picture, "dom"));
    assert!(!is_described(picture, "view"));
}

#[test]
fn the_readme_has_every_threshold_with_its_default() {
    let readme = read("README.md");
    let settings = readme.split_once("## Settings").unwrap().1;
    let file = settings.split_once("```toml\n").unwrap().1.split_once("```").unwrap().0;
    assert_eq!(thresholds(&read_settings(file).layer.findings), Thresholds::default());
    let section = file.split_once("[findings]\n").unwrap().1;
    let section = section.split("\n\n").next().unwrap();
    let mut written: Vec<&str> = section.lines().map(|line| line.split_once(" = ").unwrap().0).collect();
    let mut names = Findings::NAMES.to_vec();
    written.sort_unstable();
    names.sort_unstable();
    assert_eq!(written, names);
}

#[test]
fn the_commented_file_has_every_threshold_with_its_default() {
    let settings = commented_file();
    let lines: Vec<&str> = settings.lines().map(|line| line.strip_prefix('#').unwrap_or(line)).collect();
    let file = read_settings(&lines.join("\n"));
    assert_ne!(file.layer.findings, Findings::default());
    assert_eq!(thresholds(&file.layer.findings), Thresholds::default());
}

#[test]
fn the_readme_has_a_context_that_can_be_chosen() {
    let readme = read("README.md");
    let settings = readme.split_once("## Settings").unwrap().1;
    let block = settings.split("```toml\n").map(|rest| rest.split("```").next().unwrap());
    let context = block.filter(|block| block.contains("[contexts.")).map(read_settings).next().unwrap();
    assert!(context.layer.context.is_some_and(|name| context.contexts.contains_key(&name)));
}

fn read_settings(text: &str) -> File {
    File::from_toml(text, Path::new("settings")).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn types_that_are_not_public_need_no_term() {
    let text = "pub struct A(pub i64); struct B; pub(crate) enum C {} pub enum D {} pub fn e() {}";
    assert_eq!(public_types(text), ["A", "D"]);
}
