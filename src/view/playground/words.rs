//! What happened in a run, in plain sentences, and what a client does, in a word.

use std::time::Duration;

use crate::domain::key::split_last;
use crate::domain::play::{Belief, ClientId, ClientPicture, Happening, Ill, Life, Moment, Narration, Sight};
use crate::domain::{Key, LeaseId, Length, Revision};
use crate::model::Play;
use crate::model::play::{Doing, Happened, Lane};
use crate::view::client::{FEW, short};
use crate::view::text::{Cut, escape, escape_text, fit_bytes, lasting};
use crate::view::theme::{Role, Theme};
use crate::{lang, say};

/// The most columns of a key or a value in a sentence.
const KEY: usize = 48;
/// The most columns of a lock's name in a sentence.
const LOCK: usize = 24;
/// What resources are.
const STORAGE: &str = "storage";

/// What happened, and how it looks. What a narrator said is in the current language.
pub fn sentence(happened: &Happened, play: &Play) -> (String, Role) {
    let Happened { moment, lease, doing, late, .. } = happened;
    let Moment { lock, client, what, .. } = moment;
    let who = &client.map_or_else(|| say!("somebody").to_owned(), |client| client.to_string());
    // Where there are several locks, each is named.
    let named = play.has_locks().then(|| fit_bytes(short_name(lock), LOCK, Cut::Middle, ".."));
    let recipe = client.and_then(|id| play.picture().client(id)).map(|client| client.recipe.as_str());
    let said = match what {
        // One key alone is the oldest of nothing.
        Happening::First(revision) if recipe == Some("registration") => {
            say!("the key of {who} is there from revision {revision} on", who, revision)
        }
        Happening::Acquired(token, waited) if recipe == Some("registration") => {
            let token = token_of(*token, *waited);
            return (say!("{who} is registered, and knows it ({token})", who, token), Role::Title);
        }
        Happening::First(revision) if recipe == Some("single-key") => {
            let lock = fit_bytes(short_name(lock), LOCK, Cut::Middle, "..");
            say!("{lock} is taken by {who}, whose put created the key at revision {revision}", lock, who, revision)
        }
        Happening::Acquired(token, waited) if recipe == Some("single-key") => {
            let (lock, token) = (fit_bytes(short_name(lock), LOCK, Cut::Middle, ".."), token_of(*token, *waited));
            return (say!("{who} holds {lock}: its put created the key ({token})", who, lock, token), Role::Title);
        }
        Happening::Began => say!("{who} takes part", who),
        Happening::Enqueued(revision) if *late => {
            return (say!("{who} is answered: its key was created at revision {revision}", who, revision), Role::Muted);
        }
        Happening::Enqueued(revision) => return (queues(who, named.as_deref(), *revision), Role::Muted),
        Happening::First(revision) => match named {
            Some(lock) => {
                say!("{lock} passes to {who}: its key is the oldest from revision {revision} on", lock, who, revision)
            }
            None => say!("the lock passes to {who}: its key is the oldest from revision {revision} on", who, revision),
        },
        Happening::Acquired(token, waited) => {
            let token = token_of(*token, *waited);
            let said = match named {
                Some(lock) => say!("{who} holds {lock}: its key is now the oldest ({token})", who, lock, token),
                None => say!("{who} holds: its key is now the oldest ({token})", who, token),
            };
            return (said, Role::Title);
        }
        Happening::HasFirst(token, waited) => {
            let (lock, token) = (fit_bytes(short_name(lock), KEY, Cut::Middle, ".."), token_of(*token, *waited));
            return (say!("{who} has the first of its two locks, {lock} ({token})", who, lock, token), Role::Title);
        }
        Happening::Released(held) => match (named, lasting(*held)) {
            (Some(lock), held) => say!("{who} releases {lock}, having held for {held}", who, lock, held),
            (None, held) => say!("{who} releases, having held for {held}", who, held),
        },
        Happening::GaveUp => match named {
            Some(lock) => say!("{who} gives up waiting for {lock}", who, lock),
            None => say!("{who} gives up waiting", who),
        },
        Happening::Lost(belief) => return (lost(who, *belief), Role::Error),
        Happening::Dropped(revision, belief) => return (dropped(who, *lease, *revision, *belief), Role::Error),
        Happening::Crashed(belief) => return (crashed(who, *belief), Role::Error),
        Happening::Expired(revision, after) => return (expired(who, *lease, *revision, *after), Role::Text),
        Happening::Returned => say!("{who} is back, as a new client", who),
        Happening::Stopped => say!("{whom} ends in order", whom = who),
        Happening::Paused => return (say!("{who} stands still: its heartbeats stop", who), Role::Warning),
        Happening::Resumed => match doing {
            Some(Doing::Stale) => return (say!("{who} wakes and still believes that it holds", who), Role::Error),
            Some(Doing::Holding) => say!("{who} wakes, and holds it still", who),
            Some(Doing::Waiting) => say!("{who} wakes and waits on", who),
            _ => say!("{who} wakes", who),
        },
        Happening::Suffered(ill) => return (suffered(who, *ill), Role::Warning),
        Happening::Wrote(token) => {
            say!("{storage} takes a write of {who} with token {token}", storage = storage(play, lock), who, token)
        }
        Happening::Damaged(token, seen) => {
            let said = say!(
                "{storage} takes the stale token {token}, having seen {seen}: the data is damaged",
                storage = storage(play, lock),
                token,
                seen
            );
            return (said, Role::Error);
        }
        Happening::Refused(token, seen) => {
            let storage = storage(play, lock);
            return (say!("{storage} refuses token {token}: it has seen {seen}", storage, token, seen), Role::Error);
        }
        Happening::Saw(sight) => saw(who, sight),
        Happening::Circle(clients) => return (circle(clients), Role::Error),
        Happening::Term(term) => say!("the cluster has a leader in term {term}", term),
        // As it would be typed.
        Happening::Fault(fault) => return (say!("to the cluster: {fault}", fault), Role::Warning),
        Happening::Told(number) => return (told(play, *number), Role::Title),
    };
    (said, Role::Text)
}

