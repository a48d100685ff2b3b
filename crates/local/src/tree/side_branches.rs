//! Records outside the conversation: other branches, sub-agents, and messages before a compaction.
//! Each is drawn at the message where it forks off.

use std::collections::{BTreeMap, BTreeSet};

use foxwedge_core::Role;
use foxwedge_sessions::ChainStatus;
use foxwedge_sessions::RecordNode;

use super::BranchDetail;
use crate::{
    language::localize,
    output::{DIM, clean, pluralize},
    screen::{StyledLine, pad},
};

/// Messages outside the conversation, by the message where they fork off.
pub(super) struct SideBranches {
    /// Messages without an ancestor in the conversation.
    unattached: ForkedMessages,
    forks: BTreeMap<usize, ForkedMessages>,
    /// Messages before which the agent cut its history.
    compacted: BTreeSet<usize>,
    /// Whether records name their parents. If not, the order of the file decides.
    linked: bool,
}

/// Counts of side branches, for the console.
pub struct BranchCounts {
    /// Messages on other branches and of sub-agents, by the message where they fork off. `None`:
    /// without an ancestor in the conversation.
    pub forks: BTreeMap<Option<usize>, (usize, usize)>,
    /// Messages before which the agent cut its history.
    pub boundaries: BTreeSet<usize>,
    /// For each record, whether the agent cut its history there.
    pub cuts: Vec<bool>,
}

/// Counts the messages outside the conversation.
pub fn count_branches(nodes: &[RecordNode<'_>], messages: usize) -> BranchCounts {
    let side_branches = SideBranches::of(nodes, messages);
    let unattached = Some((None, &side_branches.unattached));
    let forks =
        side_branches.forks.iter().map(|(message, fork)| (Some(*message), fork)).chain(unattached);
    let count =
        |(message, fork): (_, &ForkedMessages)| (message, (fork.branch.len(), fork.side.len()));
    let forks = forks.map(count).filter(|(_, counts)| *counts != (0, 0)).collect();
    let cuts = nodes.iter().map(|node| is_boundary(node, side_branches.linked)).collect();
    BranchCounts { forks, boundaries: side_branches.compacted, cuts }
}

/// Messages that fork off at one message.
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
        let mut side_branches = SideBranches {
            unattached: ForkedMessages::default(),
            forks: BTreeMap::new(),
            compacted: BTreeSet::new(),
            linked: true,
        };
        let linked = nodes.iter().any(|node| node.parent.is_some());
        let anchors = if linked { anchors_by_parent(nodes) } else { anchors_by_order(nodes) };
        side_branches.linked = linked;
        for (node, anchor) in nodes.iter().zip(anchors) {
            if node.standing.is_in_conversation() && is_boundary(node, linked) {
                let next = anchor.map_or(0, |message| message + 1);
                side_branches.compacted.insert(node.message.unwrap_or(next).min(messages));
            }
            let Some(role) = node.role else { continue };
            let fork = match anchor {
                Some(message) => side_branches.forks.entry(message).or_default(),
                None => &mut side_branches.unattached,
            };
            let message = ForkedMessage { role, words: node.preview.clone() };
            match node.standing {
                ChainStatus::Branch | ChainStatus::Unlinked => fork.branch.push(message),
                ChainStatus::Subagent => fork.side.push(message),
                ChainStatus::Path
                | ChainStatus::Carried
                | ChainStatus::Recovered
                | ChainStatus::Duplicate => {}
            }
        }
        side_branches
    }

    /// The lines before the conversation.
    pub(super) fn before(&self, branches: BranchDetail, margin: &str) -> Vec<StyledLine> {
        let compacted = self.compacted.contains(&0);
        let label = match (compacted, self.linked) {
            (true, _) => "before the compaction",
            (false, true) => "outside the conversation",
            (false, false) => "removed later",
        };
        let mut lines = self.unattached.lines(branches, margin, label);
        lines.extend(compacted.then(|| boundary_line(margin)));
        lines
    }

    /// The lines after a message.
    pub(super) fn after(
        &self,
        message: usize,
        branches: BranchDetail,
        margin: &str,
    ) -> Vec<StyledLine> {
        let label = if self.linked { "on another branch" } else { "removed later" };
        let fork = self.forks.get(&message);
        let mut lines = fork.map_or_else(Vec::new, |fork| fork.lines(branches, margin, label));
        lines.extend(self.compacted.contains(&(message + 1)).then(|| boundary_line(margin)));
        lines
    }
}

/// For each record, the last message of the conversation before it in the file.
fn anchors_by_order(nodes: &[RecordNode<'_>]) -> Vec<Option<usize>> {
    let mut last = None;
    let mut anchors = Vec::with_capacity(nodes.len());
    for node in nodes {
        anchors.push(last);
        last = node.message.or(last);
    }
    anchors
}

/// Progress of the search for the anchor of a record.
#[derive(Clone, Copy)]
enum AnchorSearch {
    Unknown,
    /// On the current path: meeting it again means a cycle.
    Visiting,
    Resolved(Option<usize>),
}

/// For each record, its nearest ancestor that is a message of the conversation. Visits each record
/// once.
fn anchors_by_parent(nodes: &[RecordNode<'_>]) -> Vec<Option<usize>> {
    let mut searches = vec![AnchorSearch::Unknown; nodes.len()];
    for start in 0..nodes.len() {
        let mut visited = Vec::new();
        let mut at = start;
        let found = loop {
            match searches[at] {
                AnchorSearch::Resolved(found) => break found,
                // A cycle has no anchor.
                AnchorSearch::Visiting => break None,
                AnchorSearch::Unknown => searches[at] = AnchorSearch::Visiting,
            }
            visited.push(at);
            let Some(parent) = nodes[at].parent.filter(|parent| *parent < nodes.len()) else {
                break None;
            };
            if let Some(message) = nodes[parent].message {
                break Some(message);
            }
            at = parent;
        };
        for at in visited {
            searches[at] = AnchorSearch::Resolved(found);
        }
    }
    let found = |search| match search {
        AnchorSearch::Resolved(found) => found,
        AnchorSearch::Unknown | AnchorSearch::Visiting => None,
    };
    searches.into_iter().map(found).collect()
}

/// Whether the agent cut its history at this record.
fn is_boundary(node: &RecordNode<'_>, linked: bool) -> bool {
    let starts_chain = linked && node.role.is_none() && node.parent.is_none();
    node.kind.contains("compact") || node.kind == "system" && starts_chain
}

fn boundary_line(margin: &str) -> StyledLine {
    let text = localize("compacted here: a new history starts");
    StyledLine::new().with(DIM, format!("{margin}── {text}"))
}

impl ForkedMessages {
    fn lines(&self, branches: BranchDetail, margin: &str, label: &str) -> Vec<StyledLine> {
        let mut lines = Vec::new();
        for (messages, label) in [(&self.branch, label), (&self.side, "of a sub-agent")] {
            if messages.is_empty() {
                continue;
            }
            let heading = localize(format!("{} {label}", pluralize(messages.len(), "message")));
            lines.push(StyledLine::new().with(DIM, format!("{margin}┆ {heading}")));
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
        let words = clean(&self.words);
        let text = if words.is_empty() { localize("(no text)") } else { words.into() };
        StyledLine::new().with(DIM, format!("{margin}┆   {}  {text}", pad(name, super::ROLE)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchor_is_the_nearest_message_and_cycles_have_none() {
        // Parent, message, and anchor.
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
