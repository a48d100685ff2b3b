//! Writes the outcome of a run: documents, diffs, findings and messages, each to its stream.

use std::{
    io::{self, Write},
    path::Path,
};

use anyhow::Context;

use crate::{
    cli::{CheckArgs, OutputFormat},
    command::check::CheckMode,
    report::{self, summary},
};
use foxwedge_local::{
    check_settings::CheckSettings,
    disk::write_whole,
    outcome::{TargetOutcome, TargetResult},
    output::{self, ColorStripper, clean},
};

/// Writes documents, diffs, findings and messages. A closed pipe is not an error.
pub(crate) fn write_outcomes(
    args: &CheckArgs,
    settings: &CheckSettings,
    mode: CheckMode,
    outcomes: &[TargetOutcome],
) -> anyhow::Result<()> {
    let for_people = args.output_format.is_for_people();
    if args.output_format == OutputFormat::Full && !args.quiet {
        summary::print_notes(outcomes);
    }
    let piped = write_documents(outcomes, args.output.as_deref())?;
    let findings = |out: &mut dyn Write| -> io::Result<()> {
        if args.statistics {
            report::statistics(out, outcomes, args.output_format)
        } else {
            report::write(out, outcomes, args.output_format, settings, mode.lists_edits())
        }
    };
    match &args.output_file {
        Some(path) => write_whole(path, |out| {
            // Only formats for people have colors, and files get none.
            if for_people { findings(&mut ColorStripper::new(out)) } else { findings(out) }
        })
        .with_context(|| format!("`{}` cannot be written", clean(&path.to_string_lossy())))?,
        // Stdout already carries the repaired document or the diff.
        None if piped || mode == CheckMode::Diff => output::write_stderr_with(findings),
        None if for_people => output::write_stdout_styled(findings)?,
        None => output::write_stdout_raw(findings)?,
    }
    if for_people && mode.lists_edits() && !args.quiet {
        summary::print_repairs(outcomes, mode.is_preview());
    }
    summary::print_failures(outcomes);
    if !args.quiet && (for_people || mode != CheckMode::Check) {
        output::write_stderr(&summary::summary_line(outcomes, settings));
    }
    if for_people && mode == CheckMode::Fix && !args.quiet {
        summary::print_next_steps(outcomes);
    }
    Ok(())
}

/// Writes repaired documents and diffs to stdout, or a document to a file. Returns whether there was a
/// document on stdout.
fn write_documents(outcomes: &[TargetOutcome], file: Option<&Path>) -> anyhow::Result<bool> {
    let mut piped = false;
    for outcome in outcomes {
        let TargetResult::Checked(report) = &outcome.result else { continue };
        match (&report.output, file) {
            (Some(document), Some(path)) => write_whole(path, |out| out.write_all(document))
                .with_context(|| {
                    format!("`{}` cannot be written", clean(&path.to_string_lossy()))
                })?,
            (Some(document), None) => {
                output::write_stdout_raw(|out| out.write_all(document))?;
                piped = true;
            }
            (None, _) => {}
        }
        if let Some(diff) = &report.diff {
            output::write_stdout(diff)?;
        }
    }
    Ok(piped)
}