fn queues(who: &str, lock: Option<&str>, revision: Revision) -> String {
    match lock {
        Some(lock) => {
            say!("{who} queues for {lock}: its key is created at revision {revision}", who, lock, revision)
        }
        None => say!("{who} queues: its key is created at revision {revision}", who, revision),
    }
}

/// A token, and how long it was waited for.
fn token_of(token: Revision, waited: Duration) -> String {
    if waited.is_zero() {
        say!("token {token}", token)
    } else {
        say!("token {token}, waited {length}", token, length = lasting(waited))
    }
}

fn circle(clients: &[ClientId]) -> String {
    let names: Vec<String> = clients.iter().map(ToString::to_string).collect();
    match &names[..] {
        [] | [_] => say!("somebody waits for itself: this ends only when it lets go").to_owned(),
        [one, other] => say!(
            "{one} and {other} wait for each other: neither gets any further until one lets go or loses its lease",
            one,
            other
        ),
        [first, .., last] => say!(
            "{clients} wait in a circle, and {last} for {first}: none gets any further until one lets go or loses its lease",
            clients = names.join(say!(", ")),
            last,
            first
        ),
    }
}

fn lost(who: &str, belief: Belief) -> String {
    match belief {
        Belief::Holding => say!("{who} learns that it does not hold any more", who),
        Belief::Waiting => say!("{who} learns that its key is gone, and waits no more", who),
        Belief::Idle | Belief::Lost => say!("{who} learns that its lease is gone", who),
    }
}

fn dropped(who: &str, lease: LeaseId, revision: Revision, belief: Belief) -> String {
    let lease = whose(who, lease);
    match belief {
        Belief::Holding => say!(
            "{lease} is gone: the store dropped its key at revision {revision}; {who} believes that it holds",
            lease,
            revision,
            who
        ),
        Belief::Waiting => {
            say!(
                "{lease} is gone: the store dropped its key at revision {revision}; {who} waits on",
                lease,
                revision,
                who
            )
        }
        Belief::Idle | Belief::Lost => {
            say!("{lease} is gone: the store dropped its key at revision {revision}", lease, revision)
        }
    }
}

