//! A run that is told picture by picture.

use std::time::Duration;

use super::*;
use crate::domain::Key;
use crate::domain::play::Step;

/// A run of some clients on one lock with one resource.
struct Run {
    play: Play,
    clients: u32,
    moments: Vec<Moment>,
    /// What happened so far, told or not.
    count: u64,
    now: ClusterTime,
    token: i64,
}

impl Run {
    fn new(clients: u32) -> Self {
        Self { play: Play::default(), clients, moments: Vec::new(), count: 0, now: ClusterTime(0), token: 1 }
    }

    fn client(id: u32) -> ClientPicture {
        ClientPicture { id: ClientId(id), lock: "/demo/ledger".into(), step: Step::Watch, ..ClientPicture::default() }
    }

    fn happens(&mut self, client: u32, what: Happening) {
        let lock: Key = if matches!(what, Happening::Wrote(_)) { "ledger" } else { "/demo/ledger" }.into();
        self.moments.push(Moment { at: self.now, lock, client: Some(ClientId(client)), what });
    }

    /// A client's whole turn, in a tenth of a second.
    fn turn(&mut self, client: u32) {
        self.token += 3;
        let token = Revision(self.token);
        self.happens(client, Happening::Enqueued(token));
        self.now = self.now + Duration::from_millis(50);
        self.happens(client, Happening::First(Revision(self.token + 1)));
        self.happens(client, Happening::Acquired(token, Duration::from_millis(50)));
        self.happens(client, Happening::Wrote(token));
        self.now = self.now + Duration::from_millis(50);
        self.happens(client, Happening::Released(Duration::from_millis(50)));
    }

    fn picture(&mut self) -> PlayPicture {
        let before = self.count;
        self.count += u64::try_from(self.moments.len()).unwrap();
        PlayPicture {
            now: self.now,
            lock: "/demo/ledger".into(),
            clients: (1..=self.clients).map(Self::client).collect(),
            resources: vec![ResourcePicture { name: "ledger".into(), ..ResourcePicture::default() }],
            moments: std::mem::take(&mut self.moments),
            before,
            ..PlayPicture::default()
        }
    }

    fn tell(&mut self) {
        let picture = self.picture();
        self.play.take(picture);
    }

    fn kept(&self) -> (usize, usize) {
        let lanes = || self.play.lanes.values();
        (lanes().map(|lane| lane.stretches().len()).sum(), lanes().map(|lane| lane.marks().len()).sum())
    }
}

#[test]
fn a_day_of_handoffs_takes_no_more_room_than_its_first_hours() {
    for (clients, handoffs) in [(3, 864_000_u32), (200, 36_000)] {
        let mut run = Run::new(clients);
        for handoff in 0..handoffs {
            run.turn(handoff % clients + 1);
            if handoff % 50 == 49 {
                run.tell();
            }
        }
        let (stretches, marks) = run.kept();
        assert!(stretches <= STRETCHES && marks <= STRETCHES, "{stretches} stretches, {marks} marks");
        assert!(stretches > STRETCHES / 2, "what there is room for is kept: {stretches}");
        assert_eq!(run.play.happened().len(), HAPPENED);
        assert_eq!(run.play.writes("ledger").unwrap().len(), WRITES);
        assert_eq!((run.play.count(), run.play.missed()), (u64::from(handoffs) * 5, 0));
        assert_eq!(run.play.now(), ClusterTime(u64::from(handoffs) * 100_000));
    }
}

#[test]
fn a_lane_of_very_many_is_short_and_those_of_the_removed_go() {
    let mut run = Run::new(2_000);
    for round in 0..100 {
        for client in 1..=2_000 {
            run.turn(client);
        }
        run.tell();
        assert!(run.kept().0 <= 2_000 * LEAST, "round {round}");
    }
    run.clients = 10;
    run.tell();
    assert!(run.play.lanes.len() <= 10 + REMOVED, "{}", run.play.lanes.len());
    assert!((1..=10).all(|id| run.play.lane(ClientId(id)).is_some()), "those that play are all there");
}

#[test]
fn moments_keep_their_numbers_and_a_gap_is_counted() {
    let mut run = Run::new(2);
    run.turn(1);
    run.tell();
    run.turn(2);
    run.count += 7;
    run.tell();
    let numbers: Vec<u64> = run.play.happened().iter().map(|happened| happened.number).collect();
    assert_eq!(numbers, [0, 1, 2, 4, 12, 13, 14, 16]);
    assert_eq!((run.play.missed(), run.play.count()), (7, 17));
    assert_eq!(run.play.moment(13).unwrap().moment.client, Some(ClientId(2)));
    assert_eq!(run.play.moment(7), None);
}

#[test]
fn behind_a_gap_lanes_go_on_from_how_the_clients_are() {
    let mut run = Run::new(1);
    run.happens(1, Happening::Enqueued(Revision(7)));
    run.now = ClusterTime(1_000_000);
    run.tell();
    run.now = ClusterTime(5_000_000);
    run.count += 3;
    let mut picture = run.picture();
    (picture.clients[0].belief, picture.clients[0].place) = (Belief::Holding, Some(0));
    run.play.take(picture);
    let lane = run.play.lane(ClientId(1)).unwrap();
    let stretches: Vec<_> = lane.stretches().iter().map(|s| (s.doing, s.from.0, s.to.map(|to| to.0))).collect();
    assert_eq!(stretches, [(Doing::Waiting, 0, Some(1_000_000)), (Doing::Holding, 5_000_000, None)]);
}

