//! What the dialog before a write says: each stage of each write in words.

use ratatui::text::Line;

use super::amount;
use crate::domain::write::{Write, WriteResult};
use crate::domain::{AlarmKind, Key, LeaseId, MemberId};
use crate::model::blast::Struck;
use crate::model::ui::dialog::{Dialog, News, Refusal, Stage};
use crate::model::{Facts, KeyView, Renewal, Stale, TtlState};
use crate::say;
use crate::view::text::{Cut, around, duration, escape, escape_text, fit_bytes, grouped, quantity, width};
use crate::view::theme::{Role, Theme};
use crate::view::widget::ttl::whole_seconds;

/// How many names of locks are told before the rest is counted.
const NAMED: usize = 3;

/// What the frame is called, in so many columns.
pub fn title<'a>(dialog: &Dialog, facts: &Facts, columns: usize, theme: &Theme) -> Line<'a> {
    let text = match dialog.write() {
        Write::Revoke { lease } => say!("Revoke lease {lease}", lease),
        Write::Release { lock, .. } => with_key(say!("Release {key}"), lock, columns, theme.glyphs.ellipsis),
        Write::MoveLeader { to } => say!("Move the lead to {member}", member = member(*to, facts)),
        Write::Disarm(kind) => say!("Disarm {alarm} of every member", alarm = kind.name()),
    };
    let cut = theme.sentence(text, columns, Role::Title);
    Line::from(theme.span(cut.content.into_owned(), Role::Title))
}

/// How far it is, in a few words.
pub fn state(dialog: &Dialog) -> (String, Role) {
    let (word, role) = match &dialog.stage {
        Stage::Asking => (say!("asking"), Role::Muted),
        Stage::Shown if takes_keys(dialog) => return (amount(dialog), Role::Text),
        Stage::Shown => ("", Role::Text),
        Stage::Running { .. } => (say!("RUNNING"), Role::Warning),
        Stage::Over(WriteResult::Done { .. }) => (say!("DONE"), Role::Title),
        Stage::Over(WriteResult::Changed { .. }) => (say!("CHANGED"), Role::Error),
        Stage::Over(WriteResult::Gone) => (say!("GONE"), Role::Warning),
        Stage::Over(WriteResult::NotSent { .. }) => (say!("NOT SENT"), Role::Error),
        Stage::Over(WriteResult::Refused { .. }) => (say!("REFUSED"), Role::Error),
        Stage::Over(WriteResult::Unknown { .. }) => (say!("UNKNOWN"), Role::Error),
    };
    (word.into(), role)
}

/// A text with a key in the place of `{key}`, without the key's middle where it has too little room.
fn with_key(words: &str, key: &[u8], columns: usize, ellipsis: &str) -> String {
    let (before, behind) = around(words, "{key}");
    let room = columns.saturating_sub(width(before) + width(behind));
    format!("{before}{}{behind}", fit_bytes(key, room, Cut::Middle, ellipsis))
}

/// Which word has to be typed, and why it has to be again.
pub fn asked(dialog: &Dialog) -> (String, Role) {
    let word = dialog.word();
    let asked = match dialog.write() {
        Write::Revoke { .. } => say!("type {word} to revoke it", word),
        Write::Release { .. } => say!("type {word} to delete the key", word),
        Write::MoveLeader { .. } => say!("type {word} to move the lead", word),
        Write::Disarm(_) => say!("type {word} to disarm it", word),
    };
    match dialog.refusal {
        Some(Refusal::WrongWord) => (say!("That is not the word: {asked}", asked), Role::Error),
        Some(Refusal::AskingAgain) => {
            (say!("Something changes; the cluster is asked again: {asked}", asked), Role::Error)
        }
        None => (asked, Role::Title),
    }
}

/// That this is as far as it goes, and what forbids more.
pub fn forbidden(dialog: &Dialog) -> (String, Role) {
    let by = escape_text(dialog.forbidden.as_deref().unwrap_or_default());
    (say!("A preview: {by} refuses everything that writes to the cluster. Esc leaves.", by), Role::Warning)
}

