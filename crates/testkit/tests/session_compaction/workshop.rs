//! Makes files shorter, and reads what they tell.

use foxwedge_core::{
    Policy, Question, Report, check,
    compact::{Counter, Fraction, Limits},
};
use foxwedge_dialect::{
    compact::{Compacted, Digest, Settings, Stage, compact},
    session::{Agent, Condensed, NotCompacted, read, text},
    want,
};
use foxwedge_testkit::{laws::session::case, told};
use serde_json::{Value, json};

/// What an agent shows where a compaction stands.
pub(crate) const MARKER: &str = "Earlier messages are hidden.";

/// How a file is made shorter: strategies, and which share of its tokens may stay.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    stages: &'static [Stage],
    percent: u64,
}

/// The ways that are tried.
pub(crate) const WAYS: [Way; 5] = [
    Way { stages: &[Stage::Window(Fraction::HALF)], percent: 99 },
    Way { stages: &[Stage::Budget], percent: 60 },
    Way { stages: &[Stage::Elide, Stage::Budget], percent: 70 },
    Way { stages: &[Stage::Importance], percent: 70 },
    Way { stages: &[Stage::Summarize], percent: 90 },
];

/// For recorded sessions: they are short, and much of them has to stay.
pub(crate) const GENTLE: [Way; 2] =
    [Way { stages: &[Stage::Elide], percent: 95 }, Way { stages: &[Stage::Budget], percent: 95 }];

/// A token for every four bytes.
struct Quarters;

impl Counter for Quarters {
    fn text(&mut self, text: &str) -> u32 {
        u32::try_from(text.len().div_ceil(4)).unwrap_or(u32::MAX)
    }

    fn media(&mut self, _: &str) -> u32 {
        700
    }

    fn is_exact(&self) -> bool {
        false
    }
}

pub(crate) fn question(agent: Agent) -> Question {
    case(1, agent, Policy { bold: true, ..Policy::default() }, 0).question()
}

/// What a file tells.
pub(crate) struct Told {
    pub(crate) history: String,
    pub(crate) report: Report,
}

impl Told {
    /// Its messages as one compares them: what one speaker says in a row is one message.
    pub(crate) fn messages(&self, agent: Agent) -> Vec<Value> {
        joined(agent, &self.history)
    }

    /// Rules about what is said that are broken.
    pub(crate) fn codes(&self) -> Vec<u16> {
        let codes = self.report.findings.iter().map(|finding| finding.rule.code);
        codes.filter(|code| *code < 700).collect()
    }

    /// Something is wrong with its lines or links.
    pub(crate) fn is_flawed(&self) -> bool {
        self.report.findings.iter().any(|finding| finding.rule.code >= 700)
    }
}

/// Reads a file; `None` if its reader refuses it.
pub(crate) fn tell(agent: Agent, bytes: &[u8]) -> Option<Told> {
    let text = text(bytes).ok()?;
    let question = question(agent);
    let session = read(&text, agent, want(question.profile)).ok()?;
    Some(Told { history: session.history(), report: check(session.draft(), &question) })
}

/// A list of messages, those of the same speaker joined where the agent joins them.
pub(crate) fn joined(agent: Agent, list: &str) -> Vec<Value> {
    let list: Value = serde_json::from_str(list).unwrap_or(Value::Null);
    let list = told(agent.wire().name(), list.as_array().map_or(&[], Vec::as_slice));
    let key = match agent {
        Agent::ClaudeCode | Agent::Neovate => "content",
        Agent::GeminiCli => "parts",
        Agent::Codex | Agent::Cline => return list.iter().map(without_notes).collect(),
    };
    let mut joined: Vec<Value> = Vec::new();
    for message in list {
        let (role, mut said) = (message["role"].clone(), message[key].clone());
        // Nobody sends a reply that says nothing.
        let blocks = said.as_array_mut().map(std::mem::take).unwrap_or_default();
        let blank = |part: &Value| part["text"].as_str().is_some_and(|text| text.trim().is_empty());
        let said: Vec<Value> = blocks.into_iter().filter(|part| !blank(part)).collect();
        let thinks = |part: &Value| part["type"] == "thinking" || part["thought"] == true;
        if said.iter().all(thinks) {
            continue;
        }
        let last = joined.last_mut().filter(|last| last["role"] == role && role == "user");
        match last.and_then(|last| last[key].as_array_mut()) {
            Some(before) => before.extend(said),
            None => joined.push(json!({"role": role, key: said})),
        }
    }
    for user in joined.iter_mut().filter(|message| message["role"] == "user") {
        if let Some(said) = user[key].as_array_mut() {
            // Answers stand first, wherever they were told.
            said.sort_by_key(|part| {
                part["type"] != "tool_result" && part.get("functionResponse").is_none()
            });
        }
    }
    joined
}

