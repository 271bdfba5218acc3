//! Asks a person to type what a write is about.

use std::io::{self, IsTerminal as _, Write as _};

use color_eyre::eyre::WrapErr as _;

use crate::cli::exit::{Exit, Failure};
use crate::model::ui::dialog::Word;
use crate::view::text::sanitise;

/// Whether there is somebody to ask: whoever types, and reads what is asked.
pub fn is_possible() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks until a line is typed; an error unless it is `word`.
///
/// # Errors
/// When something else is typed, or nothing.
pub async fn word(question: &str, word: &Word) -> Result<(), Failure> {
    let mut to = io::stderr();
    // Nobody is there to answer when this cannot be written.
    let _ = write!(to, "{}", sanitise(question)).and_then(|()| to.flush());
    let typed = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        io::stdin().read_line(&mut line).map(|_| line)
    });
    let typed = typed.await.wrap_err("the terminal cannot be read").map_err(Failure::Unexpected)?;
    match typed {
        Ok(line) if word.is(&line) => Ok(()),
        Ok(line) if line.trim().is_empty() => {
            Err(Failure::new(Exit::BadInput, "nothing was typed, so nothing was done"))
        }
        Ok(line) => {
            let what = format!("`{}` is not `{}`, so nothing was done", line.trim(), word.text());
            Err(Failure::new(Exit::BadInput, what))
        }
        Err(error) => Err(Failure::new(Exit::BadInput, format!("the terminal cannot be read: {error}"))),
    }
}
