//! What the terminal reports, as input.

use crossterm::event::{
    Event, EventStream, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEventKind,
};
use futures::StreamExt as _;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::super::hang_up::stdout_hung_up;
use crate::input::{Chord, Code, Input, Mouse, MouseKind};

/// Inputs that wait to be taken in; hands are slower than that.
const WAITING: usize = 64;

/// What hands do, one after another.
///
/// A task of its own reads the terminal: asking crossterm whether there is something costs
/// some ten microseconds of waiting for its lock, which the loop would pay each time it wakes.
#[derive(Debug)]
pub struct Inputs {
    inputs: mpsc::Receiver<Input>,
    task: AbortHandle,
}

impl Inputs {
    /// Starts to read. `late` is what is still to come of the question for the background.
    pub fn read(late: LateReply) -> Self {
        let (send, inputs) = mpsc::channel(WAITING);
        Self { inputs, task: tokio::spawn(read(send, late)).abort_handle() }
    }

    /// The next input; `None` when the terminal is gone. Nothing is lost when this is dropped.
    pub async fn next(&mut self) -> Option<Input> {
        self.inputs.recv().await
    }
}

impl Drop for Inputs {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn read(send: mpsc::Sender<Input>, mut late: LateReply) {
    let mut events = EventStream::new();
    // Nobody is told of another size that it got between the first look and now.
    if let Ok((columns, rows)) = crossterm::terminal::size()
        && send.send(Input::Resize(columns, rows)).await.is_err()
    {
        return;
    }
    let hung_up = stdout_hung_up();
    tokio::pin!(hung_up);
    loop {
        let event = tokio::select! {
            // The end first. crossterm does not tell it: at the end of its input it reads on and
            // on, and where there is no shell to send a signal nobody else tells either.
            biased;
            () = &mut hung_up => return,
            event = events.next() => event,
        };
        // An error is the end, too: the terminal was closed, or the connection it was on.
        let Some(Ok(event)) = event else { return };
        let Some(input) = translate(event) else { continue };
        if !late.swallows(&input) && send.send(input).await.is_err() {
            return;
        }
    }
}

/// A report as input; `None` for what nothing is done with.
fn translate(event: Event) -> Option<Input> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => chord(key).map(Input::Key),
        Event::Key(_) => None,
        Event::Mouse(mouse) => {
            let kind = match mouse.kind {
                MouseEventKind::Down(MouseButton::Left) => MouseKind::Press,
                MouseEventKind::ScrollUp => MouseKind::WheelUp,
                MouseEventKind::ScrollDown => MouseKind::WheelDown,
                _ => return None,
            };
            Some(Input::Mouse(Mouse { kind, column: mouse.column, row: mouse.row }))
        }
        Event::Paste(text) => Some(Input::Paste(text)),
        Event::Resize(columns, rows) => Some(Input::Resize(columns, rows)),
        Event::FocusGained => Some(Input::Focus(true)),
        Event::FocusLost => Some(Input::Focus(false)),
    }
}

fn chord(key: KeyEvent) -> Option<Chord> {
    let code = match key.code {
        KeyCode::Char(char) => Code::Char(char),
        KeyCode::Enter => Code::Enter,
        KeyCode::Esc => Code::Esc,
        KeyCode::Tab if key.modifiers.contains(KeyModifiers::SHIFT) => Code::BackTab,
        KeyCode::Tab => Code::Tab,
        KeyCode::BackTab => Code::BackTab,
        KeyCode::Backspace => Code::Backspace,
        KeyCode::Delete => Code::Delete,
        KeyCode::Up => Code::Up,
        KeyCode::Down => Code::Down,
        KeyCode::Left => Code::Left,
        KeyCode::Right => Code::Right,
        KeyCode::Home => Code::Home,
        KeyCode::End => Code::End,
        KeyCode::PageUp => Code::PageUp,
        KeyCode::PageDown => Code::PageDown,
        KeyCode::F(number) => Code::F(number),
        _ => return None,
    };
    let held = |modifier| key.modifiers.contains(modifier);
    Some(Chord { code, ctrl: held(KeyModifiers::CONTROL), alt: held(KeyModifiers::ALT) })
}

/// Takes out the answer to the question for the background colour when it comes after nobody
/// waited for it any more. It arrives as if it were typed, `Alt-]11;rgb:ffff/ffff/ffff`, and
/// would do what these keys do.
#[derive(Debug, Default)]
pub struct LateReply {
    /// How much of an answer was seen; `None` when no answer is due.
    seen: Option<String>,
}

