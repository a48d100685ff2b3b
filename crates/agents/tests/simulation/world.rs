//! One conversation: a client, an agent and the machine between them, in an order that chance
//! decides.

mod verdict;

use std::collections::HashMap;

use foxwedge_agents::{
    AgentBridge, AgentCommand, AgentEvent, BridgeInput, BridgeNote, BridgeOutput, BridgePhase,
    ClientToolResult, PermissionDecision, RequestTail,
};
use foxwedge_core::Format;
use serde_json::{Value, json};

use crate::{
    agent::Agent,
    client::{Called, Client, Move},
    dice::Dice,
    judge,
    seen::Seen,
};

pub(crate) struct World {
    dice: Dice,
    talk: AgentBridge,
    agent: Agent,
    client: Client,
    /// Somebody waits for a reply.
    there: bool,
    said: Vec<Value>,
    /// The agent's process is there.
    alive: bool,
    /// Nothing was ever asked: the first agent needs a prompt.
    fresh: bool,
    /// Names of calls by the ids that the client knows.
    names: HashMap<String, String>,
    /// Calls that the client was told of by this agent, in order.
    told: Vec<String>,
    /// Those of them that nobody answered in time.
    timed_out: Vec<String>,
    disasters: usize,
    /// How often the agent is quicker than a client that has something to do.
    haste: usize,
    /// The last reply was lost: what it told may be told once more.
    repeats: bool,
    /// Answers of the last request that were of no use.
    ignored: Vec<(&'static str, String)>,
    aloud: bool,
    pub(crate) seen: Seen,
}

impl World {
    pub(crate) fn new(seed: u64, aloud: bool) -> World {
        let mut dice = Dice(seed);
        let client = Client::new(&mut dice);
        let agent = Agent::new(&mut dice, 0);
        let disasters = if dice.chance(30) { 1 + dice.below(2) } else { 0 };
        let haste = [20, 50, 95][dice.below(3)];
        World {
            dice,
            talk: AgentBridge::new(false),
            agent,
            client,
            there: false,
            said: Vec::new(),
            alive: true,
            fresh: true,
            names: HashMap::new(),
            told: Vec::new(),
            timed_out: Vec::new(),
            disasters,
            haste,
            repeats: false,
            ignored: Vec::new(),
            aloud,
            seen: Seen::default(),
        }
    }

    /// Until the client has nothing more to say.
    pub(crate) fn run(mut self) -> Seen {
        for _ in 0..5000 {
            if self.disasters > 0 && self.dice.chance(2) {
                self.disasters -= 1;
                self.disaster();
            }
            if self.there && self.dice.chance(1) {
                self.crowd();
            }
            if self.dice.chance(2) {
                self.time_out();
            }
            let agent = self.alive && self.agent.is_able();
            if agent && (self.there || self.dice.chance(self.haste)) {
                if let Some(heard) = self.agent.act(&mut self.dice) {
                    self.step(BridgeInput::AgentEvent(heard));
                }
            } else if !self.there {
                let step = self.client.act(&mut self.dice);
                if !self.go(step) {
                    return self.rest();
                }
            } else {
                self.person();
            }
        }
        panic!("it never ends");
    }

    /// The client waits and the agent does: for a person, or something is wrong.
    fn person(&mut self) {
        let ticket = self.talk.permission_requests().first().map(|ask| ask.ticket.clone());
        let ticket = ticket.unwrap_or_else(|| panic!("everybody waits: {:?}", self.talk));
        self.seen.questions += 1;
        let decision = PermissionDecision::Deny { message: "no".into() };
        self.step(BridgeInput::Decided { ticket, decision });
    }

    /// Others speak where nobody asked them.
    fn crowd(&mut self) {
        let refused = self.talk.step(BridgeInput::Request(RequestTail::default()));
        let busy = |output: &BridgeOutput| matches!(output, BridgeOutput::Fail(f) if f.code == "agent_busy");
        assert!(refused.len() == 1 && refused.iter().all(busy), "{refused:?}");
        for heard in [
            AgentEvent::Unreadable,
            AgentEvent::Ready,
            AgentEvent::Withdrawn { ticket: "none".into() },
        ] {
            assert_eq!(self.talk.step(BridgeInput::AgentEvent(heard)), []);
        }
    }

