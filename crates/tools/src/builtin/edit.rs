//! Changes a part of a file: replaces one text by another.

mod line_ends;
mod nearest;
mod diff;

use std::io::Read as _;

use memchr::memmem::Finder;
use serde_json::Value;

use self::{line_ends::LineNormalizedText, nearest::nearest};
use super::{FileToolContext, build_spec as describe, write::check_size};
use crate::{
    FileChange, ToolCallResult, ToolEffect, ToolLimits, ToolSpec,
    arguments::ArgumentReader,
    file_target::{FileTarget, MissingParents},
    path::display_path,
    refusal::ToolRefusal,
    text::{BOM, display_size, pluralize},
};

pub(super) fn edit_spec(limits: &ToolLimits) -> ToolSpec {
    describe(
        "edit",
        "Changes a file: puts `new` in the place of `old`. `old` has to be in the file exactly \
         once, character by character, with the white space that `read` shows but without the \
         line numbers; take more lines into it if it is there more often, or set `all`.",
        &["path", "old", "new"],
        &[
            ("path", "string", "The file, from the root of the workspace.".into()),
            ("old", "string", "The text to replace.".into()),
            ("new", "string", "The text to put there; may be empty.".into()),
            ("all", "boolean", "Replaces `old` wherever it is. Default: false.".into()),
        ],
        ToolEffect::Writes,
        limits.files,
    )
}

/// How often a text may occur.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ExpectedMatches {
    Once,
    Any,
}

pub(super) fn edit_file(
    input: &Value,
    context: &FileToolContext<'_>,
) -> Result<ToolCallResult, ToolRefusal> {
    let EditPlan { target, read, bytes, places, diff } = plan_edit(input, context)?;
    let name = display_path(target.path());
    context.announce(|| {
        let (before, after) = (Some(read.clone()), Some(bytes.clone()));
        Some(FileChange { path: target.path().to_owned(), before, after })
    });
    target.replace(&read, &bytes, context.cancel)?;
    let places = pluralize(places, "place");
    Ok(ToolCallResult::done(format!("changed `{name}` in {places}\n{diff}").trim_end()))
}

/// What a call would change.
pub(crate) fn preview_edit(
    input: &Value,
    context: &FileToolContext<'_>,
) -> Result<FileChange, ToolRefusal> {
    let EditPlan { target, read, bytes, .. } = plan_edit(input, context)?;
    Ok(FileChange { path: target.path().to_owned(), before: Some(read), after: Some(bytes) })
}

/// A change that was not made yet.
struct EditPlan {
    target: FileTarget,
    read: Vec<u8>,
    bytes: Vec<u8>,
    /// In how many places.
    places: u64,
    diff: String,
}

fn plan_edit(input: &Value, context: &FileToolContext<'_>) -> Result<EditPlan, ToolRefusal> {
    let mut arguments = ArgumentReader::new("edit", input);
    let path = arguments.text("path");
    let old = arguments.text("old");
    let new = arguments.text("new");
    let expected = if arguments.flag("all") { ExpectedMatches::Any } else { ExpectedMatches::Once };
    arguments.finish()?;

    let path = context.workspace.resolve_path(path)?;
    if old.is_empty() {
        return Err(ToolRefusal("`old` is empty; use `write` for a new file".to_owned()));
    }
    if old == new {
        return Err(ToolRefusal("`old` and `new` are the same: nothing would change".to_owned()));
    }
    let target = FileTarget::find(context.workspace, &path, MissingParents::Fail, context.cancel)?;
    let read = read_whole(&target, context)?;
    let (bom, text) = match read.strip_prefix(BOM) {
        Some(text) => (BOM, text),
        None => (&[][..], read.as_slice()),
    };
    let plain = LineNormalizedText::of(text);
    let (old, new) = (plain.match_line_ends(old), plain.match_line_ends(new));
    let name = display_path(target.path());
    let found = find(&plain.text, old.as_bytes(), expected)
        .map_err(|error| error.to_refusal(&plain.text, &old, &name))?;
    let max_added = found.len().saturating_mul(plain.max_length(new.as_bytes()));
    check_size(text.len().saturating_add(max_added), context)?;
    let mut bytes = bom.to_vec();
    plain.splice(text, &found, old.len(), new.as_bytes(), &mut bytes);
    let diff = diff::diff(&plain.text, &found, old.len(), new.as_bytes(), context.limits);
    let places = found.len() as u64;
    drop(plain);
    Ok(EditPlan { target, read, bytes, places, diff })
}

