//! `foxwedge demo`: seven broken histories, repaired in front of you, and one of them sent to a
//! provider, directly and through the gateway.
//!
//! The inputs and the words of the providers are given; everything else on the screen is computed
//! here and now by the engine. It needs no key and no network, and it exits with zero only if every
//! proof holds.

mod stories;
mod draw;
mod proof;
mod stage;
mod gateway;
mod console;

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
};

use anyhow::Context as _;
use foxwedge_core::{Profile, Question, Repair, Rule};
use foxwedge_dialect::{Reading, detect, read, text, want};

use crate::cli::DemoArgs;
use draw::{Marks, Mended};
use proof::Proof;
use stage::{BAD, BOLD, CODE, DIM, GOOD, Stage};
use stories::{STORIES, Story};

/// Tells the stories, or shows the console with something to see.
pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<ExitCode> {
    if args.console {
        return console::show();
    }
    let pauses = io::stdout().is_terminal();
    let mut stage = Stage::new(anstream::stdout().lock(), pauses);
    Ok(if tell_all(&mut stage)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn tell_all(stage: &mut Stage<impl io::Write>) -> anyhow::Result<bool> {
    stage.line(format_args!(
        "{BOLD}Every tool call is joined to its answer, and stays joined.{BOLD:#}"
    ))?;
    stage.line(format_args!(
        "{DIM}Seven histories as agents leave them.{DIM:#}  {BAD}✗{BAD:#} refused  {GOOD}+{GOOD:#} new  \
         {GOOD}~{GOOD:#} rewritten  {GOOD}↑{GOOD:#} moved"
    ))?;
    stage.beat(900)?;
    let mut proven = 0;
    for (at, story) in STORIES.iter().enumerate() {
        proven += usize::from(tell(stage, at + 1, story)?);
    }
    let through = match STORIES.iter().find(|story| story.profile == Profile::Anthropic) {
        Some(story) => gateway::tell(stage, story)?,
        None => false,
    };
    farewell(stage, proven)?;
    Ok(proven == STORIES.len() && through)
}

/// Tells one story; whether its proof holds.
fn tell(stage: &mut Stage<impl io::Write>, number: usize, story: &Story) -> anyhow::Result<bool> {
    let source = text(story.history.as_bytes())?;
    let wire = detect(source).context("a story is in no known format")?.wire;
    let reading = read(source, wire, want(story.profile))?;
    let question = Question::of(story.profile);
    let (patched, repair) = reading.fix(&question);
    let output = patched.to_string();
    let repaired = read(&output, wire, want(story.profile))?;

    heading(stage, number, story)?;
    draw::history(stage, &reading.draft, &Marks::Broken(&repair.before))?;
    stage.beat(750)?;
    refusal(stage, story, &repair)?;
    steps(stage, &repair)?;
    stage.gap()?;
    let mended = Mended::between(&reading.draft, &repaired.draft);
    draw::history(stage, &repaired.draft, &Marks::Mended(&mended))?;
    stage.beat(400)?;
    let proof = Proof::of(story, &reading, &repaired, &question, &repair);
    prove(stage, &proof, &reading)?;
    Ok(proof.holds())
}

fn heading(stage: &mut Stage<impl io::Write>, number: usize, story: &Story) -> io::Result<()> {
    stage.gap()?;
    stage.rule(&format!("{number}/{} {}", STORIES.len(), story.title), story.profile.name())?;
    stage.line(format_args!("{DIM}{}{DIM:#}", story.cause))?;
    stage.gap()
}

/// What the provider says, and which rules that is.
fn refusal(
    stage: &mut Stage<impl io::Write>,
    story: &Story,
    repair: &Repair<'_>,
) -> io::Result<()> {
    stage.gap()?;
    stage.field("provider", (BAD, "400"), &format!(" {}", story.refusal))?;
    stage.beat(500)?;
    for (at, finding) in repair.before.findings.iter().enumerate() {
        let label = if at == 0 { "finding" } else { "" };
        let rule = format!("{} {}", finding.rule.label(), finding.rule.name);
        stage.field(label, (BAD, &rule), &format!(": {}", finding.message))?;
    }
    stage.beat(400)
}

/// The repair, step by step.
fn steps(stage: &mut Stage<impl io::Write>, repair: &Repair<'_>) -> io::Result<()> {
    for (at, edit) in repair.edits.iter().enumerate() {
        let label = if at == 0 { "repair" } else { "" };
        stage.field(label, (GOOD, edit.strategy.name()), &format!(": {}", edit.note))?;
        stage.beat(200)?;
    }
    Ok(())
}

fn prove(
    stage: &mut Stage<impl io::Write>,
    proof: &Proof,
    reading: &Reading<'_>,
) -> io::Result<()> {
    stage.gap()?;
    let total = reading.draft.messages.len();
    let rule = proof.explained.map_or_else(|| "no rule".to_owned(), Rule::label);
    let claims = [
        (proof.sound, "read back, checked again: sound".to_owned()),
        (proof.settled, "repaired again: same bytes".to_owned()),
        (proof.conserved, format!("all {} texts and answers are in it", proof.said)),
        (proof.kept > 0, format!("{} of {total} messages byte-identical", proof.kept)),
        (proof.explained.is_some(), format!("the error text alone leads to {rule}")),
    ];
    for (at, row) in claims.chunks(2).enumerate() {
        stage.claims(if at == 0 { "proof" } else { "" }, row)?;
        stage.beat(100)?;
    }
    stage.beat(350)
}

fn farewell(stage: &mut Stage<impl io::Write>, proven: usize) -> io::Result<()> {
    stage.gap()?;
    stage.rule("", "")?;
    let style = if proven == STORIES.len() { GOOD } else { BAD };
    stage.line(format_args!("{style}{proven} of {} repairs proven.{style:#}", STORIES.len()))?;
    stage.gap()?;
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
        let mut stage = Stage::new(Vec::new(), false);
        assert!(tell_all(&mut stage).expect("a buffer takes everything"));
        let told = String::from_utf8(stage.into_inner()).expect("it is text");
        assert!(told.contains("7 of 7 repairs proven."), "{told}");
        assert!(!told.contains("NOT TRUE"), "{told}");
    }
}
