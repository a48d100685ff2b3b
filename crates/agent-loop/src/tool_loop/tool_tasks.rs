//! Running tools: started, watched, stopped. Dropping [`ToolTasks`] aborts all of them.

use std::{collections::HashMap, sync::Arc, time::Duration};

use foxwedge_tools::{
    OutputCapture, StopLevel, StopReceiver, StopSender, Tool, ToolCallResult, ToolCompletion,
    ToolEffect, ToolInvocation, ToolResultContent, ToolSpec,
};
use serde_json::Value;
use tokio::{
    task::{Id, JoinSet},
    time::{Instant, timeout},
};

/// A tool call to run.
pub(super) struct ToolTask {
    /// Index among the calls of its turn.
    pub(super) place: usize,
    pub(super) call: String,
    pub(super) input: Value,
    pub(super) tool: Arc<dyn Tool>,
}

/// The running tools of a turn.
pub(super) struct ToolTasks {
    tasks: JoinSet<ToolTaskEnd>,
    running: HashMap<Id, RunningTool>,
    /// Maximum bytes of output that are kept per tool.
    max_output: usize,
}

/// A running tool.
struct RunningTool {
    place: usize,
    started: Instant,
    interrupt: StopSender,
    output: OutputCapture,
    effect: ToolEffect,
    /// Bytes of its output that were reported as progress.
    reported_bytes: u64,
}

/// How a task ended on its own.
enum ToolTaskEnd {
    Answered(ToolCallResult),
    TimedOut,
    NotStarted,
}

/// A call that has ended.
#[derive(Debug)]
pub(super) struct FinishedTool {
    pub(super) place: usize,
    pub(super) elapsed: Duration,
    pub(super) effect: ToolEffect,
    pub(super) outcome: ToolTaskOutcome,
    /// Its output until it was interrupted.
    pub(super) output: String,
}

/// How a call ended.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum ToolTaskOutcome {
    /// The tool returned a result.
    Answered(ToolCallResult),
    /// It took too long.
    TimedOut,
    /// It was stopped while running.
    Interrupted,
    /// It was stopped before it started.
    NotStarted,
}

impl ToolTasks {
    pub(super) fn new(max_output: usize) -> ToolTasks {
        ToolTasks { tasks: JoinSet::new(), running: HashMap::new(), max_output }
    }

    /// How many tools are running.
    pub(super) fn len(&self) -> usize {
        self.running.len()
    }

    /// Starts a tool, unless the run is stopped by the time its task begins.
    pub(super) fn start(&mut self, task_spec: ToolTask, run_stop: StopReceiver) {
        let ToolTask { place, call, input, tool } = task_spec;
        let ToolSpec { effect, limit, .. } = *tool.spec();
        let (interrupt, output) = (StopSender::new(), OutputCapture::new(self.max_output));
        let (stop, task_output) = (interrupt.receiver(), output.clone());
        let task = self.tasks.spawn(async move {
            // The run may have been stopped before the scheduler polls this task.
            if run_stop.level() > StopLevel::None {
                return ToolTaskEnd::NotStarted;
            }
            let invocation =
                ToolInvocation { call_id: &call, input: &input, stop, output: task_output };
            match timeout(limit, tool.run(invocation)).await {
                Ok(result) => ToolTaskEnd::Answered(result),
                Err(_) => ToolTaskEnd::TimedOut,
            }
        });
        let started = Instant::now();
        let running = RunningTool { place, started, interrupt, output, effect, reported_bytes: 0 };
        self.running.insert(task.id(), running);
    }

    /// The next finished tool; `None` if none is running. Cancel safe.
    pub(super) async fn next_finished(&mut self) -> Option<FinishedTool> {
        let joined = self.tasks.join_next_with_id().await?;
        let (id, outcome) = match joined {
            Ok((id, ToolTaskEnd::Answered(result))) => (id, ToolTaskOutcome::Answered(result)),
            Ok((id, ToolTaskEnd::TimedOut)) => (id, ToolTaskOutcome::TimedOut),
            Ok((id, ToolTaskEnd::NotStarted)) => (id, ToolTaskOutcome::NotStarted),
            Err(error) if error.is_panic() => {
                let text = "The tool broke while it worked; what it did until then is not known.";
                (error.id(), ToolTaskOutcome::Answered(ToolCallResult::failed(text)))
            }
            Err(error) => (error.id(), ToolTaskOutcome::Interrupted),
        };
        self.running.remove(&id).map(|running| running.finish(normalize_stopped(outcome)))
    }

    /// Asks all tools to stop.
    pub(super) fn request_stop(&self, level: StopLevel) {
        self.running.values().for_each(|running| running.interrupt.raise(level));
    }

    /// Aborts all tools; [`ToolTasks::next_finished`] returns their outcomes.
    pub(super) fn kill(&mut self) {
        self.request_stop(StopLevel::Kill);
        self.tasks.abort_all();
    }

    /// Detaches all tools and reports them as interrupted.
    pub(super) fn detach_all(&mut self) -> Vec<FinishedTool> {
        self.tasks.detach_all();
        let left =
            self.running.drain().map(|(_, running)| running.finish(ToolTaskOutcome::Interrupted));
        let mut left: Vec<FinishedTool> = left.collect();
        left.sort_by_key(|done| done.place);
        left
    }

    /// New output of tools since the last call, by index.
    pub(super) fn progress(&mut self) -> Vec<(usize, String)> {
        let mut updates = Vec::new();
        for running in self.running.values_mut() {
            let captured = running.output.capture();
            if captured.total != running.reported_bytes {
                running.reported_bytes = captured.total;
                updates.push((running.place, last_lines(&captured.text)));
            }
        }
        updates.sort_by_key(|(place, _)| *place);
        updates
    }
}

impl RunningTool {
    fn finish(self, outcome: ToolTaskOutcome) -> FinishedTool {
        FinishedTool {
            place: self.place,
            elapsed: self.started.elapsed(),
            effect: self.effect,
            outcome,
            output: self.output.capture().text,
        }
    }
}

/// Treats a stopped tool without output as interrupted.
fn normalize_stopped(outcome: ToolTaskOutcome) -> ToolTaskOutcome {
    match outcome {
        ToolTaskOutcome::Answered(ToolCallResult {
            completion: ToolCompletion::Stopped,
            content: ToolResultContent::Text(text),
        }) if text.trim().is_empty() => ToolTaskOutcome::Interrupted,
        outcome => outcome,
    }
}

/// The last lines of a text.
fn last_lines(text: &str) -> String {
    const LINES: usize = 5;
    const CHARACTERS: usize = 400;
    let lines: Vec<&str> = text.lines().rev().take(LINES).collect();
    let last: Vec<&str> = lines.into_iter().rev().collect();
    let last = last.join("\n");
    let over = last.chars().count().saturating_sub(CHARACTERS);
    last.chars().skip(over).collect()
}
