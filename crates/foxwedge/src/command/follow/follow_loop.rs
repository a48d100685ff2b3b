//! The main loop: reads lines, applies them to the run machine, stores the events, shows them.

use std::{collections::BTreeMap, io, time::Duration};

use anyhow::Context;
use foxwedge_run::{
    EventPayload, MachineInput, MachineSettings, Outcome, RunEffect, RunEnd, RunEvent,
    SessionMachine, SharedId, StopRequest,
};
use tokio::{sync::mpsc, time};

use super::{
    input::{FollowInput, FollowInputLine},
    line_reader::{FollowLineReader, FollowTally},
    recorder::{FollowRecordError, FollowRecorder},
    renderer::FollowRenderer,
    source_clock::SourceClock,
    stop::StopListener,
    warnings::FollowWarnings,
};
use foxwedge_local::runs::{
    SteadyClock,
    draw::{outcome_text, warning_text},
    replay,
};

/// How long running tool calls may take to finish after the first Ctrl-C, in milliseconds.
const GRACE_MILLIS: u64 = 1_000;
/// How often the status line is redrawn.
const REDRAW_INTERVAL: Duration = Duration::from_millis(250);

/// Follows one stream.
pub(super) struct FollowLoop {
    line_reader: FollowLineReader,
    recorder: Option<FollowRecorder>,
    renderer: FollowRenderer,
    has_reader: bool,
    stop: StopListener,
    session: Option<SharedId>,
    machine: SessionMachine,
    clock: SteadyClock,
    source: SourceClock,
    effects: Vec<RunEffect>,
    /// Outcomes of the ended runs, by run id.
    pub(super) ended: BTreeMap<SharedId, Outcome>,
    /// Sequence number of the last event shown, by run id.
    last_shown: BTreeMap<SharedId, u64>,
    warnings: FollowWarnings,
}

/// Why following ended.
pub(super) enum FollowEnd {
    /// The stream ended.
    Finished,
    /// A signal stopped it.
    Stopped,
    /// The reader of stdout is gone, and nothing is recorded.
    NoReader,
    /// Another process took over the run or ended it.
    TakenOver(String),
}

/// The next thing to handle.
enum FollowStep {
    Lines(Option<io::Result<Vec<FollowInputLine>>>),
    StopRequested,
    RunLost(SharedId),
    Deadline,
    Redraw,
}

impl FollowLoop {
    pub(super) fn new(
        line_reader: FollowLineReader,
        recorder: Option<FollowRecorder>,
        renderer: FollowRenderer,
        session: Option<SharedId>,
        settings: MachineSettings,
    ) -> anyhow::Result<FollowLoop> {
        Ok(FollowLoop {
            line_reader,
            recorder,
            renderer,
            has_reader: true,
            stop: StopListener::listen().context("cannot listen for Ctrl-C")?,
            session,
            machine: SessionMachine::new(settings),
            clock: SteadyClock::start(),
            source: SourceClock::default(),
            effects: Vec::new(),
            ended: BTreeMap::new(),
            last_shown: BTreeMap::new(),
            warnings: FollowWarnings::default(),
        })
    }

    /// Follows an input to its end, or until a signal stops it.
    pub(super) async fn run(&mut self, input: FollowInput) -> anyhow::Result<FollowEnd> {
        let display_name = input.display_name.clone();
        let mut lines = input.read_lines();
        loop {
            let end = match self.next_step(&mut lines).await {
                FollowStep::Lines(Some(Ok(lines))) => {
                    self.apply_lines(lines).await?;
                    None
                }
                // Ctrl-C stopped the agent, too.
                FollowStep::Lines(None) if self.stop.stop_count() > 0 => {
                    self.stop_runs(0);
                    Some(FollowEnd::Stopped)
                }
                FollowStep::Lines(None) => {
                    self.close_runs().await?;
                    Some(FollowEnd::Finished)
                }
                FollowStep::Lines(Some(Err(error))) => {
                    self.close_runs().await?;
                    self.store_and_show().await?;
                    return Err(error).with_context(|| format!("{display_name}: cannot be read"));
                }
                FollowStep::StopRequested => {
                    self.stop_runs(if self.stop.stop_count() > 1 { 0 } else { GRACE_MILLIS });
                    None
                }
                FollowStep::RunLost(run) => return self.on_run_taken(&run).await,
                FollowStep::Deadline => {
                    self.machine.apply(self.clock.now(), MachineInput::Tick, &mut self.effects);
                    self.apply_lines(Vec::new()).await?;
                    None
                }
                FollowStep::Redraw => None,
            };
            if let Some(end) = self.store_and_show().await?.or(end) {
                return Ok(end);
            }
            if self.stop.stop_count() > 0 && self.machine.runs().iter().all(|run| run.is_over()) {
                return Ok(FollowEnd::Stopped);
            }
        }
    }

