//! Whether an SDK understood what the fixture says.
//!
//! Of the source itself everything must be equal. In another format ids may differ where that format
//! does not take them, and a few things have no word of their own there; everything else is equal.

use std::collections::HashSet;

use foxwedge_core::{Format, Profile};
use serde_json::{Value, json};

use super::reader::{Job, Language, Way};

/// What is wrong, if anything is.
pub(super) fn judge(job: &Job<'_>, answer: &Value) -> Result<(), String> {
    let says = &job.fixture.says;
    if let Some(message) = says["error"].as_str() {
        return failed(message, answer);
    }
    if says["stop"].is_null() {
        return cut(job.way, says, answer);
    }
    if let Some(error) = answer["error"].as_str() {
        return Err(format!("it raises {error}"));
    }
    let (wire, is_source) = (job.target, job.is_source());
    same("text", &says["text"], &answer["text"])?;
    reasoning(job, &answer["reasoning"])?;
    calls(job, &answer["calls"])?;
    stop(job, &answer["stop"])?;
    if !says["usage"].is_null() {
        same("usage", &says["usage"], &answer["usage"])?;
    }
    // Converse has neither, and Gemini can do without.
    let demands = !matches!(wire, Format::Gemini | Format::Bedrock);
    for name in ["id", "model"] {
        let known = !says[name].is_null() && wire != Format::Bedrock;
        if known || is_source {
            same(name, &says[name], &answer[name])?;
        } else if demands && answer[name].as_str().is_none_or(str::is_empty) {
            return Err(format!("{name}: the format demands one, and there is none"));
        }
    }
    Ok(())
}

/// A failure must be raised, in the provider's words.
fn failed(message: &str, answer: &Value) -> Result<(), String> {
    match answer["error"].as_str() {
        Some(error) if error.contains(message) => Ok(()),
        Some(error) => Err(format!("it raises `{error}`, which does not say `{message}`")),
        None => Err(format!("it raises nothing, though the provider failed: {answer}")),
    }
}

/// A cut stream must not look complete, and none of its open calls must.
fn cut(way: Way, says: &Value, answer: &Value) -> Result<(), String> {
    if !answer["error"].is_null() {
        return Ok(());
    }
    if !answer["stop"].is_null() {
        return Err(format!("it was cut off and looks complete: {answer}"));
    }
    let (all, read) = (says["text"].as_str(), answer["text"].as_str());
    if !all.zip(read).is_some_and(|(all, read)| all.starts_with(read)) {
        return same("text", &says["text"], &answer["text"]);
    }
    let whole: HashSet<String> = list(&says["calls"]).iter().map(told).collect();
    // Helpers guess at the rest of arguments; that there is no end says that it is a guess.
    let complete = |call: &&Value| way != Way::Helper && !call["arguments"].is_string();
    match list(&answer["calls"]).iter().filter(complete).find(|call| !whole.contains(&told(call))) {
        Some(call) => Err(format!("a call was cut off and looks complete: {call}")),
        None => Ok(()),
    }
}

fn told(call: &Value) -> String {
    format!("{} {}", call["name"], call["arguments"])
}

/// Chat has no reasoning but in the words of some vendors, which not every reader knows.
fn reasoning(job: &Job<'_>, read: &Value) -> Result<(), String> {
    let unknown = job.target == Format::OpenaiChat
        && (!job.is_source() || (job.language, job.way) == (Language::TypeScript, Way::Helper));
    if unknown && read == "" {
        return Ok(());
    }
    same("reasoning", &job.fixture.says["reasoning"], read)
}

