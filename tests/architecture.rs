//! The shape of the code, kept by a test: which module may use which, which crates stay at
//! the rim, how long a file may grow, and no unsafe code.
//!
//! The tables below are the picture of `docs/architecture.md` in a form that can fail. A new
//! top-level module gets a row in [`MODULES`] and in that document.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

#[path = "architecture/reach.rs"]
mod reach;

use std::fs;
use std::path::Path;

use reach::{reach, test_modules};

/// Each top-level module and the others it may use; nobody needs leave to use itself.
/// A module stands below all that it uses, so the arrows can only run upwards.
const MODULES: &[(&str, &[&str])] = &[
    // pure
    ("nearest", &[]),
    ("domain", &["nearest"]),
    ("chance", &[]),
    ("config", &["domain", "nearest"]),
    ("layout", &["domain"]),
    ("lang", &["domain"]),
    ("mvcc", &["domain"]),
    ("raft", &["domain", "chance"]),
    ("embedded", &["domain", "chance", "mvcc", "raft"]),
    ("recipe", &["domain", "chance"]),
    ("input", &["domain", "nearest"]),
    ("effect", &["domain", "input"]),
    ("event", &["domain", "input"]),
    ("model", &["domain", "layout", "input", "event", "effect"]),
    ("update", &["domain", "layout", "input", "event", "effect", "model"]),
    // drawing
    ("view", &["domain", "lang", "layout", "input", "event", "effect", "model"]),
    // the rim
    ("port", &["domain", "config", "mvcc"]),
    ("control", &["domain"]),
    ("record", &["domain", "event"]),
    ("engine", &["domain", "control", "config", "port"]),
    ("wheel", &[]),
    ("source", &["domain", "config", "layout", "event", "effect", "port", "record", "wheel"]),
    ("operate", &["domain", "port"]),
    ("pace", &["domain"]),
    ("server", &["domain", "control", "chance", "mvcc", "embedded", "pace"]),
    (
        "playground",
        &["domain", "chance", "nearest", "config", "recipe", "pace", "event", "effect", "port", "mvcc", "embedded"],
    ),
    (
        "runtime",
        &[
            "domain",
            "lang",
            "control",
            "config",
            "layout",
            "input",
            "event",
            "effect",
            "model",
            "update",
            "view",
            "port",
            "record",
            "engine",
            "source",
            "operate",
            "server",
            "playground",
            "wheel",
        ],
    ),
    (
        "cli",
        &[
            "domain",
            "lang",
            "control",
            "nearest",
            "config",
            "layout",
            "input",
            "event",
            "effect",
            "model",
            "update",
            "view",
            "pace",
            "port",
            "embedded",
            "record",
            "engine",
            "source",
            "operate",
            "server",
            "playground",
            "runtime",
            "wheel",
        ],
    ),
    ("main", &["config", "runtime", "cli"]),
];

/// Modules that may talk to clusters, files and the machine.
const RIM: &[&str] = &[
    "pace",
    "wheel",
    "control",
    "port",
    "record",
    "engine",
    "source",
    "operate",
    "server",
    "playground",
    "runtime",
    "cli",
    "main",
];

/// Crates that not every module may use, and the modules that may.
const CRATES: &[(&str, &[&str])] = &[
    ("tokio", RIM),
    ("tokio_util", RIM),
    ("tokio_rustls", RIM),
    ("tokio_stream", RIM),
    ("futures", RIM),
    ("hyper_util", RIM),
    ("tower", RIM),
    ("rustls", RIM),
    ("tonic", RIM),
    ("etcd_client", RIM),
    ("rand", RIM),
    ("signal_hook", RIM),
    ("crossterm", &["runtime", "cli"]),
    ("terminal_colorsaurus", &["runtime", "cli"]),
    ("rpassword", &["cli"]),
    ("clap", &["cli", "main"]),
    ("color_eyre", &["cli", "main"]),
    // `runtime` owns the terminal that `view` draws on, and feeds the log that `view` shows.
    ("ratatui", &["view", "runtime"]),
    ("tui_logger", &["view", "runtime"]),
];

/// Lines of a file, tests not counted, above which its module doc has to give a reason.
const LONG: usize = 600;