fn expired(who: &str, lease: LeaseId, revision: Revision, after: Duration) -> String {
    say!(
        "{lease} ran out: its key is gone at revision {revision}, {after} after the crash",
        lease = whose(who, lease),
        revision,
        after = lasting(after)
    )
}

/// A client's lease, by its last digits when it is known.
fn whose(who: &str, lease: LeaseId) -> String {
    if lease.is_none() {
        say!("the lease of {who}", who)
    } else {
        say!("lease {lease} of {who}", lease = short(FEW, lease, b""), who)
    }
}

fn crashed(who: &str, belief: Belief) -> String {
    match belief {
        Belief::Holding => say!("{who} crashes while it holds: no release, no heartbeat any more", who),
        Belief::Waiting => say!("{who} crashes while it waits: no release, no heartbeat any more", who),
        Belief::Idle | Belief::Lost => say!("{who} crashes: no release, no heartbeat any more", who),
    }
}

fn suffered(whom: &str, ill: Ill) -> String {
    match ill {
        Ill::Pause => say!("{whom} is paused", whom),
        Ill::Resume => say!("{whom} goes on", whom),
        Ill::Crash => say!("{whom} is killed", whom),
        Ill::Cut => say!("{whom} is cut off: its calls are not answered", whom),
        Ill::Mend => say!("{whom} reaches the cluster again", whom),
        Ill::Heartbeat(every) => {
            say!("{whom} sends a heartbeat every {length} from now on", whom, length = Length(every))
        }
        Ill::Skew(0) => say!("the clock of {whom} is right again", whom),
        Ill::Skew(millis) => {
            let size = Length(Duration::from_millis(millis.unsigned_abs()));
            if millis < 0 {
                say!("the clock of {whom} is {size} behind", whom, size)
            } else {
                say!("the clock of {whom} is {size} ahead", whom, size)
            }
        }
        Ill::Release => say!("{whom} is told to let go", whom),
        Ill::Hold(length) => say!("{whom} holds for {length} from now on", whom, length = Length(length)),
        Ill::Revoke => say!("the lease of {whom} is revoked by somebody else", whom),
        Ill::Remove => say!("{whom} is sent away", whom),
    }
}

/// The resource that a write went to: where there is one only, whatever the moment says.
fn storage(play: &Play, lock: &Key) -> String {
    let resources = play.resources();
    let named = resources.iter().find(|resource| resource.name.as_bytes() == lock.as_bytes());
    match named.or(resources.first()) {
        Some(resource) if resource.name == STORAGE => say!("storage").to_owned(),
        Some(resource) => say!("storage {name}", name = escape_text(&resource.name)),
        None => say!("the storage").to_owned(),
    }
}

fn saw(who: &str, sight: &Sight) -> String {
    let key = fit_bytes(sight.key(), KEY, Cut::Middle, "..");
    let fit = |value| fit_bytes(value, KEY, Cut::End, "..");
    match sight {
        Sight::Appeared(_, value) => say!("{who} sees {key} appear: {value}", who, key, value = fit(value)),
        Sight::Changed(_, value) => say!("{who} sees {key} change: {value}", who, key, value = fit(value)),
        Sight::Went(_) => say!("{who} sees {key} go", who, key),
    }
}

fn told(play: &Play, number: usize) -> String {
    let known = play.narrations().rev().find(|(told, _)| *told == number);
    let said = |narration: &Narration| escape_text(lang::current().of(&narration.en, &narration.zh)).into_owned();
    known.map_or_else(|| say!("the narrator speaks").to_owned(), |(_, narration)| said(narration))
}

