//! Chat completions: one text, then the calls.

use foxwedge_core::{Family, Wire};

use super::{
    reader::{Reader, failure, left_out, says, seconds},
    writer::Writer,
};
use crate::{
    canon::{
        Bit, Call, Form, Lost, Outcome, Part, Reply,
        decode::{chat, citation, words},
        encode::pen::{string, tight_into},
        failures, stops,
    },
    json::{Object, Shape, Value},
};

const WIRE: Wire = Wire::OpenaiChat;

pub(super) fn read<'a>(
    reader: &mut Reader,
    body: &Object<'_, 'a>,
) -> Result<Outcome<'a>, &'static str> {
    if let Some(failure) = failure(WIRE, body) {
        return Ok(Outcome::Failure(failure));
    }
    let Some(choices) = body.get("choices").filter(|choices| choices.is_list()) else {
        // Some servers have nothing around what went wrong.
        return match body.text("message") {
            Some(_) => Ok(Outcome::Failure(failures::read(WIRE, body))),
            None => Err("no list of `choices`, so this is no chat completion"),
        };
    };
    let mut choices = choices.list();
    let choice = choices.next().and_then(|choice| {
        let object = choice.object();
        if object.is_none() {
            reader.lose(Lost::Unknown, "the first of `choices` is not an object");
        }
        object
    });
    if choices.next().is_some() {
        reader.lose(Lost::Candidates, "all `choices` but the first are left out");
    }
    // Where these vendors' models say what they read.
    for key in ["citations", "search_results"] {
        reader.leave(body, key, Lost::Citation);
    }
    let mut reply = Reply {
        wire: Some(WIRE),
        id: words(body.get("id")),
        model: words(body.get("model")),
        created: seconds(body.get("created")),
        usage: reader.usage(WIRE, body, "usage"),
        ..Reply::default()
    };
    if let Some(choice) = choice {
        if let Some(failure) = failure(WIRE, &choice) {
            return Ok(Outcome::Failure(failure));
        }
        reader.leave(&choice, "logprobs", Lost::Unknown);
        reply.stop = words(choice.get("finish_reason")).map(|word| stops::read(WIRE, word));
        let message = reader.of_shape(&choice, "message", &[Shape::Object]);
        reply.parts = message.and_then(Value::object).map(|m| said(reader, &m)).unwrap_or_default();
    }
    Ok(Outcome::Reply(reply))
}

fn said<'a>(reader: &mut Reader, message: &Object<'_, 'a>) -> Vec<Part<'a>> {
    for (key, value) in message.fields().filter(|(_, value)| says(*value)) {
        let shapes: &[Shape] = match &*key {
            "role" => continue,
            "content" => &[Shape::String, Shape::Array],
            "refusal" | "reasoning_content" | "reasoning" => &[Shape::String],
            "tool_calls" | "annotations" => &[Shape::Array],
            "function_call" => &[Shape::Object],
            "audio" | "images" => &[],
            _ => {
                reader.lose(Lost::Unknown, left_out(&key));
                continue;
            }
        };
        if shapes.is_empty() {
            reader.lose(Lost::Media, left_out(&key));
        } else if !shapes.contains(&value.shape()) {
            reader.lose(Lost::Unknown, format!("`{key}` is not what it should be and is left out"));
        }
    }
    if message.list("tool_calls").any(|call| !call.is_object()) {
        reader.lose(Lost::Unknown, "a call that is not an object is left out");
    }
    let mut parts = chat::assistant(message).parts;
    // Some servers tell their reasoning twice, under both names.
    let mut thought = None;
    parts.retain(|part| match part.bit() {
        Bit::Reasoning(reasoning) if thought.as_ref() == Some(reasoning) => false,
        Bit::Reasoning(reasoning) => {
            thought = Some(reasoning.clone());
            !reasoning.text.is_empty()
        }
        _ => true,
    });
    let text = |part: &&mut Part<'a>| {
        matches!(part.bit(), Bit::Text(_)) && !part.notes().is_some_and(|notes| notes.refusal)
    };
    let citations = message.list("annotations").filter_map(Value::object);
    let citations: Vec<_> = citations.map(|one| citation(WIRE, &one)).collect();
    if !citations.is_empty() {
        match parts.iter_mut().find(text) {
            Some(part) => part.notes_mut().citations.extend(citations),
            None => reader.lose(Lost::Citation, "`annotations` without a text are left out"),
        }
    }
    parts
}

/// What a message says, field by field.
#[derive(Default)]
struct Message {
    /// The inside of a string.
    text: String,
    /// Characters of the text, counted where somebody asks.
    length: usize,
    refusal: String,
    reasoning: String,
    annotations: String,
    calls: String,
}

