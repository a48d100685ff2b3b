//! Writes `UIMessage[]`. A reply with the results of its calls is one step; steps without a message
//! of the user between them are one message.

use foxwedge_json::quote;

use super::{CallResult, ListEncoder, MessageGroup, parts::PartNames};
use crate::conversation::{ContentPart, PartIndex, ToolCallPart};

const NAMES: PartNames = PartNames { provider: "providerMetadata", file: "url" };

/// Writes the list.
pub(super) fn write(encoder: &mut ListEncoder<'_, '_>, groups: &[MessageGroup]) -> String {
    let mut list = UiListWriter { out: String::from("["), role: "", parts: String::new(), next: 1 };
    for (number, group) in groups.iter().enumerate() {
        let is_last = number + 1 == groups.len();
        match group {
            MessageGroup::Instructions(message) => {
                list.begin("system");
                let text = quote(&encoder.instructions(*message));
                list.push(&format!("{{\"type\":\"text\",\"text\":{text}}}"));
            }
            MessageGroup::Input(parts) => {
                list.begin("user");
                parts.iter().for_each(|at| write_part(encoder, &mut list, *at, is_last));
            }
            MessageGroup::Reply(parts) => {
                if list.role != "assistant" {
                    list.begin("assistant");
                }
                list.push("{\"type\":\"step-start\"}");
                parts.iter().for_each(|at| write_part(encoder, &mut list, *at, is_last));
            }
        }
    }
    list.finish()
}

/// Collects the parts of messages.
struct UiListWriter {
    out: String,
    role: &'static str,
    parts: String,
    /// The number of the next message.
    next: usize,
}

impl UiListWriter {
    /// Ends the current message and begins another.
    fn begin(&mut self, role: &'static str) {
        if !self.parts.is_empty() {
            let (number, role, parts) = (self.next, self.role, &self.parts);
            self.out.push_str(if number > 1 { "," } else { "" });
            self.out.push_str(&format!(
                "{{\"id\":\"message-{number}\",\"role\":\"{role}\",\"parts\":[{parts}]}}"
            ));
            self.next += 1;
            self.parts.clear();
        }
        self.role = role;
    }

    fn push(&mut self, part: &str) {
        self.parts.push_str(if self.parts.is_empty() { "" } else { "," });
        self.parts.push_str(part);
    }

    fn finish(mut self) -> String {
        self.begin("");
        self.out.push(']');
        self.out
    }
}

fn write_part(
    encoder: &mut ListEncoder<'_, '_>,
    list: &mut UiListWriter,
    at: PartIndex,
    is_last: bool,
) {
    let Some(part) = encoder.part(at) else { return };
    let mut written = String::new();
    match part.content() {
        ContentPart::ToolCall(call) if list.role == "assistant" => {
            write_tool_part(encoder, &mut written, at, call, is_last);
            encoder.record_note_losses(at);
        }
        _ if encoder.write_content(&mut written, at, part, &NAMES) => {}
        _ => return,
    }
    list.push(&written);
}

/// Writes a call with its result.
fn write_tool_part(
    encoder: &mut ListEncoder<'_, '_>,
    out: &mut String,
    at: PartIndex,
    call: &ToolCallPart<'_>,
    is_last: bool,
) {
    let (kind, id) = (quote(&format!("tool-{}", call.name)), encoder.call_id(at));
    out.push_str(&format!("{{\"type\":{kind},\"toolCallId\":{id},\"input\":"));
    encoder.write_input(out, at, call);
    let error = |text: &str| format!("\"state\":\"output-error\",\"errorText\":{}", quote(text));
    let state = match encoder.result_of(at, call, is_last) {
        CallResult::Open => "\"state\":\"input-available\"".to_owned(),
        CallResult::Missing(text) => error(text),
        CallResult::Known(at, result) => {
            let text = encoder.result_text(at, result);
            match result.error {
                true => error(&text),
                false => format!("\"state\":\"output-available\",\"output\":{}", quote(&text)),
            }
        }
    };
    out.push_str(&format!(",{state}"));
    if let Some(signature) = &call.signature {
        out.push_str(",\"callProviderMetadata\":{\"google\":{\"thoughtSignature\":");
        signature.write(out);
        out.push_str("}}");
    }
    out.push('}');
}
