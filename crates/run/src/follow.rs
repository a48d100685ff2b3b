//! Converts the output of other agents into run events.
//!
//! An [`AgentFollower`] reads the lines that an agent prints, and the lines that its host sends to
//! it. It keeps no text, never waits and never stops: a truncated, oversized or unknown line
//! becomes [`crate::EventPayload::Unknown`] and does not affect later lines.
//! `docs/runs/following.md` describes the conversion.

mod fields;
mod time;
mod calls;
mod emitter;
pub(crate) mod tasks;
mod claude;
mod codex;
mod gemini;
mod events;
mod detect;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests;

use crate::{CallRef, RunEvent, SharedId};

pub use detect::detect_source;

/// The agent that prints the lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StreamSource {
    /// Claude Code and its Agent SDKs with `--output-format stream-json`, and Qwen Code, which uses
    /// the same line format.
    ClaudeCode,
    /// `codex exec --json`.
    Codex,
    /// Gemini CLI with `--output-format stream-json`.
    GeminiCli,
    /// Our own events, in the format of [`crate::wire`].
    Events,
}

impl StreamSource {
    /// Every source.
    pub const ALL: [StreamSource; 4] = [
        StreamSource::ClaudeCode,
        StreamSource::Codex,
        StreamSource::GeminiCli,
        StreamSource::Events,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            StreamSource::ClaudeCode => "claude-code",
            StreamSource::Codex => "codex",
            StreamSource::GeminiCli => "gemini-cli",
            StreamSource::Events => "events",
        }
    }

    /// The source with this name; also accepts agents that print the same lines.
    pub fn from_name(name: &str) -> Option<StreamSource> {
        Some(match name {
            "claude-code" | "claude" | "claude-agent-sdk" | "qwen-code" | "qwen" => {
                StreamSource::ClaudeCode
            }
            "codex" | "codex-exec" => StreamSource::Codex,
            "gemini-cli" | "gemini" => StreamSource::GeminiCli,
            "events" | "foxwedge" => StreamSource::Events,
            _ => return None,
        })
    }
}

/// How the agent's process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AgentExit {
    /// The stream ended; nothing else is known.
    Eof,
    /// It exited with this code.
    Code(i32),
    /// It was killed by this signal.
    Signal(i32),
}

/// What the agent is doing, according to its lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AgentState {
    /// No run has started.
    Idle,
    /// The model is generating or about to.
    Streaming,
    /// The model has called tools and waits for their results.
    Waiting {
        /// Calls without a result, in call order. Calls that the provider runs and calls of
        /// sub-agents are omitted, unless a person must approve them.
        calls: Vec<CallRef>,
    },
    /// The run has ended.
    Complete,
}

/// Follows one agent: lines in, events out.
pub struct AgentFollower {
    reader: Box<dyn AgentStreamReader + Send>,
}

impl AgentFollower {
    /// Follows an agent from its first line. `run` is the id of the first run; see
    /// [`AgentFollower::next_run`] for later ones.
    pub fn new(source: StreamSource, run: SharedId) -> AgentFollower {
        let reader: Box<dyn AgentStreamReader + Send> = match source {
            StreamSource::ClaudeCode => Box::new(claude::ClaudeCodeReader::new(run)),
            StreamSource::Codex => Box::new(codex::CodexExecReader::new(run)),
            StreamSource::GeminiCli => Box::new(gemini::GeminiCliReader::new(run)),
            StreamSource::Events => Box::new(events::EventLogReader::new(run)),
        };
        AgentFollower { reader }
    }

    /// Reads a line that the agent printed.
    pub fn line(&mut self, line: &str) -> Vec<RunEvent> {
        self.reader.line(line);
        self.reader.emitter().take_events()
    }

    /// Reads a line that its host sent: a prompt, a response to a request, an interrupt. Agents
    /// without input have none.
    pub fn host_line(&mut self, line: &str) -> Vec<RunEvent> {
        self.reader.host_line(line);
        self.reader.emitter().take_events()
    }

    /// Ends the stream. An open run gets an outcome that shows how it ended.
    pub fn finish(&mut self, exit: AgentExit) -> Vec<RunEvent> {
        self.reader.emitter().at = None;
        self.reader.finish(exit);
        self.reader.emitter().take_events()
    }

    /// Emits an end that the agent has announced and may still revoke, for a host that does not
    /// wait for the next prompt: see [`AgentState::Complete`]. Otherwise does nothing.
    pub fn settle(&mut self) -> Vec<RunEvent> {
        self.reader.emitter().at = None;
        self.reader.settle();
        self.reader.emitter().take_events()
    }

    /// Sets the id of the next run. If the current run has an announced end, the end is emitted
    /// now; if it is still running, the id is used after its end. By default, an id is the first id
    /// with a number appended.
    pub fn next_run(&mut self, run: SharedId) -> Vec<RunEvent> {
        let events = self.settle();
        self.reader.emitter().name_next(run);
        events
    }

    /// What the agent is doing.
    pub fn state(&self) -> AgentState {
        self.reader.state()
    }
}

/// A reader of one line format.
trait AgentStreamReader {
    /// Reads a line of the agent's output.
    fn line(&mut self, line: &str);

    /// Reads a line of the host.
    fn host_line(&mut self, line: &str);

    /// Emits what is left at the end of the stream.
    fn finish(&mut self, exit: AgentExit);

    /// Emits an end that was held back.
    fn settle(&mut self);

    /// What the agent is doing.
    fn state(&self) -> AgentState;

    /// The emitter of the run events.
    fn emitter(&mut self) -> &mut emitter::RunEmitter;
}
