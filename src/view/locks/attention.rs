//! What wants attention: the diagnosis, and what only a screen tells besides it.
//!
//! Findings about one lock share a line, which names every rule by its code; the worst comes
//! first. Notes are what no rule finds, since it is no state of the cluster: a connection that is
//! tried again, a right that is missing, a holder that lost its lease a moment ago.

use std::borrow::Cow;

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::domain::{Key, Millis};
use crate::event::{Denied, EndpointError, LinkState};
use crate::input::{Pane, Target};
use crate::model::{Cause, Diagnosis, Facts, Finding, Severity, What};
use crate::view::canvas::Canvas;
use crate::view::client;
use crate::view::leases::position;
use crate::view::locks::changes::cause_word;
use crate::view::text::{Cut, duration, escape, escape_text, fit_bytes, grouped, quantity, sentence, width};
use crate::view::theme::{Role, Theme};
use crate::view::widget::panel::Panel;
use crate::view::widget::ttl::whole_seconds;

/// For how long a lost holder is told, and of how many locks.
const LOST_FOR: Millis = Millis(60_000);
const LOST: usize = 16;

/// One line: what is known of one lock, member or lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note<'a> {
    /// How bad the worst of it is.
    pub severity: Severity,
    /// What it is about, in bytes as the cluster has it.
    pub about: Cow<'a, [u8]>,
    /// The codes of the rules that found it, the worst first; empty for what no rule finds.
    pub codes: Vec<&'static str>,
    /// What is the matter, with the numbers.
    pub text: String,
    /// Where a click leads.
    pub target: Option<Target>,
}

/// What wants attention.
#[derive(Clone, Debug, Default)]
pub struct Attention<'a> {
    /// The lines, the worst first.
    notes: Vec<Note<'a>>,
    /// How many errors and warnings there are.
    troubles: usize,
    /// How many things are only worth knowing.
    infos: usize,
}

impl<'a> Attention<'a> {
    /// What wants attention by the facts and the diagnosis of them.
    pub fn of(facts: &'a Facts, diagnosis: &'a Diagnosis) -> Self {
        let mut notes = Vec::new();
        of_cluster(facts, &mut notes);
        of_link(facts, &mut notes);
        of_findings(facts, diagnosis, &mut notes);
        of_lost(facts, diagnosis, &mut notes);
        let findings = diagnosis.findings().iter().filter(|finding| !is_told_apart(finding));
        let (infos, troubles): (Vec<_>, Vec<_>) = findings.partition(|finding| finding.severity == Severity::Info);
        let without_code = notes.iter().filter(|note| note.codes.is_empty()).count();
        // Findings come in their order, and stay in it.
        notes.sort_by_key(|note| std::cmp::Reverse(note.severity));
        Self { notes, troubles: troubles.len() + without_code, infos: infos.len() }
    }

    /// The lines of errors and warnings.
    fn urgent(&self) -> usize {
        self.notes.iter().filter(|note| note.severity > Severity::Info).count()
    }

    /// How many rows it wants, frame included: what is only worth knowing asks for none.
    pub fn wanted_rows(&self) -> u16 {
        u16::try_from(self.urgent()).unwrap_or(u16::MAX).saturating_add(2)
    }

    /// The lines in an order in which the first `room` of them name every kind of trouble, where
    /// there are more lines than that.
    fn arranged(&self, room: usize) -> Vec<&Note<'a>> {
        if self.urgent() <= room {
            return self.notes.iter().collect();
        }
        let mut named: Vec<&str> = Vec::new();
        let (mut first, mut repeats) = (Vec::new(), Vec::new());
        for note in &self.notes {
            let news = note.codes.is_empty() || note.codes.iter().any(|code| !named.contains(code));
            if news && note.severity > Severity::Info {
                named.extend(&note.codes);
                first.push(note);
            } else {
                repeats.push(note);
            }
        }
        first.append(&mut repeats);
        first
    }
}

/// Whether a finding is told of by a note of its own, which can be dismissed.
fn is_told_apart(finding: &Finding) -> bool {
    finding.code == "watch-gap"
}

/// Findings by what they are about, each of it once.
fn of_findings<'a>(facts: &'a Facts, diagnosis: &'a Diagnosis, notes: &mut Vec<Note<'a>>) {
    let mut lines: hashbrown::HashMap<About, usize> = hashbrown::HashMap::new();
    for finding in diagnosis.findings().iter().filter(|finding| !is_told_apart(finding)) {
        let about = About::of(finding);
        if let Some(&at) = lines.get(&about) {
            let note: &mut Note<'_> = &mut notes[at];
            if !note.codes.contains(&finding.code) {
                note.codes.push(finding.code);
            }
            continue;
        }
        lines.insert(about.clone(), notes.len());
        notes.push(Note {
            severity: finding.severity,
            about: about.name(facts),
            codes: vec![finding.code],
            text: sentence(&finding.evidence),
            target: about.target(),
        });
    }
}