    /// The client has taken too long, if it owes anything: every call that it owes gets an error as
    /// its answer, and no other call does.
    fn time_out(&mut self) {
        let before = format!("{:?}", self.talk);
        let open = self.open();
        if self.there || !self.alive || open.is_empty() {
            assert_eq!(self.talk.step(BridgeInput::TimedOut), []);
            assert_eq!(before, format!("{:?}", self.talk), "nothing had to change");
            return;
        }
        self.seen.timed_out += 1;
        self.client.expired = true;
        self.timed_out.extend(open.iter().map(|id| self.names[id].clone()));
        self.step(BridgeInput::TimedOut);
        assert!(self.open().is_empty(), "{:?}", self.open());
        assert!(!self.there && self.alive);
        assert!(self.talk.has_unseen_timeout());
    }

    /// Something ends before its time.
    fn disaster(&mut self) {
        if !self.alive {
            return;
        }
        if self.there && self.dice.chance(50) {
            self.seen.stops += 1;
            self.step(BridgeInput::Stop);
            assert!(!self.alive, "nobody listens, and the agent goes on");
        } else {
            self.seen.deaths += 1;
            self.alive = false;
            self.step(BridgeInput::Died("gone".into()));
        }
        assert_eq!(self.talk.phase(), BridgePhase::Dead);
        assert!(!self.there && self.talk.open_calls().is_empty());
    }

    /// What the client does. Whether it goes on.
    fn go(&mut self, step: Move) -> bool {
        match step {
            Move::Done => return false,
            Move::Bogus => {
                if self.alive && !self.fresh {
                    let answers = vec![answer("call_bogus")];
                    let before = format!("{:?}", self.talk);
                    self.there = true;
                    self.request(RequestTail { answers, ..RequestTail::default() });
                    assert!(!self.there, "an answer to nothing got a reply");
                    assert_eq!(before, format!("{:?}", self.talk), "a refusal changes nothing");
                }
            }
            Move::Again => {
                if self.alive {
                    self.seen.lost_replies += 1;
                    self.repeats = true;
                    self.client.lose();
                    self.send(Vec::new());
                    self.repeats = false;
                }
            }
            Move::Send { extra } => self.send(extra),
        }
        true
    }

    fn open(&self) -> Vec<String> {
        self.talk.open_calls().iter().map(|call| call.id.clone()).collect()
    }

    fn send(&mut self, extra: Vec<String>) {
        let open = judge::history(&self.client.history());
        if !self.alive {
            return self.start_over(&open);
        }
        self.fresh = false;
        let from = self.client.tip;
        let mut tail = RequestTail::read(&self.client.request(), Format::OpenaiChat, from).unwrap();
        assert!(!tail.foreign);
        assert_eq!(tail.one_at_a_time, self.client.serial);
        tail.answers.extend(extra.iter().map(|id| answer(id)));
        self.there = true;
        self.request(tail);
    }

    /// What is foretold of a request is what becomes of it, and foretelling changes nothing.
    fn request(&mut self, tail: RequestTail) {
        let before = format!("{:?}", self.talk);
        let check = self.talk.check(&tail);
        assert_eq!(before, format!("{:?}", self.talk), "looking changes nothing");
        self.ignored.clear();
        let refused = self.seen.refused;
        self.step(BridgeInput::Request(tail));
        assert_eq!(check.fault.is_some(), self.seen.refused > refused);
        let said = self.ignored.iter().take(check.ignored.len());
        assert!(said.eq(&check.ignored), "{:?} {check:?}", self.ignored);
    }

    /// Nobody is there who knows the conversation: another agent goes on from the history. If calls
    /// are open, the client hears of them without one.
    fn start_over(&mut self, open: &[String]) {
        self.client.start_over();
        if !open.is_empty() {
            let calls: Vec<Called> =
                self.client.owed.iter().filter(|call| open.contains(&call.id)).cloned().collect();
            assert_eq!(calls.len(), open.len());
            self.seen.again += 1;
            return self.client.hear(String::new(), calls);
        }
        self.agent = Agent::new(&mut self.dice, self.agent.count());
        self.agent.work(&mut self.dice);
        self.talk = AgentBridge::new(true);
        self.alive = true;
        self.fresh = false;
        self.told.clear();
        self.timed_out.clear();
        self.there = true;
        let tail = RequestTail { one_at_a_time: self.client.serial, ..RequestTail::default() };
        self.step(BridgeInput::Request(tail));
    }

