//! Finds the Markdown in a text that we keep: fenced code and inline code.
//!
//! It need not agree with other Markdown parsers: code is written inside a fence of our own, and
//! everything else is escaped.

use std::{borrow::Cow, collections::HashMap, ops::Range};

/// A block of text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ProseBlock<'t> {
    /// Lines, without the last line break.
    Lines(&'t str),
    /// Fenced code: its info word and its lines.
    Code { language: &'t str, body: Cow<'t, str> },
}

/// Splits a text into blocks. A fence that is never closed ends with the text.
pub(super) fn blocks(text: &str) -> Vec<ProseBlock<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<CodeFence<'_>> = None;
    // Where the current block starts, and where the current line does.
    let (mut start, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        let next = at + line.len();
        match (&open, CodeFence::opened_by(line)) {
            (Some(fence), _) if fence.is_closed_by(line) => {
                blocks.push(fence.code_block(text.get(start..at).unwrap_or_default()));
                (open, start) = (None, next);
            }
            (None, Some(fence)) => {
                push_lines(&mut blocks, text.get(start..at).unwrap_or_default());
                (open, start) = (Some(fence), next);
            }
            (Some(_), _) | (None, None) => {}
        }
        at = next;
    }
    let rest = text.get(start..).unwrap_or_default();
    match open {
        Some(fence) => blocks.push(fence.code_block(rest)),
        None => push_lines(&mut blocks, rest),
    }
    blocks
}

fn push_lines<'t>(blocks: &mut Vec<ProseBlock<'t>>, text: &'t str) {
    let text = text.strip_suffix('\n').unwrap_or(text);
    if !text.trim().is_empty() {
        blocks.push(ProseBlock::Lines(text));
    }
}

/// The opening fence of a code block.
struct CodeFence<'t> {
    mark: char,
    length: usize,
    /// White space before the fence; not part of the code.
    indent: &'t str,
    language: &'t str,
}

impl<'t> CodeFence<'t> {
    fn opened_by(line: &'t str) -> Option<CodeFence<'t>> {
        let marks = line.trim_start_matches([' ', '\t']);
        let indent = line.get(..line.len() - marks.len())?;
        let mark = marks.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let info = marks.trim_start_matches(mark);
        let length = marks.len() - info.len();
        if length < 3 || mark == '`' && info.contains('`') {
            return None;
        }
        let language = info.split_whitespace().next().unwrap_or_default();
        Some(CodeFence { mark, length, indent, language })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let inner = line.trim();
        inner.len() >= self.length && inner.chars().all(|c| c == self.mark)
    }

    fn code_block(&self, body: &'t str) -> ProseBlock<'t> {
        let body = match self.indent {
            "" => Cow::Borrowed(body),
            indent => {
                let unindent = |line: &'t str| {
                    line.strip_prefix(indent).unwrap_or(line.trim_start_matches([' ', '\t']))
                };
                Cow::Owned(body.split_inclusive('\n').map(unindent).collect())
            }
        };
        ProseBlock::Code { language: self.language, body }
    }
}

/// A span of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum InlineSpan<'t> {
    Plain(&'t str),
    /// Inline code with its backticks.
    Code(&'t str),
    /// Backticks that open no code on this line; the first may be escaped by a backslash.
    UnmatchedMarks {
        marks: &'t str,
        escaped: bool,
    },
}

/// Splits a line into spans. As in Markdown, code ends at the next run of as many backticks, and a
/// backslash before a backtick escapes it.
pub(super) fn spans(line: &str) -> Vec<InlineSpan<'_>> {
    let runs = backtick_runs(line);
    // For each run, the next one of the same length. Goes backwards to visit each run once.
    let mut next_of = HashMap::new();
    let mut closing = vec![None; runs.len()];
    for (index, run) in runs.iter().enumerate().rev() {
        closing[index] = next_of.insert(run.len(), index);
    }
    let mut spans = Vec::new();
    let (mut at, mut index) = (0, 0);
    while let Some(run) = runs.get(index) {
        let escaped = line.get(..run.start).is_some_and(|head| {
            head.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
        });
        let end = closing[index].filter(|_| !escaped).and_then(|end| runs.get(end));
        push_plain(&mut spans, line.get(at..run.start).unwrap_or_default());
        match (end, closing[index]) {
            (Some(end), Some(last)) => {
                spans.push(InlineSpan::Code(line.get(run.start..end.end).unwrap_or_default()));
                (at, index) = (end.end, last + 1);
            }
            _ => {
                let marks = line.get(run.clone()).unwrap_or_default();
                spans.push(InlineSpan::UnmatchedMarks { marks, escaped });
                (at, index) = (run.end, index + 1);
            }
        }
    }
    push_plain(&mut spans, line.get(at..).unwrap_or_default());
    spans
}

fn push_plain<'t>(spans: &mut Vec<InlineSpan<'t>>, text: &'t str) {
    if !text.is_empty() {
        spans.push(InlineSpan::Plain(text));
    }
}

/// The ranges of the runs of backticks.
fn backtick_runs(line: &str) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, byte) in line.bytes().enumerate() {
        match runs.last_mut() {
            Some(run) if byte == b'`' && run.end == at => run.end += 1,
            _ if byte == b'`' => runs.push(at..at + 1),
            _ => {}
        }
    }
    runs
}

/// A fence that is longer than any run of backticks in the text.
pub(super) fn safe_fence(text: &str) -> String {
    let longest = backtick_runs(text).into_iter().map(|run| run.len()).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fenced_code_is_found() {
        let code = |language, body: &'static str| ProseBlock::Code { language, body: body.into() };
        let table = [
            (
                "a\n```rust\nb\n```\nc",
                vec![ProseBlock::Lines("a"), code("rust", "b\n"), ProseBlock::Lines("c")],
            ),
            ("~~~\n```\n~~~", vec![code("", "```\n")]),
            ("````\n```\n  ````  \n", vec![code("", "```\n")]),
            ("```\nopen", vec![code("", "open")]),
            (
                "1. x\n   ```sh\n   ls\n     -l\n  y\n   ```",
                vec![ProseBlock::Lines("1. x"), code("sh", "ls\n  -l\ny\n")],
            ),
            ("- ```\nx", vec![ProseBlock::Lines("- ```\nx")]),
            ("``` a`b\nx", vec![ProseBlock::Lines("``` a`b\nx")]),
            ("\n\n", vec![]),
        ];
        for (text, expected) in table {
            assert_eq!(blocks(text), expected, "{text:?}");
        }
    }

    #[test]
    fn inline_code_is_found_as_in_markdown() {
        use InlineSpan::{Code, Plain};
        let unmatched = |escaped| InlineSpan::UnmatchedMarks { marks: "`", escaped };
        let table = [
            ("a `b` c", vec![Plain("a "), Code("`b`"), Plain(" c")]),
            ("``a`b`` ` c", vec![Code("``a`b``"), Plain(" "), unmatched(false), Plain(" c")]),
            (
                r"\`a` b",
                vec![Plain(r"\"), unmatched(true), Plain("a"), unmatched(false), Plain(" b")],
            ),
            (r"`a\` b", vec![Code(r"`a\`"), Plain(" b")]),
            ("", vec![]),
        ];
        for (line, expected) in table {
            assert_eq!(spans(line), expected, "{line}");
        }
    }

    #[test]
    fn fence_is_longer_than_any_inside() {
        for (text, expected) in [("", 3), ("``", 3), ("```", 4), ("a ````` b", 6)] {
            assert_eq!(safe_fence(text).len(), expected, "{text}");
        }
    }
}
