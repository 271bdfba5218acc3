//! `show --tree`: who waits for whom, as indented lines.
//!
//! ```text
//! a305  holds /d/one  2 behind
//! ├─ 770a  waits for /d/one  holds /d/two  1 behind
//! │  └─ c0de  waits for /d/two
//! ```
//!
//! On a terminal there are lines between a client and those it blocks; elsewhere two spaces a level,
//! so that what reads it can count them.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

use super::exit::Failure;
use super::json::{self, Style};
use super::table;
use crate::config::{Display, Format};
use crate::model::wait_for::{Circle, Client, ClientIx, Step, WaitFor};
use crate::model::{Facts, LockView};
use crate::runtime;
use crate::view::text::{escape_text, quantity};

/// Deeper lines are indented no further and say how deep they are.
const DEEPEST: usize = 24;

/// How many locks a line names before it counts the rest.
const NAMED: usize = 4;

/// What connects lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lines {
    branch: &'static str,
    last: &'static str,
    passes: &'static str,
    gap: &'static str,
    to: &'static str,
    error: &'static str,
}

/// Spaces only.
pub const PLAIN: Lines = Lines { branch: "  ", last: "  ", passes: "  ", gap: "  ", to: "->", error: "x" };
const ASCII: Lines = Lines { branch: "|- ", last: "`- ", passes: "|  ", gap: "   ", to: "->", error: "x" };
const UNICODE: Lines =
    Lines { branch: "├─ ", last: "└─ ", passes: "│  ", gap: "   ", to: "→", error: "×" };

impl Lines {
    /// What standard output can show.
    pub fn of_output(display: &Display) -> Self {
        match io::stdout().is_terminal() {
            false => PLAIN,
            true if runtime::is_ascii(display) => ASCII,
            true => UNICODE,
        }
    }
}

/// Prints the whole forest.
pub fn print_forest(
    facts: &Facts,
    format: Format,
    style: Style,
    lines: Lines,
    to: &mut impl Write,
) -> Result<(), Failure> {
    let graph = WaitFor::of(facts);
    if format == Format::Json {
        let tree = json::Tree { facts, graph: &graph, only: None, style };
        return Ok(json::write(&json::Forest { facts, tree }, to)?);
    }
    Ok(print(facts, &graph, None, style, lines, to)?)
}

/// Prints what a lock has to do with.
pub fn print_lock(
    facts: &Facts,
    lock: LockView<'_>,
    style: Style,
    lines: Lines,
    to: &mut impl Write,
) -> Result<(), Failure> {
    let graph = WaitFor::of(facts);
    let only = graph.around(lock);
    if !only.contains(&true) {
        let holder = lock.holder().map(|holder| table::lease(holder.lease())).filter(|lease| !lease.is_empty());
        let name = table::name(lock.name(), style);
        return Ok(match (lock.holder(), holder) {
            (None, _) => writeln!(to, "{name} is free"),
            (Some(_), Some(lease)) => writeln!(to, "{lease}  holds {name}  0 behind"),
            (Some(holder), None) => {
                writeln!(to, "{}  holds {name}  0 behind", table::text(holder.key(), style))
            }
        }?);
    }
    Ok(print(facts, &graph, Some(&only), style, lines, to)?)
}

/// What a client is called: the process its values name where that joined its leases, else its
/// lease, else its key.
pub fn name(client: &Client<'_>) -> String {
    match (&client.process, client.leases.first()) {
        (Some(process), _) => process.clone(),
        (None, Some(lease)) => lease.to_string(),
        (None, None) => String::from_utf8_lossy(client.key.key()).into_owned(),
    }
}

