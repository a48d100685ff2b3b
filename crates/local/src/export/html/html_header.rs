//! Writes the header of the document.

use super::html_document::HtmlDocument;
use crate::export::{ExportHeader, visible::single_line};

pub(super) fn write(document: &mut HtmlDocument, header: &ExportHeader) {
    document.raw("<header>\n<h1>");
    document.text(&single_line(&header.heading()));
    document.raw("</h1>\n<dl class=\"facts\">\n");
    for (name, value) in header.facts() {
        document.raw(&format!("<div><dt>{name}</dt><dd>"));
        document.text(&single_line(&value));
        document.raw("</dd></div>\n");
    }
    document.raw("</dl>\n");
    if !header.notes.is_empty() {
        document.raw("<section class=\"notes\" aria-labelledby=\"notes\">\n");
        document.raw("<h2 id=\"notes\">Repairs</h2>\n<ul>\n");
        for note in &header.notes {
            document.raw("<li>");
            document.inline(&single_line(note));
            document.raw("</li>\n");
        }
        document.raw("</ul>\n</section>\n");
    }
    document.raw("</header>\n");
}