/// What is said below the list where nothing is typed.
pub fn leaving(dialog: &Dialog, facts: &Facts) -> (String, Role) {
    match &dialog.stage {
        Stage::Running { since } => (
            say!(
                "It has been under way for {length}. Esc leaves; it goes on then, and what comes of it is told at the \
                 bottom of the screen and in the log.",
                length = duration(whole_seconds(facts.now().since(*since)))
            ),
            Role::Muted,
        ),
        Stage::Over(WriteResult::Unknown { .. }) => {
            (say!("Look before you try again. Esc leaves.").into(), Role::Title)
        }
        _ => (say!("Esc leaves.").into(), Role::Muted),
    }
}

/// The heading of the locks.
pub fn locks_title(dialog: &Dialog) -> String {
    let locks = quantity(dialog.radius.locks.len(), "lock");
    match &dialog.stage {
        Stage::Over(WriteResult::Done { .. }) => say!("{locks} lost a key, and who has them now", locks),
        Stage::Over(_) => say!("{locks}, and who has them now", locks),
        _ => match dialog.radius.locks.len() {
            1 => say!("1 lock loses a key").into(),
            _ => say!("{locks} lose a key", locks),
        },
    }
}

/// The heading of the keys.
pub fn keys_title(dialog: &Dialog) -> String {
    let keys = quantity(dialog.radius.keys.len(), "key");
    match (&dialog.stage, dialog.radius.keys.len()) {
        (Stage::Over(WriteResult::Done { .. }), _) => say!("{keys} gone", keys),
        (Stage::Over(_), _) => say!("{keys} shown before", keys),
        (_, 1) => say!("1 key goes").into(),
        _ => say!("{keys} go", keys),
    }
}

/// Who has a lock when the key is gone; once something came of the write, who has it now.
pub fn passes_on(
    dialog: &Dialog,
    struck: &Struck,
    facts: &Facts,
    columns: usize,
    ellipsis: &'static str,
) -> (String, Role) {
    let with_tail = |words: &str, key: &[u8]| {
        let below = key.strip_prefix(&*struck.name).and_then(|below| below.strip_prefix(b"/"));
        with_key(words, below.filter(|below| !below.is_empty()).unwrap_or(key), columns, ellipsis)
    };
    if matches!(dialog.stage, Stage::Over(_)) {
        let done = matches!(dialog.stage, Stage::Over(WriteResult::Done { .. }));
        let gone =
            |key: &KeyView<'_>| dialog.radius.keys.iter().any(|(name, at)| &**name == key.key() && *at == key.token());
        let holder = facts.lock_named(&struck.name).and_then(|lock| lock.holder());
        return match holder {
            // The watch is a moment behind the answer.
            Some(holder) if done && gone(&holder) => ("…".into(), Role::Muted),
            Some(holder) => (with_tail(say!("held by {key}"), holder.key()), Role::Holder),
            None => (say!("free").into(), Role::Text),
        };
    }
    match (struck.freed, &struck.next) {
        (true, Some(next)) => (with_tail(say!("passes to {key}"), next), Role::Holder),
        (true, None) => (say!("free then: nobody is seen to wait").into(), Role::Text),
        (false, Some(holder)) => (with_tail(say!("stays with {key}"), holder), Role::Muted),
        (false, None) => (say!("loses one who waits").into(), Role::Muted),
    }
}

/// The sentences on top, the most important ones first.
pub fn said(dialog: &Dialog, facts: &Facts) -> Vec<(String, Role)> {
    match &dialog.stage {
        Stage::Asking => {
            let asks = (say!("asking for all keys of the lease…").into(), Role::Text);
            let trouble = dialog.trouble.as_ref().map(|why| {
                (say!("The cluster did not tell them, and is asked again: {why}", why = escape_text(why)), Role::Error)
            });
            [asks].into_iter().chain(trouble).collect()
        }
        Stage::Shown | Stage::Running { .. } => {
            let news = dialog.news.as_ref().map(|news| (changed(dialog, news), Role::Error));
            let trouble = dialog.trouble.as_ref().map(|why| {
                let why = escape_text(why);
                (say!("The cluster does not tell any more what hangs on the lease: {why}", why), Role::Error)
            });
            let mut said: Vec<_> = news.into_iter().chain([(what(dialog, facts), Role::Text)]).chain(trouble).collect();
            said.extend(against(dialog, facts));
            said
        }
        Stage::Over(result) => {
            let notes = dialog.notes.iter().map(|note| (escape_text(note).into_owned(), Role::Warning));
            [came(dialog, result, facts)].into_iter().chain(notes).collect()
        }
    }
}

