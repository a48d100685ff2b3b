//! A conversation drawn as a tree: messages in order, each call joined to its answer, and what
//! stands beside the path where it forks off.

use std::io::{self, Write};

use anstyle::Style;
use foxwedge_core::{Content, Draft, Fate, Kind, Layout, Message, Pairing, Role, Seal, pair};
use foxwedge_dialect::session::Node;

use crate::{
    preview,
    say::{BOLD, DIM, FRAME},
    screen::{Line, fit, pad},
};

mod calls;
mod beside;
mod records;

pub(crate) use beside::{Around, around};
pub(crate) use calls::{State, state};
pub(crate) use records::records;

use beside::Beside;
use calls::Tie;

/// How much of what stands beside the path is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Branches {
    /// How many messages there are.
    Counted,
    /// Each message.
    Drawn,
}

/// Characters of a text that are looked at; the screen cuts it to its own width.
const WORDS: usize = 240;
/// Characters of a text that are drawn where no screen cuts it.
const PIPE: usize = 100;
/// Columns of a role.
const ROLE: usize = 9;

/// Draws a conversation. `nodes` are the records of its file, where an agent keeps it.
pub(crate) fn draw(
    out: &mut dyn Write,
    draft: &Draft<'_>,
    nodes: &[Node<'_>],
    branches: Branches,
    columns: Option<usize>,
) -> io::Result<()> {
    let pairing = pair(draft);
    let beside = Beside::of(nodes, draft.messages.len());
    let gutter = draft.messages.len().saturating_sub(1).to_string().len().max(2);
    let margin = " ".repeat(gutter + 2);
    let mut line = |line: Line| out.write_all(line.draw(columns).as_bytes());
    beside.before(branches, &margin).into_iter().try_for_each(&mut line)?;
    let blocks = blocks(draft, &pairing);
    for (at, block) in blocks.iter().enumerate() {
        line(block.heading(draft, gutter, most(columns)))?;
        let last = block.ties.len().saturating_sub(1);
        for (at, tie) in block.ties.iter().enumerate() {
            line(tie.line(&margin, at == last, most(columns)))?;
        }
        let next = blocks.get(at + 1).map_or(draft.messages.len(), |next| next.messages.start);
        for message in block.messages.start..next {
            beside.behind(message, branches, &margin).into_iter().try_for_each(&mut line)?;
        }
    }
    Ok(())
}

/// Characters of a text that are worth taking along.
fn most(columns: Option<usize>) -> usize {
    columns.map_or(PIPE, |columns| columns.min(WORDS))
}

/// Messages that are drawn as one: a message, or a run of items that one reply is made of.
struct Block {
    messages: std::ops::Range<usize>,
    said: String,
    /// What it says is no speech.
    silent: bool,
    ties: Vec<Tie>,
}

/// Cuts a conversation into what is drawn. Messages of nothing but answers are drawn at the calls.
fn blocks(draft: &Draft<'_>, pairing: &Pairing) -> Vec<Block> {
    let mut ties = calls::ties(draft, pairing);
    let mut blocks: Vec<Block> = Vec::new();
    for (at, message) in draft.messages.iter().enumerate() {
        let ties = ties.remove(&at).unwrap_or_default();
        if ties.is_empty() && is_folded(draft, pairing, at, message) {
            continue;
        }
        let (said, silent) = said(draft, message);
        let items = draft.layout() == Layout::Items;
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
                block.ties.extend(ties);
            }
            _ => blocks.push(Block { messages: at..at + 1, said, silent, ties }),
        }
    }
    blocks
}

/// Whether a message holds nothing but answers that are drawn at their calls.
fn is_folded(draft: &Draft<'_>, pairing: &Pairing, at: usize, message: &Message) -> bool {
    let parts = draft.parts_of(message);
    let first = pairing.answers.partition_point(|answer| answer.message() < at);
    let mut own = pairing.answers.iter().skip(first).take_while(|answer| answer.message() == at);
    !parts.is_empty()
        && parts.iter().all(|part| matches!(part.kind, Kind::Answer(_)))
        && own.all(|answer| !matches!(answer.fate(), Fate::Duplicate(_) | Fate::Orphan))
}

/// What a message says beside calls and answers, and whether that is no speech.
fn said(draft: &Draft<'_>, message: &Message) -> (String, bool) {
    let mut notes = Vec::new();
    for part in draft.parts_of(message) {
        match &part.kind {
            Kind::Text(_) => {
                let words = preview::text(part.span.of(draft.source), WORDS);
                if !words.trim().is_empty() {
                    return (words, false);
                }
            }
            Kind::Reasoning(Seal::Signed) => notes.push("thinks, signed"),
            Kind::Reasoning(Seal::Unsigned | Seal::Plain) => notes.push("thinks"),
            Kind::Media => notes.push("media"),
            Kind::ServerCall(_) | Kind::ServerAnswer(_) => notes.push("a tool of the provider"),
            Kind::Other => notes.push("other content"),
            Kind::Call(_) | Kind::Answer(_) => {}
        }
    }
    notes.dedup();
    if notes.is_empty() && draft.parts_of(message).is_empty() && message.role != Role::Neutral {
        match message.content {
            Content::Absent | Content::Null | Content::Text | Content::List => {
                notes.push("nothing");
            }
            Content::Other => notes.push("other content"),
        }
    }
    let said = if notes.is_empty() { String::new() } else { format!("({})", notes.join(", ")) };
    (said, true)
}

impl Block {
    fn heading(&self, draft: &Draft<'_>, gutter: usize, most: usize) -> Line {
        let role = draft.messages.get(self.messages.start).map_or(Role::Unknown, |m| m.role);
        let (name, style) = match role {
            Role::User => ("user", BOLD),
            Role::Assistant => ("assistant", FRAME),
            Role::System | Role::Developer => ("system", DIM),
            Role::Answer => ("tool", DIM),
            Role::Neutral | Role::Unknown => ("other", DIM),
        };
        let words = if self.silent { DIM } else { Style::new() };
        Line::new()
            .with(DIM, format!("{:>gutter$}  ", self.messages.start))
            .with(style, pad(name, ROLE))
            .with(words, format!("  {}", fit(&self.said, most)))
    }
}
