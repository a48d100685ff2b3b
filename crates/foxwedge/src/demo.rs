//! `foxwedge demo`: repairs seven broken histories and sends one of them to a provider, directly
//! and through the gateway.
//!
//! The inputs and the providers' error messages are fixed; everything else on the screen is
//! computed at run time. The demo needs no key and no network. It exits with zero only if every
//! proof holds.

mod histories;
mod draw;
mod proof;
mod demo_screen;
mod gateway;
mod console;

use std::{
    borrow::Cow,
    io::{self, IsTerminal},
    process::ExitCode,
};

use anyhow::Context as _;
use foxwedge_core::{CheckOptions, Profile, Repair, Rule};
use foxwedge_formats::{OutlinedDocument, detect, outline_options, read, text};

use crate::{
    cli::DemoArgs,
    report::{edit_note, finding_message},
};
use demo_screen::{BAD, BOLD, CODE, DIM, DemoScreen, GOOD};
use draw::{HistoryMarks, RepairedMarks};
use foxwedge_local::{language::localize, output::drawn_stream};
use histories::{DEMO_HISTORIES, DemoHistory};
use proof::RepairProof;

/// Runs the demo, in the terminal or in the console.
pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<ExitCode> {
    if args.console {
        return console::show_console();
    }
    let pauses = io::stdout().is_terminal();
    let mut screen = DemoScreen::new(drawn_stream(anstream::stdout().lock()), pauses);
    Ok(if show_all(&mut screen)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn show_all(screen: &mut DemoScreen<impl io::Write>) -> anyhow::Result<bool> {
    let title = localize("Every tool call has its result, and keeps it.");
    screen.line(format_args!("{BOLD}{title}{BOLD:#}"))?;
    let subtitle = localize("Seven histories as agents leave them.");
    let [rejected, new, rewritten, moved] = ["rejected", "new", "rewritten", "moved"].map(localize);
    screen.line(format_args!(
        "{DIM}{subtitle}{DIM:#}  {BAD}✗{BAD:#} {rejected}  \
         {GOOD}+{GOOD:#} {new}  {GOOD}~{GOOD:#} {rewritten}  {GOOD}↑{GOOD:#} {moved}"
    ))?;
    screen.pause(900)?;
    let mut proven = 0;
    for (at, history) in DEMO_HISTORIES.iter().enumerate() {
        proven += usize::from(show_history(screen, at + 1, history)?);
    }
    let through = match DEMO_HISTORIES.iter().find(|history| history.profile == Profile::Anthropic)
    {
        Some(history) => gateway::show_gateway(screen, history)?,
        None => false,
    };
    show_summary(screen, proven)?;
    Ok(proven == DEMO_HISTORIES.len() && through)
}

/// Shows one history and its repair. Returns whether the proof holds.
fn show_history(
    screen: &mut DemoScreen<impl io::Write>,
    number: usize,
    history: &DemoHistory,
) -> anyhow::Result<bool> {
    let source = text(history.history.as_bytes())?;
    let format = detect(source).context("a demo history has no known format")?.wire;
    let reading = read(source, format, outline_options(history.profile))?;
    let options = CheckOptions::for_profile(history.profile);
    let (patched, repair) = reading.fix(&options);
    let output = patched.to_string();
    let repaired = read(&output, format, outline_options(history.profile))?;

    show_heading(screen, number, history)?;
    draw::draw_history(screen, &reading.draft, &HistoryMarks::Broken(&repair.before))?;
    screen.pause(750)?;
    show_refusal(screen, history, &repair)?;
    show_edits(screen, &repair)?;
    screen.blank_line()?;
    let marks = RepairedMarks::between(&reading.draft, &repaired.draft);
    draw::draw_history(screen, &repaired.draft, &HistoryMarks::Repaired(&marks))?;
    screen.pause(400)?;
    let proof = RepairProof::of(history, &reading, &repaired, &options, &repair);
    show_proof(screen, &proof, &reading)?;
    Ok(proof.holds())
}

fn show_heading(
    screen: &mut DemoScreen<impl io::Write>,
    number: usize,
    history: &DemoHistory,
) -> io::Result<()> {
    screen.blank_line()?;
    screen.rule(
        &format!("{number}/{} {}", DEMO_HISTORIES.len(), localize(history.title)),
        history.profile.name(),
    )?;
    screen.line(format_args!("{DIM}{}{DIM:#}", localize(history.cause)))?;
    screen.blank_line()
}

/// Shows the provider's error and the matching findings.
fn show_refusal(
    screen: &mut DemoScreen<impl io::Write>,
    history: &DemoHistory,
    repair: &Repair<'_>,
) -> io::Result<()> {
    screen.blank_line()?;
    screen.field("provider", (BAD, "400"), &format!(" {}", history.refusal))?;
    screen.pause(500)?;
    for (at, finding) in repair.before.findings.iter().enumerate() {
        let label = if at == 0 { "finding" } else { "" };
        let rule = format!("{} {}", finding.rule.label(), finding.rule.name);
        screen.field(label, (BAD, &rule), &format!(": {}", finding_message(finding)))?;
    }
    screen.pause(400)
}

/// Shows the edits of the repair.
fn show_edits(screen: &mut DemoScreen<impl io::Write>, repair: &Repair<'_>) -> io::Result<()> {
    for (at, edit) in repair.edits.iter().enumerate() {
        let label = if at == 0 { "repair" } else { "" };
        screen.field(label, (GOOD, edit.strategy.name()), &format!(": {}", edit_note(edit)))?;
        screen.pause(200)?;
    }
    Ok(())
}

fn show_proof(
    screen: &mut DemoScreen<impl io::Write>,
    proof: &RepairProof,
    reading: &OutlinedDocument<'_>,
) -> io::Result<()> {
    screen.blank_line()?;
    let total = reading.draft.messages.len();
    let rule = proof.explained.map_or_else(|| "no rule".to_owned(), Rule::label);
    let claims = [
        (proof.valid, "read back, checked again: valid".to_owned()),
        (proof.idempotent, "repaired again: same bytes".to_owned()),
        (proof.conserved, format!("all {} texts and results are in it", proof.text_count)),
        (proof.kept > 0, format!("{} of {total} messages byte-identical", proof.kept)),
        (proof.explained.is_some(), format!("the error message alone leads to {rule}")),
    ];
    for (at, row) in claims.chunks(2).enumerate() {
        let row: Vec<(bool, Cow<'_, str>)> =
            row.iter().map(|(holds, claim)| (*holds, localize(claim.as_str()))).collect();
        screen.claims(if at == 0 { "proof" } else { "" }, &row)?;
        screen.pause(100)?;
    }
    screen.pause(350)
}

fn show_summary(screen: &mut DemoScreen<impl io::Write>, proven: usize) -> io::Result<()> {
    screen.blank_line()?;
    screen.rule("", "")?;
    let style = if proven == DEMO_HISTORIES.len() { GOOD } else { BAD };
    let summary = localize(format!("{proven} of {} repairs proven.", DEMO_HISTORIES.len()));
    screen.line(format_args!("{style}{summary}{style:#}"))?;
    screen.blank_line()?;
    screen.line(format_args!("{BOLD}{}{BOLD:#}", localize("Try it on yours")))?;
    let commands = [
        ("foxwedge check request.json", "what would be rejected, and where"),
        ("foxwedge fix request.json", "repair the file"),
        ("foxwedge fix - < request.json", "repair in a pipe"),
        ("foxwedge explain \"<error text>\"", "which rule a provider's error is about"),
        ("foxwedge rule FW101", "the explanation of a rule"),
        ("foxwedge serve", "the gateway: point any client at it"),
        ("foxwedge chat", "an agent that can be stopped at any moment"),
        ("foxwedge demo --console", "the same in a browser, with runs to watch"),
    ];
    for (command, what) in commands {
        screen.line(format_args!("  {CODE}{command:<34}{CODE:#}{DIM}{}{DIM:#}", localize(what)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_story_is_told_and_proven() {
        let mut screen = DemoScreen::new(Vec::new(), false);
        assert!(show_all(&mut screen).expect("a buffer takes everything"));
        let output = String::from_utf8(screen.into_inner()).expect("it is text");
        assert!(output.contains("7 of 7 repairs proven."), "{output}");
        assert!(!output.contains("NOT TRUE"), "{output}");
    }
}