/// The names of the locks that a client holds, whether others wait for them or not.
pub fn holds<'a>(facts: &'a Facts, graph: &WaitFor<'a>, client: ClientIx) -> Vec<&'a [u8]> {
    let client = graph.client(client);
    let contended = client.holds.iter().map(|&held| graph.contended(held).lock.name());
    let of_leases = client.leases.iter().filter_map(|&lease| facts.lease(lease)).flat_map(|lease| lease.holds());
    let mut names: Vec<&[u8]> = contended.chain(of_leases.map(|lock| lock.name())).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn print(
    facts: &Facts,
    graph: &WaitFor<'_>,
    only: Option<&[bool]>,
    style: Style,
    lines: Lines,
    to: &mut impl Write,
) -> io::Result<()> {
    let shows = |client: ClientIx| only.is_none_or(|only| only.get(client.index()).copied().unwrap_or(false));
    let steps: Vec<(usize, Step)> = graph
        .walk()
        .filter(|(_, step)| match step {
            Step::Client(client) => shows(*client),
            Step::Circle(root) => graph.roots()[*root].clients.iter().any(|&client| shows(client)),
        })
        .collect();
    if steps.is_empty() {
        // What may not be read may have any number of them.
        return match (facts.link.is_denied(), facts.link.denied.is_empty()) {
            (true, _) => Ok(()),
            (false, false) => writeln!(to, "nobody waits in what may be read"),
            (false, true) => writeln!(to, "nobody waits"),
        };
    }
    let more = has_sibling_below(&steps);
    let mut open: Vec<bool> = Vec::new();
    for (&(depth, step), &more) in steps.iter().zip(&more) {
        open.truncate(depth);
        let mut line = String::new();
        for &passes in open.iter().skip(1).take(DEEPEST) {
            line.push_str(if passes { lines.passes } else { lines.gap });
        }
        if depth > 0 {
            line.push_str(if more { lines.branch } else { lines.last });
        }
        if depth > DEEPEST {
            // Writing to a String never fails.
            let _ = write!(line, "({depth} deep) ");
        }
        open.push(more);
        match step {
            Step::Circle(root) => {
                let circles = graph.roots()[root].circles.iter().map(|&circle| &graph.circles()[circle]);
                line.push_str(&circles.map(|circle| closed(graph, circle, lines)).collect::<Vec<_>>().join("; "));
            }
            Step::Client(client) => line.push_str(&words(facts, graph, client, style)),
        }
        writeln!(to, "{line}")?;
    }
    Ok(())
}

/// Whether another line of the same depth follows each line below the same parent.
fn has_sibling_below(steps: &[(usize, Step)]) -> Vec<bool> {
    let mut more = vec![false; steps.len()];
    let mut below: Vec<bool> = Vec::new();
    for (at, &(depth, _)) in steps.iter().enumerate().rev() {
        below.resize(depth + 1, false);
        more[at] = std::mem::replace(&mut below[depth], true);
    }
    more
}

/// `× deadlock: a1 → b2 → a1`.
fn closed(graph: &WaitFor<'_>, circle: &Circle, lines: Lines) -> String {
    let what = if circle.certain { "deadlock" } else { "circle through elections" };
    let named = circle.links.iter().chain(circle.links.first()).map(|link| {
        let name = name(graph.client(link.client));
        escape_text(&name).into_owned()
    });
    let to = format!(" {} ", lines.to);
    format!("{} {what}: {}", lines.error, named.collect::<Vec<_>>().join(&to))
}

fn words(facts: &Facts, graph: &WaitFor<'_>, ix: ClientIx, style: Style) -> String {
    let client = graph.client(ix);
    let mut line = if client.leases.is_empty() {
        table::text(client.key.key(), style)
    } else {
        escape_text(&name(client)).into_owned()
    };
    if let Some(owner) = client.key.owner().filter(|owner| Some(owner) != client.process.as_ref()) {
        let _ = write!(line, " ({})", escape_text(&owner));
    }
    let waits = client.waits.iter().map(|&wait| graph.lock_of(wait).lock.name());
    for (what, names) in [("waits for", waits.collect()), ("holds", holds(facts, graph, ix))] {
        list(&mut line, what, &names, style);
    }
    if client.behind.all > 0 {
        let _ = write!(line, "  {} behind", client.behind.all);
        if client.behind.locks > 1 {
            let _ = write!(line, " over {}", quantity(client.behind.locks, "lock"));
        }
    }
    line
}

fn list(line: &mut String, what: &str, names: &[&[u8]], style: Style) {
    if names.is_empty() {
        return;
    }
    let shown: Vec<String> = names.iter().take(NAMED).map(|name| table::name(name, style)).collect();
    let _ = write!(line, "  {what} {}", shown.join(", "));
    if names.len() > NAMED {
        let _ = write!(line, " and {} more", names.len() - NAMED);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::cli::sample::{self, key, list};
    use crate::domain::{KeyRange, LeaseId};
    use crate::event::{Denied, Observation};
    use crate::model::Model;

    const KEYS: [(&str, i64); 7] = [
        ("/d/one/a1", 0xa1),
        ("/d/two/b2", 0xb2),
        ("/d/two/a1", 0xa1),
        ("/d/one/b2", 0xb2),
        ("/d/one/c3", 0xc3),
        ("/q/d4", 0xd4),
        ("/q/e5", 0xe5),
    ];

    fn model() -> Model {
        let keys = (2..).zip(KEYS).map(|(at, (name, lease))| key(name.as_bytes(), LeaseId(lease), at, b""));
        sample::model(list(keys.collect()))
    }

    fn forest(lines: Lines) -> String {
        let mut out = Vec::new();
        print_forest(model().shown(), Format::Simple, Style::default(), lines, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_client_stands_below_the_one_it_is_blocked_by() {
        let expected = "\
× deadlock: a1 → b2 → a1
├─ a1  waits for /d/two  holds /d/one  1 behind
│  └─ c3  waits for /d/one
└─ b2  waits for /d/one  holds /d/two
d4  holds /q  1 behind
└─ e5  waits for /q
";
        assert_eq!(forest(UNICODE), expected);
        let plain = forest(PLAIN);
        assert!(plain.is_ascii() && plain.starts_with("x deadlock: a1 -> b2 -> a1\n  a1 "), "{plain}");
    }

    #[test]
    fn what_may_not_be_read_is_no_all_clear() {
        let printed = |model: &Model| {
            let mut out = Vec::new();
            print_forest(model.shown(), Format::Simple, Style::default(), PLAIN, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let (all, other) = (KeyRange::prefix(b""), KeyRange::prefix(b"/prod/"));
        let denied =
            || Observation::Denied(Denied { range: all.clone(), user: String::new(), why: "permission denied".into() });
        assert_eq!(printed(&sample::model(vec![Observation::Scope(vec![all.clone()])])), "nobody waits\n");
        assert_eq!(printed(&sample::model(vec![Observation::Scope(vec![all.clone()]), denied()])), "");
        let some = sample::model(vec![Observation::Scope(vec![all.clone(), other]), denied()]);
        assert_eq!(printed(&some), "nobody waits in what may be read\n");
    }

    #[test]
    fn one_lock_shows_what_it_has_to_do_with() {
        let model = model();
        let shown = |name: &[u8]| {
            let mut out = Vec::new();
            let lock = model.shown().lock_named(name).unwrap();
            print_lock(model.shown(), lock, Style::default(), PLAIN, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(shown(b"/q"), "d4  holds /q  1 behind\n  e5  waits for /q\n");
        assert_eq!(shown(b"/d/two").lines().count(), 4, "who waits behind one of the circle, too");
    }

    #[test]
    fn the_document_nests_and_names_the_circles() {
        let mut out = Vec::new();
        print_forest(model().shown(), Format::Json, Style::default(), PLAIN, &mut out).unwrap();
        let document: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(document["schema"], "lockscope/1");
        let roots = document["roots"].as_array().unwrap();
        let clients: Vec<_> = roots.iter().map(|root| root["client"].as_str().unwrap()).collect();
        assert_eq!(clients, ["a1", "b2", "d4"]);
        assert_eq!(roots[0]["children"][0]["client"], "c3");
        assert_eq!(roots[0]["behind"], json!({"direct": 1, "all": 1, "locks": 1}));
        assert_eq!(roots[0]["waits_for"][0]["held_by"], json!(["b2"]));
        assert_eq!(roots[0]["cycle"], true);
        let cycle = &document["cycles"][0];
        let expected = json!([
            {"client": "a1", "lease": "a1", "waits_for": "/d/two"},
            {"client": "b2", "lease": "b2", "waits_for": "/d/one"},
        ]);
        assert_eq!((&cycle["clients"], &cycle["deadlock"]), (&expected, &json!(true)));
    }

    #[test]
    fn a_long_chain_is_printed_without_end_of_stack_or_line() {
        let holds = (1..=3_000).map(|lease| (format!("/c/{lease:05}/{lease:x}"), lease));
        let waits = (1..3_000).map(|lease| (format!("/c/{:05}/{lease:x}", lease + 1), lease));
        let keys =
            (2..).zip(holds.chain(waits)).map(|(at, (name, lease))| key(name.as_bytes(), LeaseId(lease), at, b""));
        let model = sample::model(list(keys.collect()));
        for format in [Format::Simple, Format::Json] {
            let mut out = Vec::new();
            print_forest(model.shown(), format, Style::default(), PLAIN, &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert!(text.lines().all(|line| format == Format::Json || line.len() < 200), "{format:?}");
            if format == Format::Json {
                serde_json::from_str::<Value>(&text).unwrap();
            }
        }
    }
}
