//! Model output as a message of its own format, for the next request.
//!
//! A provider requires more than the text back: signatures, encrypted reasoning, ids. The message
//! includes these. It omits what the provider would reject: unsigned reasoning where a signature is
//! required, and reasoning that nothing follows.

use std::borrow::Cow;

use foxwedge_core::{CallFamily, Format};

use super::{
    decode::{decode, decode_message},
    encode::encode,
};
use crate::{
    conversation::{
        ContentPart, JsonText, ModelHistory, ModelMessage, ModelPart, ModelReply, ModelRole,
        ReasoningPart, ReasoningSignature, ToolCallPart,
        encode::{
            json_writer::{write_comma, write_string},
            write_arguments_object,
        },
    },
    error::ReadError,
};

/// Reads one turn: a message, or a list of messages. A turn of a Responses model is several items.
///
/// # Errors
/// If the text is not JSON, is neither an object nor a list, or is a list with an element that is
/// not a message.
pub fn decode_turn(source: &str, format: Format) -> Result<Vec<ModelMessage<'_>>, ReadError> {
    match source.trim_start().starts_with('[') {
        true => Ok(decode(source, format)?.messages),
        false => Ok(vec![decode_message(source, format)?]),
    }
}

/// Writes a response as a message of `format`, which must be its own format; for Responses as a
/// list of items. Returns `None` if the response holds nothing but reasoning. A call without an id
/// is written without one.
pub fn encode_turn(reply: &ModelReply<'_>, format: Format) -> Option<String> {
    let parts: Vec<&ModelPart<'_>> =
        reply.parts.iter().filter(|part| is_accepted_back(part, format)).collect();
    let has_output = |part: &&&ModelPart<'_>| !matches!(part.content(), ContentPart::Reasoning(_));
    // A Gemini signature may be the last part of a message.
    let last = match format {
        Format::Gemini | Format::OpenaiChat => parts.len(),
        _ => parts.len() - parts.iter().rev().take_while(|part| !has_output(part)).count(),
    };
    let parts = parts.get(..last).filter(|parts| parts.iter().any(|part| has_output(&part)))?;
    Some(match format {
        Format::OpenaiChat => encode_chat(parts),
        Format::OpenaiResponses => encode_responses(parts),
        Format::Anthropic => encode_blocks("assistant", "content", parts, write_claude_block),
        Format::Gemini => encode_blocks("model", "parts", parts, write_gemini_part),
        Format::Bedrock => {
            let parts = parts.iter().map(|part| ModelPart::new(part.content().clone())).collect();
            let messages = vec![ModelMessage::new(ModelRole::Assistant, parts)];
            let (list, _) = encode(&ModelHistory { messages }, format);
            list.strip_prefix('[')?.strip_suffix(']')?.to_owned()
        }
    })
}

/// Whether the provider accepts this part in a later request.
fn is_accepted_back(part: &ModelPart<'_>, format: Format) -> bool {
    match part.content() {
        ContentPart::Text(text) => match format {
            Format::Anthropic | Format::Bedrock => !text.trim().is_empty(),
            Format::OpenaiChat | Format::OpenaiResponses | Format::Gemini => !text.is_empty(),
        },
        ContentPart::ToolCall(_) => true,
        ContentPart::Reasoning(reasoning) => match (format, &reasoning.signature) {
            (Format::OpenaiChat, _) => !reasoning.text.is_empty(),
            (Format::OpenaiResponses, signature) => {
                matches!(signature, ReasoningSignature::Encrypted(_))
            }
            (Format::Anthropic, ReasoningSignature::Signed(value)) => !value.is_empty(),
            (Format::Anthropic, ReasoningSignature::Redacted(data)) => !data.is_empty(),
            (
                Format::Anthropic,
                ReasoningSignature::Unsigned | ReasoningSignature::Encrypted(_),
            ) => false,
            (Format::Gemini, ReasoningSignature::Signed(_)) => true,
            (Format::Gemini, _) => !reasoning.text.is_empty(),
            // Encoded again, the reasoning has no valid signature.
            (Format::Bedrock, _) => false,
        },
        ContentPart::Media(_) | ContentPart::ToolResult(_) | ContentPart::Unknown(_) => false,
    }
}

