//! What was found, line by line, as it is shown.

use std::path::Path;

use regex::bytes::Regex;

use crate::{
    ToolLimits,
    cancel::{CancelCause, CancelToken},
    path::display_path,
    text::{BOM, display_line, pluralize},
};

/// Bytes of a line in which a pattern is looked for.
const MAX_SEARCHED_BYTES: usize = 64 << 10;
/// Bytes between two looks at the leash.
const CANCEL_CHECK_BYTES: usize = 16 << 10;

/// What was found.
#[derive(Debug)]
pub(super) struct SearchHits {
    text: String,
    limit: u64,
    context: usize,
    /// Bytes of one line, and of all.
    max_line_bytes: usize,
    remaining_bytes: usize,
    hit_count: u64,
    file_count: u64,
    /// Lines of which only the beginning was looked at.
    long_lines: u64,
}

/// How far was looked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SearchProgress {
    /// At everything.
    Complete,
    /// There is no room for more, and there is more.
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

    /// Looks into a file.
    pub(super) fn search_bytes(
        &mut self,
        path: &Path,
        bytes: &[u8],
        pattern: &Regex,
        leash: &CancelToken,
    ) -> SearchProgress {
        let bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
        // The number of the last line that is shown, and how many are to be shown behind it.
        let (mut last, mut behind) = (0, 0);
        let (mut number, mut at, mut looked) = (0, 0, 0);
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let this = rest.get(..end).unwrap_or_default();
            number += 1;
            looked += end + 1;
            if looked >= CANCEL_CHECK_BYTES {
                looked = 0;
                if let Some(pulled) = leash.cancel_cause() {
                    return SearchProgress::Canceled(pulled);
                }
            }
            if self.is_hit(this, pattern) {
                if self.hit_count == self.limit || self.text.len() >= self.remaining_bytes {
                    return SearchProgress::LimitReached;
                }
                self.show_before(path, bytes, at, number, last);
                self.show_line(this, number, ':');
                self.hit_count += 1;
                (last, behind) = (number, self.context);
            } else if behind > 0 {
                self.show_line(this, number, '-');
                (last, behind) = (number, behind - 1);
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

    /// Shows what stands before a hit: the name of the file before its first one, and the lines
    /// around it that are not shown yet.
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
        let around = bytes.get(start..at).unwrap_or_default();
        for (this, number) in around.split(|byte| *byte == b'\n').zip(first..number) {
            self.show_line(this, number, '-');
        }
    }

    /// Shows a line. One around a hit is left out if there is no room for it.
    fn show_line(&mut self, this: &[u8], number: u64, mark: char) {
        if mark == ':' || self.text.len() < self.remaining_bytes {
            let this = display_line(this, this.len() as u64, self.max_line_bytes);
            self.text.push_str(&format!("{number}{mark} {this}\n"));
        }
    }

    /// Everything that was found, and whether that is all.
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

/// Where the line begins that stands so many lines before the one that begins at a byte.
fn start_of(bytes: &[u8], at: usize, back: usize) -> usize {
    let before = bytes.get(..at).unwrap_or_default();
    memchr::memrchr_iter(b'\n', before).nth(back).map_or(0, |end| end + 1)
}
