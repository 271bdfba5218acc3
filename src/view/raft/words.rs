//! The words and glyphs for what nodes are and what messages say.

use ratatui::text::{Line, Span};

use crate::domain::raft::{Flight, Life, NodePicture, RaftMessage, RaftPicture, RaftRole};
use crate::model::raft;
use crate::say;
use crate::view::theme::{Role, Theme};

/// What a node is: its glyph, its words and what they mean.
pub fn role(node: &NodePicture, theme: &Theme) -> (&'static str, &'static str, Role) {
    let glyphs = theme.glyphs;
    match (node.life, node.role) {
        (Life::Killed, _) => (glyphs.lost, say!("killed"), Role::Error),
        (Life::Paused, RaftRole::Leader) => (glyphs.lane.paused, say!("leader, paused"), Role::Warning),
        (Life::Paused, _) => (glyphs.lane.paused, say!("paused"), Role::Warning),
        (Life::Up, RaftRole::Leader) => (glyphs.leader, say!("leader"), Role::Leader),
        (Life::Up, RaftRole::Candidate) => (glyphs.candidate, say!("candidate"), Role::Warning),
        (Life::Up, RaftRole::PreCandidate) => (glyphs.pre_candidate, say!("pre-candidate"), Role::Warning),
        (Life::Up, RaftRole::Follower) if node.learner => (glyphs.learner, say!("learner"), Role::Learner),
        (Life::Up, RaftRole::Follower) => (glyphs.holder, say!("follower"), Role::Text),
    }
}

/// A node's glyph, name and role, in forms: all of it, without what is known anyway, and without
/// its role where something else is wrong with it.
pub fn title<'a>(picture: &RaftPicture, node: &NodePicture, theme: &Theme) -> [Line<'a>; 3] {
    let (glyph, word, style) = role(node, theme);
    let trouble = trouble(picture, node, theme);
    let form = |word: &str| {
        let mut spans = vec![theme.span(format!("{glyph} {} {word}", node.id), style)];
        if let Some(trouble) = &trouble {
            spans.push(theme.span(" ", style));
            spans.push(trouble.clone());
        }
        Line::from(spans)
    };
    let short = match &trouble {
        Some(trouble) => Line::from(vec![theme.span(format!("{glyph} {} ", node.id), style), trouble.clone()]),
        None => form(word),
    };
    let votes_not = node.learner && node.life == Life::Up && node.role == RaftRole::Follower;
    [form(if votes_not { say!("learner (no vote)") } else { word }), form(word), short]
}

/// A node's glyph and name.
pub fn name<'a>(node: &NodePicture, theme: &Theme) -> Line<'a> {
    let (glyph, _, style) = role(node, theme);
    Line::from(theme.span(format!("{glyph} {}", node.id), style))
}

/// What else is wrong with it: cut off from all others.
pub fn trouble<'a>(picture: &RaftPicture, node: &NodePicture, theme: &Theme) -> Option<Span<'a>> {
    raft::is_isolated(picture, node.id).then(|| theme.span(say!("isolated"), Role::Warning))
}

/// What a message says, in a few words.
pub fn message(what: &RaftMessage) -> String {
    match what {
        RaftMessage::Heartbeat { .. } => say!("heartbeat").into(),
        RaftMessage::Append { first, last, .. } if first == last => say!("append {index}", index = first),
        RaftMessage::Append { first, last, .. } => say!("append {first}-{last}", first, last),
        RaftMessage::AppendReply { last, .. } => say!("has {index}", index = last),
        RaftMessage::Vote { term } => say!("vote in {term}?", term),
        RaftMessage::VoteReply { granted: true, .. } => say!("vote: yes").into(),
        RaftMessage::VoteReply { granted: false, .. } => say!("vote: no").into(),
        RaftMessage::PreVote { term } => say!("pre-vote {term}?", term),
        RaftMessage::PreVoteReply { granted: true, .. } => say!("pre-vote: yes").into(),
        RaftMessage::PreVoteReply { granted: false, .. } => say!("pre-vote: no").into(),
        RaftMessage::Snapshot { last } => say!("snapshot to {index}", index = last),
        RaftMessage::TimeoutNow { .. } => say!("stand now").into(),
        RaftMessage::Forward => say!("forward").into(),
        RaftMessage::ForwardReply => say!("forward: done").into(),
        RaftMessage::ReadIndex => say!("may I read?").into(),
        RaftMessage::ReadIndexReply => say!("read on").into(),
    }
}

/// Whether a message answers another one.
pub const fn is_reply(what: &RaftMessage) -> bool {
    matches!(
        what,
        RaftMessage::AppendReply { .. }
            | RaftMessage::VoteReply { .. }
            | RaftMessage::PreVoteReply { .. }
            | RaftMessage::ForwardReply
            | RaftMessage::ReadIndexReply
    )
}

/// How much a message tells: the lowest gets room for its words first.
pub const fn rank(flight: &Flight) -> u8 {
    match flight.what {
        _ if flight.lost => 0,
        RaftMessage::Vote { .. } | RaftMessage::VoteReply { .. } | RaftMessage::TimeoutNow { .. } => 1,
        RaftMessage::PreVote { .. } | RaftMessage::PreVoteReply { .. } | RaftMessage::Snapshot { .. } => 2,
        RaftMessage::Append { .. } => 3,
        RaftMessage::Forward | RaftMessage::ReadIndex => 4,
        RaftMessage::AppendReply { .. } => 5,
        RaftMessage::ForwardReply | RaftMessage::ReadIndexReply => 6,
        RaftMessage::Heartbeat { .. } => 7,
    }
}
