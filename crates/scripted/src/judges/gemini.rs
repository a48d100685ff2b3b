//! Google's generateContent.
//!
//! A turn with calls follows the user or results, and the next content has as many results as the
//! turn has calls; a turn may be several contents with calls. Otherwise contents of one role may
//! follow each other.

use serde_json::Value;

use super::{JudgeObjection, JudgeResult, model_name};
use crate::{
    json_fields::{has_only, non_null, one_or_more, text},
    stable_hasher::StableHasher,
};

const CALL_TURN: &str = "Please ensure that function call turn comes immediately after a user turn or \
                         after a function response turn.";
pub(super) const ANSWER_TURN: &str =
    "Please ensure that function response turn comes immediately after a function call turn.";
pub(super) const COUNT_MISMATCH: &str = "Please ensure that the number of function response parts is equal to the number of \
                     function call parts of the function call turn.";
/// Clients decode signatures as base64: only complete groups of four characters survive unchanged.
const SIGNATURE_MARK: &str = "Zm94d2VkZ2Ux";

/// The signature of the thought before a call of the scripted model.
pub(crate) fn thought_signature(name: &str, arguments: &Value) -> String {
    let seal = StableHasher::new("thought")
        .with_field(name.as_bytes())
        .with_field(arguments.to_string().as_bytes());
    format!("{SIGNATURE_MARK}{}", seal.letters(24))
}

pub(super) fn judge(request: &Value) -> JudgeResult {
    let contents = one_or_more(request, "contents");
    match request.get("contents") {
        Some(Value::Array(_) | Value::Object(_)) if !contents.is_empty() => {}
        None | Some(Value::Null | Value::Array(_)) => {
            return Err(JudgeObjection::new(
                "* GenerateContentRequest.contents: contents is not specified\n",
            ));
        }
        Some(_) => {
            return Err(JudgeObjection::new(
                "Invalid value at 'contents' (type.googleapis.com/google.ai.generativelanguage.v1beta.Content)",
            ));
        }
    }
    for (at, one) in contents.iter().enumerate() {
        content(one, at)?;
    }
    turns(contents)?;
    signatures(request, contents)
}

/// A field of a part, in camel case or snake case.
fn field<'v>(part: &'v Value, camel: &str, snake: &str) -> Option<&'v Value> {
    non_null(part, camel).or_else(|| non_null(part, snake))
}

fn call_of(part: &Value) -> Option<&Value> {
    field(part, "functionCall", "function_call")
}

fn answer_of(part: &Value) -> Option<&Value> {
    field(part, "functionResponse", "function_response")
}

fn signature_of(part: &Value) -> Option<&str> {
    let signature = field(part, "thoughtSignature", "thought_signature")?.as_str();
    signature.filter(|signature| !signature.is_empty())
}

fn is_model(content: &Value) -> bool {
    text(content, "role") == Some("model")
}

fn calls(content: &Value) -> usize {
    one_or_more(content, "parts").iter().filter(|part| call_of(part).is_some()).count()
}

fn answers(content: &Value) -> usize {
    one_or_more(content, "parts").iter().filter(|part| answer_of(part).is_some()).count()
}

fn content(content: &Value, at: usize) -> JudgeResult {
    let place = format!("contents[{at}]");
    if !content.is_object() {
        return Err(JudgeObjection::new(format!("Invalid value at '{place}'")));
    }
    match content.get("role") {
        None | Some(Value::Null) => {}
        Some(Value::String(role)) => match role.as_str() {
            "user" | "model" | "function" | "tool" | "" => {}
            "system" => {
                return Err(JudgeObjection::new("Content with system role is not supported."));
            }
            _ => return Err(JudgeObjection::new("Please use a valid role: user, model.")),
        },
        Some(_) => {
            return Err(JudgeObjection::new(format!(
                "Invalid value at '{place}.role' (TYPE_STRING)"
            )));
        }
    }
    let parts = one_or_more(content, "parts");
    match content.get("parts") {
        Some(Value::Array(_) | Value::Object(_)) if !parts.is_empty() => {
            let mut places = parts.iter().enumerate();
            places.try_for_each(|(index, one)| part(one, &format!("{place}.parts[{index}]")))
        }
        None | Some(Value::Null | Value::Array(_)) => Err(JudgeObjection::new(format!(
            "* GenerateContentRequest.{place}.parts: contents.parts must not be empty.\n"
        ))),
        Some(_) => Err(JudgeObjection::new(format!("Invalid value at '{place}.parts'"))),
    }
}

