//! What wants attention: the diagnosis, a line for each thing it is about.
//!
//! Findings about one lock share a line, which names every rule by its code; the worst comes
//! first. The lines are as wide as the panel, the panel as high as the trouble wants it.

use hashbrown::HashMap;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::domain::{Key, LeaseId, MemberId};
use crate::input::{Pane, Target};
use crate::model::{Diagnosis, Facts, Finding, MemberFacts, Severity};
use crate::view::canvas::Canvas;
use crate::view::client;
use crate::view::leases::position;
use crate::view::text::{Cut, escape, fit_bytes, sentence, width};
use crate::view::theme::{Role, Theme};
use crate::view::widget::panel::Panel;

/// The fewest columns of a name.
const ABOUT: usize = 8;

/// One line: what is known of one lock, member or lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// How bad the worst of it is.
    pub severity: Severity,
    /// What it is about, in bytes as the cluster has it.
    pub about: Key,
    /// The codes of the rules that found it, the worst first.
    pub codes: Vec<&'static str>,
    /// What is the matter, with the numbers.
    pub text: String,
    /// Where a click leads.
    pub target: Option<Target>,
}

/// What wants attention.
#[derive(Clone, Debug, Default)]
pub struct Attention {
    /// The lines, the worst first.
    notes: Vec<Note>,
    /// How many errors and warnings there are.
    troubles: usize,
    /// How many things are only worth knowing.
    infos: usize,
}

impl Attention {
    /// What wants attention by the diagnosis of these facts.
    pub fn of(facts: &Facts, diagnosis: &Diagnosis) -> Self {
        let mut notes: Vec<Note> = Vec::new();
        let mut lines: HashMap<About, usize> = HashMap::new();
        for finding in diagnosis.findings() {
            let about = About::of(finding);
            if let Some(&at) = lines.get(&about) {
                let note = &mut notes[at];
                // What is only worth knowing takes no room from what is wrong.
                let matters = finding.severity > Severity::Info || note.severity == Severity::Info;
                if matters && !note.codes.contains(&finding.code) {
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
        let infos = diagnosis.findings().iter().filter(|finding| finding.severity == Severity::Info).count();
        Self { notes, troubles: diagnosis.findings().len() - infos, infos }
    }

    /// The lines of errors and warnings.
    fn urgent(&self) -> usize {
        self.notes.iter().filter(|note| note.severity > Severity::Info).count()
    }

    /// Whether there are errors or warnings.
    pub fn is_urgent(&self) -> bool {
        self.troubles > 0
    }

    /// How many rows it wants for what is wrong, frame included.
    pub fn wanted_rows(&self) -> u16 {
        u16::try_from(self.urgent()).unwrap_or(u16::MAX).saturating_add(2)
    }

    /// How many rows it could use, frame included: what is only worth knowing takes what nobody
    /// else needs.
    pub fn most_rows(&self) -> u16 {
        u16::try_from(self.notes.len()).unwrap_or(u16::MAX).saturating_add(2)
    }

    /// The lines in an order in which the first `room` of them name every kind of trouble, where
    /// there are more lines than that.
    fn arranged(&self, room: usize) -> Vec<&Note> {
        if self.urgent() <= room {
            return self.notes.iter().collect();
        }
        let mut named: Vec<&str> = Vec::new();
        let (mut first, mut repeats) = (Vec::new(), Vec::new());
        for note in &self.notes {
            let news = note.codes.iter().any(|code| !named.contains(code));
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

/// What a finding is about first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum About {
    Lock(Key),
    Member(MemberId),
    Lease(LeaseId),
    Key(Key),
    Cluster,
}

impl About {
    fn of(finding: &Finding) -> Self {
        let Finding { locks, members, leases, keys, .. } = finding;
        let lock = locks.first().map(|name| Self::Lock(name.clone()));
        let member = members.first().map(|&id| Self::Member(id));
        let lease = leases.first().map(|&id| Self::Lease(id));
        let key = keys.first().map(|key| Self::Key(key.clone()));
        lock.or(member).or(lease).or(key).unwrap_or(Self::Cluster)
    }

    fn name(&self, facts: &Facts) -> Key {
        match self {
            Self::Lock(name) | Self::Key(name) => name.clone(),
            Self::Member(id) => {
                facts.cluster.member(*id).map_or_else(|| id.to_string(), MemberFacts::label).as_str().into()
            }
            Self::Lease(id) => format!("lease {}", client::short(facts.leases().digits(), *id, b"")).as_str().into(),
            Self::Cluster => "cluster".into(),
        }
    }

    fn target(&self) -> Option<Target> {
        match self {
            Self::Lock(name) => Some(Target::Lock(name.clone())),
            Self::Member(id) => Some(Target::Member(*id)),
            Self::Lease(id) => Some(Target::Lease(*id)),
            Self::Key(_) | Self::Cluster => None,
        }
    }
}

/// Draws it as a panel; `top` of its lines are scrolled away.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, attention: &Attention, top: usize, focused: bool) {
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
    let longest = shown.iter().map(|note| width(&note.codes.join(", ")) + 2 + width(&note.text)).max().unwrap_or(0);
    // Names give way to what is the matter, down to a third; to its codes, down to a few letters.
    let codes = shown.iter().map(|note| width(&note.codes[..note.codes.len().min(2)].join(", "))).max().unwrap_or(0);
    let about_wide = widest.min(room.saturating_sub(longest + 4).clamp(room / 3, room * 2 / 5));
    let about_wide = about_wide.min(room.saturating_sub(codes + 4).max(ABOUT));
    for (y, note) in (inner.top()..inner.bottom()).zip(shown) {
        let line = note_line(note, about_wide, room, canvas.theme);
        canvas.line(inner.x, y, inner.width, &line);
        if let Some(target) = &note.target {
            canvas.hit(Rect::new(inner.x, y, inner.width, 1), target.clone());
        }
    }
}

/// `Attention 5 +12 info`.
fn title<'t>(attention: &Attention, theme: &Theme) -> Line<'t> {
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

fn note_line<'a>(note: &Note, about_wide: usize, room: usize, theme: &Theme) -> Line<'a> {
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
    left = left.saturating_sub(width(&codes) + 2);
    spans.extend([theme.span(codes, role), Span::raw("  ")]);
    // A few letters of evidence tell nothing; it was escaped when it was put into words.
    if left >= 8 {
        spans.push(theme.sentence(note.text.clone(), left, Role::Muted));
    }
    Line::from(spans)
}

/// The codes as far as there is room; what is left out is counted.
fn codes(note: &Note, room: usize) -> String {
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
