//! Converse: blocks, in the order in which they were said.

use foxwedge_core::Wire;

use super::{
    reader::{Reader, failure, left_out, says},
    writer::Writer,
};
use crate::{
    canon::{
        Bit, Citation, Form, Lost, Notes, Outcome, Part, Reply, Stop,
        decode::{bedrock, element, words},
        encode::pen::{next, string},
        failures, stops,
    },
    json::{Object, Shape, Value},
};

const WIRE: Wire = Wire::Bedrock;

pub(super) fn read<'a>(
    reader: &mut Reader,
    body: &Object<'_, 'a>,
) -> Result<Outcome<'a>, &'static str> {
    let Some(output) = body.object("output") else {
        if let Some(failure) = failure(WIRE, body) {
            return Ok(Outcome::Failure(failure));
        }
        return match body.any(&["message", "Message", "__type"]).and_then(Value::text) {
            Some(_) => Ok(Outcome::Failure(failures::read(WIRE, body))),
            None => Err("no `output`, so this is no answer of Converse"),
        };
    };
    let message = reader.of_shape(&output, "message", &[Shape::Object]).and_then(Value::object);
    let content = message.and_then(|message| reader.of_shape(&message, "content", &[Shape::Array]));
    let parts = content.into_iter().flat_map(Value::list).map(block).collect();
    reader.leave(body, "trace", Lost::Unknown);
    let fields = body.object("additionalModelResponseFields");
    let sequence = fields.and_then(|fields| words(fields.get("stop_sequence")));
    for (key, value) in fields.iter().flat_map(Object::fields) {
        if key != "stop_sequence" && says(value) {
            reader.lose(Lost::Unknown, left_out(&key));
        }
    }
    let stop = words(body.get("stopReason")).map(|word| match stops::read(WIRE, word) {
        Stop::Sequence(_) => Stop::Sequence(sequence),
        stop => stop,
    });
    let usage = reader.usage(WIRE, body, "usage");
    Ok(Outcome::Reply(Reply { wire: Some(WIRE), parts, stop, usage, ..Reply::default() }))
}

fn block<'a>(value: Value<'_, 'a>) -> Part<'a> {
    let cited = value.object().and_then(|block| cited(&block));
    cited.unwrap_or_else(|| element(value, WIRE, bedrock::block))
}

/// A text with its sources.
fn cited<'a>(block: &Object<'_, 'a>) -> Option<Part<'a>> {
    let cited = block.object("citationsContent")?;
    let text = |value: Value<'_, 'a>| words(value.object()?.get("text"));
    let mut texts = cited.list("content").filter_map(text);
    let first = texts.next().unwrap_or_default();
    let said = texts.fold(first, |said, more| {
        let mut said = said.into_owned();
        said.push_str(&more);
        said.into()
    });
    let citations = cited.list("citations").filter_map(Value::object);
    let notes = Notes { citations: citations.map(source).collect(), ..Notes::default() };
    Some(Part::read(Bit::Text(said), WIRE, Form::Block, block.raw()).with(notes))
}

fn source<'a>(citation: Object<'_, 'a>) -> Citation<'a> {
    let web = citation.object("location").and_then(|location| location.object("web"));
    let quote = citation.list("sourceContent").next().and_then(Value::object);
    Citation {
        url: web.and_then(|web| words(web.get("url"))),
        title: words(citation.get("title")),
        quote: quote.and_then(|quote| words(quote.get("text"))),
        span: None,
    }
}

pub(super) fn write(writer: &mut Writer<'_, '_>) {
    writer.out.push_str("{\"output\":{\"message\":{\"role\":\"assistant\",\"content\":[");
    content(writer);
    writer.out.push_str("]}},\"stopReason\":\"");
    let word = writer.stop();
    let word = word.unwrap_or_else(|| writer.cut_off("max_tokens"));
    writer.out.push_str(word);
    writer.out.push_str("\",\"usage\":");
    writer.write_usage();
    writer.out.push_str(",\"metrics\":{\"latencyMs\":0}");
    if let Some(Stop::Sequence(Some(text))) = &writer.reply.stop {
        writer.out.push_str(",\"additionalModelResponseFields\":{");
        writer.write_field("stop_sequence", text);
        writer.out.push('}');
    }
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
                writer.out.push_str("{\"toolUse\":{\"toolUseId\":");
                string(&mut writer.out, id.as_deref().unwrap_or_default());
                writer.out.push_str(",\"name\":");
                string(&mut writer.out, &call.name);
                writer.out.push_str(",\"input\":");
                writer.write_object(call);
                writer.out.push_str("}}");
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
                next(&mut writer.out);
                if sources.is_empty() {
                    writer.out.push('{');
                    writer.write_field("text", text);
                    writer.out.push('}');
                    continue;
                }
                writer.out.push_str("{\"citationsContent\":{\"content\":[{");
                writer.write_field("text", text);
                writer.out.push_str("}],\"citations\":[");
                writer.places(&sources, text);
                writer.out.push_str("]}}");
            }
            (Bit::Reasoning(reasoning), None) => {
                let thought = writer.thought(part, reasoning);
                if let Some(data) = thought.redacted {
                    next(&mut writer.out);
                    writer.out.push_str("{\"reasoningContent\":{");
                    writer.write_field("redactedContent", data);
                    writer.out.push_str("}}");
                } else if thought.text.is_some() || thought.signature.is_some() {
                    next(&mut writer.out);
                    writer.out.push_str("{\"reasoningContent\":{\"reasoningText\":{");
                    writer.write_field("text", &reasoning.text);
                    if let Some(signature) = thought.signature {
                        writer.write_field("signature", signature);
                    }
                    writer.out.push_str("}}}");
                }
            }
            (Bit::Media(_) | Bit::Answer(_) | Bit::Other(_), None) => writer.leave_out(part),
        }
    }
}
