//! Searches files for a pattern.

mod hits;

use std::{io::Read as _, path::Path};

use cap_std::fs::{Dir, File};
use ignore::{
    Match,
    overrides::{Override, OverrideBuilder},
};
use regex::bytes::{Regex, RegexBuilder};
use serde_json::Value;

use self::hits::{SearchHits, SearchProgress};
use super::{FileToolContext, IGNORED_DESCRIPTION, build_spec as describe};
use crate::{
    ToolCallResult, ToolCompletion, ToolEffect, ToolLimits, ToolSpec,
    arguments::ArgumentReader,
    cancel::CancelCause,
    dir_entry_kind::DirEntryKind,
    ignore_rules::absolute,
    path::display_text,
    refusal::ToolRefusal,
    text::{display_size, is_binary},
    walk::{FolderWalk, WalkFilter},
    workspace::open_regular,
};

/// Maximum depth of folders.
const MAX_DEPTH: usize = 64;
/// Maximum number of context lines around a hit.
const MAX_CONTEXT_LINES: u64 = 10;
/// Bytes of a pattern.
const MAX_PATTERN_BYTES: usize = 4000;
/// Memory limit of a pattern, when it is compiled and while it is used. A difficult pattern is
/// refused or costs time, but never memory.
const PATTERN_SIZE: usize = 1 << 20;
const MAX_NESTING: u32 = 100;

pub(super) fn search_spec(limits: &ToolLimits) -> ToolSpec {
    let default = limits.hits;
    describe(
        "search",
        "Looks for a regular expression in the files of a folder and all folders in it, and shows \
         the lines it is found in: `12:` is the number of such a line, `13-` that of a line \
         around it. A pattern is looked for in each line by itself. Leaves out .git, what \
         .gitignore files name, binary files and very large ones.",
        &["pattern"],
        &[
            (
                "pattern",
                "string",
                "The regular expression (Rust's `regex`, without look-around and \
                 back-references). Put `\\` before `.`, `(`, `[`, `{`, `*`, `+`, `?`, `|` that \
                 are meant as they are."
                    .into(),
            ),
            (
                "path",
                "string",
                "The folder or the file, from the root of the workspace. Default: `.`".into(),
            ),
            (
                "glob",
                "string",
                "Only files that match, like `*.rs` in any folder, or `src/**/*.rs` from the root \
                 of the workspace. With `!` before it: only those that do not."
                    .into(),
            ),
            ("ignore_case", "boolean", "`a` also means `A`. Default: false.".into()),
            (
                "context",
                "integer",
                format!("Lines to show around each hit, 0 to {MAX_CONTEXT_LINES}. Default: 0."),
            ),
            (
                "limit",
                "integer",
                format!("How many hits to show, 1 to {}. Default: {default}.", 10 * default),
            ),
            ("ignored", "boolean", IGNORED_DESCRIPTION.into()),
        ],
        ToolEffect::Reads,
        limits.files,
    )
}

pub(super) fn search_files(
    input: &Value,
    context: &FileToolContext<'_>,
) -> Result<ToolCallResult, ToolRefusal> {
    let hits = context.limits.hits as u64;
    let mut arguments = ArgumentReader::new("search", input);
    let pattern = arguments.text("pattern");
    let path = arguments.text_or("path", ".");
    let glob = arguments.text_or("glob", "");
    let ignore_case = arguments.flag("ignore_case");
    let context_lines = arguments.number("context", 0, MAX_CONTEXT_LINES, 0) as usize;
    let limit = arguments.number("limit", 1, 10 * hits, hits);
    let filter = if arguments.flag("ignored") { WalkFilter::Nothing } else { WalkFilter::Ignored };
    arguments.finish()?;

    let path = context.workspace.resolve_path(path)?;
    let mut search = FileSearch {
        context,
        pattern: compile(pattern, ignore_case)?,
        glob: compile_glob(glob)?,
        hits: SearchHits::new(limit, context_lines, context.limits),
        skipped: SkippedFiles::default(),
        buffer: Vec::new(),
    };
    let folder = context.workspace.folder()?;
    let metadata = folder.metadata(&path).map_err(|error| ToolRefusal::of(&error, &path))?;
    let end = match DirEntryKind::of(metadata.file_type()) {
        DirEntryKind::Folder => search.search_folder(&path, filter)?,
        DirEntryKind::File
        | DirEntryKind::Link
        | DirEntryKind::Fifo
        | DirEntryKind::Socket
        | DirEntryKind::Device
        | DirEntryKind::Other => {
            let (file, _) = context.workspace.open_file(&path)?;
            search.search_file(&path, file)
        }
    };
    Ok(search.into_result(end))
}

