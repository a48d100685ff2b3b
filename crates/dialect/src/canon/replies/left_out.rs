//! What another format says and this one cannot.

use super::writer::Writer;
use crate::{
    canon::{Bit, Lost, Part},
    json::Tape,
};

impl Writer<'_, '_> {
    /// Notes what another format says beside a part and this one cannot.
    pub(super) fn beside(&mut self, part: &Part<'_>) {
        let foreign = part.raw().filter(|raw| raw.wire != self.wire);
        for name in part.notes().filter(|_| foreign.is_some()).iter().flat_map(|n| &n.others) {
            self.lose(Lost::Unknown, format!("`{name}` has no meaning in this format"));
        }
        let Some(raw) = foreign.filter(|_| matches!(part.bit(), Bit::Text(_))) else { return };
        // Rare, and not worth a field of every text.
        let hidden = ["houghtSignature", "hought_signature", "logprobs"];
        if !hidden.iter().any(|key| raw.json.contains(key)) {
            return;
        }
        let Ok(tape) = Tape::read(raw.json) else { return };
        let Some(block) = tape.root(raw.json).object() else { return };
        if block.word("thoughtSignature").or(block.word("thought_signature")).is_some() {
            let note = "the signature of a text means nothing in this format";
            self.lose(Lost::Signature, note);
        }
        if block.list("logprobs").next().is_some() {
            self.lose(Lost::Unknown, "the probabilities of tokens have no place in this format");
        }
    }

    /// Notes a part that the format cannot hold at all.
    pub(super) fn leave_out(&mut self, part: &Part<'_>) {
        match part.bit() {
            Bit::Media(media) => {
                let what = media.kind.name();
                self.lose(Lost::Media, format!("the model's own {what} is left out"));
            }
            Bit::Other(other) => {
                let name = &other.name;
                let what = kind_of(name);
                self.lose(what, format!("`{name}` has no meaning in this format"));
            }
            Bit::Answer(_) => {
                self.lose(
                    Lost::ServerCall,
                    "an answer inside an answer has no place in this format",
                );
            }
            Bit::Text(_) | Bit::Reasoning(_) | Bit::Call(_) => {}
        }
    }

    /// Notes that the format cannot mark a refusal.
    pub(super) fn unmarked(&mut self, part: &Part<'_>) {
        if part.notes().is_some_and(|notes| notes.refusal) {
            self.lose(Lost::Refusal, "that a text is a refusal cannot be said in this format");
        }
    }
}

/// What is lost with a block of that name.
fn kind_of(name: &str) -> Lost {
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
        | "mcp_approval_request" => Lost::ServerCall,
        "image" | "audio" | "video" | "output_audio" => Lost::Media,
        // Mistral's.
        "thinking" => Lost::Reasoning,
        name if name.ends_with("_call") || name.ends_with("_tool_use") => Lost::ServerCall,
        name if name.ends_with("_tool_result") || name.ends_with("_output") => Lost::ServerCall,
        _ => Lost::Unknown,
    }
}