/// The words that introduce the reason.
const REASON: &str = "long because";

/// What is wrong with one file of `src`, given by its path below that folder.
fn complaints(file: &str, text: &str) -> Vec<String> {
    let place = place(file);
    let module = match file {
        "main.rs" => "main",
        "lib.rs" => return Vec::new(),
        _ => place[0],
    };
    let Some((_, may_use)) = MODULES.iter().find(|(name, _)| *name == module) else {
        return vec![format!(
            "src/{file}: the top-level module `{module}` is unknown. Give it a row in MODULES of \
             tests/architecture.rs, and a line in docs/architecture.md that says what it is for."
        )];
    };
    let reach = match reach(text, &place, "lockscope") {
        Ok(reach) => reach,
        Err(error) => return vec![format!("src/{file}: {error}")],
    };
    // A macro that is exported stands at the root, wherever it is written.
    let home = |used: &str| if used == "say" { "lang" } else { used }.to_owned();
    let modules = reach
        .modules
        .iter()
        .map(|used| home(used))
        .filter(|used| used != module && !may_use.contains(&used.as_str()))
        .map(|used| {
            format!(
                "src/{file}: `{module}` may not use `{used}` (it may use {may_use:?}: MODULES of tests/architecture.rs)"
            )
        });
    let crates = reach.crates.iter().filter_map(|used| {
        let (_, by) = CRATES.iter().find(|(name, by)| name == used && !by.contains(&module))?;
        Some(format!("src/{file}: the crate `{used}` is for {by:?} only (CRATES of tests/architecture.rs)"))
    });
    modules.chain(crates).collect()
}

/// Where a file's code lives: `view/widget.rs` is `["view", "widget"]`.
fn place(file: &str) -> Vec<&str> {
    match file {
        "lib.rs" | "main.rs" => Vec::new(),
        _ => {
            let stem = file.strip_suffix(".rs").unwrap_or(file);
            stem.strip_suffix("/mod").unwrap_or(stem).split('/').collect()
        }
    }
}

/// The files of `src` without those that are compiled for tests only: a file that declares
/// `#[cfg(test)] mod x;` makes `x.rs`, and all below it, one of these.
fn shipped(files: Vec<(String, String)>) -> Vec<(String, String)> {
    let declared = files.iter().flat_map(|(file, text)| {
        let names = test_modules(text).unwrap_or_default();
        names.into_iter().map(move |name| [place(file), vec![name.as_str()]].concat().join("/"))
    });
    let test_only: Vec<String> = declared.collect();
    let is_shipped = |file: &str| {
        let place = place(file).join("/");
        !test_only
            .iter()
            .any(|test| place.strip_prefix(test).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    };
    files.into_iter().filter(|(file, _)| is_shipped(file)).collect()
}

/// Says so when a file is long and its module doc gives no reason.
fn too_long(file: &str, text: &str) -> Option<String> {
    let lines = lines_without_tests(text);
    let explained = text.lines().take_while(|line| line.starts_with("//!")).any(|line| line.contains(REASON));
    (lines > LONG && !explained).then(|| {
        format!("{file}: {lines} lines without tests. Are there two ideas in it? If not, say in its module doc: \"{REASON} …\"")
    })
}

/// Counts lines outside modules marked `#[cfg(test)]`. Formatted code opens and closes these at
/// the left margin.
fn lines_without_tests(text: &str) -> usize {
    let (mut count, mut marked, mut inside) = (0, false, false);
    for line in text.lines() {
        inside |= marked && line.starts_with("mod ") && line.ends_with('{');
        marked = line == "#[cfg(test)]";
        count += usize::from(!inside);
        inside &= line != "}";
    }
    count
}

/// Whether a crate's root forbids unsafe code.
fn forbids_unsafe(text: &str) -> bool {
    syn::parse_file(text).is_ok_and(|file| {
        file.attrs.iter().any(|attribute| {
            attribute.path().is_ident("forbid")
                && attribute.parse_args::<syn::Path>().is_ok_and(|lint| lint.is_ident("unsafe_code"))
        })
    })
}

/// All `.rs` files below a folder of the project, as paths below that folder with their text.
fn sources(folder: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() && path.file_name() != Some("target".as_ref()) {
                folders.push(path);
            } else if path.extension() == Some("rs".as_ref()) {
                files.push(path);
            }
        }
    }
    files.sort();
    files.iter().map(|file| (below(&root, file), fs::read_to_string(file).unwrap())).collect()
}

