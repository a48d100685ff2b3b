//! Searches the text of sessions: bytes first, then only the sessions with a match are read.

use foxwedge_core::{Draft, Part, PartKind};
use foxwedge_formats::outline_options;
use foxwedge_json::{Span, array_elements, field_text, string_text, unescape};
use foxwedge_sessions::{ParsedSession, read, readable_text};

use crate::{
    agents::LocalSessionEntry,
    database,
    session_document::default_check_options,
    session_overview::{first_user_text, session_title},
    source,
};

/// Characters of a snippet on each side of the match.
const SNIPPET_CHARACTERS: usize = 40;

/// A text to search for. Upper and lower case are the same, for ASCII letters.
#[derive(Clone, Debug)]
pub struct SessionSearchText {
    /// As typed, in lower case.
    words: String,
    /// The longest part of it that has the same bytes in a file, in lower case.
    needle: Vec<u8>,
}

/// A match in a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SearchMatch {
    /// The message of the conversation.
    pub message: usize,
    /// Who wrote it: `user`, `assistant` or `tool`.
    pub role: &'static str,
    /// The text around the match, on one line.
    pub snippet: String,
}

/// The matches in one session.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SearchMatches {
    /// The first matches.
    pub matches: Vec<SearchMatch>,
    /// The number of all parts of messages that match.
    pub total: usize,
    /// The project folder that the file names.
    pub project: Option<String>,
    /// The title.
    pub title: Option<String>,
}

impl SessionSearchText {
    /// A text to search for; `None` if it is blank.
    pub fn new(text: &str) -> Option<SessionSearchText> {
        // Each character for itself, as `find` compares them.
        let words: String = text.trim().chars().flat_map(char::to_lowercase).collect();
        // Files escape quotes, backslashes and line breaks, and some escape more.
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '.' | ',' | '-' | '_');
        let pieces = text.trim().split(|c: char| !plain(c));
        let needle = pieces.max_by_key(|piece| piece.len()).unwrap_or_default();
        let needle = needle.to_ascii_lowercase().into_bytes();
        (!words.is_empty()).then_some(SessionSearchText { words, needle })
    }

    /// Whether a file may contain the text. Reads the bytes once.
    fn may_be_in(&self, bytes: &[u8]) -> bool {
        let Some((&first, rest)) = self.needle.split_first() else { return true };
        let upper = first.to_ascii_uppercase();
        memchr::memchr2_iter(first, upper, bytes).any(|at| {
            let behind = bytes.get(at + 1..at + 1 + rest.len());
            behind.is_some_and(|behind| behind.eq_ignore_ascii_case(rest))
        })
    }

    /// The text around the first match in a text.
    fn snippet(&self, text: &str) -> Option<String> {
        let (start, end) = self.find(text)?;
        let before = text.get(..start)?.char_indices().rev().take(SNIPPET_CHARACTERS).last();
        let from = before.map_or(start, |(at, _)| at);
        let behind = text.get(end..)?.char_indices().nth(SNIPPET_CHARACTERS);
        let to = behind.map_or(text.len(), |(at, _)| end + at);
        let shown = text.get(from..to)?.split_whitespace().collect::<Vec<_>>().join(" ");
        let (head, tail) =
            (if from > 0 { "…" } else { "" }, if to < text.len() { "…" } else { "" });
        Some(format!("{head}{shown}{tail}"))
    }

    /// Where the first match begins and ends.
    fn find(&self, text: &str) -> Option<(usize, usize)> {
        let first = self.words.chars().next()?;
        let starts = text.char_indices().filter(|(_, c)| c.to_lowercase().next() == Some(first));
        starts.map(|(at, _)| at).find_map(|at| Some((at, at + self.match_length(text.get(at..)?)?)))
    }

    /// The length of a match at the start of a text. In lower case, a character may be several.
    fn match_length(&self, text: &str) -> Option<usize> {
        let mut wanted = self.words.chars().peekable();
        for (at, c) in text.char_indices() {
            if !c.to_lowercase().all(|lower| wanted.next() == Some(lower)) {
                return None;
            }
            if wanted.peek().is_none() {
                return Some(at + c.len_utf8());
            }
        }
        None
    }
}

