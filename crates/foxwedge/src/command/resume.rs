//! `foxwedge resume`: the history of a session as a provider takes it, on stdout.

use std::process::ExitCode;

use anyhow::Context;
use foxwedge_core::{CheckOptions, EditLog, Format, Profile, Report, RuleSet};
use foxwedge_formats::{
    model::{Loss, LossLocation, decode, encode},
    outline_options, read,
};

use crate::{
    cli::{ResumeArgs, SessionViewMode},
    cli_output::{self, DIM, GOOD, WARNING, clean, cut, paint, pluralize},
    export,
    outcome::message_path,
    sessions::{self, ConversationFileView},
};

/// Repairs and losses that are told of each.
const MAX_LISTED_LINES: usize = 12;

/// Prints the history of one session.
pub(crate) fn run(args: ResumeArgs) -> anyhow::Result<ExitCode> {
    let loaded = sessions::open(&args.session, args.format)?;
    let viewed = loaded.view()?;
    let text = viewed.text()?;
    let document = viewed.document(&text)?;
    let messages = document.draft().messages.len();
    let wire = args.to.unwrap_or(document.draft().format);
    let profile = args.profile.unwrap_or_else(|| Profile::for_format(wire));
    let (history, losses) =
        convert_history(sessions::history(&document), document.draft().format, wire)?;
    let question = CheckOptions { profile, rules: RuleSet::of(profile), policy: loaded.policy };
    let sound = repair_history(&history, wire, &question, args.session.view)?;
    let history =
        if args.pretty { export::pretty(&sound.history) } else { None }.unwrap_or(sound.history);
    cli_output::write_stdout_raw(|out| {
        out.write_all(history.trim_end().as_bytes())?;
        out.write_all(b"\n")
    })?;
    print_repairs(&viewed, &sound.edits);
    print_losses(&losses);
    print_remaining(&sound.remaining, wire);
    cli_output::write_stderr(&format!(
        "{} in {}, {}.\n",
        pluralize(messages, "message"),
        wire.name(),
        match sound.remaining.total() {
            0 => paint(GOOD, format_args!("sound for {}", profile.name())),
            left => paint(
                WARNING,
                format_args!("{} left for {}", pluralize(left, "finding"), profile.name())
            ),
        }
    ));
    Ok(if sound.remaining.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The history in another format, and what is lost on the way.
fn convert_history(
    history: String,
    from: Format,
    to: Format,
) -> anyhow::Result<(String, Vec<Loss>)> {
    if from == to {
        return Ok((history, Vec::new()));
    }
    let said = decode(&history, from).context("the history cannot be read again")?;
    Ok(encode(&said, to))
}

/// A history that its profile takes.
struct ResumableHistory {
    history: String,
    edits: EditLog,
    /// What has no repair that may be done unasked.
    remaining: Report,
}

/// Repairs the history once more, for whoever takes it; a raw one is only looked at.
fn repair_history(
    history: &str,
    wire: Format,
    question: &CheckOptions,
    view: SessionViewMode,
) -> anyhow::Result<ResumableHistory> {
    let reading = read(history, wire, outline_options(question.profile))
        .context("the history cannot be read again")?;
    let (patched, repair) = reading.fix(question);
    Ok(match view {
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

/// What was repaired, in the file's view and for whoever takes the history.
fn print_repairs(viewed: &ConversationFileView<'_>, edits: &EditLog) {
    let told = viewed.edits.iter().chain(edits).map(|edit| {
        let code = paint(GOOD, format_args!("FW{}", edit.code));
        format!("{code} {}", clean(&cut(&edit.note, 200)))
    });
    print_lines(
        "repaired",
        told.take(MAX_LISTED_LINES).collect(),
        viewed.edits.len() + edits.len(),
    );
}

/// What the format could not hold.
fn print_losses(losses: &[Loss]) {
    let told = losses.iter().map(|loss| {
        let place = match loss.location {
            LossLocation::Message(index) => paint(DIM, format_args!("(message {index})")),
            LossLocation::Request | LossLocation::Reply => String::new(),
        };
        format!("{} {place}", clean(&cut(&loss.note, 200)))
    });
    print_lines("left out", told.take(MAX_LISTED_LINES).collect(), losses.len());
}

fn print_remaining(left: &Report, wire: Format) {
    let told = left.findings.iter().map(|finding| {
        let code = paint(WARNING, finding.rule.label());
        let at = message_path(wire, finding.location.message);
        format!("{code} {at}: {}", clean(&cut(&finding.message, 200)))
    });
    print_lines("still there", told.take(MAX_LISTED_LINES).collect(), left.total());
}

/// Lines under a heading; all of them would be so many.
fn print_lines(heading: &str, told: Vec<String>, all: usize) {
    if told.is_empty() {
        return;
    }
    let more = all.saturating_sub(told.len());
    let mut text = format!("{heading}:\n");
    for line in &told {
        text.push_str(&format!("  {line}\n"));
    }
    if more > 0 {
        text.push_str(&format!("  … and {more} more\n"));
    }
    cli_output::write_stderr(&text);
}
