//! What a model said, as a message of its own format that can stand in the next request.
//!
//! A provider wants back what it gave beside its words: signatures, encrypted reasoning, ids. All of
//! that is here. What it would refuse is not: reasoning that nobody signed where a signature is
//! asked for, and reasoning behind which nothing stands.

use std::borrow::Cow;

use foxwedge_core::{Family, Wire};

use super::{
    Bit, Call, History, Part, Reasoning, Reply, Said, Seal, Speaker, Words, decode, decode_message,
    encode,
    encode::{
        object,
        pen::{next, string},
    },
};
use crate::error::ReadError;

/// Reads the turn of one speaker: a message, or a list of them. One reply of a Responses model is
/// several items.
///
/// # Errors
/// If the text is not JSON, neither an object nor a list, or a list of anything but messages.
pub fn decode_turn(source: &str, wire: Wire) -> Result<Vec<Said<'_>>, ReadError> {
    match source.trim_start().starts_with('[') {
        true => Ok(decode(source, wire)?.messages),
        false => Ok(vec![decode_message(source, wire)?]),
    }
}

/// Writes what a model said as a message of that format, its own; for Responses as a list of items.
/// `None` if nothing was said but thoughts. Calls need their ids: one without gets none.
pub fn encode_turn(reply: &Reply<'_>, wire: Wire) -> Option<String> {
    let parts: Vec<&Part<'_>> = reply.parts.iter().filter(|part| stays(part, wire)).collect();
    let spoken = |part: &&&Part<'_>| !matches!(part.bit(), Bit::Reasoning(_));
    // Signatures of Gemini may stand behind everything else.
    let last = match wire {
        Wire::Gemini | Wire::OpenaiChat => parts.len(),
        _ => parts.len() - parts.iter().rev().take_while(|part| !spoken(part)).count(),
    };
    let parts = parts.get(..last).filter(|parts| parts.iter().any(|part| spoken(&part)))?;
    Some(match wire {
        Wire::OpenaiChat => chat(parts),
        Wire::OpenaiResponses => responses(parts),
        Wire::Anthropic => blocks("assistant", "content", parts, claude),
        Wire::Gemini => blocks("model", "parts", parts, gemini),
        Wire::Bedrock => {
            let parts = parts.iter().map(|part| Part::new(part.bit().clone())).collect();
            let messages = vec![Said::new(Speaker::Assistant, parts)];
            let (list, _) = encode(&History { messages }, wire);
            list.strip_prefix('[')?.strip_suffix(']')?.to_owned()
        }
    })
}

/// Whether a part says something that its provider takes back.
fn stays(part: &Part<'_>, wire: Wire) -> bool {
    match part.bit() {
        Bit::Text(text) => match wire {
            Wire::Anthropic | Wire::Bedrock => !text.trim().is_empty(),
            Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Gemini => !text.is_empty(),
        },
        Bit::Call(_) => true,
        Bit::Reasoning(reasoning) => match (wire, &reasoning.seal) {
            (Wire::OpenaiChat, _) => !reasoning.text.is_empty(),
            (Wire::OpenaiResponses, seal) => matches!(seal, Seal::Encrypted(_)),
            (Wire::Anthropic, Seal::Signed(signature)) => !signature.is_empty(),
            (Wire::Anthropic, Seal::Redacted(data)) => !data.is_empty(),
            (Wire::Anthropic, Seal::Open | Seal::Encrypted(_)) => false,
            (Wire::Gemini, Seal::Signed(_)) => true,
            (Wire::Gemini, _) => !reasoning.text.is_empty(),
            // Told anew, it has no maker.
            (Wire::Bedrock, _) => false,
        },
        Bit::Media(_) | Bit::Answer(_) | Bit::Other(_) => false,
    }
}

