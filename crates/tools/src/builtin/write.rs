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
    site: &FileToolContext<'_>,
) -> Result<ToolCallResult, ToolRefusal> {
    let mut arguments = ArgumentReader::new("write", input);
    let asked = arguments.text("path");
    let content = arguments.text("content");
    arguments.finish()?;

    let path = site.workspace.resolve_path(asked)?;
    if asked.ends_with('/') {
        return Err(ToolRefusal(format!("`{}/` is a folder; name a file", display_path(&path))));
    }
    check_size(content.len(), site)?;
    let place = FileTarget::find(site.workspace, &path, MissingParents::Create, site.cancel)?;
    place.write(content.as_bytes(), site.cancel)?;
    let verb = if place.exists() { "replaced" } else { "created" };
    Ok(ToolCallResult::done(format!(
        "{verb} `{}`: {}, {}",
        display_path(place.path()),
        pluralize(content.len() as u64, "byte"),
        pluralize(count_lines(content.as_bytes()), "line")
    )))
}

/// A file that is larger than that is not one for a model.
pub(super) fn check_size(bytes: usize, site: &FileToolContext<'_>) -> Result<(), ToolRefusal> {
    let most = site.limits.file;
    match bytes > most {
        true => Err(ToolRefusal(format!(
            "the file would have {}; {} is the most",
            display_size(bytes as u64),
            display_size(most as u64)
        ))),
        false => Ok(()),
    }
}