fn part(part: &Value, place: &str) -> JudgeResult {
    if !part.is_object() {
        return Err(JudgeObjection::new(format!("Invalid value at '{place}'")));
    }
    if let Some(call) = call_of(part) {
        let name = text(call, "name").unwrap_or_default();
        let first = name.chars().next();
        let begins = first.is_some_and(|letter| letter.is_ascii_alphabetic() || letter == '_');
        if !begins || name.len() > 128 || !has_only(name, "_.:-") {
            return Err(JudgeObjection::new(format!(
                "* GenerateContentRequest.{place}.function_call.name: Invalid function name. Must \
                 start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), \
                 underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.\n"
            )));
        }
        match call.get("args") {
            None | Some(Value::Null | Value::Object(_)) => {}
            Some(_) => {
                return Err(JudgeObjection::new(format!(
                    "Invalid value at '{place}.function_call.args' \
                     (type.googleapis.com/google.protobuf.Struct)"
                )));
            }
        }
    }
    if let Some(answer) = answer_of(part) {
        if text(answer, "name").unwrap_or_default().is_empty() {
            return Err(JudgeObjection::new(format!(
                "* GenerateContentRequest.{place}.function_response.name: Name cannot be empty.\n"
            )));
        }
        match answer.get("response") {
            None | Some(Value::Null | Value::Object(_)) => {}
            Some(_) => {
                return Err(JudgeObjection::new(format!(
                    "Invalid value at '{place}.function_response.response' \
                     (type.googleapis.com/google.protobuf.Struct)"
                )));
            }
        }
    }
    match part.get("text") {
        Some(Value::String(value)) if value.is_empty() => {
            let thought = part.get("thought") == Some(&Value::Bool(true));
            let carries = signature_of(part).is_some() || thought;
            if carries { Ok(()) } else { Err(JudgeObjection::new("Model input cannot be empty")) }
        }
        None | Some(Value::Null | Value::String(_)) => Ok(()),
        Some(_) => {
            Err(JudgeObjection::new(format!("Invalid value at '{place}.text' (TYPE_STRING)")))
        }
    }
}

fn turns(contents: &[Value]) -> JudgeResult {
    // Consecutive model contents with calls get their results together.
    let mut open: &[Value] = &[];
    for (at, content) in contents.iter().enumerate() {
        let (calls, answers) = (calls(content), answers(content));
        let before = at.checked_sub(1).and_then(|before| contents.get(before));
        let follows = before.is_some_and(|before| !is_model(before)) || !open.is_empty();
        if calls > 0 && (!is_model(content) || !follows) {
            return Err(JudgeObjection::new(CALL_TURN));
        }
        if calls > 0 {
            open = contents.get(at - open.len()..=at).unwrap_or_default();
            continue;
        }
        if answers > 0 && (is_model(content) || open.is_empty()) {
            return Err(JudgeObjection::new(ANSWER_TURN));
        }
        if answers != open.iter().map(self::calls).sum::<usize>() {
            return Err(JudgeObjection::new(COUNT_MISMATCH));
        }
        check_answer_ids(content, open)?;
        open = &[];
    }
    match contents.last() {
        Some(last) if is_model(last) && calls(last) > 0 => Err(JudgeObjection::new(COUNT_MISMATCH)),
        Some(last) if is_model(last) => Err(JudgeObjection::new(
            "Please ensure that multiturn requests ends with a user role or a function response.",
        )),
        _ => Ok(()),
    }
}

/// A result with an id must name an existing call.
fn check_answer_ids(content: &Value, open: &[Value]) -> JudgeResult {
    let ids = |content: &Value, of: fn(&Value) -> Option<&Value>| -> Vec<String> {
        let found = one_or_more(content, "parts").iter().filter_map(of);
        let mut ids: Vec<String> = found
            .filter_map(|it| text(it, "id"))
            .filter(|id| !id.is_empty())
            .map(str::to_owned)
            .collect();
        ids.sort_unstable();
        ids
    };
    let answered = ids(content, answer_of);
    let mut called: Vec<String> = open.iter().flat_map(|calls| ids(calls, call_of)).collect();
    called.sort_unstable();
    // If a call has no id, its result may have any.
    if called.len() < open.iter().map(calls).sum::<usize>() {
        return Ok(());
    }
    let known = |id: &String| called.binary_search(id).is_ok();
    match called.is_empty() || answered.iter().all(known) {
        true => Ok(()),
        false => Err(JudgeObjection::new(ANSWER_TURN)),
    }
}

/// After the last user text, the first call of each step has the signature of its thought.
fn signatures(request: &Value, contents: &[Value]) -> JudgeResult {
    let asks = |content: &Value| !is_model(content) && answers(content) == 0;
    let current = contents.iter().rposition(asks).map_or(0, |at| at + 1);
    let wanted = model_name(request).contains("gemini-3");
    for (at, content) in contents.iter().enumerate() {
        let mut parts = one_or_more(content, "parts").iter().enumerate();
        let Some((index, part)) = parts.find(|(_, part)| call_of(part).is_some()) else { continue };
        let call = call_of(part).unwrap_or(&Value::Null);
        let name = text(call, "name").unwrap_or_default();
        match signature_of(part) {
            None if wanted && at >= current => {
                return Err(JudgeObjection::new(format!(
                    "Function call is missing a thought_signature in functionCall parts. This is \
                     required for tools to work correctly, and missing thought_signature may lead to \
                     degraded model performance. Additional data, function call \
                     `default_api:{name}`, position {index}."
                )));
            }
            Some(signature) if signature.starts_with(SIGNATURE_MARK) => {
                let arguments =
                    call.get("args").cloned().unwrap_or_else(|| Value::Object(Default::default()));
                if signature != thought_signature(name, &arguments) {
                    return Err(JudgeObjection::new("Thought signature is not valid."));
                }
            }
            None | Some(_) => {}
        }
    }
    Ok(())
}
