//! Anthropic messages: blocks, in the order in which they were said.

use foxwedge_core::Wire;

use super::{
    reader::{Reader, failure},
    writer::Writer,
};
use crate::{
    canon::{
        Bit, Lost, Outcome, Reply, Stop, Words,
        decode::{anthropic, body as blocks, words},
        encode::pen::{next, string},
        failures, stops,
    },
    json::{Object, Shape},
};

const WIRE: Wire = Wire::Anthropic;

pub(super) fn read<'a>(
    reader: &mut Reader,
    body: &Object<'_, 'a>,
) -> Result<Outcome<'a>, &'static str> {
    let content = body.get("content");
    let content = content.filter(|content| content.is_list() || content.text().is_some());
    let Some(content) = content else {
        return match (failure(WIRE, body), body.text("message")) {
            (Some(failure), _) => Ok(Outcome::Failure(failure)),
            (None, Some(_)) => Ok(Outcome::Failure(failures::read(WIRE, body))),
            (None, None) => Err("no list of `content`, so this is no message"),
        };
    };
    reader.leave(body, "stop_details", Lost::StopReason);
    reader.leave(body, "container", Lost::Unknown);
    reader.of_shape(body, "stop_reason", &[Shape::String]);
    let stop = words(body.get("stop_reason")).map(|word| match stops::read(WIRE, word) {
        Stop::Sequence(_) => Stop::Sequence(words(body.get("stop_sequence"))),
        stop => stop,
    });
    Ok(Outcome::Reply(Reply {
        wire: Some(WIRE),
        id: words(body.get("id")),
        model: words(body.get("model")),
        created: None,
        parts: blocks(Some(content), WIRE, anthropic::block),
        stop,
        usage: reader.usage(WIRE, body, "usage"),
    }))
}

pub(super) fn write(writer: &mut Writer<'_, '_>) {
    writer.out.push_str("{\"id\":");
    writer.write_id();
    writer.out.push_str(",\"type\":\"message\",\"role\":\"assistant\",\"model\":");
    writer.write_model();
    writer.out.push_str(",\"content\":[");
    content(writer);
    writer.out.push_str("],\"stop_reason\":");
    match writer.stop() {
        Some(word) => string(&mut writer.out, word),
        None => writer.out.push_str("null"),
    }
    writer.out.push_str(",\"stop_sequence\":");
    match &writer.reply.stop {
        Some(Stop::Sequence(Some(text))) => text.write(&mut writer.out),
        _ => writer.out.push_str("null"),
    }
    writer.out.push_str(",\"usage\":");
    writer.write_usage();
    writer.out.push('}');
}

fn content(writer: &mut Writer<'_, '_>) {
    let reply = writer.reply;
    for part in &reply.parts {
        writer.beside(part);
        match (part.bit(), writer.spelled(part)) {
            (Bit::Call(call), _) => {
                let id = writer.call_id(call);
                next(&mut writer.out);
                if let Some(json) = writer.spelled_call(part, call, id.as_deref()) {
                    writer.write_spelled(json);
                    continue;
                }
                writer.unsigned(call);
                writer.out.push_str("{\"type\":\"tool_use\",\"id\":");
                string(&mut writer.out, id.as_deref().unwrap_or_default());
                writer.out.push_str(",\"name\":");
                string(&mut writer.out, &call.name);
                writer.out.push_str(",\"input\":");
                writer.write_object(call);
                writer.out.push('}');
            }
            (_, Some(json)) => {
                next(&mut writer.out);
                writer.write_spelled(json);
            }
            (Bit::Text(text), None) => {
                writer.unmarked(part);
                let sources = writer.sources(part);
                if text.is_empty() {
                    continue;
                }
                block(writer, "text", "text", text);
                if !sources.is_empty() {
                    writer.out.push_str(",\"citations\":[");
                    writer.locations(&sources, text);
                    writer.out.push(']');
                }
                writer.out.push('}');
            }
            (Bit::Reasoning(reasoning), None) => {
                let thought = writer.thought(part, reasoning);
                if let Some(data) = thought.redacted {
                    block(writer, "redacted_thinking", "data", data);
                    writer.out.push('}');
                } else if thought.text.is_some() || thought.signature.is_some() {
                    block(writer, "thinking", "thinking", &reasoning.text);
                    // Readers insist on one.
                    writer.write_field("signature", thought.signature.unwrap_or(&Words::default()));
                    writer.out.push('}');
                }
            }
            (Bit::Media(_) | Bit::Answer(_) | Bit::Other(_), None) => writer.leave_out(part),
        }
    }
}

/// Adds the beginning of a block.
fn block(writer: &mut Writer<'_, '_>, kind: &str, key: &str, text: &Words<'_>) {
    next(&mut writer.out);
    writer.out.extend(["{\"type\":\"", kind, "\""]);
    writer.write_field(key, text);
}
