//! What happened in a run, in plain sentences, and what a client does, in a word.

use std::time::Duration;

use crate::domain::Lang;
use crate::domain::key::split_last;
use crate::domain::play::{Belief, ClientId, ClientPicture, Happening, Ill, Life, Moment, Narration, Sight};
use crate::domain::{Key, LeaseId, Length, Revision};
use crate::model::Play;
use crate::model::play::{Doing, Happened, Lane};
use crate::view::client::{FEW, short};
use crate::view::text::{Cut, escape, escape_text, fit_bytes, lasting};
use crate::view::theme::{Role, Theme};

/// The most columns of a key or a value in a sentence.
const KEY: usize = 48;
/// The most columns of a lock's name in a sentence.
const LOCK: usize = 24;
/// What resources are.
const STORAGE: &str = "storage";

/// What happened, and how it looks. What a narrator said is in this language.
pub fn sentence(happened: &Happened, play: &Play, lang: Lang) -> (String, Role) {
    let Happened { moment, lease, doing, late, .. } = happened;
    let Moment { lock, client, what, .. } = moment;
    let who = client.map_or_else(|| "somebody".to_owned(), |client| client.to_string());
    // Where there are several locks, each is named.
    let named = play.has_locks().then(|| fit_bytes(short_name(lock), LOCK, Cut::Middle, ".."));
    let (its, for_it) =
        named.as_ref().map_or_else(Default::default, |name| (format!(" {name}"), format!(" for {name}")));
    let said = match what {
        Happening::Began => format!("{who} takes part"),
        Happening::Enqueued(revision) if *late => {
            return (format!("{who} is answered: its key was created at revision {revision}"), Role::Muted);
        }
        Happening::Enqueued(revision) => {
            return (format!("{who} queues{for_it}: its key is created at revision {revision}"), Role::Muted);
        }
        Happening::First(revision) => {
            let lock = named.as_deref().unwrap_or("the lock");
            format!("{lock} passes to {who}: its key is the oldest from revision {revision} on")
        }
        Happening::Acquired(token, waited) => {
            let waited = waited_for(*waited);
            return (format!("{who} holds{its}: its key is now the oldest (token {token}{waited})"), Role::Title);
        }
        Happening::HasFirst(token, waited) => {
            let (lock, waited) = (fit_bytes(short_name(lock), KEY, Cut::Middle, ".."), waited_for(*waited));
            return (format!("{who} has the first of its two locks, {lock} (token {token}{waited})"), Role::Title);
        }
        Happening::Released(held) => format!("{who} releases{its}, having held for {}", lasting(*held)),
        Happening::GaveUp => format!("{who} gives up waiting{for_it}"),
        Happening::Lost(belief) => return (lost(&who, *belief), Role::Error),
        Happening::Dropped(revision, belief) => return (dropped(&who, *lease, *revision, *belief), Role::Error),
        Happening::Crashed(belief) => {
            let whiles = while_it(*belief);
            return (format!("{who} crashes{whiles}: no release, no heartbeat any more"), Role::Error);
        }
        Happening::Expired(revision, after) => return (expired(&who, *lease, *revision, *after), Role::Text),
        Happening::Returned => format!("{who} is back, as a new client"),
        Happening::Stopped => format!("{who} ends in order"),
        Happening::Paused => return (format!("{who} stands still: its heartbeats stop"), Role::Warning),
        Happening::Resumed => match doing {
            Some(Doing::Stale) => return (format!("{who} wakes and still believes that it holds"), Role::Error),
            Some(Doing::Holding) => format!("{who} wakes, and holds it still"),
            Some(Doing::Waiting) => format!("{who} wakes and waits on"),
            _ => format!("{who} wakes"),
        },
        Happening::Suffered(ill) => return (suffered(&who, *ill), Role::Warning),
        Happening::Wrote(token) => format!("{} takes a write of {who} with token {token}", storage(play, lock)),
        Happening::Damaged(token, seen) => {
            let said = format!(
                "{} takes the stale token {token}, having seen {seen}: the data is damaged",
                storage(play, lock)
            );
            return (said, Role::Error);
        }
        Happening::Refused(token, seen) => {
            return (format!("{} refuses token {token}: it has seen {seen}", storage(play, lock)), Role::Error);
        }
        Happening::Saw(sight) => saw(&who, sight),
        Happening::Circle(clients) => return (circle(clients), Role::Error),
        Happening::Term(term) => format!("the cluster has a leader in term {term}"),
        Happening::Fault(fault) => return (format!("to the cluster: {fault}"), Role::Warning),
        Happening::Told(number) => return (told(play, *number, lang), Role::Title),
    };
    (said, Role::Text)
}

