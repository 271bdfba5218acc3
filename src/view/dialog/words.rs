//! What the dialog before a write says: each stage of each write in words.

use ratatui::text::Line;

use super::amount;
use crate::domain::write::{Write, WriteResult};
use crate::domain::{AlarmKind, Key, LeaseId, MemberId};
use crate::model::blast::Struck;
use crate::model::ui::dialog::{Dialog, News, Stage};
use crate::model::{Facts, KeyView, Renewal, TtlState};
use crate::view::text::{Cut, duration, escape, escape_text, fit_bytes, grouped, quantity};
use crate::view::theme::{Role, Theme};
use crate::view::widget::ttl::whole_seconds;

/// How many names of locks are told before the rest is counted.
const NAMED: usize = 3;

/// What the frame is called, in so many columns.
pub fn title<'a>(dialog: &Dialog, facts: &Facts, columns: usize, theme: &Theme) -> Line<'a> {
    let text = match dialog.write() {
        Write::Revoke { lease } => format!("Revoke lease {lease}"),
        Write::Release { lock, .. } => {
            let name = fit_bytes(lock, columns.saturating_sub(8), Cut::Middle, theme.glyphs.ellipsis);
            format!("Release {name}")
        }
        Write::MoveLeader { to } => format!("Move the lead to {}", member(*to, facts)),
        Write::Disarm(alarm) => format!("Disarm {} of {}", alarm.kind.name(), member(alarm.member, facts)),
    };
    let cut = theme.sentence(text, columns, Role::Title);
    Line::from(theme.span(cut.content.into_owned(), Role::Title))
}

/// How far it is, in a few words.
pub fn state(dialog: &Dialog) -> (String, Role) {
    match &dialog.stage {
        Stage::Asking => ("asking".into(), Role::Muted),
        Stage::Shown if takes_keys(dialog) => (amount(dialog), Role::Text),
        Stage::Shown => (String::new(), Role::Text),
        Stage::Running { .. } => ("RUNNING".into(), Role::Warning),
        Stage::Over(WriteResult::Done { .. }) => ("DONE".into(), Role::Title),
        Stage::Over(WriteResult::Changed { .. }) => ("CHANGED".into(), Role::Error),
        Stage::Over(WriteResult::Gone) => ("GONE".into(), Role::Warning),
        Stage::Over(WriteResult::NotSent { .. }) => ("NOT SENT".into(), Role::Error),
        Stage::Over(WriteResult::Refused { .. }) => ("REFUSED".into(), Role::Error),
        Stage::Over(WriteResult::Unknown { .. }) => ("UNKNOWN".into(), Role::Error),
    }
}

/// What typing the word leads to.
pub const fn to_do(write: &Write) -> &'static str {
    match write {
        Write::Revoke { .. } => "to revoke it",
        Write::Release { .. } => "to delete the key",
        Write::MoveLeader { .. } => "to move the lead",
        Write::Disarm(_) => "to disarm it",
    }
}

/// What is said below the list where nothing is typed.
pub fn leaving(dialog: &Dialog, facts: &Facts) -> (String, Role) {
    match &dialog.stage {
        Stage::Running { since } => (
            format!(
                "It has been under way for {}. Esc leaves; it goes on then, and what comes of it is told at the \
                 bottom of the screen and in the log.",
                duration(whole_seconds(facts.now().since(*since)))
            ),
            Role::Muted,
        ),
        Stage::Over(WriteResult::Unknown { .. }) => ("Look before you try again. Esc leaves.".into(), Role::Title),
        _ => ("Esc leaves.".into(), Role::Muted),
    }
}

/// The heading of the locks.
pub fn locks_title(dialog: &Dialog) -> String {
    let locks = quantity(dialog.radius.locks.len(), "lock");
    match &dialog.stage {
        Stage::Over(WriteResult::Done { .. }) => format!("{locks} lost a key, and who has them now"),
        Stage::Over(_) => format!("{locks}, and who has them now"),
        _ => match dialog.radius.locks.len() {
            1 => "1 lock loses a key".into(),
            _ => format!("{locks} lose a key"),
        },
    }
}

