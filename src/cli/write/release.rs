//! `release`: one key of a lock, the holder's or a chosen one.

use super::Plan;
use crate::cli::args::ReleaseArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::reading::Reading;
use crate::cli::show;
use crate::config::Config;
use crate::domain::key::split_last;
use crate::domain::write::Write;
use crate::domain::{Key, Sentence};
use crate::layout::Layout;
use crate::model::ui::dialog::Word;
use crate::model::{BlastRadius, KeyView, LockView, TtlState};
use crate::nearest::near;
use crate::view::text::{command, escape};

/// How many keys are offered when one has to be chosen.
const OFFERED: usize = 8;

/// Reads the lock and finds the key that is to go.
pub async fn plan(args: &ReleaseArgs, config: &Config) -> Result<(Plan, Reading), Failure> {
    let mut reading = Reading::connect(config).await?;
    let name = show::locate(&mut reading, config, args.lock.as_encoded_bytes()).await?;
    let key = {
        let Some(lock) = reading.facts().lock_named(&name) else { return Err(show::not_found(reading.facts(), &name)) };
        Key::from(chosen(lock, args, config.output.hex)?.key())
    };
    let lease = reading.facts().key(&key).map(|key| key.lease()).filter(|lease| !lease.is_none());
    reading.poll(lease).await;
    let facts = reading.facts();
    let Some(view) = facts.key(&key) else { return Err(show::not_found(facts, &name)) };
    let write = Write::Release { lock: Key::from(&*name), key: key.clone(), create_revision: view.token() };
    let title = format!("release {} of lock {}", escape(&key), escape(&name));
    let mut plan = Plan::new("release", title, Word::of(&write, facts), BlastRadius::of(facts, &write));
    plan.lease = lease;
    plan.notes.extend(notes(&view));
    Ok((plan, reading))
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
        let spellings = show::spellings(key.as_encoded_bytes(), hex);
        let found = spellings.iter().find_map(|spelling| all().find(|key| key.key() == &**spelling));
        return found.ok_or_else(|| {
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