fn below(root: &Path, file: &Path) -> String {
    let parts = file.strip_prefix(root).unwrap().components().map(|part| part.as_os_str().to_str().unwrap());
    parts.collect::<Vec<_>>().join("/")
}

#[track_caller]
fn none(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn modules_use_only_what_the_picture_allows() {
    let files = sources("src");
    assert!(files.iter().any(|(file, _)| file == "lib.rs"), "no sources found");
    none(&shipped(files).iter().flat_map(|(file, text)| complaints(file, text)).collect::<Vec<_>>());
}

#[test]
fn long_files_say_why_they_are_long() {
    let folders = ["src", "tools/tonic-prost-build/src", "examples", "benches"];
    let long = folders.into_iter().flat_map(|folder| {
        let files = shipped(sources(folder));
        files.into_iter().filter_map(move |(file, text)| too_long(&format!("{folder}/{file}"), &text))
    });
    none(&long.collect::<Vec<_>>());
}

#[test]
fn every_crate_root_forbids_unsafe_code() {
    for root in ["src/lib.rs", "src/main.rs", "tools/tonic-prost-build/src/lib.rs"] {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(root)).unwrap();
        assert!(forbids_unsafe(&text), "{root} lacks #![forbid(unsafe_code)]");
    }
}

/// The checks themselves, on made-up input.
mod checks {
    use super::*;

    #[test]
    fn the_table_has_no_circle_and_names_only_its_own_modules() {
        for (at, (name, may_use)) in MODULES.iter().enumerate() {
            for used in *may_use {
                let known = MODULES[..at].iter().any(|(earlier, _)| earlier == used);
                assert!(known, "`{name}` uses `{used}`, which is no row above it");
            }
        }
        for (name, by) in CRATES {
            assert!(by.iter().all(|module| MODULES.iter().any(|(known, _)| known == module)), "{name}: {by:?}");
        }
    }

    #[track_caller]
    fn refused(file: &str, text: &str, words: &[&str]) {
        let found = complaints(file, text);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        for word in words {
            assert!(found[0].contains(word), "no {word:?} in {}", found[0]);
        }
    }

    #[test]
    fn an_arrow_the_wrong_way_is_found_wherever_it_is_written() {
        for text in [
            "use crate::view::Theme;",
            "use crate::{domain::Key, view::{self, Theme}};",
            "pub(crate) use super::super::view as v;",
            "fn f() -> crate::view::Theme { todo!() }",
            "fn f() { let t = crate::view::dark(); }",
            "fn f() { println!(\"{}\", crate::view::dark()); }",
            "mod inner { use super::super::super::view; }",
            "#[cfg(not(test))] use crate::view;",
            "impl crate::view::Draw for X {}",
            "use lockscope::view::Theme;",
        ] {
            refused("model/locks.rs", text, &["src/model/locks.rs", "`model`", "`view`"]);
        }
    }

    #[test]
    fn what_the_table_allows_is_left_alone() {
        for text in [
            "use crate::domain::{Key, Revision}; use crate::layout::Layout;",
            "use super::leases::Lease; use self::queue::Queue;",
            "use super::{leases, history};",
            "#[cfg(test)] mod tests { use crate::view::Theme; use tokio::time; }",
            "#[cfg(test)] use crate::view::Theme;",
            "/// [`crate::view::Theme`] draws this.\nstruct X;",
            "use std::fmt; use serde::Serialize; fn view(runtime: u8) {}",
        ] {
            assert_eq!(complaints("model/locks.rs", text), Vec::<String>::new(), "{text}");
        }
        assert_eq!(complaints("main.rs", "use lockscope::cli; fn main() {}"), Vec::<String>::new());
    }

