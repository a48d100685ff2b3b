//! Compares what an SDK understood with what the fixture says.
//!
//! Of the source itself everything must be equal. In another format ids may differ where that format
//! does not take them, and a few things have no word of their own there; everything else is equal.

use std::collections::HashSet;

use foxwedge_core::{Format, Profile};
use serde_json::{Value, json};

use super::{Language, ReadMode, SdkJob};

/// What is wrong, if anything is.
pub(super) fn judge(job: &SdkJob<'_>, answer: &Value) -> Result<(), String> {
    let expected = &job.fixture.expected;
    if let Some(message) = expected["error"].as_str() {
        return failed(message, answer);
    }
    if expected["stop"].is_null() {
        return cut(job.mode, expected, answer);
    }
    if let Some(error) = answer["error"].as_str() {
        return Err(format!("it raises {error}"));
    }
    let (wire, is_source) = (job.target, job.is_source());
    same("text", &expected["text"], &answer["text"])?;
    reasoning(job, &answer["reasoning"])?;
    calls(job, &answer["calls"])?;
    stop(job, &answer["stop"])?;
    if !expected["usage"].is_null() {
        same("usage", &expected["usage"], &answer["usage"])?;
    }
    // Converse has neither, and Gemini can do without.
    let demands = !matches!(wire, Format::Gemini | Format::Bedrock);
    for name in ["id", "model"] {
        let known = !expected[name].is_null() && wire != Format::Bedrock;
        if known || is_source {
            same(name, &expected[name], &answer[name])?;
        } else if demands && answer[name].as_str().is_none_or(str::is_empty) {
            return Err(format!("{name}: the format demands one, and there is none"));
        }
    }
    Ok(())
}

/// A failure must be raised, with the provider's text.
fn failed(message: &str, answer: &Value) -> Result<(), String> {
    match answer["error"].as_str() {
        Some(error) if error.contains(message) => Ok(()),
        Some(error) => Err(format!("it raises `{error}`, which does not say `{message}`")),
        None => Err(format!("it raises nothing, though the provider failed: {answer}")),
    }
}

/// A cut stream must not look complete, and none of its open calls must.
fn cut(mode: ReadMode, expected: &Value, answer: &Value) -> Result<(), String> {
    if !answer["error"].is_null() {
        return Ok(());
    }
    if !answer["stop"].is_null() {
        return Err(format!("it was cut off and looks complete: {answer}"));
    }
    let (all, read) = (expected["text"].as_str(), answer["text"].as_str());
    if !all.zip(read).is_some_and(|(all, read)| all.starts_with(read)) {
        return same("text", &expected["text"], &answer["text"]);
    }
    let whole: HashSet<String> = list(&expected["calls"]).iter().map(identity).collect();
    // Helpers guess at the rest of arguments; that there is no end says that it is a guess.
    let complete = |call: &&Value| mode != ReadMode::Helper && !call["arguments"].is_string();
    match list(&answer["calls"])
        .iter()
        .filter(complete)
        .find(|call| !whole.contains(&identity(call)))
    {
        Some(call) => Err(format!("a call was cut off and looks complete: {call}")),
        None => Ok(()),
    }
}

fn identity(call: &Value) -> String {
    format!("{} {}", call["name"], call["arguments"])
}

/// Chat has no reasoning but in the words of some vendors, which not every reader knows.
fn reasoning(job: &SdkJob<'_>, read: &Value) -> Result<(), String> {
    let unknown = job.target == Format::OpenaiChat
        && (!job.is_source()
            || (job.language, job.mode) == (Language::TypeScript, ReadMode::Helper));
    if unknown && read == "" {
        return Ok(());
    }
    same("reasoning", &job.fixture.expected["reasoning"], read)
}

fn calls(job: &SdkJob<'_>, read: &Value) -> Result<(), String> {
    let (expected, read) = (list(&job.fixture.expected["calls"]), list(read));
    // What a limit cut off is there as far as it goes, or not at all; the stop says that it is no call.
    let is_open =
        |call: &Value| job.fixture.expected["stop"] == "length" && call["arguments"].is_string();
    let fewest = expected.iter().filter(|call| !is_open(call)).count();
    if read.len() > expected.len() || read.len() < fewest {
        return Err(format!("{} calls were made, {} were read", expected.len(), read.len()));
    }
    let mut ids = HashSet::new();
    for (call, read) in expected.iter().zip(read) {
        same("name", &call["name"], &read["name"])?;
        if !is_open(call) {
            let arguments = arguments(job.target, &call["arguments"]);
            same("arguments", &arguments, &read["arguments"])?;
        }
        id(job, &call["id"], &read["id"])?;
        if !read["id"].is_null() && !ids.insert(read["id"].to_string()) {
            return Err(format!("two calls are called {}", read["id"]));
        }
    }
    Ok(())
}

/// Free text is the one field of an object where a format knows nothing but objects.
fn arguments(wire: Format, expected: &Value) -> Value {
    match wire {
        Format::OpenaiChat | Format::OpenaiResponses => expected.clone(),
        Format::Anthropic | Format::Gemini | Format::Bedrock | Format::GeminiInteractions => {
            match expected.is_string() {
                true => json!({ "input": expected }),
                false => expected.clone(),
            }
        }
    }
}

