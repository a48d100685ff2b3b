//! Makes files shorter, and reads what they tell.

use foxwedge_core::{
    CheckOptions, Policy, Report, check,
    compact::{HistoryFraction, TokenCounter, TokenLimits},
};
use foxwedge_formats::{
    compact::{CompactedText, CompactionSettings, CompactionStage, DigestSummarizer, compact},
    outline_options,
};
use foxwedge_sessions::{CompactedFile, CompactionError, SessionAgent, read, readable_text};
use foxwedge_testkit::{laws::session::case, told};
use serde_json::{Value, json};

/// What an agent shows where a compaction stands.
pub(crate) const MARKER: &str = "Earlier messages are hidden.";

/// How a file is made shorter: strategies, and which share of its tokens may stay.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    stages: &'static [CompactionStage],
    percent: u64,
}

/// The ways that are tried.
pub(crate) const WAYS: [Way; 5] = [
    Way { stages: &[CompactionStage::Window(HistoryFraction::HALF)], percent: 99 },
    Way { stages: &[CompactionStage::Budget], percent: 60 },
    Way { stages: &[CompactionStage::Elide, CompactionStage::Budget], percent: 70 },
    Way { stages: &[CompactionStage::Importance], percent: 70 },
    Way { stages: &[CompactionStage::Summarize], percent: 90 },
];

/// For recorded sessions: they are short, and much of them has to stay.
pub(crate) const GENTLE: [Way; 2] = [
    Way { stages: &[CompactionStage::Elide], percent: 95 },
    Way { stages: &[CompactionStage::Budget], percent: 95 },
];

/// A token for every four bytes.
struct Quarters;

impl TokenCounter for Quarters {
    fn count_text(&mut self, text: &str) -> u32 {
        u32::try_from(text.len().div_ceil(4)).unwrap_or(u32::MAX)
    }

    fn count_media(&mut self, _: &str) -> u32 {
        700
    }

    fn is_exact(&self) -> bool {
        false
    }
}

pub(crate) fn question(agent: SessionAgent) -> CheckOptions {
    case(1, agent, Policy { allow_unsafe: true, ..Policy::default() }, 0).question()
}

/// What a file tells.
pub(crate) struct Told {
    pub(crate) history: String,
    pub(crate) report: Report,
}

