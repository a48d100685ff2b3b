//! What another format says and this one cannot.

use super::writer::ReplyBodyWriter;
use crate::{
    json::JsonTape,
    model::{ContentPart, LossKind, ModelPart},
};

impl ReplyBodyWriter<'_, '_> {
    /// Notes what another format says beside a part and this one cannot.
    pub(super) fn record_note_losses(&mut self, part: &ModelPart<'_>) {
        let foreign = part.origin().filter(|raw| raw.wire != self.wire);
        for name in
            part.notes().filter(|_| foreign.is_some()).iter().flat_map(|n| &n.unknown_fields)
        {
            self.record_loss(LossKind::Unknown, format!("`{name}` has no meaning in this format"));
        }
        let Some(raw) = foreign.filter(|_| matches!(part.content(), ContentPart::Text(_))) else {
            return;
        };
        // Rare, and not worth a field of every text.
        let hidden = ["houghtSignature", "hought_signature", "logprobs"];
        if !hidden.iter().any(|key| raw.json.contains(key)) {
            return;
        }
        let Ok(tape) = JsonTape::read(raw.json) else { return };
        let Some(block) = tape.root(raw.json).object() else { return };
        if block
            .non_empty_text("thoughtSignature")
            .or(block.non_empty_text("thought_signature"))
            .is_some()
        {
            let note = "the signature of a text means nothing in this format";
            self.record_loss(LossKind::Signature, note);
        }
        if block.list("logprobs").next().is_some() {
            self.record_loss(
                LossKind::Unknown,
                "the probabilities of tokens have no place in this format",
            );
        }
    }

    /// Notes a part that the format cannot hold at all.
    pub(super) fn record_part_loss(&mut self, part: &ModelPart<'_>) {
        match part.content() {
            ContentPart::Media(media) => {
                let what = media.kind.name();
                self.record_loss(LossKind::Media, format!("the model's own {what} is left out"));
            }
            ContentPart::Unknown(other) => {
                let name = &other.name;
                let what = loss_kind(name);
                self.record_loss(what, format!("`{name}` has no meaning in this format"));
            }
            ContentPart::ToolResult(_) => {
                self.record_loss(
                    LossKind::ServerCall,
                    "an answer inside an answer has no place in this format",
                );
            }
            ContentPart::Text(_) | ContentPart::Reasoning(_) | ContentPart::ToolCall(_) => {}
        }
    }

    /// Notes that the format cannot mark a refusal.
    pub(super) fn record_refusal_loss(&mut self, part: &ModelPart<'_>) {
        if part.notes().is_some_and(|notes| notes.refusal) {
            self.record_loss(
                LossKind::Refusal,
                "that a text is a refusal cannot be said in this format",
            );
        }
    }
}

/// What is lost with a block of that name.
fn loss_kind(name: &str) -> LossKind {
    match name {
        "executableCode"
        | "executable_code"
        | "codeExecutionResult"
        | "code_execution_result"
        | "toolCall"
        | "toolResponse"
        | "toolUse"
        | "toolResult"
        | "program"
        | "mcp_list_tools"
        | "mcp_approval_request" => LossKind::ServerCall,
        "image" | "audio" | "video" | "output_audio" => LossKind::Media,
        // Mistral's.
        "thinking" => LossKind::Reasoning,
        name if name.ends_with("_call") || name.ends_with("_tool_use") => LossKind::ServerCall,
        name if name.ends_with("_tool_result") || name.ends_with("_output") => LossKind::ServerCall,
        _ => LossKind::Unknown,
    }
}
