//! A small world for the tests of `update`: locks with waiters, and hands that press keys.

use crate::domain::{
    ClusterId, KeyEvent, KeyRange, KeyValue, LeaseId, Member, MemberId, Millis, Revision, Term, Timestamp,
};
use crate::effect::{Effect, Effects};
use crate::event::{Change, Event, LeaseTtl, LinkState, ListPage, Observation, Stamped};
use crate::input::{Chord, Code, Extent, Hits, Input, Mouse, MouseKind, Pane, Rect, Target};
use crate::model::{Facts, Model, Ui};
use crate::update::update;

/// The time at which the world begins.
pub const START: Timestamp = Timestamp(1_000_000);

/// The world.
pub struct World {
    pub model: Model,
    /// What the next input meets.
    pub hits: Hits,
    now: Timestamp,
    revision: i64,
}

impl World {
    /// Locks by name, each with a holder and so many waiters.
    pub fn new(locks: &[(&str, usize)]) -> Self {
        Self::with_budget(200, locks)
    }

    /// The same with so many lease polls a second.
    pub fn with_budget(budget: u32, locks: &[(&str, usize)]) -> Self {
        let themes = ["dark", "light", "mono"].map(String::from).to_vec();
        let ui = Ui { size: (80, 24), themes, theme: "dark".into(), mouse: true, ..Ui::default() };
        let model = Model::new(Facts::new(budget), ui);
        let mut world = Self { model, hits: Hits::default(), now: START, revision: 1 };
        world.observe(Observation::Cluster(ClusterId(1)));
        world.observe(Observation::Link(LinkState::Live { endpoint: "http://a:2379".into() }));
        world.observe(Observation::Scope(vec![KeyRange::prefix(b"")]));
        world.list(locks);
        let members = ["a", "b", "c"].into_iter().zip(1..).map(|(name, id)| Member {
            id: MemberId(id),
            name: name.into(),
            ..Member::default()
        });
        world.observe(Observation::Members(members.collect()));
        world.shown(Pane::Locks, 10, locks.len());
        world
    }

    /// Reads the whole keyspace anew: these locks and nothing else.
    pub fn list(&mut self, locks: &[(&str, usize)]) {
        let mut keys = Vec::new();
        for (name, waiters) in locks {
            for nth in 0..=*waiters {
                let lease = lease_of(name, nth);
                self.revision += 1;
                keys.push(KeyValue {
                    key: format!("{name}/{lease}").as_str().into(),
                    create_revision: Revision(self.revision),
                    mod_revision: Revision(self.revision),
                    version: 1,
                    lease,
                    ..KeyValue::default()
                });
            }
        }
        keys.sort_by(|a, b| a.key.cmp(&b.key));
        let (range, revision) = (KeyRange::prefix(b""), Revision(self.revision));
        self.observe(Observation::Listed(ListPage { range, revision, keys, first: true, last: true }));
        self.pass(0);
    }

    /// Another client enqueues.
    pub fn enqueue(&mut self, name: &str) {
        self.revision += 1;
        let (revision, lease) = (Revision(self.revision), LeaseId(0x7777_0000 + self.revision));
        let key = format!("{name}/{lease}").as_str().into();
        let kv = KeyValue {
            key,
            create_revision: revision,
            mod_revision: revision,
            version: 1,
            lease,
            ..KeyValue::default()
        };
        self.observe(Observation::Watched(vec![Change { revision, event: KeyEvent::Put(kv) }]));
        self.pass(0);
    }

    pub fn observe(&mut self, what: Observation) {
        let at = self.now;
        update(&mut self.model, Event::Observed(Stamped { at, what }));
    }

    /// Answers the poll of a lease.
    pub fn ttl(&mut self, lease: LeaseId, granted: i64, remaining: i64) {
        self.observe(Observation::LeaseTtl(LeaseTtl { lease, granted, remaining, keys: None, term: Term(0) }));
    }

    /// Lets time pass.
    pub fn pass(&mut self, ms: i64) -> Effects {
        self.now = self.now + Millis(ms);
        update(&mut self.model, Event::Tick(self.now))
    }