pub(super) fn write(writer: &mut Writer<'_, '_>) {
    let message = message(writer);
    writer.out.push_str("{\"id\":");
    writer.write_id();
    writer.out.push_str(",\"object\":\"chat.completion\",\"created\":");
    writer.write_count(writer.reply.created.unwrap_or(0));
    writer.out.push_str(",\"model\":");
    writer.write_model();
    let out = &mut writer.out;
    out.push_str(",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":");
    let spoken = !message.text.is_empty();
    string_or_null(
        out,
        &message.text,
        spoken || message.calls.is_empty() && message.refusal.is_empty(),
    );
    out.push_str(",\"refusal\":");
    string_or_null(out, &message.refusal, !message.refusal.is_empty());
    if !message.reasoning.is_empty() {
        let key = reasoning_key(&writer.reply.parts);
        writer.out.extend([",\"", key, "\":\"", &message.reasoning, "\""]);
    }
    for (key, list) in [("annotations", &message.annotations), ("tool_calls", &message.calls)] {
        if !list.is_empty() {
            writer.out.extend([",\"", key, "\":[", list, "]"]);
        }
    }
    writer.out.push_str("},\"logprobs\":null,\"finish_reason\":\"");
    let word = writer.stop();
    let word = word.unwrap_or_else(|| writer.cut_off("length"));
    writer.out.push_str(word);
    writer.out.push_str("\"}]");
    if !writer.reply.usage.is_empty() {
        writer.out.push_str(",\"usage\":");
        writer.write_usage();
    }
    writer.out.push('}');
}

fn message(writer: &mut Writer<'_, '_>) -> Message {
    let mut message = Message::default();
    let reply = writer.reply;
    let cited = |part: &Part<'_>| part.notes().is_some_and(|notes| !notes.citations.is_empty());
    let cited = reply.parts.iter().any(cited);
    for part in &reply.parts {
        writer.beside(part);
        match part.bit() {
            Bit::Text(text) if part.notes().is_some_and(|notes| notes.refusal) => {
                text.write_inside(&mut message.refusal);
            }
            Bit::Text(text) => {
                if !message.calls.is_empty() && !text.is_empty() {
                    writer.lose(Lost::Order, "a text behind a call stands before it");
                }
                text.write_inside(&mut message.text);
                let length = if cited { text.chars().count() } else { 0 };
                let sources = writer.sources(part);
                writer.annotations(&mut message.annotations, &sources, message.length, length);
                message.length += length;
            }
            Bit::Reasoning(reasoning) => {
                let Some(text) = writer.thought(part, reasoning).text else { continue };
                if !message.calls.is_empty() || !message.text.is_empty() {
                    writer.lose(Lost::Order, "reasoning behind a text or a call stands before it");
                }
                if !message.reasoning.is_empty() {
                    message.reasoning.push_str("\\n\\n");
                }
                text.write_inside(&mut message.reasoning);
            }
            Bit::Call(call) => write_call(writer, &mut message.calls, part, call),
            Bit::Media(_) | Bit::Answer(_) | Bit::Other(_) => writer.leave_out(part),
        }
    }
    message
}

fn write_call<'r, 'a>(
    writer: &mut Writer<'r, 'a>,
    calls: &mut String,
    part: &'r Part<'a>,
    call: &'r Call<'a>,
) {
    let id = writer.call_id(call);
    if !calls.is_empty() {
        calls.push(',');
    }
    if let Some(json) = writer.spelled_call(part, call, id.as_deref()) {
        return tight_into(calls, json);
    }
    calls.push_str("{\"id\":");
    string(calls, id.as_deref().unwrap_or_default());
    let (head, key) = match call.family {
        Family::Custom => (",\"type\":\"custom\",\"custom\":{\"name\":", ",\"input\":"),
        _ => (",\"type\":\"function\",\"function\":{\"name\":", ",\"arguments\":"),
    };
    calls.push_str(head);
    string(calls, &call.name);
    calls.push_str(key);
    if call.arguments.is_empty() && !call.is_free_text() {
        calls.push_str("\"{}\"");
    } else {
        call.arguments.write(calls);
    }
    calls.push('}');
    if let Some(signature) = &call.signature {
        // Google's own spelling of its signatures in this format.
        calls.push_str(",\"extra_content\":{\"google\":{\"thought_signature\":");
        signature.write(calls);
        calls.push_str("}}");
    }
    calls.push('}');
}

/// The name that the reasoning had, or the one that most vendors use.
fn reasoning_key(parts: &[Part<'_>]) -> &'static str {
    let short = |part: &Part<'_>| {
        let raw = part.spelled(WIRE).filter(|raw| raw.form == Form::Field);
        raw.is_some_and(|raw| raw.json.starts_with("\"reasoning\""))
    };
    let mut thoughts = parts.iter().filter(|part| matches!(part.bit(), Bit::Reasoning(_)));
    if thoughts.all(short) { "reasoning" } else { "reasoning_content" }
}

fn string_or_null(out: &mut String, inside: &str, given: bool) {
    match given {
        true => out.extend(["\"", inside, "\""]),
        false => out.push_str("null"),
    }
}