    /// Waits until all output is written, or until the next signal.
    pub(super) async fn finish(&mut self) -> anyhow::Result<()> {
        tokio::select! {
            written = self.renderer.finish() => written,
            () = self.stop.wait_for_stop() => Ok(()),
        }
    }

    /// A listener for stop signals.
    pub(super) fn stop_requests(&self) -> StopListener {
        self.stop.clone()
    }

    pub(super) fn tally(&self) -> &FollowTally {
        &self.line_reader.tally
    }

    /// The first warnings as text, and the total number of warnings.
    pub(super) fn warnings(&self) -> (Vec<String>, usize) {
        let notes: Vec<&String> =
            self.recorder.iter().flat_map(|recorder| &recorder.notes).collect();
        let total = self.line_reader.warnings.all + self.warnings.all + notes.len();
        let warnings = self.line_reader.warnings.first.iter().chain(&self.warnings.first);
        (warnings.map(warning_text).chain(notes.into_iter().cloned()).collect(), total)
    }

    pub(super) fn knows_source(&self) -> bool {
        self.line_reader.knows_source()
    }

    /// The store and session that the run is recorded in.
    pub(super) fn store_location(&self) -> Option<String> {
        let recorder = self.recorder.as_ref()?;
        Some(format!("{}, session {}", recorder.open_store.url, recorder.session()?))
    }

    async fn next_step(
        &mut self,
        lines: &mut mpsc::Receiver<io::Result<Vec<FollowInputLine>>>,
    ) -> FollowStep {
        let live = self.has_reader && self.renderer.is_live() && self.machine.active().is_some();
        let deadline =
            [self.machine.deadline(), self.line_reader.deadline()].into_iter().flatten().min();
        let wait = deadline.map_or(0, |at| at.saturating_sub(self.clock.now()));
        let wait = Duration::from_millis(wait);
        let (stop, recorder) = (&mut self.stop, &mut self.recorder);
        let lost = async {
            match recorder {
                Some(recorder) => recorder.next_lost_run().await,
                None => None,
            }
        };
        tokio::select! {
            biased;
            () = stop.wait_for_stop() => FollowStep::StopRequested,
            Some(run) = lost => FollowStep::RunLost(run),
            () = time::sleep(wait), if deadline.is_some() => FollowStep::Deadline,
            lines = lines.recv() => FollowStep::Lines(lines),
            () = time::sleep(REDRAW_INTERVAL), if live => FollowStep::Redraw,
        }
    }

    async fn apply_lines(&mut self, lines: Vec<FollowInputLine>) -> anyhow::Result<()> {
        let now = self.clock.now();
        let events = self.line_reader.read_lines(now, lines);
        self.apply_events(events).await
    }

    async fn apply_events(&mut self, mut events: Vec<RunEvent>) -> anyhow::Result<()> {
        self.source.stamp_events(self.clock.now(), &mut events);
        for event in events {
            self.apply_event(event).await?;
        }
        Ok(())
    }

    /// Applies an event to the machine, after adding the session and epoch that the source omits.
    async fn apply_event(&mut self, mut event: RunEvent) -> anyhow::Result<()> {
        let now = self.clock.now();
        if let EventPayload::Started(started) = &mut event.body
            && let Some(session) = &self.session
        {
            started.session = Some(session.clone());
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.prepare_event(&mut event).await?;
        }
        self.machine.apply(now, MachineInput::Event(event), &mut self.effects);
        Ok(())
    }

