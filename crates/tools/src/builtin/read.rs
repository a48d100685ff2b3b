//! Shows lines of a file.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
};

use cap_std::fs::File;
use serde_json::Value;

use super::{Site, about as describe};
use crate::{
    About, Answer, Content, Effect, How, Limits,
    arguments::Arguments,
    leash::Pulled,
    path::shown,
    refusal::Refusal,
    text::{BOM, Lines, Step, count, is_binary, line, size},
};

/// Lines that are shown if nobody says how many, and at most.
const LINES: u64 = 2000;
const MOST_LINES: u64 = 20_000;
/// Bytes behind the lines that are shown, in which the rest of the lines is counted.
const COUNTED: u64 = 16 << 20;
/// Bytes that are read at a time.
const STEP: usize = 64 << 10;

pub(super) fn about(limits: &Limits) -> About {
    describe(
        "read",
        "Reads a text file. Every line is shown with its number and a tab before it; neither is \
         part of the file. The last line of the answer tells which lines were shown and how many \
         there are.",
        &["path"],
        &[
            ("path", "string", "The file, from the root of the workspace.".into()),
            ("offset", "integer", "The number of the first line to show. Default: 1.".into()),
            (
                "limit",
                "integer",
                format!("How many lines to show, 1 to {MOST_LINES}. Default: {LINES}."),
            ),
        ],
        Effect::Reads,
        limits.files,
    )
}

pub(super) fn act(input: &Value, site: &Site<'_>) -> Result<Answer, Refusal> {
    let mut arguments = Arguments::new("read", input);
    let path = arguments.text("path");
    let offset = arguments.number("offset", 1, u64::MAX, 1);
    let limit = arguments.number("limit", 1, MOST_LINES, LINES);
    arguments.end()?;

    let path = site.workspace.path(path)?;
    let (file, metadata) = site.workspace.file(&path)?;
    let mut reader = BufReader::with_capacity(STEP, file);
    let start = reader.fill_buf().map_err(|error| Refusal::of(&error, &path))?;
    if is_binary(start) {
        let size = size(metadata.len());
        let path = shown(&path);
        return Err(Refusal(format!("`{path}` is not text, but a binary file of {size}")));
    }
    if start.starts_with(BOM) {
        reader.consume(BOM.len());
    }
    let most = site.limits.line;
    let mut view = View {
        // An end of two bytes belongs to no line.
        lines: Lines::new(reader, most + 2),
        offset,
        limit,
        most,
        room: site.limits.answer,
        text: String::new(),
        seen: 0,
        shown: 0,
    };
    let rest = view.read(site, &path)?;
    view.told(rest, metadata.len(), &path)
}

/// What is read, and what of it is shown.
struct View {
    lines: Lines<BufReader<File>>,
    offset: u64,
    limit: u64,
    most: usize,
    room: usize,
    text: String,
    /// Lines that were read.
    seen: u64,
    /// Lines that are shown.
    shown: u64,
}

/// How far a file was read.
enum Rest {
    /// To its end.
    None,
    /// There may be more.
    Unknown,
    /// It was asked to stop, or took too long.
    Pulled(Pulled),
}

impl View {
    fn read(&mut self, site: &Site<'_>, path: &Path) -> Result<Rest, Refusal> {
        let (mut length, mut steps, mut behind) = (0, 0_u32, 0);
        let mut full = false;
        loop {
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(64)
                && let Some(pulled) = site.leash.pulled()
            {
                return Ok(Rest::Pulled(pulled));
            }
            let before = length;
            let step = self.lines.step(&mut length).map_err(|error| Refusal::of(&error, path))?;
            if full {
                behind += length - before + 1;
            }
            match step {
                Step::Part => {}
                Step::Line(length_of_line) => {
                    self.seen += 1;
                    length = 0;
                    full = full || (self.seen >= self.offset && !self.show(length_of_line));
                }
                Step::End => return Ok(Rest::None),
            }
            if behind > COUNTED {
                return Ok(Rest::Unknown);
            }
        }
    }

    /// Shows the line that was read last, if there is room for it.
    fn show(&mut self, length: u64) -> bool {
        if self.shown == self.limit {
            return false;
        }
        let line = line(self.lines.kept(), length, self.most);
        let line = format!("{:>6}\t{line}\n", self.seen);
        if self.text.len() + line.len() > self.room && self.shown > 0 {
            return false;
        }
        self.text.push_str(&line);
        self.shown += 1;
        true
    }

    fn told(mut self, rest: Rest, bytes: u64, path: &Path) -> Result<Answer, Refusal> {
        let path = shown(path);
        let (first, last) = (self.offset, self.offset + self.shown.saturating_sub(1));
        let seen = self.seen;
        let all = match rest {
            Rest::None => count(seen, "line"),
            Rest::Unknown => format!("more than {seen} lines ({})", size(bytes)),
            Rest::Pulled(Pulled::Late) if self.shown == 0 => {
                return Err(Refusal(format!(
                    "`{path}` has more than {seen} lines ({}), and it took too long to come to \
                     line {first}",
                    size(bytes)
                )));
            }
            Rest::Pulled(Pulled::Late) => format!("more than {seen} lines ({})", size(bytes)),
            Rest::Pulled(Pulled::Stopped) => {
                self.text.push_str("[stopped]");
                return Ok(Answer { how: How::Stopped, content: Content::Text(self.text) });
            }
        };
        if self.shown == 0 && self.offset == 1 {
            return Ok(Answer::done("[the file is empty]"));
        }
        if self.shown == 0 {
            return Err(Refusal(format!("`{path}` has {all}; there is no line {first}")));
        }
        let more = match last < seen {
            true => format!("; go on with offset {}", last + 1),
            false => String::new(),
        };
        self.text.push_str(&format!("[lines {first} to {last} of {all}{more}]"));
        Ok(Answer::done(self.text))
    }
}
