//! What a file holds beside the path: other branches, sub-agents, and what a compaction left
//! behind. Each stands where it forks off.

use std::collections::{BTreeMap, BTreeSet};

use foxwedge_core::Role;
use foxwedge_sessions::ChainStatus;
use foxwedge_sessions::RecordNode;

use super::BranchDetail;
use crate::{
    cli_output::{DIM, clean, pluralize},
    screen::{StyledLine, pad},
};

/// What stands beside a path, by the message that it forks from.
pub(super) struct SideBranches {
    /// Hangs on nothing that is in the conversation.
    unattached: ForkedMessages,
    forks: BTreeMap<usize, ForkedMessages>,
    /// Messages in front of which the agent cut its history.
    compacted: BTreeSet<usize>,
    /// Records name their parents; where they do not, the order of the file decides.
    linked: bool,
}

/// The same in numbers, for whoever draws it himself.
pub(crate) struct BranchCounts {
    /// Messages on other branches and of sub-agents, by the message that they fork from; `None`
    /// hangs on nothing that is in the conversation.
    pub(crate) forks: BTreeMap<Option<usize>, (usize, usize)>,
    /// Messages in front of which the agent cut its history.
    pub(crate) boundaries: BTreeSet<usize>,
    /// For each record whether the agent cut its history there.
    pub(crate) cuts: Vec<bool>,
}

