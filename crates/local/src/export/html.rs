//! A conversation as one HTML file: no scripts, no external resources, light and dark colors.
//!
//! Content of the conversation goes through `HtmlDocument::text` or `HtmlDocument::prose`, which
//! escape it.

mod html_document;
mod html_header;
mod html_index;
mod html_turn;
mod arguments;
mod image;

use foxwedge_formats::model::{ModelHistory, ModelRole};

use super::{
    ExportHeader,
    export_turns::{ExportTurn, ExportTurnItem, role_title, split_turns},
    visible::single_line,
};
use crate::output::cut;
use html_document::HtmlDocument;

pub use html_index::html_index;

const STYLE: &str = include_str!("html/style.css");

/// Forbids loading anything, whatever the file contains.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// Writes the document.
pub fn html(header: &ExportHeader, history: &ModelHistory<'_>) -> String {
    let turns = split_turns(history);
    let mut document = start(&match &header.title {
        Some(title) => format!("{title} · {}", header.agent),
        None => format!("{} · {}", header.agent, header.session),
    });
    document.raw("<a class=\"skip\" href=\"#talk\">Skip to the conversation</a>\n");
    html_header::write(&mut document, header);
    write_contents(&mut document, &turns);
    document.raw("<main id=\"talk\" tabindex=\"-1\">\n");
    for (index, turn) in turns.iter().enumerate() {
        html_turn::write(&mut document, index + 1, turn);
    }
    document.raw("</main>\n");
    end(document)
}

/// Starts a document, up to its body.
fn start(title: &str) -> HtmlDocument {
    let mut document = HtmlDocument::default();
    document.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    document.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"");
    document.raw(POLICY);
    document.raw("\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    document.raw("<meta name=\"color-scheme\" content=\"light dark\">\n");
    document.raw("<meta name=\"robots\" content=\"noindex\">\n<title>");
    document.text(&single_line(title));
    document.raw("</title>\n<style>\n");
    document.raw(STYLE);
    document.raw("</style>\n</head>\n<body>\n");
    document
}

/// Ends a document.
fn end(mut document: HtmlDocument) -> String {
    document.raw("<footer><p>Written by foxwedge. This file loads nothing from the network.</p>");
    document.raw("</footer>\n</body>\n</html>\n");
    document.out
}

/// Writes links to the user messages, if there are at least three.
fn write_contents(document: &mut HtmlDocument, turns: &[ExportTurn<'_, '_>]) {
    let first_line = |turn: &ExportTurn<'_, '_>| {
        turn.items.iter().find_map(|item| match item {
            ExportTurnItem::Text(text) => {
                text.lines().find(|line| !line.trim().is_empty()).map(single_line)
            }
            _ => None,
        })
    };
    let numbered = turns.iter().enumerate().map(|(index, turn)| (index + 1, turn));
    let user_turns = numbered.filter(|(_, turn)| turn.role == ModelRole::User);
    let user_turns: Vec<(usize, String)> =
        user_turns.filter_map(|(number, turn)| Some((number, first_line(turn)?))).collect();
    if user_turns.len() < 3 {
        return;
    }
    document
        .raw("<nav aria-label=\"Contents\">\n<details>\n<summary>User messages</summary>\n<ol>\n");
    for (number, line) in user_turns {
        document.raw(&format!("<li value=\"{number}\"><a href=\"#m{number}\">"));
        document.text(&cut(line.trim(), 90));
        document.raw("</a></li>\n");
    }
    document.raw("</ol>\n</details>\n</nav>\n");
}

/// Heading and CSS class of a role.
fn role_name_and_class(role: ModelRole) -> (&'static str, &'static str) {
    let class = match role {
        ModelRole::System | ModelRole::Developer => "system",
        ModelRole::User => "user",
        ModelRole::Assistant => "assistant",
    };
    (role_title(role), class)
}
