//! Clients that do all as they should never give cause for a warning: a busy queue, an election
//! with candidates, a single key, sessions that close and open, and now and then a new leader.
//! etcd answers in whole seconds, answers take up to a second, and polls are skipped.

use super::scene::{START, Scene};

/// One step of time, in milliseconds.
const STEP: i64 = 50;

/// Numbers that look random and are the same each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        i64::try_from(self.0 % u64::try_from(most).unwrap()).unwrap()
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Doing {
    Thinking { until: i64 },
    Queueing { since: i64 },
    Holding { until: i64 },
}

struct Client {
    lock: &'static str,
    value: &'static str,
    single: bool,
    /// How long it thinks and holds, at most.
    think: i64,
    hold: i64,
    ttl: i64,
    lease: i64,
    end: i64,
    renews: i64,
    doing: Doing,
}

impl Client {
    fn key(&self) -> String {
        if self.single { self.lock.to_owned() } else { format!("{}/{:x}", self.lock, self.lease) }
    }

    /// Renews at Go's first tick of half a second after a third of the time, a little late.
    fn renew(&mut self, now: i64, chance: &mut Chance) {
        self.end = now + self.ttl * 1_000;
        self.renews = now + (self.ttl * 1_000 / 3 + 499) / 500 * 500 + chance.below(150);
    }
}

