//! Anthropic response bodies: blocks, in the order of generation.

use super::{WIRE, decode::DECODE_FORMAT, open_call};
use crate::conversation::{
    ContentPart, JsonText, LossKind, ModelReply, ModelResponse, StopReason,
    decode::{read_content, read_text},
    encode::json_writer::{write_comma, write_string},
    provider_errors,
    response::{ReplyBodyReader, ReplyBodyWriter, read_error},
    stop_reasons,
};
use foxwedge_json::{JsonObject, JsonShape};

pub(crate) fn read<'a>(
    reader: &mut ReplyBodyReader,
    body: &JsonObject<'_, 'a>,
) -> Result<ModelResponse<'a>, &'static str> {
    let content = body.get("content");
    let content = content.filter(|content| content.is_list() || content.text().is_some());
    let Some(content) = content else {
        return match (read_error(WIRE, body), body.text("message")) {
            (Some(error), _) => Ok(ModelResponse::Error(error)),
            (None, Some(_)) => Ok(ModelResponse::Error(provider_errors::read(WIRE, body))),
            (None, None) => Err("not a message: it has no `content` list"),
        };
    };
    reader.record_field_loss(body, "stop_details", LossKind::StopReason);
    reader.record_field_loss(body, "container", LossKind::Unknown);
    reader.get_of_shape(body, "stop_reason", &[JsonShape::String]);
    let stop =
        read_text(body.get("stop_reason")).map(|reason| match stop_reasons::read(WIRE, reason) {
            StopReason::Sequence(_) => StopReason::Sequence(read_text(body.get("stop_sequence"))),
            stop => stop,
        });
    Ok(ModelResponse::Reply(ModelReply {
        wire: Some(WIRE),
        id: read_text(body.get("id")),
        model: read_text(body.get("model")),
        created: None,
        parts: read_content(Some(content), &DECODE_FORMAT),
        stop,
        usage: reader.read_usage(WIRE, body, "usage"),
    }))
}

pub(crate) fn write(writer: &mut ReplyBodyWriter<'_, '_>) {
    writer.out.push_str("{\"id\":");
    writer.write_id();
    writer.out.push_str(",\"type\":\"message\",\"role\":\"assistant\",\"model\":");
    writer.write_model();
    writer.out.push_str(",\"content\":[");
    write_content(writer);
    writer.out.push_str("],\"stop_reason\":");
    match writer.stop_word() {
        Some(reason) => write_string(&mut writer.out, reason),
        None => writer.out.push_str("null"),
    }
    writer.out.push_str(",\"stop_sequence\":");
    match &writer.reply.stop {
        Some(StopReason::Sequence(Some(text))) => text.write(&mut writer.out),
        _ => writer.out.push_str("null"),
    }
    writer.out.push_str(",\"usage\":");
    writer.write_usage();
    writer.out.push('}');
}

fn write_content(writer: &mut ReplyBodyWriter<'_, '_>) {
    let reply = writer.reply;
    for part in &reply.parts {
        writer.record_note_losses(part);
        match (part.content(), writer.original_json(part)) {
            (ContentPart::ToolCall(call), _) => {
                let id = writer.call_id(call);
                write_comma(&mut writer.out);
                if let Some(json) = writer.original_call_json(part, call, id.as_deref()) {
                    writer.write_original(json);
                    continue;
                }
                writer.record_signature_loss(call);
                open_call(&mut writer.out, id.as_deref(), &call.name);
                writer.write_arguments_object(call);
                writer.out.push('}');
            }
            (_, Some(json)) => {
                write_comma(&mut writer.out);
                writer.write_original(json);
            }
            (ContentPart::Text(text), None) => {
                writer.record_refusal_loss(part);
                let sources = writer.usable_citations(part);
                if text.is_empty() {
                    continue;
                }
                open_block(writer, "text", "text", text);
                if !sources.is_empty() {
                    writer.out.push_str(",\"citations\":[");
                    writer.write_anthropic_citations(&sources, text);
                    writer.out.push(']');
                }
                writer.out.push('}');
            }
            (ContentPart::Reasoning(reasoning), None) => {
                let fields = writer.usable_reasoning(part, reasoning);
                if let Some(data) = fields.redacted {
                    open_block(writer, "redacted_thinking", "data", data);
                    writer.out.push('}');
                } else if fields.text.is_some() || fields.signature.is_some() {
                    open_block(writer, "thinking", "thinking", &reasoning.text);
                    // Strict clients require this field.
                    writer
                        .write_field("signature", fields.signature.unwrap_or(&JsonText::default()));
                    writer.out.push('}');
                }
            }
            (
                ContentPart::Media(_) | ContentPart::ToolResult(_) | ContentPart::Unknown(_),
                None,
            ) => writer.record_part_loss(part),
        }
    }
}

/// Writes the start of a block.
fn open_block(writer: &mut ReplyBodyWriter<'_, '_>, kind: &str, key: &str, text: &JsonText<'_>) {
    write_comma(&mut writer.out);
    writer.out.extend(["{\"type\":\"", kind, "\""]);
    writer.write_field(key, text);
}
