//! The machine between one client's conversation and one agent.

mod pending_call;
mod calls;
mod call_assembler;
mod reply_buffer;
mod request;
mod agent_events;

use serde_json::Value;

use crate::{
    AgentCommand, AgentEvent, ClientToolCall, PermissionDecision, PermissionRequest, RequestTail,
    message_merger::MessageMerger,
};
use call_assembler::CallAssembler;
use calls::PendingCalls;
use reply_buffer::{EventBuffer, LastReply};

/// Something that happens to a conversation.
#[derive(Clone, PartialEq, Debug)]
pub enum BridgeInput {
    /// The client asks: from now on there is somebody to reply to. If there is somebody already,
    /// the answer is a [`Fault`] `agent_busy` for the newcomer, and the earlier reply goes on.
    Request(RequestTail),
    /// The agent tells something.
    AgentEvent(AgentEvent),
    /// A person decides about a question, by its ticket.
    Decided {
        /// The question.
        ticket: String,
        /// The decision.
        decision: PermissionDecision,
    },
    /// The calls that the client was told of have waited for too long. Each of them gets an error
    /// as its answer, and the agent goes on; what it says is kept for the next request. Nothing
    /// changes while a client waits for a reply.
    TimedOut,
    /// The client is gone before its reply has ended, or somebody stops the run.
    Stop,
    /// The agent is gone, in words: how it ended.
    Died(String),
}

/// Something that is to be done.
#[derive(Clone, PartialEq, Debug)]
pub enum BridgeOutput {
    /// Tell the agent.
    Command(AgentCommand),
    /// Tell the client: an event of an Anthropic stream.
    StreamEvent(Value),
    /// The reply is whole. The client hears nothing more until it asks again.
    End,
    /// There is no reply, or it cannot go on. The client hears nothing more until it asks again.
    Fail(BridgeError),
    /// Something for the record of the run.
    Note(BridgeNote),
    /// The agent is of no use any more: end its process.
    Kill,
}

/// Why there is no reply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BridgeError {
    /// The status of an HTTP reply.
    pub status: u16,
    /// A word for machines: `agent_died`, `agent_failed`, `unknown_call`, `nothing_new`,
    /// `agent_busy`, `stopped`.
    pub code: &'static str,
    /// For people.
    pub message: String,
}

/// Something for the record of the run.
#[derive(Clone, PartialEq, Debug)]
pub enum BridgeNote {
    /// A tool of the agent's own is at work: never the client's business.
    AgentToolStarted(ClientToolCall),
    /// It is done.
    AgentToolEnded {
        /// The id of the call.
        call: String,
        /// Whether it failed.
        error: bool,
    },
    /// A person is asked.
    PermissionRequested(PermissionRequest),
    /// The question has an answer, or none is wanted any more.
    PermissionClosed {
        /// The question.
        ticket: String,
        /// `None`: it was withdrawn.
        decision: Option<PermissionDecision>,
    },
    /// An answer that was of no use: `unknown`, `duplicate` or `late`, and the id of its call.
    Ignored(&'static str, String),
    /// The client did not answer this call in time.
    TimedOut(String),
}

/// What would become of a request: [`Talk::check`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RequestCheck {
    /// Why it would be refused.
    pub fault: Option<BridgeError>,
    /// Answers that would be of no use: why (`unknown`, `duplicate` or `late`), and the id.
    pub ignored: Vec<(&'static str, String)>,
}

/// What a conversation is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BridgePhase {
    /// The agent has nothing to do.
    Idle,
    /// The client waits for a reply.
    Replying,
    /// The agent waits for answers, and nobody is there.
    Waiting,
    /// The agent works, and nobody is there.
    Unattended,
    /// The agent is gone.
    Dead,
}

