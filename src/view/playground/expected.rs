//! What is expected of a run and what tells how it stands, in the current language.
//!
//! Both come as sentences in English, from whoever judges the run or from a recording of it. They
//! are known by their forms: a form has gaps, what stands in them is put into the other language's
//! sentence. What has no form known here stays as it came.

use std::borrow::Cow;
use std::fmt::Display;

use crate::domain::{Lang, plural};
use crate::lang;

/// How deep sentences stand in the gaps of others at most: a list of members is one of one member and the rest.
const DEEPEST: usize = 8;

/// The gaps in which only a number can stand.
const NUMBERS: [&str; 3] = ["n", "m", "l"];
/// Those in which a name stands, which is never a sentence of ours.
const NAMES: [&str; 7] = ["name", "other", "lock", "resource", "client", "node", "who"];

/// What can be counted: `2 keys`.
const NOUNS: [&str; 12] =
    ["call", "change", "client", "event", "handoff", "hold", "key", "leader", "such key", "term", "watcher", "write"];

/// The forms, the more telling ones first: what fits several is of the first of them.
const FORMS: &[&str] = &[
    // Of a lock other than the one that the run is about.
    "{that} ({lock})",
    // What can be expected.
    "fifo",
    "one holder",
    "double holders >= {n}",
    "handoffs >= {n}",
    "everybody holds",
    "holder changes within {length} of expiry",
    "expired keys >= {n}",
    "lost leases >= {n}",
    "stale belief for {length}",
    "no stale write accepted by {resource}",
    "stale write refused by {resource}",
    "stale write accepted by {resource}",
    "new leader within {length} of fault",
    "elections >= {n}",
    "split vote seen",
    "minority takes no write",
    "deadlock for {length}",
    "deadlock ends",
    "events per handoff >= {n}",
    "events per handoff <= {n}",
    "calls per handoff <= {n}",
    "fewer events per handoff than {lock}",
    "watchers see within {length}",
    "leader seen within {length}",
    "keys seen to go >= {n}",
    "fairness >= {n}",
    // Circles.
    "no clients waited for each other in a circle",
    "{n} clients waited for each other from {time} on for {length}; {m} ended",
    "{n} clients waited for each other from {time} on for {length}, and it goes on",
    "{n} clients waited for each other from {time} on for {length}",
    // The cluster.
    "after what was done at {time} nobody led for {length}",
    "nothing was done to a leader",
    "{leaders} lost: another after {length} at most",
    "{terms} seen, none of them split",
    "in term {n} {candidates} stood and got {votes} votes; nobody won",
    "cut off, {node} went from revision {n} to {m}",
    "no member was cut off from the others while they took writes",
    "{node}, cut off from {since} to {until}, stood at revision {n} while the others went from {m} to {l}",
    // What is counted.
    "{keys}: {n} of clients that had crashed, {m} of others",
    "a client noticed it {times}",
    "nobody wrote",
    "{writes}, none with an old token",
    "{writes}; of {n} with an old token {m} taken, {l} refused",
    // What comes when a lease runs out.
    "the key that went at {time} had no successor for {length}",
    "{keys} of holders went, while nobody waited",
    "no holder's key went with its lease",
    "{keys} had a successor after {length} at most",
    "no holder's key went before it knew",
    "{client} from {time} on for {length}",
    // Turns.
    "{n} of {m} out of turn; {first}",
    "{n} of {m} holders were looked up in the store's history: each was the oldest",
    "{n} time in {holds}; {first}",
    "{n} times in {holds}; {first}",
    "{holds}, none began while another client believed it held",
    "{n} of {clients} held it, {times} in all; not {client} and {m} more",
    "{n} of {clients} held it, {times} in all; not {client}",
    "{n} of {clients} held it, {times} in all",
    "{n} of {holds}; {first}",
    "nobody held it",
    "{n}: {clients} held it {m} to {l} times",
    "{name} at {time}: {client} (revision {n}) while {other} (revision {m}) believed it held",
    "{name} at {time}: {client} (revision {n}) took it after revision {m}",
    "{name} at {time}: {client} (revision {n}) took it when, at {m}, nobody was first",
    "{name} at {time}: {client} (revision {n}) took it when, at {m}, revision {l} was first",
    // What is seen.
    "a change at {time} was known to all after {length}",
    "{who} did not see what became of {name} at {time}",
    "nobody saw anything change",
    "{leaders}, each known to all who watch after {length} at most",
    "{changes}, each known to {watchers} after {length} at most",
    "who took it at {time} was known to all after {length}",
    "{who} does not know who took it at {time}",
    "nobody who is watched took it",
    "watchers saw {keys} go",
    // What it costs.
    "{n} each for {handoffs} of {name}, {m} each for {others} of {other}",
    "{handoffs} of {name}, {others} of {other}: both have to be handed over",
    "{n} each: {events} for {handoffs} of {name}",
    "{events} for {handoffs} of {name}",
    // The shortest, which much would fit.
    "{n} of {holds}",
    "{handoffs} of {name}",
    "{leaders} in {terms}",
    "{one} and {more}",
    "{n} to {rest}",
    "{n} time",
    "{n} times",
];

/// A sentence in the current language.
pub fn said(english: &str) -> Cow<'_, str> {
    match lang::current() {
        Lang::English => Cow::Borrowed(english),
        Lang::Chinese => reworded(english, DEEPEST),
    }
}

