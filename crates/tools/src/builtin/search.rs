//! Looks for a pattern in files.

mod hits;

use std::{io::Read as _, path::Path};

use cap_std::fs::{Dir, File};
use ignore::{
    Match,
    overrides::{Override, OverrideBuilder},
};
use regex::bytes::{Regex, RegexBuilder};
use serde_json::Value;

use self::hits::{Found, Hits};
use super::{IGNORED, Site, about as describe};
use crate::{
    About, Answer, Effect, How, Limits,
    arguments::Arguments,
    ignored::absolute,
    kind::Kind,
    leash::Pulled,
    path::plain,
    refusal::Refusal,
    text::{is_binary, size},
    walk::{Hide, Walk},
    workspace::open_regular,
};

/// Folders in folders that are looked into.
const DEEPEST: usize = 64;
/// Lines around a hit.
const CONTEXT: u64 = 10;
/// Bytes of a pattern.
const LONGEST: usize = 4000;
/// Bytes that a pattern may grow to when it is made ready, and while it is used: a pattern that is
/// hard to look for is refused, or costs time, but never memory.
const PATTERN_SIZE: usize = 1 << 20;
const NESTED: u32 = 100;

pub(super) fn about(limits: &Limits) -> About {
    let most = limits.hits;
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
                format!("Lines to show around each hit, 0 to {CONTEXT}. Default: 0."),
            ),
            (
                "limit",
                "integer",
                format!("How many hits to show, 1 to {}. Default: {most}.", 10 * most),
            ),
            ("ignored", "boolean", IGNORED.into()),
        ],
        Effect::Reads,
        limits.files,
    )
}

pub(super) fn act(input: &Value, site: &Site<'_>) -> Result<Answer, Refusal> {
    let hits = site.limits.hits as u64;
    let mut arguments = Arguments::new("search", input);
    let pattern = arguments.text("pattern");
    let path = arguments.text_or("path", ".");
    let glob = arguments.text_or("glob", "");
    let ignore_case = arguments.flag("ignore_case");
    let context = arguments.number("context", 0, CONTEXT, 0) as usize;
    let limit = arguments.number("limit", 1, 10 * hits, hits);
    let hide = if arguments.flag("ignored") { Hide::Nothing } else { Hide::Ignored };
    arguments.end()?;

    let path = site.workspace.path(path)?;
    let mut search = Search {
        site,
        pattern: compile(pattern, ignore_case)?,
        glob: globs(glob)?,
        hits: Hits::new(limit, context, site.limits),
        skipped: Skipped::default(),
        buffer: Vec::new(),
    };
    let folder = site.workspace.folder()?;
    let metadata = folder.metadata(&path).map_err(|error| Refusal::of(&error, &path))?;
    let end = match Kind::of(metadata.file_type()) {
        Kind::Folder => search.folder(&path, hide)?,
        Kind::File | Kind::Link | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Other => {
            let (file, _) = site.workspace.file(&path)?;
            search.file(&path, file)
        }
    };
    Ok(search.told(end))
}

fn compile(pattern: &str, ignore_case: bool) -> Result<Regex, Refusal> {
    if pattern.is_empty() {
        return Err(Refusal("the pattern is empty".to_owned()));
    }
    if pattern.len() > LONGEST {
        let length = pattern.len();
        return Err(Refusal(format!("the pattern has {length} bytes; it may have {LONGEST}")));
    }
    let mut builder = RegexBuilder::new(pattern);
    builder.case_insensitive(ignore_case).nest_limit(NESTED);
    builder.size_limit(PATTERN_SIZE).dfa_size_limit(2 * PATTERN_SIZE);
    builder.build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => {
            Refusal("the pattern is too large; use fewer or smaller repetitions".to_owned())
        }
        error => Refusal(format!("the pattern cannot be read: {error}")),
    })
}

/// Which files are looked into. The matcher is told that the root of the workspace is `/`.
fn globs(glob: &str) -> Result<Override, Refusal> {
    let mut globs = OverrideBuilder::new("/");
    let added = match glob.len() {
        0 => Ok(()),
        1..=LONGEST => globs.add(glob).map(|_| ()),
        _ => return Err(Refusal(format!("the glob has more than {LONGEST} bytes"))),
    };
    let built = added.and_then(|()| globs.build());
    built.map_err(|error| Refusal(format!("`{}` is not a glob: {error}", plain(glob))))
}

/// Files that were not looked into.
#[derive(Clone, Copy, Default, Debug)]
struct Skipped {
    binary: u64,
    large: u64,
    closed: u64,
}

struct Search<'a> {
    site: &'a Site<'a>,
    pattern: Regex,
    glob: Override,
    hits: Hits,
    skipped: Skipped,
    buffer: Vec<u8>,
}

impl Search<'_> {
    fn folder(&mut self, path: &Path, hide: Hide) -> Result<Found, Refusal> {
        let mut walk = Walk::new(self.site.workspace, path, DEEPEST, hide)?;
        let end = loop {
            if let Some(pulled) = self.site.leash.pulled() {
                break Found::Pulled(pulled);
            }
            let Some((entry, folder)) = walk.next() else { break Found::All };
            let wanted = entry.kind == Kind::File && self.is_wanted(&entry.path);
            let opened = entry.path.file_name().filter(|_| wanted);
            match opened.map(|name| self.entry(&entry.path, folder, Path::new(name))) {
                None | Some(Found::All) => {}
                Some(end @ (Found::Enough | Found::Pulled(_))) => break end,
            }
        };
        self.skipped.closed += walk.passed.closed + walk.passed.endless;
        Ok(end)
    }

    fn is_wanted(&self, path: &Path) -> bool {
        match self.glob.matched(absolute(path), false) {
            Match::None | Match::Whitelist(_) => true,
            Match::Ignore(_) => false,
        }
    }

    fn entry(&mut self, path: &Path, folder: &Dir, name: &Path) -> Found {
        match open_regular(folder, name) {
            Ok((file, _)) => self.file(path, file),
            Err(_) => {
                self.skipped.closed += 1;
                Found::All
            }
        }
    }

    fn file(&mut self, path: &Path, file: File) -> Found {
        let most = self.site.limits.file;
        self.buffer.clear();
        // The size that the system tells may be old, or none.
        match file.take(most as u64 + 1).read_to_end(&mut self.buffer) {
            Err(_) => self.skipped.closed += 1,
            Ok(_) if is_binary(&self.buffer) => self.skipped.binary += 1,
            Ok(read) if read > most => self.skipped.large += 1,
            Ok(_) => {
                return self.hits.file(path, &self.buffer, &self.pattern, self.site.leash);
            }
        }
        Found::All
    }

    fn told(self, end: Found) -> Answer {
        let Search { site, hits, skipped, .. } = self;
        let mut text = hits.told(end);
        let large = format!("larger than {}", size(site.limits.file as u64));
        let skipped: Vec<String> = [
            (skipped.binary, "binary"),
            (skipped.large, large.as_str()),
            (skipped.closed, "that cannot be read whole"),
        ]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, why)| format!("{number} {why}"))
        .collect();
        if !skipped.is_empty() {
            text.push_str(&format!("\n[skipped: {}]", skipped.join(", ")));
        }
        let how = match end {
            Found::All | Found::Enough => How::Done,
            Found::Pulled(Pulled::Late) => {
                text.push_str("\n[it took too long: not every file was looked into]");
                How::Done
            }
            Found::Pulled(Pulled::Stopped) => {
                text.push_str("\n[stopped: not every file was looked into]");
                How::Stopped
            }
        };
        Answer { how, ..Answer::done(text) }
    }
}
