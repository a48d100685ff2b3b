//! The machine between one client's conversation and one agent.

mod held;
mod calls;
mod message;
mod memory;
mod request;
mod hear;

use serde_json::Value;

use crate::{Ask, Call, Decision, Heard, Order, Tail, speech::Speech};
use calls::Calls;
use memory::{Kept, Last};
use message::Message;

/// Something that happens to a conversation.
#[derive(Clone, PartialEq, Debug)]
pub enum Input {
    /// The client asks: from now on there is somebody to reply to. If there is somebody already,
    /// the answer is a [`Fault`] `agent_busy` for the newcomer, and the earlier reply goes on.
    Request(Tail),
    /// The agent tells something.
    Heard(Heard),
    /// A person decides about a question, by its ticket.
    Decided {
        /// The question.
        ticket: String,
        /// The decision.
        decision: Decision,
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
pub enum Output {
    /// Tell the agent.
    Order(Order),
    /// Tell the client: an event of an Anthropic stream.
    Say(Value),
    /// The reply is whole. The client hears nothing more until it asks again.
    End,
    /// There is no reply, or it cannot go on. The client hears nothing more until it asks again.
    Fail(Fault),
    /// Something for the record of the run.
    Note(Note),
    /// The agent is of no use any more: end its process.
    Kill,
}

/// Why there is no reply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
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
pub enum Note {
    /// A tool of the agent's own is at work: never the client's business.
    Own(Call),
    /// It is done.
    OwnDone {
        /// The id of the call.
        call: String,
        /// Whether it failed.
        error: bool,
    },
    /// A person is asked.
    Asked(Ask),
    /// The question has an answer, or none is wanted any more.
    Settled {
        /// The question.
        ticket: String,
        /// `None`: it was withdrawn.
        decision: Option<Decision>,
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
    pub fault: Option<Fault>,
    /// Answers that would be of no use: why (`unknown`, `duplicate` or `late`), and the id.
    pub ignored: Vec<(&'static str, String)>,
}

/// What a conversation is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// The agent has nothing to do.
    Idle,
    /// The client waits for a reply.
    Replying,
    /// The agent waits for answers, and nobody is there.
    Waiting,
    /// The agent works, and nobody is there.
    Alone,
    /// The agent is gone.
    Dead,
}

/// The machine. Every input is allowed in every phase.
///
/// What it keeps is bounded by the calls that are open, and a megabyte of what was said.
#[derive(Debug, Default)]
pub struct Talk {
    agent: Agent,
    client: Client,
    /// The agent goes on by itself: the first request brings it nothing.
    resumed: bool,
    /// The agent says when it has nothing to do; the end of a turn means nothing then.
    says_idle: bool,
    /// Something was heard since the agent got its last prompt: before that, an end is the end of
    /// something older.
    heard: bool,
    /// A text was said in this turn.
    spoke: bool,
    /// How many calls a reply may tell.
    most: usize,
    /// The agent ended its turn, and the client believes that answers are still wanted.
    abandoned: bool,
    /// Calls timed out, and the client has not heard what the agent made of that.
    unheard: bool,
    /// The message that is being said.
    message: Option<Message>,
    /// The id of the last message.
    message_id: Option<String>,
    calls: Calls,
    /// Calls of the agent's own tools that are at work.
    own: Vec<String>,
    asked: Vec<Ask>,
    /// What a person said, behind answers that the agent does not want yet.
    prompt: Vec<Value>,
    speech: Speech,
    /// What was said while nobody listened.
    kept: Kept,
    last: Last,
    out: Vec<Output>,
}

/// What the agent does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Agent {
    #[default]
    Idle,
    Working,
    Gone,
}

/// Whether somebody waits for a reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Client {
    #[default]
    Away,
    There,
}

impl Talk {
    /// A conversation with an agent that was just started. `resumed`: it goes on by itself with
    /// what its session file says, and the first request brings it nothing.
    pub fn new(resumed: bool) -> Talk {
        let agent = if resumed { Agent::Working } else { Agent::Idle };
        Talk { agent, resumed, most: usize::MAX, ..Talk::default() }
    }