/// Why it has to be looked at again.
fn changed(dialog: &Dialog, news: &News) -> String {
    let when = if news.at_confirmation {
        say!("The lease changed before it was revoked, so nothing was done: look again.")
    } else {
        say!("The lease changed: look again.")
    };
    let fresh = match news.fresh.len() {
        0 => None,
        1 => Some(say!("1 key is new.").to_owned()),
        fresh => Some(say!("{keys} are new.", keys = quantity(fresh, "key"))),
    };
    let gone = match news.gone {
        0 => None,
        1 => Some(say!("1 key that was shown is gone.").to_owned()),
        gone => Some(say!("{keys} that were shown are gone.", keys = quantity(gone, "key"))),
    };
    let typed = dialog.line.text().is_empty().then(|| say!("What was typed is taken back.").to_owned());
    let behind = fresh.into_iter().chain(gone).chain(typed);
    behind.fold(when.to_owned(), |said, next| say!("{said} {next}", said, next))
}

/// What will happen, in a sentence.
fn what(dialog: &Dialog, facts: &Facts) -> String {
    match dialog.write() {
        Write::Revoke { .. } => {
            let keys = match dialog.radius.keys.len() {
                0 => say!("it has no key").into(),
                1 => say!("its only key goes").into(),
                keys => say!("all of its {keys} go at once", keys = quantity(keys, "key")),
            };
            match dialog.radius.locks.iter().filter(|lock| lock.freed).count() {
                0 => say!("The lease ends now: {keys}. Its client learns it with its next heartbeat.", keys),
                1 => say!(
                    "The lease ends now: {keys}, and 1 lock is freed. Its client learns it with its next heartbeat.",
                    keys
                ),
                freed => say!(
                    "The lease ends now: {keys}, and {locks} are freed. Its client learns it with its next heartbeat.",
                    keys,
                    locks = quantity(freed, "lock")
                ),
            }
        }
        Write::Release { lock, key, create_revision } => {
            let view = facts.lock_named(lock);
            let holds = view.is_none_or(|view| view.holders().any(|holder| holder.key() == &**key));
            let created = grouped(create_revision.0);
            let has_lease = facts.key(key).is_none_or(|key| !key.lease().is_none());
            if holds && !has_lease {
                say!(
                    "The holder's key is deleted while it is still the one created at {created}; a newer lock of the \
                     same name is never hit.",
                    created
                )
            } else if !has_lease {
                say!(
                    "The key of one who waits is deleted while it is still the one created at {created}. The holder \
                     goes on.",
                    created
                )
            } else if holds {
                say!(
                    "The holder's key is deleted while it is still the one created at {created}; a newer lock of the \
                     same name is never hit. Its lease stays.",
                    created
                )
            } else {
                say!(
                    "The key of one who waits is deleted while it is still the one created at {created}. The holder \
                     goes on, and the lease stays.",
                    created
                )
            }
        }
        Write::MoveLeader { to } => {
            let to = member(*to, facts);
            match facts.cluster.leader() {
                Some(from) => say!("The cluster's lead moves from {from} to {to}.", from = member(from, facts), to),
                None => say!("The cluster's lead moves to {to}.", to),
            }
        }
        Write::Disarm(kind) => {
            let alarms = facts.cluster.alarms();
            let raised = alarms.iter().filter(|alarm| alarm.kind == *kind);
            let members = raised.map(|alarm| member(alarm.member, facts)).collect::<Vec<_>>().join(say!(", "));
            match kind {
                AlarmKind::NoSpace if alarms.iter().all(|alarm| alarm.kind == *kind) => {
                    say!("The alarm is taken from {members}: the cluster takes writes again.", members)
                }
                _ => say!("The alarm {alarm} is taken from {members}.", alarm = kind.name(), members),
            }
        }
    }
}

