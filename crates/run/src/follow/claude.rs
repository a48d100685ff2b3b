//! Claude Code's `stream-json`, old and new versions, and agents that print the same format.
//!
//! Lines are grouped by message id, not by order: a tool starts, and its result is printed, while
//! the reply that called it is still streamed. `stop_reason` on a line is unreliable (a race fills
//! it, or nothing does) and is not used here.

mod messages;
mod reply;
mod partial;
mod tool_results;
mod control;
mod system;
mod usage;
mod ending;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::{
    CallRef, EventPayload, RawJson, SharedId,
    follow::{
        AgentExit, AgentState, AgentStreamReader,
        emitter::{EmitterPhase, RunEmitter},
        fields::LineFields,
        tasks::TaskList,
        time,
    },
};

use control::ControlRequests;
use ending::PendingEnd;
use messages::StreamedMessages;
use system::BackgroundTasks;
use usage::UsageTotals;

/// Number of line ids kept, so that a repeated line is read once.
const MAX_REMEMBERED: usize = 4096;

/// Follows Claude Code.
pub(super) struct ClaudeCodeReader {
    emitter: RunEmitter,
    messages: StreamedMessages,
    usage: UsageTotals,
    ending: PendingEnd,
    requests: ControlRequests,
    background: BackgroundTasks,
    tasks: TaskList,
    /// Inputs of task calls, until they have results.
    task_calls: BTreeMap<usize, RawJson>,
    tools: ReportedTools,
    lines: LineDeduplicator,
    host: HostState,
    /// The agent was interrupted.
    interrupted: bool,
    compactions: u32,
    /// The last compaction is still running.
    compacting: bool,
}

/// What is known about the host of the agent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HostState {
    /// Nothing: only lines of the agent were read.
    Unknown,
    /// It has sent nothing that starts a run.
    Silent,
    /// It has sent a prompt.
    Prompted,
}

/// The tools that were reported last.
#[derive(Default)]
struct ReportedTools {
    last: Option<(bool, Vec<SharedId>)>,
    version: u64,
}

/// The ids of lines that were read.
#[derive(Default)]
struct LineDeduplicator {
    ids: BTreeSet<SharedId>,
    order: VecDeque<SharedId>,
}

impl ClaudeCodeReader {
    pub(super) fn new(run: SharedId) -> ClaudeCodeReader {
        ClaudeCodeReader {
            emitter: RunEmitter::new(run, "claude-code"),
            messages: StreamedMessages::default(),
            usage: UsageTotals::default(),
            ending: PendingEnd::default(),
            requests: ControlRequests::default(),
            background: BackgroundTasks::default(),
            tasks: TaskList::default(),
            task_calls: BTreeMap::new(),
            tools: ReportedTools::default(),
            lines: LineDeduplicator::default(),
            host: HostState::Unknown,
            interrupted: false,
            compactions: 0,
            compacting: false,
        }
    }

    /// Starts the run if it has not started, or a new one if the last has ended.
    fn ensure_run(&mut self) {
        if self.emitter.phase() == EmitterPhase::Ended {
            self.reset();
        }
        self.emitter.begin();
    }

    /// Clears the state of the run that has ended.
    fn reset(&mut self) {
        self.emitter.start_next_run();
        self.messages = StreamedMessages::default();
        self.usage = UsageTotals::default();
        self.ending.reset();
        self.requests = ControlRequests::default();
        self.background.inherit();
        self.task_calls.clear();
        self.tools.last = None;
        self.interrupted = false;
    }

    /// The host sent a prompt, which confirms an announced end. A prompt during a run becomes part
    /// of that run.
    fn prompt(&mut self) {
        if self.emitter.phase() == EmitterPhase::Running {
            self.settle();
        }
        if self.emitter.phase() == EmitterPhase::Ended {
            self.reset();
        }
        self.host = HostState::Prompted;
    }

    fn call_ref(&self, number: usize) -> CallRef {
        self.emitter.calls.reference(number)
    }
}

