//! `release`: one key of a lock, the holder's or a chosen one.

use super::Plan;
use crate::cli::args::ReleaseArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::given::Given;
use crate::cli::reading::Reading;
use crate::cli::show::{self, Located};
use crate::config::Config;
use crate::domain::key::split_last;
use crate::domain::write::Write;
use crate::domain::{Key, KeyValue, Sentence};
use crate::layout::Layout;
use crate::model::ui::dialog::Word;
use crate::model::{BlastRadius, KeyView, LockView, TtlState};
use crate::nearest::near;
use crate::view::text::{command, escape, quantity, remedy};

/// How many keys are offered when one has to be chosen.
const OFFERED: usize = 8;

/// Reads the lock and finds the key that is to go.
pub async fn plan(args: &ReleaseArgs, config: &Config) -> Result<(Plan, Reading), Failure> {
    let mut reading = Reading::connect(config).await?;
    let hex = config.output.hex;
    let given = Given::of(args.lock.as_encoded_bytes(), hex);
    let (name, key) = match show::locate(&mut reading, config, &given).await? {
        Located::Lock(name) => {
            let key = of_lock(&mut reading, &name, args, hex).await?;
            (name, key)
        }
        // Whatever the key is, there is no lock that could be named with it.
        Located::Missing(failure) => {
            let key = of_none(&mut reading, &given, args, config, failure).await?;
            (key.to_vec(), key)
        }
    };
    let lease = reading.facts().key(&key).map(|key| key.lease()).filter(|lease| !lease.is_none());
    reading.poll(lease).await;
    reading.say_unanswered();
    let facts = reading.facts();
    let Some(view) = facts.key(&key) else { return Err(show::not_found(facts, &name)) };
    let write = Write::Release { lock: Key::from(&*name), key: key.clone(), create_revision: view.token() };
    let title = if *name == *key {
        format!("release {}", escape(&key))
    } else {
        format!("release {} of lock {}", escape(&key), escape(&name))
    };
    let mut plan = Plan::new("release", title, Word::of(&write, facts), BlastRadius::of(facts, &write));
    plan.lease = lease;
    plan.notes.extend(notes(&view));
    if facts.lock_of(view.entry()).is_none() {
        let size = quantity(view.entry().value_len as usize, "byte");
        let puts = quantity(usize::try_from(view.entry().version).unwrap_or(usize::MAX), "put");
        plan.notes.push(format!("no known recipe writes it as the key of a lock: {size}, {puts} since it was created"));
    }
    Ok((plan, reading))
}

/// The key that is meant of a lock: one that its recipe knows, or any that lies under its name.
async fn of_lock(reading: &mut Reading, name: &[u8], args: &ReleaseArgs, hex: bool) -> Result<Key, Failure> {
    let failure = {
        let Some(lock) = reading.facts().lock_named(name) else { return Err(show::not_found(reading.facts(), name)) };
        match chosen(lock, args, hex) {
            Ok(key) => return Ok(key.key().into()),
            Err(failure) if lock.layout() == Layout::KubernetesLease => return Err(failure),
            Err(failure) => failure,
        }
    };
    let Some(key) = &args.queue_key else { return Err(failure) };
    let found = show::exact(reading, &Given::of(key.as_encoded_bytes(), hex)).await?;
    found.map(|kv| kv.key).filter(|key| lies_under(name, key)).ok_or(failure)
}

/// The key that is meant where no lock has the name: any that is there, if it is named.
async fn of_none(
    reading: &mut Reading,
    given: &Given,
    args: &ReleaseArgs,
    config: &Config,
    failure: Failure,
) -> Result<Key, Failure> {
    let hex = config.output.hex;
    let Some(key) = &args.queue_key else {
        let Some(KeyValue { key, .. }) = show::exact(reading, given).await? else { return Err(failure) };
        let again = Sentence::new("lockscope release -- {key} {key}").with("key", key.clone());
        return Err(Failure::new(
            Exit::BadInput,
            format!("there is no lock `{}`, only a key of this name", escape(&key)),
        )
        .hint(format!("Name the key as well if it is to go all the same:\n  {}", remedy(&again, &config.reach))));
    };
    let found = show::exact(reading, &Given::of(key.as_encoded_bytes(), hex)).await?;
    let Some(KeyValue { key, .. }) = found else { return Err(failure) };
    if given.names().iter().any(|name| lies_under(name, &key)) {
        return Ok(key);
    }
    let again = Sentence::new("lockscope release -- {key} {key}").with("key", key.clone());
    Err(Failure::new(Exit::BadInput, format!("the key {} does not lie under the name that was given", escape(&key)))
        .hint(format!("A key that is of no lock is its own name:\n  {}", remedy(&again, &config.reach))))
}