fn chat(parts: &[&Part<'_>]) -> String {
    let is_refusal = |part: &Part<'_>| part.notes().is_some_and(|notes| notes.refusal);
    let mut out = String::from("{\"role\":\"assistant\",\"content\":");
    let texts = parts.iter().filter_map(|part| match part.bit() {
        Bit::Text(text) => Some((*part, text)),
        _ => None,
    });
    if texts.clone().any(|(part, _)| is_refusal(part)) {
        out.push('[');
        for (part, text) in texts {
            let kind = if is_refusal(part) { "refusal" } else { "text" };
            open(&mut out, &format!("{{\"type\":\"{kind}\",\"{kind}\":"));
            text.write(&mut out);
            out.push('}');
        }
        out.push(']');
    } else {
        // Beside calls some servers refuse null, and none refuses the empty text.
        out.push('"');
        texts.for_each(|(_, text)| text.write_inside(&mut out));
        out.push('"');
    }
    let mut thoughts = String::new();
    for reasoning in parts.iter().filter_map(|part| thought(part)) {
        thoughts.push_str(if thoughts.is_empty() { "" } else { "\\n\\n" });
        reasoning.text.write_inside(&mut thoughts);
    }
    if !thoughts.is_empty() {
        out.extend([",\"reasoning_content\":\"", &thoughts, "\""]);
    }
    let mut calls = parts.iter().filter_map(|part| called(part)).peekable();
    if calls.peek().is_some() {
        out.push_str(",\"tool_calls\":[");
        for call in calls {
            open(&mut out, "{\"id\":");
            string(&mut out, call.id.as_deref().unwrap_or_default());
            let (head, key) = match call.is_free_text() {
                true => (",\"type\":\"custom\",\"custom\":{\"name\":", ",\"input\":"),
                false => (",\"type\":\"function\",\"function\":{\"name\":", ",\"arguments\":"),
            };
            out.push_str(head);
            string(&mut out, &call.name);
            out.push_str(key);
            arguments(call).write(&mut out);
            out.push('}');
            if let Some(signature) = &call.signature {
                // Google's own spelling of its signatures in this format.
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

/// Items without ids of their own: nothing of them has to lie on a server.
fn responses(parts: &[&Part<'_>]) -> String {
    let mut out = String::from("[");
    for part in parts {
        match part.bit() {
            Bit::Text(text) => {
                let refusal = part.notes().is_some_and(|notes| notes.refusal);
                open(&mut out, "{\"type\":\"message\",\"role\":\"assistant\",\"content\":");
                if refusal {
                    out.push_str("[{\"type\":\"refusal\",\"refusal\":");
                    text.write(&mut out);
                    out.push_str("}]}");
                } else {
                    text.write(&mut out);
                    out.push('}');
                }
            }
            Bit::Reasoning(Reasoning { text, seal: Seal::Encrypted(content) }) => {
                open(&mut out, "{\"type\":\"reasoning\",\"summary\":[");
                if !text.is_empty() {
                    out.push_str("{\"type\":\"summary_text\",\"text\":");
                    text.write(&mut out);
                    out.push('}');
                }
                out.push_str("],\"encrypted_content\":");
                content.write(&mut out);
                out.push('}');
            }
            Bit::Call(call) => {
                let (kind, key) = match call.family {
                    Family::Custom => ("custom_tool_call", "input"),
                    _ => ("function_call", "arguments"),
                };
                open(&mut out, "{\"type\":\"");
                out.extend([kind, "\",\"call_id\":"]);
                string(&mut out, call.id.as_deref().unwrap_or_default());
                out.push_str(",\"name\":");
                string(&mut out, &call.name);
                out.extend([",\"", key, "\":"]);
                arguments(call).write(&mut out);
                out.push('}');
            }
            Bit::Reasoning(_) | Bit::Media(_) | Bit::Answer(_) | Bit::Other(_) => {}
        }
    }
    out.push(']');
    out
}

/// A message that is a list of blocks.
fn blocks(role: &str, key: &str, parts: &[&Part<'_>], block: fn(&mut String, &Bit<'_>)) -> String {
    let mut out = format!("{{\"role\":\"{role}\",\"{key}\":[");
    for part in parts {
        block(&mut out, part.bit());
    }
    out.push_str("]}");
    out
}

fn claude(out: &mut String, bit: &Bit<'_>) {
    match bit {
        Bit::Text(text) => {
            open(out, "{\"type\":\"text\",\"text\":");
            text.write(out);
        }
        Bit::Reasoning(Reasoning { text, seal }) => match seal {
            Seal::Redacted(data) => {
                open(out, "{\"type\":\"redacted_thinking\",\"data\":");
                data.write(out);
            }
            Seal::Signed(signature) => {
                open(out, "{\"type\":\"thinking\",\"thinking\":");
                text.write(out);
                out.push_str(",\"signature\":");
                signature.write(out);
            }
            Seal::Open | Seal::Encrypted(_) => return,
        },
        Bit::Call(call) => {
            open(out, "{\"type\":\"tool_use\",\"id\":");
            string(out, call.id.as_deref().unwrap_or_default());
            out.push_str(",\"name\":");
            string(out, &call.name);
            out.push_str(",\"input\":");
            object(out, call);
        }
        Bit::Media(_) | Bit::Answer(_) | Bit::Other(_) => return,
    }
    out.push('}');
}

fn gemini(out: &mut String, bit: &Bit<'_>) {
    let signature = match bit {
        Bit::Text(text) => {
            open(out, "{\"text\":");
            text.write(out);
            None
        }
        Bit::Reasoning(Reasoning { text, seal }) => {
            open(out, "{\"text\":");
            text.write(out);
            // Without a word it stands there for its signature only.
            out.push_str(if text.is_empty() { "" } else { ",\"thought\":true" });
            match seal {
                Seal::Signed(signature) => Some(signature),
                Seal::Open | Seal::Redacted(_) | Seal::Encrypted(_) => None,
            }
        }
        Bit::Call(call) => {
            open(out, "{\"functionCall\":{");
            if let Some(id) = &call.id {
                out.push_str("\"id\":");
                string(out, id);
                out.push(',');
            }
            out.push_str("\"name\":");
            string(out, &call.name);
            out.push_str(",\"args\":");
            object(out, call);
            out.push('}');
            call.signature.as_ref()
        }
        Bit::Media(_) | Bit::Answer(_) | Bit::Other(_) => return,
    };
    if let Some(signature) = signature {
        out.push_str(",\"thoughtSignature\":");
        signature.write(out);
    }
    out.push('}');
}

/// Begins an element of a list.
fn open(out: &mut String, head: &str) {
    next(out);
    out.push_str(head);
}

fn thought<'p, 'a>(part: &'p Part<'a>) -> Option<&'p Reasoning<'a>> {
    match part.bit() {
        Bit::Reasoning(reasoning) => Some(reasoning),
        _ => None,
    }
}

fn called<'p, 'a>(part: &'p Part<'a>) -> Option<&'p Call<'a>> {
    match part.bit() {
        Bit::Call(call) => Some(call),
        _ => None,
    }
}

/// Arguments as a string has them: whatever the model wrote, and an empty object for nothing.
fn arguments<'c, 'a>(call: &'c Call<'a>) -> Cow<'c, Words<'a>> {
    match call.arguments.trim().is_empty() && !call.is_free_text() {
        true => Cow::Owned(Words::from("{}")),
        false => Cow::Borrowed(&call.arguments),
    }
}

#[cfg(test)]
mod tests;
