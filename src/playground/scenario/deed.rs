//! What a scenario does to its clients and to the cluster, in words.
//!
//! A line is an order to clients or a fault of the cluster. Where a fault names a node, a scenario
//! can say which one it means at that moment: who leads by then is not known when it is written.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::domain::WordError;
use crate::domain::play::{Order, Whom, order};
use crate::domain::raft::{Fault, NodeId, fault};
use crate::nearest;

/// Something that a scenario does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// To clients.
    Order(Order),
    /// To the cluster.
    Fault(FaultLine),
}

/// A fault whose nodes are named by what they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultLine(Vec<Token>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Node(NodeWord),
}

/// A node by what it is at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeWord {
    /// This one.
    Node(NodeId),
    /// Who leads.
    Leader,
    /// Of those that run and do not lead, the so many-th, from 1 on, in the order of their numbers.
    Follower(usize),
    /// The one that was killed first of those that are.
    Killed,
    /// The one that stands still, the first of those that do.
    Paused,
    /// The one to which this client is connected.
    MemberOf(Whom),
}

/// Why a line is no deed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DeedError {
    /// Its first word is none.
    #[error(
        "nothing can be done that is called `{word}`; {}",
        near.map_or_else(all, |near| format!("did you mean `{near}`?"))
    )]
    Unknown {
        /// The word.
        word: String,
        /// What was probably meant.
        near: Option<&'static str>,
    },
    /// It is no order.
    #[error(transparent)]
    Order(WordError),
    /// It is no fault.
    #[error(
        "{0}; a node can also be `leader`, `follower`, `follower-2`, `killed`, `paused`, `member of holder` or \
         `member of client-1`"
    )]
    Fault(WordError),
}

/// All that can be done, for a message.
fn all() -> String {
    let names = |all: Vec<&str>| all.join(", ");
    let orders = names(order::WORDS.iter().map(|word| word.name).collect());
    let faults = names(fault::WORDS.iter().map(|word| word.name).collect());
    format!("to clients there are {orders}; to members there are {faults}")
}

/// Whether it looks like a client's name, be it not quite one.
fn is_about_clients(said: &str) -> bool {
    let said = said.to_lowercase();
    said.starts_with("client") || said.parse::<Whom>().is_ok()
}

impl FromStr for Deed {
    type Err = DeedError;

    /// Reads one line. Some words are both; whom they are about tells them apart.
    fn from_str(line: &str) -> Result<Self, DeedError> {
        let mut words = line.split_whitespace();
        let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (is_order, is_fault) = (order::Word::find(first).is_some(), fault::Word::find(first).is_some());
        match (is_order, is_fault) {
            (true, true) if is_about_clients(second) => line.parse().map(Self::Order).map_err(DeedError::Order),
            (true, false) => line.parse().map(Self::Order).map_err(DeedError::Order),
            (_, true) => FaultLine::read(line).map(Self::Fault),
            (false, false) => {
                let known = order::WORDS.iter().map(|word| word.name);
                let known = known.chain(fault::WORDS.iter().map(|word| word.name));
                Err(DeedError::Unknown { word: first.to_owned(), near: nearest::nearest(first, known) })
            }
        }
    }
}

impl fmt::Display for Deed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Order(order) => order.fmt(f),
            Self::Fault(line) => line.fmt(f),
        }
    }
}

impl FaultLine {
    fn read(line: &str) -> Result<Self, DeedError> {
        let mut tokens = Vec::new();
        let mut words = line.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let node = match word {
                "member" if words.next_if_eq(&"of").is_some() => {
                    words.next().and_then(|whom| whom.parse().ok()).map(NodeWord::MemberOf)
                }
                _ => NodeWord::find(word),
            };
            // The word itself may be one of those that name nodes.
            let token = node.filter(|_| !tokens.is_empty()).map_or_else(|| Token::Word(word.to_owned()), Token::Node);
            tokens.push(token);
        }
        let line = Self(tokens);
        // Any nodes will do to see whether it is a fault.
        let mut number = 0;
        line.fault(|node| {
            number += 1;
            let any = NodeId(u64::MAX - number);
            Some(if let NodeWord::Node(node) = node { node } else { any })
        })
        .map_err(DeedError::Fault)?;
        Ok(line)
    }

    /// The fault that it is when its nodes are these; none when one of them is nowhere.
    ///
    /// # Errors
    /// When it is no fault with them, such as a cut between a node and itself.
    pub fn fault(&self, mut node: impl FnMut(NodeWord) -> Option<NodeId>) -> Result<Option<Fault>, WordError> {
        let mut line = String::new();
        for token in &self.0 {
            let word = match token {
                Token::Word(word) => word.clone(),
                Token::Node(word) => match node(*word) {
                    Some(node) => node.to_string(),
                    None => return Ok(None),
                },
            };
            line.push_str(&word);
            line.push(' ');
        }
        line.parse().map(Some)
    }

    /// The nodes that it names.
    pub fn nodes(&self) -> impl Iterator<Item = NodeWord> {
        self.0.iter().filter_map(|token| match token {
            Token::Node(node) => Some(*node),
            Token::Word(_) => None,
        })
    }
}

