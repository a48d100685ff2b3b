//! What a file holds beside the path: other branches, sub-agents, and what a compaction left
//! behind. Each stands where it forks off.

use std::collections::{BTreeMap, BTreeSet};

use foxwedge_core::{Role, chain::Standing};
use foxwedge_dialect::session::Node;

use super::Branches;
use crate::{
    say::{DIM, clean, count},
    screen::{Line, pad},
};

/// What stands beside a path, by the message that it forks from.
pub(super) struct Beside {
    /// Hangs on nothing that is in the conversation.
    loose: Fork,
    forks: BTreeMap<usize, Fork>,
    /// Messages in front of which the agent cut its history.
    compacted: BTreeSet<usize>,
    /// Records name their parents; where they do not, the order of the file decides.
    linked: bool,
}

/// The same in numbers, for whoever draws it himself.
pub(crate) struct Around {
    /// Messages on other branches and of sub-agents, by the message that they fork from; `None`
    /// hangs on nothing that is in the conversation.
    pub(crate) forks: BTreeMap<Option<usize>, (usize, usize)>,
    /// Messages in front of which the agent cut its history.
    pub(crate) boundaries: BTreeSet<usize>,
    /// For each record whether the agent cut its history there.
    pub(crate) cuts: Vec<bool>,
}