/// What speaks against it, or is good to know before.
fn against(dialog: &Dialog, facts: &Facts) -> Vec<(String, Role)> {
    let mut said = Vec::new();
    let mut warn = |text: String| said.push((text, Role::Warning));
    if !facts.link.is_live() {
        warn(say!("There is no connection at the moment: what is shown may be old.").into());
    }
    match dialog.write() {
        Write::Revoke { lease } => {
            warn(alive(*lease, facts));
            let locks = &dialog.radius.locks;
            if locks.len() > 1 {
                let names = locks.iter().map(|lock| &lock.name);
                let names = listed(names);
                warn(say!("Not one lock hangs on this lease but {count}: {names}.", count = locks.len(), names));
            }
            let unseen = dialog.radius.keys.iter().filter(|(key, _)| facts.key(key).is_none()).count();
            match unseen {
                0 => {}
                1 => warn(say!("1 key is not watched here: whether locks depend on it cannot be told.").into()),
                _ => warn(say!(
                    "{keys} are not watched here: whether locks depend on it cannot be told.",
                    keys = quantity(unseen, "key")
                )),
            }
        }
        Write::Release { lock, key, .. } => {
            let Some(view) = facts.key(key) else { return said };
            if view.lease().is_none() {
                warn(say!("The key has no lease: nothing but this frees the lock.").into());
            } else {
                warn(alive(view.lease(), facts));
                let others: Vec<Key> = others(view.lease(), lock, facts);
                if !others.is_empty() {
                    let has = say!("Its lease also has keys in {locks}: these stay.", locks = listed(others.iter()));
                    said.push((has, Role::Muted));
                }
            }
            if facts.lock_named(lock).is_some_and(|lock| !lock.layout().has_queue()) {
                said.push((
                    say!("Who waits for such a lock leaves no key: who gets it next cannot be told.").into(),
                    Role::Muted,
                ));
            }
        }
        Write::MoveLeader { to } => {
            if let (None, Some(why)) = (facts.cluster.leader(), facts.cluster.denied()) {
                warn(say!("Who leads may not be asked: {why}", why = escape_text(why)));
            }
            warn(
                say!("A new leader gives every lease its full time again: dead clients keep their locks longer.")
                    .into(),
            );
            match facts.cluster.member(*to) {
                Some(known) if known.unreachable().is_some() => warn(say!("It does not answer at the moment.").into()),
                Some(known) if known.status.as_ref().is_some_and(|status| status.learner) => {
                    warn(say!("It is a learner: it has no vote and cannot lead.").into());
                }
                _ => {}
            }
        }
        Write::Disarm(kind) => match kind {
            AlarmKind::NoSpace => warn(
                say!(
                    "It comes back with the next write unless space was freed before: compact, defragment every \
                     member, then disarm."
                )
                .into(),
            ),
            AlarmKind::Corrupt => {
                warn(say!("The members' stores may differ as before: disarming repairs none of them.").into());
            }
            AlarmKind::Other(_) => warn(say!("lockscope does not know what this alarm means.").into()),
        },
    }
    said
}

/// Whether the client behind a lease lives, or that it is not known.
fn alive(lease: LeaseId, facts: &Facts) -> String {
    let unknown = say!("It is not known whether its client is alive: it may still be working on what it locked.");
    let Some(view) = facts.lease(lease) else { return unknown.into() };
    if let Some(Stale { asked, renewal, .. }) = view.stale() {
        let asked = duration(whole_seconds(asked));
        return match renewal {
            Renewal::Renewed { .. } => say!(
                "Its client was alive when last asked {asked} ago; what is now is not known, and it may still be \
                 working on what it locked.",
                asked
            ),
            Renewal::NotRenewed { .. } => {
                say!("Nobody had renewed it when it was last asked {asked} ago; what is now is not known.", asked)
            }
            Renewal::Unknown => unknown.into(),
        };
    }
    match view.renewal() {
        Renewal::Renewed { ago } => say!(
            "Its client is alive and renewed {ago} ago: it may still be working on what it locked.",
            ago = duration(whole_seconds(ago))
        ),
        Renewal::NotRenewed { since } => {
            let since = duration(whole_seconds(since));
            match view.ttl() {
                TtlState::Live { remaining, .. } => {
                    let left = duration(whole_seconds(remaining));
                    say!("Nobody has renewed it for {since}: it ends by itself in {left}.", since, left)
                }
                _ => say!("Nobody has renewed it for {since}, and its time is up.", since),
            }
        }
        Renewal::Unknown => unknown.into(),
    }
}

