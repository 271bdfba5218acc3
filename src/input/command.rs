//! The command line behind `:`: what its words mean, and how they complete.
//!
//! A table like the keymap: a command that is not in it does not exist, in the help no less
//! than in the parser. Where there is an embedded cluster, or clients play, the words of faults and
//! of orders are commands as well.

mod complete;
mod table;

use std::fmt;

use thiserror::Error;

use super::action::{Action, Wish};
use super::seek::{SeekError, SeekTo};
use super::{Screen, Sort};
use crate::domain::play::order;
use crate::domain::play::{ClientId, Order, Whom};
use crate::domain::raft::fault::{WORDS, Word};
use crate::domain::raft::{Fault, NodeId};
use crate::domain::{LeaseId, Sentence, WordError};

pub use complete::complete;
pub use table::{COMMANDS, Entry};

use table::Kind;

/// What a command asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// The same as a key does.
    Do(Action),
    /// Sort by a column, in its own order or the other way round.
    Sort(Sort, Direction),
    /// Use the theme of this name.
    Theme(String),
    /// Filter by this text; an empty one takes the filter away.
    Filter(String),
    /// Open the lock of this name.
    Lock(String),
    /// Do something to the embedded cluster.
    Fault(Fault),
    /// Do something to the simulated clients.
    Order(Order),
    /// Open the dialog about revoking this lease.
    Revoke(LeaseId),
    /// Open the dialog about deleting this key, or that of the holder of the lock of this name.
    Release(String),
    /// Open the dialog about moving the lead to the member of this name.
    MoveLeader(String),
    /// Go to a place in the recording that is replayed.
    Seek(SeekTo),
    /// Go on to the next thing that happens to a lock or key with this in its name.
    Find(String),
    /// Record into this file.
    Record(String),
}

/// Which way to sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The way the column sorts by itself.
    Own,
    /// Smallest first.
    Ascending,
    /// Largest first.
    Descending,
}

