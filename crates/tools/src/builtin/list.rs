//! Shows what lies in a folder.

use serde_json::Value;

use super::{IGNORED, Site, about as describe};
use crate::{
    About, Answer, Effect, How, Limits,
    arguments::Arguments,
    kind::Kind,
    leash::Pulled,
    path::shown,
    refusal::Refusal,
    text::size,
    walk::{Entry, Hide, Walk},
};

/// Folders in folders that are looked into.
const DEEPEST: u64 = 16;
/// Entries that are counted behind those that are shown.
const COUNTED: u64 = 100_000;

pub(super) fn about(limits: &Limits) -> About {
    let most = limits.entries;
    describe(
        "list",
        "Lists a folder: one entry per line in order of names, folders with `/` at the end, files \
         with their size. Leaves out .git and what .gitignore files name.",
        &[],
        &[
            ("path", "string", "The folder, from the root of the workspace. Default: `.`".into()),
            ("depth", "integer", format!("How many levels to show, 1 to {DEEPEST}. Default: 1.")),
            (
                "limit",
                "integer",
                format!("How many entries to show, 1 to {}. Default: {most}.", 10 * most),
            ),
            ("ignored", "boolean", IGNORED.into()),
        ],
        Effect::Reads,
        limits.files,
    )
}

pub(super) fn act(input: &Value, site: &Site<'_>) -> Result<Answer, Refusal> {
    let entries = site.limits.entries as u64;
    let mut arguments = Arguments::new("list", input);
    let path = arguments.text_or("path", ".");
    let depth = arguments.number("depth", 1, DEEPEST, 1) as usize;
    let limit = arguments.number("limit", 1, 10 * entries, entries);
    let hide = if arguments.flag("ignored") { Hide::Nothing } else { Hide::Ignored };
    arguments.end()?;

    let path = site.workspace.path(path)?;
    let mut walk = Walk::new(site.workspace, &path, depth, hide)?;
    let (mut text, mut listed, mut more) = (String::new(), 0, 0);
    let mut pulled = None;
    while let Some((entry, folder)) = walk.next() {
        pulled = site.leash.pulled();
        if pulled.is_some() || more == COUNTED {
            break;
        }
        if listed == limit || more > 0 {
            more += 1;
            continue;
        }
        let line = line(&entry, folder);
        if text.len() + line.len() > site.limits.answer && listed > 0 {
            more += 1;
            continue;
        }
        text.push_str(&line);
        listed += 1;
    }
    if listed == 0 && more == 0 && pulled.is_none() {
        text.push_str("[nothing to show]\n");
    }
    if more > 0 {
        let least = if more == COUNTED { "at least " } else { "" };
        text.push_str(&format!("[… {least}{more} more]\n"));
    }
    let passed = walk.passed;
    for (number, words) in [
        (passed.ignored, "left out because of .gitignore; `ignored` shows them"),
        (passed.closed, "not looked into: they cannot be opened"),
        (passed.endless, "not shown whole: they have too many entries"),
    ] {
        if number > 0 {
            text.push_str(&format!("[{number} {words}]\n"));
        }
    }
    let how = match pulled {
        None => How::Done,
        Some(Pulled::Late) => {
            text.push_str("[it took too long: this is not all]\n");
            How::Done
        }
        Some(Pulled::Stopped) => {
            text.push_str("[stopped: this is not all]\n");
            How::Stopped
        }
    };
    Ok(Answer { how, ..Answer::done(text.trim_end()) })
}

fn line(entry: &Entry, folder: &cap_std::fs::Dir) -> String {
    let name = entry.path.file_name().map(std::path::Path::new).unwrap_or(&entry.path);
    let label = match entry.kind {
        Kind::Folder => "/".to_owned(),
        Kind::File => match folder.symlink_metadata(name) {
            Ok(metadata) => format!("  {}", size(metadata.len())),
            Err(_) => String::new(),
        },
        Kind::Link => match folder.read_link_contents(name) {
            Ok(target) => format!(" -> {}", shown(&target)),
            Err(_) => " (link)".to_owned(),
        },
        kind @ (Kind::Fifo | Kind::Socket | Kind::Device | Kind::Other) => {
            format!("  ({})", kind.words().trim_start_matches("a "))
        }
    };
    format!("{}{}{label}\n", "  ".repeat(entry.depth), shown(name))
}
