//! `show`: one lock with its queue, its leases and what else hangs on them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use super::args::ShowArgs;
use super::exit::{Exit, Failure};
use super::given::Given;
use super::json::{self, LeaseKeys, Style};
use super::lone;
use super::ls;
use super::reading::{self, Reading};
use super::table::{self, Align, Column};
use super::tree;
use crate::config::{Config, Format, TtlPolicy};
use crate::domain::key::split_last;
use crate::domain::{Key, KeyRange, KeyValue, LeaseId};
use crate::event::Denied;
use crate::lang;
use crate::model::keyspace::Entry;
use crate::model::{self, Diagnosis, Facts, KeyView, LockView, WaitFor};
use crate::nearest::near;
use crate::runtime;
use crate::source::Watching;
use crate::view::text::{escape, verdict};

/// How many names are offered when there is no lock of the wanted one.
const OFFERED: usize = 5;

/// How to see what is left out.
const ALL_OF_THEM: &str = "--limit 0 prints them all";

/// The keys of leases as the leases themselves tell, beyond what is watched.
pub type KeysOfLeases = BTreeMap<LeaseId, Vec<Key>>;

/// Reads one lock and prints it.
///
/// # Errors
/// When the cluster cannot be read, or there is no such lock.
pub async fn run(args: &ShowArgs, config: &Config, to: &mut impl Write) -> Result<(), Failure> {
    let format = config.output.format.unwrap_or(Format::Simple);
    let style = Style { hex: config.output.hex };
    let Some(lock) = &args.lock else {
        let mut reading = Reading::connect(config).await?;
        reading.list(&reading::watching(config)).await?;
        tree::print_forest(reading.facts(), format, style, tree::Lines::of_output(&config.display), to)?;
        return reading.end(to);
    };
    let given = Given::of(lock.as_encoded_bytes(), config.output.hex);
    let mut reading = Reading::connect(config).await?;
    let denied = if args.tree {
        // What waits for the lock's clients, and what they wait for, may be anywhere.
        reading.list(&reading::watching(config)).await?;
        Vec::new()
    } else {
        read(&mut reading, config, &given).await?
    };
    let Some(name) = found(reading.facts(), &given)? else {
        let failure = missing(&reading, &given, &denied);
        let Some(kv) = exact(&mut reading, &given).await? else { return Err(failure) };
        lone::print(&mut reading, &kv, format, style, to).await?;
        return reading.end(to);
    };
    let Some(lock) = reading.facts().lock_named(name) else { return Err(not_found(reading.facts(), name)) };
    if args.tree && format != Format::Json {
        tree::print_lock(reading.facts(), lock, style, tree::Lines::of_output(&config.display), to)?;
        return reading.end(to);
    }
    let asked = match config.polling.ttl.unwrap_or(TtlPolicy::All) {
        TtlPolicy::Holders => lock.holders().map(|key| key.lease()).filter(|id| !id.is_none()).collect(),
        TtlPolicy::All => leases(lock),
        TtlPolicy::None => Vec::new(),
    };
    let mut told = KeysOfLeases::new();
    reading.poll_with_keys(&asked, &mut told).await;
    if config.prefixes.is_empty() {
        let beyond: Vec<Key> = unread(reading.facts(), told.values().flatten()).cloned().collect();
        reading.follow(&beyond).await;
    }
    // Polls do not take locks away.
    let Some(lock) = reading.facts().lock_named(name) else { return Err(not_found(reading.facts(), name)) };
    let diagnosis = Diagnosis::of(reading.facts(), &runtime::thresholds(&config.findings).at_one_look());
    let shown = Shown { format, style, tree: args.tree, limit: args.limit };
    lang::within(super::spoken(config), || print(reading.facts(), lock, &diagnosis, &told, shown, to))?;
    reading.end(to)
}

/// What came of looking for a lock.
pub enum Located {
    /// Its name.
    Lock(Vec<u8>),
    /// There is none, which a command can end with.
    Missing(Failure),
}

/// Reads one lock as `ls` would show it; its name, which may be given as it is printed.
///
/// # Errors
/// When the cluster cannot be read, or the name may be that of several locks.
pub async fn locate(reading: &mut Reading, config: &Config, given: &Given) -> Result<Located, Failure> {
    let denied = read(reading, config, given).await?;
    let found = found(reading.facts(), given)?.map(<[u8]>::to_vec);
    Ok(found.map_or_else(|| Located::Missing(missing(reading, given, &denied)), Located::Lock))
}

