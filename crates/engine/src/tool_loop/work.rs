//! Tools at work: started, watched, stopped. Nothing of them is left when this is dropped.

use std::{collections::HashMap, sync::Arc, time::Duration};

use foxwedge_tools::{
    About, Answer, Content, Effect, How, Interrupt, Output, Stage, Stop, Tool, Work,
};
use serde_json::Value;
use tokio::{
    task::{Id, JoinSet},
    time::{Instant, timeout},
};

/// A call that a tool is to work on.
pub(super) struct Job {
    /// Its place among the calls of its turn.
    pub(super) place: usize,
    pub(super) call: String,
    pub(super) input: Value,
    pub(super) tool: Arc<dyn Tool>,
}

/// Tools at work.
pub(super) struct Crew {
    tasks: JoinSet<Ended>,
    jobs: HashMap<Id, Running>,
    /// Bytes that are kept of what a tool says.
    most: usize,
}

/// One of them.
struct Running {
    place: usize,
    began: Instant,
    interrupt: Interrupt,
    output: Output,
    effect: Effect,
    /// Bytes of its output that were told.
    told: u64,
}

/// How a task ended by itself.
enum Ended {
    Answered(Answer),
    TimedOut,
    NeverBegan,
}

/// A call that is not at work any more.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) place: usize,
    pub(super) elapsed: Duration,
    pub(super) effect: Effect,
    pub(super) how: Came,
    /// What it had said when it was cut off.
    pub(super) said: String,
}

/// How a call came to its end.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Came {
    /// It answered.
    Answered(Answer),
    /// It took too long.
    TimedOut,
    /// It was stopped in the middle.
    CutOff,
    /// It was stopped before it began.
    NeverBegan,
}

impl Crew {
    pub(super) fn new(most: usize) -> Crew {
        Crew { tasks: JoinSet::new(), jobs: HashMap::new(), most }
    }

    /// How many are at work.
    pub(super) fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Starts one, unless everything is stopped by the time it begins.
    pub(super) fn start(&mut self, job: Job, gate: Stop) {
        let Job { place, call, input, tool } = job;
        let About { effect, limit, .. } = *tool.about();
        let (interrupt, output) = (Interrupt::new(), Output::new(self.most));
        let (stop, says) = (interrupt.stop(), output.clone());
        let task = self.tasks.spawn(async move {
            // A task begins when there is time for it; somebody may have stopped everything by then.
            if gate.stage() > Stage::Quiet {
                return Ended::NeverBegan;
            }
            let work = Work { call: &call, input: &input, stop, output: says };
            match timeout(limit, tool.run(work)).await {
                Ok(answer) => Ended::Answered(answer),
                Err(_) => Ended::TimedOut,
            }
        });
        let began = Instant::now();
        let running = Running { place, began, interrupt, output, effect, told: 0 };
        self.jobs.insert(task.id(), running);
    }

    /// The next that comes to its end; `None` if none is at work. May be dropped while it waits.
    pub(super) async fn next(&mut self) -> Option<Done> {
        let ended = self.tasks.join_next_with_id().await?;
        let (id, how) = match ended {
            Ok((id, Ended::Answered(answer))) => (id, Came::Answered(answer)),
            Ok((id, Ended::TimedOut)) => (id, Came::TimedOut),
            Ok((id, Ended::NeverBegan)) => (id, Came::NeverBegan),
            Err(error) if error.is_panic() => {
                let words = "The tool broke while it worked; what it did until then is not known.";
                (error.id(), Came::Answered(Answer::failed(words)))
            }
            Err(error) => (error.id(), Came::CutOff),
        };
        self.jobs.remove(&id).map(|running| running.done(stopped(how)))
    }

    /// Wants all of them to end.
    pub(super) fn raise(&self, stage: Stage) {
        self.jobs.values().for_each(|running| running.interrupt.raise(stage));
    }

    /// Ends all of them, now; [`Crew::next`] tells how they came out.
    pub(super) fn kill(&mut self) {
        self.raise(Stage::Forced);
        self.tasks.abort_all();
    }

    /// Waits for none of them any more.
    pub(super) fn abandon(&mut self) -> Vec<Done> {
        self.tasks.detach_all();
        let left = self.jobs.drain().map(|(_, running)| running.done(Came::CutOff));
        let mut left: Vec<Done> = left.collect();
        left.sort_by_key(|done| done.place);
        left
    }

    /// What they have said since the last time, by place.
    pub(super) fn progress(&mut self) -> Vec<(usize, String)> {
        let mut news = Vec::new();
        for running in self.jobs.values_mut() {
            let captured = running.output.captured();
            if captured.total != running.told {
                running.told = captured.total;
                news.push((running.place, tail(&captured.text)));
            }
        }
        news.sort_by_key(|(place, _)| *place);
        news
    }
}

impl Running {
    fn done(self, how: Came) -> Done {
        Done {
            place: self.place,
            elapsed: self.began.elapsed(),
            effect: self.effect,
            how,
            said: self.output.captured().text,
        }
    }
}

/// A tool that says it was stopped did not answer.
fn stopped(how: Came) -> Came {
    match how {
        Came::Answered(Answer { how: How::Stopped, content: Content::Text(text) })
            if text.trim().is_empty() =>
        {
            Came::CutOff
        }
        how => how,
    }
}

/// The last lines of a text.
fn tail(text: &str) -> String {
    const LINES: usize = 5;
    const CHARACTERS: usize = 400;
    let lines: Vec<&str> = text.lines().rev().take(LINES).collect();
    let last: Vec<&str> = lines.into_iter().rev().collect();
    let last = last.join("\n");
    let over = last.chars().count().saturating_sub(CHARACTERS);
    last.chars().skip(over).collect()
}