fn compile(pattern: &str, ignore_case: bool) -> Result<Regex, ToolRefusal> {
    if pattern.is_empty() {
        return Err(ToolRefusal("the pattern is empty".to_owned()));
    }
    if pattern.len() > MAX_PATTERN_BYTES {
        let length = pattern.len();
        return Err(ToolRefusal(format!(
            "the pattern has {length} bytes; it may have {MAX_PATTERN_BYTES}"
        )));
    }
    let mut builder = RegexBuilder::new(pattern);
    builder.case_insensitive(ignore_case).nest_limit(MAX_NESTING);
    builder.size_limit(PATTERN_SIZE).dfa_size_limit(2 * PATTERN_SIZE);
    builder.build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => {
            ToolRefusal("the pattern is too large; use fewer or smaller repetitions".to_owned())
        }
        error => ToolRefusal(format!("the pattern cannot be read: {error}")),
    })
}

/// Compiles the file filter. For the matcher the root of the workspace is `/`.
fn compile_glob(glob: &str) -> Result<Override, ToolRefusal> {
    let mut globs = OverrideBuilder::new("/");
    let added = match glob.len() {
        0 => Ok(()),
        1..=MAX_PATTERN_BYTES => globs.add(glob).map(|_| ()),
        _ => return Err(ToolRefusal(format!("the glob has more than {MAX_PATTERN_BYTES} bytes"))),
    };
    let built = added.and_then(|()| globs.build());
    built.map_err(|error| ToolRefusal(format!("`{}` is not a glob: {error}", display_text(glob))))
}

/// Files that were not searched.
#[derive(Clone, Copy, Default, Debug)]
struct SkippedFiles {
    binary: u64,
    large: u64,
    unreadable: u64,
}

struct FileSearch<'a> {
    context: &'a FileToolContext<'a>,
    pattern: Regex,
    glob: Override,
    hits: SearchHits,
    skipped: SkippedFiles,
    buffer: Vec<u8>,
}

impl FileSearch<'_> {
    fn search_folder(
        &mut self,
        path: &Path,
        filter: WalkFilter,
    ) -> Result<SearchProgress, ToolRefusal> {
        let mut walk = FolderWalk::new(self.context.workspace, path, MAX_DEPTH, filter)?;
        let end = loop {
            if let Some(cause) = self.context.cancel.cancel_cause() {
                break SearchProgress::Canceled(cause);
            }
            let Some((entry, folder)) = walk.next() else { break SearchProgress::Complete };
            let is_wanted = entry.kind == DirEntryKind::File && self.is_wanted(&entry.path);
            let opened = entry.path.file_name().filter(|_| is_wanted);
            match opened.map(|name| self.search_entry(&entry.path, folder, Path::new(name))) {
                None | Some(SearchProgress::Complete) => {}
                Some(end @ (SearchProgress::LimitReached | SearchProgress::Canceled(_))) => {
                    break end;
                }
            }
        };
        self.skipped.unreadable += walk.skipped.unreadable + walk.skipped.truncated;
        Ok(end)
    }

    fn is_wanted(&self, path: &Path) -> bool {
        match self.glob.matched(absolute(path), false) {
            Match::None | Match::Whitelist(_) => true,
            Match::Ignore(_) => false,
        }
    }

    fn search_entry(&mut self, path: &Path, folder: &Dir, name: &Path) -> SearchProgress {
        match open_regular(folder, name) {
            Ok((file, _)) => self.search_file(path, file),
            Err(_) => {
                self.skipped.unreadable += 1;
                SearchProgress::Complete
            }
        }
    }

    fn search_file(&mut self, path: &Path, file: File) -> SearchProgress {
        let max = self.context.limits.file;
        self.buffer.clear();
        // The size that the system reports may be outdated or 0.
        match file.take(max as u64 + 1).read_to_end(&mut self.buffer) {
            Err(_) => self.skipped.unreadable += 1,
            Ok(_) if is_binary(&self.buffer) => self.skipped.binary += 1,
            Ok(read) if read > max => self.skipped.large += 1,
            Ok(_) => {
                return self.hits.search_bytes(
                    path,
                    &self.buffer,
                    &self.pattern,
                    self.context.cancel,
                );
            }
        }
        SearchProgress::Complete
    }

    fn into_result(self, end: SearchProgress) -> ToolCallResult {
        let FileSearch { context, hits, skipped, .. } = self;
        let mut text = hits.into_text(end);
        let large = format!("larger than {}", display_size(context.limits.file as u64));
        let skipped: Vec<String> = [
            (skipped.binary, "binary"),
            (skipped.large, large.as_str()),
            (skipped.unreadable, "that cannot be read whole"),
        ]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, why)| format!("{number} {why}"))
        .collect();
        if !skipped.is_empty() {
            text.push_str(&format!("\n[skipped: {}]", skipped.join(", ")));
        }
        let completion = match end {
            SearchProgress::Complete | SearchProgress::LimitReached => ToolCompletion::Done,
            SearchProgress::Canceled(CancelCause::TimedOut) => {
                text.push_str("\n[it took too long: not every file was looked into]");
                ToolCompletion::Done
            }
            SearchProgress::Canceled(CancelCause::Stopped) => {
                text.push_str("\n[stopped: not every file was looked into]");
                ToolCompletion::Stopped
            }
        };
        ToolCallResult { completion, ..ToolCallResult::done(text) }
    }
}
