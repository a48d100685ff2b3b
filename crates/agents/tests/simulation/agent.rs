//! A random agent. It knows nothing of the machine: it says what agents say, and writes down what
//! it is told.

use std::collections::{HashSet, VecDeque};

use foxwedge_agents::{AgentCommand, AgentEvent, PermissionKind, PermissionRequest, TurnFailure};
use serde_json::json;

use crate::{
    dice::Dice,
    log::Log,
    message::{Block, events},
};

pub(crate) struct Agent {
    style: Style,
    /// What it does next.
    acts: VecDeque<Act>,
    /// Messages it still wants to say for this prompt.
    messages: usize,
    queued: usize,
    working: bool,
    /// Numbers what it makes up; never goes back, whichever agent it is.
    count: usize,
    pub(crate) log: Log,
}

struct Style {
    serial: bool,
    says_idle: bool,
    wishes_name_calls: bool,
    fragments: usize,
    trouble: usize,
}

enum Act {
    Hear(AgentEvent),
    /// Waits until no wish is open.
    Await,
    /// Waits until the question is settled.
    AwaitAsk(String),
    /// Says the next message, or ends.
    Next,
    /// Has nothing to do, and says so.
    Rest,
}

impl Agent {
    pub(crate) fn new(dice: &mut Dice, count: usize) -> Agent {
        let style = Style {
            serial: dice.chance(40),
            says_idle: dice.chance(60),
            wishes_name_calls: dice.chance(80),
            fragments: 1 + dice.below(3),
            trouble: if dice.chance(15) { 8 } else { 0 },
        };
        let (acts, log) = (VecDeque::new(), Log::default());
        Agent { style, acts, messages: 0, queued: 0, working: false, count, log }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Goes to work: it was asked, or goes on by itself.
    pub(crate) fn work(&mut self, dice: &mut Dice) {
        if self.working {
            self.queued += 1;
            return;
        }
        self.working = true;
        self.messages = 1 + dice.below(4);
        // It said that it had nothing to do, and the pipe is slow.
        if self.style.says_idle && dice.chance(10) {
            self.hear(AgentEvent::Idle);
        }
        self.acts.push_back(Act::Next);
    }

    pub(crate) fn order(&mut self, order: &AgentCommand, dice: &mut Dice) {
        match order {
            AgentCommand::Prompt(blocks) => {
                let text = blocks.iter().map(|block| block["text"].as_str().unwrap_or("?"));
                self.log.prompts.push(text.collect::<Vec<_>>().join(" "));
                self.work(dice);
            }
            AgentCommand::ToolResult { ticket, content, error: _ } => {
                let name = self.log.wishes.remove(ticket);
                let name = name.unwrap_or_else(|| panic!("nobody wants {ticket}"));
                let text = content[0]["text"].as_str().unwrap_or("?").to_owned();
                self.log.answers.push((name.clone(), text));
                let call = name.replace("f_", "call_");
                self.acts.push_front(Act::Hear(AgentEvent::CallClosed { call, error: false }));
            }
            AgentCommand::Decide { request: ask, decision: _ } => {
                assert!(self.log.asks.remove(&ask.ticket), "nobody asked {}", ask.ticket);
            }
            AgentCommand::Interrupt => {}
        }
    }

    /// Whether it can do something without hearing anything.
    pub(crate) fn is_able(&self) -> bool {
        match self.acts.front() {
            None => false,
            Some(Act::Await) => self.log.wishes.is_empty(),
            Some(Act::AwaitAsk(ticket)) => !self.log.asks.contains(ticket),
            Some(Act::Hear(_) | Act::Next | Act::Rest) => true,
        }
    }

    pub(crate) fn is_working(&self) -> bool {
        self.working
    }

    /// Does the next thing: what it tells, if anything.
    pub(crate) fn act(&mut self, dice: &mut Dice) -> Option<AgentEvent> {
        if !self.is_able() {
            return None;
        }
        match self.acts.pop_front()? {
            Act::Await | Act::AwaitAsk(_) => None,
            Act::Next => {
                self.next(dice);
                None
            }
            Act::Rest if self.queued > 0 => {
                self.queued -= 1;
                self.messages = 1 + dice.below(3);
                self.acts.push_back(Act::Next);
                None
            }
            Act::Rest => {
                self.working = false;
                Some(AgentEvent::Idle)
            }
            Act::Hear(heard) => {
                if let AgentEvent::TurnEnded { more, .. } = &heard {
                    self.working = *more;
                }
                self.log.hear(&heard);
                Some(heard)
            }
        }
    }

    fn fresh(&mut self) -> usize {
        self.count += 1;
        self.count
    }

    fn hear(&mut self, heard: AgentEvent) {
        self.acts.push_back(Act::Hear(heard));
    }

    fn next(&mut self, dice: &mut Dice) {
        if self.messages == 0 {
            return self.end(dice);
        }
        self.messages -= 1;
        if dice.chance(self.style.trouble) {
            let trouble = TurnFailure { status: Some(529), message: "busy".into(), stopped: false };
            self.hear(AgentEvent::TurnEnded { failure: Some(trouble), text: None, more: false });
            return;
        }
        if dice.chance(8) {
            self.wish_alone(dice);
        }
        let mut blocks = Vec::new();
        let calls = if self.messages == 0 { 0 } else { dice.below(5) };
        if dice.chance(60) || calls == 0 {
            blocks.push(Block::Text(self.fresh()));
        }
        for _ in 0..calls {
            blocks.push(match dice.below(10) {
                0 | 1 => Block::Own(self.fresh()),
                2 => Block::Text(self.fresh()),
                _ => Block::Call(self.fresh()),
            });
        }
        self.say(&blocks, dice);
        self.acts.push_back(Act::Next);
    }

    /// A call that is never said.
    fn wish_alone(&mut self, dice: &mut Dice) {
        let number = self.fresh();
        let wish = self.wish(number, dice.chance(50));
        self.hear(wish);
        self.acts.push_back(Act::Await);
    }

    fn wish(&self, number: usize, named: bool) -> AgentEvent {
        AgentEvent::ToolResultWanted {
            ticket: format!("ticket_{number}"),
            call: named.then(|| format!("call_{number}")),
            name: format!("f_{number}"),
            arguments: json!({"n": number}),
        }
    }

    /// Says a message, and everything that happens around its calls.
    fn say(&mut self, blocks: &[Block], dice: &mut Dice) {
        let mut early = HashSet::new();
        let mut later: Vec<Vec<AgentEvent>> = Vec::new();
        for (event, ends) in events(blocks, self.style.fragments, dice) {
            // A wish may come before its call is said.
            if let Some(Block::Call(number)) = starts(blocks, &event)
                && !self.style.serial
                && dice.chance(10)
            {
                let wish = self.wish(number, self.style.wishes_name_calls);
                self.hear(wish);
                early.insert(number);
            }
            self.hear(AgentEvent::StreamEvent(event));
            match ends {
                Some(Block::Call(number)) if early.contains(&number) => {}
                Some(Block::Call(number)) => {
                    let call = format!("call_{number}");
                    let wish = self.wish(number, self.style.wishes_name_calls);
                    let closed = AgentEvent::CallClosed { call, error: true };
                    match dice.below(12) {
                        0 => self.hear(closed),
                        1 => later.push(vec![closed]),
                        2 if !self.style.serial => {
                            let ticket = format!("ticket_{number}");
                            later.push(vec![wish, AgentEvent::Withdrawn { ticket }, closed]);
                        }
                        3..=6 if !self.style.serial => self.hear(wish),
                        _ => later.push(vec![wish]),
                    }
                }
                Some(Block::Own(number)) => {
                    if dice.chance(20) {
                        let ticket = format!("ask_{number}");
                        self.hear(AgentEvent::PermissionRequested(PermissionRequest {
                            ticket: ticket.clone(),
                            call: None,
                            tool: "Bash".into(),
                            input: json!({}),
                            kind: PermissionKind::Permission,
                        }));
                        if dice.chance(30) {
                            self.hear(AgentEvent::Withdrawn { ticket });
                        } else {
                            self.acts.push_back(Act::AwaitAsk(ticket));
                        }
                    }
                    let closed =
                        AgentEvent::CallClosed { call: format!("own_{number}"), error: false };
                    later.push(vec![closed]);
                }
                Some(Block::Text(_)) | None => {}
            }
        }
        if !self.style.serial {
            dice.shuffle(&mut later);
        }
        for acts in later {
            for act in acts {
                self.hear(act);
            }
            if self.style.serial {
                self.acts.push_back(Act::Await);
            }
        }
        self.acts.push_back(Act::Await);
    }

    fn end(&mut self, dice: &mut Dice) {
        let text = dice.chance(30).then(|| "said before".to_owned());
        let more = self.queued > 0;
        // Before it has said so once, the protocol knows that it will.
        self.hear(AgentEvent::TurnEnded {
            failure: None,
            text,
            more: more || self.style.says_idle,
        });
        if more {
            self.queued -= 1;
            self.messages = 1 + dice.below(3);
            self.acts.push_back(Act::Next);
        } else if self.style.says_idle {
            self.acts.push_back(Act::Rest);
        }
    }
}

/// The block that an event starts.
fn starts(blocks: &[Block], event: &serde_json::Value) -> Option<Block> {
    let index = event["index"].as_u64().filter(|_| event["type"] == "content_block_start")?;
    blocks.get(index as usize).copied()
}
