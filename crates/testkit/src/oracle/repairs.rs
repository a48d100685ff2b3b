//! What a repair must not do to a history, judged by the two documents alone.

use serde_json::Value;

use super::{
    matching::{CallMatching, MatchOutcome, MatchedResult},
    reading::{DocumentReading, OracleBlock, OracleBlockKind, OracleMessage, OracleRole, text},
};
use crate::{PLACEHOLDERS, dialect::TestFormat};

/// Whether the document has a user message.
pub fn has_user(format: &str, document: &Value) -> bool {
    let Some(format) = TestFormat::named(format) else { return false };
    let messages = DocumentReading::new(format, document).messages;
    messages.iter().any(|message| message.role == OracleRole::User && message.known)
}

/// Whether a user message is in `before`, but none is left in `after`. A message of `after` whose
/// role is missing or unknown may be the user's.
pub fn lost_user(format: &str, before: &Value, after: &Value) -> bool {
    let Some(wire) = TestFormat::named(format) else { return false };
    let messages = DocumentReading::new(wire, after).messages;
    let may_ask = |message: &OracleMessage<'_>| !message.known && !message.blocks.is_empty();
    has_user(format, before) && !has_user(format, after) && !messages.iter().any(may_ask)
}

/// The number of calling messages that are directly followed by another assistant message.
pub fn calls_before_assistant(format: &str, document: &Value) -> usize {
    let Some(format) = TestFormat::named(format) else { return 0 };
    let reading = DocumentReading::new(format, document);
    let matching = CallMatching::new(&reading);
    // The model's role may have the name of another format, which a repair corrects.
    let is_model = |message: &OracleMessage<'_>| {
        let name = text(message.value, "role").filter(|_| !message.known);
        message.role == OracleRole::Assistant || matches!(name, Some("assistant" | "model" | "ai"))
    };
    let speaks = |at: usize| reading.messages.get(at).is_some_and(is_model);
    // An empty message does not separate others.
    let blank = |block: &OracleBlock<'_>| {
        let value = text(block.value, "text").or(block.value.as_str());
        block.kind == OracleBlockKind::Text && value.is_some_and(|value| value.trim().is_empty())
    };
    let silent =
        |at: &usize| reading.messages.get(*at).is_some_and(|it| it.blocks.iter().all(blank));
    let next = |at: usize| (at + 1..).find(|at| !silent(at)).unwrap_or(at + 1);
    let calls = |at: usize| {
        speaks(at) && reading.messages[at].has(OracleBlockKind::Call) && speaks(next(at))
    };
    // Gemini accepts a turn of several messages if all its results are after the last of them.
    let together = |at: usize| {
        let first = (0..=at).rev().take_while(|before| speaks(*before)).last().unwrap_or(at);
        let last = (at..reading.messages.len()).take_while(|behind| speaks(*behind)).last();
        let last = last.unwrap_or(at);
        let next = (last + 1..reading.messages.len()).find(|at| speaks(*at));
        let behind = last + 1..next.unwrap_or(reading.messages.len());
        let answered = |call: usize| {
            let own = |answer: &MatchedResult<'_>| answer.fate == MatchOutcome::Of(call);
            let mut answers = matching.answers.iter().filter(|answer| own(answer));
            answers.any(|answer| behind.contains(&answer.position.0))
        };
        let calls = matching.calls.iter().enumerate();
        let mut calls = calls.filter(|(_, call)| (first..=last).contains(&call.position.0));
        calls.all(|(call, _)| answered(call))
    };
    let loose = |at: &usize| calls(*at) && !(format == TestFormat::Gemini && together(*at));
    (0..reading.messages.len()).filter(loose).count()
}

/// The number of chat messages with calls that are not directly followed by a result for each of
/// them, as OpenAI's error message requires.
pub fn loose_calls(document: &Value) -> usize {
    let reading = DocumentReading::new(TestFormat::Chat, document);
    let loose = |at: &usize| {
        let message = &reading.messages[*at];
        let behind = reading.messages[at + 1..].iter();
        let answers: Vec<Option<&str>> = behind
            .take_while(|message| message.role == OracleRole::Answer)
            .map(|message| text(message.value, "tool_call_id"))
            .collect();
        let calls = message.blocks.iter().filter(|block| block.kind == OracleBlockKind::Call);
        let mut calls = calls.map(|block| text(block.body, "id"));
        message.calls() && calls.any(|id| !answers.contains(&id))
    };
    (0..reading.messages.len()).filter(loose).count()
}