    #[test]
    fn files_for_tests_only_are_told_by_their_declaration() {
        let files = [
            ("view.rs", "#[cfg(test)] mod testing; mod widget;"),
            ("view/testing.rs", "use crate::update;"),
            ("view/testing/frames.rs", "use crate::update;"),
            ("view/testing_ground.rs", ""),
            ("view/widget.rs", "#[cfg(unix)] mod testing; #[cfg(test)] mod tests { mod queue; }"),
            ("view/widget/testing.rs", ""),
            ("view/widget/queue.rs", ""),
        ];
        let kept = shipped(files.map(|(file, text)| (file.to_owned(), text.to_owned())).to_vec());
        let kept: Vec<_> = kept.iter().map(|(file, _)| file.as_str()).collect();
        assert_eq!(
            kept,
            ["view.rs", "view/testing_ground.rs", "view/widget.rs", "view/widget/testing.rs", "view/widget/queue.rs"]
        );
    }

    #[test]
    fn a_crate_of_the_rim_is_found_in_a_pure_module_wherever_it_is_written() {
        for text in [
            "use tokio::sync::mpsc;",
            "use tokio;",
            "use ::tokio::time as clock;",
            "extern crate tokio;",
            "fn f() { tokio::spawn(g()); }",
            "#[tokio::main] async fn f() {}",
            "fn f() { vec![tokio::time::interval(d)]; }",
            "fn f() { select! { () = (tokio::time::sleep(d)) => {} } }",
        ] {
            for file in ["domain/ids.rs", "config.rs", "update.rs"] {
                refused(file, text, &["`tokio`", file]);
            }
        }
        for (crate_name, _) in CRATES {
            let text = format!("use {crate_name}::Thing;");
            refused("model.rs", &text, &[&format!("`{crate_name}`")]);
        }
    }

    #[test]
    fn drawing_is_for_the_view_and_talking_to_etcd_is_not() {
        assert_eq!(complaints("view/locks.rs", "use ratatui::Frame; use tui_logger::X;"), Vec::<String>::new());
        assert_eq!(complaints("runtime/terminal.rs", "use ratatui::Terminal;"), Vec::<String>::new());
        refused("cli/ls.rs", "use ratatui::Frame;", &["`ratatui`"]);
        refused("view.rs", "use etcd_client::Client;", &["`etcd_client`"]);
        refused("view.rs", "use crossterm::event::Event;", &["`crossterm`"]);
        assert_eq!(complaints("port/client.rs", "use etcd_client::Client; use tonic::Status;"), Vec::<String>::new());
    }

    #[test]
    fn an_unknown_module_is_told_where_to_go() {
        let words = ["`gadget`", "MODULES of tests/architecture.rs", "docs/architecture.md"];
        refused("gadget.rs", "", &words);
        refused("gadget/wheel.rs", "", &words);
        refused("model.rs", "use crate::gadget::Wheel;", &["`model`", "`gadget`"]);
    }

    #[test]
    fn text_that_is_not_rust_is_no_pass() {
        refused("model.rs", "use crate::{;", &["src/model.rs"]);
    }

    #[test]
    fn a_long_file_needs_its_reason_and_tests_do_not_count() {
        let body = |lines: usize| "// x\n".repeat(lines);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", body(LONG));
        assert_eq!(too_long("a.rs", &(body(LONG - 1) + &tests)), None);
        assert!(too_long("a.rs", &(body(LONG) + &tests)).unwrap().contains("a.rs: 601 lines"));
        assert!(too_long("a.rs", &(tests.clone() + &body(LONG))).is_some(), "code below the tests counts");
        assert_eq!(too_long("a.rs", &format!("//! A table.\n//! It is {REASON} it is one.\n{}", body(LONG))), None);
        assert!(too_long("a.rs", &format!("//! A table.\n\n// It is {REASON} it is one.\n{}", body(LONG))).is_some());
    }

    #[test]
    fn forbidding_unsafe_code_cannot_be_faked() {
        assert!(forbids_unsafe("//! Doc.\n#![forbid(unsafe_code)]\nfn main() {}"));
        for text in ["fn main() {}", "// #![forbid(unsafe_code)]", "#![deny(unsafe_code)]", "#![forbid(missing_docs)]"]
        {
            assert!(!forbids_unsafe(text), "{text}");
        }
    }
}
