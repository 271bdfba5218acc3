//! What wants attention, as a list of notes: what the facts show by themselves.
//!
//! A note is plain data, so that rules which look deeper can add their own to the same list.
//! The work here is bounded: leases are looked at in the order in which their time is up.

use std::borrow::Cow;

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::domain::{LeaseId, Millis};
use crate::event::{Denied, EndpointError, LinkState};
use crate::input::{Pane, Target};
use crate::model::{Cause, Facts, LockView, Renewal, TtlState, What};
use crate::view::canvas::Canvas;
use crate::view::client;
use crate::view::locks::changes::cause_word;
use crate::view::text::{Cut, duration, escape, escape_text, fit_bytes, grouped, quantity, width};
use crate::view::theme::{Role, Theme};
use crate::view::widget::panel::Panel;
use crate::view::widget::ttl::whole_seconds;

/// How many leases are looked at: those that end first.
const LEASES: usize = 64;
/// For how long a lost holder is told, and of how many locks.
const LOST_FOR: Millis = Millis(60_000);
const LOST: usize = 16;
/// How many locks without a lease are looked at.
const LEASELESS: usize = 64;

/// How bad it is; the worst comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something does not work, or never will by itself.
    Error,
    /// Something is about to go wrong.
    Warning,
}

/// One thing that wants attention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note<'a> {
    /// How bad it is.
    pub severity: Severity,
    /// What it is about, in bytes as the cluster has it; empty for the cluster itself.
    pub about: Cow<'a, [u8]>,
    /// What is the matter, with the numbers.
    pub text: String,
    /// Where a click leads.
    pub target: Option<Target>,
}

/// The notes that the facts show, the worst first.
pub fn notes(facts: &Facts) -> Vec<Note<'_>> {
    let mut notes = Vec::new();
    of_cluster(facts, &mut notes);
    of_link(facts, &mut notes);
    of_leases(facts, &mut notes);
    of_leaseless(facts, &mut notes);
    of_lost(facts, &mut notes);
    notes.sort_by_key(|note| note.severity);
    notes
}

fn of_cluster<'a>(facts: &'a Facts, notes: &mut Vec<Note<'a>>) {
    let cluster = &facts.cluster;
    let answering = cluster.members().iter().any(|member| member.status.is_some() && member.error.is_none());
    let lead = facts.lead().filter(|lead| lead.name.is_none() && (answering || facts.raft.is_some()));
    if let Some(lead) = lead {
        let text = format!("no leader in term {}: no writes, no lock changes hands", grouped_u64(lead.term.0));
        notes.push(Note { severity: Severity::Error, about: b"cluster".into(), text, target: None });
    }
    for alarm in cluster.alarms() {
        let name =
            cluster.member(alarm.member).map_or_else(|| alarm.member.to_string(), |facts| facts.member.name.clone());
        let effect = match alarm.kind {
            crate::domain::AlarmKind::NoSpace => "joining blocked, unlocking works",
            crate::domain::AlarmKind::Corrupt => "its data differs from the others'",
            crate::domain::AlarmKind::Other(_) => "raised",
        };
        let text = format!("{}: {effect}", alarm.kind.name());
        let target = Some(Target::Member(alarm.member));
        notes.push(Note { severity: Severity::Error, about: name.into_bytes().into(), text, target });
    }
    for facts in cluster.members() {
        if let Some(error) = facts.unreachable() {
            let text = format!("unreachable: {error}");
            let target = Some(Target::Member(facts.member.id));
            let about = facts.member.name.as_bytes().into();
            notes.push(Note { severity: Severity::Warning, about, text, target });
        }
    }
}

fn of_link<'a>(facts: &'a Facts, notes: &mut Vec<Note<'a>>) {
    let link = &facts.link;
    for denied in &link.denied {
        let about = if denied.is_everything() { b"all keys" } else { denied.range.label() }.into();
        notes.push(Note { severity: Severity::Error, about, text: denied_text(denied), target: None });
    }
    if let LinkState::Retrying { why, .. } = &link.state
        && let Some(first) = why.first()
    {
        let more = if why.len() > 1 { format!(" (and {} more)", why.len() - 1) } else { String::new() };
        let text = format!("{}{more}", reason(first));
        notes.push(Note { severity: Severity::Error, about: first.endpoint.as_bytes().into(), text, target: None });
    }
    if let Some(former) = link.replaced_cluster {
        let text = format!("another cluster answers here than before ({former})");
        notes.push(Note { severity: Severity::Warning, about: b"cluster".into(), text, target: None });
    }
    if link.new_gaps() > 0 {
        let why = if facts.is_filling() { "what was missed is being told" } else { "events were not seen" };
        let text = format!("history has {}: {why}", quantity(link.new_gaps() as usize, "gap"));
        notes.push(Note { severity: Severity::Warning, about: b"watch".into(), text, target: None });
    }
}

