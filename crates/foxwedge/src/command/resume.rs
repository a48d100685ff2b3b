//! `foxwedge resume`: prints the history of a session in a form that a provider accepts.

use foxwedge_local::session_document;
use std::process::ExitCode;

use anyhow::Context;
use foxwedge_core::{CheckOptions, EditLog, Format, Profile, Report, RuleSet};
use foxwedge_formats::{
    model::{Loss, LossLocation, decode, encode},
    outline_options, read,
};

use crate::{
    cli::{ResumeArgs, SessionViewMode},
    report::{edit_note, finding_message},
    sessions::{self, ConversationFileView},
};
use foxwedge_local::{
    export,
    language::localize,
    outcome::message_path,
    output::{self, DIM, GOOD, WARNING, clean, cut, paint, pluralize},
};

/// Maximum number of repairs, of losses and of findings that are listed.
const MAX_LISTED_LINES: usize = 12;

/// Prints the history of one session.
pub(crate) fn run(args: ResumeArgs) -> anyhow::Result<ExitCode> {
    let loaded = sessions::open(&args.session, args.format)?;
    let view = loaded.view()?;
    let text = view.text()?;
    let document = view.document(&text)?;
    let messages = document.draft().messages.len();
    let format = args.to.unwrap_or(document.draft().format);
    let profile = args.profile.unwrap_or_else(|| Profile::for_format(format));
    let (history, losses) =
        convert_history(session_document::history(&document), document.draft().format, format)?;
    let options = CheckOptions { profile, rules: RuleSet::of(profile), policy: loaded.policy };
    let repaired = repair_history(&history, format, &options, args.session.view)?;
    let history = if args.pretty { export::pretty(&repaired.history) } else { None }
        .unwrap_or(repaired.history);
    output::write_stdout_raw(|out| {
        out.write_all(history.trim_end().as_bytes())?;
        out.write_all(b"\n")
    })?;
    print_repairs(&view, &repaired.edits);
    print_losses(&losses);
    print_remaining(&repaired.remaining, format);
    output::write_stderr(&localize(format!(
        "{} in {}, {}.\n",
        pluralize(messages, "message"),
        format.name(),
        match repaired.remaining.total() {
            0 => paint(GOOD, localize(format!("valid for {}", profile.name()))),
            remaining => {
                let left = pluralize(remaining, "finding");
                paint(WARNING, localize(format!("{left} left for {}", profile.name())))
            }
        }
    )));
    Ok(if repaired.remaining.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Converts the history to another format. Returns the losses, too.
pub(crate) fn convert_history(
    history: String,
    from: Format,
    to: Format,
) -> anyhow::Result<(String, Vec<Loss>)> {
    if from == to {
        return Ok((history, Vec::new()));
    }
    let decoded = decode(&history, from).context("the history cannot be read again")?;
    Ok(encode(&decoded, to))
}

/// A history that is repaired for its profile.
pub(crate) struct ResumableHistory {
    pub(crate) history: String,
    pub(crate) edits: EditLog,
    /// Findings that the policy does not allow to repair.
    pub(crate) remaining: Report,
}

/// Repairs the history for the target profile. A raw view is only checked.
pub(crate) fn repair_history(
    history: &str,
    format: Format,
    options: &CheckOptions,
    mode: SessionViewMode,
) -> anyhow::Result<ResumableHistory> {
    let document = read(history, format, outline_options(options.profile))
        .context("the history cannot be read again")?;
    let (patched, repair) = document.fix(options);
    Ok(match mode {
        SessionViewMode::Raw => ResumableHistory {
            history: history.to_owned(),
            edits: EditLog::default(),
            remaining: repair.before,
        },
        SessionViewMode::Clean => ResumableHistory {
            history: patched.to_string(),
            edits: repair.edits,
            remaining: repair.after,
        },
    })
}

/// Lists the repairs: those of the file, then those for the target profile.
fn print_repairs(view: &ConversationFileView<'_>, edits: &EditLog) {
    let lines = view.edits.iter().chain(edits).map(|edit| {
        let code = paint(GOOD, format_args!("FW{}", edit.code));
        format!("{code} {}", clean(&cut(&edit_note(edit), 200)))
    });
    print_lines("repaired", lines.take(MAX_LISTED_LINES).collect(), view.edits.len() + edits.len());
}

/// Lists what the target format cannot represent.
pub(crate) fn print_losses(losses: &[Loss]) {
    let lines = losses.iter().map(|loss| {
        let place = match loss.location {
            LossLocation::Message(index) => paint(DIM, localize(format!("(message {index})"))),
            LossLocation::Request | LossLocation::Reply => String::new(),
        };
        format!("{} {place}", clean(&cut(&localize(loss.note.as_str()), 200)))
    });
    print_lines("left out", lines.take(MAX_LISTED_LINES).collect(), losses.len());
}

fn print_remaining(remaining: &Report, format: Format) {
    let lines = remaining.findings.iter().map(|finding| {
        let code = paint(WARNING, finding.rule.label());
        let at = message_path(format, finding.location.message);
        format!("{code} {at}: {}", clean(&cut(&finding_message(finding), 200)))
    });
    print_lines("remaining", lines.take(MAX_LISTED_LINES).collect(), remaining.total());
}

/// Prints lines under a heading. `total` counts those that were cut off, too.
fn print_lines(heading: &str, lines: Vec<String>, total: usize) {
    if lines.is_empty() {
        return;
    }
    let more = total.saturating_sub(lines.len());
    let mut text = format!("{}:\n", localize(heading));
    for line in &lines {
        text.push_str(&format!("  {line}\n"));
    }
    if more > 0 {
        text.push_str(&localize(format!("  … and {more} more\n")));
    }
    output::write_stderr(&text);
}