impl AgentStreamReader for ClaudeCodeReader {
    fn line(&mut self, line: &str) {
        let Some(fields) = LineFields::read(line) else {
            return self.emitter.emit_unreadable(line);
        };
        self.emitter.at = fields.text("timestamp").and_then(|text| time::milliseconds(&text));
        if let Some(session) = fields.id("session_id") {
            self.emitter.start.session = Some(session);
        }
        let kind = fields.text("type").unwrap_or_default();
        match kind.as_str() {
            "assistant" | "user" | "stream_event" | "result" if !self.lines.is_first(&fields) => {}
            "system" => self.read_system_line(line, &fields),
            "assistant" => self.read_assistant_line(line, &fields),
            "stream_event" => self.read_stream_event(line, &fields),
            "user" => self.read_user_line(line, &fields),
            "result" => self.read_result(line, &fields),
            "control_request" => self.read_control_request(line, &fields),
            "control_cancel_request" => self.cancel_request(&fields),
            // Responses of the host may appear between the agent's own lines.
            "control_response" if self.answers_agent(&fields) => self.read_host_response(&fields),
            "control_response" => self.read_control_response(&fields),
            "tool_progress" => self.read_progress(&fields),
            // Other lines have the same information.
            "command_lifecycle" | "keep_alive" => {}
            "attachment" | "rate_limit_event" | "auth_status" | "tool_use_summary"
            | "prompt_suggestion" => self.emit_card(&kind, fields.id("uuid"), line),
            "" => self.emitter.emit_unknown("no-type", line),
            _ => self.emitter.emit_unknown(kind, line),
        }
    }

    fn host_line(&mut self, line: &str) {
        if self.host == HostState::Unknown {
            self.host = HostState::Silent;
        }
        let Some(fields) = LineFields::read(line) else {
            return self.emitter.emit_unreadable(line);
        };
        self.emitter.at = fields.text("timestamp").and_then(|text| time::milliseconds(&text));
        match fields.text("type").unwrap_or_default().as_str() {
            "user" => self.read_host_message(&fields),
            "control_request" => self.read_host_request(&fields),
            "control_response" => self.read_host_response(&fields),
            // Other host lines do not matter here.
            _ => {}
        }
    }

    fn finish(&mut self, exit: AgentExit) {
        match (self.emitter.phase(), self.host) {
            // Without a prompt there is no run.
            (EmitterPhase::NotStarted, HostState::Silent) | (EmitterPhase::Ended, _) => {}
            (EmitterPhase::NotStarted, HostState::Unknown | HostState::Prompted)
            | (EmitterPhase::Running, _) => {
                self.end_at_exit(exit);
            }
        }
    }

    fn settle(&mut self) {
        if self.ending.is_announced() {
            self.end_run();
        }
    }

    fn state(&self) -> AgentState {
        match (self.emitter.phase(), self.host) {
            (EmitterPhase::NotStarted, HostState::Prompted) => return AgentState::Streaming,
            (EmitterPhase::NotStarted, HostState::Unknown | HostState::Silent) => {
                return AgentState::Idle;
            }
            (EmitterPhase::Ended, _) => return AgentState::Complete,
            (EmitterPhase::Running, _) => {}
        }
        let continues = self.ending.state_events || self.background.is_busy();
        match self.emitter.state() {
            _ if self.ending.is_announced() && !continues => AgentState::Complete,
            // A reader that stopped at the first call would miss the others.
            AgentState::Waiting { .. } if self.messages.is_streaming() => AgentState::Streaming,
            state => state,
        }
    }

    fn emitter(&mut self) -> &mut RunEmitter {
        &mut self.emitter
    }
}

impl LineDeduplicator {
    /// Whether the line is new, as far as its id shows.
    fn is_first(&mut self, line: &LineFields<'_>) -> bool {
        let Some(id) = line.id("uuid") else { return true };
        if !self.ids.insert(id.clone()) {
            return false;
        }
        self.order.push_back(id);
        if self.order.len() > MAX_REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
        true
    }
}

/// An activity card.
fn card(kind: &str, id: Option<SharedId>, content: RawJson) -> EventPayload {
    EventPayload::Activity(crate::ActivityCard { kind: kind.into(), id, content })
}