struct World {
    scene: Scene,
    chance: Chance,
    clients: Vec<Client>,
    /// The keys of each lock in the order of their revisions.
    queues: Vec<(String, Vec<String>)>,
    next_lease: i64,
    now: i64,
    answers: Vec<(i64, i64, i64, i64)>,
    no_leader_until: i64,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut clients = Vec::new();
        let mut add = |lock, value, single, think, hold, ttls: &[i64]| {
            clients.extend(ttls.iter().map(|&ttl| Client {
                lock,
                value,
                single,
                think,
                hold,
                ttl,
                lease: 0,
                end: 0,
                renews: 0,
                doing: Doing::Thinking { until: START },
            }));
        };
        add("/play/ledger", "", false, 400, 400, &[5, 5, 5, 2, 2, 3, 4, 7, 60]);
        add("/ctl/scheduler", "host:80", false, 1_500, 60_000, &[10, 2, 15]);
        add("/play/backup/lock", "node", true, 4_000, 3_000, &[10, 60]);
        let mut world = Self {
            scene: Scene::reading(&[]),
            chance: Chance(seed),
            clients,
            queues: Vec::new(),
            next_lease: 0x1000,
            now: START,
            answers: Vec::new(),
            no_leader_until: 0,
        };
        for at in 0..world.clients.len() {
            world.open(at);
        }
        world
    }

    fn open(&mut self, at: usize) {
        self.next_lease += 1;
        self.clients[at].lease = self.next_lease;
        self.clients[at].renew(self.now, &mut self.chance);
        self.list();
    }

    fn list(&mut self) {
        let leases: Vec<i64> = self.clients.iter().map(|client| client.lease).collect();
        self.scene.leases(leases);
    }

    fn queue(&mut self, lock: &str) -> &mut Vec<String> {
        if self.queues.iter().all(|(name, _)| name != lock) {
            self.queues.push((lock.to_owned(), Vec::new()));
        }
        let (_, queue) = self.queues.iter_mut().find(|(name, _)| name == lock).unwrap();
        queue
    }

    fn leave(&mut self, at: usize) {
        let (lock, key) = (self.clients[at].lock, self.clients[at].key());
        self.queue(lock).retain(|known| *known != key);
        self.scene.delete(&key);
        self.clients[at].doing = Doing::Thinking { until: self.now + self.chance.below(self.clients[at].think) };
    }

    fn act(&mut self, at: usize) {
        let (now, lock, key) = (self.now, self.clients[at].lock, self.clients[at].key());
        let first = self.queue(lock).first() == Some(&key);
        match self.clients[at].doing {
            Doing::Thinking { until } if until <= now => {
                if self.chance.below(40) == 0 {
                    self.open(at);
                    return;
                }
                if self.clients[at].single && !self.queue(lock).is_empty() {
                    return;
                }
                self.queue(lock).push(key.clone());
                self.scene.put(&key, self.clients[at].lease, self.clients[at].value);
                self.clients[at].doing = Doing::Queueing { since: now };
            }
            Doing::Queueing { .. } if first => {
                let until = now + self.chance.below(self.clients[at].hold);
                self.clients[at].doing = Doing::Holding { until };
            }
            // It was a try, or a call with a deadline; some close their session with it.
            Doing::Queueing { since } if now - since > 1_500 && self.chance.below(60) == 0 => {
                self.leave(at);
                if self.chance.below(2) == 0 {
                    self.open(at);
                }
            }
            Doing::Holding { until } if until <= now => self.leave(at),
            Doing::Thinking { .. } | Doing::Queueing { .. } | Doing::Holding { .. } => {}
        }
    }

    fn step(&mut self) {
        self.now += STEP;
        let asked = self.scene.pass(STEP);
        let leads = self.now >= self.no_leader_until;
        for lease in asked {
            // Some questions are never answered.
            if self.chance.below(8) > 0 {
                let delay = self.chance.below(900) * self.chance.below(2);
                let (ttl, left) = self.left(lease.0);
                self.answers.push((self.now.max(self.no_leader_until) + delay, lease.0, ttl, left));
            }
        }
        let (due, later) = std::mem::take(&mut self.answers).into_iter().partition(|(at, ..)| *at <= self.now);
        self.answers = later;
        let due: Vec<(i64, i64, i64, i64)> = due;
        for (_, lease, ttl, left) in due {
            self.scene.ttl(lease, ttl, left);
        }
        if !leads {
            return;
        }
        if self.chance.below(180_000 / STEP) == 0 {
            self.no_leader_until = self.now + 2_000;
            self.scene.elect();
            // What was asked of the old leader is never answered.
            self.answers.clear();
            for at in 0..self.clients.len() {
                self.clients[at].end = self.no_leader_until + self.clients[at].ttl * 1_000;
                self.clients[at].renews += 2_000;
            }
            return;
        }
        for at in 0..self.clients.len() {
            if self.clients[at].renews <= self.now {
                let now = self.now;
                self.clients[at].renew(now, &mut self.chance);
            }
            self.act(at);
        }
    }

    /// What the leader says of a lease: granted and whole seconds left.
    fn left(&self, lease: i64) -> (i64, i64) {
        let known = self.clients.iter().find(|client| client.lease == lease);
        known.map_or((0, -1), |client| (client.ttl, (client.end - self.now.max(self.no_leader_until)) / 1_000))
    }
}

#[test]
fn clients_that_do_as_they_should_give_no_cause_for_a_warning() {
    for seed in [7, 1_009] {
        let mut world = World::new(seed);
        for step in 0..10 * 60_000 / STEP {
            world.step();
            if step % 4 == 0 {
                let alarms = world.scene.wrongs();
                let after = world.now - START;
                assert!(alarms.is_empty(), "seed {seed}, after {after} ms: {alarms:?}");
            }
        }
        let lock = world.scene.model.live().lock_named(b"/play/ledger").unwrap();
        assert!(lock.handovers().iter().sum::<u32>() > 300, "it was busy");
    }
}

#[test]
fn one_client_that_renews_no_more_gives_cause() {
    let mut world = World::new(7);
    let leader = world.clients.iter().position(|client| client.lock == "/ctl/scheduler").unwrap();
    for _ in 0..30_000 / STEP {
        world.clients[leader].renews = i64::MAX / 2;
        world.step();
        if !world.scene.wrongs().is_empty() {
            return;
        }
    }
    panic!("its lease of {} s fell, and nobody was told", world.clients[leader].ttl);
}
