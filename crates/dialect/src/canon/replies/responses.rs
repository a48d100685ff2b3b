//! Responses: a list of items. Neighbouring texts share a message, everything else is an item of
//! its own.

use foxwedge_core::{Family, Wire};

use super::{
    item_id,
    reader::{Reader, failure, says, seconds, with_calls},
    writer::Writer,
};
use crate::{
    canon::{
        Bit, Call, Failure, Lost, Notes, Outcome, Part, Reply, Stop, Trouble, Words,
        decode::{responses, words},
        encode::pen::{next, string},
        failures, stops,
    },
    json::{Object, Shape, Value},
};

const WIRE: Wire = Wire::OpenaiResponses;

pub(super) fn read<'a>(
    reader: &mut Reader,
    body: &Object<'_, 'a>,
) -> Result<Outcome<'a>, &'static str> {
    let status = body.text("status");
    let output = body.get("output").filter(|output| output.is_list());
    let failed = match failure(WIRE, body) {
        None if status.as_deref() == Some("failed") => {
            Some(Failure { kind: Trouble::Server, message: Words::default(), code: None })
        }
        failed => failed,
    };
    if let Some(failure) = failed {
        if output.is_some_and(says) {
            reader.lose(Lost::Unknown, "what was said before the failure is left out");
        }
        return Ok(Outcome::Failure(failure));
    }
    let Some(output) = output else {
        return match body.text("message") {
            Some(_) => Ok(Outcome::Failure(failures::read(WIRE, body))),
            None => Err("no list of `output`, so this is no response"),
        };
    };
    let mut parts = Vec::new();
    for item in output.list() {
        match item.object() {
            Some(item) => parts.extend(said(reader, &item)),
            None => reader.lose(Lost::Unknown, "an item that is not an object is left out"),
        }
    }
    let details = reader.of_shape(body, "incomplete_details", &[Shape::Object]);
    let reason = details.and_then(Value::object).and_then(|details| words(details.get("reason")));
    let stop = match status.as_deref() {
        // Servers that leave it out send whole answers.
        Some("completed") | None => Some(Stop::End),
        Some(_) => None,
    };
    let stop = reason.map(|reason| stops::read(WIRE, reason)).or(stop);
    Ok(Outcome::Reply(Reply {
        wire: Some(WIRE),
        id: words(body.get("id")),
        model: words(body.get("model")),
        created: seconds(body.get("created_at")),
        stop: stop.map(|stop| with_calls(stop, &parts)),
        parts,
        usage: reader.usage(WIRE, body, "usage"),
    }))
}

fn said<'a>(reader: &mut Reader, item: &Object<'_, 'a>) -> Vec<Part<'a>> {
    let Some(said) = responses::item(item) else {
        reader.lose(Lost::Unknown, "a message of nobody is left out");
        return Vec::new();
    };
    let kind = item.text("type");
    if matches!(kind.as_deref(), None | Some("message")) {
        reader.leave(item, "phase", Lost::Unknown);
        reader.of_shape(item, "content", &[Shape::String, Shape::Array]);
        return said.parts;
    }
    let known = [
        "type",
        "id",
        "call_id",
        "name",
        "arguments",
        "input",
        "action",
        "operation",
        "status",
        "summary",
        "content",
        "encrypted_content",
    ];
    let others = item.fields().filter(|(key, value)| says(*value) && !known.contains(&&**key));
    let others: Vec<_> = others.map(|(key, _)| key).collect();
    let with = |part: Part<'a>| match part.bit() {
        Bit::Call(_) | Bit::Reasoning(_) => {
            part.with(Notes { others: others.clone(), ..Notes::default() })
        }
        _ => part,
    };
    said.parts.into_iter().map(with).collect()
}

pub(super) fn write(writer: &mut Writer<'_, '_>) {
    let word = writer.stop();
    open(writer, word);
    let mut index = 0;
    let mut texts: Vec<&Part<'_>> = Vec::new();
    let reply = writer.reply;
    for part in &reply.parts {
        writer.beside(part);
        if let Bit::Text(text) = part.bit() {
            if !text.is_empty() {
                texts.push(part);
            }
            continue;
        }
        let before = writer.out.len();
        message(writer, &mut texts, &mut index);
        match (part.bit(), writer.spelled(part)) {
            (Bit::Call(call), _) => write_call(writer, part, call, index),
            (_, Some(json)) => {
                next(&mut writer.out);
                writer.write_spelled(json);
            }
            (Bit::Reasoning(reasoning), None) => {
                let thought = writer.thought(part, reasoning);
                if thought.text.is_none() && thought.encrypted.is_none() {
                    continue;
                }
                next(&mut writer.out);
                writer.out.push_str("{\"type\":\"reasoning\",\"id\":\"");
                writer.out.push_str(&item_id("rs", &writer.id(), index));
                writer.out.push_str("\",\"summary\":[");
                if let Some(text) = thought.text {
                    writer.out.push_str("{\"type\":\"summary_text\"");
                    writer.write_field("text", text);
                    writer.out.push('}');
                }
                writer.out.push(']');
                if let Some(content) = thought.encrypted {
                    writer.write_field("encrypted_content", content);
                }
                writer.out.push('}');
            }
            (_, None) => writer.leave_out(part),
        }
        index += usize::from(writer.out.len() > before);
    }
    message(writer, &mut texts, &mut index);
    close(writer);
}