#[test]
fn who_waits_for_a_lock_without_a_queue_is_seen_to_wait() {
    let mut run = Run::new(1);
    run.happens(1, Happening::Began);
    let waits = |run: &mut Run, second: u64| {
        run.now = ClusterTime(second * 1_000_000);
        let mut picture = run.picture();
        picture.clients[0].belief = Belief::Waiting;
        run.play.take(picture);
        run.play
            .lane(ClientId(1))
            .unwrap()
            .stretches()
            .iter()
            .map(|s| (s.doing, s.from.0 / 1_000_000))
            .collect::<Vec<_>>()
    };
    assert_eq!(waits(&mut run, 1), [(Doing::Waiting, 1)]);
    assert_eq!(waits(&mut run, 2), [(Doing::Waiting, 1)], "it goes on");
    run.happens(1, Happening::Dropped(Revision(9), Belief::Waiting));
    assert_eq!(waits(&mut run, 3), [(Doing::Waiting, 1)], "in vain, which is not seen as waiting");
    run.happens(1, Happening::Lost(Belief::Waiting));
    assert_eq!(waits(&mut run, 4), [(Doing::Waiting, 1), (Doing::Waiting, 4)], "and anew");
}

#[test]
fn another_run_begins_with_nothing() {
    let mut run = Run::new(1);
    run.turn(1);
    run.tell();
    let mut other = Run::new(1);
    other.happens(1, Happening::Began);
    let picture = other.picture();
    run.play.take(picture);
    assert_eq!((run.play.count(), run.play.happened().len()), (1, 1));
    assert!(run.play.lane(ClientId(1)).unwrap().stretches().is_empty());
}

#[test]
fn a_lease_is_noted_beside_what_happens_to_its_key() {
    let mut run = Run::new(1);
    run.happens(1, Happening::Enqueued(Revision(7)));
    let mut picture = run.picture();
    picture.clients[0].stake.lease = LeaseId(0x11a0);
    run.play.take(picture);
    run.happens(1, Happening::Dropped(Revision(9), Belief::Holding));
    run.tell();
    assert_eq!(run.play.happened().back().unwrap().lease, LeaseId(0x11a0), "though it has none any more");
}

#[test]
fn narrations_are_kept_with_their_numbers_and_writes_with_their_fate() {
    let mut run = Run::new(1);
    for number in 0..100 {
        run.happens(1, Happening::Told(number));
        let mut picture = run.picture();
        picture.narration = Some(Narration { en: format!("chapter {number}"), ..Narration::default() });
        run.play.take(picture);
    }
    let told: Vec<_> = run.play.narrations().map(|(number, told)| (*number, told.en.as_str())).collect();
    assert_eq!((told.len(), told.last()), (TOLD, Some(&(99, "chapter 99"))));
    run.happens(1, Happening::Wrote(Revision(4)));
    run.happens(1, Happening::Refused(Revision(3), Revision(4)));
    run.tell();
    let fates: Vec<_> = run.play.writes("ledger").unwrap().iter().map(|write| (write.token.0, write.fate)).collect();
    assert_eq!(fates, [(4, Fate::Taken), (3, Fate::Refused)]);
}

#[test]
fn the_holder_is_the_stores_and_only_without_one_the_believers() {
    let mut run = Run::new(3);
    let mut picture = run.picture();
    picture.clients[0].belief = Belief::Holding;
    run.play.take(picture.clone());
    assert_eq!(run.play.holder(), Some(ClientId(1)));
    picture.clients[2].place = Some(0);
    run.play.take(picture);
    assert_eq!(run.play.holder(), Some(ClientId(3)));
}

#[test]
fn what_watchers_are_told_of_is_put_once_by_whoever_owns_the_key() {
    let key: Key = "/config/app".into();
    let mut run = Run::new(4);
    let sees = |run: &mut Run, client: u32, sight: Sight| run.happens(client, Happening::Saw(sight));
    for client in 2..=3 {
        sees(&mut run, client, Sight::Changed(key.clone(), b"limit = 1".to_vec()));
    }
    // One that joins reads what is there.
    sees(&mut run, 4, Sight::Appeared(key.clone(), b"limit = 1".to_vec()));
    sees(&mut run, 2, Sight::Changed(key.clone(), b"limit = 2".to_vec()));
    let mut picture = run.picture();
    (picture.clients[0].stake.key, picture.clients[0].recipe) = (key, "publish".into());
    run.play.take(picture);
    let marks = |id| run.play.lane(ClientId(id)).unwrap().marks().iter().map(|mark| mark.what).collect::<Vec<_>>();
    assert_eq!(marks(1), [Marked::Put; 2]);
    assert_eq!((marks(2).len(), marks(3), marks(4)), (2, vec![Marked::Saw], vec![Marked::Saw]));
}

#[test]
fn clients_of_one_lock_stand_in_rows_together_the_runs_own_lock_first() {
    let mut run = Run::new(5);
    let mut picture = run.picture();
    for (at, lock) in [(0, "/b"), (1, "/demo/ledger"), (2, "/a"), (3, "/b"), (4, "/demo/ledger")] {
        picture.clients[at].lock = lock.into();
    }
    run.play.take(picture);
    let rows: Vec<u32> = (0..6).filter_map(|row| run.play.in_row(row)).map(|client| client.id.0).collect();
    assert_eq!(rows, [2, 5, 1, 4, 3]);
    assert!((0..5).all(|row| run.play.row(run.play.in_row(row).unwrap().id) == Some(row)));
    let groups: Vec<_> = run.play.groups().iter().map(|group| (group.lock.clone(), group.start, group.len)).collect();
    assert_eq!(groups, [("/demo/ledger".into(), 0, 2), ("/b".into(), 2, 2), ("/a".into(), 4, 1)]);
}