fn waited_for(length: Duration) -> String {
    if length.is_zero() { String::new() } else { format!(", waited {}", lasting(length)) }
}

fn circle(clients: &[ClientId]) -> String {
    let names: Vec<String> = clients.iter().map(ToString::to_string).collect();
    match &names[..] {
        [] | [_] => "somebody waits for itself: this ends only when it lets go".to_owned(),
        [one, other] => format!(
            "{one} and {other} wait for each other: neither gets any further until one lets go or loses its lease"
        ),
        [first, .., last] => format!(
            "{} wait in a circle, and {last} for {first}: none gets any further until one lets go or loses its lease",
            names.join(", ")
        ),
    }
}

fn lost(who: &str, belief: Belief) -> String {
    match belief {
        Belief::Holding => format!("{who} learns that it does not hold any more"),
        Belief::Waiting => format!("{who} learns that its key is gone, and waits no more"),
        Belief::Idle | Belief::Lost => format!("{who} learns that its lease is gone"),
    }
}

fn dropped(who: &str, lease: LeaseId, revision: Revision, belief: Belief) -> String {
    let whose = whose(who, lease);
    let still = match belief {
        Belief::Holding => format!("; {who} believes that it holds"),
        Belief::Waiting => format!("; {who} waits on"),
        Belief::Idle | Belief::Lost => String::new(),
    };
    format!("{whose} is gone: the store dropped its key at revision {revision}{still}")
}

fn expired(who: &str, lease: LeaseId, revision: Revision, after: Duration) -> String {
    let after = lasting(after);
    format!("{} ran out: its key is gone at revision {revision}, {after} after the crash", whose(who, lease))
}

/// A client's lease, by its last digits when it is known.
fn whose(who: &str, lease: LeaseId) -> String {
    if lease.is_none() { format!("the lease of {who}") } else { format!("lease {} of {who}", short(FEW, lease, b"")) }
}

const fn while_it(belief: Belief) -> &'static str {
    match belief {
        Belief::Holding => " while it holds",
        Belief::Waiting => " while it waits",
        Belief::Idle | Belief::Lost => "",
    }
}

fn suffered(who: &str, ill: Ill) -> String {
    match ill {
        Ill::Pause => format!("{who} is paused"),
        Ill::Resume => format!("{who} goes on"),
        Ill::Crash => format!("{who} is killed"),
        Ill::Cut => format!("{who} is cut off: its calls are not answered"),
        Ill::Mend => format!("{who} reaches the cluster again"),
        Ill::Heartbeat(every) => format!("{who} sends a heartbeat every {} from now on", Length(every)),
        Ill::Skew(0) => format!("the clock of {who} is right again"),
        Ill::Skew(millis) => {
            let size = Length(Duration::from_millis(millis.unsigned_abs()));
            format!("the clock of {who} is {size} {}", if millis < 0 { "behind" } else { "ahead" })
        }
        Ill::Release => format!("{who} is told to let go"),
        Ill::Hold(length) => format!("{who} holds for {} from now on", Length(length)),
        Ill::Revoke => format!("the lease of {who} is revoked by somebody else"),
        Ill::Remove => format!("{who} is sent away"),
    }
}

/// The resource that a write went to: where there is one only, whatever the moment says.
fn storage(play: &Play, lock: &Key) -> String {
    let resources = play.resources();
    let named = resources.iter().find(|resource| resource.name.as_bytes() == lock.as_bytes());
    match named.or(resources.first()) {
        Some(resource) if resource.name == STORAGE => STORAGE.to_owned(),
        Some(resource) => format!("{STORAGE} {}", escape_text(&resource.name)),
        None => "the storage".to_owned(),
    }
}

fn saw(who: &str, sight: &Sight) -> String {
    let (key, ascii) = (fit_bytes(sight.key(), KEY, Cut::Middle, ".."), "..");
    match sight {
        Sight::Appeared(_, value) => format!("{who} sees {key} appear: {}", fit_bytes(value, KEY, Cut::End, ascii)),
        Sight::Changed(_, value) => format!("{who} sees {key} change: {}", fit_bytes(value, KEY, Cut::End, ascii)),
        Sight::Went(_) => format!("{who} sees {key} go"),
    }
}