/// What stands beside a path, in numbers.
pub(crate) fn around(nodes: &[Node<'_>], messages: usize) -> Around {
    let beside = Beside::of(nodes, messages);
    let loose = Some((None, &beside.loose));
    let forks = beside.forks.iter().map(|(message, fork)| (Some(*message), fork)).chain(loose);
    let count = |(message, fork): (_, &Fork)| (message, (fork.branch.len(), fork.side.len()));
    let forks = forks.map(count).filter(|(_, counts)| *counts != (0, 0)).collect();
    let cuts = nodes.iter().map(|node| is_boundary(node, beside.linked)).collect();
    Around { forks, boundaries: beside.compacted, cuts }
}

/// What forks from one message.
#[derive(Default)]
struct Fork {
    branch: Vec<Shown>,
    side: Vec<Shown>,
}

/// A message that is not in the conversation.
struct Shown {
    role: Role,
    words: String,
}

impl Beside {
    pub(super) fn of(nodes: &[Node<'_>], messages: usize) -> Beside {
        let mut beside = Beside {
            loose: Fork::default(),
            forks: BTreeMap::new(),
            compacted: BTreeSet::new(),
            linked: true,
        };
        let linked = nodes.iter().any(|node| node.parent.is_some());
        let anchors = if linked { anchors(nodes) } else { before(nodes) };
        beside.linked = linked;
        for (node, anchor) in nodes.iter().zip(anchors) {
            if node.standing.is_in() && is_boundary(node, linked) {
                let next = anchor.map_or(0, |message| message + 1);
                beside.compacted.insert(node.message.unwrap_or(next).min(messages));
            }
            let Some(role) = node.role else { continue };
            let fork = match anchor {
                Some(message) => beside.forks.entry(message).or_default(),
                None => &mut beside.loose,
            };
            let shown = Shown { role, words: node.words.clone() };
            match node.standing {
                Standing::Branch | Standing::Aside => fork.branch.push(shown),
                Standing::Side => fork.side.push(shown),
                Standing::Path | Standing::Carried | Standing::Recovered | Standing::Twin => {}
            }
        }
        beside
    }

    /// What stands in front of the conversation.
    pub(super) fn before(&self, branches: Branches, margin: &str) -> Vec<Line> {
        let compacted = self.compacted.contains(&0);
        let what = match (compacted, self.linked) {
            (true, _) => "before the compaction",
            (false, true) => "outside the conversation",
            (false, false) => "taken out later",
        };
        let mut lines = self.loose.lines(branches, margin, what);
        lines.extend(compacted.then(|| boundary(margin)));
        lines
    }

    /// What forks off behind a message.
    pub(super) fn behind(&self, message: usize, branches: Branches, margin: &str) -> Vec<Line> {
        let what = if self.linked { "on another branch" } else { "taken out later" };
        let fork = self.forks.get(&message);
        let mut lines = fork.map_or_else(Vec::new, |fork| fork.lines(branches, margin, what));
        lines.extend(self.compacted.contains(&(message + 1)).then(|| boundary(margin)));
        lines
    }
}

/// For each record the message of the conversation that stands before it in the file.
fn before(nodes: &[Node<'_>]) -> Vec<Option<usize>> {
    let mut last = None;
    let mut anchors = Vec::with_capacity(nodes.len());
    for node in nodes {
        anchors.push(last);
        last = node.message.or(last);
    }
    anchors
}

/// What is known about the way up from a record.
#[derive(Clone, Copy)]
enum Way {
    Unknown,
    /// We are on it: whoever comes here again walks in a circle.
    Open,
    Leads(Option<usize>),
}

/// For each record the message of the conversation that it hangs on, directly or not. Each record
/// is passed once.
fn anchors(nodes: &[Node<'_>]) -> Vec<Option<usize>> {
    let mut ways = vec![Way::Unknown; nodes.len()];
    for start in 0..nodes.len() {
        let mut passed = Vec::new();
        let mut at = start;
        let found = loop {
            match ways[at] {
                Way::Leads(found) => break found,
                // A circle hangs on nothing.
                Way::Open => break None,
                Way::Unknown => ways[at] = Way::Open,
            }
            passed.push(at);
            let Some(parent) = nodes[at].parent.filter(|parent| *parent < nodes.len()) else {
                break None;
            };
            if let Some(message) = nodes[parent].message {
                break Some(message);
            }
            at = parent;
        };
        for at in passed {
            ways[at] = Way::Leads(found);
        }
    }
    let found = |way| match way {
        Way::Leads(found) => found,
        Way::Unknown | Way::Open => None,
    };
    ways.into_iter().map(found).collect()
}

/// A record at which the agent cut its history.
fn is_boundary(node: &Node<'_>, linked: bool) -> bool {
    let begins_anew = linked && node.role.is_none() && node.parent.is_none();
    node.kind.contains("compact") || node.kind == "system" && begins_anew
}

fn boundary(margin: &str) -> Line {
    Line::new().with(DIM, format!("{margin}── compacted here: what comes next began anew"))
}

impl Fork {
    fn lines(&self, branches: Branches, margin: &str, what: &str) -> Vec<Line> {
        let mut lines = Vec::new();
        for (messages, what) in [(&self.branch, what), (&self.side, "of a sub-agent")] {
            if messages.is_empty() {
                continue;
            }
            let counted = format!("{margin}┆ {} {what}", count(messages.len(), "message"));
            lines.push(Line::new().with(DIM, counted));
            if branches == Branches::Drawn {
                lines.extend(messages.iter().map(|message| message.line(margin)));
            }
        }
        lines
    }
}

impl Shown {
    fn line(&self, margin: &str) -> Line {
        let name = match self.role {
            Role::User | Role::Unknown => "user",
            Role::Assistant => "assistant",
            Role::System | Role::Developer => "system",
            Role::Answer => "tool",
            Role::Neutral => "other",
        };
        let words =
            if self.words.is_empty() { "(no words)".to_owned() } else { clean(&self.words) };
        Line::new().with(DIM, format!("{margin}┆   {}  {words}", pad(name, super::ROLE)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_hang_on_the_nearest_message_and_circles_on_nothing() {
        // Parent, message, and the message that it hangs on.
        let table = [
            (None, Some(0), None),
            (Some(0), Some(1), Some(0)),
            (Some(1), None, Some(1)),
            (Some(2), None, Some(1)),
            (Some(5), None, None),
            (Some(4), None, None),
            (Some(6), None, None),
            (Some(4), None, None),
            (Some(99), None, None),
        ];
        let node = |&(parent, message, _): &(Option<usize>, Option<usize>, _)| Node {
            line: 1,
            id: None,
            parent,
            kind: "user",
            role: Some(Role::User),
            standing: Standing::Branch,
            message,
            time: None,
            words: String::new(),
        };
        let nodes: Vec<Node<'_>> = table.iter().map(node).collect();
        let expected: Vec<Option<usize>> = table.iter().map(|(_, _, anchor)| *anchor).collect();
        assert_eq!(anchors(&nodes), expected);
    }
}
