//! Shows lines of a file.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
};

use cap_std::fs::File;
use serde_json::Value;

use super::{FileToolContext, build_spec as describe};
use crate::{
    ToolCallResult, ToolCompletion, ToolEffect, ToolLimits, ToolResultContent, ToolSpec,
    arguments::ArgumentReader,
    cancel::CancelCause,
    path::display_path,
    refusal::ToolRefusal,
    text::{BOM, LineReader, LineStep, display_line, display_size, is_binary, pluralize},
};

/// Default and maximum number of lines.
const DEFAULT_LINES: u64 = 2000;
const MAX_LINES: u64 = 20_000;
/// Bytes after the shown lines in which the remaining lines are counted.
const MAX_COUNTED_BYTES: u64 = 16 << 20;
/// Bytes per read.
const READ_STEP_BYTES: usize = 64 << 10;

pub(super) fn read_spec(limits: &ToolLimits) -> ToolSpec {
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
                format!("How many lines to show, 1 to {MAX_LINES}. Default: {DEFAULT_LINES}."),
            ),
        ],
        ToolEffect::Reads,
        limits.files,
    )
}

pub(super) fn read_file(
    input: &Value,
    context: &FileToolContext<'_>,
) -> Result<ToolCallResult, ToolRefusal> {
    let mut arguments = ArgumentReader::new("read", input);
    let path = arguments.text("path");
    let offset = arguments.number("offset", 1, u64::MAX, 1);
    let limit = arguments.number("limit", 1, MAX_LINES, DEFAULT_LINES);
    arguments.finish()?;

    let path = context.workspace.resolve_path(path)?;
    let (file, metadata) = context.workspace.open_file(&path)?;
    let mut reader = BufReader::with_capacity(READ_STEP_BYTES, file);
    let start = reader.fill_buf().map_err(|error| ToolRefusal::of(&error, &path))?;
    if is_binary(start) {
        let size = display_size(metadata.len());
        let path = display_path(&path);
        return Err(ToolRefusal(format!("`{path}` is not text, but a binary file of {size}")));
    }
    if start.starts_with(BOM) {
        reader.consume(BOM.len());
    }
    let max_line_bytes = context.limits.line;
    let mut excerpt = FileExcerpt {
        // A line end of two bytes does not count.
        lines: LineReader::new(reader, max_line_bytes + 2),
        offset,
        limit,
        max_line_bytes,
        remaining_bytes: context.limits.answer,
        text: String::new(),
        lines_read: 0,
        lines_shown: 0,
    };
    let progress = excerpt.read(context, &path)?;
    excerpt.into_result(progress, metadata.len(), &path)
}

/// Reads a file and collects the lines to show.
struct FileExcerpt {
    lines: LineReader<BufReader<File>>,
    offset: u64,
    limit: u64,
    max_line_bytes: usize,
    remaining_bytes: usize,
    text: String,
    /// Lines read.
    lines_read: u64,
    /// Lines shown.
    lines_shown: u64,
}

/// How far a file was read.
enum ReadProgress {
    /// To its end.
    Complete,
    /// There may be more.
    MayContinue,
    /// A stop was requested, or it took too long.
    Canceled(CancelCause),
}

impl FileExcerpt {
    fn read(
        &mut self,
        context: &FileToolContext<'_>,
        path: &Path,
    ) -> Result<ReadProgress, ToolRefusal> {
        let (mut length, mut steps, mut counted_bytes) = (0, 0_u32, 0);
        let mut full = false;
        loop {
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(64)
                && let Some(cause) = context.cancel.cancel_cause()
            {
                return Ok(ReadProgress::Canceled(cause));
            }
            let before = length;
            let step =
                self.lines.step(&mut length).map_err(|error| ToolRefusal::of(&error, path))?;
            if full {
                counted_bytes += length - before + 1;
            }
            match step {
                LineStep::Part => {}
                LineStep::Line(length_of_line) => {
                    self.lines_read += 1;
                    length = 0;
                    full =
                        full || (self.lines_read >= self.offset && !self.show_line(length_of_line));
                }
                LineStep::End => return Ok(ReadProgress::Complete),
            }
            if counted_bytes > MAX_COUNTED_BYTES {
                return Ok(ReadProgress::MayContinue);
            }
        }
    }

    /// Shows the last line that was read. Returns `false` if there is no room.
    fn show_line(&mut self, length: u64) -> bool {
        if self.lines_shown == self.limit {
            return false;
        }
        let line = display_line(self.lines.line_head(), length, self.max_line_bytes);
        let line = format!("{:>6}\t{line}\n", self.lines_read);
        if self.text.len() + line.len() > self.remaining_bytes && self.lines_shown > 0 {
            return false;
        }
        self.text.push_str(&line);
        self.lines_shown += 1;
        true
    }

    fn into_result(
        mut self,
        progress: ReadProgress,
        bytes: u64,
        path: &Path,
    ) -> Result<ToolCallResult, ToolRefusal> {
        let path = display_path(path);
        let (first, last) = (self.offset, self.offset + self.lines_shown.saturating_sub(1));
        let seen = self.lines_read;
        let total = match progress {
            ReadProgress::Complete => pluralize(seen, "line"),
            ReadProgress::MayContinue => {
                format!("more than {seen} lines ({})", display_size(bytes))
            }
            ReadProgress::Canceled(CancelCause::TimedOut) if self.lines_shown == 0 => {
                return Err(ToolRefusal(format!(
                    "`{path}` has more than {seen} lines ({}), and it took too long to come to \
                     line {first}",
                    display_size(bytes)
                )));
            }
            ReadProgress::Canceled(CancelCause::TimedOut) => {
                format!("more than {seen} lines ({})", display_size(bytes))
            }
            ReadProgress::Canceled(CancelCause::Stopped) => {
                self.text.push_str("[stopped]");
                return Ok(ToolCallResult {
                    completion: ToolCompletion::Stopped,
                    content: ToolResultContent::Text(self.text),
                });
            }
        };
        if self.lines_shown == 0 && self.offset == 1 {
            return Ok(ToolCallResult::done("[the file is empty]"));
        }
        if self.lines_shown == 0 {
            return Err(ToolRefusal(format!("`{path}` has {total}; there is no line {first}")));
        }
        let more = match last < seen {
            true => format!("; go on with offset {}", last + 1),
            false => String::new(),
        };
        self.text.push_str(&format!("[lines {first} to {last} of {total}{more}]"));
        Ok(ToolCallResult::done(self.text))
    }
}
