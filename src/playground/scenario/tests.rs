//! Files as people write them, those that come with the program, and the casts they make.

use std::path::Path;

use super::file::{Raw, RawCluster, RawCue, RawGroup, RawResource, RawWanted};
use super::trigger::What;
use super::*;
use crate::domain::play::order;
use crate::playground::expect;
use crate::recipe::Kind;

const GOOD: &str = r#"name = "good"
summary = "What it shows"
summary_zh = "展示什么"
lock = "jobs"

[[clients]]
count = 4
recipe = "queue"
lock = "jobs"
writes = "1s"

[[clients]]
count = 2
recipe = "queue"
lock = "jobs"
hold = "2s"

[[clients]]
count = 2
recipe = "watch"
name = "jobs"

[[resources]]
name = "ledger"
fencing = true

[[at]]
time = "2s"
do = "crash client-1"
say = { en = "It crashes.", zh = "它崩溃了。" }

[[expect]]
that = "handoffs >= 1"
"#;

fn read(text: &str) -> Result<Scenario, String> {
    Scenario::from_toml(text, Path::new("my.toml")).map_err(|error| error.to_string())
}

/// What is said when this stands in place of that.
fn refused(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    read(&GOOD.replacen(from, to, 1)).unwrap_err()
}

#[test]
fn a_good_file_is_a_scenario() {
    let scenario = read(GOOD).unwrap();
    assert_eq!((scenario.name.as_str(), scenario.groups.len()), ("good", 3));
    assert_eq!(scenario.groups[0].ttl, Duration::from_secs(5));
    assert_eq!(scenario.cues[0].time, Duration::from_secs(2));
    assert_eq!(scenario.cues[0].deeds[0].to_string(), "crash client-1");
    assert_eq!(scenario.narrations[scenario.cues[0].says.unwrap()].zh, "它崩溃了。");
    assert_eq!(scenario.wanted[0].text, "handoffs >= 1");
}

#[test]
fn what_is_wrong_is_told_with_its_place_and_line() {
    let said = refused("count = 4", "count = 4\nhodl = \"1s\"");
    assert_eq!(said, "my.toml:8:1: unknown name `hodl`; did you mean `hold`?\n 8 | hodl = \"1s\"\n   | ^");
    let said = refused("recipe = \"queue\"", "recipe = \"quue\"");
    assert_eq!(said, "my.toml:8:10: no recipe `quue`; did you mean `queue`?\n 8 | recipe = \"quue\"\n   |          ^");
    let said = refused("hold = \"2s\"", "hold = \"2\"");
    assert!(said.starts_with("my.toml:16:8: a duration needs a unit: say `2s` "), "{said}");
    let said = refused("hold = \"2s\"", "hold = \"2s..1s\"");
    assert!(said.starts_with("my.toml:16:8: `2s..1s` ends before it begins\n"), "{said}");
    let said = refused("lock = \"jobs\"\nwrites", "lock = \"jobs/\"\nwrites");
    assert!(said.starts_with("my.toml:9:8: `jobs/` ends in a slash: "), "{said}");
    let said = refused("name = \"jobs\"", "name = \"/jobs\"");
    assert!(said.starts_with("my.toml:21:8: `/jobs` starts with a slash: "), "{said}");
    let said = refused("name = \"good\"", "name = \"Not good\"");
    assert!(said.starts_with("my.toml:1:8: `Not good` is no name: "), "{said}");
    let said = refused("lock = \"jobs\"", "lock = \"job\"");
    assert!(said.starts_with("my.toml:4:8: no lock `job`; did you mean `jobs`?\n"), "{said}");
    let said = refused("crash client-1", "crash client-9");
    assert!(said.starts_with("my.toml:29:6: there is no client-9: 8 take part\n"), "{said}");
    let said = refused("crash client-1", "crush client-1");
    assert!(said.contains("called `crush`; did you mean `crash`?"), "{said}");
    let said = refused("crash client-1", "kill leader");
    assert!(said.starts_with("my.toml:29:6: this is done to the cluster: say `needs = \"faults\"` "), "{said}");
    let said = refused("handoffs >= 1", "handoffs > 1");
    assert!(said.starts_with("my.toml:33:8: `handoffs > 1` is nothing that can be expected, did you mean "), "{said}");
    let said = refused("handoffs >= 1", "stale write refused by leger");
    assert!(said.starts_with("my.toml:33:8: no resource `leger`; did you mean `ledger`?\n"), "{said}");
    let said = refused("handoffs >= 1", "split vote seen");
    assert!(said.starts_with("my.toml:33:8: only a cluster of one's own tells that: "), "{said}");
    let said = refused("time = \"2s\"", "when = \"client-1 acquire\"");
    assert!(said.contains("did you mean `acquires`?"), "{said}");
    let said = refused(", zh = \"它崩溃了。\"", "");
    assert!(said.starts_with("my.toml:30:7: `zh` is missing here\n"), "{said}");
    let said = refused("It crashes.", "It \\u001b[31mcrashes.");
    assert!(said.starts_with("my.toml:30:14: a terminal would not show it as it is: \\u{1b}\n"), "{said}");
    let said = refused("writes = \"1s\"\n", "");
    assert!(said.starts_with("my.toml:23:8: nobody writes to it: "), "{said}");
    let said = refused("count = 4", "count = 0");
    assert!(said.starts_with("my.toml:7:9: 0 clients: a group has 1 to 1000\n"), "{said}");
    let said = refused("count = 4", "count = ");
    assert!(said.starts_with("my.toml:7:"), "{said}");
    let said = refused("[[expect]]\nthat = \"handoffs >= 1\"\n", "");
    assert!(said.contains("a scenario needs at least one [[expect]], and there is none"), "{said}");
}

