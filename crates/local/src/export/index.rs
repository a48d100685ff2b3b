//! The index of a folder of exported sessions.

use super::ExportHeader;

/// One document in the folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExportIndexEntry {
    /// Its file name.
    pub document: String,
    /// What is above its conversation.
    pub header: ExportHeader,
}

impl ExportIndexEntry {
    /// The cells of its row after the title.
    pub(super) fn cells(&self) -> [String; 6] {
        let header = &self.header;
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        // Seconds and fractions of them say nothing in a list.
        let minutes = |time: &str| time.chars().take(16).collect::<String>().replace('T', " ");
        let repairs = match header.notes.len() {
            0 => String::new(),
            number => number.to_string(),
        };
        [
            header.agent.clone(),
            text(&header.project),
            minutes(&text(&header.updated)),
            header.messages.to_string(),
            header.calls.to_string(),
            repairs,
        ]
    }
}

/// The names of the columns after the title.
pub(super) const COLUMNS: [&str; 6] =
    ["Agent", "Project", "Updated", "Messages", "Calls", "Repairs"];
