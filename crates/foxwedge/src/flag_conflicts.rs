//! Flags that conflict. They are rejected before anything is read or written.

use std::{fs, path::Path};

use crate::{
    cli::{CheckArgs, OutputFormat},
    target::{CheckTarget, TargetKind},
};
use foxwedge_local::{
    check_settings::CheckSettings,
    disk::FileIdentity,
    output::{HelpfulError, clean},
    source::{InputHint, InputRejection, decode_text, decompress, parse_input},
};

/// Rejects flags that contradict each other.
pub(crate) fn check(args: &CheckArgs) -> Result<(), HelpfulError> {
    let format = args.output_format;
    if args.diff && !format.is_for_people() {
        return Err(conflict_error("--diff", format).help(
            "--diff works with --output-format full and concise; without --diff, json lists every \
             finding with the edits that fix it",
        ));
    }
    if args.watch && !format.is_for_people() {
        return Err(conflict_error("--watch", format)
            .help("--watch works with --output-format full and concise"));
    }
    if args.watch && args.fix {
        return Err(HelpfulError::new("--watch only checks")
            .help("`foxwedge check --watch` watches; `foxwedge fix` repairs"));
    }
    let lists_edits = matches!(format, OutputFormat::Json | OutputFormat::JsonLines);
    if args.dry_run && !format.is_for_people() && !lists_edits {
        return Err(conflict_error("--dry-run", format)
            .help("--dry-run works with --output-format full, concise, json and json-lines"));
    }
    let has_statistics = match format {
        OutputFormat::Full
        | OutputFormat::Concise
        | OutputFormat::Json
        | OutputFormat::Markdown => true,
        OutputFormat::JsonLines
        | OutputFormat::Github
        | OutputFormat::Gitlab
        | OutputFormat::Junit
        | OutputFormat::Sarif => false,
    };
    if args.statistics && !has_statistics {
        return Err(conflict_error("--statistics", format)
            .help("--statistics works with --output-format full, concise, markdown and json"));
    }
    Ok(())
}

fn conflict_error(flag: &str, format: OutputFormat) -> HelpfulError {
    HelpfulError::new(format!("{flag} cannot be used with --output-format {}", format.name()))
}

/// Rejects an output file that is also an input.
pub(crate) fn check_output(
    args: &CheckArgs,
    targets: &[CheckTarget],
    settings: &CheckSettings,
) -> Result<(), HelpfulError> {
    if args.output.is_some() && targets.len() != 1 {
        return Err(HelpfulError::new("-o needs exactly one target")
            .help("name one file or one session, or `-` for stdin"));
    }
    for (path, flag, what) in
        [(&args.output_file, "--output-file", "findings"), (&args.output, "-o", "the document")]
    {
        let Some(path) = path else { continue };
        check_file(path, flag, what, targets, settings)?;
    }
    Ok(())
}

/// Rejects a file to write that is also read.
fn check_file(
    path: &Path,
    flag: &str,
    what: &str,
    targets: &[CheckTarget],
    settings: &CheckSettings,
) -> Result<(), HelpfulError> {
    let Some(output) = FileIdentity::of(path) else { return Ok(()) };
    let is_read = |target: &&CheckTarget| match &target.kind {
        TargetKind::Stdin => FileIdentity::of_stdin().is_some_and(|input| input == output),
        TargetKind::Named(input) => FileIdentity::of(input).is_some_and(|input| input == output),
        TargetKind::FromFolder(input) => {
            FileIdentity::of(input).is_some_and(|input| input == output)
                // The findings of an earlier run may be in the folder that is checked.
                && !is_no_conversation(input, settings)
        }
        TargetKind::Unreadable(_) => false,
    };
    match targets.iter().find(is_read) {
        None => Ok(()),
        Some(target) => {
            let path = clean(&path.to_string_lossy());
            let suffix = match &target.kind {
                TargetKind::Stdin => " on stdin".to_owned(),
                _ if path.trim_start_matches("./") == target.display_name => String::new(),
                _ => format!(", which is `{}`", clean(&target.display_name)),
            };
            Err(HelpfulError::new(format!(
                "{what} would be written over the input `{path}`{suffix}"
            ))
            .help(format!("nothing was written; give {flag} a name of its own")))
        }
    }
}

/// Whether a file in a folder is certainly not a conversation.
fn is_no_conversation(path: &Path, settings: &CheckSettings) -> bool {
    let Ok(content) = fs::read(path) else { return false };
    let Ok(plain) = decompress(&content) else { return false };
    let Ok(text) = decode_text(&plain) else { return false };
    matches!(
        parse_input(&text, InputHint::of_file(path, true), settings),
        Err(InputRejection::Skipped)
    )
}