/// An id that the format takes stays as it is; any other is one that it takes.
fn id(job: &SdkJob<'_>, expected: &Value, read: &Value) -> Result<(), String> {
    let rule = Profile::for_format(job.target).id_rule();
    let legal = |id: &Value| id.as_str().is_some_and(|id| rule.allows(id));
    if job.is_source() || legal(expected) {
        return same("id", expected, read);
    }
    // Gemini can do without.
    if legal(read) || job.target == Format::Gemini && read.is_null() {
        return Ok(());
    }
    Err(format!("id: {read} is none that the format takes"))
}

/// Only some formats tell a stop at a sequence from any other end, and only OpenAI's tell a refusal
/// in the text from one that the provider's filter made.
fn stop(job: &SdkJob<'_>, read: &Value) -> Result<(), String> {
    let is_openai = |wire| matches!(wire, Format::OpenaiChat | Format::OpenaiResponses);
    let (source, target) = (job.fixture.format, job.target);
    let expected = &job.fixture.expected["stop"];
    let lost = match expected.as_str() {
        Some("sequence") => {
            let knows_one = matches!(target, Format::Anthropic | Format::Bedrock);
            !job.is_source() && !knows_one
        }
        // Interactions end, fail or wait, and say no more.
        Some("refusal") => {
            is_openai(source) && !is_openai(target) || target == Format::GeminiInteractions
        }
        _ => false,
    };
    if lost && read == "end" {
        return Ok(());
    }
    same("stop", expected, read)
}

fn same(what: &str, expected: &Value, read: &Value) -> Result<(), String> {
    if expected == read {
        return Ok(());
    }
    Err(format!("{what}: expected {expected}, read {read}"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::acceptance::sdks::{FixtureKind, SdkFixture};

    #[test]
    fn misreadings_are_reported() {
        let fixture = reading("functions.get:0", "end");
        let with = |name: &str, value: Value| {
            let mut changed = reading("functions_get_0", "end");
            changed[name] = value;
            changed
        };
        let table = [
            (reading("functions_get_0", "end"), ""),
            (
                reading("functions.get:0", "end"),
                "id: \"functions.get:0\" is none that the format takes",
            ),
            (reading("a", "calls"), "stop: expected \"end\", read \"calls\""),
            (with("calls", json!([])), "1 calls were made, 0 were read"),
            (with("text", json!("Hm")), "text: expected \"Hi\", read \"Hm\""),
            (with("id", json!("")), "id: expected \"r\", read \"\""),
            (json!({ "error": "ValueError: no" }), "it raises ValueError: no"),
        ];
        for (answer, expected) in table {
            assert_eq!(judged(ReadMode::Strict, &fixture, &answer), expected, "{answer}");
        }
    }

    #[test]
    fn a_cut_stream_must_not_look_complete() {
        let fixture = json!({ "text": "Hi", "calls": [], "stop": null });
        let open = |arguments: Value, stop: Value| {
            let calls = json!([{ "id": "a", "name": "get", "arguments": arguments }]);
            json!({ "text": "Hi", "calls": calls, "stop": stop })
        };
        let guess = json!({ "day": "2025" });
        let table = [
            (ReadMode::Plain, open(json!("{\"day\":\"2025"), Value::Null), true),
            (ReadMode::Plain, open(guess.clone(), Value::Null), false),
            (ReadMode::Helper, open(guess.clone(), Value::Null), true),
            (ReadMode::Helper, open(guess, json!("calls")), false),
            (ReadMode::Plain, json!({ "error": "the stream ended" }), true),
        ];
        for (mode, answer, expected) in table {
            assert_eq!(judged(mode, &fixture, &answer).is_empty(), expected, "{answer}");
        }
    }

    #[test]
    fn a_failure_must_be_raised_with_the_providers_text() {
        let fixture = json!({ "error": "too many requests" });
        let table = [
            (json!({ "error": "APIError: too many requests" }), true),
            (json!({ "error": "KeyError: 'type'" }), false),
            (reading("a", "end"), false),
        ];
        for (answer, expected) in table {
            assert_eq!(judged(ReadMode::Plain, &fixture, &answer).is_empty(), expected, "{answer}");
        }
    }

    /// A chat stream that became Anthropic's.
    fn judged(mode: ReadMode, expected: &Value, answer: &Value) -> String {
        let fixture = SdkFixture {
            name: "text".to_owned(),
            kind: FixtureKind::Stream,
            format: Format::OpenaiChat,
            path: "a.sse".into(),
            expected: expected.clone(),
        };
        let job = SdkJob {
            fixture: &fixture,
            target: Format::Anthropic,
            path: Path::new("b.sse"),
            language: Language::Python,
            mode,
            chunk_size: 0,
        };
        judge(&job, answer).err().unwrap_or_default()
    }

    fn reading(id: &str, stop: &str) -> Value {
        json!({
            "text": "Hi",
            "reasoning": "",
            "calls": [{ "id": id, "name": "get", "arguments": {} }],
            "stop": stop,
            "usage": null,
            "id": "r",
            "model": "m",
        })
    }
}
