//! Escapes headings, HTML and images in Markdown; other markup is kept.

use crate::export::prose::{InlineSpan, spans};

/// Escapes lines of prose. The caller has already removed fenced code.
pub(super) fn escape_markdown(lines: &str) -> String {
    let mut out = String::with_capacity(lines.len() + 16);
    for (index, line) in lines.split('\n').enumerate() {
        if index > 0 {
            out.push('\n');
        }
        escape_line(&mut out, line);
    }
    out
}

/// Formats a text as inline code.
pub(super) fn code_span(text: &str) -> String {
    let marks = spans(text).iter().map(longest_backtick_run).max().unwrap_or(0);
    let marks = "`".repeat(marks + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    match text.trim() {
        "" => "–".to_owned(),
        _ => format!("{marks}{space}{text}{space}{marks}"),
    }
}

/// Length of the longest run of backticks in a span.
fn longest_backtick_run(span: &InlineSpan<'_>) -> usize {
    let text = match span {
        InlineSpan::Plain(text)
        | InlineSpan::Code(text)
        | InlineSpan::UnmatchedMarks { marks: text, .. } => text,
    };
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

fn escape_line(out: &mut String, line: &str) {
    let inner = line.trim_start_matches([' ', '\t', '>']);
    let quoted = line.get(..line.len() - inner.len()).unwrap_or_default();
    match underline(inner) {
        // Below a paragraph this would make a heading. `***` is always a rule.
        Some(('-', 3..)) => {
            out.push_str(quoted);
            out.push_str("***");
            return;
        }
        Some(_) => {
            out.push_str(quoted);
            out.push('\\');
            out.push_str(inner);
            return;
        }
        None => {}
    }
    // A fence that we did not recognize would swallow the rest of the document.
    let marker = |c: char| " \t>-*+.)".contains(c) || c.is_ascii_digit();
    let body = line.trim_start_matches(marker);
    let before = line.get(..line.len() - body.len()).unwrap_or_default();
    out.push_str(before);
    let heading = body.starts_with('#');
    let definition = body.starts_with('[') && body.contains("]:");
    let fence = body.starts_with("```") || body.starts_with("~~~");
    if fence {
        for mark in body.chars().take_while(|c| matches!(c, '`' | '~')) {
            out.push('\\');
            out.push(mark);
        }
        return escape_inline(out, body.trim_start_matches(['`', '~']));
    }
    if heading || definition {
        out.push('\\');
    }
    escape_inline(out, body);
}

/// Whether a line has only `-` or only `=`, and how many of them.
fn underline(line: &str) -> Option<(char, usize)> {
    let mark = line.chars().next().filter(|c| matches!(c, '-' | '='))?;
    let only = line.chars().all(|c| c == mark || c == ' ' || c == '\t');
    only.then(|| (mark, line.chars().filter(|c| *c == mark).count()))
}

fn escape_inline(out: &mut String, line: &str) {
    let mut in_address = false;
    for span in spans(line) {
        match span {
            InlineSpan::Plain(text) => {
                escape_plain(out, text);
                let word = text.rsplit(char::is_whitespace).next().unwrap_or(text);
                let address = word.contains("://") || word.contains("www.");
                in_address = address || in_address && word.len() == text.len();
            }
            InlineSpan::Code(text) if is_risky(text) && (in_address || text.contains('|')) => {
                escape_code(out, text);
            }
            InlineSpan::Code(text) => out.push_str(text),
            InlineSpan::UnmatchedMarks { marks, escaped } => {
                for (index, mark) in marks.chars().enumerate() {
                    if index > 0 || !escaped {
                        out.push('\\');
                    }
                    out.push(mark);
                }
            }
        }
    }
}

/// Escapes inline code that some parsers do not recognize: a table splits it at `|`, and a URL
/// continues through its backticks.
fn escape_code(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '`' => out.push_str("\\`"),
            '\\' => out.push_str("\\\\"),
            '<' => out.push_str("&lt;"),
            '[' => out.push_str("\\["),
            other => out.push(other),
        }
    }
}

/// Whether a text would be HTML or an image outside of code.
fn is_risky(text: &str) -> bool {
    text.contains('<') || text.contains("![")
}

fn escape_plain(out: &mut String, text: &str) {
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            // Already escaped.
            '\\' => match characters.next_if(char::is_ascii_punctuation) {
                Some('<') => out.push_str("&lt;"),
                Some(next) => out.extend(['\\', next]),
                None => out.push('\\'),
            },
            // No backslash: at the end of a URL it would be part of the URL.
            '<' => out.push_str("&lt;"),
            '!' if characters.peek() == Some(&'[') => out.push_str("\\!"),
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_cannot_forge_markup() {
        let table = [
            ("plain *text* with `Vec<T>`", "plain *text* with `Vec<T>`"),
            ("# Assistant", r"\# Assistant"),
            ("  ## x", r"  \## x"),
            ("> - 1. # x", r"> - 1. \# x"),
            ("x\n===", "x\n\\==="),
            ("x\n---", "x\n***"),
            ("> x\n> -", "> x\n> \\-"),
            ("a | b\n--- | ---", "a | b\n--- | ---"),
            ("<details>", "&lt;details>"),
            (r"\<b>", "&lt;b>"),
            (r"\\<b>", r"\\&lt;b>"),
            ("![x](https://a.example)", r"\![x](https://a.example)"),
            ("[x]: https://a.example", r"\[x]: https://a.example"),
            // An unmatched backtick could pair with one on another line.
            ("a ` b\nc ` <h1> ` d", "a \\` b\nc ` <h1> ` d"),
            (r"\`<b>`", r"\`&lt;b>\`"),
            ("| ` | <h1> ` |", r"| \` | &lt;h1> \` |"),
            ("https://a.example`<h1>`", r"https://a.example\`&lt;h1>\`"),
            ("https://a.example `<h1>`", "https://a.example `<h1>`"),
            ("- ```\nx", "- \\`\\`\\`\nx"),
            ("```a`b", r"\`\`\`a\`b"),
        ];
        for (text, expected) in table {
            assert_eq!(escape_markdown(text), expected, "{text}");
        }
    }

    #[test]
    fn inline_code_may_contain_backticks() {
        let table = [("a", "`a`"), ("a`b", "``a`b``"), ("`", "`` ` ``"), (" ", "–")];
        for (text, expected) in table {
            assert_eq!(code_span(text), expected, "{text}");
        }
    }
}