/// The lock that is meant, if there is one.
fn found<'a>(facts: &Facts, given: &'a Given) -> Result<Option<&'a [u8]>, Failure> {
    given.meant("lock", |name| facts.lock_named(name).is_some())
}

/// Reads the key of this very name, whatever it is; `None` when there is none.
///
/// # Errors
/// When the cluster cannot be read, or the name may be that of several keys.
pub async fn exact(reading: &mut Reading, given: &Given) -> Result<Option<KeyValue>, Failure> {
    let mut there = Vec::new();
    for name in given.names() {
        there.extend(reading.key(name).await?);
    }
    let meant = given.meant("key", |name| there.iter().any(|kv| kv.key.as_bytes() == name))?;
    Ok(meant.and_then(|name| there.iter().find(|kv| kv.key.as_bytes() == name)).cloned())
}

/// Reads as little as shows the lock as `ls` would: what stands beside it tells a lock from
/// a registration. When there is no such lock everything is read, for the nearest names.
/// Returns what of the lock's own keys may not be read.
pub async fn read(reading: &mut Reading, config: &Config, given: &Given) -> Result<Vec<Denied>, Failure> {
    if !config.prefixes.is_empty() {
        reading.list(&Watching::Prefixes(config.prefixes.clone())).await?;
        return Ok(Vec::new());
    }
    let mut denied = Vec::new();
    for name in given.names() {
        for prefix in neighbourhoods(name) {
            reading.list(&Watching::Prefixes(vec![prefix])).await?;
            // A narrower prefix can only help when the wider one may not be read.
            if reading.facts().lock_named(name).is_some() || reading.facts().link.denied.is_empty() {
                break;
            }
        }
        denied.extend(reading.facts().link.denied.iter().cloned());
    }
    // All of the names were looked for: one may be how another is printed.
    if given.names().iter().any(|name| reading.facts().lock_named(name).is_some()) {
        return Ok(Vec::new());
    }
    reading.list(&Watching::Discover).await?;
    Ok(denied)
}

/// Those of the keys that were not read.
fn unread<'a>(facts: &Facts, keys: impl Iterator<Item = &'a Key>) -> impl Iterator<Item = &'a Key> {
    keys.filter(|key| facts.key(key.as_bytes()).is_none())
}

/// The verdict on a lock, which knows of keys that only the holder's lease tells of.
fn judged(facts: &Facts, lock: LockView<'_>, told: &KeysOfLeases) -> String {
    let keys = lock.holder().and_then(|holder| told.get(&holder.lease()));
    let unread = unread(facts, keys.into_iter().flatten()).count();
    verdict(&model::verdict::with_unread(facts, &lock, unread))
}

/// Why the lock cannot be shown: it may not be read, which says nothing about whether it is
/// there, or there is none.
pub fn missing(reading: &Reading, given: &Given, denied: &[Denied]) -> Failure {
    let Some(name) = given.names().first() else { return Failure::Refused };
    // The narrowest is the least right that shows the lock.
    let own = |denied: &&Denied| given.names().iter().any(|name| concerns(&denied.range, name));
    if let Some(denied) = denied.iter().chain(&reading.facts().link.denied).find(own) {
        reading::say_denied(denied);
        return Failure::Refused;
    }
    reading.report_denied();
    not_found(reading.facts(), name)
}

/// Whether keys of the lock of this name can lie in a range.
fn concerns(range: &KeyRange, name: &[u8]) -> bool {
    range.contains(name) || range.overlaps(&KeyRange::prefix(&[name, b"/"].concat()))
}

/// What to read for one lock, the widest first: the directory it is in, all that starts like
/// it, its own keys.
fn neighbourhoods(name: &[u8]) -> Vec<Vec<u8>> {
    let with_slash = |path: &[u8]| [path, b"/"].concat();
    let mut prefixes = vec![name.to_vec(), with_slash(name)];
    // The directory of a name at the root would be everything.
    let (directory, _) = split_last(name);
    if !directory.is_empty() {
        prefixes.insert(0, with_slash(directory));
    }
    prefixes
}

