//! A session in few words: what is true, and what had to be done.

use foxwedge_run::{
    ApprovalResolution, MachineInput, MachineSettings, RunEffect, RunEvent, RunPhase, RunWarning,
    SessionMachine, ToolCallState, wire,
};
use foxwedge_testkit::runs::laws::Watch;

use crate::script::source;

/// A session, and everything that it brought about.
pub(super) struct Told {
    pub(super) session: SessionMachine,
    effects: Vec<RunEffect>,
}

/// What comes, and when.
pub(super) enum Step {
    Give(u64, Vec<RunEvent>),
    Wait(u64),
}

/// Tells events at once.
pub(super) fn tell(events: &[RunEvent]) -> Told {
    follow(&[Step::Give(0, events.to_vec())])
}

/// Runs a source and says how it ended and what had to be done.
pub(super) fn did(script: &str) -> (String, String) {
    let told = tell(&source("A", script));
    (told.run("A"), told.deeds())
}

/// Tells events at their time.
pub(super) fn follow(steps: &[Step]) -> Told {
    let mut told =
        Told { session: SessionMachine::new(MachineSettings::default()), effects: Vec::new() };
    for step in steps {
        match step {
            Step::Give(now, events) => {
                told.give(*now, events.clone());
            }
            Step::Wait(now) => told.session.apply(*now, MachineInput::Tick, &mut told.effects),
        }
    }
    told
}

impl Told {
    /// Tells more. Says how many effects it had. All of them are well formed.
    pub(super) fn give(&mut self, now: u64, events: Vec<RunEvent>) -> usize {
        let before = self.effects.len();
        for event in events {
            self.session.apply(now, MachineInput::Event(event), &mut self.effects);
        }
        assert_eq!(Watch::default().take(&self.effects), Ok(()));
        self.effects.len() - before
    }

    /// A run: how far it is, how it ended and what it said; its calls by name.
    pub(super) fn run(&self, id: &str) -> String {
        let Some(run) = self.session.run(id) else { return "unknown".to_owned() };
        let (phase, ended) = match run.phase() {
            RunPhase::Running => ("running", None),
            RunPhase::Stopping { ended, .. } => ("stopping", Some(ended)),
            RunPhase::Ended { ended, .. } => ("ended", Some(ended)),
        };
        let outcome = ended.and_then(|ended| ended.outcome).map(|outcome| outcome.name());
        let text = ended.and_then(|ended| ended.text.as_deref());
        let head: Vec<&str> = [Some(phase), outcome, text].into_iter().flatten().collect();
        let mut tools: Vec<String> = run.tools().iter().map(tool).collect();
        tools.sort();
        match tools.is_empty() {
            true => head.join(" "),
            false => format!("{}: {}", head.join(" "), tools.join(", ")),
        }
    }

    /// What had to be done, apart from storing and showing.
    pub(super) fn deeds(&self) -> String {
        self.effects.iter().filter_map(deed).collect::<Vec<_>>().join("; ")
    }

    /// The log.
    pub(super) fn emitted(&self) -> Vec<RunEvent> {
        let emitted = self.effects.iter().filter_map(|effect| match effect {
            RunEffect::Emit(event) => Some(event.clone()),
            _ => None,
        });
        emitted.collect()
    }

    /// The log, written.
    pub(super) fn log(&self) -> String {
        self.emitted().iter().map(wire::write).collect::<Vec<_>>().join("\n")
    }

    /// What blinks.
    pub(super) fn flags(&self, id: &str) -> String {
        let Some(run) = self.session.run(id) else { return String::new() };
        let flags = run.flags();
        let all = [
            (flags.generating, "generating"),
            (flags.thinking, "thinking"),
            (flags.streaming, "streaming"),
        ];
        let on = all.into_iter().filter(|(on, _)| *on).map(|(_, name)| name);
        on.collect::<Vec<_>>().join(" ")
    }

    /// The tasks.
    pub(super) fn tasks(&self) -> String {
        let tasks = self.session.tasks().iter();
        let told = tasks.map(|task| format!("{} {}", task.content, task.status.name()));
        told.collect::<Vec<_>>().join(", ")
    }
}

fn tool(tool: &ToolCallState) -> String {
    let reason = tool.reason.map(|reason| format!(" {}", reason.name())).unwrap_or_default();
    format!("{} {}{reason}", tool.call, tool.status().name())
}

fn deed(effect: &RunEffect) -> Option<String> {
    Some(match effect {
        RunEffect::Emit(_) | RunEffect::Show { .. } => return None,
        RunEffect::Resolve { tool, id, resolution, .. } => {
            let what = match resolution {
                ApprovalResolution::Replied(verdict, _) => verdict.name(),
                ApprovalResolution::Cancelled => "cancelled",
            };
            format!("resolve {} {id} {what}", tool.call)
        }
        RunEffect::CancelTool { tool, .. } => format!("call-off {}", tool.call),
        RunEffect::Announce { run, ended, .. } => {
            let outcome = ended.outcome.map(|outcome| outcome.name()).unwrap_or_default();
            format!("announce {run} {outcome}")
        }
        RunEffect::Drain { run, until } => format!("drain {run} {until}"),
        RunEffect::Warn(warning) => format!("warn {}", warned(warning)),
    })
}

fn warned(warning: &RunWarning) -> String {
    match warning {
        RunWarning::NeverStarted { run, events } => format!("never-started {run} {events}"),
        RunWarning::Refused { run, refusal } => format!("refused {run} {refusal:?}"),
        RunWarning::Missing { run, from, to } => format!("missing {run} {from} {to}"),
        RunWarning::UnknownWord { word, .. } => format!("unknown {word}"),
        RunWarning::NeverCalled { tool, .. } => format!("never-called {}", tool.call),
        RunWarning::TooManyWaiting { run } => format!("too-much {run}"),
    }
}
