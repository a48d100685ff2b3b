//! What may not be asked for together. Refused before anything is read or written.

use std::{fs, path::Path};

use crate::{
    ask::Ask,
    cli::{CheckArgs, OutputFormat},
    disk::Identity,
    say::{Trouble, clean},
    source::{Closed, Manner, open, text, unpacked},
    target::{Kind, Target},
};

/// Refuses flags that contradict each other.
pub(crate) fn check(args: &CheckArgs) -> Result<(), Trouble> {
    let format = args.output_format;
    if args.diff && !format.is_for_people() {
        return Err(clash("--diff", format).help(
            "--diff goes with --output-format full and concise; without --diff, json lists every \
             finding with the steps that repair it",
        ));
    }
    let counted = match format {
        OutputFormat::Full
        | OutputFormat::Concise
        | OutputFormat::Json
        | OutputFormat::Markdown => true,
        OutputFormat::JsonLines | OutputFormat::Github | OutputFormat::Sarif => false,
    };
    if args.statistics && !counted {
        return Err(clash("--statistics", format)
            .help("--statistics goes with --output-format full, concise, markdown and json"));
    }
    Ok(())
}

fn clash(flag: &str, format: OutputFormat) -> Trouble {
    Trouble::new(format!("{flag} cannot be used with --output-format {}", format.name()))
}

/// Refuses to write findings over something that is to be read.
pub(crate) fn check_output(args: &CheckArgs, targets: &[Target], ask: &Ask) -> Result<(), Trouble> {
    let Some(path) = &args.output_file else { return Ok(()) };
    let Some(output) = Identity::of(path) else { return Ok(()) };
    let is_read = |target: &&Target| match &target.kind {
        Kind::Stdin => Identity::of_stdin().is_some_and(|input| input == output),
        Kind::Named(input) => Identity::of(input).is_some_and(|input| input == output),
        Kind::Walked(input) => {
            Identity::of(input).is_some_and(|input| input == output)
                // The findings of the last run may lie in the folder they are about.
                && !is_stranger(input, ask)
        }
        Kind::Closed(_) => false,
    };
    match targets.iter().find(is_read) {
        None => Ok(()),
        Some(target) => {
            let path = clean(&path.to_string_lossy());
            let same = match &target.kind {
                Kind::Stdin => " on stdin".to_owned(),
                _ if path.trim_start_matches("./") == target.shown => String::new(),
                _ => format!(", which is `{}`", clean(&target.shown)),
            };
            Err(Trouble::new(format!("findings would be written over the input `{path}`{same}"))
                .help("nothing was written; give --output-file a name of its own"))
        }
    }
}

/// Whether a file in a folder is surely no conversation.
fn is_stranger(path: &Path, ask: &Ask) -> bool {
    let Ok(content) = fs::read(path) else { return false };
    let Ok(plain) = unpacked(&content) else { return false };
    let Ok(text) = text(&plain) else { return false };
    matches!(open(&text, Manner::of_file(path, true), ask), Err(Closed::Skipped))
}
