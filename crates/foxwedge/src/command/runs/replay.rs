//! `foxwedge runs replay`: a file of events through the machine, without any store.

use std::{path::Path, process::ExitCode};

use anyhow::bail;
use foxwedge_run::{MachineInput, MachineLimits, MachineSettings, RunEffect, SessionMachine, wire};

use crate::{
    cli::ReplayArgs,
    cli_output::{self, CliError, clean, pluralize},
    runs::{RunFrameWriter, draw::warning_text},
    size_limit,
    target::STDIN,
};

use super::document;

/// Warnings that are told one by one.
const MAX_SHOWN_WARNINGS: usize = 5;

/// Replays one file.
pub(super) fn run(args: &ReplayArgs) -> anyhow::Result<ExitCode> {
    let (shown, bytes) = read(&args.file)?;
    let replayed = EventReplay::of(&bytes);
    if let Some(first) = replayed.unread.first() {
        let lines = pluralize(replayed.unread.len(), "line");
        cli_output::print_note(&format!(
            "{shown}: {lines} could not be read; the first is line {first}"
        ));
    }
    for warning in replayed.warnings.iter().take(MAX_SHOWN_WARNINGS) {
        cli_output::print_note(&clean(warning));
    }
    if let Some(more @ 1..) = replayed.warnings.len().checked_sub(MAX_SHOWN_WARNINGS) {
        cli_output::print_note(&format!("and {more} more of the kind"));
    }
    if replayed.session.runs().is_empty() {
        bail!(CliError::new(format!("{shown}: there is no run in it")).help(
            "a file of events has one JSON object in a line; `foxwedge runs events RUN` prints one"
        ));
    }
    match args.telling {
        None => cli_output::write_stdout_raw(|out| {
            document::write_pretty(out, &replayed.session.canonical_state())
        })?,
        Some(telling) => {
            let mut frames = RunFrameWriter::new(telling.format(), args.frames, None);
            let mut text = String::new();
            replayed.effects.iter().for_each(|effect| frames.push(effect, &mut text));
            cli_output::write_stdout_raw(|out| out.write_all(text.as_bytes()))?;
        }
    }
    let over = replayed.session.runs().iter().all(|run| run.is_over());
    Ok(if over && replayed.unread.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn read(path: &Path) -> anyhow::Result<(String, Vec<u8>)> {
    if path.as_os_str() == "-" {
        return Ok((STDIN.to_owned(), size_limit::read_stdin()?));
    }
    let shown = clean(&path.to_string_lossy());
    let bytes = size_limit::read_file(path).map_err(|error| size_limit::with_path(path, error))?;
    Ok((shown, bytes))
}

/// What became of the events.
struct EventReplay {
    session: SessionMachine,
    effects: Vec<RunEffect>,
    warnings: Vec<String>,
    /// Lines that are no events.
    unread: Vec<usize>,
}

impl EventReplay {
    /// Everything comes at once, and then nothing for as long as anything could wait for it.
    fn of(bytes: &[u8]) -> EventReplay {
        let text = String::from_utf8_lossy(bytes);
        let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty());
        let mut unread = Vec::new();
        let mut events = Vec::new();
        for (place, line) in lines {
            match wire::read(line) {
                Ok(event) => events.push(event),
                Err(_) => unread.push(place + 1),
            }
        }
        // The file is in memory already: nothing of it is dropped because too much waits.
        let limits = MachineLimits { waiting: events.len().max(1), runs: events.len().max(1) };
        let mut session =
            SessionMachine::new(MachineSettings { limits, ..MachineSettings::default() });
        let mut effects = Vec::new();
        for event in events {
            session.apply(0, MachineInput::Event(event), &mut effects);
        }
        let mut now = 0;
        while let Some(deadline) = session.deadline().filter(|deadline| *deadline > now) {
            now = deadline;
            session.apply(now, MachineInput::Tick, &mut effects);
        }
        let warnings = effects.iter().filter_map(|effect| match effect {
            RunEffect::Warn(warning) => Some(warning_text(warning)),
            RunEffect::Emit(_)
            | RunEffect::Show { .. }
            | RunEffect::Resolve { .. }
            | RunEffect::CancelTool { .. }
            | RunEffect::Announce { .. }
            | RunEffect::Drain { .. } => None,
        });
        EventReplay { warnings: warnings.collect(), session, effects, unread }
    }
}