/// Texts of real results, one list for each id. At least this many of each list must stay results,
/// because they follow a call with that id that no other result can claim.
pub fn owed(format: &str, document: &Value) -> Vec<(usize, Vec<String>)> {
    let Some(named) = TestFormat::named(format) else { return Vec::new() };
    let reading = DocumentReading::new(named, document);
    let matching = CallMatching::new(&reading);
    let nameless = matching.calls.iter().any(|call| call.id.is_none())
        || matching.answers.iter().any(|answer| answer.id.is_none());
    // Where ids are optional, one missing id makes order and names decide.
    if named == TestFormat::Gemini && nameless {
        return Vec::new();
    }
    // A part that is a call and a result at once is read differently by different readers.
    let things =
        ["functionCall", "functionResponse", "inlineData", "fileData", "toolUse", "toolResult"];
    let both = |value: &Value| things.iter().filter(|key| value.get(**key).is_some()).count() > 1;
    let mut blocks = reading.messages.iter().flat_map(|message| &message.blocks);
    let unions = matches!(named, TestFormat::Gemini | TestFormat::Bedrock);
    if unions && blocks.any(|block| both(block.value)) {
        return Vec::new();
    }
    // A call that code made goes with the code; its result is kept as text.
    let made_by_code = |call: &super::matching::MatchedCall<'_>| {
        let (at, block) = call.position;
        let caller = reading.messages[at].blocks[block].body.get("caller");
        let owner =
            |caller: &Value| caller.get("tool_id").or_else(|| caller.get("caller_id")).is_some();
        caller.is_some_and(owner)
    };
    let owned: Vec<&str> = matching
        .calls
        .iter()
        .filter(|call| made_by_code(call))
        .filter_map(|call| call.id)
        .collect();
    let mut keys: Vec<(&str, &str)> =
        matching.calls.iter().filter_map(|call| Some((call.family, call.id?))).collect();
    keys.retain(|(_, id)| !owned.contains(id));
    keys.sort_unstable();
    keys.dedup();
    let mut owed = Vec::new();
    for key in keys {
        let calls = matching.calls.iter().filter(|it| Some(key) == it.id.map(|id| (it.family, id)));
        let mut events: Vec<((usize, usize), IdEvent)> =
            calls.map(|call| (call.position, IdEvent::Call)).collect();
        for answer in &matching.answers {
            let (at, part) = answer.position;
            if Some(key) == answer.id.map(|id| (answer.family, id)) {
                let body = reading.messages[at].blocks[part].body;
                events.push((answer.position, event(said(named, body))));
            }
        }
        events.sort();
        // A result without an id may belong to the call that it follows; then the others do not.
        let span = events.first().zip(events.last()).map(|((first, _), (last, _))| *first..*last);
        let mut unnamed = matching.answers.iter().filter(|answer| answer.id.is_none());
        if unnamed.any(|answer| span.as_ref().is_some_and(|span| span.contains(&answer.position))) {
            continue;
        }
        let (mut open, mut matched, mut odd) = (0_usize, 0_usize, 0);
        let mut texts = Vec::new();
        for (_, event) in events {
            match event {
                IdEvent::Call => open += 1,
                // Any real result of the call replaces these.
                IdEvent::Placeholder | IdEvent::Nothing => {}
                IdEvent::OddAnswer => odd += 1,
                IdEvent::Answer(result_text) => {
                    matched += usize::from(open > 0);
                    open = open.saturating_sub(1);
                    texts.push(result_text);
                }
            }
        }
        // Each of these may take the place of another.
        let matched = matched.saturating_sub(odd);
        if matched > 0 {
            owed.push((matched, texts));
        }
    }
    owed
}

/// What happens to one id, in order.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum IdEvent {
    Call,
    /// A result with text that can be found again.
    Answer(String),
    /// A placeholder.
    Placeholder,
    /// An empty result.
    Nothing,
    /// A result with content in another form.
    OddAnswer,
}

fn event(wording: AnswerWording) -> IdEvent {
    match wording {
        AnswerWording::Nothing => IdEvent::Nothing,
        AnswerWording::Odd => IdEvent::OddAnswer,
        AnswerWording::Words(value) if value.trim().is_empty() => IdEvent::Nothing,
        AnswerWording::Words(value) if PLACEHOLDERS.contains(&value.as_str()) => {
            IdEvent::Placeholder
        }
        AnswerWording::Words(value) => IdEvent::Answer(value),
    }
}

/// The content of a result.
enum AnswerWording {
    Nothing,
    Words(String),
    /// Content that is not text, or text that may be written differently.
    Odd,
}

fn said(format: TestFormat, body: &Value) -> AnswerWording {
    let own: &[&str] = match format {
        // Tools found by a search are not text.
        TestFormat::Responses => &["output"],
        TestFormat::Interactions => &["result"],
        TestFormat::Gemini => &["response"],
        TestFormat::Chat | TestFormat::Anthropic | TestFormat::Bedrock => &["content"],
    };
    let other = ["content", "output", "response", "tools", "result"];
    let content = own.iter().find_map(|key| body.get(*key));
    let shows = body.get("parts").and_then(Value::as_array).is_some_and(|parts| !parts.is_empty());
    if format == TestFormat::Gemini && shows {
        return AnswerWording::Odd;
    }
    match content {
        // It is kept unchanged, but no provider reads it there.
        None if other.iter().any(|key| body.get(*key).is_some()) => AnswerWording::Odd,
        None | Some(Value::Null) => AnswerWording::Nothing,
        Some(Value::String(value)) => AnswerWording::Words(value.clone()),
        Some(Value::Array(parts)) if parts.is_empty() => AnswerWording::Nothing,
        Some(Value::Array(parts)) => match parts.as_slice() {
            [part] => text_of(part),
            _ => AnswerWording::Odd,
        },
        Some(Value::Object(fields)) => match (fields.len(), fields.get("output")) {
            (1, Some(Value::String(value))) => AnswerWording::Words(value.clone()),
            _ => AnswerWording::Odd,
        },
        Some(Value::Bool(_) | Value::Number(_)) => AnswerWording::Odd,
    }
}

/// The text of a text part without other fields.
fn text_of(part: &Value) -> AnswerWording {
    let Some(fields) = part.as_object() else { return AnswerWording::Odd };
    let typed = fields.get("type").is_none_or(Value::is_string);
    let plain = typed && fields.keys().all(|key| key == "text" || key == "type");
    match (plain, text(part, "text")) {
        (true, Some(value)) => AnswerWording::Words(value.to_owned()),
        _ => AnswerWording::Odd,
    }
}
