//! `foxwedge export --all`: a document for every session, and an index of them.

use std::{collections::HashSet, fs, io, path::Path, process::ExitCode};

use anyhow::{Context, bail};

use super::export_view;
use crate::{
    cli::{ExportArgs, ExportFormat},
    pool, sessions,
    target::{self, SingleTarget},
};
use foxwedge_local::{
    agents::LocalSessionEntry,
    disk::{create_private_folder, write_private},
    export::{self, ExportHeader, ExportIndexEntry},
    language::{list_separator, localize},
    output::{self, GOOD, HelpfulError, clean, paint, pluralize},
};

/// Writes a document for every session into a new folder, newest first in the index. A session that
/// cannot be read is named, and left out.
pub(super) fn export_all(args: &ExportArgs, folder: &Path) -> anyhow::Result<ExitCode> {
    let shown = clean(&folder.to_string_lossy());
    prepare_folder(folder, &shown)?;
    let mut entries = target::list_sessions(&args.session.agent);
    entries.retain(|entry| !entry.is_sub_agent());
    let names = document_names(&entries, args.format);
    let named: Vec<(&LocalSessionEntry, String)> = entries.iter().zip(names).collect();
    let (mut index, mut failed) = (Vec::new(), 0);
    let export = |(entry, name): &(&LocalSessionEntry, String)| {
        let session = || format!("{} {}", entry.product, clean(&entry.id));
        let header = export_entry(args, entry, &folder.join(name)).with_context(session)?;
        anyhow::Ok(ExportIndexEntry { document: name.clone(), header })
    };
    pool::for_each(&named, true, export, |result| match result {
        Ok(entry) => index.push(entry),
        Err(error) => {
            failed += 1;
            output::print_error(&error);
        }
    });
    let (name, text) = match args.format {
        ExportFormat::Markdown => ("index.md", export::markdown_index(&index)),
        ExportFormat::Html => ("index.html", export::html_index(&index)),
        ExportFormat::Json => ("index.json", export::json_index(&index)),
    };
    let path = folder.join(name);
    write_private(&path, |out| out.write_all(text.as_bytes()))
        .with_context(|| format!("`{}` cannot be written", clean(&path.to_string_lossy())))?;
    let sessions = localize(pluralize(index.len(), "session"));
    let left_out = match failed {
        0 => String::new(),
        failed => format!("{}{}", list_separator(), localize(format!("{failed} left out"))),
    };
    output::write_stderr(&localize(format!(
        "{} {sessions}{left_out}: {}\n",
        paint(GOOD, "exported"),
        clean(&path.to_string_lossy())
    )));
    Ok(if failed > 0 { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

/// Makes the folder. One that has something in it is refused, so that nothing is overwritten.
fn prepare_folder(folder: &Path, shown: &str) -> anyhow::Result<()> {
    match fs::read_dir(folder).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) => bail!(
            HelpfulError::new(format!("`{shown}` is not empty"))
                .help("nothing was written; name a new folder with -o")
        ),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_private_folder(folder).with_context(|| format!("`{shown}` cannot be created"))
        }
        Err(error) => bail!(
            HelpfulError::new(format!("`{shown}` is not a folder that can be used: {error}"))
                .help("nothing was written; name a new folder with -o")
        ),
    }
}

fn export_entry(
    args: &ExportArgs,
    entry: &LocalSessionEntry,
    path: &Path,
) -> anyhow::Result<ExportHeader> {
    let target = SingleTarget::Session(Box::new(entry.clone()));
    let loaded = sessions::open_target(target, &args.session, None)?;
    let (header, text) = export_view(args, &loaded, &loaded.view_without_notes()?)?;
    write_private(path, |out| out.write_all(text.as_bytes()))
        .with_context(|| format!("`{}` cannot be written", clean(&path.to_string_lossy())))?;
    Ok(header)
}

/// A file name for each session: its agent and its id, as far as they are harmless in a name.
fn document_names(entries: &[LocalSessionEntry], format: ExportFormat) -> Vec<String> {
    let extension = match format {
        ExportFormat::Markdown => "md",
        ExportFormat::Html => "html",
        ExportFormat::Json => "json",
    };
    let mut used = HashSet::new();
    let name = |entry: &LocalSessionEntry| {
        let stem = safe_name(&format!("{}-{}", entry.product, entry.id));
        let numbered = |number: usize| match number {
            1 => format!("{stem}.{extension}"),
            number => format!("{stem}-{number}.{extension}"),
        };
        (1..).map(numbered).find(|name| used.insert(name.clone())).unwrap_or_default()
    };
    entries.iter().map(name).collect()
}

/// Maximum length of a file name without its extension.
const MAX_NAME_CHARS: usize = 100;

fn safe_name(text: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let name = text.to_ascii_lowercase();
    name.chars().map(|c| if is_safe(c) { c } else { '-' }).take(MAX_NAME_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::safe_name;

    #[test]
    fn names_are_harmless_in_paths_and_in_html() {
        assert_eq!(safe_name("Claude Code-0a1b/../<x>\".md"), "claude-code-0a1b-----x---md");
        assert_eq!(safe_name(&"é".repeat(200)), "-".repeat(100));
    }
}
