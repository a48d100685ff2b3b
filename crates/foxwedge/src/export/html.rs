//! A conversation as one HTML file: no scripts, nothing fetched, readable in any light.
//!
//! Every word that was said goes through [`Page::text`] or [`Page::prose`], which escape it.

mod page;
mod facts;
mod said;
mod arguments;
mod image;

use foxwedge_dialect::canon::{History, Speaker};

use super::{
    Title,
    scene::{Act, Scene, scenes, speaker},
    visible::line,
};
use crate::say::cut;
use page::Page;

const STYLE: &str = include_str!("html/style.css");

/// Nothing is fetched from anywhere, whatever the file says.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// The whole document.
pub(crate) fn html(title: &Title, history: &History<'_>) -> String {
    let scenes = scenes(history);
    let mut page = Page::default();
    page.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"");
    page.raw(POLICY);
    page.raw("\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    page.raw("<meta name=\"color-scheme\" content=\"light dark\">\n");
    page.raw("<meta name=\"robots\" content=\"noindex\">\n<title>");
    page.text(&line(&format!("{} · {}", title.agent, title.session)));
    page.raw("</title>\n<style>\n");
    page.raw(STYLE);
    page.raw("</style>\n</head>\n<body>\n");
    page.raw("<a class=\"skip\" href=\"#talk\">Skip to the conversation</a>\n");
    facts::write(&mut page, title);
    contents(&mut page, &scenes);
    page.raw("<main id=\"talk\" tabindex=\"-1\">\n");
    for (index, scene) in scenes.iter().enumerate() {
        said::write(&mut page, index + 1, scene);
    }
    page.raw("</main>\n<footer><p>Written by foxwedge. Nothing in this file is fetched from ");
    page.raw("anywhere.</p></footer>\n</body>\n</html>\n");
    page.out
}

/// Links to what the user asked, where there is enough to get lost in.
fn contents(page: &mut Page, scenes: &[Scene<'_, '_>]) {
    let first_words = |scene: &Scene<'_, '_>| {
        scene.acts.iter().find_map(|act| match act {
            Act::Text(text) => text.lines().find(|line| !line.trim().is_empty()).map(line),
            _ => None,
        })
    };
    let numbered = scenes.iter().enumerate().map(|(index, scene)| (index + 1, scene));
    let asked = numbered.filter(|(_, scene)| scene.role == Speaker::User);
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
fn named(role: Speaker) -> (&'static str, &'static str) {
    let class = match role {
        Speaker::System | Speaker::Developer => "system",
        Speaker::User => "user",
        Speaker::Assistant => "assistant",
    };
    (speaker(role), class)
}