/// The failure of not finding a lock; it offers the nearest names.
pub fn not_found(facts: &Facts, name: &[u8]) -> Failure {
    let listed = ls::listed(facts, true).into_iter();
    // The empty name is like no other, and nothing to be read in a list.
    let names: Vec<_> = listed.filter(|lock| !lock.name().is_empty()).map(|lock| escape(lock.name())).collect();
    let wanted = escape(name);
    let offered = near(&wanted, names.iter().map(AsRef::as_ref), OFFERED);
    let failure = Failure::new(Exit::Error, format!("there is no lock `{wanted}`"));
    let mut hints = Vec::new();
    let beneath = beneath(facts, name);
    if !beneath.is_empty() {
        hints.push(format!(
            "Keys lie under this name that no known recipe puts there. `lockscope show KEY` shows one and `lockscope \
             release LOCK KEY` deletes it:\n  {}",
            beneath.join("\n  ")
        ));
    }
    if !offered.is_empty() {
        hints.push(format!("Locks with names like it:\n  {}", offered.join("\n  ")));
    }
    if hints.is_empty() {
        return failure.hint("`lockscope ls` lists the locks, `lockscope ls ''` those without any lease too.");
    }
    failure.hint(hints.join("\n"))
}

/// Some of the known keys under a name that are part of no lock, by their names.
fn beneath(facts: &Facts, name: &[u8]) -> Vec<String> {
    let range = KeyRange::prefix(&[name, b"/"].concat());
    let of_nothing = |entry: &&Entry| range.contains(&entry.key) && facts.lock_of(entry).is_none();
    let mut keys: Vec<_> = facts.keyspace().iter().filter(of_nothing).map(|entry| &entry.key).collect();
    keys.sort_unstable();
    keys.into_iter().take(OFFERED).map(|key| escape(key).into_owned()).collect()
}

/// The leases of a lock's queue, each once.
pub fn leases(lock: LockView<'_>) -> Vec<LeaseId> {
    let mut seen = BTreeSet::new();
    queue(lock).map(|key| key.lease()).filter(|lease| !lease.is_none() && seen.insert(*lease)).collect()
}

