//! The index of a folder of Markdown documents.

use super::{escape_markdown, single_line};
use crate::export::index::{COLUMNS, ExportIndexEntry};

/// Writes the index.
pub fn markdown_index(entries: &[ExportIndexEntry]) -> String {
    let mut out = format!("# Sessions\n\n| Title | {} |\n", COLUMNS.join(" | "));
    out.push_str(&format!("|---|{}\n", "---|".repeat(COLUMNS.len())));
    let cell = |text: &str| escape_markdown(&single_line(text)).replace('|', "\\|");
    for entry in entries {
        let title = cell(&entry.header.heading()).replace(['[', ']'], "");
        let cells: Vec<String> = entry.cells().iter().map(|text| cell(text)).collect();
        out.push_str(&format!("| [{title}]({}) | {} |\n", entry.document, cells.join(" | ")));
    }
    out
}
