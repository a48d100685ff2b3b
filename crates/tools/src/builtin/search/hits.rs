//! The hits of a search, as they are shown.

use std::path::Path;

use regex::bytes::Regex;

use crate::{
    ToolLimits,
    cancel::{CancelCause, CancelToken},
    path::display_path,
    text::{BOM, display_line, pluralize},
};

/// Bytes of a line that are searched.
const MAX_SEARCHED_BYTES: usize = 64 << 10;
/// Bytes between two checks of the cancel token.
const CANCEL_CHECK_BYTES: usize = 16 << 10;

/// The hits of a search.
#[derive(Debug)]
pub(super) struct SearchHits {
    text: String,
    limit: u64,
    context: usize,
    /// Limits in bytes for one line and for all lines.
    max_line_bytes: usize,
    remaining_bytes: usize,
    hit_count: u64,
    file_count: u64,
    /// Lines of which only the start was searched.
    long_lines: u64,
}

/// How far the search got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SearchProgress {
    /// Everything was searched.
    Complete,
    /// The limit is reached, and there are more hits.
    LimitReached,
    Canceled(CancelCause),
}

impl SearchHits {
    pub(super) fn new(limit: u64, context: usize, limits: &ToolLimits) -> SearchHits {
        SearchHits {
            text: String::new(),
            limit,
            context,
            max_line_bytes: limits.line,
            remaining_bytes: limits.answer,
            hit_count: 0,
            file_count: 0,
            long_lines: 0,
        }
    }

    /// Searches a file.
    pub(super) fn search_bytes(
        &mut self,
        path: &Path,
        bytes: &[u8],
        pattern: &Regex,
        cancel: &CancelToken,
    ) -> SearchProgress {
        let bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
        // The last line that is shown, and how many context lines to show after it.
        let (mut last, mut context_after) = (0, 0);
        let (mut number, mut at, mut unchecked_bytes) = (0, 0, 0);
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let line = rest.get(..end).unwrap_or_default();
            number += 1;
            unchecked_bytes += end + 1;
            if unchecked_bytes >= CANCEL_CHECK_BYTES {
                unchecked_bytes = 0;
                if let Some(cause) = cancel.cancel_cause() {
                    return SearchProgress::Canceled(cause);
                }
            }
            if self.is_hit(line, pattern) {
                if self.hit_count == self.limit || self.text.len() >= self.remaining_bytes {
                    return SearchProgress::LimitReached;
                }
                self.show_before(path, bytes, at, number, last);
                self.show_line(line, number, ':');
                self.hit_count += 1;
                (last, context_after) = (number, self.context);
            } else if context_after > 0 {
                self.show_line(line, number, '-');
                (last, context_after) = (number, context_after - 1);
            }
            at += end + 1;
        }
        SearchProgress::Complete
    }

    fn is_hit(&mut self, line: &[u8], pattern: &Regex) -> bool {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match line.get(..MAX_SEARCHED_BYTES) {
            Some(start) if start.len() < line.len() => {
                self.long_lines += 1;
                pattern.is_match(start)
            }
            Some(_) | None => pattern.is_match(line),
        }
    }

    /// Shows what comes before a hit: the file name before its first hit, and the context lines
    /// that are not shown yet.
    fn show_before(&mut self, path: &Path, bytes: &[u8], at: usize, number: u64, last: u64) {
        let first = number.saturating_sub(self.context as u64).max(last + 1);
        if last == 0 {
            self.file_count += 1;
            let gap = if self.text.is_empty() { "" } else { "\n" };
            self.text.push_str(&format!("{gap}{}\n", display_path(path)));
        } else if self.context > 0 && first > last + 1 {
            self.text.push_str("--\n");
        }
        let back = usize::try_from(number - first).unwrap_or_default();
        let start = start_of(bytes, at, back);
        let context = bytes.get(start..at).unwrap_or_default();
        for (line, number) in context.split(|byte| *byte == b'\n').zip(first..number) {
            self.show_line(line, number, '-');
        }
    }

    /// Shows a line. Leaves out a context line if there is no room for it.
    fn show_line(&mut self, line: &[u8], number: u64, mark: char) {
        if mark == ':' || self.text.len() < self.remaining_bytes {
            let line = display_line(line, line.len() as u64, self.max_line_bytes);
            self.text.push_str(&format!("{number}{mark} {line}\n"));
        }
    }

    /// The text of all hits, with a note whether that is all.
    pub(super) fn into_text(mut self, end: SearchProgress) -> String {
        if self.hit_count == 0 {
            self.text.push_str("[no hits]");
        } else {
            let (hits, files) =
                (pluralize(self.hit_count, "hit"), pluralize(self.file_count, "file"));
            let more = match end {
                SearchProgress::Complete | SearchProgress::Canceled(_) => "",
                SearchProgress::LimitReached => {
                    "; there are more: look for something narrower, or raise `limit`"
                }
            };
            self.text.push_str(&format!("[{hits} in {files}{more}]"));
        }
        if self.long_lines > 0 {
            let lines = pluralize(self.long_lines, "line");
            self.text.push_str(&format!("\n[only the first 64 KiB of {lines} were looked at]"));
        }
        self.text
    }
}

/// Where the line starts that is `back` lines before the one at `at`.
fn start_of(bytes: &[u8], at: usize, back: usize) -> usize {
    let before = bytes.get(..at).unwrap_or_default();
    memchr::memrchr_iter(b'\n', before).nth(back).map_or(0, |end| end + 1)
}