/// Why a command cannot be carried out. The message quotes what was typed and says what could be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CommandError {
    /// Nothing is called that.
    Unknown(String),
    /// Several commands start so.
    Ambiguous(String, String),
    /// What follows the command's name, or the line of a fault or an order, is not what it takes.
    Word(#[from] WordError),
    /// A place in a recording is not what can be read as one.
    Seek(#[from] SeekError),
    /// Only simulated clients can be told that.
    NeedsPlay(&'static str),
    /// Nobody leads who could be meant.
    NoLeader(&'static str),
    /// Only an embedded cluster can be told that.
    NeedsEmbedded(&'static str),
}

impl CommandError {
    /// The message, with what was typed apart from its words.
    pub fn sentence(&self) -> Sentence {
        let of = |words, name: &str| Sentence::new(words).with("name", name.to_owned());
        match self {
            Self::Unknown(name) => of("no command `{name}`; Tab goes through the commands", name),
            Self::Ambiguous(name, all) => of("`{name}` could be {all}", name).with("all", all.clone()),
            Self::Word(error) => error.sentence(),
            Self::Seek(error) => error.sentence(),
            Self::NeedsPlay(name) => of("`{name}` needs clients that play: `lockscope demo` has some", name),
            Self::NoLeader(name) => {
                of("`{name} leader`: no node leads now; wait for an election, or name a node", name)
            }
            Self::NeedsEmbedded(name) => of("`{name}` needs an embedded cluster: `lockscope demo` starts one", name),
        }
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sentence().fmt(f)
    }
}

/// What there is for a command to name.
#[derive(Clone, Copy, Debug, Default)]
pub struct Names<'a> {
    /// The themes.
    pub themes: &'a [String],
    /// The nodes of the embedded cluster; `None` where there is none.
    pub nodes: Option<&'a [NodeId]>,
    /// The one of them that leads.
    pub leader: Option<NodeId>,
    /// The simulated clients; `None` where there are none.
    pub clients: Option<&'a [ClientId]>,
    /// The members of the cluster.
    pub members: &'a [String],
}

/// Reads a line, with or without its colon. A name may be shortened as long as one command
/// alone starts so. An empty line asks for nothing.
///
/// # Errors
/// When no command is meant, or its arguments are not what it takes.
pub fn parse(line: &str, names: Names<'_>) -> Result<Option<Command>, CommandError> {
    let line = line.trim_start_matches([':', ' ']).trim_end();
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if name.is_empty() {
        return Ok(None);
    }
    let rest = rest.trim();
    let entry = match find(name, rest, names)? {
        Found::Order(word) if names.clients.is_some() => {
            return Ok(Some(Command::Order(format!("{} {rest}", word.name).parse()?)));
        }
        Found::Order(word) => return Err(CommandError::NeedsPlay(word.name)),
        Found::Entry(entry) => entry,
        Found::Both(entry, _) if rest.is_empty() => entry,
        Found::Word(word) | Found::Both(_, word) if names.nodes.is_some() => {
            return Ok(Some(Command::Fault(format!("{} {}", word.name, named(word, rest, names)?).parse()?)));
        }
        Found::Word(word) | Found::Both(_, word) => return Err(CommandError::NeedsEmbedded(word.name)),
    };
    let themes = names.themes;
    let word = entry.names[0];
    let missing = |wanted| CommandError::Word(WordError::Missing { word, wanted });
    let wrong = |wanted, said: &str| CommandError::Word(WordError::argument(word, wanted, said));
    let too_much = |said: &str| CommandError::Word(WordError::TooMuch { word, said: said.to_owned() });
    let mut words = rest.split_whitespace();
    let command = match entry.kind {
        Kind::Plain(action) if rest.is_empty() => Command::Do(action),
        Kind::Plain(_) => return Err(too_much(rest)),
        // Keys may have spaces in them, so the whole rest is the text.
        Kind::Filter => Command::Filter(rest.into()),
        Kind::Seek if rest.is_empty() => return Err(missing(SeekTo::EXAMPLES)),
        Kind::Seek => Command::Seek(rest.parse()?),
        Kind::Find if rest.is_empty() => return Err(missing("a text")),
        Kind::Find => Command::Find(rest.into()),
        Kind::Record if rest.is_empty() => Command::Do(Action::Record),
        Kind::Record => Command::Record(rest.into()),
        Kind::Lock if rest.is_empty() => Command::Do(Action::Show(Screen::Lock)),
        Kind::Lock => Command::Lock(rest.into()),
        Kind::Revoke if rest.is_empty() => Command::Do(Action::Write(Wish::Revoke)),
        Kind::Revoke => match LeaseId::parse_hex(rest) {
            Ok(lease) if !lease.is_none() => Command::Revoke(lease),
            _ => return Err(wrong("a lease id in hexadecimal", rest)),
        },
        Kind::Release if rest.is_empty() => Command::Do(Action::Write(Wish::Release)),
        Kind::Release => Command::Release(rest.into()),
        Kind::MoveLeader if rest.is_empty() => {
            return Err(missing("the name of a member"));
        }
        Kind::MoveLeader => Command::MoveLeader(rest.into()),
        Kind::Theme if rest.is_empty() => return Err(missing("the name of a theme")),
        Kind::Theme if themes.iter().any(|theme| theme == rest) => Command::Theme(rest.into()),
        Kind::Theme => return Err(wrong("the name of a theme", rest)),
        Kind::Sort => {
            let (column, direction) = (words.next(), words.next());
            if let Some(more) = words.next() {
                return Err(too_much(more));
            }
            let column = column.ok_or_else(|| missing(SORTS))?;
            let sort = Sort::ALL.into_iter().find(|sort| sort.name().eq_ignore_ascii_case(column));
            let sort = sort.ok_or_else(|| wrong(SORTS, column))?;
            match direction {
                None => Command::Sort(sort, Direction::Own),
                Some("asc") => Command::Sort(sort, Direction::Ascending),
                Some("desc") => Command::Sort(sort, Direction::Descending),
                Some(other) => {
                    return Err(wrong("asc or desc behind the column", other));
                }
            }
        }
    };
    Ok(Some(command))
}

/// What stands for the node that leads, as in scenarios.
const LEADER: &str = "leader";

/// What follows a fault's word, with the leader's name in its place.
fn named(word: &Word, rest: &str, names: Names<'_>) -> Result<String, CommandError> {
    if !word.takes_node() {
        return Ok(rest.into());
    }
    let name = |said: &str| match (said, names.leader) {
        (LEADER, Some(leader)) => Ok(leader.to_string()),
        (LEADER, None) => Err(CommandError::NoLeader(word.name)),
        _ => Ok(said.to_owned()),
    };
    let said: Vec<String> = rest.split_whitespace().map(name).collect::<Result<_, _>>()?;
    Ok(said.join(" "))
}

const SORTS: &str = "weight, wait, name, held, ttl or handovers";

/// What a name stands for.
#[derive(Clone, Copy)]
enum Found {
    /// A command of the table.
    Entry(&'static Entry),
    /// A fault.
    Word(&'static Word),
    /// Both: the command by itself, the fault with what follows it.
    Both(&'static Entry, &'static Word),
    /// An order to the clients.
    Order(&'static order::Word),
}

/// The command that is called `name`, or the only one that starts so. Faults and orders may be
/// shortened only where there is something to do them to: elsewhere they must not stand in the
/// way of a command. What follows tells a fault from an order of the same name, and so it tells
/// an order from a write: where clients play, `release holder` is an order to one of them, and
/// `release /jobs/reindex` opens the dialog about that lock, as it does everywhere else.
fn find(name: &str, rest: &str, names: Names<'_>) -> Result<Found, CommandError> {
    let entry = COMMANDS.iter().find(|entry| entry.names.contains(&name));
    let fault = Word::find(name);
    if let Some(word) = order::Word::find(name) {
        let whom = rest.split_whitespace().next().is_some_and(|whom| whom.parse::<Whom>().is_ok());
        let is_plain = entry.is_some() && rest.is_empty();
        let is_write = entry.is_some_and(|entry| entry.kind.is_write()) && !(whom && names.clients.is_some());
        let only = fault.is_none() || (names.clients.is_some() && names.nodes.is_none());
        if !is_plain && !is_write && (only || whom) {
            return Ok(Found::Order(word));
        }
    }
    match (entry, fault) {
        (Some(entry), Some(word)) => return Ok(Found::Both(entry, word)),
        (Some(entry), None) => return Ok(Found::Entry(entry)),
        (None, Some(word)) => return Ok(Found::Word(word)),
        (None, None) => {}
    }
    let starting: Vec<&str> = offered(names).into_iter().filter(|offered| offered.starts_with(name)).collect();
    match starting[..] {
        [] => Err(CommandError::Unknown(name.into())),
        [only] => find(only, rest, names),
        _ => Err(CommandError::Ambiguous(name.into(), starting.join(", "))),
    }
}

/// The names of all commands, on an embedded cluster of all faults, and where clients play of all
/// orders.
fn offered(names: Names<'_>) -> Vec<&'static str> {
    let mut offered: Vec<&str> = COMMANDS.iter().map(|entry| entry.names[0]).collect();
    let faults = WORDS.iter().map(|word| word.name).filter(|_| names.nodes.is_some());
    let orders = order::WORDS.iter().map(|word| word.name).filter(|_| names.clients.is_some());
    for name in faults.chain(orders) {
        if !offered.contains(&name) {
            offered.push(name);
        }
    }
    offered
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: [NodeId; 3] = [NodeId(1), NodeId(2), NodeId(3)];

    fn themes() -> Vec<String> {
        ["dark", "light", "mono"].map(String::from).to_vec()
    }

    fn read(line: &str) -> Result<Option<Command>, String> {
        parse(line, Names { themes: &themes(), ..Names::default() }).map_err(|error| error.to_string())
    }

    /// The same where there is an embedded cluster.
    fn read_embedded(line: &str) -> Result<Option<Command>, String> {
        parse(line, Names { themes: &themes(), nodes: Some(&NODES), leader: Some(NodeId(2)), ..Names::default() })
            .map_err(|error| error.to_string())
    }

    #[test]
    fn faults_are_commands_on_an_embedded_cluster() {
        for (line, fault) in [
            (":kill n1", Fault::Kill(NodeId(1))),
            (":cut n1  n2", Fault::Cut(NodeId(1), NodeId(2))),
            (":iso n9", Fault::Isolate(NodeId(9))),
            (":pause n2", Fault::Pause(NodeId(2))),
            (":kill leader", Fault::Kill(NodeId(2))),
            (":cut n1 leader", Fault::Cut(NodeId(1), NodeId(2))),
            (":heal", Fault::Heal),
        ] {
            assert_eq!(read_embedded(line), Ok(Some(Command::Fault(fault))), "{line}");
        }
        assert_eq!(read_embedded(":pause"), Ok(Some(Command::Do(Action::Pause))), "by itself it is about the screen");
        assert_eq!(read_embedded(":kill"), Err("`kill` wants a node such as n1".into()));
        assert_eq!(read_embedded(":s"), Err("`s` could be sort, seek, start, speed, step".into()));
    }

    #[test]
    fn while_nobody_leads_the_leader_is_nobody() {
        let names = Names { nodes: Some(&NODES), ..Names::default() };
        let error = parse("kill leader", names).unwrap_err();
        assert_eq!(error.to_string(), "`kill leader`: no node leads now; wait for an election, or name a node");
    }

    #[test]
    fn elsewhere_a_fault_says_what_it_needs_and_stands_in_nobodys_way() {
        let needs = |word: &str| Err(format!("`{word}` needs an embedded cluster: `lockscope demo` starts one"));
        assert_eq!(read(":kill n1"), needs("kill"));
        assert_eq!(read(":pause n1"), needs("pause"));
        assert_eq!(read(":kil n1"), Err("no command `kil`; Tab goes through the commands".into()));
        assert_eq!(read(":so ttl"), Ok(Some(Command::Sort(Sort::Ttl, Direction::Own))));
    }

    #[test]
    fn faults_complete_with_the_nodes_there_are() {
        let complete = |line: &str| complete(line, Names { nodes: Some(&NODES), ..Names::default() }, []);
        assert_eq!(complete("ki"), ["kill"]);
        assert_eq!(complete("kill "), ["kill n1", "kill n2", "kill n3"]);
        assert_eq!(complete("cut n1 "), ["cut n1 n2", "cut n1 n3"]);
        assert_eq!(complete("prevote o"), ["prevote on", "prevote off"]);
        assert_eq!(complete("delay "), Vec::<String>::new());
        assert_eq!(complete("pa"), ["pause"], "once, though it is two commands");
    }

    #[test]
    fn orders_are_commands_where_clients_play_and_a_client_tells_them_from_faults() {
        let clients = [ClientId(1), ClientId(12)];
        let read = |line: &str, nodes| {
            let names = Names { nodes, clients: Some(&clients), ..Names::default() };
            parse(line, names).map_err(|error| error.to_string())
        };
        let order = |line: &str| Ok(Some(Command::Order(line.parse().unwrap())));
        for nodes in [None, Some(&NODES[..])] {
            for line in ["pause client-1", "cut holder", "crash waiter", "skew client-12 -3s", "add 3"] {
                assert_eq!(read(line, nodes), order(line), "{line}");
            }
            assert_eq!(read(":heart client-1 9s", nodes), order("heartbeat client-1 9s"));
            assert_eq!(read(":pause", nodes), Ok(Some(Command::Do(Action::Pause))));
        }
        assert_eq!(read(":pause n1", Some(&NODES)), Ok(Some(Command::Fault(Fault::Pause(NodeId(1))))));
        assert_eq!(
            read(":pause n1", None),
            Err("`pause` wants a client such as client-1, holder or waiter, not `n1`".into())
        );
        assert_eq!(
            self::read(":crash holder"),
            Err("`crash` needs clients that play: `lockscope demo` has some".into())
        );
        assert_eq!(
            self::read(":pause client-1"),
            Err("`pause` needs clients that play: `lockscope demo` has some".into())
        );
        let names = Names { nodes: Some(&NODES), clients: Some(&clients), ..Names::default() };
        assert_eq!(
            complete("crash ", names, []),
            ["crash holder", "crash waiter", "crash client-1", "crash client-12"]
        );
        assert_eq!(complete("pause n", names, []), ["pause n1", "pause n2", "pause n3"]);
        assert_eq!(complete("pause cl", names, []), ["pause client-1", "pause client-12"]);
        assert_eq!(complete("cra", names, []), ["crash"]);
    }

    #[test]
    fn a_client_behind_it_tells_an_order_from_a_write() {
        let clients = [ClientId(1)];
        let playing = Names { clients: Some(&clients), nodes: Some(&NODES), ..Names::default() };
        let read = |line: &str, names: Names<'_>| parse(line, names).map_err(|error| error.to_string());
        for whom in ["holder", "client-1"] {
            for word in ["release", "revoke"] {
                let line = format!("{word} {whom}");
                assert_eq!(read(&line, playing), Ok(Some(Command::Order(line.parse().unwrap()))), "{line}");
            }
        }
        for names in [playing, Names::default()] {
            assert_eq!(read("release /jobs/a", names), Ok(Some(Command::Release("/jobs/a".into()))));
            assert_eq!(read("release", names), Ok(Some(Command::Do(Action::Write(Wish::Release)))));
            assert_eq!(read("rev 0x0a1", names), Ok(Some(Command::Revoke(LeaseId(0xa1)))));
            assert_eq!(read("move-leader etcd-2", names), Ok(Some(Command::MoveLeader("etcd-2".into()))));
            assert_eq!(read("disarm", names), Ok(Some(Command::Do(Action::Write(Wish::Disarm)))));
            let not = Err("`revoke` wants a lease id in hexadecimal, not `jobs`".into());
            assert_eq!(read("revoke jobs", names), not);
            assert_eq!(read("revoke 0", names), Err("`revoke` wants a lease id in hexadecimal, not `0`".into()));
        }
        assert_eq!(read("release holder", Names::default()), Ok(Some(Command::Release("holder".into()))));
        assert_eq!(complete("release ", playing, ["/jobs/a"])[..2], ["release holder", "release waiter"]);
        assert_eq!(complete("release /", playing, ["/jobs/a"]), ["release /jobs/a"]);
        assert_eq!(complete("release ", Names::default(), ["/jobs/a"]), ["release /jobs/a"]);
        let members = ["etcd-1".to_owned()];
        assert_eq!(complete("move-leader e", Names { members: &members, ..playing }, []), ["move-leader etcd-1"]);
    }

    #[test]
    fn commands_are_read_by_name_short_name_and_beginning() {
        let quit = Ok(Some(Command::Do(Action::Quit)));
        for line in ["q", ":q", ":quit", ": quit ", "qu"] {
            assert_eq!(read(line), quit, "{line:?}");
        }
        assert_eq!(read(":lock"), Ok(Some(Command::Do(Action::Show(Screen::Lock)))), "a whole name beats a beginning");
        assert_eq!(read(":lock /a b"), Ok(Some(Command::Lock("/a b".into()))));
        assert_eq!(read(":sort TTL"), Ok(Some(Command::Sort(Sort::Ttl, Direction::Own))));
        assert_eq!(read(":sort name desc"), Ok(Some(Command::Sort(Sort::Name, Direction::Descending))));
        assert_eq!(read(":theme light"), Ok(Some(Command::Theme("light".into()))));
        assert_eq!(read(":filter"), Ok(Some(Command::Filter(String::new()))));
        assert_eq!(read(":filter !/jobs/ x"), Ok(Some(Command::Filter("!/jobs/ x".into()))));
        assert_eq!(read(" : "), Ok(None));
    }

    #[test]
    fn mistakes_are_named_with_what_would_do() {
        let wrong = [
            (":frob", "no command `frob`; Tab goes through the commands"),
            (":lo", "`lo` could be locks, lock, log"),
            (":sort", "`sort` wants weight, wait, name, held, ttl or handovers"),
            (":sort size", "`sort` wants weight, wait, name, held, ttl or handovers, not `size`"),
            (":sort ttl up", "`sort` wants asc or desc behind the column, not `up`"),
            (":sort ttl asc now", "`sort` takes nothing more, not `now`"),
            (":theme", "`theme` wants the name of a theme"),
            (":theme neon", "`theme` wants the name of a theme, not `neon`"),
            (":quit now", "`quit` takes nothing more, not `now`"),
        ];
        for (line, message) in wrong {
            assert_eq!(read(line), Err(message.into()), "{line:?}");
        }
    }

    #[test]
    fn the_last_word_completes() {
        let complete =
            |line: &str| complete(line, Names { themes: &themes(), ..Names::default() }, ["/jobs/a", "/leader"]);
        assert_eq!(complete(":lo"), ["locks", "lock", "log"]);
        assert_eq!(complete("theme "), ["theme dark", "theme light", "theme mono"]);
        assert_eq!(complete("theme l"), ["theme light"]);
        assert_eq!(complete("sort h"), ["sort held", "sort handovers"]);
        assert_eq!(complete("sort held d"), ["sort held desc"]);
        assert_eq!(complete("lock /j"), ["lock /jobs/a"]);
        assert_eq!(complete("quit n"), Vec::<String>::new());
        assert_eq!(complete("frob x"), Vec::<String>::new());
        assert_eq!(complete("").len(), COMMANDS.len());
    }

    #[test]
    fn every_completed_command_is_understood() {
        for line in complete("", Names { themes: &themes(), ..Names::default() }, []) {
            let understood = read(&line);
            assert!(
                !matches!(&understood, Err(message) if message.starts_with("no command")),
                "{line}: {understood:?}"
            );
        }
    }
}
