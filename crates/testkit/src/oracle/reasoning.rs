//! Rules 501 to 503, 601 and 602: reasoning, and provider-run tools.

use super::reading::{
    OracleBlock, OracleBlockKind, OracleLayout, OracleMessage, OracleRole, field, id, text,
};
use super::{OracleProfile::*, OracleRule, RuleCase};
use crate::dialect::TestFormat;

pub(super) const RULES: &[OracleRule] = &[
    (501, detached_reasoning),
    (502, missing_reasoning),
    (503, foreign_signature),
    (601, dead_server_call),
    (602, orphan_server_answer),
];

fn detached_reasoning(case: &RuleCase<'_>) -> Vec<String> {
    let messages = &case.reading.messages;
    match case.reading.layout {
        OracleLayout::Blocks if case.under(&[Anthropic, Bedrock, Strict]) => {
            let runs = case.reading.assistant_runs().into_iter();
            let detached = runs.filter(|(start, end)| {
                let last = messages[*start..*end].iter().flat_map(|message| &message.blocks).last();
                last.is_some_and(|block| block.kind == OracleBlockKind::Reasoning)
            });
            detached.map(|(_, end)| format!("[{}]", end - 1)).collect()
        }
        OracleLayout::Items if case.under(&[OpenaiResponses, Strict]) => case.messages(|index| {
            let next = messages[index..].iter().find(|item| !item.has(OracleBlockKind::Reasoning));
            let attached = next.is_some_and(|item| item.role == OracleRole::Assistant);
            messages[index].has(OracleBlockKind::Reasoning) && !attached
        }),
        OracleLayout::Chat | OracleLayout::Blocks | OracleLayout::Items => Vec::new(),
    }
}

fn missing_reasoning(case: &RuleCase<'_>) -> Vec<String> {
    match (case.reading.format, case.profile) {
        (TestFormat::Chat, Deepseek) => missing_reasoning_content(case),
        (TestFormat::Gemini, Gemini) => missing_thought_signature(case),
        (TestFormat::Anthropic, Anthropic) | (TestFormat::Bedrock, Bedrock) => {
            missing_thinking(case)
        }
        _ => Vec::new(),
    }
}

fn missing_reasoning_content(case: &RuleCase<'_>) -> Vec<String> {
    let messages = &case.reading.messages;
    let reasons = |index: usize| text(messages[index].value, "reasoning_content").is_some();
    let assistant = |index: usize| messages[index].role == OracleRole::Assistant;
    let thinks = case.reading.root_text("model").contains("reasoner")
        || thinking_enabled(case)
        || (0..messages.len()).any(|index| assistant(index) && reasons(index));
    case.messages(|index| thinks && messages[index].calls() && !reasons(index))
}

fn missing_thought_signature(case: &RuleCase<'_>) -> Vec<String> {
    let messages = &case.reading.messages;
    let signed = |block: &OracleBlock<'_>| id(block.value, "thoughtSignature").is_some();
    let mut calls = messages
        .iter()
        .flat_map(|message| &message.blocks)
        .filter(|block| block.kind == OracleBlockKind::Call);
    let in_use = calls.any(signed) || case.reading.root_text("model").contains("gemini-3");
    let asks = |index: &usize| {
        let message = &messages[*index];
        message.role == OracleRole::User
            && message.has(OracleBlockKind::Text)
            && !message.has(OracleBlockKind::Answer)
    };
    let current = (0..messages.len()).rfind(asks).map_or(0, |index| index + 1);
    case.messages(|index| {
        let message = &messages[index];
        let first = message.blocks.iter().find(|block| block.kind == OracleBlockKind::Call);
        let unsigned = first.is_some_and(|block| !signed(block));
        in_use && index >= current && message.role == OracleRole::Assistant && unsigned
    })
}

fn missing_thinking(case: &RuleCase<'_>) -> Vec<String> {
    let messages = &case.reading.messages;
    let answers_last = messages.last().is_some_and(|message| {
        message.role == OracleRole::User && message.has(OracleBlockKind::Answer)
    });
    if !case.reading.request || !thinking_enabled(case) || !answers_last {
        return Vec::new();
    }
    // A tool loop is one turn, from the last question on: its first or its last step thinks first.
    let question = |message: &OracleMessage<'_>| {
        message.role == OracleRole::User && !message.has(OracleBlockKind::Answer)
    };
    let begin = messages.iter().rposition(question).map_or(0, |index| index + 1);
    let mut steps = case.reading.assistant_runs();
    steps.retain(|&(start, _)| start >= begin);
    let thinks = |&(start, end): &(usize, usize)| {
        let first = messages[start..end].iter().flat_map(|message| &message.blocks).next();
        first.is_some_and(|block| block.kind == OracleBlockKind::Reasoning)
    };
    match steps.last() {
        Some(last) if !thinks(last) && !thinks(&steps[0]) => vec![format!("[{}]", last.0)],
        _ => Vec::new(),
    }
}