#[test]
fn messages_speak_of_the_file_and_not_of_the_program() {
    let said = refused("summary_zh = \"展示什么\"\n", "");
    assert!(said.starts_with("my.toml:1:1: `summary_zh` is missing: it stands at the top of the file, "), "{said}");
    let said = refused("count = 4", "count = \"4\"");
    assert!(said.contains(":7:9: a whole number from 0 to 65535 is wanted here, not the text \"4\"\n"), "{said}");
    let said = refused("count = 4", "count = -1");
    assert!(said.contains(": a whole number from 0 to 65535 is wanted here, not -1\n"), "{said}");
    let said = refused("fencing = true", "fencing = 1.5");
    assert!(said.contains(": true or false is wanted here, not 1.5\n"), "{said}");
    let said = refused("{ en = \"It crashes.\", zh = \"它崩溃了。\" }", "\"It crashes.\"");
    assert!(said.contains(": { en = \"…\", zh = \"…\" } is wanted here, not the text \"It crashes.\"\n"), "{said}");
    let said = refused("recipe = \"queue\"\nlock = \"jobs\"\nwrites", "lock = \"jobs\"\nwrites");
    assert!(said.contains("`recipe` is missing here\n") && !said.starts_with("my.toml:1:"), "{said}");
    let said = refused("[[expect]]", "[expect]");
    assert!(!said.contains("sequence") && said.contains("[[expect]]"), "{said}");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Scenario::from_file(Path::new("/nowhere/my.toml")).unwrap_err().to_string();
    assert!(error.starts_with("cannot read the scenario /nowhere/my.toml: "), "{error}");
}

#[test]
fn those_that_come_with_the_program_can_be_played_and_tell_in_both_languages() {
    let all = library::all().unwrap_or_else(|error| panic!("{error}"));
    assert!(all.len() >= 14);
    let is_chinese = |text: &str| text.chars().any(|char| ('\u{4e00}'..='\u{9fff}').contains(&char));
    for (scenario, name) in all.iter().zip(library::names()) {
        assert_eq!(scenario.name, name);
        assert!(scenario.summary.is_ascii() && !scenario.summary.ends_with('.'), "{name}");
        assert!(is_chinese(&scenario.summary_zh), "{name}");
        assert!(!scenario.narrations.is_empty(), "{name}");
        for narration in &scenario.narrations {
            assert!(narration.en.is_ascii() && narration.en.ends_with('.'), "{name}: {}", narration.en);
            assert!(is_chinese(&narration.zh) && narration.zh.ends_with('。'), "{name}: {}", narration.zh);
        }
        let faults = scenario.cues.iter().flat_map(|cue| &cue.deeds).any(|deed| matches!(deed, Deed::Fault(_)));
        assert_eq!(scenario.needs.faults, faults, "{name}");
        let cast = scenario.cast(&scenario.prefix(), Wishes::default());
        assert!(cast.locks().any(|(_, lock)| lock == cast.lock), "{name}");
        assert!(cast.locks().all(|(_, lock)| lock.name().starts_with(format!("/lockscope/{name}/").as_bytes())));
    }
    let unknown = library::find("zombi").unwrap_err().to_string();
    assert_eq!(unknown, "no scenario `zombi`; did you mean `zombie`?");
}

/// The document that tells how to write one.
const DOCUMENT: &str = include_str!("../../../docs/scenarios.md");

/// The names that a table can have, as its reader lists them for one that it does not know.
fn names<T: serde::de::DeserializeOwned>() -> Vec<String> {
    let Err(error) = toml::from_str::<T>("nonsense = 1") else { panic!("nonsense is read") };
    let names: Vec<String> = error.message().split('`').skip(3).step_by(2).map(str::to_owned).collect();
    assert!(names.len() > 1, "{error}");
    names
}

