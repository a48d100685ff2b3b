//! A conversation as one HTML file: no scripts, nothing fetched, readable in any light.
//!
//! Every word that was said goes through `HtmlDocument::text` or `HtmlDocument::prose`, which escape it.

mod html_document;
mod html_header;
mod html_turn;
mod arguments;
mod image;

use foxwedge_formats::model::{ModelHistory, ModelRole};

use super::{
    ExportHeader,
    export_turns::{ExportTurn, ExportTurnItem, role_title, split_turns},
    visible::single_line,
};
use crate::cli_output::cut;
use html_document::HtmlDocument;

const STYLE: &str = include_str!("html/style.css");

/// Nothing is fetched from anywhere, whatever the file says.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// The whole document.
pub(crate) fn html(title: &ExportHeader, history: &ModelHistory<'_>) -> String {
    let scenes = split_turns(history);
    let mut page = HtmlDocument::default();
    page.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"");
    page.raw(POLICY);
    page.raw("\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    page.raw("<meta name=\"color-scheme\" content=\"light dark\">\n");
    page.raw("<meta name=\"robots\" content=\"noindex\">\n<title>");
    page.text(&single_line(&format!("{} · {}", title.agent, title.session)));
    page.raw("</title>\n<style>\n");
    page.raw(STYLE);
    page.raw("</style>\n</head>\n<body>\n");
    page.raw("<a class=\"skip\" href=\"#talk\">Skip to the conversation</a>\n");
    html_header::write(&mut page, title);
    write_contents(&mut page, &scenes);
    page.raw("<main id=\"talk\" tabindex=\"-1\">\n");
    for (index, scene) in scenes.iter().enumerate() {
        html_turn::write(&mut page, index + 1, scene);
    }
    page.raw("</main>\n<footer><p>Written by foxwedge. Nothing in this file is fetched from ");
    page.raw("anywhere.</p></footer>\n</body>\n</html>\n");
    page.out
}

/// Links to what the user asked, where there is enough to get lost in.
fn write_contents(page: &mut HtmlDocument, scenes: &[ExportTurn<'_, '_>]) {
    let first_words = |scene: &ExportTurn<'_, '_>| {
        scene.items.iter().find_map(|act| match act {
            ExportTurnItem::Text(text) => {
                text.lines().find(|line| !line.trim().is_empty()).map(single_line)
            }
            _ => None,
        })
    };
    let numbered = scenes.iter().enumerate().map(|(index, scene)| (index + 1, scene));
    let asked = numbered.filter(|(_, scene)| scene.role == ModelRole::User);
    let asked: Vec<(usize, String)> =
        asked.filter_map(|(number, scene)| Some((number, first_words(scene)?))).collect();
    if asked.len() < 3 {
        return;
    }
    page.raw("<nav aria-label=\"Contents\">\n<details>\n<summary>What was asked</summary>\n<ol>\n");
    for (number, words) in asked {
        page.raw(&format!("<li value=\"{number}\"><a href=\"#m{number}\">"));
        page.text(&cut(words.trim(), 90));
        page.raw("</a></li>\n");
    }
    page.raw("</ol>\n</details>\n</nav>\n");
}

/// What a section is called, and the class it is drawn with.
fn role_name_and_class(role: ModelRole) -> (&'static str, &'static str) {
    let class = match role {
        ModelRole::System | ModelRole::Developer => "system",
        ModelRole::User => "user",
        ModelRole::Assistant => "assistant",
    };
    (role_title(role), class)
}
