//! What is expected of a run and what tells how it stands, in the current language.

use std::fmt::Display;

use crate::domain::play::{Gap, Said};
use crate::lang;

/// A sentence in the current language. One that the catalogue does not know, as in a recording of
/// another version, stays in English.
pub fn in_words(said: &Said) -> String {
    let gaps: Vec<(&str, String)> = said.gaps.iter().map(|(name, gap)| (&**name, in_gap(gap))).collect();
    let gaps: Vec<(&str, &dyn Display)> = gaps.iter().map(|(name, gap)| (*name, gap as &dyn Display)).collect();
    lang::fill(lang::text(&said.words), &gaps)
}

fn in_gap(gap: &Gap) -> String {
    match gap {
        Gap::As(text) => text.clone(),
        Gap::Count(number, one) => lang::counted(&number.to_string(), one, *number),
        Gap::Said(said) => in_words(said),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Lang;
    use crate::playground::expect::{PHRASES, Rule};

    fn chinese(said: &Said) -> String {
        lang::within(Lang::Chinese, || in_words(said))
    }

    #[test]
    fn all_that_can_be_expected_is_said_in_chinese() {
        for phrase in PHRASES {
            let (_, said) = Rule::read(&phrase.example()).unwrap();
            let of_a_lock = Said::new("{that} ({lock})").part("that", said.clone()).with("lock", "line");
            for said in [said, of_a_lock] {
                let words = chinese(&said).replace("ledger", "").replace("line", "").replace("2s", "");
                assert!(!words.contains(|char: char| char.is_ascii_alphabetic()), "{said}: {words}");
            }
        }
    }

    #[test]
    fn a_sentence_has_its_numbers_and_its_parts_in_every_language() {
        let first = Said::new("{name} at {time}: {client} (revision {n}) took it after revision {m}")
            .with("name", "/a of b")
            .with("time", "3.000 s")
            .with("client", "client-1")
            .with("n", 3)
            .with("m", 5);
        let said = Said::new("{n} of {holds}; {first}").with("n", 1).count("holds", 5, "hold").part("first", first);
        let english = "1 of 5 holds; /a of b at 3.000 s: client-1 (revision 3) took it after revision 5";
        assert_eq!((in_words(&said), said.to_string()), (english.to_owned(), english.to_owned()));
        assert_eq!(chinese(&said), "5 次持有中有 1 次；/a of b 在 3.000 s：client-1（修订号 3）在修订号 5 之后才拿到");
        let unknown = Said::from("nothing that {anybody} says".to_owned());
        assert_eq!(chinese(&unknown), "nothing that {anybody} says");
    }
}