/// Whether etcd was reached and refused the user or the password.
pub fn is_login(tried: &EndpointError) -> bool {
    tried.error.starts_with("cannot log in to ") || tried.error.contains("authentication failed")
}

/// Why an endpoint cannot be used, without its name, which stands beside it: what matters
/// must not be cut off behind a long URL.
pub fn reason(tried: &EndpointError) -> &str {
    let error = tried.error.as_str();
    if error.contains("authentication failed") {
        return "authentication failed: check --user and --password";
    }
    let of_network = || error.strip_prefix("cannot reach ")?.strip_prefix(tried.endpoint.as_str())?.strip_prefix(": ");
    let of_login = || Some(error.strip_prefix("cannot log in to ")?.split_once("\": ")?.1);
    let of_strangers = || error.strip_prefix(tried.endpoint.as_str())?.strip_prefix(' ');
    of_network().or_else(of_login).or_else(of_strangers).unwrap_or(error)
}

/// What a denied range needs.
pub fn denied_text(denied: &Denied) -> String {
    let right = match (denied.is_everything(), denied.range.end.is_empty()) {
        (true, _) => "read on all keys, or name a --prefix",
        (false, true) => "read on this key",
        (false, false) => "read on this prefix",
    };
    if denied.user.is_empty() {
        return format!("denied, nobody is logged in: needs {right}");
    }
    format!("denied to {}: its role needs {right}", escape_text(&denied.user))
}

/// Leases that end soon: overdue, or no longer renewed while something hangs on them.
fn of_leases<'a>(facts: &'a Facts, notes: &mut Vec<Note<'a>>) {
    for (_, id) in facts.leases().soonest().take(LEASES) {
        let Some(lease) = facts.lease(id) else { continue };
        match (lease.ttl(), lease.renewal()) {
            (TtlState::Overdue { by, .. }, _) => {
                let text = format!("lease overdue {}: not revoked", duration(by));
                notes.extend(about_lease(id, &lease.holds(), &lease.waits_for(), Severity::Error, &text));
            }
            (TtlState::Live { remaining, .. }, Renewal::NotRenewed { since }) => {
                let text =
                    format!("not renewed for {}, TTL {}", duration(whole_seconds(since)), duration(seconds(remaining)));
                notes.extend(about_lease(id, &lease.holds(), &lease.waits_for(), Severity::Warning, &text));
            }
            _ => {}
        }
    }
}

/// A note about the lock a lease holds, or else waits for; a lease without either is no
/// lock's trouble.
fn about_lease<'a>(
    id: LeaseId,
    holds: &[LockView<'a>],
    waits_for: &[LockView<'a>],
    severity: Severity,
    text: &str,
) -> Option<Note<'a>> {
    let held = holds.len();
    if let Some(lock) = holds.first() {
        let more = if held > 1 { format!(" ({} more on the lease)", held - 1) } else { String::new() };
        let target = Some(Target::Lock(lock.name().into()));
        return Some(Note { severity, about: lock.name().into(), text: format!("{text}{more}"), target });
    }
    let lock = waits_for.first()?;
    let target = Some(Target::Lock(lock.name().into()));
    let text = format!("waiter {}: {text}", client::short(id, b""));
    Some(Note { severity, about: lock.name().into(), text, target })
}

/// Queues whose first key has no lease: they never free by themselves.
fn of_leaseless<'a>(facts: &'a Facts, notes: &mut Vec<Note<'a>>) {
    for lock in facts.leaseless().take(LEASELESS) {
        let Some(holder) = lock.holder() else { continue };
        let waiters = lock.waiter_count();
        let blocked = if waiters > 0 { format!(", {} blocked", quantity(waiters, "waiter")) } else { String::new() };
        let text = if holder.is_foreign(lock.layout()) {
            format!("never frees: foreign key {} leads it{blocked}", client::short(holder.lease(), holder.key()))
        } else {
            format!("never frees: its holder has no lease{blocked}")
        };
        let target = Some(Target::Lock(lock.name().into()));
        notes.push(Note { severity: Severity::Error, about: lock.name().into(), text, target });
    }
}

