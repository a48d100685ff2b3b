//! Writes a whole file.

use serde_json::Value;

use super::{FileToolContext, build_spec as describe};
use crate::{
    ToolCallResult, ToolEffect, ToolLimits, ToolSpec,
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
    let mut arguments = ArgumentReader::new("write", input);
    let requested = arguments.text("path");
    let content = arguments.text("content");
    arguments.finish()?;

    let path = context.workspace.resolve_path(requested)?;
    if requested.ends_with('/') {
        return Err(ToolRefusal(format!("`{}/` is a folder; name a file", display_path(&path))));
    }
    check_size(content.len(), context)?;
    let target =
        FileTarget::find(context.workspace, &path, MissingParents::Create, context.cancel)?;
    target.write(content.as_bytes(), context.cancel)?;
    let verb = if target.exists() { "replaced" } else { "created" };
    Ok(ToolCallResult::done(format!(
        "{verb} `{}`: {}, {}",
        display_path(target.path()),
        pluralize(content.len() as u64, "byte"),
        pluralize(count_lines(content.as_bytes()), "line")
    )))
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