fn told(play: &Play, number: usize, lang: Lang) -> String {
    let known = play.narrations().rev().find(|(told, _)| *told == number);
    let said = |narration: &Narration| escape_text(lang.of(&narration.en, &narration.zh)).into_owned();
    known.map_or_else(|| "the narrator speaks".to_owned(), |(_, narration)| said(narration))
}

/// What a client does, in a word of at most six columns.
pub fn state(client: &ClientPicture, lane: Option<&Lane>) -> (&'static str, Role) {
    let fenced = lane.is_some_and(Lane::is_fenced);
    match (client.life, client.belief) {
        (Life::Gone, _) => ("away", Role::Error),
        (Life::Stopped, _) => ("ended", Role::Muted),
        (Life::Paused, _) => ("paused", Role::Warning),
        _ if fenced => ("fenced", Role::Error),
        (Life::Up, Belief::Holding) if client.is_stale() => ("stale", Role::Error),
        (Life::Up, Belief::Holding) => ("HOLDS", Role::Holder),
        (Life::Up, Belief::Waiting) if lane.is_some_and(Lane::has_first) => ("1 of 2", Role::Holder),
        (Life::Up, Belief::Waiting) if client.place == Some(0) => ("first", Role::Holder),
        (Life::Up, Belief::Waiting) => ("waits", Role::Waiter),
        (Life::Up, Belief::Lost) => ("lost", Role::Error),
        (Life::Up, Belief::Idle) => ("idle", Role::Muted),
    }
}

/// The last part of a lock's name, or of a prefix.
pub fn short_name(lock: &[u8]) -> &[u8] {
    match split_last(lock) {
        (prefix, b"") => split_last(prefix).1,
        (_, last) => last,
    }
}

/// What the store says of a client: its place in the queue.
pub fn store_says(client: &ClientPicture) -> (String, Role) {
    match client.place {
        Some(_) if !client.takes_lock() => ("has its key".to_owned(), Role::Text),
        Some(0) => ("holds".to_owned(), Role::Holder),
        Some(place) => (format!("waits, {place} ahead"), Role::Waiter),
        None => ("no key".to_owned(), Role::Muted),
    }
}

/// What was done to a client and still holds.
pub fn ills(client: &ClientPicture) -> String {
    let cut = client.cut.then(|| "cut off".to_owned());
    let skew = (client.skew_ms != 0).then(|| {
        let size = lasting(Duration::from_millis(client.skew_ms.unsigned_abs()));
        format!("clock {}{size}", if client.skew_ms < 0 { "-" } else { "+" })
    });
    // One heartbeat that is lost costs the lease.
    let slow =
        (client.heartbeat.saturating_mul(2) > client.ttl).then(|| format!("heartbeat {}", lasting(client.heartbeat)));
    cut.into_iter().chain(skew).chain(slow).collect::<Vec<_>>().join(", ")
}

