//! The reference of the command line: a page for each command, made from its help.

use std::{env, fs, path::Path, process, process::Command};

use super::page::ManualPage;
use crate::workspace;

/// The page that lists the commands.
pub(super) const COMMANDS: &str = "docs/commands.md";

/// One page for each command; `list` gets a link to each.
pub(super) fn command_pages(binary: &Path, list: &str) -> Result<Vec<ManualPage>, String> {
    let mut pages = Vec::new();
    let mut list = format!("{list}\n## Every command\n\n");
    for name in command_names(binary)? {
        let words: Vec<&str> = name.split('-').collect();
        let ran = foxwedge(binary, &[&words[..], &["--help"]].concat())?;
        let title = words.join(" ");
        list.push_str(&format!("- [`foxwedge {title}`](commands/{name}.md)\n"));
        let text = format!("# foxwedge {title}\n\n```text\n{}\n```\n", ran.trim_end());
        pages.push(ManualPage::parse(&format!("docs/commands/{name}.md"), &text));
    }
    pages.push(ManualPage::parse(COMMANDS, &list));
    Ok(pages)
}

/// The names of all commands, those of subcommands joined: `mcp-login`. `foxwedge man` writes a page for each.
fn command_names(binary: &Path) -> Result<Vec<String>, String> {
    let folder = env::temp_dir().join(format!("foxwedge-commands-{}", process::id()));
    let written = foxwedge(binary, &["man", "--output-dir", &folder.display().to_string()]);
    let entries = written.and_then(|_| workspace::sorted_entries(&folder));
    let _ = fs::remove_dir_all(&folder);
    let stems =
        entries?.into_iter().filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
    let names: Vec<String> =
        stems.filter_map(|stem| Some(stem.strip_prefix("foxwedge-")?.to_owned())).collect();
    if names.is_empty() { Err("`foxwedge man` wrote no page".to_owned()) } else { Ok(names) }
}

fn foxwedge(binary: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(binary);
    command.args(arguments).env("LANG", "C.UTF-8").env_remove("LC_ALL").env_remove("FOXWEDGE_LANG");
    let output = command.output().map_err(|error| format!("{}: {error}", binary.display()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let printed = String::from_utf8_lossy(&output.stderr);
    Err(format!("foxwedge {}: {}\n{printed}", arguments.join(" "), output.status))
}
