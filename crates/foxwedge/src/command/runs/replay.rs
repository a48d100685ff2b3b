//! `foxwedge runs replay`: replays a file of events without a store.

use std::{path::Path, process::ExitCode};

use anyhow::bail;
use foxwedge_run::{MachineInput, MachineLimits, MachineSettings, RunEffect, SessionMachine, wire};

use crate::cli::ReplayArgs;
use foxwedge_local::{
    outcome::STDIN,
    output::{self, HelpfulError, clean, pluralize},
    runs::{RunFrameWriter, draw::warning_text},
    size_limit,
};

use super::document;

/// Maximum number of warnings printed.
const MAX_SHOWN_WARNINGS: usize = 5;

/// Replays one file.
pub(super) fn run(args: &ReplayArgs) -> anyhow::Result<ExitCode> {
    let (display_name, bytes) = read(&args.file)?;
    let replay = EventReplay::of(&bytes);
    if let Some(first) = replay.unreadable.first() {
        let lines = pluralize(replay.unreadable.len(), "line");
        output::print_note(&format!(
            "{display_name}: {lines} could not be read; the first is line {first}"
        ));
    }
    for warning in replay.warnings.iter().take(MAX_SHOWN_WARNINGS) {
        output::print_note(&clean(warning));
    }
    if let Some(more @ 1..) = replay.warnings.len().checked_sub(MAX_SHOWN_WARNINGS) {
        output::print_note(&format!("and {more} more warnings"));
    }
    if replay.session.runs().is_empty() {
        bail!(HelpfulError::new(format!("{display_name}: no run found")).help(
            "an event file has one JSON object per line; `foxwedge runs events RUN` prints one"
        ));
    }
    match args.telling {
        None => output::write_stdout_raw(|out| {
            document::write_pretty(out, &replay.session.canonical_state())
        })?,
        Some(telling) => {
            let mut frames = RunFrameWriter::new(telling.format(), args.frames.into(), None);
            let mut text = String::new();
            replay.effects.iter().for_each(|effect| frames.push(effect, &mut text));
            output::write_stdout_raw(|out| out.write_all(text.as_bytes()))?;
        }
    }
    let all_ended = replay.session.runs().iter().all(|run| run.is_over());
    Ok(if all_ended && replay.unreadable.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn read(path: &Path) -> anyhow::Result<(String, Vec<u8>)> {
    if path.as_os_str() == "-" {
        return Ok((STDIN.to_owned(), size_limit::read_stdin()?));
    }
    let display_name = clean(&path.to_string_lossy());
    let bytes = size_limit::read_file(path).map_err(|error| size_limit::with_path(path, error))?;
    Ok((display_name, bytes))
}

/// The result of a replay.
struct EventReplay {
    session: SessionMachine,
    effects: Vec<RunEffect>,
    warnings: Vec<String>,
    /// Numbers of lines that are not events.
    unreadable: Vec<usize>,
}

impl EventReplay {
    /// Applies all events at time 0, then lets every deadline pass.
    fn of(bytes: &[u8]) -> EventReplay {
        let text = String::from_utf8_lossy(bytes);
        let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty());
        let mut unreadable = Vec::new();
        let mut events = Vec::new();
        for (index, line) in lines {
            match wire::read(line) {
                Ok(event) => events.push(event),
                Err(_) => unreadable.push(index + 1),
            }
        }
        // The file is already in memory, so no event is dropped because of a limit.
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
        EventReplay { warnings: warnings.collect(), session, effects, unreadable }
    }
}
