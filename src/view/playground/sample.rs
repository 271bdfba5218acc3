//! A made-up run with everything in it: a client that is paused past its lease and wakes with a
//! stale belief, one that crashes, one that loses its link, and storage that checks tokens.

use std::time::Duration;

use crate::domain::play::{
    Belief, ClientId, ClientPicture, Expected, Happening, Ill, Life, Moment, Narration, PlayPicture, ResourcePicture,
    Stake, Step,
};
use crate::domain::raft::ClusterTime;
use crate::domain::{Key, LeaseId, Revision, Term};

const LOCK: &str = "/demo/ledger";

/// A moment at a time in milliseconds.
fn at(millis: u64, client: u32, what: Happening) -> Moment {
    let lock: Key = match what {
        Happening::Wrote(_) | Happening::Damaged(..) | Happening::Refused(..) => "storage",
        _ => LOCK,
    }
    .into();
    Moment { at: ClusterTime(millis * 1_000), lock, client: (client > 0).then_some(ClientId(client)), what }
}

fn client(id: u32, belief: Belief, place: Option<usize>, created: i64, ahead: Option<u32>) -> ClientPicture {
    let key = |id: u32| -> Key { format!("{LOCK}/694d82254d5f{id:04x}").as_str().into() };
    let lease = LeaseId(0x694d_8225_4d5f_0000 | i64::from(id));
    ClientPicture {
        id: ClientId(id),
        recipe: "six-steps".into(),
        lock: LOCK.into(),
        life: Life::Up,
        step: match belief {
            Belief::Holding => Step::Work,
            Belief::Waiting => Step::Watch,
            Belief::Idle | Belief::Lost => Step::Prepare,
        },
        belief,
        place,
        stake: if created > 0 {
            Stake { key: key(id), lease, created: Revision(created), ahead: ahead.map(key) }
        } else {
            Stake { lease, ..Stake::default() }
        },
        ttl: Duration::from_secs(5),
        heartbeat: Duration::from_millis(1_600),
        ..ClientPicture::default()
    }
}

/// The run at 20 seconds.
pub fn picture() -> PlayPicture {
    let wait = Duration::from_millis;
    let moments = vec![
        at(100, 0, Happening::Term(Term(2))),
        at(900, 0, Happening::Told(0)),
        at(1_000, 1, Happening::Began),
        at(1_200, 1, Happening::Enqueued(Revision(391))),
        at(1_250, 1, Happening::First(Revision(391))),
        at(1_300, 1, Happening::Acquired(Revision(391), wait(100))),
        at(1_500, 2, Happening::Enqueued(Revision(392))),
        at(2_000, 3, Happening::Enqueued(Revision(393))),
        at(2_400, 4, Happening::Enqueued(Revision(394))),
        at(2_800, 5, Happening::Enqueued(Revision(395))),
        at(2_900, 1, Happening::Wrote(Revision(391))),
        at(3_900, 1, Happening::Wrote(Revision(391))),
        at(4_400, 1, Happening::Paused),
        at(5_000, 5, Happening::Suffered(Ill::Cut)),
        at(8_000, 5, Happening::Dropped(Revision(401), Belief::Waiting)),
        at(9_400, 1, Happening::Dropped(Revision(402), Belief::Holding)),
        at(9_400, 2, Happening::First(Revision(402))),
        at(9_450, 2, Happening::Acquired(Revision(392), wait(7_950))),
        at(11_000, 2, Happening::Wrote(Revision(392))),
        at(12_000, 5, Happening::Lost(Belief::Waiting)),
        at(12_500, 5, Happening::Enqueued(Revision(405))),
        at(13_000, 0, Happening::Told(1)),
        at(14_000, 1, Happening::Resumed),
        at(14_500, 1, Happening::Refused(Revision(391), Revision(392))),
        at(14_800, 1, Happening::Lost(Belief::Holding)),
        at(16_000, 2, Happening::Wrote(Revision(392))),
        at(17_000, 4, Happening::Crashed(Belief::Waiting)),
        at(18_000, 3, Happening::Suffered(Ill::Skew(-2_500))),
    ];
    let expected = |text: &str, held, evidence: &str| Expected { text: text.into(), held, evidence: evidence.into() };
    PlayPicture {
        now: ClusterTime(20_000_000),
        scenario: "zombie".into(),
        summary: "A client is paused past its lease and wakes believing that it still holds.".into(),
        summary_zh: "客户端停顿超过租约，醒来仍以为自己持有锁。".into(),
        lock: LOCK.into(),
        clients: vec![
            client(1, Belief::Lost, None, 0, None),
            client(2, Belief::Holding, Some(0), 392, None),
            ClientPicture { skew_ms: -2_500, ..client(3, Belief::Waiting, Some(1), 393, Some(2)) },
            ClientPicture { life: Life::Gone, ..client(4, Belief::Idle, Some(2), 394, None) },
            ClientPicture { cut: true, ..client(5, Belief::Waiting, Some(3), 405, Some(4)) },
        ],
        resources: vec![ResourcePicture {
            name: "storage".into(),
            fencing: true,
            highest: Revision(392),
            accepted: 4,
            refused: 1,
            stale_accepted: 0,
        }],
        moments,
        before: 0,
        narration: Some(Narration {
            at: ClusterTime(13_000_000),
            en: "client-1 sleeps through its lease. The store has given the lock to client-2; client-1 cannot know."
                .into(),
            zh: "client-1 睡过了它的租约。存储已把锁交给 client-2，而 client-1 无从得知。".into(),
        }),
        expectations: vec![
            expected("no stale write is accepted", Some(true), "1 refused, 0 accepted"),
            expected("the holder changes within 2 s of expiry", Some(true), "50ms after revision 402"),
            expected("everybody holds at least once", None, "2 of 5 so far"),
        ],
    }
}
