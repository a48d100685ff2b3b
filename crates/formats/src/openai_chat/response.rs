//! Chat completions: one text, then the calls.

use super::{
    WIRE, close_call,
    decode::{read_assistant, read_citation},
    open_call,
};
use crate::conversation::{
    ContentPart, LossKind, ModelPart, ModelReply, ModelResponse, PartPlacement, ToolCallPart,
    decode::read_text,
    encode::json_writer::write_compact,
    provider_errors,
    response::{
        ReplyBodyReader, ReplyBodyWriter, dropped_field_note, has_content, read_error, read_seconds,
    },
    stop_reasons,
};
use foxwedge_json::{JsonObject, JsonScanner, JsonShape, JsonValue};

pub(crate) fn read<'a>(
    reader: &mut ReplyBodyReader,
    body: &JsonObject<'_, 'a>,
) -> Result<ModelResponse<'a>, &'static str> {
    if let Some(error) = read_error(WIRE, body) {
        return Ok(ModelResponse::Error(error));
    }
    let Some(choices) = body.get("choices").filter(|choices| choices.is_list()) else {
        // Some servers do not wrap the error object.
        return match body.text("message") {
            Some(_) => Ok(ModelResponse::Error(provider_errors::read(WIRE, body))),
            None => Err("not a chat completion: it has no `choices` list"),
        };
    };
    let mut choices = choices.list();
    let choice = choices.next().and_then(|choice| {
        let object = choice.object();
        if object.is_none() {
            reader.record_loss(LossKind::Unknown, "the first entry of `choices` is not an object");
        }
        object
    });
    if choices.next().is_some() {
        reader.record_loss(
            LossKind::Candidates,
            "all entries of `choices` but the first are left out",
        );
    }
    // Some vendors list the sources here.
    for key in ["citations", "search_results"] {
        reader.record_field_loss(body, key, LossKind::Citation);
    }
    let mut reply = ModelReply {
        wire: Some(WIRE),
        id: read_text(body.get("id")),
        model: read_text(body.get("model")),
        created: read_seconds(body.get("created")),
        usage: reader.read_usage(WIRE, body, "usage"),
        ..ModelReply::default()
    };
    if let Some(choice) = choice {
        if let Some(error) = read_error(WIRE, &choice) {
            return Ok(ModelResponse::Error(error));
        }
        reader.record_field_loss(&choice, "logprobs", LossKind::Unknown);
        reply.stop =
            read_text(choice.get("finish_reason")).map(|reason| stop_reasons::read(WIRE, reason));
        let message = reader.get_of_shape(&choice, "message", &[JsonShape::Object]);
        reply.parts =
            message.and_then(JsonValue::object).map(|m| read_parts(reader, &m)).unwrap_or_default();
        if let Some(stop) = reply.stop.take_if(|_| has_incomplete_call(&reply.parts)) {
            let (stop, note) = stop_reasons::of_incomplete_call(stop);
            reply.stop = Some(stop);
            note.into_iter().for_each(|note| reader.record_loss(LossKind::StopReason, note));
        }
    }
    Ok(ModelResponse::Reply(reply))
}

/// Whether the arguments of a call are no complete JSON value.
fn has_incomplete_call(parts: &[ModelPart<'_>]) -> bool {
    parts.iter().any(|part| match part.content() {
        ContentPart::ToolCall(call) => !call.is_free_text() && !is_complete_json(&call.arguments),
        ContentPart::Text(_)
        | ContentPart::Media(_)
        | ContentPart::Reasoning(_)
        | ContentPart::ToolResult(_)
        | ContentPart::Unknown(_) => false,
    })
}

fn is_complete_json(text: &str) -> bool {
    let mut scan = JsonScanner::new(text);
    scan.skip().and_then(|_| scan.end()).is_ok()
}

fn read_parts<'a>(
    reader: &mut ReplyBodyReader,
    message: &JsonObject<'_, 'a>,
) -> Vec<ModelPart<'a>> {
    for (key, value) in message.fields().filter(|(_, value)| has_content(*value)) {
        let shapes: &[JsonShape] = match &*key {
            "role" => continue,
            "content" => &[JsonShape::String, JsonShape::Array],
            "refusal" | "reasoning_content" | "reasoning" => &[JsonShape::String],
            "tool_calls" | "annotations" => &[JsonShape::Array],
            "function_call" => &[JsonShape::Object],
            "audio" | "images" => &[],
            _ => {
                reader.record_loss(LossKind::Unknown, dropped_field_note(&key));
                continue;
            }
        };
        if shapes.is_empty() {
            reader.record_loss(LossKind::Media, dropped_field_note(&key));
        } else if !shapes.contains(&value.shape()) {
            reader.record_loss(
                LossKind::Unknown,
                format!("`{key}` has the wrong type and is left out"),
            );
        }
    }
    if message.list("tool_calls").any(|call| !call.is_object()) {
        reader.record_loss(LossKind::Unknown, "a call that is not an object is left out");
    }
    let mut parts = read_assistant(message).parts;
    // Some servers send the reasoning twice, under both names.
    let mut last_reasoning = None;
    parts.retain(|part| match part.content() {
        ContentPart::Reasoning(reasoning) if last_reasoning.as_ref() == Some(reasoning) => false,
        ContentPart::Reasoning(reasoning) => {
            last_reasoning = Some(reasoning.clone());
            !reasoning.text.is_empty()
        }
        _ => true,
    });
    let text = |part: &&mut ModelPart<'a>| {
        matches!(part.content(), ContentPart::Text(_))
            && !part.notes().is_some_and(|notes| notes.refusal)
    };
    let citations = message.list("annotations").filter_map(JsonValue::object);
    let citations: Vec<_> = citations.map(|citation| read_citation(&citation)).collect();
    if !citations.is_empty() {
        match parts.iter_mut().find(text) {
            Some(part) => part.notes_mut().citations.extend(citations),
            None => {
                reader.record_loss(LossKind::Citation, "`annotations` without a text are left out")
            }
        }
    }
    parts
}