    /// Closes all open runs at the end of the stream.
    async fn close_runs(&mut self) -> anyhow::Result<()> {
        let events = self.line_reader.finish(self.clock.now());
        self.apply_events(events).await?;
        let ended = RunEnd { outcome: Some(Outcome::Interrupted), ..RunEnd::default() };
        let at = Some(self.source.source_time(self.clock.now()));
        for run in self.open_runs() {
            self.apply_event(RunEvent {
                at,
                ..RunEvent::new(&run, EventPayload::Ended(ended.clone()))
            })
            .await?;
        }
        Ok(())
    }

    /// Stops all open runs. Running tool calls have `grace` milliseconds to finish.
    fn stop_runs(&mut self, grace: u64) {
        let now = self.clock.now();
        let at = Some(self.source.source_time(now));
        for run in self.open_runs() {
            let stop =
                RunEvent { at, ..RunEvent::new(&run, EventPayload::Stop(StopRequest { grace })) };
            self.machine.apply(now, MachineInput::Event(stop), &mut self.effects);
        }
    }

    fn open_runs(&self) -> Vec<SharedId> {
        let open = self.machine.runs().iter().filter(|run| !run.is_over());
        open.map(|run| run.id().clone()).collect()
    }

    /// Stores the pending effects, then shows them.
    async fn store_and_show(&mut self) -> anyhow::Result<Option<FollowEnd>> {
        let effects = std::mem::take(&mut self.effects);
        if let Some(recorder) = &mut self.recorder {
            match recorder.record_effects(&self.machine, &effects).await {
                Ok(()) => {}
                Err(FollowRecordError::StoreFailed(error)) => return Err(error),
                Err(FollowRecordError::TakenOver(run)) => {
                    return self.on_run_taken(&run).await.map(Some);
                }
            }
        }
        self.track_effects(&effects);
        self.show_effects(&effects).await;
        Ok((!self.has_reader && self.recorder.is_none()).then(|| match self.stop.stop_count() {
            0 => FollowEnd::NoReader,
            _ => FollowEnd::Stopped,
        }))
    }

    async fn show_effects(&mut self, effects: &[RunEffect]) {
        if !self.has_reader {
            return;
        }
        let now = self.source.source_time(self.clock.now());
        let mut repeat = self.stop.clone();
        let stopping = self.stop.stop_count() > 0;
        self.has_reader = tokio::select! {
            result = self.renderer.render(effects, now, stopping) => result.is_ok(),
            // A second signal: do not wait for a reader that does not read.
            () = repeat.wait_for_repeat() => {
                self.renderer.mute();
                false
            }
        };
    }

    /// Another process took over the run or ended it. Shows the events it stored.
    async fn on_run_taken(&mut self, run: &SharedId) -> anyhow::Result<FollowEnd> {
        let Some(recorder) = &self.recorder else { return Ok(FollowEnd::Finished) };
        let open_store = recorder.open_store.clone();
        let last_shown = self.last_shown.get(run).copied().unwrap_or(0);
        let mut unseen = Vec::new();
        let mut is_new = false;
        let session = replay(&open_store, run, |effect| {
            if let RunEffect::Emit(event) = effect {
                is_new = event.seq > Some(last_shown);
            }
            if is_new {
                unseen.push(effect.clone());
            }
        });
        let session = session.await?;
        self.track_effects(&unseen);
        self.show_effects(&unseen).await;
        let outcome = session.run(run).and_then(|run| run.outcome());
        Ok(FollowEnd::TakenOver(match outcome {
            Some(outcome) => {
                format!("run `{run}` was ended by another process: {}", outcome_text(outcome))
            }
            None => format!("run `{run}` was taken over by another process: its lease expired"),
        }))
    }

    fn track_effects(&mut self, effects: &[RunEffect]) {
        for effect in effects {
            match effect {
                RunEffect::Announce { run, ended, .. } => {
                    let outcome = ended.outcome.unwrap_or(Outcome::Failed);
                    self.ended.insert(run.clone(), outcome);
                }
                RunEffect::Warn(warning) => self.warnings.push(warning),
                RunEffect::Emit(event) => {
                    self.last_shown.insert(event.run.clone(), event.seq.unwrap_or(0));
                }
                RunEffect::Show { .. }
                | RunEffect::Resolve { .. }
                | RunEffect::CancelTool { .. }
                | RunEffect::Drain { .. } => {}
            }
        }
    }
}
