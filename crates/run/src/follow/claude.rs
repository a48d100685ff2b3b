//! Claude Code's stream-json, old and new, and what agents print in its likeness.
//!
//! Lines are grouped by the id of their message, not by their order: a tool starts, and its
//! result is printed, while the reply that called it still streams. `stop_reason` on a line is
//! filled by a race, or not at all, and decides nothing here.

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

/// How many lines are remembered, so that one that comes twice is told once.
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
    /// What calls about tasks are about, until they are answered.
    task_calls: BTreeMap<usize, RawJson>,
    tools: ReportedTools,
    lines: LineDeduplicator,
    host: HostState,
    /// Somebody called the agent off.
    interrupted: bool,
    compactions: u32,
    /// The last compaction is under way.
    compacting: bool,
}

/// What is known about whoever speaks to the agent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HostState {
    /// Nothing: only the agent's own lines are there.
    Unknown,
    /// It has said nothing that would start a run.
    Silent,
    /// It has sent a prompt.
    Prompted,
}

/// The tools that were told last.
#[derive(Default)]
struct ReportedTools {
    last: Option<(bool, Vec<SharedId>)>,
    version: u64,
}

/// The lines that have been read, by their ids.
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

    /// Something of a run is there: it begins if it has not, and a new one does if the last is
    /// over.
    fn ensure_run(&mut self) {
        if self.emitter.phase() == EmitterPhase::Ended {
            self.reset();
        }
        self.emitter.begin();
    }

    /// Forgets the run that is over.
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

    /// The host sent a prompt, which is the end of what waited for its end. One that comes while
    /// the agent works is folded into that work.
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
            // The decisions of its host may stand between the agent's own lines.
            "control_response" if self.answers_agent(&fields) => self.read_host_response(&fields),
            "control_response" => self.read_control_response(&fields),
            "tool_progress" => self.read_progress(&fields),
            // Other lines say what these would say.
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
            // The host knows what it said.
            _ => {}
        }
    }

    fn finish(&mut self, exit: AgentExit) {
        match (self.emitter.phase(), self.host) {
            // A host that never asked for anything has no run.
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
        let goes_on = self.ending.state_events || self.background.is_busy();
        match self.emitter.state() {
            _ if self.ending.is_announced() && !goes_on => AgentState::Complete,
            // Whoever stopped to listen at the first call would miss the others.
            AgentState::Waiting { .. } if self.messages.is_streaming() => AgentState::Streaming,
            state => state,
        }
    }

    fn emitter(&mut self) -> &mut RunEmitter {
        &mut self.emitter
    }
}

impl LineDeduplicator {
    /// Whether the line comes for the first time, as far as anybody can tell.
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

/// A card about something beside the conversation.
fn card(kind: &str, id: Option<SharedId>, content: RawJson) -> EventPayload {
    EventPayload::Activity(crate::ActivityCard { kind: kind.into(), id, content })
}