fn reworded(english: &str, deep: usize) -> Cow<'_, str> {
    if deep == 0 {
        return Cow::Borrowed(english);
    }
    if let Some(counted) = counted(english) {
        return Cow::Owned(counted);
    }
    let Some((form, values)) = FORMS.iter().find_map(|form| Some((form, values(form, english)?))) else {
        return Cow::Borrowed(english);
    };
    let value = |(name, value): (&'static str, _)| {
        (name, if NAMES.contains(&name) { Cow::Borrowed(value) } else { reworded(value, deep - 1) })
    };
    let values: Vec<(&str, Cow<'_, str>)> = values.into_iter().map(value).collect();
    let values: Vec<(&str, &dyn Display)> = values.iter().map(|(name, value)| (*name, value as &dyn Display)).collect();
    Cow::Owned(lang::fill(lang::text(form), &values))
}

/// A number of things.
fn counted(english: &str) -> Option<String> {
    let (count, things) = english.split_once(' ').filter(|(count, _)| is_number(count))?;
    let number = if count == "1" { 1 } else { 2 };
    let noun = NOUNS.into_iter().find(|noun| plural::noun(number, noun) == things)?;
    Some(lang::counted(count, noun, number))
}

/// What stands in the gaps of a form, when the text is of that form.
fn values<'t>(form: &'static str, text: &'t str) -> Option<Vec<(&'static str, &'t str)>> {
    let mut pieces = form.split('{');
    let mut rest = text.strip_prefix(pieces.next()?)?;
    let mut values = Vec::new();
    let mut pieces = pieces.filter_map(|piece| piece.split_once('}')).peekable();
    while let Some((name, words)) = pieces.next() {
        let value = if pieces.peek().is_none() {
            std::mem::take(&mut rest).strip_suffix(words)?
        } else {
            let (value, behind) = rest.split_once(words)?;
            rest = behind;
            value
        };
        if value.is_empty() || NUMBERS.contains(&name) && !is_number(value) {
            return None;
        }
        values.push((name, value));
    }
    rest.is_empty().then_some(values)
}

fn is_number(text: &str) -> bool {
    text.starts_with(|char: char| char.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::playground::expect::PHRASES;

    fn chinese(english: &str) -> String {
        lang::within(Lang::Chinese, || said(english).into_owned())
    }

    #[test]
    fn all_that_can_be_expected_is_said_in_chinese() {
        for phrase in PHRASES {
            let english = phrase.example();
            for english in [english.clone(), format!("{english} (line)")] {
                let words = chinese(&english).replace("ledger", "").replace("line", "").replace("2s", "");
                assert!(!words.contains(|char: char| char.is_ascii_alphabetic()), "{english}: {words}");
            }
        }
    }

    #[test]
    fn evidence_is_said_in_chinese_with_its_values() {
        for (english, other) in [
            ("1 of 2 clients held it, 1 time in all; not client-2", "2 个客户端中 1 个持有过，共 1 次；client-2 没有"),
            ("2 keys: 1 of clients that had crashed, 1 of others", "2 个键：崩溃客户端的 1 个，其他客户端的 1 个"),
            (
                "in term 2 n1 and n3 stood and got 1 to 1 votes; nobody won",
                "任期 2：n1、n3 参选，得票 1 比 1；无人当选",
            ),
            (
                "in term 7 n1 and n2 and n3 and n4 and n5 stood and got 1 to 1 to 1 to 1 to 1 votes; nobody won",
                "任期 7：n1、n2、n3、n4、n5 参选，得票 1 比 1 比 1 比 1 比 1；无人当选",
            ),
            ("1.40 each: 7 events for 5 handoffs of /demo/line", "每次 1.40：/demo/line 的 5 次交接有 7 个事件"),
            ("3 leaders in 4 terms", "4 个任期里选出 3 个领导者"),
            ("3 of 12 holds", "12 次持有中有 3 次"),
            ("12 handoffs of /a of b", "/a of b 有 12 次交接"),
            (
                "1 time in 5 holds; /a at 3.000 s: client-1 (revision 5) while client-2 (revision 3) believed it held",
                "5 次持有中有 1 次；/a 在 3.000 s：client-1（修订号 5）拿到时 client-2（修订号 3）仍以为自己持有",
            ),
            ("nothing that anybody says", "nothing that anybody says"),
        ] {
            assert_eq!(chinese(english), other);
            assert_eq!(said(english), english);
        }
    }

    #[test]
    fn every_form_and_noun_has_its_words_and_keeps_its_gaps() {
        let gaps = |words: &str| {
            let mut gaps: Vec<String> =
                words.split('{').skip(1).filter_map(|gap| Some(gap.split_once('}')?.0.to_owned())).collect();
            gaps.sort();
            gaps
        };
        lang::within(Lang::Chinese, || {
            for form in FORMS {
                assert_ne!(lang::text(form), *form);
                assert_eq!(gaps(lang::text(form)), gaps(form), "{form}");
            }
            for noun in NOUNS {
                assert_ne!(lang::text(noun), noun);
            }
        });
    }

    #[test]
    fn sentences_within_sentences_come_to_an_end() {
        let english = "1 each: ".repeat(20_000);
        assert!(!chinese(&english).is_empty());
    }
}