fn encode_chat(parts: &[&ModelPart<'_>]) -> String {
    let is_refusal = |part: &ModelPart<'_>| part.notes().is_some_and(|notes| notes.refusal);
    let mut out = String::from("{\"role\":\"assistant\",\"content\":");
    let texts = parts.iter().filter_map(|part| match part.content() {
        ContentPart::Text(text) => Some((*part, text)),
        _ => None,
    });
    if texts.clone().any(|(part, _)| is_refusal(part)) {
        out.push('[');
        for (part, text) in texts {
            let kind = if is_refusal(part) { "refusal" } else { "text" };
            open_element(&mut out, &format!("{{\"type\":\"{kind}\",\"{kind}\":"));
            text.write(&mut out);
            out.push('}');
        }
        out.push(']');
    } else {
        // Some servers reject null content beside calls; all accept an empty string.
        out.push('"');
        texts.for_each(|(_, text)| text.write_unquoted(&mut out));
        out.push('"');
    }
    let mut reasoning_text = String::new();
    for reasoning in parts.iter().filter_map(|part| as_reasoning(part)) {
        reasoning_text.push_str(if reasoning_text.is_empty() { "" } else { "\\n\\n" });
        reasoning.text.write_unquoted(&mut reasoning_text);
    }
    if !reasoning_text.is_empty() {
        out.extend([",\"reasoning_content\":\"", &reasoning_text, "\""]);
    }
    let mut calls = parts.iter().filter_map(|part| as_call(part)).peekable();
    if calls.peek().is_some() {
        out.push_str(",\"tool_calls\":[");
        for call in calls {
            open_element(&mut out, "{\"id\":");
            write_string(&mut out, call.id.as_deref().unwrap_or_default());
            let (head, key) = match call.is_free_text() {
                true => (",\"type\":\"custom\",\"custom\":{\"name\":", ",\"input\":"),
                false => (",\"type\":\"function\",\"function\":{\"name\":", ",\"arguments\":"),
            };
            out.push_str(head);
            write_string(&mut out, &call.name);
            out.push_str(key);
            arguments_text(call).write(&mut out);
            out.push('}');
            if let Some(signature) = &call.signature {
                // Google's field for its signatures in this format.
                out.push_str(",\"extra_content\":{\"google\":{\"thought_signature\":");
                signature.write(&mut out);
                out.push_str("}}");
            }
            out.push('}');
        }
        out.push(']');
    }
    out.push('}');
    out
}

/// Writes items without ids, so that they need not exist on the server.
fn encode_responses(parts: &[&ModelPart<'_>]) -> String {
    let mut out = String::from("[");
    for part in parts {
        match part.content() {
            ContentPart::Text(text) => {
                let refusal = part.notes().is_some_and(|notes| notes.refusal);
                open_element(&mut out, "{\"type\":\"message\",\"role\":\"assistant\",\"content\":");
                if refusal {
                    out.push_str("[{\"type\":\"refusal\",\"refusal\":");
                    text.write(&mut out);
                    out.push_str("}]}");
                } else {
                    text.write(&mut out);
                    out.push('}');
                }
            }
            ContentPart::Reasoning(ReasoningPart {
                text,
                signature: ReasoningSignature::Encrypted(content),
            }) => {
                open_element(&mut out, "{\"type\":\"reasoning\",\"summary\":[");
                if !text.is_empty() {
                    out.push_str("{\"type\":\"summary_text\",\"text\":");
                    text.write(&mut out);
                    out.push('}');
                }
                out.push_str("],\"encrypted_content\":");
                content.write(&mut out);
                out.push('}');
            }
            ContentPart::ToolCall(call) => {
                let (kind, key) = match call.family {
                    CallFamily::Custom => ("custom_tool_call", "input"),
                    _ => ("function_call", "arguments"),
                };
                open_element(&mut out, "{\"type\":\"");
                out.extend([kind, "\",\"call_id\":"]);
                write_string(&mut out, call.id.as_deref().unwrap_or_default());
                out.push_str(",\"name\":");
                write_string(&mut out, &call.name);
                out.extend([",\"", key, "\":"]);
                arguments_text(call).write(&mut out);
                out.push('}');
            }
            ContentPart::Reasoning(_)
            | ContentPart::Media(_)
            | ContentPart::ToolResult(_)
            | ContentPart::Unknown(_) => {}
        }
    }
    out.push(']');
    out
}

/// Writes a message that is a list of blocks.
fn encode_blocks(
    role: &str,
    key: &str,
    parts: &[&ModelPart<'_>],
    block: fn(&mut String, &ContentPart<'_>),
) -> String {
    let mut out = format!("{{\"role\":\"{role}\",\"{key}\":[");
    for part in parts {
        block(&mut out, part.content());
    }
    out.push_str("]}");
    out
}

fn write_claude_block(out: &mut String, content: &ContentPart<'_>) {
    match content {
        ContentPart::Text(text) => {
            open_element(out, "{\"type\":\"text\",\"text\":");
            text.write(out);
        }
        ContentPart::Reasoning(ReasoningPart { text, signature }) => match signature {
            ReasoningSignature::Redacted(data) => {
                open_element(out, "{\"type\":\"redacted_thinking\",\"data\":");
                data.write(out);
            }
            ReasoningSignature::Signed(value) => {
                open_element(out, "{\"type\":\"thinking\",\"thinking\":");
                text.write(out);
                out.push_str(",\"signature\":");
                value.write(out);
            }
            ReasoningSignature::Unsigned | ReasoningSignature::Encrypted(_) => return,
        },
        ContentPart::ToolCall(call) => {
            open_element(out, "{\"type\":\"tool_use\",\"id\":");
            write_string(out, call.id.as_deref().unwrap_or_default());
            out.push_str(",\"name\":");
            write_string(out, &call.name);
            out.push_str(",\"input\":");
            write_arguments_object(out, call);
        }
        ContentPart::Media(_) | ContentPart::ToolResult(_) | ContentPart::Unknown(_) => return,
    }
    out.push('}');
}

fn write_gemini_part(out: &mut String, content: &ContentPart<'_>) {
    let signature = match content {
        ContentPart::Text(text) => {
            open_element(out, "{\"text\":");
            text.write(out);
            None
        }
        ContentPart::Reasoning(ReasoningPart { text, signature: reasoning_signature }) => {
            open_element(out, "{\"text\":");
            text.write(out);
            // An empty text only carries the signature.
            out.push_str(if text.is_empty() { "" } else { ",\"thought\":true" });
            match reasoning_signature {
                ReasoningSignature::Signed(signature) => Some(signature),
                ReasoningSignature::Unsigned
                | ReasoningSignature::Redacted(_)
                | ReasoningSignature::Encrypted(_) => None,
            }
        }
        ContentPart::ToolCall(call) => {
            open_element(out, "{\"functionCall\":{");
            if let Some(id) = &call.id {
                out.push_str("\"id\":");
                write_string(out, id);
                out.push(',');
            }
            out.push_str("\"name\":");
            write_string(out, &call.name);
            out.push_str(",\"args\":");
            write_arguments_object(out, call);
            out.push('}');
            call.signature.as_ref()
        }
        ContentPart::Media(_) | ContentPart::ToolResult(_) | ContentPart::Unknown(_) => return,
    };
    if let Some(signature) = signature {
        out.push_str(",\"thoughtSignature\":");
        signature.write(out);
    }
    out.push('}');
}

/// Starts an element of a list.
fn open_element(out: &mut String, head: &str) {
    write_comma(out);
    out.push_str(head);
}

fn as_reasoning<'p, 'a>(part: &'p ModelPart<'a>) -> Option<&'p ReasoningPart<'a>> {
    match part.content() {
        ContentPart::Reasoning(reasoning) => Some(reasoning),
        _ => None,
    }
}

fn as_call<'p, 'a>(part: &'p ModelPart<'a>) -> Option<&'p ToolCallPart<'a>> {
    match part.content() {
        ContentPart::ToolCall(call) => Some(call),
        _ => None,
    }
}

/// Arguments as a string: whatever the model wrote, or an empty object for no arguments.
fn arguments_text<'c, 'a>(call: &'c ToolCallPart<'a>) -> Cow<'c, JsonText<'a>> {
    match call.arguments.trim().is_empty() && !call.is_free_text() {
        true => Cow::Owned(JsonText::from("{}")),
        false => Cow::Borrowed(&call.arguments),
    }
}

#[cfg(test)]
mod tests;