fn thinking_enabled(case: &RuleCase<'_>) -> bool {
    let root = case.reading.root;
    let settings = match case.reading.format {
        TestFormat::Bedrock => field(root, "additionalModelRequestFields"),
        _ => Some(root),
    };
    let thinking = settings.and_then(|settings| field(settings, "thinking"));
    thinking.and_then(|thinking| text(thinking, "type")) == Some("enabled")
}

fn foreign_signature(case: &RuleCase<'_>) -> Vec<String> {
    if !case.under(&[Anthropic, Strict]) || case.reading.format != TestFormat::Anthropic {
        return Vec::new();
    }
    case.blocks(|message, at| {
        let body = case.reading.messages[message].blocks[at].body;
        match text(body, "type") {
            Some("thinking") => id(body, "signature").is_none(),
            Some("redacted_thinking") => id(body, "data").is_none(),
            _ => false,
        }
    })
}

fn dead_server_call(case: &RuleCase<'_>) -> Vec<String> {
    if case.reading.layout == OracleLayout::Items
        && case.under(&[OpenaiResponses, GeminiInteractions, Strict])
    {
        let mut found = open_item(case);
        found.extend(case.blocks(|message, at| is_ownerless(case, message, at)));
        return found;
    }
    if !case.under(&[Anthropic, Bedrock, Strict]) || case.reading.layout != OracleLayout::Blocks {
        return Vec::new();
    }
    case.blocks(|message, at| {
        let messages = &case.reading.messages;
        let overtaken = (message + 1..messages.len()).any(|later| match messages[later].role {
            OracleRole::User => {
                messages[later].blocks.iter().any(|block| block.kind != OracleBlockKind::Answer)
            }
            OracleRole::Assistant => {
                let mut blocks = messages[later].blocks.iter();
                blocks.len() == 0 || !blocks.all(|block| is_made_by_open_call(case, later, block))
            }
            OracleRole::System | OracleRole::Answer | OracleRole::Other => false,
        });
        is_open_server_call(case, message, at) && overtaken || is_ownerless(case, message, at)
    })
}

/// Whether a block is a call of the client, and nothing in the whole list can have made it.
fn is_ownerless(case: &RuleCase<'_>, message: usize, at: usize) -> bool {
    let block = &case.reading.messages[message].blocks[at];
    let (owner_key, maker_key) = match case.reading.format {
        TestFormat::Anthropic => ("tool_id", "id"),
        TestFormat::Responses => ("caller_id", "call_id"),
        _ => return false,
    };
    let owner = field(block.body, "caller").and_then(|caller| id(caller, owner_key));
    let mut all = case.reading.messages.iter().flat_map(|message| &message.blocks);
    let explains = |other: &OracleBlock<'_>| {
        let is_maker = other.kind == OracleBlockKind::ServerCall;
        let key = match text(other.body, "type") {
            Some("mcp_approval_request") => "id",
            _ => maker_key,
        };
        is_maker && id(other.body, key) == owner || text(other.body, "type") == Some("compaction")
    };
    let is_call = block.kind == OracleBlockKind::Call && owner.is_some();
    is_call && !case.reading.stateful && !all.any(explains)
}

/// Whether a block of a message is a call of the client that an unfinished call of its turn made.
fn is_made_by_open_call(case: &RuleCase<'_>, message: usize, block: &OracleBlock<'_>) -> bool {
    let owner = field(block.body, "caller").and_then(|caller| server_id(caller, "tool_id"));
    let Some((start, end)) = run_of(case, message) else { return false };
    let makes = |at: usize| {
        let blocks = &case.reading.messages[at].blocks;
        (0..blocks.len()).any(|place| {
            is_open_server_call(case, at, place) && server_id(blocks[place].body, "id") == owner
        })
    };
    block.kind == OracleBlockKind::Call && owner.is_some() && (start..end).any(makes)
}

