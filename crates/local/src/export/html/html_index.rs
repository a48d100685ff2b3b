//! The index of a folder of HTML documents.

use super::{end, single_line, start};
use crate::export::index::{COLUMNS, ExportIndexEntry};

/// Writes the index.
pub fn html_index(entries: &[ExportIndexEntry]) -> String {
    let mut document = start("Sessions");
    document.raw("<main>\n<h1>Sessions</h1>\n");
    document.raw("<div class=\"index\" role=\"region\" aria-label=\"Sessions\" tabindex=\"0\">\n");
    document.raw("<table>\n<thead>\n<tr><th>Title</th>");
    for column in COLUMNS {
        document.raw(&format!("<th>{column}</th>"));
    }
    document.raw("</tr>\n</thead>\n<tbody>\n");
    for entry in entries {
        // File names are made of letters, digits, dots and hyphens.
        document.raw(&format!("<tr><td><a href=\"{}\">", entry.document));
        document.text(&single_line(&entry.header.heading()));
        document.raw("</a></td>");
        for cell in entry.cells() {
            document.raw("<td>");
            document.text(&single_line(&cell));
            document.raw("</td>");
        }
        document.raw("</tr>\n");
    }
    document.raw("</tbody>\n</table>\n</div>\n</main>\n");
    end(document)
}
