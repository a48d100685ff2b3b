//! Draws a conversation as a tree: messages in order, each call with its result, and side branches
//! at the message where they fork off.

use std::io::{self, Write};

use anstyle::Style;
use foxwedge_core::{
    CallPairing, ContentShape, Draft, Message, MessageLayout, PartKind, Role, SignatureState,
    pair_calls,
};
use foxwedge_sessions::RecordNode;

use crate::{
    language::localize,
    output::{BOLD, DIM, FRAME},
    preview,
    screen::{StyledLine, fit_columns, pad},
};

mod calls;
mod side_branches;
mod records;

pub use calls::{TreeCallState, call_state, stray_state};
pub use records::records;
pub use side_branches::{BranchCounts, count_branches};

use calls::TreeCallLine;
use side_branches::SideBranches;

/// How much of the side branches is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BranchDetail {
    /// Only the number of messages.
    Counted,
    /// Each message.
    Drawn,
}

/// Max characters taken from a text; the terminal width may cut it further.
const MAX_TEXT: usize = 240;
/// Max characters of a text if there is no terminal.
const MAX_PIPED_TEXT: usize = 100;
/// Width of the role column.
const ROLE: usize = 9;

/// Draws a conversation. `nodes` are the records of its session file; empty for a request.
pub fn draw(
    out: &mut dyn Write,
    draft: &Draft<'_>,
    nodes: &[RecordNode<'_>],
    branches: BranchDetail,
    columns: Option<usize>,
) -> io::Result<()> {
    let pairing = pair_calls(draft);
    let side_branches = SideBranches::of(nodes, draft.messages.len());
    let gutter = draft.messages.len().saturating_sub(1).to_string().len().max(2);
    let margin = " ".repeat(gutter + 2);
    let mut line = |line: StyledLine| out.write_all(line.draw(columns).as_bytes());
    side_branches.before(branches, &margin).into_iter().try_for_each(&mut line)?;
    let blocks = blocks(draft, &pairing);
    for (at, block) in blocks.iter().enumerate() {
        line(block.heading(draft, gutter, max_width(columns)))?;
        let last = block.calls.len().saturating_sub(1);
        for (at, call_line) in block.calls.iter().enumerate() {
            line(call_line.line(&margin, at == last, max_width(columns)))?;
        }
        let next = blocks.get(at + 1).map_or(draft.messages.len(), |next| next.messages.start);
        for message in block.messages.start..next {
            side_branches.after(message, branches, &margin).into_iter().try_for_each(&mut line)?;
        }
    }
    Ok(())
}

/// Max characters of a text for the given terminal width.
fn max_width(columns: Option<usize>) -> usize {
    columns.map_or(MAX_PIPED_TEXT, |columns| columns.min(MAX_TEXT))
}

/// Messages drawn as one: a message, or the items of one reply.
struct MessageBlock {
    messages: std::ops::Range<usize>,
    text: String,
    /// `text` is a note about the content, not content.
    is_note: bool,
    calls: Vec<TreeCallLine>,
}

/// Splits a conversation into blocks. Messages with only tool results are drawn at their calls.
fn blocks(draft: &Draft<'_>, pairing: &CallPairing) -> Vec<MessageBlock> {
    let mut lines_by_message = calls::call_lines(draft, pairing);
    let mut blocks: Vec<MessageBlock> = Vec::new();
    for (at, message) in draft.messages.iter().enumerate() {
        let call_lines = lines_by_message.remove(&at).unwrap_or_default();
        if call_lines.is_empty() && is_folded(draft, pairing, at, message) {
            continue;
        }
        let (text, is_note) = message_text(draft, message);
        let items = draft.layout() == MessageLayout::Items;
        match blocks.last_mut() {
            // The items of one reply follow each other.
            Some(block)
                if items
                    && is_note
                    && message.role == Role::Assistant
                    && block.messages.end == at
                    && draft.messages[block.messages.start].role == Role::Assistant =>
            {
                block.messages.end = at + 1;
                block.calls.extend(call_lines);
            }
            _ => {
                blocks.push(MessageBlock { messages: at..at + 1, text, is_note, calls: call_lines })
            }
        }
    }
    blocks
}

/// Whether a message has only tool results that are drawn at their calls.
fn is_folded(draft: &Draft<'_>, pairing: &CallPairing, at: usize, message: &Message) -> bool {
    let parts = draft.parts_of(message);
    let first = pairing.answers.partition_point(|answer| answer.message() < at);
    let mut own = pairing.answers.iter().skip(first).take_while(|answer| answer.message() == at);
    !parts.is_empty()
        && parts.iter().all(|part| matches!(part.kind, PartKind::Answer(_)))
        && own.all(|answer| stray_state(answer.result_match()).is_none())
}

/// The text of a message without calls and results, and whether it is only a note.
fn message_text(draft: &Draft<'_>, message: &Message) -> (String, bool) {
    let mut notes = Vec::new();
    for part in draft.parts_of(message) {
        match &part.kind {
            PartKind::Text(_) => {
                let text = preview::text(part.span.of(draft.source), MAX_TEXT);
                if !text.trim().is_empty() {
                    return (text, false);
                }
            }
            PartKind::Reasoning(SignatureState::Signed) => notes.push("thinking, signed"),
            PartKind::Reasoning(SignatureState::Unsigned | SignatureState::Plain) => {
                notes.push("thinking")
            }
            PartKind::Media => notes.push("media"),
            PartKind::ServerCall(_) | PartKind::ServerAnswer(_) => notes.push("provider tool"),
            PartKind::Fallback => notes.push("another model takes over"),
            PartKind::Other => notes.push("other content"),
            PartKind::Unknown => notes.push("content of an unknown type"),
            PartKind::Call(_) | PartKind::Answer(_) => {}
        }
    }
    notes.dedup();
    if notes.is_empty() && draft.parts_of(message).is_empty() && message.role != Role::Neutral {
        match message.content {
            ContentShape::Absent | ContentShape::Null | ContentShape::Text | ContentShape::List => {
                notes.push("empty");
            }
            ContentShape::Other => notes.push("other content"),
        }
    }
    let notes: Vec<_> = notes.into_iter().map(localize).collect();
    let text = if notes.is_empty() { String::new() } else { format!("({})", notes.join(", ")) };
    (text, true)
}

impl MessageBlock {
    fn heading(&self, draft: &Draft<'_>, gutter: usize, max: usize) -> StyledLine {
        let role = draft.messages.get(self.messages.start).map_or(Role::Unknown, |m| m.role);
        let (name, style) = match role {
            Role::User => ("user", BOLD),
            Role::Assistant => ("assistant", FRAME),
            Role::System | Role::Developer => ("system", DIM),
            Role::Answer => ("tool", DIM),
            Role::Neutral | Role::Unknown => ("other", DIM),
        };
        let text_style = if self.is_note { DIM } else { Style::new() };
        StyledLine::new()
            .with(DIM, format!("{:>gutter$}  ", self.messages.start))
            .with(style, pad(name, ROLE))
            .with(text_style, format!("  {}", fit_columns(&self.text, max)))
    }
}
