//! Exports a conversation as one Markdown, HTML or JSON document.
//!
//! Pure functions from a history to text. Content of the conversation is escaped: it can neither
//! break out of its place in the document nor look like text written by foxwedge.

mod export_turns;
mod visible;
mod prose;
mod pretty;
mod markdown;
mod html;
mod json;
mod index;
mod redact;

pub use export_turns::{ExportTurn, ExportTurnItem, split_turns};
pub use html::{html, html_index};
pub use index::ExportIndexEntry;
pub use json::{json, json_index};
pub use markdown::{markdown, markdown_index};
pub use pretty::pretty;
pub use redact::redact;

/// The metadata above a conversation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExportHeader {
    /// Name of the agent.
    pub agent: String,
    /// Session id.
    pub session: String,
    /// Its title, or the first words of the user.
    pub title: Option<String>,
    /// Folder or repository of the session.
    pub project: Option<String>,
    /// Time of the first record.
    pub started: Option<String>,
    /// Time of the last change.
    pub updated: Option<String>,
    /// The file it was read from.
    pub file: Option<String>,
    /// Number of messages.
    pub messages: usize,
    /// Number of tool calls.
    pub calls: usize,
    /// One sentence for each repair.
    pub notes: Vec<String>,
}

impl ExportHeader {
    /// The heading of the document.
    fn heading(&self) -> String {
        match &self.title {
            Some(title) => title.clone(),
            None => format!("Conversation with {}", self.agent),
        }
    }

    /// The known facts with their labels.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![("Agent", self.agent.clone()), ("Session", self.session.clone())];
        let optional = [
            ("Project", &self.project),
            ("Started", &self.started),
            ("Updated", &self.updated),
            ("File", &self.file),
        ];
        for (name, value) in optional {
            facts.extend(value.clone().map(|value| (name, value)));
        }
        facts.retain(|(_, value)| !value.is_empty());
        facts.push(("Messages", self.messages.to_string()));
        facts.push(("Calls", self.calls.to_string()));
        facts
    }
}

#[cfg(test)]
mod tests;