fn queue(lock: LockView<'_>) -> impl Iterator<Item = KeyView<'_>> {
    lock.holders().chain(lock.waiters().map(|waiter| waiter.key))
}

/// How a lock is printed.
#[derive(Clone, Copy, Debug)]
struct Shown {
    format: Format,
    style: Style,
    /// Whether the document has the tree of who waits for whom.
    tree: bool,
    /// The most other keys of leases that people are shown; 0 is all.
    limit: usize,
}

/// Prints a lock.
fn print(
    facts: &Facts,
    lock: LockView<'_>,
    diagnosis: &Diagnosis,
    told: &KeysOfLeases,
    Shown { format, style, tree, limit }: Shown,
    to: &mut impl Write,
) -> Result<(), Failure> {
    let others = other_keys(facts, lock, told);
    if format == Format::Json {
        let lease_keys =
            others.iter().map(|(lease, keys)| LeaseKeys::new(*lease, keys.iter().map(Key::as_bytes), style)).collect();
        let graph = tree.then(|| WaitFor::of(facts));
        let only = graph.as_ref().map(|graph| graph.around(lock));
        let tree = graph.as_ref().map(|graph| json::Tree { facts, graph, only: only.as_deref(), style });
        let verdict = judged(facts, lock, told);
        return Ok(json::write(&json::Show { facts, lock, diagnosis, verdict, lease_keys, tree, style }, to)?);
    }
    let summary = [
        table::name(lock.name(), style),
        lock.layout().name().into(),
        lock.family().into(),
        lock.state().name().into(),
        lock.waiter_count().to_string(),
        diagnosis.codes(lock.name()).join(","),
    ];
    let holders = lock.holders().map(|key| member("holder", 0, String::new(), &key, style));
    let waiters = lock
        .waiters()
        .map(|waiter| member("waiter", waiter.position, waiter.waits_for.to_string(), &waiter.key, style));
    let most = if limit == 0 { usize::MAX } else { limit };
    let more = others.iter().map(|(_, keys)| keys.len()).sum::<usize>().saturating_sub(most);
    let rest =
        others.iter().flat_map(|(lease, keys)| keys.iter().map(|key| [table::lease(*lease), table::text(key, style)]));
    let rest = rest.take(most);
    let verdict = judged(facts, lock, told);
    if format == Format::Simple {
        // The first word of a line says what the line is, so that one grep finds each kind.
        table::line(&with_kind("lock", summary), to)?;
        table::line(&with_kind("verdict", [verdict]), to)?;
        for row in holders.chain(waiters) {
            table::line(&row, to)?;
        }
        for row in rest {
            table::line(&with_kind("lease-key", row), to)?;
        }
        if more > 0 {
            table::line(&with_kind("more-lease-keys", [more.to_string(), ALL_OF_THEM.to_owned()]), to)?;
        }
        return Ok(());
    }
    let left = |name| Column(name, Align::Left);
    let right = |name| Column(name, Align::Right);
    let columns = [left("LOCK"), left("LAYOUT"), left("FAMILY"), left("STATE"), right("WAITERS"), left("FINDINGS")];
    table::print(format, columns, [summary], to)?;
    table::print(format, [left("VERDICT")], [[verdict]], to)?;
    let columns = [
        left("ROLE"),
        right("POSITION"),
        left("KEY"),
        left("LEASE"),
        right("TOKEN"),
        right("WAITS FOR"),
        right("TTL"),
        left("RENEWAL"),
        left("OWNER"),
        left("VALUE"),
    ];
    table::print(format, columns, holders.chain(waiters), to)?;
    let rest: Vec<_> = rest.collect();
    if !rest.is_empty() {
        table::print(format, [left("LEASE"), left("OTHER KEYS OF THE LEASE")], rest, to)?;
    }
    if more > 0 {
        writeln!(to, "and {more} more: {ALL_OF_THEM}")?;
    }
    Ok(())
}

fn with_kind<const N: usize>(kind: &str, row: [String; N]) -> Vec<String> {
    std::iter::once(kind.to_owned()).chain(row).collect()
}

fn member(role: &str, position: usize, waits_for: String, key: &KeyView<'_>, style: Style) -> [String; 10] {
    let entry = key.entry();
    [
        role.into(),
        position.to_string(),
        table::text(key.key(), style),
        table::lease(key.lease()),
        key.token().to_string(),
        waits_for,
        table::ttl(key.ttl()),
        table::renewal(key.renewal()),
        key.owner().map(|owner| escape(owner.as_bytes()).into_owned()).unwrap_or_default(),
        table::text(json::whole_characters(&entry.value, entry.value_len), style),
    ]
}

/// The keys of the queue's leases that are not in the queue themselves.
fn other_keys(facts: &Facts, lock: LockView<'_>, told: &KeysOfLeases) -> Vec<(LeaseId, Vec<Key>)> {
    let own: BTreeSet<&[u8]> = queue(lock).map(|key| key.key()).collect();
    leases(lock)
        .into_iter()
        .filter_map(|id| {
            let known = facts.lease(id).into_iter().flat_map(|lease| lease.keys()).map(|key| key.key());
            let told = told.get(&id).into_iter().flatten().map(Key::as_bytes);
            let others: BTreeSet<&[u8]> = known.chain(told).filter(|key| !own.contains(key)).collect();
            (!others.is_empty()).then(|| (id, others.into_iter().map(Key::from).collect()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::cli::sample::{self, FIRST, key, list};
    use crate::model::Model;

    fn shown(model: &Model, name: &[u8], told: &KeysOfLeases, format: Format) -> String {
        let mut out = Vec::new();
        let facts = model.shown();
        let how = Shown { format, style: Style::default(), tree: false, limit: 100 };
        print(facts, facts.lock_named(name).unwrap(), model.diagnosis(), told, how, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_document_has_the_lock_and_the_other_keys_of_its_leases() {
        let model = sample::model(list(vec![
            key(b"/a/694d82254d5fa305", FIRST, 5, b""),
            key(b"/b/694d82254d5fa305", FIRST, 6, b""),
        ]));
        // One of them is not watched: only the lease tells of it.
        let told = KeysOfLeases::from([(FIRST, vec!["/far".into(), "/a/694d82254d5fa305".into()])]);
        let document: Value = serde_json::from_str(&shown(&model, b"/a", &told, Format::Json)).unwrap();
        assert_eq!(document["lock"]["name"], "/a");
        assert_eq!(document["lock"]["holder"]["token"], 5);
        let verdict = "held: the time of its lease was not asked; nobody waits; the lease also holds 1 other lock; \
                       the lease has 1 key more that was not read";
        assert_eq!(document["verdict"], verdict);
        let expected = json!([{"lease": "694d82254d5fa305", "keys": ["/b/694d82254d5fa305", "/far"]}]);
        assert_eq!(document["lease_keys"], expected);
    }

    #[test]
    fn each_line_says_what_it_is() {
        let text = shown(&sample::locks(), b"/jobs/reindex", &KeysOfLeases::new(), Format::Simple);
        let kinds: Vec<_> = text.lines().map(|line| line.split('\t').next().unwrap()).collect();
        assert_eq!(kinds, ["lock", "verdict", "holder", "waiter"]);
        let waiter = "waiter\t1\t/jobs/reindex/694d82254d5fa307\t694d82254d5fa307\t83010\t83004\t-\t-\t-\t-";
        assert_eq!(text.lines().nth(3).unwrap(), waiter);
    }

    #[test]
    fn a_table_has_the_lock_its_queue_and_what_else_hangs_on_its_leases() {
        let told = KeysOfLeases::from([(FIRST, vec!["/far".into()])]);
        let text = shown(&sample::locks(), b"/jobs/reindex", &told, Format::Table);
        let headers = ["| LOCK ", "| VERDICT ", "| ROLE ", "| OTHER KEYS OF THE LEASE "];
        assert!(headers.iter().all(|header| text.contains(header)), "{text}");
    }

    #[test]
    fn of_very_many_other_keys_the_first_are_printed_and_how_to_see_the_rest() {
        let told = KeysOfLeases::from([(FIRST, (0..150).map(|n| Key::from(&*format!("/far/{n:03}"))).collect())]);
        let text = shown(&sample::locks(), b"/jobs/reindex", &told, Format::Simple);
        assert_eq!(text.matches("\nlease-key\t").count(), 100);
        assert!(text.ends_with("\nmore-lease-keys\t50\t--limit 0 prints them all\n"), "{text}");
        let table = shown(&sample::locks(), b"/jobs/reindex", &told, Format::Table);
        assert!(table.ends_with("and 50 more: --limit 0 prints them all\n"), "{table}");
        assert!(table.contains("/far/099") && !table.contains("/far/100"), "{table}");
        let document: Value =
            serde_json::from_str(&shown(&sample::locks(), b"/jobs/reindex", &told, Format::Json)).unwrap();
        assert_eq!(document["lease_keys"][0]["keys"].as_array().unwrap().len(), 150);
    }

    #[test]
    fn a_name_that_is_not_there_offers_the_keys_under_it() {
        let (one, other) = (b"/dedupe/694d82254d5fa305", b"/dedupe/694d82254d5fa306");
        let model = sample::model(list(vec![key(one, LeaseId::NONE, 5, b""), key(other, LeaseId::NONE, 6, b"")]));
        let Failure::Said { hint: Some(hint), .. } = not_found(model.shown(), b"/dedupe") else { panic!("a hint") };
        assert!(hint.ends_with("\n  /dedupe/694d82254d5fa305\n  /dedupe/694d82254d5fa306"), "{hint}");
        assert!(!hint.contains("ls ''"), "it lists none of them: {hint}");
    }

    #[test]
    fn a_directory_of_locks_offers_the_locks_and_never_their_keys() {
        let mut all = list(vec![
            key(b"/jobs/reindex/694d82254d5fa305", FIRST, 5, b""),
            key(b"/jobs/reindex/694d82254d5fa307", sample::SECOND, 6, b""),
        ]);
        let Failure::Said { hint: Some(hint), .. } = not_found(sample::model(all.clone()).shown(), b"/jobs") else {
            panic!("a hint")
        };
        assert_eq!(hint, "Locks with names like it:\n  /jobs/reindex");
        all = list(vec![
            key(b"/jobs/left", LeaseId::NONE, 4, b""),
            key(b"/jobs/reindex/694d82254d5fa305", FIRST, 5, b""),
            key(b"/jobs/reindex/694d82254d5fa307", sample::SECOND, 6, b""),
        ]);
        let Failure::Said { hint: Some(hint), .. } = not_found(sample::model(all).shown(), b"/jobs") else {
            panic!("a hint")
        };
        assert!(hint.ends_with(":\n  /jobs/left\nLocks with names like it:\n  /jobs/reindex"), "{hint}");
    }

    #[test]
    fn a_denied_range_concerns_the_locks_whose_keys_lie_in_it() {
        for (range, name, concerned) in [
            (KeyRange::prefix(b"/secret/"), &b"/secret/b"[..], true),
            (KeyRange::prefix(b"/secret/b/"), b"/secret/b", true),
            (KeyRange::single(b"/secret/b"), b"/secret/b", true),
            (KeyRange::prefix(b""), b"/open/a", true),
            (KeyRange::prefix(b"/secret/"), b"/open/a", false),
            (KeyRange::prefix(b"/secret/bc/"), b"/secret/b", false),
        ] {
            assert_eq!(concerns(&range, name), concerned, "{range:?}");
        }
    }

    #[test]
    fn a_name_that_is_not_there_offers_the_nearest() {
        let model = sample::locks();
        let Failure::Said { exit: Exit::Error, what, hint: Some(hint) } = not_found(model.shown(), b"/jobs/reinedx")
        else {
            panic!("a failure with a hint")
        };
        assert_eq!(what, "there is no lock `/jobs/reinedx`");
        assert_eq!(hint, "Locks with names like it:\n  /jobs/reindex");
    }
}
