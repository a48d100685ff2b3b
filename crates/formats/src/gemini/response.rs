//! Gemini response bodies: parts of the first candidate.

use super::{WIRE, close_call, decode::DECODE_FORMAT, open_call};
use crate::conversation::{
    ContentPart, LossKind, MediaPart, MediaSource, ModelReply, ModelResponse, StopReason,
    decode::{read_content, read_text},
    encode::json_writer::{write_comma, write_string},
    media::likely_type,
    response::{ReplyBodyReader, ReplyBodyWriter, has_content, read_error, stop_with_calls},
    stop_reasons,
};
use foxwedge_json::{JsonObject, JsonShape, JsonValue};

pub(crate) fn read<'a>(
    reader: &mut ReplyBodyReader,
    body: &JsonObject<'_, 'a>,
) -> Result<ModelResponse<'a>, &'static str> {
    if let Some(error) = read_error(WIRE, body) {
        return Ok(ModelResponse::Error(error));
    }
    // All fields are optional, but at least one must be present.
    let known = ["candidates", "promptFeedback", "usageMetadata", "responseId", "modelVersion"];
    if body.get_any(&known).is_none() {
        return Err("not a response of generateContent: it has none of its fields");
    }
    let mut reply = ModelReply {
        wire: Some(WIRE),
        id: read_text(body.get("responseId")),
        model: read_text(body.get("modelVersion")),
        usage: reader.read_usage(WIRE, body, "usageMetadata"),
        ..ModelReply::default()
    };
    let candidates = reader.get_of_shape(body, "candidates", &[JsonShape::Array]);
    let mut candidates = candidates.into_iter().flat_map(JsonValue::list);
    match candidates.next() {
        Some(candidate) => match candidate.object() {
            Some(candidate) => read_candidate(reader, &candidate, &mut reply),
            None => reader
                .record_loss(LossKind::Unknown, "the first entry of `candidates` is not an object"),
        },
        None => reply.stop = block_reason(reader, body),
    }
    if candidates.next().is_some() {
        reader.record_loss(
            LossKind::Candidates,
            "all entries of `candidates` but the first are left out",
        );
    }
    Ok(ModelResponse::Reply(reply))
}

fn read_candidate<'a>(
    reader: &mut ReplyBodyReader,
    candidate: &JsonObject<'_, 'a>,
    reply: &mut ModelReply<'a>,
) {
    for key in ["groundingMetadata", "citationMetadata", "urlContextMetadata"] {
        reader.record_field_loss(candidate, key, LossKind::Citation);
    }
    reader.record_field_loss(candidate, "finishMessage", LossKind::StopReason);
    for key in ["logprobsResult", "avgLogprobs"] {
        reader.record_field_loss(candidate, key, LossKind::Unknown);
    }
    let content = reader.get_of_shape(candidate, "content", &[JsonShape::Object]);
    if let Some(content) = content.and_then(JsonValue::object) {
        let parts = reader.get_of_shape(&content, "parts", &[JsonShape::Array]);
        reply.parts = read_content(parts, &DECODE_FORMAT);
    }
    let stop =
        read_text(candidate.get("finishReason")).map(|reason| stop_reasons::read(WIRE, reason));
    reply.stop = stop.map(|stop| stop_with_calls(stop, &reply.parts));
}

/// Why there is no candidate.
fn block_reason(
    reader: &mut ReplyBodyReader,
    body: &JsonObject<'_, '_>,
) -> Option<StopReason<'static>> {
    let feedback = body.object("promptFeedback")?;
    let reason = feedback.get("blockReason").filter(|reason| has_content(*reason))?;
    if reason.text().as_deref() != Some("SAFETY") {
        let note = format!("the request was blocked for {}, which becomes a refusal", reason.raw());
        reader.record_loss(LossKind::StopReason, note);
    }
    Some(StopReason::Refusal)
}

pub(crate) fn write(writer: &mut ReplyBodyWriter<'_, '_>) {
    writer.out.push_str("{\"candidates\":[{\"content\":{\"parts\":[");
    write_parts(writer);
    writer.out.push_str("],\"role\":\"model\"}");
    if let Some(reason) = writer.stop_word() {
        writer.out.extend([",\"finishReason\":\"", reason, "\""]);
    }
    writer.out.push_str(",\"index\":0}]");
    if !writer.reply.usage.is_empty() {
        writer.out.push_str(",\"usageMetadata\":");
        writer.write_usage();
    }
    // Optional in this format, so no value is invented.
    if writer.reply.model.is_some() {
        writer.out.push_str(",\"modelVersion\":");
        writer.write_model();
    }
    if writer.reply.id.is_some() {
        writer.out.push_str(",\"responseId\":");
        writer.write_id();
    }
    writer.out.push('}');
}

fn write_parts(writer: &mut ReplyBodyWriter<'_, '_>) {
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
                open_call(&mut writer.out, id.as_deref(), &call.name);
                writer.write_arguments_object(call);
                close_call(&mut writer.out, call.signature.as_ref());
            }
            (_, Some(json)) => {
                write_comma(&mut writer.out);
                writer.write_original(json);
            }
            (ContentPart::Text(text), None) => {
                writer.record_refusal_loss(part);
                writer.usable_citations(part);
                if !text.is_empty() {
                    write_comma(&mut writer.out);
                    writer.out.push('{');
                    writer.write_field("text", text);
                    writer.out.push('}');
                }
            }
            (ContentPart::Reasoning(reasoning), None) => {
                let fields = writer.usable_reasoning(part, reasoning);
                if fields.text.is_none() && fields.signature.is_none() {
                    continue;
                }
                write_comma(&mut writer.out);
                writer.out.push('{');
                writer.write_field("text", &reasoning.text);
                writer.out.push_str(",\"thought\":true");
                if let Some(signature) = fields.signature {
                    writer.write_field("thoughtSignature", signature);
                }
                writer.out.push('}');
            }
            (ContentPart::Media(media), None) => {
                if !write_media(&mut writer.out, media) {
                    writer.record_part_loss(part);
                }
            }
            (ContentPart::ToolResult(_) | ContentPart::Unknown(_), None) => {
                writer.record_part_loss(part)
            }
        }
    }
}

/// Writes media that the model generated, if the format supports it.
fn write_media(out: &mut String, media: &MediaPart<'_>) -> bool {
    let (head, key, value) = match &media.source {
        MediaSource::Data(data) => ("inlineData", "data", &**data),
        MediaSource::Url(uri) => ("fileData", "fileUri", &**uri),
        MediaSource::Text(_) | MediaSource::Stored { .. } => match media.source.stored_for(WIRE) {
            Some(uri) => ("fileData", "fileUri", uri),
            None => return false,
        },
    };
    write_comma(out);
    out.extend(["{\"", head, "\":{\"mimeType\":"]);
    write_string(out, likely_type(media));
    out.extend([",\"", key, "\":"]);
    write_string(out, value);
    out.push_str("}}");
    true
}
