//! Builds the HTML document. Content of the conversation enters only through escaping methods.

use std::ops::Range;

use crate::export::{
    prose::{InlineSpan, ProseBlock, blocks, spans},
    visible::make_visible,
};

/// An HTML document under construction.
#[derive(Default)]
pub(super) struct HtmlDocument {
    pub(super) out: String,
}

/// How much of a long output is shown unfolded.
struct PreviewLimit {
    lines: usize,
    bytes: usize,
}

const HEAD: PreviewLimit = PreviewLimit { lines: 10, bytes: 1_600 };
const TAIL: PreviewLimit = PreviewLimit { lines: 6, bytes: 800 };

impl HtmlDocument {
    /// Adds our own HTML, unescaped.
    pub(super) fn raw(&mut self, html: &str) {
        self.out.push_str(html);
    }

    /// Adds escaped text.
    pub(super) fn text(&mut self, text: &str) {
        for character in make_visible(text).chars() {
            match character {
                '&' => self.raw("&amp;"),
                '<' => self.raw("&lt;"),
                '>' => self.raw("&gt;"),
                '"' => self.raw("&quot;"),
                '\'' => self.raw("&#39;"),
                other => self.out.push(other),
            }
        }
    }

    /// Adds an element with escaped text.
    pub(super) fn element(&mut self, tag: &str, class: &str, text: &str) {
        self.raw(&format!("<{tag} class=\"{class}\">"));
        self.text(text);
        self.raw(&format!("</{tag}>"));
    }

    /// Adds text with its paragraphs and code.
    pub(super) fn prose(&mut self, text: &str) {
        self.raw("<div class=\"prose\">\n");
        for block in blocks(&make_visible(text)) {
            match block {
                ProseBlock::Lines(lines) => self.paragraphs(lines),
                ProseBlock::Code { body, .. } => self.block("code", body.trim_end_matches('\n')),
            }
        }
        self.raw("</div>\n");
    }

    fn paragraphs(&mut self, lines: &str) {
        let mut open = false;
        for line in lines.split('\n') {
            let heading = heading(line);
            if line.trim().is_empty() || heading.is_some() {
                if std::mem::take(&mut open) {
                    self.raw("</p>\n");
                }
                if let Some(inner) = heading {
                    self.raw("<p class=\"heading\">");
                    self.inline(inner);
                    self.raw("</p>\n");
                }
                continue;
            }
            self.raw(if open { "\n" } else { "<p>" });
            open = true;
            self.inline(line);
        }
        if open {
            self.raw("</p>\n");
        }
    }

    /// Adds a line with its inline code.
    pub(super) fn inline(&mut self, line: &str) {
        for span in spans(line) {
            match span {
                InlineSpan::Plain(text) => self.bold(text),
                InlineSpan::UnmatchedMarks { marks, .. } => self.text(marks),
                InlineSpan::Code(text) => {
                    let inner = text.trim_matches('`');
                    self.raw("<code>");
                    self.text(inner.strip_prefix(' ').unwrap_or(inner).trim_end());
                    self.raw("</code>");
                }
            }
        }
    }

    /// Adds text, with `**this**` in bold.
    fn bold(&mut self, text: &str) {
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("**") {
            let end = after.split_once("**").filter(|(inner, _)| {
                !inner.is_empty() && !inner.starts_with(' ') && !inner.ends_with(' ')
            });
            let Some((inner, after)) = end else { break };
            self.text(before);
            self.raw("<strong>");
            self.text(inner);
            self.raw("</strong>");
            rest = after;
        }
        self.text(rest);
    }

    /// Adds preformatted lines.
    pub(super) fn block(&mut self, class: &str, text: &str) {
        // `tabindex`: wide lines can be scrolled with the keyboard.
        self.raw(&format!("<pre class=\"{class}\" tabindex=\"0\"><code>"));
        self.text(text);
        self.raw("</code></pre>\n");
    }

    /// Adds preformatted lines. The middle of a long output is folded: the beginning shows what a
    /// command did, the end how it finished.
    pub(super) fn output(&mut self, text: &str) {
        let text = make_visible(text);
        let text = text.trim_end_matches('\n');
        let Some((head, tail)) = folded_range(text) else { return self.block("output", text) };
        let part = |range: Range<usize>| text.get(range).unwrap_or_default().trim_matches('\n');
        let (first, folded, last) = (part(0..head), part(head..tail), part(tail..text.len()));
        self.block("output", first);
        let lines = folded.split('\n').count();
        let more =
            if lines == 1 { "1 more line".to_owned() } else { format!("{lines} more lines") };
        self.folded("more", &more, |document| document.block("output", folded));
        self.block("output", last);
    }

    /// Adds a folded section.
    pub(super) fn folded(
        &mut self,
        class: &str,
        summary: &str,
        inside: impl FnOnce(&mut HtmlDocument),
    ) {
        self.raw(&format!("<details class=\"{class}\">\n<summary>"));
        self.text(summary);
        self.raw("</summary>\n");
        inside(self);
        self.raw("</details>\n");
    }
}

/// The range of a long text that is folded.
fn folded_range(text: &str) -> Option<(usize, usize)> {
    let line = text.match_indices('\n').nth(HEAD.lines - 1).map(|(at, _)| at);
    let head = line.unwrap_or(text.len()).min(char_boundary(text, HEAD.bytes));
    let line = text.rmatch_indices('\n').nth(TAIL.lines - 1).map(|(at, _)| at);
    let far = char_boundary(text, text.len().saturating_sub(TAIL.bytes));
    let tail = line.unwrap_or(0).max(far);
    // A short middle is not worth folding.
    let folded = text.get(head..tail)?;
    (folded.lines().count() > 6 || folded.len() > 1_000).then_some((head, tail))
}

/// The last character boundary up to `at`.
fn char_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The text of a heading.
fn heading(line: &str) -> Option<&str> {
    let inner = line.trim_start_matches('#');
    let depth = line.len() - inner.len();
    (1..=6).contains(&depth).then(|| inner.strip_prefix(' ')).flatten().map(str::trim)
}