fn calls(job: &Job<'_>, read: &Value) -> Result<(), String> {
    let (says, read) = (list(&job.fixture.says["calls"]), list(read));
    // What a limit cut off is there as far as it goes, or not at all; the stop says that it is no call.
    let is_open =
        |call: &Value| job.fixture.says["stop"] == "length" && call["arguments"].is_string();
    let fewest = says.iter().filter(|call| !is_open(call)).count();
    if read.len() > says.len() || read.len() < fewest {
        return Err(format!("{} calls were made, {} were read", says.len(), read.len()));
    }
    let mut ids = HashSet::new();
    for (call, read) in says.iter().zip(read) {
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
fn arguments(wire: Format, says: &Value) -> Value {
    match wire {
        Format::OpenaiChat | Format::OpenaiResponses => says.clone(),
        Format::Anthropic | Format::Gemini | Format::Bedrock if says.is_string() => {
            json!({ "input": says })
        }
        Format::Anthropic | Format::Gemini | Format::Bedrock => says.clone(),
    }
}

/// An id that the format takes stays as it is; any other is one that it takes.
fn id(job: &Job<'_>, says: &Value, read: &Value) -> Result<(), String> {
    let rule = Profile::for_format(job.target).id_rule();
    let legal = |id: &Value| id.as_str().is_some_and(|id| rule.allows(id));
    if job.is_source() || legal(says) {
        return same("id", says, read);
    }
    // Gemini can do without.
    if legal(read) || job.target == Format::Gemini && read.is_null() {
        return Ok(());
    }
    Err(format!("id: {read} is none that the format takes"))
}

/// Only some formats tell a stop at a sequence from any other end, and only OpenAI's tell a refusal
/// in the text from one that the provider's filter made.
fn stop(job: &Job<'_>, read: &Value) -> Result<(), String> {
    let is_openai = |wire| matches!(wire, Format::OpenaiChat | Format::OpenaiResponses);
    let (source, target) = (job.fixture.wire, job.target);
    let says = &job.fixture.says["stop"];
    let lost = match says.as_str() {
        Some("sequence") => !job.is_source() && (is_openai(target) || target == Format::Gemini),
        Some("refusal") => is_openai(source) && !is_openai(target),
        _ => false,
    };
    if lost && read == "end" {
        return Ok(());
    }
    same("stop", says, read)
}

fn same(what: &str, says: &Value, read: &Value) -> Result<(), String> {
    if says == read {
        return Ok(());
    }
    Err(format!("{what}: it says {says}, and {read} was read"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::sdks::fixture::{Fixture, Kind};

    #[test]
    fn what_was_misread_is_told() {
        let says = reading("functions.get:0", "end");
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
            (reading("a", "calls"), "stop: it says \"end\", and \"calls\" was read"),
            (with("calls", json!([])), "1 calls were made, 0 were read"),
            (with("text", json!("Hm")), "text: it says \"Hi\", and \"Hm\" was read"),
            (with("id", json!("")), "id: it says \"r\", and \"\" was read"),
            (json!({ "error": "ValueError: no" }), "it raises ValueError: no"),
        ];
        for (answer, expected) in table {
            assert_eq!(judged(Way::Strict, &says, &answer), expected, "{answer}");
        }
    }

    #[test]
    fn what_was_cut_off_must_not_look_complete() {
        let says = json!({ "text": "Hi", "calls": [], "stop": null });
        let open = |arguments: Value, stop: Value| {
            let calls = json!([{ "id": "a", "name": "get", "arguments": arguments }]);
            json!({ "text": "Hi", "calls": calls, "stop": stop })
        };
        let guess = json!({ "day": "2025" });
        let table = [
            (Way::Plain, open(json!("{\"day\":\"2025"), Value::Null), true),
            (Way::Plain, open(guess.clone(), Value::Null), false),
            (Way::Helper, open(guess.clone(), Value::Null), true),
            (Way::Helper, open(guess, json!("calls")), false),
            (Way::Plain, json!({ "error": "the stream ended" }), true),
        ];
        for (way, answer, expected) in table {
            assert_eq!(judged(way, &says, &answer).is_empty(), expected, "{answer}");
        }
    }

    #[test]
    fn a_failure_must_be_raised_in_the_providers_words() {
        let says = json!({ "error": "too many requests" });
        let table = [
            (json!({ "error": "APIError: too many requests" }), true),
            (json!({ "error": "KeyError: 'type'" }), false),
            (reading("a", "end"), false),
        ];
        for (answer, expected) in table {
            assert_eq!(judged(Way::Plain, &says, &answer).is_empty(), expected, "{answer}");
        }
    }

    /// A chat stream that became Anthropic's.
    fn judged(way: Way, says: &Value, answer: &Value) -> String {
        let fixture = Fixture {
            what: "text".to_owned(),
            kind: Kind::Stream,
            wire: Format::OpenaiChat,
            path: "a.sse".into(),
            says: says.clone(),
        };
        let job = Job {
            fixture: &fixture,
            target: Format::Anthropic,
            path: Path::new("b.sse"),
            language: Language::Python,
            way,
            piece: 0,
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
