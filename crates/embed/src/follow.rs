//! Follows an agent in memory: its messages in, run events out.
//!
//! The follower of `foxwedge-run` reads the messages, and its machine decides how each call and each
//! run ended. What a host knows besides the messages, this module writes as the lines of the agent's
//! own protocol, so that there is one reader for both.

mod host_lines;
mod words;

#[cfg(test)]
mod tests;

use foxwedge_run::{
    EventPayload, MachineInput, MachineSettings, Outcome, RunEffect, RunEnd, RunEvent,
    SessionMachine, SharedId,
    follow::{AgentExit, AgentFollower, AgentState, StreamSource},
};

use crate::{CallError, CallReply, options::CallOptions, report::ReportObject};
use host_lines::HostInput;
use words::{EventWords, WordEncoder};

/// The options of a follower.
const NAMES: [&str; 5] = ["agent", "run", "session", "words", "interactive"];

/// An agent that is followed. Each step has a name and a body, which is JSON or a line of the agent.
///
/// | step | body | what it means |
/// |---|---|---|
/// | `message` | a message or line of the agent | the agent printed it |
/// | `asked` | `toolUseID`, `toolName`, `input`, `title`, `description`, `suggestions` | the agent asks its host whether a call may run |
/// | `decision` | `toolUseID`, and `behavior` (with `updatedInput`, `message`, `interrupt`) or `answers` | what the host answered |
/// | `host` | a message or line of the agent's protocol | its host sent it |
/// | `prompt` | `message`, `run` | the host sent a prompt; `run` names the run that it starts |
/// | `interrupt` | none | the host interrupted the agent |
/// | `settle` | none | an end that the agent announced counts now |
/// | `finish` | `code` or `signal` | the agent is gone; everything that is open is closed |
pub struct FollowCall {
    follower: AgentFollower,
    machine: SessionMachine,
    encoder: WordEncoder,
    /// Calls that the host was asked about and has not decided.
    asked: Vec<String>,
}

impl FollowCall {
    /// Follows an agent from its first message. Options: `agent` (`claude-code` by default), `run`
    /// (the id of the first run), `session`, `words` (`events`, `agent`, `agui`, `ai-sdk`, `acp`),
    /// `interactive` (more tools that ask people).
    ///
    /// # Errors
    /// If an option is unknown.
    pub fn new(options: &str) -> Result<FollowCall, CallError> {
        let options = CallOptions::read(options, &NAMES)?;
        let agent = options.named("agent", StreamSource::from_name)?;
        let words = options.named("words", EventWords::from_name)?.unwrap_or(EventWords::Events);
        let run = options.text("run")?.filter(|run| !run.is_empty());
        let session = options.text("session")?.unwrap_or_default();
        let mut settings = MachineSettings::default();
        settings.interactive.extend(options.texts("interactive")?.into_iter().map(SharedId::from));
        let run = SharedId::from(run.as_deref().unwrap_or("run"));
        Ok(FollowCall {
            follower: AgentFollower::new(agent.unwrap_or(StreamSource::ClaudeCode), run),
            machine: SessionMachine::new(settings),
            encoder: WordEncoder::new(words, session.as_ref().into()),
            asked: Vec::new(),
        })
    }

    /// Takes a step. `now` is the caller's clock in milliseconds; without it, events have the times
    /// of the messages only. The document of the reply is the events, one line each. Its report says
    /// what the agent is doing: `state`, and the open `calls`.
    ///
    /// # Errors
    /// If the step is unknown, or its body cannot be read. Nothing has changed then. A message that
    /// cannot be read is an event, not an error.
    pub fn step(
        &mut self,
        step: &str,
        body: &str,
        now: Option<u64>,
    ) -> Result<CallReply, CallError> {
        let input = HostInput::read(step, body)?;
        let events = self.read_input(input)?;
        let mut effects = Vec::new();
        for event in events {
            let event = RunEvent { at: event.at.or(now), ..event };
            self.machine.apply(now.unwrap_or(0), MachineInput::Event(event), &mut effects);
        }
        if step == "finish" {
            self.close_runs(now, &mut effects);
        }
        let mut lines = String::new();
        self.encoder.encode(&effects, &mut lines);
        Ok(CallReply { report: self.state_report(), document: Some(lines.into_bytes()) })
    }

    fn read_input(&mut self, input: HostInput<'_>) -> Result<Vec<RunEvent>, CallError> {
        Ok(match input {
            HostInput::Message(line) => self.follower.line(line),
            HostInput::HostMessage(line) => self.follower.host_line(line),
            HostInput::Asked { call, line } => {
                if !self.asked.contains(&call) {
                    self.asked.push(call);
                }
                self.follower.line(&line)
            }
            HostInput::Decision { call, question, line } => {
                let mut events = match self.asked.iter().position(|asked| *asked == call) {
                    Some(at) => {
                        self.asked.remove(at);
                        Vec::new()
                    }
                    None if self.is_open(&call) => self.follower.line(&question),
                    None => {
                        let message = format!("no call `{call}` waits for a decision");
                        return Err(CallError::new("unknown-call", message));
                    }
                };
                events.extend(self.follower.line(&line));
                events
            }
            HostInput::Prompt { run, line } => {
                let mut events = match run {
                    Some(run) => self.follower.next_run(run.as_str().into()),
                    None => Vec::new(),
                };
                events.extend(self.follower.host_line(&line));
                events
            }
            HostInput::Interrupt(line) => self.follower.line(line),
            HostInput::Settle => self.follower.settle(),
            HostInput::Finish(exit) => self.finish(exit),
        })
    }

    fn finish(&mut self, exit: AgentExit) -> Vec<RunEvent> {
        self.asked.clear();
        self.follower.finish(exit)
    }

    /// Ends the runs that are open behind the end of the agent.
    fn close_runs(&mut self, now: Option<u64>, effects: &mut Vec<RunEffect>) {
        let open = self.machine.runs().iter().filter(|run| !run.is_over());
        let open: Vec<SharedId> = open.map(|run| run.id().clone()).collect();
        for run in open {
            let ended = RunEnd { outcome: Some(Outcome::Interrupted), ..RunEnd::default() };
            let event = RunEvent { at: now, ..RunEvent::new(&run, EventPayload::Ended(ended)) };
            self.machine.apply(now.unwrap_or(0), MachineInput::Event(event), effects);
        }
    }

    /// Whether a call of the newest run has no result yet.
    fn is_open(&self, call: &str) -> bool {
        let mut tools = self.machine.active().into_iter().flat_map(|run| run.tools());
        tools.any(|tool| &*tool.call == call && !tool.status().is_final())
    }

    fn state_report(&self) -> String {
        let (state, calls) = match self.follower.state() {
            AgentState::Idle => ("idle", Vec::new()),
            AgentState::Streaming => ("streaming", Vec::new()),
            AgentState::Waiting { calls } => ("waiting", calls),
            AgentState::Complete => ("complete", Vec::new()),
        };
        let ids = calls.iter().filter_map(|call| call.id.as_deref());
        ReportObject::new().text("state", state).texts("calls", ids).end()
    }
}
