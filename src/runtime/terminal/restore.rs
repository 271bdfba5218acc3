//! What a terminal is told when it is taken over and when it is given back, and that it is
//! given back when the program panics.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::{Hide, Show};
use crossterm::event::{DisableBracketedPaste, DisableFocusChange, EnableBracketedPaste, EnableFocusChange};
use crossterm::style::ResetColor;
use crossterm::terminal::{EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode};

use tokio::sync::Notify;

use super::ansi;

/// Buttons and wheel (1000) in coordinates without a limit (1006). Not 1002 and 1003, which
/// report every movement and would wake the program for each.
pub const MOUSE_ON: &[u8] = b"\x1b[?1000h\x1b[?1006h";
/// The opposite.
pub const MOUSE_OFF: &[u8] = b"\x1b[?1006l\x1b[?1000l";

/// Whether the terminal is taken over at present. There is one terminal a process.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// Whether a panic gave it back.
static PANICKED: AtomicBool = AtomicBool::new(false);
static PANIC: Notify = Notify::const_new();

/// The bytes that take a terminal over.
pub fn entering(mouse: bool) -> Vec<u8> {
    let mut bytes = ansi(&EnterAlternateScreen);
    bytes.extend(ansi(&EnableBracketedPaste));
    bytes.extend(ansi(&EnableFocusChange));
    bytes.extend(ansi(&Hide));
    if mouse {
        bytes.extend_from_slice(MOUSE_ON);
    }
    bytes
}

/// The bytes that give it back, whatever was under way: CAN ends an escape sequence that was
/// cut, then everything is switched off whether it was on or not.
pub fn leaving() -> Vec<u8> {
    let mut bytes = vec![0x18];
    bytes.extend(ansi(&EndSynchronizedUpdate));
    bytes.extend_from_slice(MOUSE_OFF);
    bytes.extend(ansi(&DisableFocusChange));
    bytes.extend(ansi(&DisableBracketedPaste));
    bytes.extend(ansi(&ResetColor));
    bytes.extend(ansi(&LeaveAlternateScreen));
    bytes.extend(ansi(&Show));
    bytes
}

/// Notes that the terminal is taken over.
pub fn enter() {
    TAKEN.store(true, Ordering::SeqCst);
}

/// Notes that it is given back; returns whether that is still to be done.
pub fn leave() -> bool {
    TAKEN.swap(false, Ordering::SeqCst)
}

/// Whether a panic gave it back: nothing may be written to it any more.
pub fn has_panicked() -> bool {
    PANICKED.load(Ordering::SeqCst)
}

/// Waits for such a panic.
pub async fn panicked() {
    while !has_panicked() {
        PANIC.notified().await;
    }
}

/// Has a panic in any thread give the terminal back before its message is printed. Can be
/// called more than once.
pub fn install_panic_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if leave() {
                PANICKED.store(true, Ordering::SeqCst);
                // Directly: whoever usually writes may be the one that panics.
                let direct = std::io::stdout().as_fd().try_clone_to_owned().map(File::from);
                let _ = direct.and_then(|mut file| file.write_all(&leaving()));
                let _ = disable_raw_mode();
                PANIC.notify_one();
            }
            print(info);
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_switched_on_is_switched_off() {
        let (on, off) = (entering(true), leaving());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (on, off) = (text(&on), text(&off));
        // The cursor alone is switched off to begin with.
        let modes: Vec<_> = on.split("\x1b[?").skip(1).filter_map(|mode| mode.strip_suffix('h')).collect();
        assert_eq!(modes, ["1049", "2004", "1004", "1000", "1006"]);
        for mode in modes {
            assert!(off.contains(&format!("\x1b[?{mode}l")), "{mode}");
        }
        assert!(on.contains("\x1b[?25l") && off.contains("\x1b[?25h"));
        assert!(off.contains("\x1b[?2026l"), "a synchronized update that was under way ends");
    }
}
