//! Writes a whole file.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{FileToolContext, build_spec as describe};
use crate::{
    FileChange, ToolCallResult, ToolEffect, ToolLimits, ToolSpec,
    arguments::ArgumentReader,
    file_target::{FileTarget, MissingParents},
    path::display_path,
    refusal::ToolRefusal,
    text::{count_lines, display_size, pluralize},
};

pub(super) fn write_spec(limits: &ToolLimits) -> ToolSpec {
    describe(
        "write",
        "Writes a file: a new one, or all of one that exists. Folders on the way are made. To \
         change a part of a file, use `edit`.",
        &["path", "content"],
        &[
            ("path", "string", "The file, from the root of the workspace.".into()),
            ("content", "string", "Everything that the file shall contain.".into()),
        ],
        ToolEffect::Writes,
        limits.files,
    )
}

pub(super) fn write_file(
    input: &Value,
    context: &FileToolContext<'_>,
) -> Result<ToolCallResult, ToolRefusal> {
    let (path, content) = read_arguments(input, context)?;
    let target =
        FileTarget::find(context.workspace, &path, MissingParents::Create, context.cancel)?;
    context.announce(|| change_of(target.path(), content, context));
    target.write(content.as_bytes(), context.cancel)?;
    let verb = if target.exists() { "replaced" } else { "created" };
    Ok(ToolCallResult::done(format!(
        "{verb} `{}`: {}, {}",
        display_path(target.path()),
        pluralize(content.len() as u64, "byte"),
        pluralize(count_lines(content.as_bytes()), "line")
    )))
}

/// What a call would change.
pub(crate) fn preview_write(
    input: &Value,
    context: &FileToolContext<'_>,
) -> Result<FileChange, ToolRefusal> {
    let (path, content) = read_arguments(input, context)?;
    let unknown = || ToolRefusal("what it would replace cannot be read".to_owned());
    change_of(&path, content, context).ok_or_else(unknown)
}

/// The path from the root, and the content.
fn read_arguments<'i>(
    input: &'i Value,
    context: &FileToolContext<'_>,
) -> Result<(PathBuf, &'i str), ToolRefusal> {
    let mut arguments = ArgumentReader::new("write", input);
    let requested = arguments.text("path");
    let content = arguments.text("content");
    arguments.finish()?;
    let path = context.workspace.resolve_path(requested)?;
    if requested.ends_with('/') {
        return Err(ToolRefusal(format!("`{}/` is a folder; name a file", display_path(&path))));
    }
    check_size(content.len(), context)?;
    Ok((path, content))
}

fn change_of(path: &Path, content: &str, context: &FileToolContext<'_>) -> Option<FileChange> {
    let before = context.workspace.content(path, context.limits.file)?;
    let after = Some(content.as_bytes().to_vec());
    Some(FileChange { path: path.to_owned(), before, after })
}

/// Refuses files that are too large for a model.
pub(super) fn check_size(bytes: usize, context: &FileToolContext<'_>) -> Result<(), ToolRefusal> {
    let max = context.limits.file;
    match bytes > max {
        true => Err(ToolRefusal(format!(
            "the file would have {}; {} is the most",
            display_size(bytes as u64),
            display_size(max as u64)
        ))),
        false => Ok(()),
    }
}