/// Whether a key is the one of this name or lies under it.
fn lies_under(name: &[u8], key: &[u8]) -> bool {
    key.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

fn notes(key: &KeyView<'_>) -> Vec<String> {
    match key.ttl() {
        TtlState::NoLease => vec!["its key has no lease: it would stay until somebody deletes it".into()],
        TtlState::Unpolled | TtlState::Gone => Vec::new(),
        _ => vec![format!(
            "its lease {} lives on: the client is not told and may work on as if it held the lock; what it writes is \
             told apart by the fencing token only",
            key.lease()
        )],
    }
}

/// The key that is meant.
fn chosen<'a>(lock: LockView<'a>, args: &ReleaseArgs, hex: bool) -> Result<KeyView<'a>, Failure> {
    let name = escape(lock.name());
    if lock.layout() == Layout::KubernetesLease {
        let object = lock.name().strip_prefix(b"/registry/leases/").unwrap_or(lock.name());
        let (namespace, object) = split_last(object);
        let patch = Sentence::new(
            "kubectl -n {namespace} patch lease {name} --type merge -p '{\"spec\":{\"holderIdentity\":\"\"}}'",
        );
        let patch = patch.with("namespace", namespace).with("name", object);
        return Err(Failure::new(
            Exit::BadInput,
            format!("{name} is a Lease of Kubernetes: who holds it is in its value, which Kubernetes writes"),
        )
        .hint(format!("Release it through Kubernetes:\n  {}", command(&patch))));
    }
    let all = || lock.holders().chain(lock.waiters().map(|waiter| waiter.key));
    if let Some(key) = &args.queue_key {
        let given = Given::of(key.as_encoded_bytes(), hex);
        let meant = given.meant("key", |name| all().any(|key| key.key() == name))?;
        return meant.and_then(|name| all().find(|key| key.key() == name)).ok_or_else(|| {
            let wanted = escape(key.as_encoded_bytes()).into_owned();
            let keys: Vec<_> = all().map(|key| escape(key.key()).into_owned()).collect();
            let offered = near(&wanted, keys.iter().map(String::as_str), OFFERED);
            let failure = Failure::new(Exit::Error, format!("{name} has no key `{wanted}`, or it is gone already"));
            if offered.is_empty() {
                failure
            } else {
                failure.hint(format!("Keys like it:\n  {}", offered.join("\n  ")))
            }
        });
    }
    if !lock.layout().is_lock() {
        let what = format!("{name} is no lock but a {}", lock.layout().name());
        return Err(Failure::new(Exit::BadInput, what).hint("Name the key if it is to go all the same."));
    }
    let mut holders = lock.holders();
    match (holders.next(), holders.next()) {
        (Some(holder), None) => Ok(holder),
        (None, _) => Err(Failure::new(Exit::Error, format!("nobody holds {name}; nothing was done"))),
        (Some(_), Some(_)) => {
            let keys: Vec<_> = lock.holders().take(OFFERED).map(|key| escape(key.key()).into_owned()).collect();
            let more = if lock.holder_count() > OFFERED { "\n  …" } else { "" };
            Err(Failure::new(Exit::BadInput, format!("{} hold {name}: say which key", lock.holder_count()))
                .hint(format!("Their keys:\n  {}{more}", keys.join("\n  "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::lies_under;

    #[test]
    fn a_key_lies_under_its_own_name_and_under_what_stands_before_a_slash() {
        assert!(lies_under(b"/jobs/a", b"/jobs/a"));
        assert!(lies_under(b"/jobs/a", b"/jobs/a/\xff\xfe"));
        assert!(!lies_under(b"/jobs/a", b"/jobs/ab/1"));
        assert!(!lies_under(b"/jobs/a", b"/jobs"));
    }
}
