//! Responses bodies: a list of items. Adjacent texts share a message item; everything else is a
//! separate item.

use foxwedge_core::CallFamily;

use super::{WIRE, decode::read_item, open_call};
use crate::conversation::{
    ContentPart, JsonText, LossKind, ModelPart, ModelReply, ModelResponse, ProviderError,
    ProviderErrorKind, StopReason, ToolCallPart,
    decode::{read_text, unknown_fields},
    encode::json_writer::write_comma,
    provider_errors,
    response::{
        ReplyBodyReader, ReplyBodyWriter, has_content, item_id, read_error, read_seconds,
        stop_with_calls,
    },
    stop_reasons,
};
use foxwedge_json::{JsonObject, JsonShape, JsonValue};

pub(crate) fn read<'a>(
    reader: &mut ReplyBodyReader,
    body: &JsonObject<'_, 'a>,
) -> Result<ModelResponse<'a>, &'static str> {
    let status = body.text("status");
    let output = body.get("output").filter(|output| output.is_list());
    let error = match read_error(WIRE, body) {
        None if status.as_deref() == Some("failed") => Some(ProviderError {
            kind: ProviderErrorKind::Server,
            message: JsonText::default(),
            code: None,
        }),
        error => error,
    };
    if let Some(provider_error) = error {
        if output.is_some_and(has_content) {
            reader.record_loss(LossKind::Unknown, "the output before the failure is left out");
        }
        return Ok(ModelResponse::Error(provider_error));
    }
    let Some(output) = output else {
        return match body.text("message") {
            Some(_) => Ok(ModelResponse::Error(provider_errors::read(WIRE, body))),
            None => Err("not a response: it has no `output` list"),
        };
    };
    let mut parts = Vec::new();
    for item in output.list() {
        match item.object() {
            Some(item) => parts.extend(read_parts(reader, &item)),
            None => {
                reader.record_loss(LossKind::Unknown, "an item that is not an object is left out")
            }
        }
    }
    let details = reader.get_of_shape(body, "incomplete_details", &[JsonShape::Object]);
    let reason =
        details.and_then(JsonValue::object).and_then(|details| read_text(details.get("reason")));
    let stop = match status.as_deref() {
        // Servers that omit the status send complete responses.
        Some("completed") | None => Some(StopReason::End),
        Some(_) => None,
    };
    let stop = reason.map(|reason| stop_reasons::read(WIRE, reason)).or(stop);
    Ok(ModelResponse::Reply(ModelReply {
        wire: Some(WIRE),
        id: read_text(body.get("id")),
        model: read_text(body.get("model")),
        created: read_seconds(body.get("created_at")),
        stop: stop.map(|stop| stop_with_calls(stop, &parts)),
        parts,
        usage: reader.read_usage(WIRE, body, "usage"),
    }))
}

fn read_parts<'a>(reader: &mut ReplyBodyReader, item: &JsonObject<'_, 'a>) -> Vec<ModelPart<'a>> {
    let Some(message) = read_item(item) else {
        reader.record_loss(LossKind::Unknown, "a message with an unknown role is left out");
        return Vec::new();
    };
    let kind = item.text("type");
    if matches!(kind.as_deref(), None | Some("message")) {
        reader.record_field_loss(item, "phase", LossKind::Unknown);
        reader.get_of_shape(item, "content", &[JsonShape::String, JsonShape::Array]);
        return message.parts;
    }
    let notes = unknown_fields(item, &KNOWN_IN_REPLY);
    let with_unknown_fields = |part: ModelPart<'a>| match part.content() {
        ContentPart::ToolCall(_) | ContentPart::Reasoning(_) => part.with_notes(notes.clone()),
        _ => part,
    };
    message.parts.into_iter().map(with_unknown_fields).collect()
}

