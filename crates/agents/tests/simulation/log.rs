//! What an agent has said and what it was told, for the judge.

use std::collections::{HashMap, HashSet};

use foxwedge_agents::AgentEvent;

/// What is known of it, for the judge.
#[derive(Default)]
pub(crate) struct Log {
    /// Texts it has said, in order.
    pub(crate) texts: Vec<String>,
    /// The same, message by message.
    pub(crate) messages: Vec<String>,
    /// Calls of client's tools it has said or wished for, by name, in order.
    pub(crate) calls: Vec<String>,
    /// Calls that it has answered itself so far.
    pub(crate) closed: HashSet<String>,
    /// Wishes that wait for an answer, and the names of their calls.
    pub(crate) wishes: HashMap<String, String>,
    /// What it was asked by a person.
    pub(crate) prompts: Vec<String>,
    /// Answers by the name of the call.
    pub(crate) answers: Vec<(String, String)>,
    pub(crate) asks: HashSet<String>,
}

impl Log {
    /// It says something.
    pub(crate) fn hear(&mut self, heard: &AgentEvent) {
        match heard {
            AgentEvent::ToolResultWanted { ticket, name, .. } => {
                self.wishes.insert(ticket.clone(), name.clone());
                if !self.calls.contains(name) {
                    self.calls.push(name.clone());
                }
            }
            AgentEvent::Withdrawn { ticket } => {
                self.wishes.remove(ticket);
                self.asks.remove(ticket);
            }
            AgentEvent::CallClosed { call, .. } => {
                self.closed.insert(call.replace("call_", "f_"));
            }
            AgentEvent::PermissionRequested(ask) => {
                self.asks.insert(ask.ticket.clone());
            }
            AgentEvent::StreamEvent(event) => {
                if event["type"] == "content_block_start"
                    && event["content_block"]["type"] == "tool_use"
                {
                    let name = event["content_block"]["name"].as_str().unwrap_or("?").to_owned();
                    if !self.calls.contains(&name) {
                        self.calls.push(name);
                    }
                }
                if event["type"] == "message_start" {
                    self.messages.push(String::new());
                }
                if let Some(text) = event["delta"]["text"].as_str() {
                    self.texts.push(text.to_owned());
                    if let Some(message) = self.messages.last_mut() {
                        message.push_str(text);
                    }
                }
            }
            AgentEvent::Ready
            | AgentEvent::TurnEnded { .. }
            | AgentEvent::Idle
            | AgentEvent::Unreadable => {}
        }
    }
}
