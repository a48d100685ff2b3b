//! Converse response bodies: blocks, in the order of generation.

use super::{WIRE, decode::DECODE_FORMAT, open_call};
use crate::conversation::{
    ContentPart, LossKind, ModelPart, ModelReply, ModelResponse, PartNotes, PartPlacement,
    StopReason, TextCitation,
    decode::{read_element, read_text},
    encode::json_writer::write_comma,
    provider_errors,
    response::{ReplyBodyReader, ReplyBodyWriter, dropped_field_note, has_content, read_error},
    stop_reasons,
};
use foxwedge_json::{JsonObject, JsonShape, JsonValue};

pub(crate) fn read<'a>(
    reader: &mut ReplyBodyReader,
    body: &JsonObject<'_, 'a>,
) -> Result<ModelResponse<'a>, &'static str> {
    let Some(output) = body.object("output") else {
        if let Some(error) = read_error(WIRE, body) {
            return Ok(ModelResponse::Error(error));
        }
        return match body.get_any(&["message", "Message", "__type"]).and_then(JsonValue::text) {
            Some(_) => Ok(ModelResponse::Error(provider_errors::read(WIRE, body))),
            None => Err("not a Converse response: it has no `output`"),
        };
    };
    let message =
        reader.get_of_shape(&output, "message", &[JsonShape::Object]).and_then(JsonValue::object);
    let content =
        message.and_then(|message| reader.get_of_shape(&message, "content", &[JsonShape::Array]));
    let parts = content.into_iter().flat_map(JsonValue::list).map(read_block).collect();
    reader.record_field_loss(body, "trace", LossKind::Unknown);
    let fields = body.object("additionalModelResponseFields");
    let sequence = fields.and_then(|fields| read_text(fields.get("stop_sequence")));
    for (key, value) in fields.iter().flat_map(JsonObject::fields) {
        if key != "stop_sequence" && has_content(value) {
            reader.record_loss(LossKind::Unknown, dropped_field_note(&key));
        }
    }
    let stop =
        read_text(body.get("stopReason")).map(|reason| match stop_reasons::read(WIRE, reason) {
            StopReason::Sequence(_) => StopReason::Sequence(sequence),
            stop => stop,
        });
    let usage = reader.read_usage(WIRE, body, "usage");
    Ok(ModelResponse::Reply(ModelReply {
        wire: Some(WIRE),
        parts,
        stop,
        usage,
        ..ModelReply::default()
    }))
}

fn read_block<'a>(value: JsonValue<'_, 'a>) -> ModelPart<'a> {
    let cited = value.object().and_then(|block| read_cited_text(&block));
    cited.unwrap_or_else(|| read_element(value, &DECODE_FORMAT))
}

/// Reads a text with its citations.
fn read_cited_text<'a>(block: &JsonObject<'_, 'a>) -> Option<ModelPart<'a>> {
    let cited = block.object("citationsContent")?;
    let text = |value: JsonValue<'_, 'a>| read_text(value.object()?.get("text"));
    let mut texts = cited.list("content").filter_map(text);
    let first = texts.next().unwrap_or_default();
    let joined = texts.fold(first, |joined, more| {
        let mut joined = joined.into_owned();
        joined.push_str(&more);
        joined.into()
    });
    let citations = cited.list("citations").filter_map(JsonValue::object);
    let notes =
        PartNotes { citations: citations.map(read_source).collect(), ..PartNotes::default() };
    Some(
        ModelPart::read(ContentPart::Text(joined), WIRE, PartPlacement::Block, block.raw())
            .with_notes(notes),
    )
}

fn read_source<'a>(citation: JsonObject<'_, 'a>) -> TextCitation<'a> {
    let web = citation.object("location").and_then(|location| location.object("web"));
    let quote = citation.list("sourceContent").next().and_then(JsonValue::object);
    TextCitation {
        url: web.and_then(|web| read_text(web.get("url"))),
        title: read_text(citation.get("title")),
        quote: quote.and_then(|quote| read_text(quote.get("text"))),
        span: None,
    }
}

pub(crate) fn write(writer: &mut ReplyBodyWriter<'_, '_>) {
    writer.out.push_str("{\"output\":{\"message\":{\"role\":\"assistant\",\"content\":[");
    write_content(writer);
    writer.out.push_str("]}},\"stopReason\":\"");
    let reason = writer.stop_word();
    let reason = reason.unwrap_or_else(|| writer.cut_off_word("max_tokens"));
    writer.out.push_str(reason);
    writer.out.push_str("\",\"usage\":");
    writer.write_usage();
    writer.out.push_str(",\"metrics\":{\"latencyMs\":0}");
    if let Some(StopReason::Sequence(Some(text))) = &writer.reply.stop {
        writer.out.push_str(",\"additionalModelResponseFields\":{");
        writer.write_field("stop_sequence", text);
        writer.out.push('}');
    }
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
                writer.out.push_str("}}");
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
                write_comma(&mut writer.out);
                if sources.is_empty() {
                    writer.out.push('{');
                    writer.write_field("text", text);
                    writer.out.push('}');
                    continue;
                }
                writer.out.push_str("{\"citationsContent\":{\"content\":[{");
                writer.write_field("text", text);
                writer.out.push_str("}],\"citations\":[");
                writer.write_bedrock_citations(&sources, text);
                writer.out.push_str("]}}");
            }
            (ContentPart::Reasoning(reasoning), None) => {
                let fields = writer.usable_reasoning(part, reasoning);
                if let Some(data) = fields.redacted {
                    write_comma(&mut writer.out);
                    writer.out.push_str("{\"reasoningContent\":{");
                    writer.write_field("redactedContent", data);
                    writer.out.push_str("}}");
                } else if fields.text.is_some() || fields.signature.is_some() {
                    write_comma(&mut writer.out);
                    writer.out.push_str("{\"reasoningContent\":{\"reasoningText\":{");
                    writer.write_field("text", &reasoning.text);
                    if let Some(signature) = fields.signature {
                        writer.write_field("signature", signature);
                    }
                    writer.out.push_str("}}}");
                }
            }
            (
                ContentPart::Media(_) | ContentPart::ToolResult(_) | ContentPart::Unknown(_),
                None,
            ) => writer.record_part_loss(part),
        }
    }
}