/// The machine. Every input is allowed in every phase.
///
/// What it keeps is bounded by the calls that are open, and a megabyte of what was said.
#[derive(Debug, Default)]
pub struct AgentBridge {
    agent: BridgedAgentState,
    client: ClientPresence,
    /// The agent goes on by itself: the first request brings it nothing.
    resumed: bool,
    /// The agent says when it has nothing to do; the end of a turn means nothing then.
    reports_idle: bool,
    /// Something was heard since the agent got its last prompt: before that, an end is the end of
    /// something older.
    has_new_events: bool,
    /// A text was said in this turn.
    has_text: bool,
    /// How many calls a reply may tell.
    call_limit: usize,
    /// The agent ended its turn, and the client believes that answers are still wanted.
    abandoned: bool,
    /// Calls timed out, and the client has not heard what the agent made of that.
    has_unseen_timeout: bool,
    /// The message that is being said.
    message: Option<CallAssembler>,
    /// The id of the last message.
    message_id: Option<String>,
    calls: PendingCalls,
    /// Calls of the agent's own tools that are at work.
    agent_calls: Vec<String>,
    permission_requests: Vec<PermissionRequest>,
    /// What a person said, behind answers that the agent does not want yet.
    prompt: Vec<Value>,
    merger: MessageMerger,
    /// What was said while nobody listened.
    buffer: EventBuffer,
    last_reply: LastReply,
    out: Vec<BridgeOutput>,
}

/// What the agent does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum BridgedAgentState {
    #[default]
    Idle,
    Working,
    Gone,
}

/// Whether somebody waits for a reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum ClientPresence {
    #[default]
    Absent,
    Waiting,
}

impl AgentBridge {
    /// A conversation with an agent that was just started. `resumed`: it goes on by itself with
    /// what its session file says, and the first request brings it nothing.
    pub fn new(resumed: bool) -> AgentBridge {
        let agent = if resumed { BridgedAgentState::Working } else { BridgedAgentState::Idle };
        AgentBridge { agent, resumed, call_limit: usize::MAX, ..AgentBridge::default() }
    }

    /// Something happens: what is to be done, in order.
    pub fn step(&mut self, input: BridgeInput) -> Vec<BridgeOutput> {
        match input {
            BridgeInput::Request(tail) => self.take_request(tail),
            BridgeInput::AgentEvent(heard) => match self.agent {
                BridgedAgentState::Gone => {}
                BridgedAgentState::Idle | BridgedAgentState::Working => {
                    self.apply_agent_event(heard)
                }
            },
            BridgeInput::Decided { ticket, decision } => self.apply_decision(&ticket, decision),
            BridgeInput::TimedOut => self.time_out_calls(),
            BridgeInput::Stop => match self.phase() {
                BridgePhase::Idle | BridgePhase::Dead => {}
                BridgePhase::Replying | BridgePhase::Waiting | BridgePhase::Unattended => {
                    self.push_command(AgentCommand::Interrupt);
                    self.withdraw_requests();
                    self.fail(499, "stopped", "the run was stopped".to_owned());
                    self.kill_agent();
                }
            },
            BridgeInput::Died(how) => {
                if self.agent != BridgedAgentState::Gone {
                    self.fail(502, "agent_died", format!("the agent is gone: {how}"));
                    self.reset();
                }
            }
        }
        std::mem::take(&mut self.out)
    }

    /// What it is doing.
    pub fn phase(&self) -> BridgePhase {
        match (self.agent, self.client) {
            (BridgedAgentState::Gone, ClientPresence::Absent | ClientPresence::Waiting) => {
                BridgePhase::Dead
            }
            (BridgedAgentState::Idle | BridgedAgentState::Working, ClientPresence::Waiting) => {
                BridgePhase::Replying
            }
            (BridgedAgentState::Idle | BridgedAgentState::Working, ClientPresence::Absent)
                if self.calls.has_unanswered() =>
            {
                BridgePhase::Waiting
            }
            (BridgedAgentState::Working, ClientPresence::Absent) => BridgePhase::Unattended,
            (BridgedAgentState::Idle, ClientPresence::Absent) => BridgePhase::Idle,
        }
    }

