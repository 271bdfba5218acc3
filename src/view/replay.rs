//! What says that a recording is replayed, or made: words in the header, and in a replay the
//! last line but one, with a bar.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::canvas::{Canvas, columns_of};
use super::text::{bytes, clock, grouped, quantity};
use super::theme::{Role, Theme};
use super::widget::gauge::gauge;
use crate::model::Model;
use crate::model::ui::{RecordingUi, ReplayUi};
use crate::say;

/// The widest the bar gets, and the narrowest that says anything.
const BAR: (u16, u16) = (60, 8);

/// `REPLAY 1x  PAUSED`: in the place of what the link is like, for there is none.
pub fn header_words<'a>(replay: &ReplayUi, theme: &Theme) -> Vec<Span<'a>> {
    let mut words = vec![theme.span(say!("REPLAY {speed}", speed = replay.speed), Role::Title)];
    let state = match replay {
        ReplayUi { busy: true, .. } => Some(say!("SEEKING")),
        ReplayUi { ended: true, .. } => Some(say!("END")),
        ReplayUi { playing: false, .. } => Some(say!("PAUSED")),
        ReplayUi { follow: true, .. } => Some(say!("FOLLOWING")),
        _ => None,
    };
    words.extend(state.map(|state| theme.span(format!("  {state}"), Role::Warning)));
    words
}

/// `REC 1.2 MiB`: that this session is recorded, and how much that is by now.
pub fn recording_words<'a>(recording: &RecordingUi, theme: &Theme) -> Vec<Span<'a>> {
    let size = bytes(i64::try_from(recording.bytes).unwrap_or(i64::MAX));
    match recording {
        RecordingUi { failed: true, .. } => vec![theme.span(format!("  {}", say!("REC stopped")), Role::Error)],
        RecordingUi { dropped: 0, .. } => vec![theme.span(format!("  {}", say!("REC {size}", size)), Role::Title)],
        RecordingUi { dropped, .. } => {
            let dropped = grouped(*dropped);
            let text = say!("REC {size}, {dropped} dropped", size, dropped);
            vec![theme.span(format!("  {text}"), Role::Warning)]
        }
    }
}

/// Draws where the replay is: the time, a bar, when the recording ends, how many observations that
/// were, and what the recording lacks.
pub fn draw_status(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let Some(replay) = &model.ui.replay else { return };
    let theme = canvas.theme;
    let counted = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let time = |at| clock(at, replay.at, &theme.zone);
    let mut parts = vec![(quantity(counted(replay.count), "observation"), Role::Muted)];
    let dropped = || say!("{count} were not recorded", count = grouped(replay.dropped));
    parts.extend((replay.dropped > 0).then(|| (dropped(), Role::Error)));
    parts.extend((replay.broken > 0).then(|| (quantity(counted(replay.broken), "broken line"), Role::Error)));
    parts.extend(replay.truncated.then(|| (say!("truncated: there is no closing line").to_owned(), Role::Warning)));
    let mut told: Vec<Span<'_>> = parts.into_iter().map(|(text, role)| theme.span(format!("  {text}"), role)).collect();
    let end = theme.span(format!(" {}", time(replay.end)), Role::Muted);
    let now = theme.span(format!("{} ", time(replay.at)), Role::Text);
    let room = area.width.saturating_sub(2);
    // What is told gives way to the bar, from its end.
    let taken = |told: &[Span<'_>]| columns_of(&Line::from([&[now.clone(), end.clone()], told].concat()));
    while !told.is_empty() && taken(&told) + BAR.1 > room {
        told.pop();
    }
    let cells = room.saturating_sub(taken(&told)).min(BAR.0);
    let mut spans = vec![now.clone()];
    spans.extend(gauge(u64::from(replay.thousandths()), 1_000, cells, Role::Title, theme));
    spans.push(end.clone());
    spans.extend(told);
    canvas.line(area.x + 1, area.y, room, &Line::from(spans));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;
    use crate::model::ui::ReplaySpeed;
    use crate::view::testing::{Screenshot, plain};

    fn replay() -> ReplayUi {
        ReplayUi {
            playing: true,
            begin: Timestamp(1_700_000_000_000),
            at: Timestamp(1_700_000_030_000),
            end: Timestamp(1_700_000_060_000),
            count: 1_234,
            ..ReplayUi::default()
        }
    }

    fn status(replay: ReplayUi, width: u16) -> String {
        let mut model = Model::default();
        model.ui.replay = Some(replay);
        Screenshot::of(width, 1, &plain(), |canvas| draw_status(canvas, Rect::new(0, 0, width, 1), &model)).text()
    }

    fn words(spans: &[Span<'_>]) -> String {
        spans.iter().map(|span| span.content.as_ref()).collect()
    }

    #[test]
    fn the_bar_stands_between_now_and_the_end() {
        let line = status(replay(), 80);
        assert!(line.starts_with(" 22:13:50 ▇▇") && line.contains("▁ 22:14:20  1,234 observations"), "{line}");
        let (full, empty) = (line.matches('▇').count(), line.matches('▁').count());
        assert!(full.abs_diff(empty) <= 1 && full + empty > 20, "{full} full, {empty} empty");
    }

    #[test]
    fn what_the_recording_lacks_is_told_as_far_as_there_is_room() {
        let lacking = ReplayUi { dropped: 12, broken: 3, truncated: true, ..replay() };
        let wide = status(lacking.clone(), 160);
        for word in ["12 were not recorded", "3 broken lines", "truncated"] {
            assert!(wide.contains(word), "{wide}");
        }
        for width in 2..160 {
            let line = status(lacking.clone(), width);
            assert!(line.ends_with(' '), "{width}: {line:?}");
        }
    }

    #[test]
    fn the_header_says_how_it_goes() {
        let theme = plain();
        let told = |replay: ReplayUi| words(&header_words(&replay, &theme));
        assert_eq!(told(replay()), "REPLAY 1x");
        let speed = ReplaySpeed::named("0.5").unwrap();
        assert_eq!(told(ReplayUi { playing: false, speed, ..replay() }), "REPLAY 0.5x  PAUSED");
        assert_eq!(told(ReplayUi { ended: true, playing: false, ..replay() }), "REPLAY 1x  END");
        assert_eq!(told(ReplayUi { busy: true, ..replay() }), "REPLAY 1x  SEEKING");
        assert_eq!(told(ReplayUi { follow: true, ..replay() }), "REPLAY 1x  FOLLOWING");
    }

    #[test]
    fn a_recording_says_its_size_and_what_is_wrong() {
        let theme = plain();
        let told = |recording: RecordingUi| words(&recording_words(&recording, &theme));
        let recording = RecordingUi { bytes: 2_048, ..RecordingUi::default() };
        assert_eq!(told(recording.clone()), format!("  REC {}", bytes(2_048)));
        assert!(told(RecordingUi { dropped: 7, ..recording.clone() }).ends_with(", 7 dropped"));
        assert_eq!(told(RecordingUi { failed: true, ..recording }), "  REC stopped");
    }
}