/// How the answer begins, as keys.
const REPLY: &str = "]11;rgb";
/// The longest answer, in keys: four digits a colour, alpha included.
const LONGEST: usize = 40;

impl LateReply {
    /// An answer is still due.
    pub const fn due() -> Self {
        Self { seen: Some(String::new()) }
    }

    /// Whether this input is part of the answer, and to be ignored.
    pub fn swallows(&mut self, input: &Input) -> bool {
        let (Some(seen), Input::Key(chord)) = (&mut self.seen, input) else { return false };
        let ends = *chord == Chord::ctrl('g') || *chord == (Chord { alt: true, ..Chord::char('\\') });
        let part = match chord.code {
            _ if ends => !seen.is_empty(),
            Code::Char(']') if seen.is_empty() => chord.alt,
            Code::Char(char) if !chord.ctrl && !chord.alt => match REPLY.get(seen.len()..) {
                Some(rest) if !rest.is_empty() => !seen.is_empty() && rest.starts_with(char),
                _ => seen.len() < LONGEST && (char.is_ascii_hexdigit() || matches!(char, ':' | '/')),
            },
            _ => false,
        };
        match chord.code {
            _ if part && ends => self.seen = None,
            Code::Char(char) if part => seen.push(char),
            // Something else was typed: an answer that was cut off is over, one that did not
            // begin is still due.
            _ if !seen.is_empty() => self.seen = None,
            _ => {}
        }
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(code: KeyCode, modifiers: KeyModifiers) -> Option<Input> {
        translate(Event::Key(KeyEvent::new(code, modifiers)))
    }

    #[test]
    fn keys_keep_their_modifiers_but_for_shift() {
        assert_eq!(press(KeyCode::Char('G'), KeyModifiers::SHIFT), Some(Input::Key(Chord::char('G'))));
        assert_eq!(press(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Input::Key(Chord::ctrl('c'))));
        assert_eq!(press(KeyCode::BackTab, KeyModifiers::SHIFT), Some(Input::Key(Chord::plain(Code::BackTab))));
        assert_eq!(press(KeyCode::Tab, KeyModifiers::SHIFT), Some(Input::Key(Chord::plain(Code::BackTab))));
        let alt = Chord { alt: true, ..Chord::char('x') };
        assert_eq!(press(KeyCode::Char('x'), KeyModifiers::ALT), Some(Input::Key(alt)));
        assert_eq!(press(KeyCode::CapsLock, KeyModifiers::NONE), None);
    }

    #[test]
    fn a_key_that_is_let_go_does_nothing() {
        let mut key = KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE);
        key.kind = KeyEventKind::Release;
        assert_eq!(translate(Event::Key(key)), None);
        key.kind = KeyEventKind::Repeat;
        assert_eq!(translate(Event::Key(key)), Some(Input::Key(Chord::char('q'))));
    }

    /// Which of these keys get through.
    fn through(mut late: LateReply, keys: &str) -> String {
        let mut passed = String::new();
        let mut alt = false;
        for char in keys.chars() {
            // As the terminal library reads it: escape makes the next character an Alt chord.
            if char == '\u{1b}' {
                alt = true;
                continue;
            }
            let chord = match char {
                '\u{7}' => Chord::ctrl('g'),
                char => Chord { alt: std::mem::take(&mut alt), ..Chord::char(char) },
            };
            if !late.swallows(&Input::Key(chord)) {
                passed.push(char);
            }
        }
        passed
    }

    #[test]
    fn a_late_answer_presses_no_keys() {
        assert_eq!(through(LateReply::due(), "\u{1b}]11;rgb:ffff/fafa/0e0e\u{1b}\\q"), "q");
        assert_eq!(through(LateReply::due(), "jj\u{1b}]11;rgba:ffff/fafa/0e0e/ffff\u{7}q"), "jjq");
    }

    #[test]
    fn other_keys_get_through() {
        assert_eq!(through(LateReply::due(), "1:q"), "1:q");
        assert_eq!(through(LateReply::due(), "\u{1b}]1jq"), "jq", "an answer that is none ends there");
        assert_eq!(through(LateReply::default(), "\u{1b}]11;rgb:0/0/0\u{7}"), "]11;rgb:0/0/0\u{7}");
        let endless = format!("\u{1b}]11;rgb:{}", "f".repeat(60));
        assert_eq!(through(LateReply::due(), &endless), "f".repeat(60 + 8 - LONGEST));
    }
}