impl fmt::Display for FaultLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, token) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(" ")?;
            }
            match token {
                Token::Word(word) => f.write_str(word)?,
                Token::Node(node) => node.fmt(f)?,
            }
        }
        Ok(())
    }
}

impl NodeWord {
    fn find(word: &str) -> Option<Self> {
        Some(match word {
            "leader" => Self::Leader,
            "follower" => Self::Follower(1),
            "killed" => Self::Killed,
            "paused" => Self::Paused,
            _ => match word.strip_prefix("follower-") {
                Some(number) => Self::Follower(number.parse().ok().filter(|number| *number > 0)?),
                None => Self::Node(word.parse().ok()?),
            },
        })
    }
}

impl fmt::Display for NodeWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(node) => node.fmt(f),
            Self::Leader => f.write_str("leader"),
            Self::Follower(1) => f.write_str("follower"),
            Self::Follower(number) => write!(f, "follower-{number}"),
            Self::Killed => f.write_str("killed"),
            Self::Paused => f.write_str("paused"),
            Self::MemberOf(whom) => write!(f, "member of {whom}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::play::{ClientId, Ill};

    fn read(line: &str) -> Result<Deed, String> {
        line.parse().map_err(|error: DeedError| error.to_string())
    }

    fn resolved(line: &str) -> Option<String> {
        let Ok(Deed::Fault(line)) = read(line) else { panic!("{line} is no fault") };
        let node = |word| match word {
            NodeWord::Node(node) => Some(node),
            NodeWord::Leader => Some(NodeId(3)),
            NodeWord::Follower(number @ 1..=2) => Some(NodeId(number as u64)),
            NodeWord::MemberOf(Whom::Holder) => Some(NodeId(2)),
            _ => None,
        };
        line.fault(node).unwrap().map(|fault| fault.to_string())
    }

    #[test]
    fn whom_a_line_is_about_tells_orders_from_faults() {
        let order = Order::Client(Whom::Holder, Ill::Pause);
        assert_eq!(read("pause holder"), Ok(Deed::Order(order)));
        assert_eq!(read("cut client-2"), Ok(Deed::Order(Order::Client(Whom::Client(ClientId(2)), Ill::Cut))));
        for line in
            ["pause leader", "resume paused", "cut n1 n2", "kill follower-2", "isolate member of holder", "heal"]
        {
            assert!(matches!(read(line), Ok(Deed::Fault(_))), "{line}");
            assert_eq!(read(line).unwrap().to_string(), line);
        }
    }

    #[test]
    fn nodes_are_found_when_it_is_done() {
        assert_eq!(resolved("kill leader").as_deref(), Some("kill n3"));
        assert_eq!(resolved("cut leader follower-2").as_deref(), Some("cut n3 n2"));
        assert_eq!(resolved("isolate member of holder").as_deref(), Some("isolate n2"));
        assert_eq!(resolved("delay 50ms").as_deref(), Some("delay 50ms"));
        assert_eq!(resolved("start killed"), None, "nobody was killed");
        assert_eq!(resolved("kill follower-3"), None, "there are two");
    }

    #[test]
    fn mistakes_are_quoted_with_what_could_be() {
        let error = read("isolat leader").unwrap_err();
        assert_eq!(error, "nothing can be done that is called `isolat`; did you mean `isolate`?");
        let error = read("frobnicate client-1").unwrap_err();
        assert!(
            error.contains("`frobnicate`; to clients there are pause, ") && error.contains("; to members "),
            "{error}"
        );
        let error = read("pause CLIENT-1").unwrap_err();
        assert_eq!(error, "`pause` wants a client such as client-1, holder or waiter, not `CLIENT-1`");
        let error = read("kill everybody").unwrap_err();
        assert!(error.starts_with("`kill` wants a node such as n1, not `everybody`; a node can also be "), "{error}");
        assert!(read("pause nobody").unwrap_err().contains("not `nobody`"));
        assert!(read("crash client-0").unwrap_err().starts_with("`crash` wants a client such as client-1, "));
        assert!(read("").unwrap_err().starts_with("nothing can be done that is called ``"));
    }
}
