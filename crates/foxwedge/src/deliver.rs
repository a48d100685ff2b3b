//! Says everything there is to say about all targets, each thing on its stream.

use std::io::{self, Write};

use anyhow::Context;

use crate::{
    check_settings::CheckSettings,
    cli::{CheckArgs, OutputFormat},
    cli_output::{self, ColorStripper, clean},
    command::check::CheckMode,
    disk::write_whole,
    outcome::{TargetOutcome, TargetResult},
    report::{self, summary},
};

/// Writes documents, diffs, findings and talk. A reader that went away is no error.
pub(crate) fn write_outcomes(
    args: &CheckArgs,
    ask: &CheckSettings,
    mode: CheckMode,
    outcomes: &[TargetOutcome],
) -> anyhow::Result<()> {
    let people = args.output_format.is_for_people();
    if args.output_format == OutputFormat::Full && !args.quiet {
        summary::print_notes(outcomes);
    }
    let piped = write_documents(outcomes)?;
    let findings = |out: &mut dyn Write| -> io::Result<()> {
        if args.statistics {
            report::statistics(out, outcomes, args.output_format)
        } else {
            report::write(out, outcomes, args.output_format, ask, mode == CheckMode::Fix)
        }
    };
    match &args.output_file {
        Some(path) => write_whole(path, |out| {
            // Only what people read may carry colours; in a file nobody sees them.
            if people { findings(&mut ColorStripper::new(out)) } else { findings(out) }
        })
        .with_context(|| format!("`{}` cannot be written", clean(&path.to_string_lossy())))?,
        // Stdout is taken: by the repaired document, or by the diff.
        None if piped || mode == CheckMode::Diff => cli_output::write_stderr_with(findings),
        None if people => cli_output::write_stdout_styled(findings)?,
        None => cli_output::write_stdout_raw(findings)?,
    }
    if people && mode == CheckMode::Fix && !args.quiet {
        summary::print_repairs(outcomes);
    }
    summary::print_failures(outcomes);
    if !args.quiet && (people || mode != CheckMode::Check) {
        cli_output::write_stderr(&summary::summary_line(outcomes, ask));
    }
    if people && mode == CheckMode::Fix && !args.quiet {
        summary::print_next_steps(outcomes);
    }
    Ok(())
}

/// Writes repaired documents and diffs to stdout; says whether there was a document.
fn write_documents(outcomes: &[TargetOutcome]) -> anyhow::Result<bool> {
    let mut piped = false;
    for outcome in outcomes {
        let TargetResult::Checked(judged) = &outcome.result else { continue };
        if let Some(document) = &judged.output {
            cli_output::write_stdout_raw(|out| out.write_all(document))?;
            piped = true;
        }
        if let Some(diff) = &judged.diff {
            cli_output::write_stdout(diff)?;
        }
    }
    Ok(piped)
}
