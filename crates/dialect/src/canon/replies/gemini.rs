//! Gemini: parts of the first candidate.

use foxwedge_core::Wire;

use super::{
    reader::{Reader, failure, says, with_calls},
    writer::Writer,
};
use crate::{
    canon::{
        Bit, Lost, Media, Outcome, Reply, Source, Stop,
        decode::{body as blocks, gemini, words},
        encode::pen::{next, string},
        media::likely_type,
        stops,
    },
    json::{Object, Shape, Value},
};

const WIRE: Wire = Wire::Gemini;

pub(super) fn read<'a>(
    reader: &mut Reader,
    body: &Object<'_, 'a>,
) -> Result<Outcome<'a>, &'static str> {
    if let Some(failure) = failure(WIRE, body) {
        return Ok(Outcome::Failure(failure));
    }
    // Nothing of it has to be there, but something has to.
    let known = ["candidates", "promptFeedback", "usageMetadata", "responseId", "modelVersion"];
    if body.any(&known).is_none() {
        return Err("none of the fields of a generated content");
    }
    let mut reply = Reply {
        wire: Some(WIRE),
        id: words(body.get("responseId")),
        model: words(body.get("modelVersion")),
        usage: reader.usage(WIRE, body, "usageMetadata"),
        ..Reply::default()
    };
    let candidates = reader.of_shape(body, "candidates", &[Shape::Array]);
    let mut candidates = candidates.into_iter().flat_map(Value::list);
    match candidates.next() {
        Some(candidate) => match candidate.object() {
            Some(candidate) => said(reader, &candidate, &mut reply),
            None => reader.lose(Lost::Unknown, "the first of `candidates` is not an object"),
        },
        None => reply.stop = blocked(reader, body),
    }
    if candidates.next().is_some() {
        reader.lose(Lost::Candidates, "all `candidates` but the first are left out");
    }
    Ok(Outcome::Reply(reply))
}

fn said<'a>(reader: &mut Reader, candidate: &Object<'_, 'a>, reply: &mut Reply<'a>) {
    for key in ["groundingMetadata", "citationMetadata", "urlContextMetadata"] {
        reader.leave(candidate, key, Lost::Citation);
    }
    reader.leave(candidate, "finishMessage", Lost::StopReason);
    for key in ["logprobsResult", "avgLogprobs"] {
        reader.leave(candidate, key, Lost::Unknown);
    }
    let content = reader.of_shape(candidate, "content", &[Shape::Object]);
    if let Some(content) = content.and_then(Value::object) {
        let parts = reader.of_shape(&content, "parts", &[Shape::Array]);
        reply.parts = blocks(parts, WIRE, gemini::part);
    }
    let stop = words(candidate.get("finishReason")).map(|word| stops::read(WIRE, word));
    reply.stop = stop.map(|stop| with_calls(stop, &reply.parts));
}

/// Why there is no candidate.
fn blocked(reader: &mut Reader, body: &Object<'_, '_>) -> Option<Stop<'static>> {
    let feedback = body.object("promptFeedback")?;
    let reason = feedback.get("blockReason").filter(|reason| says(*reason))?;
    if reason.text().as_deref() != Some("SAFETY") {
        let note =
            format!("the request was blocked for {}, which is told as a refusal", reason.raw());
        reader.lose(Lost::StopReason, note);
    }
    Some(Stop::Refusal)
}

pub(super) fn write(writer: &mut Writer<'_, '_>) {
    writer.out.push_str("{\"candidates\":[{\"content\":{\"parts\":[");
    parts(writer);
    writer.out.push_str("],\"role\":\"model\"}");
    if let Some(word) = writer.stop() {
        writer.out.extend([",\"finishReason\":\"", word, "\""]);
    }
    writer.out.push_str(",\"index\":0}]");
    if !writer.reply.usage.is_empty() {
        writer.out.push_str(",\"usageMetadata\":");
        writer.write_usage();
    }
    // Nothing is made up where the format can do without.
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

fn parts(writer: &mut Writer<'_, '_>) {
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
                writer.out.push_str("{\"functionCall\":{");
                if let Some(id) = id {
                    writer.out.push_str("\"id\":");
                    string(&mut writer.out, &id);
                    writer.out.push(',');
                }
                writer.out.push_str("\"name\":");
                string(&mut writer.out, &call.name);
                writer.out.push_str(",\"args\":");
                writer.write_object(call);
                writer.out.push('}');
                if let Some(signature) = &call.signature {
                    writer.write_field("thoughtSignature", signature);
                }
                writer.out.push('}');
            }
            (_, Some(json)) => {
                next(&mut writer.out);
                writer.write_spelled(json);
            }
            (Bit::Text(text), None) => {
                writer.unmarked(part);
                writer.sources(part);
                if !text.is_empty() {
                    next(&mut writer.out);
                    writer.out.push('{');
                    writer.write_field("text", text);
                    writer.out.push('}');
                }
            }
            (Bit::Reasoning(reasoning), None) => {
                let thought = writer.thought(part, reasoning);
                if thought.text.is_none() && thought.signature.is_none() {
                    continue;
                }
                next(&mut writer.out);
                writer.out.push('{');
                writer.write_field("text", &reasoning.text);
                writer.out.push_str(",\"thought\":true");
                if let Some(signature) = thought.signature {
                    writer.write_field("thoughtSignature", signature);
                }
                writer.out.push('}');
            }
            (Bit::Media(media), None) => {
                if !write_media(&mut writer.out, media) {
                    writer.leave_out(part);
                }
            }
            (Bit::Answer(_) | Bit::Other(_), None) => writer.leave_out(part),
        }
    }
}

/// Adds what the model drew, if that can be shown here.
fn write_media(out: &mut String, media: &Media<'_>) -> bool {
    let (head, key, value) = match &media.source {
        Source::Data(data) => ("inlineData", "data", &**data),
        Source::Url(uri) => ("fileData", "fileUri", &**uri),
        Source::Text(_) | Source::Stored { .. } => match media.source.stored_for(WIRE) {
            Some(uri) => ("fileData", "fileUri", uri),
            None => return false,
        },
    };
    next(out);
    out.extend(["{\"", head, "\":{\"mimeType\":"]);
    string(out, likely_type(media));
    out.extend([",\"", key, "\":"]);
    string(out, value);
    out.push_str("}}");
    true
}
