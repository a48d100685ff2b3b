//! A conversation drawn as a tree: messages in order, each call joined to its answer, and what
//! stands beside the path where it forks off.

use std::io::{self, Write};

use anstyle::Style;
use foxwedge_core::{
    CallPairing, ContentShape, Draft, Message, MessageLayout, PartKind, ResultMatch, Role,
    SignatureState, pair_calls,
};
use foxwedge_sessions::RecordNode;

use crate::{
    cli_output::{BOLD, DIM, FRAME},
    preview,
    screen::{StyledLine, fit_columns, pad},
};

mod calls;
mod side_branches;
mod records;

pub(crate) use calls::{TreeCallState, call_state};
pub(crate) use records::records;
pub(crate) use side_branches::{BranchCounts, count_branches};

use calls::TreeCallLine;
use side_branches::SideBranches;

/// How much of what stands beside the path is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BranchDetail {
    /// How many messages there are.
    Counted,
    /// Each message.
    Drawn,
}

/// Characters of a text that are looked at; the screen cuts it to its own width.
const MAX_TEXT: usize = 240;
/// Characters of a text that are drawn where no screen cuts it.
const MAX_PIPED_TEXT: usize = 100;
/// Columns of a role.
const ROLE: usize = 9;

/// Draws a conversation. `nodes` are the records of its file, where an agent keeps it.
pub(crate) fn draw(
    out: &mut dyn Write,
    draft: &Draft<'_>,
    nodes: &[RecordNode<'_>],
    branches: BranchDetail,
    columns: Option<usize>,
) -> io::Result<()> {
    let pairing = pair_calls(draft);
    let beside = SideBranches::of(nodes, draft.messages.len());
    let gutter = draft.messages.len().saturating_sub(1).to_string().len().max(2);
    let margin = " ".repeat(gutter + 2);
    let mut line = |line: StyledLine| out.write_all(line.draw(columns).as_bytes());
    beside.before(branches, &margin).into_iter().try_for_each(&mut line)?;
    let blocks = blocks(draft, &pairing);
    for (at, block) in blocks.iter().enumerate() {
        line(block.heading(draft, gutter, max_width(columns)))?;
        let last = block.calls.len().saturating_sub(1);
        for (at, tie) in block.calls.iter().enumerate() {
            line(tie.line(&margin, at == last, max_width(columns)))?;
        }
        let next = blocks.get(at + 1).map_or(draft.messages.len(), |next| next.messages.start);
        for message in block.messages.start..next {
            beside.after(message, branches, &margin).into_iter().try_for_each(&mut line)?;
        }
    }
    Ok(())
}

/// Characters of a text that are worth taking along.
fn max_width(columns: Option<usize>) -> usize {
    columns.map_or(MAX_PIPED_TEXT, |columns| columns.min(MAX_TEXT))
}

/// Messages that are drawn as one: a message, or a run of items that one reply is made of.
struct MessageBlock {
    messages: std::ops::Range<usize>,
    text: String,
    /// What it says is no speech.
    is_note: bool,
    calls: Vec<TreeCallLine>,
}

/// Cuts a conversation into what is drawn. Messages of nothing but answers are drawn at the calls.
fn blocks(draft: &Draft<'_>, pairing: &CallPairing) -> Vec<MessageBlock> {
    let mut ties = calls::call_lines(draft, pairing);
    let mut blocks: Vec<MessageBlock> = Vec::new();
    for (at, message) in draft.messages.iter().enumerate() {
        let ties = ties.remove(&at).unwrap_or_default();
        if ties.is_empty() && is_folded(draft, pairing, at, message) {
            continue;
        }
        let (said, silent) = message_text(draft, message);
        let items = draft.layout() == MessageLayout::Items;
        match blocks.last_mut() {
            // The items of one reply follow each other.
            Some(block)
                if items
                    && silent
                    && message.role == Role::Assistant
                    && block.messages.end == at
                    && draft.messages[block.messages.start].role == Role::Assistant =>
            {
                block.messages.end = at + 1;
                block.calls.extend(ties);
            }
            _ => blocks.push(MessageBlock {
                messages: at..at + 1,
                text: said,
                is_note: silent,
                calls: ties,
            }),
        }
    }
    blocks
}

/// Whether a message holds nothing but answers that are drawn at their calls.
fn is_folded(draft: &Draft<'_>, pairing: &CallPairing, at: usize, message: &Message) -> bool {
    let parts = draft.parts_of(message);
    let first = pairing.answers.partition_point(|answer| answer.message() < at);
    let mut own = pairing.answers.iter().skip(first).take_while(|answer| answer.message() == at);
    !parts.is_empty()
        && parts.iter().all(|part| matches!(part.kind, PartKind::Answer(_)))
        && own.all(|answer| {
            !matches!(answer.result_match(), ResultMatch::Duplicate(_) | ResultMatch::Orphan)
        })
}

/// What a message says beside calls and answers, and whether that is no speech.
fn message_text(draft: &Draft<'_>, message: &Message) -> (String, bool) {
    let mut notes = Vec::new();
    for part in draft.parts_of(message) {
        match &part.kind {
            PartKind::Text(_) => {
                let words = preview::text(part.span.of(draft.source), MAX_TEXT);
                if !words.trim().is_empty() {
                    return (words, false);
                }
            }
            PartKind::Reasoning(SignatureState::Signed) => notes.push("thinks, signed"),
            PartKind::Reasoning(SignatureState::Unsigned | SignatureState::Plain) => {
                notes.push("thinks")
            }
            PartKind::Media => notes.push("media"),
            PartKind::ServerCall(_) | PartKind::ServerAnswer(_) => {
                notes.push("a tool of the provider")
            }
            PartKind::Other => notes.push("other content"),
            PartKind::Call(_) | PartKind::Answer(_) => {}
        }
    }
    notes.dedup();
    if notes.is_empty() && draft.parts_of(message).is_empty() && message.role != Role::Neutral {
        match message.content {
            ContentShape::Absent | ContentShape::Null | ContentShape::Text | ContentShape::List => {
                notes.push("nothing");
            }
            ContentShape::Other => notes.push("other content"),
        }
    }
    let said = if notes.is_empty() { String::new() } else { format!("({})", notes.join(", ")) };
    (said, true)
}

impl MessageBlock {
    fn heading(&self, draft: &Draft<'_>, gutter: usize, most: usize) -> StyledLine {
        let role = draft.messages.get(self.messages.start).map_or(Role::Unknown, |m| m.role);
        let (name, style) = match role {
            Role::User => ("user", BOLD),
            Role::Assistant => ("assistant", FRAME),
            Role::System | Role::Developer => ("system", DIM),
            Role::Answer => ("tool", DIM),
            Role::Neutral | Role::Unknown => ("other", DIM),
        };
        let words = if self.is_note { DIM } else { Style::new() };
        StyledLine::new()
            .with(DIM, format!("{:>gutter$}  ", self.messages.start))
            .with(style, pad(name, ROLE))
            .with(words, format!("  {}", fit_columns(&self.text, most)))
    }
}