    /// Calls that the client was told of and has not answered, in call order. The agent may have
    /// done without some of the answers meanwhile; the client does not know that.
    pub fn open_calls(&self) -> Vec<&ClientToolCall> {
        self.calls.open().collect()
    }

    /// What would become of a request. Nothing changes.
    pub fn check(&self, tail: &RequestTail) -> RequestCheck {
        self.predict_request(tail)
    }

    /// Whether the agent went on without the client, whose next request hears of it.
    pub fn has_unseen_timeout(&self) -> bool {
        self.has_unseen_timeout
    }

    /// Questions that nobody has answered.
    pub fn permission_requests(&self) -> Vec<&PermissionRequest> {
        self.permission_requests.iter().collect()
    }

    fn push_command(&mut self, order: AgentCommand) {
        self.out.push(BridgeOutput::Command(order));
    }

    fn push_note(&mut self, note: BridgeNote) {
        self.out.push(BridgeOutput::Note(note));
    }

    fn note_ignored(&mut self, why: &'static str, calls: Vec<String>) {
        for call in calls {
            self.push_note(BridgeNote::Ignored(why, call));
        }
    }

    /// Tells the client, or keeps it until there is one.
    fn send_events(&mut self, events: Vec<Value>) {
        for event in events {
            match self.client {
                ClientPresence::Waiting => {
                    self.last_reply.push(&event);
                    self.out.push(BridgeOutput::StreamEvent(event));
                }
                ClientPresence::Absent => self.buffer.push(event),
            }
        }
    }

    /// Ends the reply: with calls, if any wait for the client.
    fn end_reply(&mut self) {
        let calls = self.calls.hand_out(self.call_limit);
        let mut events = Vec::new();
        for (call, text) in &calls {
            self.merger.push_call(call, text, &mut events);
        }
        self.merger.finish(!calls.is_empty(), &mut events);
        self.has_unseen_timeout = false;
        self.finish_reply(events);
    }

    fn finish_reply(&mut self, events: Vec<Value>) {
        self.send_events(events);
        self.last_reply.end();
        self.out.push(BridgeOutput::End);
        self.client = ClientPresence::Absent;
    }

    /// The client did not answer in time.
    fn time_out_calls(&mut self) {
        if self.client == ClientPresence::Waiting || self.agent == BridgedAgentState::Gone {
            return;
        }
        let calls = self.calls.time_out();
        if calls.is_empty() {
            return;
        }
        self.has_unseen_timeout = true;
        for call in calls {
            self.push_note(BridgeNote::TimedOut(call));
        }
        self.send_to_agent();
    }

    /// Ends the reply with a fault, if somebody waits for one.
    fn fail(&mut self, status: u16, code: &'static str, message: String) {
        if self.client == ClientPresence::Waiting {
            self.out.push(BridgeOutput::Fail(BridgeError { status, code, message }));
            self.client = ClientPresence::Absent;
            self.merger.discard();
            self.last_reply = LastReply::default();
        }
    }

    /// The agent is of no use any more: the next request goes on from what the client knows.
    fn kill_agent(&mut self) {
        self.out.push(BridgeOutput::Kill);
        self.reset();
    }

    fn reset(&mut self) {
        self.withdraw_requests();
        *self = AgentBridge {
            agent: BridgedAgentState::Gone,
            out: std::mem::take(&mut self.out),
            ..AgentBridge::default()
        };
    }

    fn apply_decision(&mut self, ticket: &str, decision: PermissionDecision) {
        let Some(at) = self.permission_requests.iter().position(|ask| ask.ticket == ticket) else {
            return;
        };
        let ask = self.permission_requests.remove(at);
        self.push_command(AgentCommand::Decide { request: ask, decision: decision.clone() });
        self.push_note(BridgeNote::PermissionClosed {
            ticket: ticket.to_owned(),
            decision: Some(decision),
        });
    }

    fn withdraw_requests(&mut self) {
        for ask in std::mem::take(&mut self.permission_requests) {
            self.push_note(BridgeNote::PermissionClosed { ticket: ask.ticket, decision: None });
        }
    }
}