/// Searches one session; `None` if nothing matches or it cannot be read. Lists at most `max` matches.
pub fn search_session(
    entry: &LocalSessionEntry,
    text: &SessionSearchText,
    max: usize,
) -> Option<SearchMatches> {
    let content = database::read(&entry.path).ok()?;
    let content = source::decompress(&content).ok()?;
    if !text.may_be_in(&content) {
        return None;
    }
    let readable = readable_text(&content).ok()?;
    let options = outline_options(default_check_options(entry.agent).profile);
    let session = read(&readable, entry.agent, options).ok()?;
    let mut found = search_draft(&session, text, max);
    let metadata = &session.metadata;
    found.project = metadata.folder.as_deref().map(str::to_owned).or_else(|| entry.project.clone());
    found.title = session_title(&session)
        .or_else(|| entry.title.clone())
        .or_else(|| first_user_text(session.draft()));
    (found.total > 0).then_some(found)
}

fn search_draft(
    session: &ParsedSession<'_>,
    text: &SessionSearchText,
    max: usize,
) -> SearchMatches {
    let draft = session.draft();
    let mut found = SearchMatches::default();
    for (message, at) in draft.messages.iter().zip(0..) {
        for part in draft.parts_of(message) {
            let role = match &part.kind {
                PartKind::Media | PartKind::Reasoning(_) => continue,
                PartKind::Answer(_) | PartKind::ServerAnswer(_) => "tool",
                _ if message.role.is_assistant() => "assistant",
                _ => "user",
            };
            let raw = part.span.of(draft.source);
            if !text.may_be_in(raw.as_bytes()) {
                continue;
            }
            let Some(snippet) = text.snippet(&part_text(draft, part)) else { continue };
            found.total += 1;
            if found.matches.len() < max {
                found.matches.push(SearchMatch { message: at, role, snippet });
            }
        }
    }
    found
}

/// The text of a part, without the syntax around it where possible.
fn part_text(draft: &Draft<'_>, part: &Part<'_>) -> String {
    let source = draft.source;
    let span = match &part.kind {
        PartKind::Answer(answer) if !answer.content.is_empty() => answer.content,
        _ => part.span,
    };
    let raw = span.of(source);
    let own = |span: Span| {
        let raw = span.of(source);
        let text = string_text(raw).or_else(|| field_text(source, span, "text"));
        text.map_or_else(|| unescape(raw), std::borrow::Cow::into_owned)
    };
    if raw.starts_with('[') {
        return array_elements(source, span).into_iter().map(own).collect::<Vec<_>>().join(" ");
    }
    own(span)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_in_any_case_and_any_notation() {
        let table = [
            ("Parser", r#"{"text":"Port the PARSER to winnow"}"#, true),
            ("say \"hi\"", r#"{"text":"please say \"hi\" now"}"#, true),
            ("a/b", r#"{"text":"in a\/b"}"#, true),
            ("café", r#"{"text":"caf\u00e9 au lait"}"#, true),
            ("测试", r#"{"text":"为什么测试失败"}"#, true),
            ("İstanbul'da", r#"{"text":"yarın İstanbul'da"}"#, true),
            ("İ", r#"{"text":"İ"}"#, true),
            ("İSTANBUL", r#"{"text":"in İstanbul"}"#, true),
            ("i", r#"{"text":"İ"}"#, false),
            ("ΣΑΣ", r#"{"text":"ΣΑΣ"}"#, true),
            ("line two", "{\"text\":\"line\\ntwo\"}", false),
            ("missing", r#"{"text":"nothing here"}"#, false),
        ];
        for (words, raw, expected) in table {
            let found = SessionSearchText::new(words).is_some_and(|text| {
                text.may_be_in(raw.as_bytes()) && text.snippet(&unescape(raw)).is_some()
            });
            assert_eq!(found, expected, "{words}");
        }
        assert!(SessionSearchText::new("  ").is_none());
    }

    #[test]
    fn a_snippet_is_one_short_line_around_the_match() {
        let hay = format!("{}\n the Needle \t{}", "before ".repeat(20), "after ".repeat(20));
        let snippet = SessionSearchText::new("needle").and_then(|text| text.snippet(&hay));
        let snippet = snippet.unwrap_or_default();
        assert!(snippet.starts_with('…') && snippet.ends_with('…'), "{snippet}");
        assert!(snippet.contains(" the Needle after"), "{snippet}");
        assert!(snippet.chars().count() <= 2 * SNIPPET_CHARACTERS + 8, "{snippet}");
    }
}
