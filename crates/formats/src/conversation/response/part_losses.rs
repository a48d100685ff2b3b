//! Records the losses of parts from other formats.

use super::writer::ReplyBodyWriter;
use crate::conversation::{ContentPart, LossKind, ModelPart};
use foxwedge_json::JsonTape;

impl ReplyBodyWriter<'_, '_> {
    /// Records the notes of a part that this format cannot represent.
    pub(crate) fn record_note_losses(&mut self, part: &ModelPart<'_>) {
        let foreign = part.origin().filter(|origin| origin.wire != self.wire);
        for name in part
            .notes()
            .filter(|_| foreign.is_some())
            .iter()
            .flat_map(|notes| &notes.unknown_fields)
        {
            self.record_loss(
                LossKind::Unknown,
                format!("`{name}` has no equivalent in this format"),
            );
        }
        let Some(origin) = foreign.filter(|_| matches!(part.content(), ContentPart::Text(_)))
        else {
            return;
        };
        // Rare, so the model has no fields for these.
        let unmodeled = ["houghtSignature", "hought_signature", "logprobs"];
        if !unmodeled.iter().any(|key| origin.json.contains(key)) {
            return;
        }
        let Ok(tape) = JsonTape::read(origin.json) else { return };
        let Some(block) = tape.root(origin.json).object() else { return };
        if block
            .non_empty_text("thoughtSignature")
            .or(block.non_empty_text("thought_signature"))
            .is_some()
        {
            let note = "the signature of a text is not supported in this format";
            self.record_loss(LossKind::Signature, note);
        }
        if block.list("logprobs").next().is_some() {
            self.record_loss(
                LossKind::Unknown,
                "token probabilities are not supported in this format",
            );
        }
    }

    /// Records a part that the format cannot represent at all.
    pub(crate) fn record_part_loss(&mut self, part: &ModelPart<'_>) {
        match part.content() {
            ContentPart::Media(media) => {
                let what = media.kind.name();
                self.record_loss(
                    LossKind::Media,
                    format!("the {what} in an assistant message is left out"),
                );
            }
            ContentPart::Unknown(other) => {
                let name = &other.name;
                let what = loss_kind(name);
                self.record_loss(what, format!("`{name}` has no equivalent in this format"));
            }
            ContentPart::ToolResult(_) => {
                self.record_loss(
                    LossKind::ServerCall,
                    "a tool result inside a response is not supported in this format",
                );
            }
            ContentPart::Text(_) | ContentPart::Reasoning(_) | ContentPart::ToolCall(_) => {}
        }
    }

    /// Records that the format cannot mark a refusal.
    pub(crate) fn record_refusal_loss(&mut self, part: &ModelPart<'_>) {
        if part.notes().is_some_and(|notes| notes.refusal) {
            self.record_loss(LossKind::Refusal, "a refusal becomes plain text");
        }
    }
}

/// The kind of loss for a block of that name.
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
        | "mcp_approval_request"
        | "google_search_result"
        | "google_maps_result"
        | "url_context_result"
        | "file_search_result"
        | "retrieval_result"
        | "processing_result" => LossKind::ServerCall,
        "image" | "audio" | "video" | "output_audio" => LossKind::Media,
        // Mistral.
        "thinking" => LossKind::Reasoning,
        name if name.ends_with("_call") || name.ends_with("_tool_use") => LossKind::ServerCall,
        name if name.ends_with("_tool_result") || name.ends_with("_output") => LossKind::ServerCall,
        _ => LossKind::Unknown,
    }
}