/// The name of the client whose key this is; of nobody's, the end of the key, which is the end of
/// a lease as others are written.
pub fn ahead(play: &Play, key: &Key, theme: &Theme) -> String {
    let owner: Option<ClientId> = play.clients().iter().find(|client| client.stake.key == *key).map(|client| client.id);
    let end = || {
        let last = escape(split_last(key).1).into_owned();
        let skipped = last.chars().count().saturating_sub(4);
        format!("{}{}", theme.glyphs.ellipsis, last.chars().skip(skipped).collect::<String>())
    };
    owner.map_or_else(end, |client| client.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Term;
    use crate::domain::play::{PlayPicture, ResourcePicture};
    use crate::domain::raft::{ClusterTime, Fault, NodeId};
    use crate::view::text::is_unsafe;

    fn play(moments: Vec<Moment>) -> Play {
        let mut model = crate::view::testing::Cluster::new();
        let mut client = ClientPicture { id: ClientId(1), ..ClientPicture::default() };
        client.stake.lease = LeaseId(0x694d_8225_4d5f_11a0);
        model.tell(crate::event::Observation::Play(Box::new(PlayPicture {
            clients: vec![client],
            resources: vec![ResourcePicture { name: "ledger".into(), ..ResourcePicture::default() }],
            narration: Some(Narration { en: "Look at \x1b[2J client-1.".into(), ..Narration::default() }),
            moments,
            ..PlayPicture::default()
        })));
        model.model.live().play.as_deref().unwrap().clone()
    }

    fn said(what: Happening) -> String {
        let moment = Moment { at: ClusterTime(0), lock: "/demo/ledger".into(), client: Some(ClientId(1)), what };
        let play = play(vec![moment]);
        play.happened().back().map(|happened| sentence(happened, &play, Lang::English).0).unwrap_or_default()
    }

    #[test]
    fn everything_that_can_happen_has_its_sentence() {
        let second = Duration::from_millis(1_500);
        let (token, later) = (Revision(391), Revision(402));
        let key: Key = "/services/\u{202e}a".into();
        let all = [
            (Happening::Began, "client-1 takes part"),
            (Happening::Enqueued(token), "client-1 queues: its key is created at revision 391"),
            (Happening::First(later), "the lock passes to client-1: its key is the oldest from revision 402 on"),
            (Happening::Acquired(token, second), "client-1 holds: its key is now the oldest (token 391, waited 1.5s)"),
            (Happening::Acquired(token, Duration::ZERO), "client-1 holds: its key is now the oldest (token 391)"),
            (
                Happening::HasFirst(token, second),
                "client-1 has the first of its two locks, ledger (token 391, waited 1.5s)",
            ),
            (
                Happening::Circle(vec![ClientId(1), ClientId(2)]),
                "client-1 and client-2 wait for each other: neither gets any further until one lets go or loses its lease",
            ),
            (
                Happening::Circle([1, 2, 3].map(ClientId).to_vec()),
                "client-1, client-2, client-3 wait in a circle, and client-3 for client-1: none gets any further until one lets go or loses its lease",
            ),
            (Happening::Released(second), "client-1 releases, having held for 1.5s"),
            (Happening::GaveUp, "client-1 gives up waiting"),
            (Happening::Lost(Belief::Holding), "client-1 learns that it does not hold any more"),
            (Happening::Lost(Belief::Waiting), "client-1 learns that its key is gone, and waits no more"),
            (Happening::Lost(Belief::Idle), "client-1 learns that its lease is gone"),
            (
                Happening::Dropped(later, Belief::Holding),
                "lease 11a0 of client-1 is gone: the store dropped its key at revision 402; client-1 believes that it holds",
            ),
            (
                Happening::Dropped(later, Belief::Waiting),
                "lease 11a0 of client-1 is gone: the store dropped its key at revision 402; client-1 waits on",
            ),
            (Happening::Crashed(Belief::Holding), "client-1 crashes while it holds: no release, no heartbeat any more"),
            (
                Happening::Expired(later, second),
                "lease 11a0 of client-1 ran out: its key is gone at revision 402, 1.5s after the crash",
            ),
            (Happening::Returned, "client-1 is back, as a new client"),
            (Happening::Stopped, "client-1 ends in order"),
            (Happening::Paused, "client-1 stands still: its heartbeats stop"),
            (Happening::Resumed, "client-1 wakes"),
            (Happening::Suffered(Ill::Skew(-1_500)), "the clock of client-1 is 1.5s behind"),
            (Happening::Suffered(Ill::Heartbeat(second)), "client-1 sends a heartbeat every 1.5s from now on"),
            (
                Happening::Damaged(token, later),
                "storage ledger takes the stale token 391, having seen 402: the data is damaged",
            ),
            (Happening::Refused(token, later), "storage ledger refuses token 391: it has seen 402"),
            (
                Happening::Saw(Sight::Appeared(key.clone(), b"10.0.0.\x07".to_vec())),
                "client-1 sees /services/\\u{202e}a appear: 10.0.0.\\x07",
            ),
            (Happening::Saw(Sight::Went(key)), "client-1 sees /services/\\u{202e}a go"),
            (Happening::Term(Term(7)), "the cluster has a leader in term 7"),
            (Happening::Fault(Fault::Kill(NodeId(1))), "to the cluster: kill n1"),
            (Happening::Told(0), "Look at \\x1b[2J client-1."),
            (Happening::Told(7), "Look at \\x1b[2J client-1."),
        ];
        for (what, sentence) in all {
            let said = said(what.clone());
            assert_eq!(said, sentence, "{what:?}");
            assert!(!said.chars().any(is_unsafe), "{said:?}");
        }
    }

    #[test]
    fn a_sleeper_wakes_to_what_it_believes() {
        let at = |what| Moment { at: ClusterTime(0), lock: Key::default(), client: Some(ClientId(1)), what };
        let wakes = |before: Vec<Happening>| {
            let play = play(before.into_iter().chain([Happening::Resumed]).map(at).collect());
            sentence(play.happened().back().unwrap(), &play, Lang::English).0
        };
        let held = Happening::Acquired(Revision(3), Duration::ZERO);
        let gone = Happening::Dropped(Revision(9), Belief::Holding);
        assert_eq!(
            wakes(vec![held.clone(), Happening::Paused, gone]),
            "client-1 wakes and still believes that it holds"
        );
        assert_eq!(wakes(vec![held, Happening::Paused]), "client-1 wakes, and holds it still");
        assert_eq!(wakes(vec![Happening::Enqueued(Revision(3)), Happening::Paused]), "client-1 wakes and waits on");
    }

    #[test]
    fn who_is_told_of_its_key_last_does_not_queue_again() {
        let at = |what| Moment { at: ClusterTime(0), lock: Key::default(), client: Some(ClientId(1)), what };
        let key = Revision(3);
        let play = play(vec![
            at(Happening::First(Revision(9))),
            at(Happening::Enqueued(key)),
            at(Happening::Acquired(key, Duration::ZERO)),
            at(Happening::Released(Duration::ZERO)),
            at(Happening::Enqueued(Revision(12))),
        ]);
        let said: Vec<_> = play.happened().iter().map(|happened| sentence(happened, &play, Lang::English).0).collect();
        assert_eq!(said[1], "client-1 is answered: its key was created at revision 3");
    }

    #[test]
    fn where_there_are_several_locks_each_is_named() {
        let at = |lock: &str, what| Moment { at: ClusterTime(0), lock: lock.into(), client: Some(ClientId(1)), what };
        let client = |id, lock: &str| ClientPicture { id: ClientId(id), lock: lock.into(), ..ClientPicture::default() };
        let mut model = crate::view::testing::Cluster::new();
        model.tell(crate::event::Observation::Play(Box::new(PlayPicture {
            clients: vec![client(1, "/demo/crowd"), client(2, "/demo/\u{202e}line")],
            moments: vec![
                at("/demo/crowd", Happening::Enqueued(Revision(3))),
                at("/demo/crowd", Happening::First(Revision(3))),
                at("/demo/crowd", Happening::Acquired(Revision(3), Duration::ZERO)),
                at("/demo/crowd", Happening::Released(Duration::ZERO)),
                at("/demo/\u{202e}line", Happening::GaveUp),
            ],
            ..PlayPicture::default()
        })));
        let play = model.model.live().play.as_deref().unwrap();
        let said: Vec<_> = play.happened().iter().map(|happened| sentence(happened, play, Lang::English).0).collect();
        assert_eq!(
            said,
            [
                "client-1 queues for crowd: its key is created at revision 3",
                "crowd passes to client-1: its key is the oldest from revision 3 on",
                "client-1 holds crowd: its key is now the oldest (token 3)",
                "client-1 releases crowd, having held for 0ms",
                "client-1 gives up waiting for \\u{202e}line",
            ]
        );
    }

    #[test]
    fn what_a_client_does_is_a_short_word() {
        let client = |life, belief, place| ClientPicture { life, belief, place, ..ClientPicture::default() };
        let cases = [
            (client(Life::Up, Belief::Holding, Some(0)), "HOLDS"),
            (client(Life::Up, Belief::Holding, Some(2)), "stale"),
            (client(Life::Up, Belief::Holding, None), "stale"),
            (client(Life::Up, Belief::Waiting, Some(0)), "first"),
            (client(Life::Up, Belief::Waiting, Some(3)), "waits"),
            (client(Life::Paused, Belief::Holding, None), "paused"),
            (client(Life::Gone, Belief::Idle, Some(0)), "away"),
            (client(Life::Stopped, Belief::Idle, None), "ended"),
            (client(Life::Up, Belief::Lost, None), "lost"),
            (client(Life::Up, Belief::Idle, None), "idle"),
        ];
        for (client, word) in cases {
            assert_eq!(state(&client, None).0, word);
            assert!(word.len() <= 6);
        }
    }
}
