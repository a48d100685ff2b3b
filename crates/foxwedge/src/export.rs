//! A conversation as one document: to read, to keep, to pass on.
//!
//! Pure functions from a history to text. What was said is data here: it can neither leave its
//! place in the document nor pass for something that we wrote.

mod export_turns;
mod visible;
mod prose;
mod pretty;
mod markdown;
mod html;
mod json;
mod redact;

pub(crate) use html::html;
pub(crate) use json::json;
pub(crate) use markdown::markdown;
pub(crate) use pretty::pretty;
pub(crate) use redact::redact;

/// What stands above a conversation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ExportHeader {
    /// The program that held the conversation.
    pub(crate) agent: String,
    /// The session's id.
    pub(crate) session: String,
    /// The folder or repository it was about.
    pub(crate) project: Option<String>,
    /// When it began.
    pub(crate) started: Option<String>,
    /// When it was last written to.
    pub(crate) updated: Option<String>,
    /// The file it was read from.
    pub(crate) file: Option<String>,
    /// How many messages it has.
    pub(crate) messages: usize,
    /// How many calls it has.
    pub(crate) calls: usize,
    /// What was repaired, a sentence each.
    pub(crate) notes: Vec<String>,
}

impl ExportHeader {
    /// The facts that are known, with their names.
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