/// Adds everything up to the items.
fn open(writer: &mut Writer<'_, '_>, word: Option<&str>) {
    writer.out.push_str("{\"id\":");
    writer.write_id();
    writer.out.push_str(",\"object\":\"response\",\"created_at\":");
    writer.write_count(writer.reply.created.unwrap_or(0));
    writer.out.push_str(",\"status\":\"");
    let (status, reason) = match word {
        Some("completed") => ("completed", None),
        reason => ("incomplete", reason),
    };
    writer.out.push_str(status);
    writer.out.push_str("\",\"error\":null,\"incomplete_details\":");
    match reason {
        Some(reason) => writer.out.extend(["{\"reason\":\"", reason, "\"}"]),
        None => writer.out.push_str("null"),
    }
    writer.out.push_str(",\"instructions\":null,\"metadata\":{},\"model\":");
    writer.write_model();
    writer.out.push_str(",\"output\":[");
}

/// Adds everything behind the items. Readers insist on what the request said; nobody knows it here.
fn close(writer: &mut Writer<'_, '_>) {
    writer.out.push_str("],\"parallel_tool_calls\":true,\"temperature\":null");
    writer.out.push_str(",\"tool_choice\":\"auto\",\"tools\":[],\"top_p\":null,\"usage\":");
    match writer.reply.usage.is_empty() {
        true => writer.out.push_str("null"),
        false => writer.write_usage(),
    }
    writer.out.push('}');
}

fn message<'r, 'a>(writer: &mut Writer<'r, 'a>, texts: &mut Vec<&'r Part<'a>>, index: &mut usize) {
    if texts.is_empty() {
        return;
    }
    next(&mut writer.out);
    writer.out.push_str("{\"type\":\"message\",\"id\":\"");
    writer.out.push_str(&item_id("msg", &writer.id(), *index));
    writer.out.push_str("\",\"status\":\"completed\",\"role\":\"assistant\",\"content\":[");
    for part in texts.drain(..) {
        let Bit::Text(text) = part.bit() else { continue };
        next(&mut writer.out);
        if let Some(json) = writer.spelled(part) {
            writer.write_spelled(json);
        } else if part.notes().is_some_and(|notes| notes.refusal) {
            writer.out.push_str("{\"type\":\"refusal\"");
            writer.write_field("refusal", text);
            writer.out.push('}');
        } else {
            writer.out.push_str("{\"type\":\"output_text\"");
            writer.write_field("text", text);
            let sources = writer.sources(part);
            let length = if sources.is_empty() { 0 } else { text.chars().count() };
            let mut annotations = String::new();
            writer.annotations(&mut annotations, &sources, 0, length);
            writer.out.extend([",\"annotations\":[", &annotations, "],\"logprobs\":[]}"]);
        }
    }
    writer.out.push_str("]}");
    *index += 1;
}

fn write_call<'r, 'a>(
    writer: &mut Writer<'r, 'a>,
    part: &'r Part<'a>,
    call: &'r Call<'a>,
    index: usize,
) {
    let id = writer.call_id(call);
    next(&mut writer.out);
    if let Some(json) = writer.spelled_call(part, call, id.as_deref()) {
        return writer.write_spelled(json);
    }
    writer.unsigned(call);
    let (kind, prefix, key) = match call.family {
        Family::Custom => ("custom_tool_call", "ctc", "input"),
        // A built-in tool that another format called is told as a function.
        _ => ("function_call", "fc", "arguments"),
    };
    let item = item_id(prefix, &writer.id(), index);
    writer.out.extend(["{\"type\":\"", kind, "\",\"id\":\"", &item, "\",\"call_id\":"]);
    string(&mut writer.out, id.as_deref().unwrap_or_default());
    writer.out.push_str(",\"name\":");
    string(&mut writer.out, &call.name);
    writer.out.extend([",\"", key, "\":"]);
    writer.write_text(call);
    if call.family != Family::Custom {
        writer.out.push_str(",\"status\":\"completed\"");
    }
    writer.out.push('}');
}