/// The names of all tables below the file's own.
fn keys() -> Vec<String> {
    let all = [names::<RawCluster>(), names::<RawGroup>(), names::<RawResource>(), names::<RawCue>()];
    let tables = ["cluster", "clients", "resources", "at", "expect"];
    let top = names::<Raw>().into_iter().filter(|name| !tables.contains(&name.as_str()));
    all.concat().into_iter().chain(names::<RawWanted>()).chain(top).collect()
}

#[test]
fn the_document_lists_all_that_can_be_said() {
    let phrases = expect::PHRASES.iter().map(|phrase| format!("| `{}` | {}. |", phrase.pattern, phrase.help));
    let recipes = Kind::ALL.map(|kind| format!("| `{kind}` |"));
    let orders = order::WORDS.iter().map(|word| match word.name {
        "add" => "`add 3`".to_owned(),
        name => format!("`{name} WHOM"),
    });
    let mistakes = check::MISTAKES.map(|(name, _)| format!("`{name}`"));
    let triggers = What::ALL.map(|what| format!("`{}`", what.word()));
    let keys = keys().into_iter().map(|name| format!("`{name}`"));
    for said in phrases.chain(recipes).chain(orders).chain(mistakes).chain(triggers).chain(keys) {
        assert!(DOCUMENT.contains(&said), "docs/scenarios.md lacks {said}");
    }
}

#[test]
fn the_example_of_the_document_can_be_played() {
    let (_, example) = DOCUMENT.split_once("```toml\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let scenario = read(example).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((scenario.name.as_str(), scenario.wanted.len()), ("long-pause", 2));
}

#[test]
fn every_folder_of_scenarios_is_in_the_program() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo/scenarios");
    let mut there: Vec<String> =
        folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    there.sort();
    let mut known: Vec<String> = library::names().map(|name| format!("{name}.toml")).collect();
    known.sort();
    assert_eq!(there, known);
}

fn counts(clients: Option<u16>) -> Vec<usize> {
    let scenario = read(GOOD).unwrap();
    let cast = scenario.cast("/p/", Wishes { clients, ..Wishes::default() });
    let of = |writes: bool, watch: bool| {
        let is = |habits: &Habits| habits.writes.is_some() == writes && (habits.kind == Kind::Watch) == watch;
        cast.clients.iter().filter(|(_, habits)| is(habits)).count()
    };
    vec![of(true, false), of(false, false), of(false, true)]
}

#[test]
fn a_wish_for_clients_is_about_the_main_lock() {
    assert_eq!(counts(None), [4, 2, 2]);
    assert_eq!(counts(Some(100)), [98, 2, 2]);
    assert_eq!(counts(Some(3)), [1, 2, 2]);
    assert_eq!(counts(Some(1)), [0, 1, 2]);
}

#[test]
fn names_and_values_carry_numbers_and_the_prefix() {
    let text = GOOD.replacen("name = \"jobs\"", "name = \"web/{n}\"\nvalue = \"10.0.0.{n}\"", 1);
    let cast = read(&text).unwrap().cast("/p/", Wishes::default());
    let (client, habits) = &cast.clients[7];
    assert_eq!((client.0, &habits.name, &*habits.value), (8, &Key::from("/p/web/2"), &b"10.0.0.2"[..]));
}

#[test]
fn wishes_for_lengths_are_those_of_the_main_lock() {
    let (hold, think, ttl) = (Span::millis(0, 0), Span::millis(7, 7), Duration::from_secs(77));
    let wish = Wishes { hold: Some(hold), think: Some(think), ttl: Some(ttl), clients: None };
    let cast = read(GOOD).unwrap().cast("/p/", wish);
    assert!(cast.clients[..6].iter().all(|(_, habits)| habits.hold == hold && habits.ttl == ttl));
    assert!(cast.clients[6..].iter().all(|(_, habits)| habits.ttl != ttl));
    assert!(cast.clients[6..].iter().all(|(_, habits)| habits.think == Span::millis(0, 0)));
}

#[test]
fn among_eight_one_is_clumsy() {
    let hold = "hold = \"150ms..400ms\"";
    let crash = format!("{hold}\ncrash = \"6s..30s\"\ncrash_one_in = 8");
    let fifo = read(&include_str!("../../../demo/scenarios/fifo.toml").replacen(hold, &crash, 1)).unwrap();
    for (contenders, clumsy) in [(3, 0), (8, 1), (17, 2), (80, 10)] {
        let cast = fifo.cast("/p/", Wishes { clients: Some(contenders), ..Wishes::default() });
        let crash = cast.clients.iter().filter(|(_, habits)| habits.crash.is_some()).count();
        assert_eq!(crash, clumsy, "of {contenders}");
    }
}