/// Holders that lost their lease a short while ago, the latest first, each lock once.
fn of_lost<'a>(facts: &'a Facts, notes: &mut Vec<Note<'a>>) {
    let now = facts.now();
    let recent = facts.timeline.iter().rev().take_while(|happening| happening.at > now - LOST_FOR);
    let mut told: Vec<&[u8]> = Vec::new();
    for happening in recent {
        let What::Released(party, cause @ (Cause::Expired | Cause::Revoked)) = &happening.what else { continue };
        if told.len() == LOST || told.contains(&party.lock.as_bytes()) {
            continue;
        }
        told.push(&party.lock);
        let ago = duration(whole_seconds(now.since(happening.at)));
        let who = client::short(party.lease, &party.key);
        let text = format!("{who}: lease {} {ago} ago", cause_word(*cause));
        let target = Some(Target::Lock(party.lock.clone()));
        notes.push(Note { severity: Severity::Warning, about: party.lock.as_bytes().into(), text, target });
    }
}

/// Whole seconds, rounded down, as a countdown shows them.
fn seconds(length: Millis) -> Millis {
    Millis(length.0 / 1_000 * 1_000).max(Millis(0))
}

fn grouped_u64(number: u64) -> String {
    grouped(i64::try_from(number).unwrap_or(i64::MAX))
}

/// Draws the notes as a panel; `top` of them are scrolled away.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, notes: &[Note<'_>], top: usize, focused: bool) {
    let count = if notes.is_empty() { String::new() } else { notes.len().to_string() };
    let worst = notes.first().map_or(Role::Title, |note| role(note.severity));
    let title = vec![canvas.theme.span("Attention", Role::Title), Span::raw(" "), canvas.theme.span(count, worst)];
    let inner = Panel::new(Line::from(title)).focused(focused).draw(canvas, area);
    canvas.hit_pane(area, Pane::Attention, inner.height, notes.len());
    if notes.is_empty() {
        canvas.text(inner.x + 1, inner.y, inner.width.saturating_sub(1), "nothing", Role::Muted);
        return;
    }
    let top = top.min(notes.len().saturating_sub(usize::from(inner.height)));
    let shown = &notes[top..notes.len().min(top + usize::from(inner.height))];
    let widest = shown.iter().map(|note| width(&escape(&note.about[..note.about.len().min(256)]))).max().unwrap_or(0);
    let room = usize::from(inner.width.saturating_sub(2));
    let longest = shown.iter().map(|note| width(&note.text)).max().unwrap_or(0);
    // Names give way to what is the matter, down to a third.
    let about_wide = widest.min(room.saturating_sub(longest + 4).clamp(room / 3, room * 2 / 5));
    for (y, note) in (inner.top()..inner.bottom()).zip(shown) {
        let line = note_line(note, about_wide, room, canvas.theme);
        canvas.line(inner.x, y, inner.width, &line);
        if let Some(target) = &note.target {
            canvas.hit(Rect::new(inner.x, y, inner.width, 1), target.clone());
        }
    }
}

fn note_line<'a>(note: &'a Note<'_>, about_wide: usize, room: usize, theme: &Theme) -> Line<'a> {
    let role = role(note.severity);
    let glyph = match note.severity {
        Severity::Error => theme.glyphs.lost,
        Severity::Warning => theme.glyphs.warning,
    };
    let about = fit_bytes(&note.about, about_wide, Cut::Middle, theme.glyphs.ellipsis);
    let pad = about_wide - width(&about);
    let text = theme.sentence(escape_text(&note.text), room.saturating_sub(about_wide + 2), Role::Text);
    Line::from(vec![theme.span(glyph, role), theme.span(format!(" {about}{}  ", " ".repeat(pad)), Role::Text), text])
}

fn role(severity: Severity) -> Role {
    match severity {
        Severity::Error => Role::Error,
        Severity::Warning => Role::Warning,
    }
}
