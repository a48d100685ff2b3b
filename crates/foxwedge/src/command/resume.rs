//! `foxwedge resume`: the history of a session as a provider takes it, on stdout.

use std::process::ExitCode;

use anyhow::Context;
use foxwedge_core::{EditLog, Profile, Question, Report, RuleSet, Wire};
use foxwedge_dialect::{
    canon::{Loss, Spot, decode, encode},
    read, want,
};

use crate::{
    cli::{ResumeArgs, View},
    export,
    outcome::place,
    say::{self, DIM, GOOD, WARNING, clean, count, cut, paint},
    sessions::{self, Viewed},
};

/// Repairs and losses that are told of each.
const TOLD: usize = 12;

/// Prints the history of one session.
pub(crate) fn run(args: ResumeArgs) -> anyhow::Result<ExitCode> {
    let loaded = sessions::open(&args.session, args.format)?;
    let viewed = loaded.view()?;
    let text = viewed.text()?;
    let document = viewed.document(&text)?;
    let messages = document.draft().messages.len();
    let wire = args.to.unwrap_or(document.draft().wire);
    let profile = args.profile.unwrap_or_else(|| Profile::of(wire));
    let (history, losses) = told(sessions::history(&document), document.draft().wire, wire)?;
    let question = Question { profile, rules: RuleSet::of(profile), policy: loaded.policy };
    let sound = sound(&history, wire, &question, args.session.view)?;
    let history =
        if args.pretty { export::pretty(&sound.history) } else { None }.unwrap_or(sound.history);
    say::plain(|out| {
        out.write_all(history.trim_end().as_bytes())?;
        out.write_all(b"\n")
    })?;
    repairs(&viewed, &sound.edits);
    missing(&losses);
    remaining(&sound.left, wire);
    say::talk(&format!(
        "{} in {}, {}.\n",
        count(messages, "message"),
        wire.name(),
        match sound.left.total() {
            0 => paint(GOOD, format_args!("sound for {}", profile.name())),
            left => paint(
                WARNING,
                format_args!("{} left for {}", count(left, "finding"), profile.name())
            ),
        }
    ));
    Ok(if sound.left.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The history in another format, and what is lost on the way.
fn told(history: String, from: Wire, to: Wire) -> anyhow::Result<(String, Vec<Loss>)> {
    if from == to {
        return Ok((history, Vec::new()));
    }
    let said = decode(&history, from).context("the history cannot be read again")?;
    Ok(encode(&said, to))
}

/// A history that its profile takes.
struct Sound {
    history: String,
    edits: EditLog,
    /// What has no repair that may be done unasked.
    left: Report,
}

/// Repairs the history once more, for whoever takes it; a raw one is only looked at.
fn sound(history: &str, wire: Wire, question: &Question, view: View) -> anyhow::Result<Sound> {
    let reading =
        read(history, wire, want(question.profile)).context("the history cannot be read again")?;
    let (patched, repair) = reading.fix(question);
    Ok(match view {
        View::Raw => {
            Sound { history: history.to_owned(), edits: EditLog::default(), left: repair.before }
        }
        View::Clean => {
            Sound { history: patched.to_string(), edits: repair.edits, left: repair.after }
        }
    })
}

/// What was repaired, in the file's view and for whoever takes the history.
fn repairs(viewed: &Viewed<'_>, edits: &EditLog) {
    let told = viewed.edits.iter().chain(edits).map(|edit| {
        let code = paint(GOOD, format_args!("FW{}", edit.code));
        format!("{code} {}", clean(&cut(&edit.note, 200)))
    });
    lines("repaired", told.take(TOLD).collect(), viewed.edits.len() + edits.len());
}

/// What the format could not hold.
fn missing(losses: &[Loss]) {
    let told = losses.iter().map(|loss| {
        let place = match loss.at {
            Spot::Message(index) => paint(DIM, format_args!("(message {index})")),
            Spot::Request | Spot::Reply => String::new(),
        };
        format!("{} {place}", clean(&cut(&loss.note, 200)))
    });
    lines("left out", told.take(TOLD).collect(), losses.len());
}

fn remaining(left: &Report, wire: Wire) {
    let told = left.findings.iter().map(|finding| {
        let code = paint(WARNING, finding.rule.label());
        let at = place(wire, finding.at.message);
        format!("{code} {at}: {}", clean(&cut(&finding.message, 200)))
    });
    lines("still there", told.take(TOLD).collect(), left.total());
}

/// Lines under a heading; all of them would be so many.
fn lines(heading: &str, told: Vec<String>, all: usize) {
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
    say::talk(&text);
}
