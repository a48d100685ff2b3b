//! Tools at work: started, watched, stopped. Nothing of them is left when this is dropped.

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

/// A call that a tool is to work on.
pub(super) struct ToolTask {
    /// Its place among the calls of its turn.
    pub(super) place: usize,
    pub(super) call: String,
    pub(super) input: Value,
    pub(super) tool: Arc<dyn Tool>,
}

/// Tools at work.
pub(super) struct ToolTasks {
    tasks: JoinSet<ToolTaskEnd>,
    running: HashMap<Id, RunningTool>,
    /// Bytes that are kept of what a tool says.
    max_output: usize,
}

/// One of them.
struct RunningTool {
    place: usize,
    started: Instant,
    interrupt: StopSender,
    output: OutputCapture,
    effect: ToolEffect,
    /// Bytes of its output that were told.
    reported_bytes: u64,
}

/// How a task ended by itself.
enum ToolTaskEnd {
    Answered(ToolCallResult),
    TimedOut,
    NotStarted,
}

/// A call that is not at work any more.
#[derive(Debug)]
pub(super) struct FinishedTool {
    pub(super) place: usize,
    pub(super) elapsed: Duration,
    pub(super) effect: ToolEffect,
    pub(super) outcome: ToolTaskOutcome,
    /// What it had said when it was cut off.
    pub(super) output: String,
}

/// How a call came to its end.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum ToolTaskOutcome {
    /// It answered.
    Answered(ToolCallResult),
    /// It took too long.
    TimedOut,
    /// It was stopped in the middle.
    Interrupted,
    /// It was stopped before it began.
    NotStarted,
}

impl ToolTasks {
    pub(super) fn new(most: usize) -> ToolTasks {
        ToolTasks { tasks: JoinSet::new(), running: HashMap::new(), max_output: most }
    }

    /// How many are at work.
    pub(super) fn len(&self) -> usize {
        self.running.len()
    }

    /// Starts one, unless everything is stopped by the time it begins.
    pub(super) fn start(&mut self, job: ToolTask, gate: StopReceiver) {
        let ToolTask { place, call, input, tool } = job;
        let ToolSpec { effect, limit, .. } = *tool.spec();
        let (interrupt, output) = (StopSender::new(), OutputCapture::new(self.max_output));
        let (stop, says) = (interrupt.receiver(), output.clone());
        let task = self.tasks.spawn(async move {
            // A task begins when there is time for it; somebody may have stopped everything by then.
            if gate.level() > StopLevel::None {
                return ToolTaskEnd::NotStarted;
            }
            let work = ToolInvocation { call_id: &call, input: &input, stop, output: says };
            match timeout(limit, tool.run(work)).await {
                Ok(answer) => ToolTaskEnd::Answered(answer),
                Err(_) => ToolTaskEnd::TimedOut,
            }
        });
        let began = Instant::now();
        let running =
            RunningTool { place, started: began, interrupt, output, effect, reported_bytes: 0 };
        self.running.insert(task.id(), running);
    }

    /// The next that comes to its end; `None` if none is at work. May be dropped while it waits.
    pub(super) async fn next_finished(&mut self) -> Option<FinishedTool> {
        let ended = self.tasks.join_next_with_id().await?;
        let (id, how) = match ended {
            Ok((id, ToolTaskEnd::Answered(answer))) => (id, ToolTaskOutcome::Answered(answer)),
            Ok((id, ToolTaskEnd::TimedOut)) => (id, ToolTaskOutcome::TimedOut),
            Ok((id, ToolTaskEnd::NotStarted)) => (id, ToolTaskOutcome::NotStarted),
            Err(error) if error.is_panic() => {
                let words = "The tool broke while it worked; what it did until then is not known.";
                (error.id(), ToolTaskOutcome::Answered(ToolCallResult::failed(words)))
            }
            Err(error) => (error.id(), ToolTaskOutcome::Interrupted),
        };
        self.running.remove(&id).map(|running| running.finish(normalize_stopped(how)))
    }

    /// Wants all of them to end.
    pub(super) fn request_stop(&self, stage: StopLevel) {
        self.running.values().for_each(|running| running.interrupt.raise(stage));
    }

    /// Ends all of them, now; [`Crew::next`] tells how they came out.
    pub(super) fn kill(&mut self) {
        self.request_stop(StopLevel::Kill);
        self.tasks.abort_all();
    }

    /// Waits for none of them any more.
    pub(super) fn detach_all(&mut self) -> Vec<FinishedTool> {
        self.tasks.detach_all();
        let left =
            self.running.drain().map(|(_, running)| running.finish(ToolTaskOutcome::Interrupted));
        let mut left: Vec<FinishedTool> = left.collect();
        left.sort_by_key(|done| done.place);
        left
    }

    /// What they have said since the last time, by place.
    pub(super) fn progress(&mut self) -> Vec<(usize, String)> {
        let mut news = Vec::new();
        for running in self.running.values_mut() {
            let captured = running.output.capture();
            if captured.total != running.reported_bytes {
                running.reported_bytes = captured.total;
                news.push((running.place, last_lines(&captured.text)));
            }
        }
        news.sort_by_key(|(place, _)| *place);
        news
    }
}

impl RunningTool {
    fn finish(self, how: ToolTaskOutcome) -> FinishedTool {
        FinishedTool {
            place: self.place,
            elapsed: self.started.elapsed(),
            effect: self.effect,
            outcome: how,
            output: self.output.capture().text,
        }
    }
}

/// A tool that says it was stopped did not answer.
fn normalize_stopped(how: ToolTaskOutcome) -> ToolTaskOutcome {
    match how {
        ToolTaskOutcome::Answered(ToolCallResult {
            completion: ToolCompletion::Stopped,
            content: ToolResultContent::Text(text),
        }) if text.trim().is_empty() => ToolTaskOutcome::Interrupted,
        how => how,
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