/// Cline keeps more in a message than it sends.
fn without_notes(message: &Value) -> Value {
    match message.get("ts") {
        Some(_) => json!({"role": message["role"], "content": message["content"]}),
        None => message.clone(),
    }
}

/// A file made shorter: what the compaction left, and the file with it.
pub(crate) struct Shorter {
    pub(crate) text: String,
    pub(crate) bytes: Result<Vec<u8>, NotCompacted>,
}

/// Makes a file shorter; `None` if its history cannot be.
pub(crate) fn shorten(agent: Agent, bytes: &[u8], way: Way) -> Option<Shorter> {
    let text = text(bytes).ok()?;
    let question = question(agent);
    let session = read(&text, agent, want(question.profile)).ok()?;
    let history = session.history();
    let tokens = (history.len() / 4) as u64 * way.percent / 100;
    let limits = Limits::new(tokens, tokens);
    let settings = Settings { stages: way.stages.to_vec(), ..Settings::new(question, limits) };
    let compacted: Compacted<'_> =
        compact(&history, agent.wire(), &settings, &mut Quarters, &mut Digest).ok()?;
    let rewritten = session.compacted(&Condensed::of(&compacted, MARKER));
    let bytes = rewritten.map(|rewritten| {
        let mut bytes = Vec::new();
        rewritten.write_to(&mut bytes).expect("memory takes everything");
        bytes
    });
    Some(Shorter { text: compacted.text.to_string(), bytes })
}

/// Takes the last compaction of a file back.
pub(crate) fn lengthen(agent: Agent, bytes: &[u8]) -> Option<Vec<u8>> {
    let text = text(bytes).ok()?;
    let session = read(&text, agent, want(agent.profile())).ok()?;
    let rewritten = session.uncompacted()?;
    let mut bytes = Vec::new();
    rewritten.write_to(&mut bytes).expect("memory takes everything");
    Some(bytes)
}

/// Repairs a file.
pub(crate) fn repaired(agent: Agent, bytes: &[u8]) -> Option<Vec<u8>> {
    let text = text(bytes).ok()?;
    let session = read(&text, agent, want(agent.profile())).ok()?;
    let mut fixed = Vec::new();
    session.fix(&question(agent)).0.write_to(&mut fixed).ok()?;
    Some(fixed)
}

/// The file with one more message of the user's at its end, as the agent writes it.
pub(crate) fn continued(agent: Agent, bytes: &[u8], words: &str) -> Vec<u8> {
    let lines = bytes.split(|byte| *byte == b'\n').rev();
    let mut records = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let last = records.find(|record| record["uuid"].is_string()).unwrap_or_default();
    let text = json!([{"type": "text", "text": words}]);
    let message = json!({"role": "user", "content": text});
    let record = match agent {
        Agent::ClaudeCode => json!({"type": "user", "message": message, "uuid": "one-more",
            "parentUuid": last["uuid"], "isSidechain": last["isSidechain"]}),
        Agent::Neovate => json!({"type": "message", "role": "user", "content": text,
            "uuid": "one-more", "parentUuid": last["uuid"]}),
        Agent::Codex => json!({"timestamp": "2027-01-01T00:00:00.000Z", "type": "response_item",
            "payload": {"type": "message", "role": "user",
                "content": [{"type": "input_text", "text": words}]}}),
        Agent::GeminiCli => json!({"id": "one-more", "timestamp": "2027-01-01T00:00:00.000Z",
            "type": "user", "content": [{"text": words}]}),
        Agent::Cline => json!({"role": "user", "content": text, "ts": 1_900_000_000_000_u64}),
    };
    let mut longer = bytes.to_vec();
    if agent == Agent::Cline {
        let end = longer.iter().rposition(|byte| *byte == b']').unwrap_or(0);
        longer.splice(end..end, format!(",{record}").into_bytes());
    } else {
        longer.extend(format!("{record}\n").into_bytes());
    }
    longer
}