    /// Lets time pass that nobody tells the model of.
    pub fn let_pass(&mut self, ms: i64) {
        self.now = self.now + Millis(ms);
    }

    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// Has a pane be the only one that was drawn, in the rows from the second on.
    pub fn shown(&mut self, pane: Pane, rows: usize, len: usize) {
        self.hits = Hits::default();
        self.also_shown(pane, rows, len);
    }

    /// Adds a pane to those that were drawn.
    pub fn also_shown(&mut self, pane: Pane, rows: usize, len: usize) {
        let height = u16::try_from(rows).unwrap();
        self.hits.push_pane(Rect { x: 0, y: 1, width: 80, height }, pane, Extent { rows, len });
    }

    pub fn input(&mut self, input: Input) -> Effects {
        let effects = update(&mut self.model, Event::Input(input, self.hits.clone()));
        self.pass(0);
        effects
    }

    /// Presses keys one after another: characters, and names in angle brackets such as
    /// `<Enter>` and `<C-c>`. Returns what the last of them led to.
    pub fn keys(&mut self, keys: &str) -> Effects {
        let mut effects = Effects::new();
        let mut rest = keys;
        while let Some(char) = rest.chars().next() {
            let named = rest.strip_prefix('<').and_then(|rest| rest.split_once('>'));
            let (chord, after) = match named {
                Some((name, after)) => (chord(name), after),
                None => (Chord::char(char), &rest[char.len_utf8()..]),
            };
            effects = self.input(Input::Key(chord));
            rest = after;
        }
        effects
    }

    /// Clicks on something.
    pub fn click(&mut self, target: Target) -> Effects {
        let hits = self.hits.clone();
        self.hits.push(Rect { x: 7, y: 7, width: 1, height: 1 }, target);
        let effects = self.input(Input::Mouse(Mouse { kind: MouseKind::Press, column: 7, row: 7 }));
        self.hits = hits;
        effects
    }

    /// The names of the listed locks.
    pub fn listed(&self) -> Vec<String> {
        let facts = self.model.shown();
        let rows = self.model.ui.lock_order.rows().iter().filter_map(|&ix| facts.lock(ix));
        rows.map(|lock| String::from_utf8_lossy(lock.name()).into_owned()).collect()
    }

    /// The name of the selected lock.
    pub fn selected(&self) -> String {
        let lock = self.model.ui.selected_lock(self.model.shown());
        lock.map(|lock| String::from_utf8_lossy(lock.name()).into_owned()).unwrap_or_default()
    }

    /// The message that is shown.
    pub fn toast(&self) -> String {
        self.model.ui.toast.as_ref().map(|toast| toast.notice.to_string()).unwrap_or_default()
    }
}

/// The lease of the `nth` client of a lock, the holder first.
pub fn lease_of(name: &str, nth: usize) -> LeaseId {
    let sum = name.bytes().fold(7_i64, |sum, byte| (sum * 31 + i64::from(byte)) % 0xfff_ffff);
    LeaseId((sum << 16) + 1 + i64::try_from(nth).unwrap())
}

/// What an effect copies.
pub fn copied(effects: &[Effect]) -> Option<&str> {
    effects.iter().find_map(|effect| match effect {
        Effect::Copy(text) => Some(text.as_str()),
        _ => None,
    })
}

fn chord(name: &str) -> Chord {
    if let Some(key) = name.strip_prefix("C-") {
        return Chord::ctrl(key.chars().next().unwrap());
    }
    Chord::plain(match name {
        "Enter" => Code::Enter,
        "Esc" => Code::Esc,
        "Tab" => Code::Tab,
        "S-Tab" => Code::BackTab,
        "Backspace" => Code::Backspace,
        "Up" => Code::Up,
        "Down" => Code::Down,
        "Left" => Code::Left,
        "Right" => Code::Right,
        "Home" => Code::Home,
        "End" => Code::End,
        "PageUp" => Code::PageUp,
        "PageDown" => Code::PageDown,
        other => panic!("no key {other}"),
    })
}
