//! Lists a folder.

use serde_json::Value;

use super::{FileToolContext, IGNORED_DESCRIPTION, build_spec as describe};
use crate::{
    ToolCallResult, ToolCompletion, ToolEffect, ToolLimits, ToolSpec,
    arguments::ArgumentReader,
    cancel::CancelCause,
    dir_entry_kind::DirEntryKind,
    path::display_path,
    refusal::ToolRefusal,
    text::display_size,
    walk::{FolderWalk, WalkEntry, WalkFilter},
};

/// Maximum depth of folders.
const MAX_DEPTH: u64 = 16;
/// Maximum number of entries that are counted after those that are shown.
const MAX_COUNTED: u64 = 100_000;

pub(super) fn list_spec(limits: &ToolLimits) -> ToolSpec {
    let default = limits.entries;
    describe(
        "list",
        "Lists a folder: one entry per line in order of names, folders with `/` at the end, files \
         with their size. Leaves out .git and what .gitignore files name.",
        &[],
        &[
            ("path", "string", "The folder, from the root of the workspace. Default: `.`".into()),
            ("depth", "integer", format!("How many levels to show, 1 to {MAX_DEPTH}. Default: 1.")),
            (
                "limit",
                "integer",
                format!("How many entries to show, 1 to {}. Default: {default}.", 10 * default),
            ),
            ("ignored", "boolean", IGNORED_DESCRIPTION.into()),
        ],
        ToolEffect::Reads,
        limits.files,
    )
}

pub(super) fn list_folder(
    input: &Value,
    context: &FileToolContext<'_>,
) -> Result<ToolCallResult, ToolRefusal> {
    let entries = context.limits.entries as u64;
    let mut arguments = ArgumentReader::new("list", input);
    let path = arguments.text_or("path", ".");
    let depth = arguments.number("depth", 1, MAX_DEPTH, 1) as usize;
    let limit = arguments.number("limit", 1, 10 * entries, entries);
    let filter = if arguments.flag("ignored") { WalkFilter::Nothing } else { WalkFilter::Ignored };
    arguments.finish()?;

    let path = context.workspace.resolve_path(path)?;
    let mut walk = FolderWalk::new(context.workspace, &path, depth, filter)?;
    let (mut text, mut listed, mut more) = (String::new(), 0, 0);
    let mut cancel_cause = None;
    while let Some((entry, folder)) = walk.next() {
        cancel_cause = context.cancel.cancel_cause();
        if cancel_cause.is_some() || more == MAX_COUNTED {
            break;
        }
        if listed == limit || more > 0 {
            more += 1;
            continue;
        }
        let line = entry_line(&entry, folder);
        if text.len() + line.len() > context.limits.answer && listed > 0 {
            more += 1;
            continue;
        }
        text.push_str(&line);
        listed += 1;
    }
    if listed == 0 && more == 0 && cancel_cause.is_none() {
        text.push_str("[nothing to show]\n");
    }
    if more > 0 {
        let prefix = if more == MAX_COUNTED { "at least " } else { "" };
        text.push_str(&format!("[… {prefix}{more} more]\n"));
    }
    let skipped = walk.skipped;
    for (number, note) in [
        (skipped.ignored, "left out because of .gitignore; `ignored` shows them"),
        (skipped.unreadable, "not looked into: they cannot be opened"),
        (skipped.truncated, "not shown whole: they have too many entries"),
    ] {
        if number > 0 {
            text.push_str(&format!("[{number} {note}]\n"));
        }
    }
    let completion = match cancel_cause {
        None => ToolCompletion::Done,
        Some(CancelCause::TimedOut) => {
            text.push_str("[it took too long: this is not all]\n");
            ToolCompletion::Done
        }
        Some(CancelCause::Stopped) => {
            text.push_str("[stopped: this is not all]\n");
            ToolCompletion::Stopped
        }
    };
    Ok(ToolCallResult { completion, ..ToolCallResult::done(text.trim_end()) })
}

fn entry_line(entry: &WalkEntry, folder: &cap_std::fs::Dir) -> String {
    let name = entry.path.file_name().map(std::path::Path::new).unwrap_or(&entry.path);
    let label = match entry.kind {
        DirEntryKind::Folder => "/".to_owned(),
        DirEntryKind::File => match folder.symlink_metadata(name) {
            Ok(metadata) => format!("  {}", display_size(metadata.len())),
            Err(_) => String::new(),
        },
        DirEntryKind::Link => match folder.read_link_contents(name) {
            Ok(target) => format!(" -> {}", display_path(&target)),
            Err(_) => " (link)".to_owned(),
        },
        kind @ (DirEntryKind::Fifo
        | DirEntryKind::Socket
        | DirEntryKind::Device
        | DirEntryKind::Other) => {
            format!("  ({})", kind.description().trim_start_matches("a "))
        }
    };
    format!("{}{}{label}\n", "  ".repeat(entry.depth), display_path(name))
}