/// Reads the whole file.
fn read_whole(target: &FileTarget, context: &FileToolContext<'_>) -> Result<Vec<u8>, ToolRefusal> {
    let name = display_path(target.path());
    if !target.exists() {
        return Err(ToolRefusal(format!("`{name}` does not exist; use `write` for a new file")));
    }
    let (file, metadata) = target.open()?;
    let max = context.limits.file as u64;
    let mut bytes = Vec::new();
    file.take(max.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| ToolRefusal::of(&error, target.path()))?;
    match bytes.len() as u64 > max {
        true => Err(ToolRefusal(format!(
            "`{name}` has {}; files of up to {} can be changed",
            display_size(metadata.len()),
            display_size(max)
        ))),
        false => Ok(bytes),
    }
}

/// A text does not occur as often as it should.
#[derive(Clone, PartialEq, Eq, Debug)]
enum MatchError {
    Missing,
    /// It starts at these bytes.
    Several(Vec<usize>),
}

/// Finds where a text starts.
fn find(plain: &[u8], old: &[u8], expected: ExpectedMatches) -> Result<Vec<usize>, MatchError> {
    let finder = Finder::new(old);
    let found: Vec<usize> = finder.find_iter(plain).collect();
    let Some(first) = found.first() else { return Err(MatchError::Missing) };
    match expected {
        ExpectedMatches::Any => Ok(found),
        ExpectedMatches::Once if found.len() > 1 => Err(MatchError::Several(found)),
        // Matches may overlap.
        ExpectedMatches::Once => match plain.get(first + 1..).and_then(|rest| finder.find(rest)) {
            Some(second) => Err(MatchError::Several(vec![*first, first + 1 + second])),
            None => Ok(found),
        },
    }
}

impl MatchError {
    fn to_refusal(&self, plain: &[u8], old: &str, name: &str) -> ToolRefusal {
        /// Maximum number of line numbers in the message.
        const NAMED: usize = 10;
        ToolRefusal(match self {
            MatchError::Missing => match nearest(plain, old) {
                Some(hint) => format!("`old` is not in `{name}`: {hint}"),
                None => format!("`old` is not in `{name}`; read the file to see what is"),
            },
            MatchError::Several(found) => {
                let mut lines: Vec<String> =
                    found.iter().take(NAMED).map(|at| line_at(plain, *at).to_string()).collect();
                if found.len() > NAMED {
                    lines.push("…".to_owned());
                }
                let (times, lines) = (found.len(), lines.join(", "));
                format!(
                    "`old` is in `{name}` {times} times, in lines {lines}; take more of what \
                     stands around the right one into it, or set `all`"
                )
            }
        })
    }
}

/// The line number of a byte offset.
fn line_at(plain: &[u8], at: usize) -> usize {
    memchr::memchr_iter(b'\n', plain.get(..at).unwrap_or(plain)).count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_must_occur_once_without_overlap() {
        let table = [
            ("abc", "b", ExpectedMatches::Once, Ok(vec![1])),
            ("abcb", "b", ExpectedMatches::Once, Err(MatchError::Several(vec![1, 3]))),
            ("abcb", "b", ExpectedMatches::Any, Ok(vec![1, 3])),
            ("aaa", "aa", ExpectedMatches::Once, Err(MatchError::Several(vec![0, 1]))),
            ("aaa", "aa", ExpectedMatches::Any, Ok(vec![0])),
            ("abc", "x", ExpectedMatches::Any, Err(MatchError::Missing)),
            ("", "x", ExpectedMatches::Once, Err(MatchError::Missing)),
        ];
        for (plain, old, matches, expected) in table {
            assert_eq!(find(plain.as_bytes(), old.as_bytes(), matches), expected, "{plain} {old}");
        }
    }
}