    fn step(&mut self, input: BridgeInput) {
        let told = self.aloud.then(|| format!("{input:?}"));
        let outputs = self.talk.step(input);
        if let Some(told) = told {
            println!("{told}\n    {outputs:?}");
        }
        let mut delivered = Vec::new();
        for output in outputs {
            match output {
                BridgeOutput::Command(order) => {
                    if let AgentCommand::ToolResult { ticket, content, .. } = &order {
                        delivered.push(self.agent.log.wishes.get(ticket).cloned());
                        self.judge_answer(ticket, content[0]["text"].as_str().unwrap());
                    }
                    if let AgentCommand::Prompt(_) = &order {
                        self.judge_prompt();
                    }
                    self.agent.order(&order, &mut self.dice);
                }
                BridgeOutput::StreamEvent(event) => {
                    assert!(self.there, "nobody listens to {event}");
                    self.said.push(event);
                }
                BridgeOutput::End => self.end(),
                BridgeOutput::Fail(fault) => {
                    assert!(std::mem::take(&mut self.there), "nobody listens to {fault:?}");
                    self.said.clear();
                    match fault.code {
                        "unknown_call" => self.seen.refused += 1,
                        "agent_failed" => self.seen.troubles += 1,
                        "agent_died" | "stopped" => {}
                        other => panic!("{other}"),
                    }
                }
                BridgeOutput::Kill => self.alive = false,
                BridgeOutput::Note(note) => self.note(&note),
            }
        }
        // Answers that go together go in call order.
        let place = |name: &Option<String>| {
            self.agent.log.calls.iter().position(|call| Some(call) == name.as_ref())
        };
        let places: Vec<_> = delivered.iter().map(place).collect();
        assert!(places.is_sorted(), "{delivered:?}");
    }

    fn note(&mut self, note: &BridgeNote) {
        if let BridgeNote::Ignored(why, id) = note {
            self.ignored.push((*why, id.clone()));
        }
        match note {
            BridgeNote::TimedOut(id) => assert!(self.timed_out.contains(&self.names[id]), "{id}"),
            BridgeNote::AgentToolStarted(call) => {
                self.seen.own += 1;
                assert!(call.id.starts_with("own_"));
            }
            BridgeNote::Ignored("late", _) => self.seen.late += 1,
            BridgeNote::Ignored("duplicate", _) => self.seen.duplicates += 1,
            BridgeNote::Ignored(_, id) => assert_eq!(id, "call_bogus"),
            BridgeNote::AgentToolEnded { .. }
            | BridgeNote::PermissionRequested(_)
            | BridgeNote::PermissionClosed { .. } => {}
        }
    }

    fn end(&mut self) {
        assert!(std::mem::take(&mut self.there), "nobody listens");
        self.seen.replies += 1;
        let (text, calls) = judge::reply(&std::mem::take(&mut self.said));
        for call in &calls {
            let known = self.names.insert(call.id.clone(), call.name.clone());
            assert!(known.is_none_or(|name| name == call.name));
            assert!(!call.id.starts_with("own_"));
        }
        self.judge_text(&text);
        if self.client.owed.is_empty() || self.client.expired {
            self.judge_new(&calls);
        } else {
            // Nothing but what it owes.
            self.seen.again += 1;
            assert_eq!(text, "");
            let owed = &self.client.owed;
            let count = if self.client.serial { 1 } else { owed.len() };
            assert_eq!(calls, owed[..count]);
        }
        self.client.hear(text, calls);
        let owed: Vec<_> = self.client.owed.iter().map(|call| call.id.clone()).collect();
        assert_eq!(self.open(), owed);
        let said = self.agent.log.texts.concat();
        assert!(said.starts_with(&self.client.texts), "{said}\n{}", self.client.texts);
        if owed.is_empty() && self.talk.phase() == BridgePhase::Idle {
            self.judge_rest(&said);
        }
    }

    /// The client is done.
    fn rest(mut self) -> Seen {
        assert!(!self.there && self.client.owed.is_empty());
        while self.alive && self.agent.is_able() {
            if let Some(heard) = self.agent.act(&mut self.dice) {
                self.step(BridgeInput::AgentEvent(heard));
            }
        }
        if self.alive {
            assert_eq!(self.talk.phase(), BridgePhase::Idle);
            assert!(self.open().is_empty() && self.talk.permission_requests().is_empty());
        }
        judge::history(&self.client.history());
        self.seen
    }
}

fn answer(id: &str) -> ClientToolResult {
    let content = vec![json!({"type": "text", "text": "not asked for"})];
    ClientToolResult { call: id.to_owned(), content, error: false }
}
