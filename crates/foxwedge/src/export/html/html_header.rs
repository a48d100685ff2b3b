//! What stands above the conversation.

use super::html_document::HtmlDocument;
use crate::export::{ExportHeader, visible::single_line};

pub(super) fn write(page: &mut HtmlDocument, title: &ExportHeader) {
    page.raw("<header>\n<h1>Conversation with ");
    page.text(&single_line(&title.agent));
    page.raw("</h1>\n<dl class=\"facts\">\n");
    for (name, value) in title.facts().into_iter().skip_while(|(name, _)| *name == "Agent") {
        page.raw(&format!("<div><dt>{name}</dt><dd>"));
        page.text(&single_line(&value));
        page.raw("</dd></div>\n");
    }
    page.raw("</dl>\n");
    if !title.notes.is_empty() {
        page.raw("<section class=\"notes\" aria-labelledby=\"notes\">\n");
        page.raw("<h2 id=\"notes\">What was repaired</h2>\n<ul>\n");
        for note in &title.notes {
            page.raw("<li>");
            page.inline(&single_line(note));
            page.raw("</li>\n");
        }
        page.raw("</ul>\n</section>\n");
    }
    page.raw("</header>\n");
}