/// What a client does, in a word of at most six columns.
pub fn state(client: &ClientPicture, lane: Option<&Lane>) -> (&'static str, Role) {
    let fenced = lane.is_some_and(Lane::is_fenced);
    match (client.life, client.belief) {
        (Life::Gone, _) => (say!("away"), Role::Error),
        (Life::Stopped, _) => (say!("ended"), Role::Muted),
        (Life::Paused, _) => (say!("paused"), Role::Warning),
        _ if fenced => (say!("fenced"), Role::Error),
        (Life::Up, Belief::Holding) if client.is_stale() => (say!("stale"), Role::Error),
        (Life::Up, Belief::Holding) => (say!("HOLDS"), Role::Holder),
        (Life::Up, Belief::Waiting) if lane.is_some_and(Lane::has_first) => (say!("1 of 2"), Role::Holder),
        (Life::Up, Belief::Waiting) if client.place == Some(0) => (say!("first"), Role::Holder),
        (Life::Up, Belief::Waiting) => (say!("waits"), Role::Waiter),
        (Life::Up, Belief::Lost) => (say!("lost"), Role::Error),
        (Life::Up, Belief::Idle) => (say!("idle"), Role::Muted),
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
        Some(_) if !client.takes_lock() => (say!("has its key").to_owned(), Role::Text),
        Some(0) => (say!("holds").to_owned(), Role::Holder),
        Some(place) => (say!("waits, {count} ahead", count = place), Role::Waiter),
        None => (say!("no key").to_owned(), Role::Muted),
    }
}

/// What was done to a client and still holds.
pub fn ills(client: &ClientPicture) -> String {
    let cut = client.cut.then(|| say!("cut off").to_owned());
    let skew = (client.skew_ms != 0).then(|| {
        let size = lasting(Duration::from_millis(client.skew_ms.unsigned_abs()));
        let skew = format!("{}{size}", if client.skew_ms < 0 { "-" } else { "+" });
        say!("clock {skew}", skew)
    });
    // One heartbeat that is lost costs the lease.
    let slow = (client.heartbeat.saturating_mul(2) > client.ttl)
        .then(|| say!("heartbeat {length}", length = lasting(client.heartbeat)));
    cut.into_iter().chain(skew).chain(slow).collect::<Vec<_>>().join(say!(", "))
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
        play.happened().back().map(|happened| sentence(happened, &play).0).unwrap_or_default()
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
            sentence(play.happened().back().unwrap(), &play).0
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
        let said: Vec<_> = play.happened().iter().map(|happened| sentence(happened, &play).0).collect();
        assert_eq!(said[1], "client-1 is answered: its key was created at revision 3");
    }

    #[test]
    fn a_key_that_stands_alone_is_not_the_oldest_of_a_queue() {
        let said = |recipe: &str| {
            let at = |what| Moment { at: ClusterTime(0), lock: "/demo/a".into(), client: Some(ClientId(1)), what };
            let mut model = crate::view::testing::Cluster::new();
            model.tell(crate::event::Observation::Play(Box::new(PlayPicture {
                clients: vec![ClientPicture { id: ClientId(1), recipe: recipe.into(), ..ClientPicture::default() }],
                moments: vec![
                    at(Happening::First(Revision(3))),
                    at(Happening::Acquired(Revision(3), Duration::from_secs(1))),
                ],
                ..PlayPicture::default()
            })));
            let play = model.model.live().play.as_deref().unwrap();
            play.happened().iter().map(|happened| sentence(happened, play).0).collect::<Vec<_>>()
        };
        assert_eq!(
            said("registration"),
            [
                "the key of client-1 is there from revision 3 on",
                "client-1 is registered, and knows it (token 3, waited 1.0s)"
            ]
        );
        assert_eq!(
            said("single-key"),
            [
                "a is taken by client-1, whose put created the key at revision 3",
                "client-1 holds a: its put created the key (token 3, waited 1.0s)"
            ]
        );
        assert!(said("queue")[0].contains("oldest"));
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
        let said: Vec<_> = play.happened().iter().map(|happened| sentence(happened, play).0).collect();
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