/// Programs and calls of agents without an output, before a message of the user.
fn open_item(case: &RuleCase<'_>) -> Vec<String> {
    let items = &case.reading.messages;
    case.messages(|index| {
        let pairs = ["program", "multi_agent_call"];
        let steps = case.reading.format == TestFormat::Interactions;
        let is_call = text(items[index].value, "type").is_some_and(|it| pairs.contains(&it))
            || steps && items[index].has(OracleBlockKind::ServerCall);
        let id = id(items[index].value, if steps { "id" } else { "call_id" });
        let answered = items.iter().any(|other| {
            let is_answer = other.has(OracleBlockKind::ServerAnswer);
            is_answer && id.is_some() && super::reading::id(other.value, "call_id") == id
        });
        let spoken = items[index + 1..].iter().any(|item| item.role == OracleRole::User);
        is_call && !answered && spoken
    })
}

/// Outputs of the provider, and approvals, without anything that they belong to.
fn orphan_item(case: &RuleCase<'_>) -> Vec<String> {
    let items = &case.reading.messages;
    case.messages(|index| {
        let value = items[index].value;
        let answers = id(value, "approval_request_id").or_else(|| id(value, "call_id"));
        let called = items[..index].iter().any(|other| {
            let own = match text(other.value, "type") {
                Some("mcp_approval_request") => id(other.value, "id"),
                _ if case.reading.format == TestFormat::Interactions => id(other.value, "id"),
                _ => id(other.value, "call_id"),
            };
            other.has(OracleBlockKind::ServerCall) && own.is_some() && own == answers
        });
        items[index].has(OracleBlockKind::ServerAnswer) && !called && !case.reading.stateful
    })
}

/// Whether the message has a provider-run call without a result, so that the turn is paused.
pub(super) fn open_server_call(case: &RuleCase<'_>, message: usize) -> bool {
    let blocks = case.reading.messages[message].blocks.len();
    (0..blocks).any(|at| is_open_server_call(case, message, at))
}

fn is_open_server_call(case: &RuleCase<'_>, message: usize, at: usize) -> bool {
    let block = &case.reading.messages[message].blocks[at];
    let Some((start, end)) = run_of(case, message) else { return false };
    let call = server_id(block.body, "id");
    let mut run = case.reading.messages[start..end].iter().flat_map(|message| &message.blocks);
    let answered = run.any(|other| {
        other.kind == OracleBlockKind::ServerAnswer
            && call.is_some()
            && server_id(other.body, "tool_use_id") == call
    });
    block.kind == OracleBlockKind::ServerCall && !answered
}

fn orphan_server_answer(case: &RuleCase<'_>) -> Vec<String> {
    if case.reading.layout == OracleLayout::Items
        && case.under(&[OpenaiResponses, GeminiInteractions, Strict])
    {
        return orphan_item(case);
    }
    if !case.under(&[Anthropic, Bedrock, Strict]) || case.reading.layout != OracleLayout::Blocks {
        return Vec::new();
    }
    case.blocks(|message, at| {
        let messages = &case.reading.messages;
        let block = &messages[message].blocks[at];
        if block.kind != OracleBlockKind::ServerAnswer {
            return false;
        }
        let Some((start, _)) = run_of(case, message) else { return true };
        let answers = server_id(block.body, "tool_use_id");
        let before = messages[start..message].iter().flat_map(|message| &message.blocks);
        let mut before = before.chain(&messages[message].blocks[..at]);
        let called = before.any(|other| {
            other.kind == OracleBlockKind::ServerCall
                && answers.is_some()
                && server_id(other.body, "id") == answers
        });
        !called
    })
}

/// The id of a provider-run call or its result. Bedrock has one name for both.
fn server_id<'a>(body: &'a serde_json::Value, key: &str) -> Option<&'a str> {
    id(body, key).or_else(|| id(body, "toolUseId"))
}

/// The assistant messages around `message`, including the client results between them.
fn run_of(case: &RuleCase<'_>, message: usize) -> Option<(usize, usize)> {
    let messages = &case.reading.messages;
    let inside = |at: usize| {
        let only = messages[at].blocks.iter().all(|block| block.kind == OracleBlockKind::Answer);
        match messages[at].role {
            OracleRole::Assistant => true,
            OracleRole::User => only && !messages[at].blocks.is_empty(),
            OracleRole::System | OracleRole::Answer | OracleRole::Other => false,
        }
    };
    if messages[message].role != OracleRole::Assistant {
        return None;
    }
    let start = (0..message).rev().take_while(|at| inside(*at)).last().unwrap_or(message);
    let end = (message..messages.len()).take_while(|at| inside(*at)).last().unwrap_or(message);
    Some((start, end + 1))
}
