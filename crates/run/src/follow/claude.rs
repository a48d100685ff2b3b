//! Claude Code's stream-json, old and new, and what agents print in its likeness.
//!
//! Lines are grouped by the id of their message, not by their order: a tool starts, and its
//! result is printed, while the reply that called it still streams. `stop_reason` on a line is
//! filled by a race, or not at all, and decides nothing here.

mod messages;
mod reply;
mod partial;
mod answers;
mod control;
mod system;
mod meter;
mod ending;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::{
    Body, CallRef, Id, Json,
    follow::{
        Exit, Reader, State,
        fields::Fields,
        tale::{Phase, Tale},
        tasks::TaskList,
        time,
    },
};

use control::Requests;
use ending::Ending;
use messages::Messages;
use meter::Meter;
use system::Background;

/// How many lines are remembered, so that one that comes twice is told once.
const REMEMBERED: usize = 4096;

/// Follows Claude Code.
pub(super) struct Claude {
    tale: Tale,
    messages: Messages,
    meter: Meter,
    ending: Ending,
    requests: Requests,
    background: Background,
    tasks: TaskList,
    /// What calls about tasks are about, until they are answered.
    task_calls: BTreeMap<usize, Json>,
    tools: Tools,
    seen: Seen,
    host: Host,
    /// Somebody called the agent off.
    interrupted: bool,
    compactions: u32,
    /// The last compaction is under way.
    compacting: bool,
}

/// What is known about whoever speaks to the agent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Host {
    /// Nothing: only the agent's own lines are there.
    Unheard,
    /// It has said nothing that would start a run.
    Silent,
    /// It has sent a prompt.
    Prompted,
}

/// The tools that were told last.
#[derive(Default)]
struct Tools {
    told: Option<(bool, Vec<Id>)>,
    version: u64,
}

/// The lines that have been read, by their ids.
#[derive(Default)]
struct Seen {
    ids: BTreeSet<Id>,
    order: VecDeque<Id>,
}

impl Claude {
    pub(super) fn new(run: Id) -> Claude {
        Claude {
            tale: Tale::new(run, "claude-code"),
            messages: Messages::default(),
            meter: Meter::default(),
            ending: Ending::default(),
            requests: Requests::default(),
            background: Background::default(),
            tasks: TaskList::default(),
            task_calls: BTreeMap::new(),
            tools: Tools::default(),
            seen: Seen::default(),
            host: Host::Unheard,
            interrupted: false,
            compactions: 0,
            compacting: false,
        }
    }

    /// Something of a run is there: it begins if it has not, and a new one does if the last is
    /// over.
    fn under_way(&mut self) {
        if self.tale.phase() == Phase::Over {
            self.renew();
        }
        self.tale.begin();
    }

    /// Forgets the run that is over.
    fn renew(&mut self) {
        self.tale.renew();
        self.messages = Messages::default();
        self.meter = Meter::default();
        self.ending.renew();
        self.requests = Requests::default();
        self.background.inherit();
        self.task_calls.clear();
        self.tools.told = None;
        self.interrupted = false;
    }

    /// The host sent a prompt, which is the end of what waited for its end. One that comes while
    /// the agent works is folded into that work.
    fn prompt(&mut self) {
        if self.tale.phase() == Phase::UnderWay {
            self.settle();
        }
        if self.tale.phase() == Phase::Over {
            self.renew();
        }
        self.host = Host::Prompted;
    }

    fn call(&self, number: usize) -> CallRef {
        self.tale.calls.reference(number)
    }
}

impl Reader for Claude {
    fn line(&mut self, line: &str) {
        let Some(fields) = Fields::read(line) else { return self.tale.unreadable(line) };
        self.tale.at = fields.text("timestamp").and_then(|text| time::milliseconds(&text));
        if let Some(session) = fields.id("session_id") {
            self.tale.about.session = Some(session);
        }
        let kind = fields.text("type").unwrap_or_default();
        match kind.as_str() {
            "assistant" | "user" | "stream_event" | "result" if !self.seen.first(&fields) => {}
            "system" => self.system(line, &fields),
            "assistant" => self.reply(line, &fields),
            "stream_event" => self.partial(line, &fields),
            "user" => self.user(line, &fields),
            "result" => self.result(line, &fields),
            "control_request" => self.request(line, &fields),
            "control_cancel_request" => self.withdrawn(&fields),
            // The decisions of its host may stand between the agent's own lines.
            "control_response" if self.answers_agent(&fields) => self.host_response(&fields),
            "control_response" => self.response(&fields),
            "tool_progress" => self.progress(&fields),
            // Other lines say what these would say.
            "command_lifecycle" | "keep_alive" => {}
            "attachment" | "rate_limit_event" | "auth_status" | "tool_use_summary"
            | "prompt_suggestion" => self.card(&kind, fields.id("uuid"), line),
            "" => self.tale.unknown("no-type", line),
            _ => self.tale.unknown(kind, line),
        }
    }

    fn host_line(&mut self, line: &str) {
        if self.host == Host::Unheard {
            self.host = Host::Silent;
        }
        let Some(fields) = Fields::read(line) else { return self.tale.unreadable(line) };
        self.tale.at = fields.text("timestamp").and_then(|text| time::milliseconds(&text));
        match fields.text("type").unwrap_or_default().as_str() {
            "user" => self.host_message(&fields),
            "control_request" => self.host_request(&fields),
            "control_response" => self.host_response(&fields),
            // The host knows what it said.
            _ => {}
        }
    }

    fn finish(&mut self, exit: Exit) {
        match (self.tale.phase(), self.host) {
            // A host that never asked for anything has no run.
            (Phase::Ahead, Host::Silent) | (Phase::Over, _) => {}
            (Phase::Ahead, Host::Unheard | Host::Prompted) | (Phase::UnderWay, _) => {
                self.end_at_exit(exit);
            }
        }
    }

    fn settle(&mut self) {
        if self.ending.is_announced() {
            self.end();
        }
    }

    fn state(&self) -> State {
        match (self.tale.phase(), self.host) {
            (Phase::Ahead, Host::Prompted) => return State::Streaming,
            (Phase::Ahead, Host::Unheard | Host::Silent) => return State::Idle,
            (Phase::Over, _) => return State::Complete,
            (Phase::UnderWay, _) => {}
        }
        let goes_on = self.ending.state_events || self.background.is_busy();
        match self.tale.state() {
            _ if self.ending.is_announced() && !goes_on => State::Complete,
            // Whoever stopped to listen at the first call would miss the others.
            State::Waiting { .. } if self.messages.is_streaming() => State::Streaming,
            state => state,
        }
    }

    fn tale(&mut self) -> &mut Tale {
        &mut self.tale
    }
}

impl Seen {
    /// Whether the line comes for the first time, as far as anybody can tell.
    fn first(&mut self, line: &Fields<'_>) -> bool {
        let Some(id) = line.id("uuid") else { return true };
        if !self.ids.insert(id.clone()) {
            return false;
        }
        self.order.push_back(id);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
        true
    }
}

/// A card about something beside the conversation.
fn card(kind: &str, id: Option<Id>, content: Json) -> Body {
    Body::Activity(crate::Activity { kind: kind.into(), id, content })
}