/// The heading of the keys.
pub fn keys_title(dialog: &Dialog) -> String {
    let keys = quantity(dialog.radius.keys.len(), "key");
    match (&dialog.stage, dialog.radius.keys.len()) {
        (Stage::Over(WriteResult::Done { .. }), _) => format!("{keys} gone"),
        (Stage::Over(_), _) => format!("{keys} shown before"),
        (_, 1) => "1 key goes".into(),
        _ => format!("{keys} go"),
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
    let tail = |key: &[u8], taken: usize| {
        let below = key.strip_prefix(&*struck.name).and_then(|below| below.strip_prefix(b"/"));
        fit_bytes(below.filter(|below| !below.is_empty()).unwrap_or(key), columns - taken, Cut::Middle, ellipsis)
            .into_owned()
    };
    if matches!(dialog.stage, Stage::Over(_)) {
        let done = matches!(dialog.stage, Stage::Over(WriteResult::Done { .. }));
        let gone =
            |key: &KeyView<'_>| dialog.radius.keys.iter().any(|(name, at)| &**name == key.key() && *at == key.token());
        let holder = facts.lock_named(&struck.name).and_then(|lock| lock.holder());
        return match holder {
            // The watch is a moment behind the answer.
            Some(holder) if done && gone(&holder) => ("…".into(), Role::Muted),
            Some(holder) => (format!("held by {}", tail(holder.key(), 8)), Role::Holder),
            None => ("free".into(), Role::Text),
        };
    }
    match (struck.freed, &struck.next) {
        (true, Some(next)) => (format!("passes to {}", tail(next, 10)), Role::Holder),
        (true, None) => ("free then: nobody is seen to wait".into(), Role::Text),
        (false, Some(holder)) => (format!("stays with {}", tail(holder, 11)), Role::Muted),
        (false, None) => ("loses one who waits".into(), Role::Muted),
    }
}

/// The sentences on top, the most important ones first.
pub fn said(dialog: &Dialog, facts: &Facts) -> Vec<(String, Role)> {
    match &dialog.stage {
        Stage::Asking => {
            let asks = ("asking for all keys of the lease…".into(), Role::Text);
            let trouble = dialog.trouble.as_ref().map(|why| {
                (format!("The cluster did not tell them, and is asked again: {}", escape_text(why)), Role::Error)
            });
            [asks].into_iter().chain(trouble).collect()
        }
        Stage::Shown | Stage::Running { .. } => {
            let news = dialog.news.as_ref().map(|news| (changed(dialog, news), Role::Error));
            let trouble = dialog.trouble.as_ref().map(|why| {
                let why = escape_text(why);
                (format!("The cluster does not tell any more what hangs on the lease: {why}"), Role::Error)
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
        "The lease changed before it was revoked, so nothing was done: look again."
    } else {
        "The lease changed: look again."
    };
    let fresh = match news.fresh.len() {
        0 => String::new(),
        1 => " 1 key is new.".into(),
        fresh => format!(" {} are new.", quantity(fresh, "key")),
    };
    let gone = match news.gone {
        0 => String::new(),
        1 => " 1 key that was shown is gone.".into(),
        gone => format!(" {} that were shown are gone.", quantity(gone, "key")),
    };
    let typed = if dialog.line.text().is_empty() { " What was typed is taken back." } else { "" };
    format!("{when}{fresh}{gone}{typed}")
}

/// What will happen, in a sentence.
fn what(dialog: &Dialog, facts: &Facts) -> String {
    match dialog.write() {
        Write::Revoke { .. } => {
            let keys = match dialog.radius.keys.len() {
                0 => "it has no key".into(),
                1 => "its only key goes".into(),
                keys => format!("all of its {} go at once", quantity(keys, "key")),
            };
            let freed = dialog.radius.locks.iter().filter(|lock| lock.freed).count();
            let locks = match freed {
                0 => String::new(),
                1 => ", and 1 lock is freed".into(),
                freed => format!(", and {} are freed", quantity(freed, "lock")),
            };
            format!("The lease ends now: {keys}{locks}. Its client learns it with its next heartbeat.")
        }
        Write::Release { lock, key, create_revision } => {
            let view = facts.lock_named(lock);
            let holds = view.is_none_or(|view| view.holders().any(|holder| holder.key() == &**key));
            let created = grouped(create_revision.0);
            if holds {
                format!(
                    "The holder's key is deleted while it is still the one created at {created}; a newer lock of the \
                     same name is never hit. Its lease stays."
                )
            } else {
                format!(
                    "The key of one who waits is deleted while it is still the one created at {created}. The holder \
                     goes on, and the lease stays."
                )
            }
        }
        Write::MoveLeader { to } => {
            let from = facts.cluster.leader().map(|leader| format!(" from {}", member(leader, facts)));
            format!("The cluster's lead moves{} to {}.", from.unwrap_or_default(), member(*to, facts))
        }
        Write::Disarm(alarm) => match alarm.kind {
            AlarmKind::NoSpace => "The alarm is taken away: the cluster takes writes again.".into(),
            _ => format!("The alarm {} is taken away.", alarm.kind.name()),
        },
    }
}

/// What speaks against it, or is good to know before.
fn against(dialog: &Dialog, facts: &Facts) -> Vec<(String, Role)> {
    let mut said = Vec::new();
    let mut warn = |text: String| said.push((text, Role::Warning));
    if !facts.link.is_live() {
        warn("There is no connection at the moment: what is shown may be old.".into());
    }
    match dialog.write() {
        Write::Revoke { lease } => {
            warn(alive(*lease, facts));
            let locks = &dialog.radius.locks;
            if locks.len() > 1 {
                let names = locks.iter().map(|lock| &lock.name);
                warn(format!("Not one lock hangs on this lease but {}: {}.", locks.len(), listed(names)));
            }
            let unseen = dialog.radius.keys.iter().filter(|(key, _)| facts.key(key).is_none()).count();
            if unseen > 0 {
                let keys = if unseen == 1 { "1 key is".into() } else { format!("{} are", quantity(unseen, "key")) };
                warn(format!("{keys} not watched here: whether locks depend on it cannot be told."));
            }
        }
        Write::Release { lock, key, .. } => {
            let Some(view) = facts.key(key) else { return said };
            if view.lease().is_none() {
                warn("The key has no lease: nothing but this frees the lock.".into());
            } else {
                warn(alive(view.lease(), facts));
                let others: Vec<Key> = others(view.lease(), lock, facts);
                if !others.is_empty() {
                    let has = format!("Its lease also has keys in {}: these stay.", listed(others.iter()));
                    said.push((has, Role::Muted));
                }
            }
            if facts.lock_named(lock).is_some_and(|lock| !lock.layout().has_queue()) {
                said.push((
                    "Who waits for such a lock leaves no key: who gets it next cannot be told.".into(),
                    Role::Muted,
                ));
            }
        }
        Write::MoveLeader { to } => {
            if let (None, Some(why)) = (facts.cluster.leader(), facts.cluster.denied()) {
                warn(format!("Who leads may not be asked: {}", escape_text(why)));
            }
            warn("A new leader gives every lease its full time again: dead clients keep their locks longer.".into());
            match facts.cluster.member(*to) {
                Some(known) if known.unreachable().is_some() => warn("It does not answer at the moment.".into()),
                Some(known) if known.status.as_ref().is_some_and(|status| status.learner) => {
                    warn("It is a learner: it has no vote and cannot lead.".into());
                }
                _ => {}
            }
        }
        Write::Disarm(alarm) => match alarm.kind {
            AlarmKind::NoSpace => warn(
                "It comes back with the next write unless space was freed before: compact, defragment every member, \
                 then disarm."
                    .into(),
            ),
            AlarmKind::Corrupt => {
                warn("The members' stores may differ as before: disarming repairs none of them.".into());
            }
            AlarmKind::Other(_) => warn("lockscope does not know what this alarm means.".into()),
        },
    }
    said
}

/// Whether the client behind a lease lives, or that it is not known.
fn alive(lease: LeaseId, facts: &Facts) -> String {
    let unknown = "It is not known whether its client is alive: it may still be working on what it locked.";
    let Some(view) = facts.lease(lease) else { return unknown.into() };
    match view.renewal() {
        Renewal::Renewed { ago } => format!(
            "Its client is alive and renewed {} ago: it may still be working on what it locked.",
            duration(whole_seconds(ago))
        ),
        Renewal::NotRenewed { since } => {
            let since = duration(whole_seconds(since));
            match view.ttl() {
                TtlState::Live { remaining, .. } => {
                    let left = duration(whole_seconds(remaining));
                    format!("Nobody has renewed it for {since}: it ends by itself in {left}.")
                }
                _ => format!("Nobody has renewed it for {since}, and its time is up."),
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
            let at = if revision.0 > 0 { format!(", seen at revision {}", grouped(revision.0)) } else { String::new() };
            let text = match dialog.write() {
                Write::Revoke { .. } if gone.is_empty() => format!("Done: the lease is gone{at}."),
                Write::Revoke { .. } => {
                    format!("Done: the lease is gone with {}{at}.", quantity(gone.len(), "key"))
                }
                Write::Release { .. } => format!("Done: the key is gone{at}."),
                Write::MoveLeader { to } => format!("Done: {} leads{at}.", member(*to, facts)),
                Write::Disarm(_) => format!("Done: the alarm is not raised any more{at}."),
            };
            (text, Role::Title)
        }
        WriteResult::Gone if !dialog.is_of(facts) => {
            ("Nothing was done: another cluster answers now.".into(), Role::Error)
        }
        WriteResult::Gone => {
            let text = match dialog.write() {
                Write::Revoke { .. } => "there is no such lease any more.",
                Write::Release { .. } => "the key is not there any more, or it is a newer one of the same name.",
                Write::MoveLeader { .. } => "it leads already, or is no member any more.",
                Write::Disarm(_) => "the alarm is not raised any more.",
            };
            (format!("Nothing was done: {text}"), Role::Warning)
        }
        WriteResult::Changed { now } => {
            let created = now.first().map(|(_, created)| format!(", created at {}", grouped(created.0)));
            let text = format!("Nothing was done: it is a newer key of the same name{}.", created.unwrap_or_default());
            (text, Role::Error)
        }
        WriteResult::NotSent { why } => (format!("Not sent: {}", escape_text(why)), Role::Error),
        WriteResult::Refused { why } => (format!("Refused: {}", escape_text(why)), Role::Error),
        WriteResult::Unknown { why } => (
            format!("Unknown, here is how to look. It may have been done, or be done yet: {}", escape_text(why)),
            Role::Error,
        ),
    }
}

/// Some names, and how many more there are.
fn listed<'a>(names: impl ExactSizeIterator<Item = &'a Key>) -> String {
    let more = names.len().saturating_sub(NAMED);
    let told: Vec<_> = names.take(NAMED).map(|name| escape(name)).collect();
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", told.join(", "))
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
