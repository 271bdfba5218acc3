//! The line at the bottom in which a filter or a command is typed.

use super::Line;
use crate::input::command::{self, Names};

/// How many commands are remembered.
const REMEMBERED: usize = 50;

/// A line that is being typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// What it is typed for.
    pub purpose: Purpose,
    /// The line.
    pub line: Line,
    /// What the line could become, once completion was asked for.
    completion: Option<Completion>,
    /// Which remembered command is shown, counted back from the newest, and the line that was
    /// typed before.
    recalled: Option<(usize, Line)>,
}

/// What a line is typed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To narrow the list that is shown, while it is typed.
    Filter,
    /// To narrow the help, while it is typed.
    HelpFilter,
    /// To do something when it is done.
    Command,
}

/// What a line can become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The whole lines.
    pub candidates: Vec<String>,
    /// The one that is in the line.
    pub chosen: usize,
}

/// The commands that were typed before, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Typed(Vec<String>);

impl Prompt {
    /// A line with some text in it already.
    pub fn new(purpose: Purpose, text: &str) -> Self {
        Self { purpose, line: Line::new(text), completion: None, recalled: None }
    }

    /// What the line can become, while the person goes through that.
    pub const fn completion(&self) -> Option<&Completion> {
        self.completion.as_ref()
    }

    /// Notes that the line was changed by hand.
    pub fn changed(&mut self) {
        self.completion = None;
        self.recalled = None;
    }

    /// Completes the line, or goes to the next way to complete it.
    pub fn complete<'a>(&mut self, names: Names<'_>, locks: impl IntoIterator<Item = &'a str>) {
        let next = match self.completion.take() {
            Some(Completion { candidates, chosen }) => {
                let chosen = (chosen + 1) % candidates.len();
                Completion { candidates, chosen }
            }
            None => Completion { candidates: command::complete(self.line.text(), names, locks), chosen: 0 },
        };
        let Some(candidate) = next.candidates.get(next.chosen) else { return };
        self.line = Line::new(candidate.as_str());
        // A single candidate is done; another Tab goes on with the next word.
        self.completion = (next.candidates.len() > 1).then_some(next);
    }

    /// Shows the command typed before the one that is shown.
    pub fn earlier(&mut self, typed: &Typed) {
        self.recall(typed, |back| back.map_or(Some(0), |back| Some(back + 1)));
    }

    /// Shows the command typed after the one that is shown, in the end what was being typed.
    pub fn later(&mut self, typed: &Typed) {
        self.recall(typed, |back| back.and_then(|back| back.checked_sub(1)));
    }

    fn recall(&mut self, typed: &Typed, to: impl FnOnce(Option<usize>) -> Option<usize>) {
        self.completion = None;
        let (back, own) = match self.recalled.take() {
            Some((back, own)) => (Some(back), own),
            None => (None, self.line.clone()),
        };
        match to(back) {
            Some(back) => {
                // At the oldest it stays.
                let back = back.min(typed.0.len().saturating_sub(1));
                if let Some(line) = typed.0.iter().rev().nth(back) {
                    self.line = Line::new(line.as_str());
                    self.recalled = Some((back, own));
                }
            }
            None => self.line = own,
        }
    }
}

impl Typed {
    /// Remembers a command.
    pub fn remember(&mut self, line: &str) {
        self.0.retain(|known| known != line);
        if self.0.len() == REMEMBERED {
            self.0.remove(0);
        }
        self.0.push(line.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(text: &str) -> Prompt {
        Prompt::new(Purpose::Command, text)
    }

    #[test]
    fn completion_goes_round_and_a_single_candidate_goes_on_with_the_next_word() {
        let themes = ["dark".to_owned(), "light".to_owned()];
        let names = Names { themes: &themes, ..Names::default() };
        let mut prompt = prompt("the");
        prompt.complete(names, []);
        assert_eq!((prompt.line.text(), prompt.completion()), ("theme", None));
        prompt.line.insert(" ");
        let mut seen = Vec::new();
        for _ in 0..3 {
            prompt.complete(names, []);
            seen.push(prompt.line.text().to_owned());
        }
        assert_eq!(seen, ["theme dark", "theme light", "theme dark"]);
        prompt.changed();
        assert_eq!(prompt.completion(), None);
    }

    #[test]
    fn what_cannot_be_completed_stays() {
        let mut prompt = prompt("frob n");
        prompt.complete(Names::default(), []);
        assert_eq!(prompt.line.text(), "frob n");
    }

    #[test]
    fn earlier_commands_come_back_and_the_typed_line_is_not_lost() {
        let mut typed = Typed::default();
        for line in ["one", "two", "one"] {
            typed.remember(line);
        }
        let mut prompt = prompt("thr");
        let mut seen = Vec::new();
        for _ in 0..3 {
            prompt.earlier(&typed);
            seen.push(prompt.line.text().to_owned());
        }
        assert_eq!(seen, ["one", "two", "two"], "each once, the oldest last");
        prompt.later(&typed);
        assert_eq!(prompt.line.text(), "one");
        prompt.later(&typed);
        assert_eq!(prompt.line.text(), "thr");
        prompt.later(&typed);
        assert_eq!(prompt.line.text(), "thr");
    }

    #[test]
    fn with_nothing_remembered_the_line_stays() {
        let mut prompt = prompt("x");
        prompt.earlier(&Typed::default());
        assert_eq!(prompt.line.text(), "x");
    }

    #[test]
    fn only_so_many_commands_are_remembered() {
        let mut typed = Typed::default();
        for n in 0..2 * REMEMBERED {
            typed.remember(&n.to_string());
        }
        assert_eq!(typed.0.len(), REMEMBERED);
        assert_eq!(typed.0[0], REMEMBERED.to_string());
    }
}