/// What a finding is about first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum About {
    Lock(Key),
    Member(crate::domain::MemberId),
    Lease(crate::domain::LeaseId),
    Cluster,
}

impl About {
    fn of(finding: &Finding) -> Self {
        match (finding.locks.first(), finding.members.first(), finding.leases.first()) {
            (Some(lock), ..) => Self::Lock(lock.clone()),
            (None, Some(&member), _) => Self::Member(member),
            (None, None, Some(&lease)) => Self::Lease(lease),
            (None, None, None) => Self::Cluster,
        }
    }

    fn name<'a>(&self, facts: &Facts) -> Cow<'a, [u8]> {
        match self {
            Self::Lock(name) => name.as_bytes().to_vec().into(),
            Self::Member(id) => member_name(facts, *id).into_bytes().into(),
            Self::Lease(id) => format!("lease {}", client::short(*id, b"")).into_bytes().into(),
            Self::Cluster => b"cluster".into(),
        }
    }

    fn target(&self) -> Option<Target> {
        match self {
            Self::Lock(name) => Some(Target::Lock(name.clone())),
            Self::Member(id) => Some(Target::Member(*id)),
            Self::Lease(id) => Some(Target::Lease(*id)),
            Self::Cluster => None,
        }
    }
}

fn member_name(facts: &Facts, id: crate::domain::MemberId) -> String {
    let member = facts.cluster.member(id).filter(|facts| !facts.member.name.is_empty());
    member.map_or_else(|| id.to_string(), |facts| facts.member.name.clone())
}

/// What no rule finds yet.
fn of_cluster<'a>(facts: &'a Facts, notes: &mut Vec<Note<'a>>) {
    let cluster = &facts.cluster;
    let answering = cluster.members().iter().any(|member| member.status.is_some() && member.error.is_none());
    let lead = facts.lead().filter(|lead| lead.name.is_none() && (answering || facts.raft.is_some()));
    if let Some(lead) = lead {
        let text = format!("no leader in term {}: no writes, no lock changes hands", grouped_u64(lead.term.0));
        notes.push(Note { severity: Severity::Error, about: b"cluster".into(), codes: Vec::new(), text, target: None });
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
        notes.push(Note {
            severity: Severity::Error,
            about: name.into_bytes().into(),
            codes: Vec::new(),
            text,
            target,
        });
    }
    for facts in cluster.members() {
        if let Some(error) = facts.unreachable() {
            let text = format!("unreachable: {error}");
            let target = Some(Target::Member(facts.member.id));
            let about = facts.member.name.as_bytes().into();
            notes.push(Note { severity: Severity::Warn, about, codes: Vec::new(), text, target });
        }
    }
}

fn of_link<'a>(facts: &'a Facts, notes: &mut Vec<Note<'a>>) {
    let link = &facts.link;
    for denied in &link.denied {
        let about = if denied.is_everything() { b"all keys" } else { denied.range.label() }.into();
        notes.push(Note {
            severity: Severity::Error,
            about,
            codes: Vec::new(),
            text: denied_text(denied),
            target: None,
        });
    }
    if let LinkState::Retrying { why, .. } = &link.state
        && let Some(first) = why.first()
    {
        let more = if why.len() > 1 { format!(" (and {} more)", why.len() - 1) } else { String::new() };
        let text = format!("{}{more}", reason(first));
        notes.push(Note {
            severity: Severity::Error,
            about: first.endpoint.as_bytes().into(),
            codes: Vec::new(),
            text,
            target: None,
        });
    }
    if let Some(former) = link.replaced_cluster {
        let text = format!("another cluster answers here than before ({former})");
        notes.push(Note { severity: Severity::Warn, about: b"cluster".into(), codes: Vec::new(), text, target: None });
    }
    if link.new_gaps() > 0 {
        let why = if facts.is_filling() { "what was missed is being told" } else { "events were not seen" };
        let text = format!("history has {}: {why}", quantity(link.new_gaps() as usize, "gap"));
        notes.push(Note { severity: Severity::Warn, about: b"watch".into(), codes: Vec::new(), text, target: None });
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

/// Holders that lost their lease a short while ago, the latest first, each lock once.
fn of_lost<'a>(facts: &'a Facts, diagnosis: &Diagnosis, notes: &mut Vec<Note<'a>>) {
    let now = facts.now();
    let recent = facts.timeline.iter().rev().take_while(|happening| happening.at > now - LOST_FOR);
    let mut told: Vec<&[u8]> = Vec::new();
    for happening in recent {
        let What::Released(party, cause @ (Cause::Expired | Cause::Revoked)) = &happening.what else { continue };
        // What is wrong with it now is more than what was.
        let worse = diagnosis.severity(&party.lock) > Some(Severity::Info);
        if worse || told.len() == LOST || told.contains(&party.lock.as_bytes()) {
            continue;
        }
        told.push(&party.lock);
        let ago = duration(whole_seconds(now.since(happening.at)));
        let who = client::short(party.lease, &party.key);
        let text = format!("{who}: lease {} {ago} ago", cause_word(*cause));
        let target = Some(Target::Lock(party.lock.clone()));
        notes.push(Note {
            severity: Severity::Warn,
            about: party.lock.as_bytes().into(),
            codes: Vec::new(),
            text,
            target,
        });
    }
}

