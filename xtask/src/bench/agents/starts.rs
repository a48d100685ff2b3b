//! How long a client waits for its first byte and its first word: from an agent that has to be
//! started, from one that is there, and from one that is started from a history.

use std::time::Instant;

use serde_json::{Value, json};

use super::{
    bare::Bare,
    chat::{ANSWER, Chat, Face, TOOL, number},
    stage::{Record, World},
};

/// How many turns the long history has: six messages each.
const LONG: u32 = 33;

/// Where an agent comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum From {
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

impl From {
    const ALL: [From; 5] = [From::Bare, From::Fresh, From::Live, From::Short, From::Long];

    pub(super) fn name(self) -> &'static str {
        match self {
            From::Bare => "a new agent on its bare pipe",
            From::Fresh => "a new conversation",
            From::Live => "a conversation that goes on",
            From::Short => "resumed from 7 messages",
            From::Long => "resumed from 199 messages",
        }
    }
}

/// Milliseconds, start by start.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Start {
    pub(super) from: From,
    /// Empty if there are no bytes of HTTP.
    pub(super) first: Vec<f64>,
    pub(super) word: Vec<f64>,
}

/// All of them in turns.
pub(super) fn measure(world: &World, starts: u32) -> Result<Vec<Start>, String> {
    let mut all = From::ALL.map(|from| Start { from, first: Vec::new(), word: Vec::new() });
    // Nobody has to make room, and nobody ends meanwhile.
    let gateway = world.gateway(Record::All, 3 * starts + 10, 3_600)?;
    let mut client = gateway.client();
    let mut chat = Chat::new(Face::Stream);
    for _ in 0..starts {
        for start in &mut all {
            let before = gateway.counts()?.processes;
            let (first, word, born) = match start.from {
                From::Bare => {
                    let began = Instant::now();
                    let mut bare = Bare::start(world)?;
                    let ready = began.elapsed();
                    (None, ready + bare.prompt(&words(), 0)?.word, 0)
                }
                From::Fresh | From::Live | From::Short | From::Long => {
                    let turns = match start.from {
                        From::Short => Some(1),
                        From::Long => Some(LONG),
                        From::Fresh => Some(0),
                        From::Live | From::Bare => None,
                    };
                    if let Some(turns) = turns {
                        chat.messages = history(turns);
                    }
                    chat.say(&words());
                    let came = chat.ask(&mut client, 0)?;
                    (Some(came.first), came.word, u64::from(turns.is_some()))
                }
            };
            if gateway.counts()?.processes != before + born {
                return Err(format!("{}: {born} agents were to be started", start.from.name()));
            }
            start.first.extend(first.map(|time| time.as_secs_f64() * 1_000.0));
            start.word.push(word.as_secs_f64() * 1_000.0);
        }
    }
    Ok(all.to_vec())
}

/// Something that nobody has said before.
fn words() -> String {
    format!("good morning number {}", number())
}

/// A conversation that no agent has seen.
fn history(turns: u32) -> Vec<Value> {
    let mut messages = Vec::new();
    for _ in 0..turns {
        messages.push(json!({"role": "user", "content": words()}));
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
