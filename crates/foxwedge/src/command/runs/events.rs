//! `foxwedge runs events`: the log of a run in a UI event format.

use std::{
    io::{self, Write},
    process::ExitCode,
    time::Duration,
};

use anyhow::Context;
use foxwedge_run::{MachineInput, MachineSettings, RunEffect, SessionMachine, encode::FrameId};
use foxwedge_store::{RunRow, RunState, Store, StoreWatch};

use crate::cli::RunEventsArgs;
use foxwedge_local::{
    output::{HelpfulError, clean},
    runs::{self, OpenStore, PAGE, RunFrameWriter, SteadyClock},
};

/// Maximum wait for a store notification before the log is read again.
const WATCH_TIMEOUT: Duration = Duration::from_secs(5);

/// Prints the events of a run.
pub(super) async fn run(flag: Option<&str>, args: &RunEventsArgs) -> anyhow::Result<ExitCode> {
    let after = args.after.as_deref().map(parse_frame_id).transpose()?;
    let open_store = super::open(flag).await?;
    let row = runs::find_run(&open_store, &args.run).await?;
    let session = Some(row.session.as_str().into());
    let frames =
        RunFrameWriter::new(args.telling.format(), args.frames.into(), session).after(after);
    let machine = SessionMachine::new(MachineSettings::default());
    let mut reader = RunEventReader {
        open_store,
        frames,
        machine,
        clock: SteadyClock::start(),
        last_seq: 0,
        ended: false,
    };
    // Watch before the first read, so that no event is missed.
    let watch = match args.follow {
        true => Some(reader.open_store.with_store_error(reader.open_store.store.watch().await)?),
        false => None,
    };
    match reader.run(&row, watch).await {
        // The reader closed the pipe.
        Err(error) if crate::is_broken_pipe(&error) => Ok(ExitCode::SUCCESS),
        result => result.map(|()| ExitCode::SUCCESS),
    }
}

/// Reads the log of one run and writes its frames.
struct RunEventReader {
    open_store: OpenStore,
    frames: RunFrameWriter,
    machine: SessionMachine,
    clock: SteadyClock,
    /// Sequence number of the last event read.
    last_seq: u64,
    ended: bool,
}

impl RunEventReader {
    async fn run(&mut self, row: &RunRow, watch: Option<StoreWatch>) -> anyhow::Result<()> {
        self.read(&row.id).await?;
        let Some(mut watch) = watch else { return Ok(()) };
        while !self.ended {
            // The notification has no content: new events follow `last_seq`.
            let woken = tokio::time::timeout(WATCH_TIMEOUT, watch.next()).await;
            if woken.is_err() {
                self.check_run_alive(&row.id).await?;
            }
            self.read(&row.id).await?;
        }
        Ok(())
    }

    /// Reads all new events and writes their frames.
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

    /// Checks a run without recent events: its process may be gone, or the run was deleted.
    async fn check_run_alive(&mut self, run: &str) -> anyhow::Result<()> {
        self.open_store.sweep().await?;
        match self.open_store.with_store_error(self.open_store.store.run(run).await)? {
            Some(RunRow { state: RunState::Open, .. }) => Ok(()),
            Some(_) => {
                self.read(run).await?;
                self.ended = true;
                Ok(())
            }
            None => Err(HelpfulError::new(format!("run `{}` was deleted", clean(run))).into()),
        }
    }
}

/// Parses a frame id. A plain event number stands for the last frame of that event.
fn parse_frame_id(text: &str) -> Result<FrameId, HelpfulError> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse::<u64>() {
        Ok(seq) if plain => Ok(FrameId { seq, part: u32::MAX }),
        _ => text.parse().map_err(|_| {
            HelpfulError::new(format!("--after: `{}` is not a frame id", clean(text))).help(
                "use the id of a server-sent event, such as 12.3, or an event number, such as 12",
            )
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_is_a_frame_id_or_an_event_number() {
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
