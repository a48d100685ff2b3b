//! `foxwedge demo`: seven broken histories, repaired in front of you, and one of them sent to a
//! provider, directly and through the gateway.
//!
//! The inputs and the words of the providers are given; everything else on the screen is computed
//! here and now by the engine. It needs no key and no network, and it exits with zero only if every
//! proof holds.

mod histories;
mod draw;
mod proof;
mod demo_screen;
mod gateway;
mod console;

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
};

use anyhow::Context as _;
use foxwedge_core::{CheckOptions, Profile, Repair, Rule};
use foxwedge_formats::{OutlinedDocument, detect, outline_options, read, text};

use crate::cli::DemoArgs;
use demo_screen::{BAD, BOLD, CODE, DIM, DemoScreen, GOOD};
use draw::{HistoryMarks, RepairedMarks};
use histories::{DEMO_HISTORIES, DemoHistory};
use proof::RepairProof;

/// Tells the stories, or shows the console with something to see.
pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<ExitCode> {
    if args.console {
        return console::show_console();
    }
    let pauses = io::stdout().is_terminal();
    let mut stage = DemoScreen::new(anstream::stdout().lock(), pauses);
    Ok(if show_all(&mut stage)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn show_all(stage: &mut DemoScreen<impl io::Write>) -> anyhow::Result<bool> {
    stage.line(format_args!(
        "{BOLD}Every tool call is joined to its answer, and stays joined.{BOLD:#}"
    ))?;
    stage.line(format_args!(
        "{DIM}Seven histories as agents leave them.{DIM:#}  {BAD}✗{BAD:#} refused  {GOOD}+{GOOD:#} new  \
         {GOOD}~{GOOD:#} rewritten  {GOOD}↑{GOOD:#} moved"
    ))?;
    stage.pause(900)?;
    let mut proven = 0;
    for (at, story) in DEMO_HISTORIES.iter().enumerate() {
        proven += usize::from(show_history(stage, at + 1, story)?);
    }
    let through = match DEMO_HISTORIES.iter().find(|story| story.profile == Profile::Anthropic) {
        Some(story) => gateway::show_gateway(stage, story)?,
        None => false,
    };
    show_summary(stage, proven)?;
    Ok(proven == DEMO_HISTORIES.len() && through)
}

/// Tells one story; whether its proof holds.
fn show_history(
    stage: &mut DemoScreen<impl io::Write>,
    number: usize,
    story: &DemoHistory,
) -> anyhow::Result<bool> {
    let source = text(story.history.as_bytes())?;
    let wire = detect(source).context("a story is in no known format")?.wire;
    let reading = read(source, wire, outline_options(story.profile))?;
    let question = CheckOptions::for_profile(story.profile);
    let (patched, repair) = reading.fix(&question);
    let output = patched.to_string();
    let repaired = read(&output, wire, outline_options(story.profile))?;

    show_heading(stage, number, story)?;
    draw::draw_history(stage, &reading.draft, &HistoryMarks::Broken(&repair.before))?;
    stage.pause(750)?;
    show_refusal(stage, story, &repair)?;
    show_edits(stage, &repair)?;
    stage.blank_line()?;
    let mended = RepairedMarks::between(&reading.draft, &repaired.draft);
    draw::draw_history(stage, &repaired.draft, &HistoryMarks::Repaired(&mended))?;
    stage.pause(400)?;
    let proof = RepairProof::of(story, &reading, &repaired, &question, &repair);
    show_proof(stage, &proof, &reading)?;
    Ok(proof.holds())
}

fn show_heading(
    stage: &mut DemoScreen<impl io::Write>,
    number: usize,
    story: &DemoHistory,
) -> io::Result<()> {
    stage.blank_line()?;
    stage.rule(
        &format!("{number}/{} {}", DEMO_HISTORIES.len(), story.title),
        story.profile.name(),
    )?;
    stage.line(format_args!("{DIM}{}{DIM:#}", story.cause))?;
    stage.blank_line()
}

/// What the provider says, and which rules that is.
fn show_refusal(
    stage: &mut DemoScreen<impl io::Write>,
    story: &DemoHistory,
    repair: &Repair<'_>,
) -> io::Result<()> {
    stage.blank_line()?;
    stage.field("provider", (BAD, "400"), &format!(" {}", story.refusal))?;
    stage.pause(500)?;
    for (at, finding) in repair.before.findings.iter().enumerate() {
        let label = if at == 0 { "finding" } else { "" };
        let rule = format!("{} {}", finding.rule.label(), finding.rule.name);
        stage.field(label, (BAD, &rule), &format!(": {}", finding.message))?;
    }
    stage.pause(400)
}

/// The repair, step by step.
fn show_edits(stage: &mut DemoScreen<impl io::Write>, repair: &Repair<'_>) -> io::Result<()> {
    for (at, edit) in repair.edits.iter().enumerate() {
        let label = if at == 0 { "repair" } else { "" };
        stage.field(label, (GOOD, edit.strategy.name()), &format!(": {}", edit.note))?;
        stage.pause(200)?;
    }
    Ok(())
}

fn show_proof(
    stage: &mut DemoScreen<impl io::Write>,
    proof: &RepairProof,
    reading: &OutlinedDocument<'_>,
) -> io::Result<()> {
    stage.blank_line()?;
    let total = reading.draft.messages.len();
    let rule = proof.explained.map_or_else(|| "no rule".to_owned(), Rule::label);
    let claims = [
        (proof.valid, "read back, checked again: sound".to_owned()),
        (proof.idempotent, "repaired again: same bytes".to_owned()),
        (proof.conserved, format!("all {} texts and answers are in it", proof.text_count)),
        (proof.kept > 0, format!("{} of {total} messages byte-identical", proof.kept)),
        (proof.explained.is_some(), format!("the error text alone leads to {rule}")),
    ];
    for (at, row) in claims.chunks(2).enumerate() {
        stage.claims(if at == 0 { "proof" } else { "" }, row)?;
        stage.pause(100)?;
    }
    stage.pause(350)
}

fn show_summary(stage: &mut DemoScreen<impl io::Write>, proven: usize) -> io::Result<()> {
    stage.blank_line()?;
    stage.rule("", "")?;
    let style = if proven == DEMO_HISTORIES.len() { GOOD } else { BAD };
    stage.line(format_args!(
        "{style}{proven} of {} repairs proven.{style:#}",
        DEMO_HISTORIES.len()
    ))?;
    stage.blank_line()?;
    stage.line(format_args!("{BOLD}Try it on yours{BOLD:#}"))?;
    let commands = [
        ("foxwedge check request.json", "what would be refused, and where"),
        ("foxwedge fix request.json", "repair the file"),
        ("foxwedge fix - < request.json", "repair in a pipe"),
        ("foxwedge explain \"<error text>\"", "which rule a provider's error is about"),
        ("foxwedge rule FW101", "the page of a rule"),
        ("foxwedge serve", "the gateway: point any client at it"),
        ("foxwedge chat", "an agent that can be stopped at any moment"),
        ("foxwedge demo --console", "the same in a browser, with runs to watch"),
    ];
    for (command, what) in commands {
        stage.line(format_args!("  {CODE}{command:<34}{CODE:#}{DIM}{what}{DIM:#}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_story_is_told_and_proven() {
        let mut stage = DemoScreen::new(Vec::new(), false);
        assert!(show_all(&mut stage).expect("a buffer takes everything"));
        let told = String::from_utf8(stage.into_inner()).expect("it is text");
        assert!(told.contains("7 of 7 repairs proven."), "{told}");
        assert!(!told.contains("NOT TRUE"), "{told}");
    }
}