/// The fields of a message.
#[derive(Default)]
struct ChatMessageFields {
    /// The text, as the inside of a JSON string.
    text: String,
    /// Number of characters of the text; only counted if needed.
    length: usize,
    refusal: String,
    reasoning: String,
    annotations: String,
    calls: String,
}

pub(crate) fn write(writer: &mut ReplyBodyWriter<'_, '_>) {
    let message = build_message(writer);
    writer.out.push_str("{\"id\":");
    writer.write_id();
    writer.out.push_str(",\"object\":\"chat.completion\",\"created\":");
    writer.write_count(writer.reply.created.unwrap_or(0));
    writer.out.push_str(",\"model\":");
    writer.write_model();
    let out = &mut writer.out;
    out.push_str(",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":");
    let has_text = !message.text.is_empty();
    write_string_or_null(
        out,
        &message.text,
        has_text || message.calls.is_empty() && message.refusal.is_empty(),
    );
    out.push_str(",\"refusal\":");
    write_string_or_null(out, &message.refusal, !message.refusal.is_empty());
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
    let reason = writer.stop_word();
    let reason = reason.unwrap_or_else(|| writer.cut_off_word("length"));
    writer.out.push_str(reason);
    writer.out.push_str("\"}]");
    if !writer.reply.usage.is_empty() {
        writer.out.push_str(",\"usage\":");
        writer.write_usage();
    }
    writer.out.push('}');
}

fn build_message(writer: &mut ReplyBodyWriter<'_, '_>) -> ChatMessageFields {
    let mut message = ChatMessageFields::default();
    let reply = writer.reply;
    let has_citations =
        |part: &ModelPart<'_>| part.notes().is_some_and(|notes| !notes.citations.is_empty());
    let has_citations = reply.parts.iter().any(has_citations);
    for part in &reply.parts {
        writer.record_note_losses(part);
        match part.content() {
            ContentPart::Text(text) if part.notes().is_some_and(|notes| notes.refusal) => {
                text.write_unquoted(&mut message.refusal);
            }
            ContentPart::Text(text) => {
                if !message.calls.is_empty() && !text.is_empty() {
                    writer.record_loss(LossKind::Order, "text after a call is moved before it");
                }
                text.write_unquoted(&mut message.text);
                let length = if has_citations { text.chars().count() } else { 0 };
                let sources = writer.usable_citations(part);
                writer.write_annotations(
                    &mut message.annotations,
                    &sources,
                    message.length,
                    length,
                );
                message.length += length;
            }
            ContentPart::Reasoning(reasoning) => {
                let Some(text) = writer.usable_reasoning(part, reasoning).text else { continue };
                if !message.calls.is_empty() || !message.text.is_empty() {
                    writer.record_loss(
                        LossKind::Order,
                        "reasoning after text or a call is moved before it",
                    );
                }
                if !message.reasoning.is_empty() {
                    message.reasoning.push_str("\\n\\n");
                }
                text.write_unquoted(&mut message.reasoning);
            }
            ContentPart::ToolCall(call) => write_call(writer, &mut message.calls, part, call),
            ContentPart::Media(_) | ContentPart::ToolResult(_) | ContentPart::Unknown(_) => {
                writer.record_part_loss(part)
            }
        }
    }
    message
}

fn write_call<'r, 'a>(
    writer: &mut ReplyBodyWriter<'r, 'a>,
    calls: &mut String,
    part: &'r ModelPart<'a>,
    call: &'r ToolCallPart<'a>,
) {
    let id = writer.call_id(call);
    if !calls.is_empty() {
        calls.push(',');
    }
    if let Some(json) = writer.original_call_json(part, call, id.as_deref()) {
        return write_compact(calls, json);
    }
    open_call(calls, id.as_deref(), &call.name, call.is_free_text());
    if call.arguments.is_empty() && !call.is_free_text() {
        calls.push_str("\"{}\"");
    } else {
        call.arguments.write(calls);
    }
    close_call(calls, call.signature.as_ref());
}

/// The field that the reasoning was read from, or the one that most vendors use.
fn reasoning_key(parts: &[ModelPart<'_>]) -> &'static str {
    let is_short_key = |part: &ModelPart<'_>| {
        let origin = part.origin_in(WIRE).filter(|origin| origin.placement == PartPlacement::Field);
        origin.is_some_and(|origin| origin.json.starts_with("\"reasoning\""))
    };
    let mut reasoning_parts =
        parts.iter().filter(|part| matches!(part.content(), ContentPart::Reasoning(_)));
    if reasoning_parts.all(is_short_key) { "reasoning" } else { "reasoning_content" }
}

fn write_string_or_null(out: &mut String, inside: &str, is_present: bool) {
    match is_present {
        true => out.extend(["\"", inside, "\""]),
        false => out.push_str("null"),
    }
}
