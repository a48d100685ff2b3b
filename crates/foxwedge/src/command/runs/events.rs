//! `foxwedge runs events`: the log of a run, in the words of a user interface.

use std::{
    io::{self, Write},
    process::ExitCode,
    time::Duration,
};

use anyhow::Context;
use foxwedge_run::{MachineInput, MachineSettings, RunEffect, SessionMachine, encode::FrameId};
use foxwedge_store::{RunRow, RunState, Store, StoreWatch};

use crate::{
    cli::RunEventsArgs,
    cli_output::{CliError, clean},
    runs::{self, OpenStore, PAGE, RunFrameWriter, SteadyClock},
};

/// How long is waited for a word of the store before the log is looked at all the same.
const WATCH_TIMEOUT: Duration = Duration::from_secs(5);

/// Prints the events of a run.
pub(super) async fn run(flag: Option<&str>, args: &RunEventsArgs) -> anyhow::Result<ExitCode> {
    let after = args.after.as_deref().map(parse_frame_id).transpose()?;
    let kept = super::open(flag).await?;
    let row = runs::find_run(&kept, &args.run).await?;
    let session = Some(row.session.as_str().into());
    let frames = RunFrameWriter::new(args.telling.format(), args.frames, session).after(after);
    let machine = SessionMachine::new(MachineSettings::default());
    let mut reading = RunEventReader {
        open_store: kept,
        frames,
        machine,
        clock: SteadyClock::new(),
        last_seq: 0,
        ended: false,
    };
    // Whoever begins to watch before reading misses nothing.
    let watch = match args.follow {
        true => Some(reading.open_store.with_store_error(reading.open_store.store.watch().await)?),
        false => None,
    };
    match reading.run(&row, watch).await {
        // Whoever listened has heard enough.
        Err(error) if crate::is_broken_pipe(&error) => Ok(ExitCode::SUCCESS),
        done => done.map(|()| ExitCode::SUCCESS),
    }
}

/// A log that is being read.
struct RunEventReader {
    open_store: OpenStore,
    frames: RunFrameWriter,
    machine: SessionMachine,
    clock: SteadyClock,
    /// The last place that was read.
    last_seq: u64,
    ended: bool,
}

impl RunEventReader {
    async fn run(&mut self, row: &RunRow, watch: Option<StoreWatch>) -> anyhow::Result<()> {
        self.read(&row.id).await?;
        let Some(mut watch) = watch else { return Ok(()) };
        while !self.ended {
            // Any wake-up will do: what is new is behind the last place.
            let woken = tokio::time::timeout(WATCH_TIMEOUT, watch.next()).await;
            if woken.is_err() {
                self.check_run_alive(&row.id).await?;
            }
            self.read(&row.id).await?;
        }
        Ok(())
    }

    /// Reads what is there, and writes it.
    async fn read(&mut self, run: &str) -> anyhow::Result<()> {
        loop {
            let page = self.open_store.store.events(run, self.last_seq, PAGE).await;
            let page = self.open_store.with_store_error(page)?;
            let Some(last) = page.last() else { return Ok(()) };
            self.last_seq = last.seq;
            let mut effects = Vec::new();
            for stored in page {
                self.machine.apply(
                    self.clock.now(),
                    MachineInput::Event(stored.event),
                    &mut effects,
                );
            }
            let mut text = String::new();
            for effect in &effects {
                self.ended |= matches!(effect, RunEffect::Announce { .. });
                self.frames.push(effect, &mut text);
            }
            let mut out = io::stdout().lock();
            out.write_all(text.as_bytes())
                .and_then(|()| out.flush())
                .context("stdout cannot be written")?;
        }
    }

    /// Nothing came for a while: whoever runs it may be gone, or somebody deleted it.
    async fn check_run_alive(&mut self, run: &str) -> anyhow::Result<()> {
        self.open_store.sweep().await?;
        match self.open_store.with_store_error(self.open_store.store.run(run).await)? {
            Some(RunRow { state: RunState::Open, .. }) => Ok(()),
            Some(_) => {
                self.read(run).await?;
                self.ended = true;
                Ok(())
            }
            None => Err(CliError::new(format!("run `{}` was deleted", clean(run))).into()),
        }
    }
}

/// The id of a frame, or the place of an event and everything that came of it.
fn parse_frame_id(text: &str) -> Result<FrameId, CliError> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse::<u64>() {
        Ok(seq) if plain => Ok(FrameId { seq, part: u32::MAX }),
        _ => text.parse().map_err(|_| {
            CliError::new(format!("--after: `{}` is no id of a frame", clean(text))).help(
                "it is the id of a server-sent event, as 12.3, or the place of an event, as 12",
            )
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_names_a_frame_or_a_place() {
        let table = [
            ("12", Some((12, u32::MAX))),
            ("12.3", Some((12, 3))),
            ("0", Some((0, u32::MAX))),
            ("+1", None),
            ("12.", None),
            ("", None),
            ("last", None),
        ];
        for (text, expected) in table {
            let found = parse_frame_id(text).ok().map(|id| (id.seq, id.part));
            assert_eq!(found, expected, "{text}");
        }
    }
}