/// What stands beside a path, in numbers.
pub(crate) fn count_branches(nodes: &[RecordNode<'_>], messages: usize) -> BranchCounts {
    let beside = SideBranches::of(nodes, messages);
    let loose = Some((None, &beside.unattached));
    let forks = beside.forks.iter().map(|(message, fork)| (Some(*message), fork)).chain(loose);
    let count =
        |(message, fork): (_, &ForkedMessages)| (message, (fork.branch.len(), fork.side.len()));
    let forks = forks.map(count).filter(|(_, counts)| *counts != (0, 0)).collect();
    let cuts = nodes.iter().map(|node| is_boundary(node, beside.linked)).collect();
    BranchCounts { forks, boundaries: beside.compacted, cuts }
}

/// What forks from one message.
#[derive(Default)]
struct ForkedMessages {
    branch: Vec<ForkedMessage>,
    side: Vec<ForkedMessage>,
}

/// A message that is not in the conversation.
struct ForkedMessage {
    role: Role,
    words: String,
}

impl SideBranches {
    pub(super) fn of(nodes: &[RecordNode<'_>], messages: usize) -> SideBranches {
        let mut beside = SideBranches {
            unattached: ForkedMessages::default(),
            forks: BTreeMap::new(),
            compacted: BTreeSet::new(),
            linked: true,
        };
        let linked = nodes.iter().any(|node| node.parent.is_some());
        let anchors = if linked { anchors_by_parent(nodes) } else { anchors_by_order(nodes) };
        beside.linked = linked;
        for (node, anchor) in nodes.iter().zip(anchors) {
            if node.standing.is_in_conversation() && is_boundary(node, linked) {
                let next = anchor.map_or(0, |message| message + 1);
                beside.compacted.insert(node.message.unwrap_or(next).min(messages));
            }
            let Some(role) = node.role else { continue };
            let fork = match anchor {
                Some(message) => beside.forks.entry(message).or_default(),
                None => &mut beside.unattached,
            };
            let shown = ForkedMessage { role, words: node.preview.clone() };
            match node.standing {
                ChainStatus::Branch | ChainStatus::Unlinked => fork.branch.push(shown),
                ChainStatus::Subagent => fork.side.push(shown),
                ChainStatus::Path
                | ChainStatus::Carried
                | ChainStatus::Recovered
                | ChainStatus::Duplicate => {}
            }
        }
        beside
    }

    /// What stands in front of the conversation.
    pub(super) fn before(&self, branches: BranchDetail, margin: &str) -> Vec<StyledLine> {
        let compacted = self.compacted.contains(&0);
        let what = match (compacted, self.linked) {
            (true, _) => "before the compaction",
            (false, true) => "outside the conversation",
            (false, false) => "taken out later",
        };
        let mut lines = self.unattached.lines(branches, margin, what);
        lines.extend(compacted.then(|| boundary_line(margin)));
        lines
    }

    /// What forks off behind a message.
    pub(super) fn after(
        &self,
        message: usize,
        branches: BranchDetail,
        margin: &str,
    ) -> Vec<StyledLine> {
        let what = if self.linked { "on another branch" } else { "taken out later" };
        let fork = self.forks.get(&message);
        let mut lines = fork.map_or_else(Vec::new, |fork| fork.lines(branches, margin, what));
        lines.extend(self.compacted.contains(&(message + 1)).then(|| boundary_line(margin)));
        lines
    }
}

/// For each record the message of the conversation that stands before it in the file.
fn anchors_by_order(nodes: &[RecordNode<'_>]) -> Vec<Option<usize>> {
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
enum AnchorSearch {
    Unknown,
    /// We are on it: whoever comes here again walks in a circle.
    Visiting,
    Resolved(Option<usize>),
}

/// For each record the message of the conversation that it hangs on, directly or not. Each record
/// is passed once.
fn anchors_by_parent(nodes: &[RecordNode<'_>]) -> Vec<Option<usize>> {
    let mut ways = vec![AnchorSearch::Unknown; nodes.len()];
    for start in 0..nodes.len() {
        let mut passed = Vec::new();
        let mut at = start;
        let found = loop {
            match ways[at] {
                AnchorSearch::Resolved(found) => break found,
                // A circle hangs on nothing.
                AnchorSearch::Visiting => break None,
                AnchorSearch::Unknown => ways[at] = AnchorSearch::Visiting,
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
            ways[at] = AnchorSearch::Resolved(found);
        }
    }
    let found = |way| match way {
        AnchorSearch::Resolved(found) => found,
        AnchorSearch::Unknown | AnchorSearch::Visiting => None,
    };
    ways.into_iter().map(found).collect()
}

/// A record at which the agent cut its history.
fn is_boundary(node: &RecordNode<'_>, linked: bool) -> bool {
    let begins_anew = linked && node.role.is_none() && node.parent.is_none();
    node.kind.contains("compact") || node.kind == "system" && begins_anew
}

fn boundary_line(margin: &str) -> StyledLine {
    StyledLine::new().with(DIM, format!("{margin}── compacted here: what comes next began anew"))
}

impl ForkedMessages {
    fn lines(&self, branches: BranchDetail, margin: &str, what: &str) -> Vec<StyledLine> {
        let mut lines = Vec::new();
        for (messages, what) in [(&self.branch, what), (&self.side, "of a sub-agent")] {
            if messages.is_empty() {
                continue;
            }
            let counted = format!("{margin}┆ {} {what}", pluralize(messages.len(), "message"));
            lines.push(StyledLine::new().with(DIM, counted));
            if branches == BranchDetail::Drawn {
                lines.extend(messages.iter().map(|message| message.line(margin)));
            }
        }
        lines
    }
}

impl ForkedMessage {
    fn line(&self, margin: &str) -> StyledLine {
        let name = match self.role {
            Role::User | Role::Unknown => "user",
            Role::Assistant => "assistant",
            Role::System | Role::Developer => "system",
            Role::Answer => "tool",
            Role::Neutral => "other",
        };
        let words =
            if self.words.is_empty() { "(no words)".to_owned() } else { clean(&self.words) };
        StyledLine::new().with(DIM, format!("{margin}┆   {}  {words}", pad(name, super::ROLE)))
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
        let node = |&(parent, message, _): &(Option<usize>, Option<usize>, _)| RecordNode {
            line: 1,
            id: None,
            parent,
            kind: "user",
            role: Some(Role::User),
            standing: ChainStatus::Branch,
            message,
            time: None,
            preview: String::new(),
        };
        let nodes: Vec<RecordNode<'_>> = table.iter().map(node).collect();
        let expected: Vec<Option<usize>> = table.iter().map(|(_, _, anchor)| *anchor).collect();
        assert_eq!(anchors_by_parent(&nodes), expected);
    }
}
