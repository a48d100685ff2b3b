//! What an agent tells.

use serde_json::Value;

use super::{
    Agent, Client, Message, Note, Talk,
    held::Wish,
    message::{Piece, Whose},
};
use crate::{Ask, Heard, Trouble};

/// A fault tells so many characters of what an agent said.
const LONGEST: usize = 2000;

impl Talk {
    pub(super) fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Ready | Heard::Noise => {}
            Heard::Said(event) => {
                self.at_work();
                self.said(event);
            }
            Heard::Wants { ticket, call, name, arguments } => {
                self.at_work();
                self.wants(Wish { ticket, call, name, arguments });
            }
            Heard::Withdrawn { ticket } => self.withdrawn(&ticket),
            Heard::Closed { call, error } => self.closed(call, error),
            Heard::Asks(ask) => {
                self.at_work();
                self.asks(ask);
            }
            Heard::Ended { trouble, text, more } => self.ended(trouble, text, more),
            Heard::Idle => {
                self.says_idle = true;
                if self.heard {
                    self.rest();
                }
            }
        }
    }

    fn at_work(&mut self) {
        self.agent = Agent::Working;
        self.heard = true;
    }

    fn said(&mut self, event: Value) {
        let kind = event.get("type").and_then(Value::as_str).unwrap_or("");
        match kind {
            "message_start" => {
                self.message_over();
                // A message may come in several parts, if its agent does not say where it ends: it
                // is one message, and costs what it costs once.
                let id = event.get("message").and_then(|message| message.get("id")?.as_str());
                let part = id.is_some() && self.message_id.as_deref() == id;
                self.message_id = id.map(str::to_owned);
                if !part {
                    self.left_behind();
                    self.utter(event);
                }
                self.message = Some(Message::default());
            }
            "message_stop" => {
                self.message_over();
                self.hand_out();
            }
            "content_block_start" | "content_block_delta" | "content_block_stop" => {
                let piece = self.message.get_or_insert_default().event(event);
                self.piece(piece);
            }
            _ => self.utter(event),
        }
    }

    fn piece(&mut self, piece: Piece) {
        match piece {
            Piece::Part | Piece::Dropped => {}
            Piece::Other(event) => self.utter(event),
            Piece::Called { whose: Whose::Client, call, text } => self.calls.said(call, text),
            Piece::Called { whose: Whose::Agent, call, text: _ } => {
                self.own.push(call.id.clone());
                self.note(Note::Own(call));
            }
        }
    }

    /// Passes on what is no call.
    fn utter(&mut self, event: Value) {
        let block = event.get("content_block").and_then(|block| block.get("type"));
        self.spoke |= block.and_then(Value::as_str) == Some("text");
        let piece =
            block.is_some() || event.get("delta").is_some_and(|it| it.get("type").is_some());
        if piece && self.client == Client::Away && self.kept.is_full() {
            return;
        }
        let mut events = Vec::new();
        self.speech.said(event, &mut events);
        self.say(events);
    }

    /// The message that is being said is over, however it ended.
    fn message_over(&mut self) {
        self.message = None;
        self.calls.nothing_more_is_said();
        let mut events = Vec::new();
        self.speech.message_over(&mut events);
        self.say(events);
    }

    /// The agent goes on, and does not wait for calls that it has no wish for.
    fn left_behind(&mut self) -> bool {
        let (late, abandoned) = self.calls.went_on();
        self.ignored("late", late);
        self.go_on();
        abandoned
    }

    fn wants(&mut self, wish: Wish) {
        let Some(wish) = self.calls.wanted(wish) else { return self.go_on() };
        if self.message.is_some() {
            return self.calls.wait_for(wish);
        }
        self.calls.wished(wish);
        self.hand_out();
    }

    /// Ends the reply if calls wait for the client.
    fn hand_out(&mut self) {
        if self.client == Client::There && self.calls.any_unanswered() {
            self.end_reply();
        }
    }

    fn withdrawn(&mut self, ticket: &str) {
        if let Some(at) = self.asked.iter().position(|ask| ask.ticket == ticket) {
            self.asked.remove(at);
            return self.note(Note::Settled { ticket: ticket.to_owned(), decision: None });
        }
        let late = self.calls.withdraw(ticket);
        self.ignored("late", late);
        self.go_on();
    }

    fn closed(&mut self, call: String, error: bool) {
        if let Some(at) = self.own.iter().position(|id| *id == call) {
            self.own.remove(at);
            return self.note(Note::OwnDone { call, error });
        }
        if self.message.as_mut().is_some_and(|message| message.close(&call)) {
            return;
        }
        let late = self.calls.close(&call);
        self.ignored("late", late);
        self.go_on();
    }

    fn asks(&mut self, ask: Ask) {
        self.asked.retain(|known| known.ticket != ask.ticket);
        self.asked.push(ask.clone());
        self.note(Note::Asked(ask));
    }

    /// A turn has ended. An agent that says when it is idle may go on by itself.
    fn ended(&mut self, trouble: Option<Trouble>, text: Option<String>, more: bool) {
        self.heard = true;
        if let Some(trouble) = trouble.filter(|trouble| !trouble.stopped) {
            let status = trouble.status.filter(|status| (400..600).contains(status));
            let message = trouble.message.chars().take(LONGEST).collect();
            self.fail(status.unwrap_or(502), "agent_failed", message);
            // What it knows now is not what the client knows.
            return self.kill();
        }
        self.message_over();
        let text = text.filter(|text| !text.is_empty() && !self.spoke);
        if let Some(text) = text.filter(|_| self.client == Client::There || !self.kept.is_full()) {
            let mut events = Vec::new();
            self.speech.text(&text, &mut events);
            self.say(events);
        }
        self.spoke = false;
        self.abandoned |= self.left_behind();
        if !more && !self.says_idle {
            return self.rest();
        }
        self.hand_out();
    }

    /// The agent has nothing to do.
    fn rest(&mut self) {
        self.agent = Agent::Idle;
        self.heard = false;
        self.own.clear();
        self.message_over();
        self.abandoned |= self.left_behind();
        match (self.agent, self.client) {
            (Agent::Idle, Client::There) => self.end_reply(),
            // The client will bring answers that nobody waits for: its history can go on, this
            // agent cannot.
            (Agent::Idle, Client::Away) if self.abandoned && !self.calls.any_unanswered() => {
                self.kill();
            }
            (Agent::Idle, Client::Away) | (Agent::Working | Agent::Gone, _) => {}
        }
    }
}