impl Told {
    /// Its messages as one compares them: what one speaker says in a row is one message.
    pub(crate) fn messages(&self, agent: SessionAgent) -> Vec<Value> {
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
pub(crate) fn tell(agent: SessionAgent, bytes: &[u8]) -> Option<Told> {
    let text = readable_text(bytes).ok()?;
    let question = question(agent);
    let session = read(&text, agent, outline_options(question.profile)).ok()?;
    Some(Told { history: session.history(), report: check(session.draft(), &question) })
}

/// A list of messages, those of the same speaker joined where the agent joins them.
pub(crate) fn joined(agent: SessionAgent, list: &str) -> Vec<Value> {
    let list: Value = serde_json::from_str(list).unwrap_or(Value::Null);
    let list = told(agent.wire().name(), list.as_array().map_or(&[], Vec::as_slice));
    let key = match agent {
        SessionAgent::ClaudeCode | SessionAgent::Neovate => "content",
        SessionAgent::GeminiCli => "parts",
        SessionAgent::Codex
        | SessionAgent::Cline
        | SessionAgent::Pi
        | SessionAgent::CopilotCli
        | SessionAgent::KimiCode
        | SessionAgent::QwenCode
        | SessionAgent::Opencode
        | SessionAgent::Crush
        | SessionAgent::Goose
        | SessionAgent::AiSdkUi
        | SessionAgent::AiSdkModel
        | SessionAgent::ReadOnly(_) => {
            return list.iter().map(without_notes).collect();
        }
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
    pub(crate) bytes: Result<Vec<u8>, CompactionError>,
}

/// Makes a file shorter; `None` if its history cannot be.
pub(crate) fn shorten(agent: SessionAgent, bytes: &[u8], way: Way) -> Option<Shorter> {
    let text = readable_text(bytes).ok()?;
    let question = question(agent);
    let session = read(&text, agent, outline_options(question.profile)).ok()?;
    let history = session.history();
    let tokens = (history.len() / 4) as u64 * way.percent / 100;
    let limits = TokenLimits::new(tokens, tokens);
    let settings = CompactionSettings {
        stages: way.stages.to_vec(),
        ..CompactionSettings::new(question, limits)
    };
    let compacted: CompactedText<'_> =
        compact(&history, agent.wire(), &settings, &mut Quarters, &mut DigestSummarizer).ok()?;
    let rewritten = session.write_compaction(&CompactedFile::of(&compacted, MARKER));
    let bytes = rewritten.map(|rewritten| {
        let mut bytes = Vec::new();
        rewritten.write_to(&mut bytes).expect("memory takes everything");
        bytes
    });
    Some(Shorter { text: compacted.text.to_string(), bytes })
}

/// Takes the last compaction of a file back.
pub(crate) fn lengthen(agent: SessionAgent, bytes: &[u8]) -> Option<Vec<u8>> {
    let text = readable_text(bytes).ok()?;
    let session = read(&text, agent, outline_options(agent.profile())).ok()?;
    let rewritten = session.remove_compaction()?;
    let mut bytes = Vec::new();
    rewritten.write_to(&mut bytes).expect("memory takes everything");
    Some(bytes)
}

/// Repairs a file.
pub(crate) fn repaired(agent: SessionAgent, bytes: &[u8]) -> Option<Vec<u8>> {
    let text = readable_text(bytes).ok()?;
    let session = read(&text, agent, outline_options(agent.profile())).ok()?;
    let mut fixed = Vec::new();
    session.fix(&question(agent)).0.write_to(&mut fixed).ok()?;
    Some(fixed)
}

/// The file with one more message of the user's at its end, as the agent writes it.
pub(crate) fn continued(agent: SessionAgent, bytes: &[u8], words: &str) -> Vec<u8> {
    let lines = bytes.split(|byte| *byte == b'\n').rev();
    let mut records = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let last = records.find(|record| record["uuid"].is_string()).unwrap_or_default();
    let text = json!([{"type": "text", "text": words}]);
    let message = json!({"role": "user", "content": text});
    let record = match agent {
        SessionAgent::ClaudeCode => json!({"type": "user", "message": message, "uuid": "one-more",
            "parentUuid": last["uuid"], "isSidechain": last["isSidechain"]}),
        SessionAgent::Neovate => json!({"type": "message", "role": "user", "content": text,
            "uuid": "one-more", "parentUuid": last["uuid"]}),
        SessionAgent::Codex => {
            json!({"timestamp": "2027-01-01T00:00:00.000Z", "type": "response_item",
            "payload": {"type": "message", "role": "user",
                "content": [{"type": "input_text", "text": words}]}})
        }
        SessionAgent::GeminiCli => {
            json!({"id": "one-more", "timestamp": "2027-01-01T00:00:00.000Z",
            "type": "user", "content": [{"text": words}]})
        }
        SessionAgent::Cline
        | SessionAgent::Pi
        | SessionAgent::CopilotCli
        | SessionAgent::KimiCode
        | SessionAgent::QwenCode
        | SessionAgent::Opencode
        | SessionAgent::Crush
        | SessionAgent::Goose
        | SessionAgent::AiSdkUi
        | SessionAgent::AiSdkModel
        | SessionAgent::ReadOnly(_) => {
            json!({"role": "user", "content": text, "ts": 1_900_000_000_000_u64})
        }
    };
    let mut longer = bytes.to_vec();
    if agent == SessionAgent::Cline {
        let end = longer.iter().rposition(|byte| *byte == b']').unwrap_or(0);
        longer.splice(end..end, format!(",{record}").into_bytes());
    } else {
        longer.extend(format!("{record}\n").into_bytes());
    }
    longer
}
