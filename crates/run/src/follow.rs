//! Makes run events out of what foreign agents print.
//!
//! A [`Follower`] takes one line after the other, as they come out of the agent, and beside them
//! the lines that its host sends in. It keeps no text, waits for nothing and never stops: a line
//! that is torn, huge or of a kind that nobody knows becomes [`crate::Body::Unknown`], and what
//! follows is read as if it had not been there. `docs/runs/following.md` says what becomes what.

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

/// Whose lines they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StreamSource {
    /// Claude Code and its Agent SDKs with `--output-format stream-json`, and Qwen Code, whose
    /// lines have the same form.
    ClaudeCode,
    /// `codex exec --json`.
    Codex,
    /// Gemini CLI with `--output-format stream-json`.
    GeminiCli,
    /// Events of ours, as [`crate::wire`] spells them.
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

    /// Its name on a command line.
    pub fn name(self) -> &'static str {
        match self {
            StreamSource::ClaudeCode => "claude-code",
            StreamSource::Codex => "codex",
            StreamSource::GeminiCli => "gemini-cli",
            StreamSource::Events => "events",
        }
    }

    /// The source of a name, or of another agent that prints the same lines.
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

/// How the agent's process came to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AgentExit {
    /// Its stream is over; nobody knows more.
    Eof,
    /// It left with this code.
    Code(i32),
    /// It was killed by this signal.
    Signal(i32),
}

/// What the agent is doing, as far as its lines tell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AgentState {
    /// Nothing has begun.
    Idle,
    /// The model speaks, or is about to.
    Streaming,
    /// The model has called tools and goes on when they have answered.
    Waiting {
        /// Those that have not answered yet, in the order of their calls. What a provider runs by
        /// itself and what sub-agents call is left out, unless a person is asked about it.
        calls: Vec<CallRef>,
    },
    /// It has come to its end.
    Complete,
}

/// Follows one agent: lines in, events out.
pub struct AgentFollower {
    reader: Box<dyn AgentStreamReader + Send>,
}

impl AgentFollower {
    /// Follows an agent from its first line on. The first run has this id; see
    /// [`Follower::next_run`] for those behind it.
    pub fn new(source: StreamSource, run: SharedId) -> AgentFollower {
        let reader: Box<dyn AgentStreamReader + Send> = match source {
            StreamSource::ClaudeCode => Box::new(claude::ClaudeCodeReader::new(run)),
            StreamSource::Codex => Box::new(codex::CodexExecReader::new(run)),
            StreamSource::GeminiCli => Box::new(gemini::GeminiCliReader::new(run)),
            StreamSource::Events => Box::new(events::EventLogReader::new(run)),
        };
        AgentFollower { reader }
    }

    /// A line that the agent printed.
    pub fn line(&mut self, line: &str) -> Vec<RunEvent> {
        self.reader.line(line);
        self.reader.emitter().take_events()
    }

    /// A line that its host sent: a prompt, an answer to a request, an interrupt. Agents that are
    /// not spoken to have none.
    pub fn host_line(&mut self, line: &str) -> Vec<RunEvent> {
        self.reader.host_line(line);
        self.reader.emitter().take_events()
    }

    /// The stream is over. A run that did not come to its own end is told as what it is.
    pub fn finish(&mut self, exit: AgentExit) -> Vec<RunEvent> {
        self.reader.emitter().at = None;
        self.reader.finish(exit);
        self.reader.emitter().take_events()
    }

    /// Tells the end that the agent has announced and may still take back, for a host that does
    /// not want to wait for the next prompt: see [`State::Complete`]. Nothing otherwise.
    pub fn settle(&mut self) -> Vec<RunEvent> {
        self.reader.emitter().at = None;
        self.reader.settle();
        self.reader.emitter().take_events()
    }

    /// Names the run that begins next. If the one before has come to its end, that end is told
    /// now; if it is still at work, the name waits for its end. A run that nobody named has the
    /// name of the first with a number behind it.
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

/// What every kind of stream has a reader for.
trait AgentStreamReader {
    /// Reads a line of the agent.
    fn line(&mut self, line: &str);

    /// Reads a line of its host.
    fn host_line(&mut self, line: &str);

    /// Tells what is left to tell.
    fn finish(&mut self, exit: AgentExit);

    /// Tells an end that was held back.
    fn settle(&mut self);

    /// What the agent is doing.
    fn state(&self) -> AgentState;

    /// Where everything is told.
    fn emitter(&mut self) -> &mut emitter::RunEmitter;
}