/// The known fields of calls and reasoning in a reply.
pub(super) const KNOWN_IN_REPLY: [&str; 12] = [
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

pub(crate) fn write(writer: &mut ReplyBodyWriter<'_, '_>) {
    let reason = writer.stop_word();
    write_head(writer, reason);
    let mut index = 0;
    let mut texts: Vec<&ModelPart<'_>> = Vec::new();
    let reply = writer.reply;
    for part in &reply.parts {
        writer.record_note_losses(part);
        if let ContentPart::Text(text) = part.content() {
            if !text.is_empty() {
                texts.push(part);
            }
            continue;
        }
        let before = writer.out.len();
        write_message(writer, &mut texts, &mut index);
        match (part.content(), writer.original_json(part)) {
            (ContentPart::ToolCall(call), _) => write_call(writer, part, call, index),
            (_, Some(json)) => {
                write_comma(&mut writer.out);
                writer.write_original(json);
            }
            (ContentPart::Reasoning(reasoning), None) => {
                let fields = writer.usable_reasoning(part, reasoning);
                if fields.text.is_none() && fields.encrypted.is_none() {
                    continue;
                }
                write_comma(&mut writer.out);
                writer.out.push_str("{\"type\":\"reasoning\",\"id\":\"");
                writer.out.push_str(&item_id("rs", &writer.id(), index));
                writer.out.push_str("\",\"summary\":[");
                if let Some(text) = fields.text {
                    writer.out.push_str("{\"type\":\"summary_text\"");
                    writer.write_field("text", text);
                    writer.out.push('}');
                }
                writer.out.push(']');
                if let Some(content) = fields.encrypted {
                    writer.write_field("encrypted_content", content);
                }
                writer.out.push('}');
            }
            (_, None) => writer.record_part_loss(part),
        }
        index += usize::from(writer.out.len() > before);
    }
    write_message(writer, &mut texts, &mut index);
    write_tail(writer);
}

/// Writes everything before the items.
fn write_head(writer: &mut ReplyBodyWriter<'_, '_>, stop_reason: Option<&str>) {
    writer.out.push_str("{\"id\":");
    writer.write_id();
    writer.out.push_str(",\"object\":\"response\",\"created_at\":");
    writer.write_count(writer.reply.created.unwrap_or(0));
    writer.out.push_str(",\"status\":\"");
    let (status, reason) = match stop_reason {
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

/// Writes everything after the items. Strict clients require the request settings here, which are
/// unknown; defaults are written.
fn write_tail(writer: &mut ReplyBodyWriter<'_, '_>) {
    writer.out.push_str("],\"parallel_tool_calls\":true,\"temperature\":null");
    writer.out.push_str(",\"tool_choice\":\"auto\",\"tools\":[],\"top_p\":null,\"usage\":");
    match writer.reply.usage.is_empty() {
        true => writer.out.push_str("null"),
        false => writer.write_usage(),
    }
    writer.out.push('}');
}

fn write_message<'r, 'a>(
    writer: &mut ReplyBodyWriter<'r, 'a>,
    texts: &mut Vec<&'r ModelPart<'a>>,
    index: &mut usize,
) {
    if texts.is_empty() {
        return;
    }
    write_comma(&mut writer.out);
    writer.out.push_str("{\"type\":\"message\",\"id\":\"");
    writer.out.push_str(&item_id("msg", &writer.id(), *index));
    writer.out.push_str("\",\"status\":\"completed\",\"role\":\"assistant\",\"content\":[");
    for part in texts.drain(..) {
        let ContentPart::Text(text) = part.content() else { continue };
        write_comma(&mut writer.out);
        if let Some(json) = writer.original_json(part) {
            writer.write_original(json);
        } else if part.notes().is_some_and(|notes| notes.refusal) {
            writer.out.push_str("{\"type\":\"refusal\"");
            writer.write_field("refusal", text);
            writer.out.push('}');
        } else {
            writer.out.push_str("{\"type\":\"output_text\"");
            writer.write_field("text", text);
            let sources = writer.usable_citations(part);
            let length = if sources.is_empty() { 0 } else { text.chars().count() };
            let mut annotations = String::new();
            writer.write_annotations(&mut annotations, &sources, 0, length);
            writer.out.extend([",\"annotations\":[", &annotations, "],\"logprobs\":[]}"]);
        }
    }
    writer.out.push_str("]}");
    *index += 1;
}

fn write_call<'r, 'a>(
    writer: &mut ReplyBodyWriter<'r, 'a>,
    part: &'r ModelPart<'a>,
    call: &'r ToolCallPart<'a>,
    index: usize,
) {
    let id = writer.call_id(call);
    write_comma(&mut writer.out);
    if let Some(json) = writer.original_call_json(part, call, id.as_deref()) {
        return writer.write_original(json);
    }
    writer.record_signature_loss(call);
    let prefix = if call.family == CallFamily::Custom { "ctc" } else { "fc" };
    let item = item_id(prefix, &writer.id(), index);
    open_call(&mut writer.out, Some(&item), id.as_deref(), &call.name, call.family);
    writer.write_arguments_text(call);
    if call.family != CallFamily::Custom {
        writer.out.push_str(",\"status\":\"completed\"");
    }
    writer.out.push('}');
}
