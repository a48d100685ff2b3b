//! The document so far, and the only two ways for said words into it.

use std::ops::Range;

use crate::export::{
    prose::{InlineSpan, ProseBlock, blocks, spans},
    visible::make_visible,
};

/// The document so far.
#[derive(Default)]
pub(super) struct HtmlDocument {
    pub(super) out: String,
}

/// How much of an output is shown at once.
struct PreviewLimit {
    lines: usize,
    bytes: usize,
}

const HEAD: PreviewLimit = PreviewLimit { lines: 10, bytes: 1_600 };
const TAIL: PreviewLimit = PreviewLimit { lines: 6, bytes: 800 };

impl HtmlDocument {
    /// Our own words and tags.
    pub(super) fn raw(&mut self, html: &str) {
        self.out.push_str(html);
    }

    /// Words that were said.
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

    /// Words in an element.
    pub(super) fn element(&mut self, tag: &str, class: &str, text: &str) {
        self.raw(&format!("<{tag} class=\"{class}\">"));
        self.text(text);
        self.raw(&format!("</{tag}>"));
    }

    /// Text with its paragraphs and its code.
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
                if let Some(words) = heading {
                    self.raw("<p class=\"heading\">");
                    self.inline(words);
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

    /// A line: its code as code, the rest as it is.
    pub(super) fn inline(&mut self, line: &str) {
        for span in spans(line) {
            match span {
                InlineSpan::Plain(text) => self.bold(text),
                InlineSpan::UnmatchedMarks { marks, .. } => self.text(marks),
                InlineSpan::Code(text) => {
                    let words = text.trim_matches('`');
                    self.raw("<code>");
                    self.text(words.strip_prefix(' ').unwrap_or(words).trim_end());
                    self.raw("</code>");
                }
            }
        }
    }

    /// Plain words, with `**these**` in bold.
    fn bold(&mut self, text: &str) {
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once("**") {
            let end = behind.split_once("**").filter(|(words, _)| {
                !words.is_empty() && !words.starts_with(' ') && !words.ends_with(' ')
            });
            let Some((words, behind)) = end else { break };
            self.text(before);
            self.raw("<strong>");
            self.text(words);
            self.raw("</strong>");
            rest = behind;
        }
        self.text(rest);
    }

    /// Lines as they are.
    pub(super) fn block(&mut self, class: &str, text: &str) {
        // What is wider than the page can be scrolled with the keyboard, too.
        self.raw(&format!("<pre class=\"{class}\" tabindex=\"0\"><code>"));
        self.text(text);
        self.raw("</code></pre>\n");
    }

    /// Lines as they are. Of many, the middle is folded: what a command did stands at the
    /// beginning, how it ended at the end.
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
        self.folded("more", &more, |page| page.block("output", folded));
        self.block("output", last);
    }

    /// Something that is read only on demand.
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

/// Where the middle of a long text begins and ends.
fn folded_range(text: &str) -> Option<(usize, usize)> {
    let line = text.match_indices('\n').nth(HEAD.lines - 1).map(|(at, _)| at);
    let head = line.unwrap_or(text.len()).min(char_boundary(text, HEAD.bytes));
    let line = text.rmatch_indices('\n').nth(TAIL.lines - 1).map(|(at, _)| at);
    let far = char_boundary(text, text.len().saturating_sub(TAIL.bytes));
    let tail = line.unwrap_or(0).max(far);
    // A few words more are not worth a click.
    let folded = text.get(head..tail)?;
    (folded.lines().count() > 6 || folded.len() > 1_000).then_some((head, tail))
}

/// The last place up to `at` that is not inside of a character.
fn char_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The words of a heading.
fn heading(line: &str) -> Option<&str> {
    let words = line.trim_start_matches('#');
    let depth = line.len() - words.len();
    (1..=6).contains(&depth).then(|| words.strip_prefix(' ')).flatten().map(str::trim)
}