/// The other locks that a lease has keys in.
fn others(lease: LeaseId, than: &Key, facts: &Facts) -> Vec<Key> {
    let Some(view) = facts.lease(lease) else { return Vec::new() };
    let locks = view.holds().into_iter().chain(view.waits_for());
    let mut names: Vec<Key> = locks.map(|lock| lock.name().into()).filter(|name| name != than).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// What came of it.
fn came(dialog: &Dialog, result: &WriteResult, facts: &Facts) -> (String, Role) {
    match result {
        WriteResult::Done { revision, gone } => {
            let done = match dialog.write() {
                Write::Revoke { .. } if gone.is_empty() => say!("Done: the lease is gone").into(),
                Write::Revoke { .. } => say!("Done: the lease is gone with {keys}", keys = quantity(gone.len(), "key")),
                Write::Release { .. } => say!("Done: the key is gone").into(),
                Write::MoveLeader { to } => say!("Done: {member} leads", member = member(*to, facts)),
                Write::Disarm(_) => say!("Done: the alarm is not raised any more").into(),
            };
            let text = match revision.0 {
                1.. => say!("{done}, seen at revision {revision}.", done, revision = grouped(revision.0)),
                _ => say!("{done}.", done),
            };
            (text, Role::Title)
        }
        WriteResult::Gone if !dialog.is_of(facts) => {
            (say!("Nothing was done: another cluster answers now.").into(), Role::Error)
        }
        WriteResult::Gone => {
            let text = match dialog.write() {
                Write::Revoke { .. } => say!("Nothing was done: there is no such lease any more."),
                Write::Release { .. } => {
                    say!("Nothing was done: the key is not there any more, or it is a newer one of the same name.")
                }
                Write::MoveLeader { .. } => say!("Nothing was done: it leads already, or is no member any more."),
                Write::Disarm(_) => say!("Nothing was done: the alarm is not raised any more."),
            };
            (text.into(), Role::Warning)
        }
        WriteResult::Changed { now } => {
            let text = match now.first() {
                Some((_, created)) => say!(
                    "Nothing was done: it is a newer key of the same name, created at {created}.",
                    created = grouped(created.0)
                ),
                None => say!("Nothing was done: it is a newer key of the same name.").into(),
            };
            (text, Role::Error)
        }
        WriteResult::NotSent { why } => (say!("Not sent: {why}", why = escape_text(why)), Role::Error),
        WriteResult::Refused { why } => (say!("Refused: {why}", why = escape_text(why)), Role::Error),
        WriteResult::Unknown { why } => (
            say!("Unknown, here is how to look. It may have been done, or be done yet: {why}", why = escape_text(why)),
            Role::Error,
        ),
    }
}

/// Some names, and how many more there are.
fn listed<'a>(locks: impl ExactSizeIterator<Item = &'a Key>) -> String {
    let more = locks.len().saturating_sub(NAMED);
    let told: Vec<_> = locks.take(NAMED).map(|name| escape(name)).collect();
    let named = told.join(say!(", "));
    if more > 0 { say!("{named} and {more} more", named, more) } else { named }
}

/// Whether a write takes keys.
const fn takes_keys(dialog: &Dialog) -> bool {
    matches!(dialog.write(), Write::Revoke { .. } | Write::Release { .. })
}

/// A member's name, or its id where it has none.
fn member(id: MemberId, facts: &Facts) -> String {
    let name = facts.cluster.member(id).map(|known| known.member.name.as_str()).filter(|name| !name.is_empty());
    name.map_or_else(|| id.to_string(), |name| escape_text(name).into_owned())
}