fn grouped_u64(number: u64) -> String {
    grouped(i64::try_from(number).unwrap_or(i64::MAX))
}

/// Draws it as a panel; `top` of its lines are scrolled away.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, attention: &Attention<'_>, top: usize, focused: bool) {
    let rows = usize::from(area.height.saturating_sub(2));
    let notes = attention.arranged(rows);
    let top = top.min(notes.len().saturating_sub(rows));
    let shown = top..notes.len().min(top + rows);
    let panel = Panel::new(title(attention, canvas.theme)).focused(focused);
    let data = if notes.len() > rows { position(&shown, notes.len()) } else { String::new() };
    let inner = panel.data(canvas.theme.span(data, Role::Muted)).draw(canvas, area);
    canvas.hit_pane(area, Pane::Attention, inner.height, notes.len());
    if notes.is_empty() {
        canvas.text(inner.x + 1, inner.y, inner.width.saturating_sub(1), "nothing", Role::Muted);
        return;
    }
    let shown = &notes[shown];
    let widest = shown.iter().map(|note| width(&escape(&note.about[..note.about.len().min(256)]))).max().unwrap_or(0);
    let room = usize::from(inner.width.saturating_sub(2));
    let longest = shown.iter().map(|note| words(note).iter().map(|part| width(part)).sum()).max().unwrap_or(0_usize);
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

/// `Attention 5 +12 info`.
fn title<'t>(attention: &Attention<'_>, theme: &Theme) -> Line<'t> {
    let worst = attention.notes.first().map_or(Role::Title, |note| role(note.severity));
    let mut title = vec![theme.span("Attention", Role::Title)];
    if attention.troubles > 0 {
        title.extend([Span::raw(" "), theme.span(attention.troubles.to_string(), worst)]);
    }
    if attention.infos > 0 {
        title.extend([Span::raw(" "), theme.span(format!("+{} info", attention.infos), Role::Muted)]);
    }
    Line::from(title)
}

/// The codes and the evidence.
fn words(note: &Note<'_>) -> [String; 2] {
    let codes = note.codes.join(", ");
    let gap = if codes.is_empty() { "" } else { "  " };
    [format!("{codes}{gap}"), note.text.clone()]
}

fn note_line<'a>(note: &Note<'_>, about_wide: usize, room: usize, theme: &Theme) -> Line<'a> {
    let role = role(note.severity);
    let glyph = match note.severity {
        Severity::Error => theme.glyphs.lost,
        Severity::Warn => theme.glyphs.warning,
        Severity::Info => " ",
    };
    let about = fit_bytes(&note.about, about_wide, Cut::Middle, theme.glyphs.ellipsis).into_owned();
    let pad = about_wide.saturating_sub(width(&about));
    let mut left = room.saturating_sub(about_wide + 2);
    let mut spans = vec![theme.span(glyph, role), theme.span(format!(" {about}{}  ", " ".repeat(pad)), Role::Text)];
    let codes = codes(note, left);
    if !codes.is_empty() {
        left = left.saturating_sub(width(&codes) + 2);
        spans.extend([theme.span(codes, role), Span::raw("  ")]);
    }
    let text_role = if note.codes.is_empty() { Role::Text } else { Role::Muted };
    // A few letters of evidence tell nothing.
    if note.codes.is_empty() || left >= 8 {
        // Evidence was escaped when it was put into words.
        let text = if note.codes.is_empty() { escape_text(&note.text) } else { note.text.as_str().into() };
        spans.push(theme.sentence(text.into_owned(), left, text_role));
    }
    Line::from(spans)
}

/// The codes as far as there is room; what is left out is counted.
fn codes(note: &Note<'_>, room: usize) -> String {
    let mut text = String::new();
    for (at, code) in note.codes.iter().enumerate() {
        let rest = note.codes.len() - at;
        let gap = if text.is_empty() { "" } else { ", " };
        if !text.is_empty() && width(&text) + gap.len() + width(code) + if rest > 1 { 3 } else { 0 } > room {
            return format!("{text} +{rest}");
        }
        text = format!("{text}{gap}{code}");
    }
    text
}

/// The role of a severity.
pub const fn role(severity: Severity) -> Role {
    match severity {
        Severity::Error => Role::Error,
        Severity::Warn => Role::Warning,
        Severity::Info => Role::Muted,
    }
}
