//! Interactions: a list of steps with a status.

use super::{
    StepKind, WIRE,
    decode::{range_note, read_step},
    encode::{encode_media, write_thought},
    open_call,
};
use crate::conversation::{
    ContentPart, JsonText, LossKind, ModelPart, ModelReply, ModelResponse, ProviderError,
    ProviderErrorKind,
    decode::read_text,
    encode::json_writer::write_comma,
    provider_errors,
    response::{ReplyBodyReader, ReplyBodyWriter, has_content, read_error},
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
    let status = body.text("status");
    let steps = reader.get_of_shape(body, "steps", &[JsonShape::Array]);
    if status.is_none() && steps.is_none() {
        return Err("not an interaction: it has neither `status` nor `steps`");
    }
    if status.as_deref() == Some("failed") {
        if steps.is_some_and(has_content) {
            reader.record_loss(LossKind::Unknown, "the steps before the failure are left out");
        }
        return Ok(ModelResponse::Error(read_failure(body)));
    }
    let mut parts = Vec::new();
    for step in steps.into_iter().flat_map(JsonValue::list) {
        match step.object() {
            Some(step) => parts.extend(read_parts(reader, &step)),
            None => {
                reader.record_loss(LossKind::Unknown, "a step that is not an object is left out")
            }
        }
    }
    reader.record_field_loss(body, "continuation_token", LossKind::Unknown);
    let stop = match status.as_deref() {
        Some("in_progress" | "queued") => None,
        // Servers that omit the status send complete responses.
        None => Some("completed".into()),
        Some(_) => read_text(body.get("status")),
    };
    let stop = stop.map(|status| stop_reasons::read(WIRE, status));
    Ok(ModelResponse::Reply(ModelReply {
        wire: Some(WIRE),
        id: read_text(body.get("id")).filter(|id| !id.is_empty()),
        model: read_text(body.get("model")),
        created: None,
        parts,
        stop,
        usage: reader.read_usage(WIRE, body, "usage"),
    }))
}

/// The error of a failed interaction.
fn read_failure<'a>(body: &JsonObject<'_, 'a>) -> ProviderError<'a> {
    match body.list("errors").find_map(JsonValue::object) {
        Some(error) => provider_errors::read(WIRE, &error),
        None => ProviderError {
            kind: ProviderErrorKind::Server,
            message: JsonText::default(),
            code: None,
        },
    }
}

fn read_parts<'a>(reader: &mut ReplyBodyReader, step: &JsonObject<'_, 'a>) -> Vec<ModelPart<'a>> {
    let Some(message) = read_step(step) else {
        reader.record_loss(LossKind::Unknown, "a step without a type is left out");
        return Vec::new();
    };
    let kind = step.text("type").unwrap_or_default();
    match StepKind::of(&kind) {
        // A stored interaction also holds what the client sent.
        StepKind::UserInput | StepKind::FunctionResult | StepKind::Text | StepKind::Media => {
            let note = format!("a step `{kind}` of the client is left out");
            reader.record_loss(LossKind::Unknown, note);
            return Vec::new();
        }
        StepKind::ModelOutput => {
            reader.record_field_loss(step, "error", LossKind::StopReason);
            reader.get_of_shape(step, "content", &[JsonShape::Array]);
            let has_range = |content: JsonValue<'_, '_>| {
                let mut citations = content
                    .object()
                    .into_iter()
                    .flat_map(|content| content.list("annotations").collect::<Vec<_>>());
                citations.any(|citation| {
                    citation.object().is_some_and(|citation| citation.get("end_index").is_some())
                })
            };
            if step.list("content").any(has_range) {
                reader.record_loss(LossKind::Citation, range_note());
            }
        }
        StepKind::Thought
        | StepKind::FunctionCall
        | StepKind::ServerCall
        | StepKind::ServerResult
        | StepKind::Unknown => {}
    }
    message.parts
}

pub(crate) fn write(writer: &mut ReplyBodyWriter<'_, '_>) {
    writer.out.push_str("{\"id\":");
    writer.write_id();
    writer.out.push_str(",\"object\":\"interaction\",\"model\":");
    writer.write_model();
    let status = match writer.stop_word() {
        Some(status) => status,
        None => writer.cut_off_word("incomplete"),
    };
    writer.out.extend([",\"status\":\"", status, "\",\"steps\":["]);
    write_steps(writer);
    writer.out.push(']');
    if !writer.reply.usage.is_empty() {
        writer.out.push_str(",\"usage\":");
        writer.write_usage();
    }
    writer.out.push('}');
}

/// Writes the steps. Adjacent texts and media share a step.
fn write_steps(writer: &mut ReplyBodyWriter<'_, '_>) {
    let reply = writer.reply;
    let mut is_open = false;
    for part in &reply.parts {
        writer.record_note_losses(part);
        let content = match (part.content(), writer.original_json(part)) {
            (ContentPart::Text(text), None) if text.is_empty() => continue,
            (ContentPart::Text(_) | ContentPart::Media(_), Some(json)) => Some(json.to_owned()),
            (ContentPart::Text(text), None) => Some(write_text(writer, part, text)),
            (ContentPart::Media(media), None) => {
                let block = encode_media(media);
                if block.is_none() {
                    writer.record_part_loss(part);
                    continue;
                }
                block
            }
            _ => None,
        };
        if let Some(content) = content {
            if !std::mem::replace(&mut is_open, true) {
                write_comma(&mut writer.out);
                writer.out.push_str("{\"type\":\"model_output\",\"content\":[");
            }
            write_comma(&mut writer.out);
            writer.write_original(&content);
            continue;
        }
        if std::mem::take(&mut is_open) {
            writer.out.push_str("]}");
        }
        write_step(writer, part);
    }
    if is_open {
        writer.out.push_str("]}");
    }
}

fn write_text<'r, 'a>(
    writer: &mut ReplyBodyWriter<'r, 'a>,
    part: &'r ModelPart<'a>,
    text: &JsonText<'_>,
) -> String {
    writer.record_refusal_loss(part);
    let mut out = String::from("{\"type\":\"text\",\"text\":");
    text.write(&mut out);
    let sources = writer.usable_citations(part);
    if !sources.is_empty() {
        out.push_str(",\"annotations\":[");
        for source in sources {
            writer.record_range_loss(source);
            write_comma(&mut out);
            out.push_str("{\"type\":\"url_citation\"");
            for (key, text) in [("url", &source.url), ("title", &source.title)] {
                if let Some(text) = text {
                    out.extend([",\"", key, "\":"]);
                    text.write(&mut out);
                }
            }
            out.push('}');
        }
        out.push(']');
    }
    out.push('}');
    out
}

/// Writes a part that is a step of its own.
fn write_step<'r, 'a>(writer: &mut ReplyBodyWriter<'r, 'a>, part: &'r ModelPart<'a>) {
    match (part.content(), writer.original_json(part)) {
        (ContentPart::ToolCall(call), _) => {
            let id = writer.call_id(call);
            write_comma(&mut writer.out);
            if let Some(json) = writer.original_call_json(part, call, id.as_deref()) {
                return writer.write_original(json);
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
        (ContentPart::Reasoning(reasoning), None) => {
            let fields = writer.usable_reasoning(part, reasoning);
            if fields.text.is_some() || fields.signature.is_some() {
                write_comma(&mut writer.out);
                write_thought(&mut writer.out, fields.text, fields.signature);
            }
        }
        (_, None) => writer.record_part_loss(part),
    }
}
