//! Writes a history for a format: the bare list of its messages.
//!
//! What the format spelled itself is written as it was. Everything else is spelled anew, in the
//! layout the format wants: answers directly behind their calls, neighbours joined where roles must
//! alternate. What the format cannot hold is left out and listed, never silently.

mod page;
mod turns;
mod chat;
mod responses;
mod blocks;
mod anthropic;
mod gemini;
mod bedrock;

use foxwedge_core::Wire;

use super::History;
use page::Page;

/// Something that a format cannot hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loss {
    /// What is not there any more.
    pub what: Lost,
    /// Index of the message in the history.
    pub message: usize,
    /// One sentence about this very place.
    pub note: String,
}

/// What is not there any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Lost {
    /// Instructions: the bare list has no place for them.
    Instructions,
    /// Reasoning of another provider.
    Reasoning,
    /// An image, a file, a sound.
    Media,
    /// The mark of a failed answer.
    ErrorMark,
    /// The place of a text behind a call.
    Order,
    /// Arguments that are no JSON object, as they were.
    Arguments,
    /// Something we do not know.
    Unknown,
}

/// Writes the list of messages, and tells what is missing in it.
pub fn encode(history: &History<'_>, wire: Wire) -> (String, Vec<Loss>) {
    let mut page = Page::new(history, wire);
    let messages = match wire {
        Wire::OpenaiChat => chat::messages(&mut page),
        Wire::OpenaiResponses => responses::items(&mut page),
        Wire::Anthropic => blocks::messages(&mut page, &anthropic::SPELLING),
        Wire::Gemini => blocks::messages(&mut page, &gemini::SPELLING),
        Wire::Bedrock => blocks::messages(&mut page, &bedrock::SPELLING),
    };
    let mut losses = page.losses;
    losses.sort_by_key(|loss| loss.message);
    (list(&messages), losses)
}

/// A JSON list.
fn list(items: &[String]) -> String {
    format!("[{}]", items.join(","))
}