    /// Something happens: what is to be done, in order.
    pub fn step(&mut self, input: Input) -> Vec<Output> {
        match input {
            Input::Request(tail) => self.request(tail),
            Input::Heard(heard) => match self.agent {
                Agent::Gone => {}
                Agent::Idle | Agent::Working => self.hear(heard),
            },
            Input::Decided { ticket, decision } => self.decided(&ticket, decision),
            Input::TimedOut => self.timed_out(),
            Input::Stop => match self.phase() {
                Phase::Idle | Phase::Dead => {}
                Phase::Replying | Phase::Waiting | Phase::Alone => {
                    self.order(Order::Interrupt);
                    self.withdraw_questions();
                    self.fail(499, "stopped", "the run was stopped".to_owned());
                    self.kill();
                }
            },
            Input::Died(how) => {
                if self.agent != Agent::Gone {
                    self.fail(502, "agent_died", format!("the agent is gone: {how}"));
                    self.bury();
                }
            }
        }
        std::mem::take(&mut self.out)
    }

    /// What it is doing.
    pub fn phase(&self) -> Phase {
        match (self.agent, self.client) {
            (Agent::Gone, Client::Away | Client::There) => Phase::Dead,
            (Agent::Idle | Agent::Working, Client::There) => Phase::Replying,
            (Agent::Idle | Agent::Working, Client::Away) if self.calls.any_unanswered() => {
                Phase::Waiting
            }
            (Agent::Working, Client::Away) => Phase::Alone,
            (Agent::Idle, Client::Away) => Phase::Idle,
        }
    }

    /// Calls that the client was told of and has not answered, in call order. The agent may have
    /// done without some of the answers meanwhile; the client does not know that.
    pub fn open(&self) -> Vec<&Call> {
        self.calls.open().collect()
    }

    /// What would become of a request. Nothing changes.
    pub fn check(&self, tail: &Tail) -> RequestCheck {
        self.foretell(tail)
    }

    /// Whether the agent went on without the client, whose next request hears of it.
    pub fn is_unheard(&self) -> bool {
        self.unheard
    }

    /// Questions that nobody has answered.
    pub fn asked(&self) -> Vec<&Ask> {
        self.asked.iter().collect()
    }

    fn order(&mut self, order: Order) {
        self.out.push(Output::Order(order));
    }

    fn note(&mut self, note: Note) {
        self.out.push(Output::Note(note));
    }

    fn ignored(&mut self, why: &'static str, calls: Vec<String>) {
        for call in calls {
            self.note(Note::Ignored(why, call));
        }
    }

    /// Tells the client, or keeps it until there is one.
    fn say(&mut self, events: Vec<Value>) {
        for event in events {
            match self.client {
                Client::There => {
                    self.last.say(&event);
                    self.out.push(Output::Say(event));
                }
                Client::Away => self.kept.push(event),
            }
        }
    }

    /// Ends the reply: with calls, if any wait for the client.
    fn end_reply(&mut self) {
        let calls = self.calls.hand_out(self.most);
        let mut events = Vec::new();
        for (call, text) in &calls {
            self.speech.call(call, text, &mut events);
        }
        self.speech.finish(!calls.is_empty(), &mut events);
        self.unheard = false;
        self.finish_reply(events);
    }

    fn finish_reply(&mut self, events: Vec<Value>) {
        self.say(events);
        self.last.end();
        self.out.push(Output::End);
        self.client = Client::Away;
    }

    /// The client did not answer in time.
    fn timed_out(&mut self) {
        if self.client == Client::There || self.agent == Agent::Gone {
            return;
        }
        let calls = self.calls.time_out();
        if calls.is_empty() {
            return;
        }
        self.unheard = true;
        for call in calls {
            self.note(Note::TimedOut(call));
        }
        self.go_on();
    }

    /// Ends the reply with a fault, if somebody waits for one.
    fn fail(&mut self, status: u16, code: &'static str, message: String) {
        if self.client == Client::There {
            self.out.push(Output::Fail(Fault { status, code, message }));
            self.client = Client::Away;
            self.speech.forget();
            self.last = Last::default();
        }
    }

    /// The agent is of no use any more: the next request goes on from what the client knows.
    fn kill(&mut self) {
        self.out.push(Output::Kill);
        self.bury();
    }

    fn bury(&mut self) {
        self.withdraw_questions();
        *self = Talk { agent: Agent::Gone, out: std::mem::take(&mut self.out), ..Talk::default() };
    }

    fn decided(&mut self, ticket: &str, decision: Decision) {
        let Some(at) = self.asked.iter().position(|ask| ask.ticket == ticket) else { return };
        let ask = self.asked.remove(at);
        self.order(Order::Decide { ask, decision: decision.clone() });
        self.note(Note::Settled { ticket: ticket.to_owned(), decision: Some(decision) });
    }

    fn withdraw_questions(&mut self) {
        for ask in std::mem::take(&mut self.asked) {
            self.note(Note::Settled { ticket: ask.ticket, decision: None });
        }
    }
}
