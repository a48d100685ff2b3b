//! Says everything there is to say about all targets, each thing on its stream.

use std::io::{self, Write};

use anyhow::Context;

use crate::{
    ask::Ask,
    cli::{CheckArgs, OutputFormat},
    command::check::Mode,
    disk::write_whole,
    outcome::{Outcome, Verdict},
    report::{self, summary},
    say::{self, Undressed, clean},
};

/// Writes documents, diffs, findings and talk. A reader that went away is no error.
pub(crate) fn deliver(
    args: &CheckArgs,
    ask: &Ask,
    mode: Mode,
    outcomes: &[Outcome],
) -> anyhow::Result<()> {
    let people = args.output_format.is_for_people();
    if args.output_format == OutputFormat::Full && !args.quiet {
        summary::notes(outcomes);
    }
    let piped = documents(outcomes)?;
    let findings = |out: &mut dyn Write| -> io::Result<()> {
        if args.statistics {
            report::statistics(out, outcomes, args.output_format)
        } else {
            report::write(out, outcomes, args.output_format, ask, mode == Mode::Fix)
        }
    };
    match &args.output_file {
        Some(path) => write_whole(path, |out| {
            // Only what people read may carry colours; in a file nobody sees them.
            if people { findings(&mut Undressed::new(out)) } else { findings(out) }
        })
        .with_context(|| format!("`{}` cannot be written", clean(&path.to_string_lossy())))?,
        // Stdout is taken: by the repaired document, or by the diff.
        None if piped || mode == Mode::Diff => say::aside(findings),
        None if people => say::dressed(findings)?,
        None => say::plain(findings)?,
    }
    if people && mode == Mode::Fix && !args.quiet {
        summary::repairs(outcomes);
    }
    summary::failures(outcomes);
    if !args.quiet && (people || mode != Mode::Check) {
        say::talk(&summary::sentence(outcomes, ask));
    }
    if people && mode == Mode::Fix && !args.quiet {
        summary::next_steps(outcomes);
    }
    Ok(())
}

/// Writes repaired documents and diffs to stdout; says whether there was a document.
fn documents(outcomes: &[Outcome]) -> anyhow::Result<bool> {
    let mut piped = false;
    for outcome in outcomes {
        let Verdict::Judged(judged) = &outcome.result else { continue };
        if let Some(document) = &judged.output {
            say::plain(|out| out.write_all(document))?;
            piped = true;
        }
        if let Some(diff) = &judged.diff {
            say::out(diff)?;
        }
    }
    Ok(piped)
}
