//! How long a client waits for its first byte and its first word: from an agent that has to be
//! started, from one that is there, and from one that is started from a history.

use std::time::Instant;

use serde_json::{Value, json};

use super::{
    agent_gateway::{RunRecording, TestAgent},
    bare_agent::BareAgent,
    chat::{ANSWER, ClientChat, ReplyMode, TOOL, number},
};

/// How many turns the long history has: six messages each.
const LONG: u32 = 33;

/// Where an agent comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StartKind {
    /// It is started, and nobody is in between.
    Bare,
    /// It is started.
    Fresh,
    /// It is there.
    Live,
    /// It is started from seven messages.
    Short,
    /// It is started from 199 messages.
    Long,
}

impl StartKind {
    const ALL: [StartKind; 5] =
        [StartKind::Bare, StartKind::Fresh, StartKind::Live, StartKind::Short, StartKind::Long];

    pub(super) fn name(self) -> &'static str {
        match self {
            StartKind::Bare => "a new agent on its bare pipe",
            StartKind::Fresh => "a new conversation",
            StartKind::Live => "a conversation that goes on",
            StartKind::Short => "resumed from 7 messages",
            StartKind::Long => "resumed from 199 messages",
        }
    }
}

/// Milliseconds, start by start.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct StartTimes {
    pub(super) from: StartKind,
    /// Empty if there are no bytes of HTTP.
    pub(super) first: Vec<f64>,
    pub(super) first_text: Vec<f64>,
}

/// All of them in turns.
pub(super) fn measure(agent: &TestAgent, starts: u32) -> Result<Vec<StartTimes>, String> {
    let mut all =
        StartKind::ALL.map(|from| StartTimes { from, first: Vec::new(), first_text: Vec::new() });
    // Nobody has to make room, and nobody ends meanwhile.
    let gateway = agent.gateway(RunRecording::All, 3 * starts + 10, 3_600)?;
    let mut client = gateway.client();
    let mut chat = ClientChat::new(ReplyMode::Stream);
    for _ in 0..starts {
        for start in &mut all {
            let before = gateway.counts()?.processes;
            let (first, first_text, born) = match start.from {
                StartKind::Bare => {
                    let began = Instant::now();
                    let mut bare = BareAgent::start(agent)?;
                    let ready = began.elapsed();
                    (None, ready + bare.prompt(&text(), 0)?.first_text, 0)
                }
                StartKind::Fresh | StartKind::Live | StartKind::Short | StartKind::Long => {
                    let turns = match start.from {
                        StartKind::Short => Some(1),
                        StartKind::Long => Some(LONG),
                        StartKind::Fresh => Some(0),
                        StartKind::Live | StartKind::Bare => None,
                    };
                    if let Some(turns) = turns {
                        chat.messages = history(turns);
                    }
                    chat.say(&text());
                    let reply = chat.send(&mut client, 0)?;
                    (Some(reply.first), reply.first_text, u64::from(turns.is_some()))
                }
            };
            if gateway.counts()?.processes != before + born {
                return Err(format!("{}: {born} agents were to be started", start.from.name()));
            }
            start.first.extend(first.map(|time| time.as_secs_f64() * 1_000.0));
            start.first_text.push(first_text.as_secs_f64() * 1_000.0);
        }
    }
    Ok(all.to_vec())
}

/// A text that was never used before.
fn text() -> String {
    format!("good morning number {}", number())
}

/// A conversation that no agent has had.
fn history(turns: u32) -> Vec<Value> {
    let mut messages = Vec::new();
    for _ in 0..turns {
        messages.push(json!({"role": "user", "content": text()}));
        let ids = [(); 3].map(|()| format!("toolu_bench_{}", number()));
        let calls = ids.iter().map(|id| {
            let arguments = json!({"n": number()}).to_string();
            let function = json!({"name": TOOL, "arguments": arguments});
            json!({"id": id, "type": "function", "function": function})
        });
        let calls: Vec<Value> = calls.collect();
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": calls}));
        for id in &ids {
            let answer = json!({"role": "tool", "tool_call_id": id, "content": ANSWER});
            messages.push(answer);
        }
        messages.push(json!({"role": "assistant", "content": "Nothing is there."}));
    }
    messages
}
