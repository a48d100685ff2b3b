//! What was found, line by line, as it is shown.

use std::path::Path;

use regex::bytes::Regex;

use crate::{
    Limits,
    leash::{Leash, Pulled},
    path::shown,
    text::{BOM, count, line},
};

/// Bytes of a line in which a pattern is looked for.
const LOOKED_AT: usize = 64 << 10;
/// Bytes between two looks at the leash.
const STEP: usize = 16 << 10;

/// What was found.
#[derive(Debug)]
pub(super) struct Hits {
    text: String,
    limit: u64,
    context: usize,
    /// Bytes of one line, and of all.
    most: usize,
    room: usize,
    found: u64,
    files: u64,
    /// Lines of which only the beginning was looked at.
    long: u64,
}

/// How far was looked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found {
    /// At everything.
    All,
    /// There is no room for more, and there is more.
    Enough,
    Pulled(Pulled),
}

impl Hits {
    pub(super) fn new(limit: u64, context: usize, limits: &Limits) -> Hits {
        Hits {
            text: String::new(),
            limit,
            context,
            most: limits.line,
            room: limits.answer,
            found: 0,
            files: 0,
            long: 0,
        }
    }

    /// Looks into a file.
    pub(super) fn file(
        &mut self,
        path: &Path,
        bytes: &[u8],
        pattern: &Regex,
        leash: &Leash,
    ) -> Found {
        let bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
        // The number of the last line that is shown, and how many are to be shown behind it.
        let (mut last, mut behind) = (0, 0);
        let (mut number, mut at, mut looked) = (0, 0, 0);
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let this = rest.get(..end).unwrap_or_default();
            number += 1;
            looked += end + 1;
            if looked >= STEP {
                looked = 0;
                if let Some(pulled) = leash.pulled() {
                    return Found::Pulled(pulled);
                }
            }
            if self.is_hit(this, pattern) {
                if self.found == self.limit || self.text.len() >= self.room {
                    return Found::Enough;
                }
                self.before(path, bytes, at, number, last);
                self.line(this, number, ':');
                self.found += 1;
                (last, behind) = (number, self.context);
            } else if behind > 0 {
                self.line(this, number, '-');
                (last, behind) = (number, behind - 1);
            }
            at += end + 1;
        }
        Found::All
    }

    fn is_hit(&mut self, line: &[u8], pattern: &Regex) -> bool {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match line.get(..LOOKED_AT) {
            Some(start) if start.len() < line.len() => {
                self.long += 1;
                pattern.is_match(start)
            }
            Some(_) | None => pattern.is_match(line),
        }
    }

    /// Shows what stands before a hit: the name of the file before its first one, and the lines
    /// around it that are not shown yet.
    fn before(&mut self, path: &Path, bytes: &[u8], at: usize, number: u64, last: u64) {
        let first = number.saturating_sub(self.context as u64).max(last + 1);
        if last == 0 {
            self.files += 1;
            let gap = if self.text.is_empty() { "" } else { "\n" };
            self.text.push_str(&format!("{gap}{}\n", shown(path)));
        } else if self.context > 0 && first > last + 1 {
            self.text.push_str("--\n");
        }
        let back = usize::try_from(number - first).unwrap_or_default();
        let start = start_of(bytes, at, back);
        let around = bytes.get(start..at).unwrap_or_default();
        for (this, number) in around.split(|byte| *byte == b'\n').zip(first..number) {
            self.line(this, number, '-');
        }
    }

    /// Shows a line. One around a hit is left out if there is no room for it.
    fn line(&mut self, this: &[u8], number: u64, mark: char) {
        if mark == ':' || self.text.len() < self.room {
            let this = line(this, this.len() as u64, self.most);
            self.text.push_str(&format!("{number}{mark} {this}\n"));
        }
    }

    /// Everything that was found, and whether that is all.
    pub(super) fn told(mut self, end: Found) -> String {
        if self.found == 0 {
            self.text.push_str("[no hits]");
        } else {
            let (hits, files) = (count(self.found, "hit"), count(self.files, "file"));
            let more = match end {
                Found::All | Found::Pulled(_) => "",
                Found::Enough => "; there are more: look for something narrower, or raise `limit`",
            };
            self.text.push_str(&format!("[{hits} in {files}{more}]"));
        }
        if self.long > 0 {
            let lines = count(self.long, "line");
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
