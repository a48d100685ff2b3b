//! Finds the call of each tool result in a compaction. Ids repeat, so the pairing of the model
//! decides.

use foxwedge_core::Format;

use super::CompactedFileMessage;
use foxwedge_formats::model::{CallPairs, ContentPart, ModelHistory, PartIndex, decode_message};

/// The tool results of a compaction and their calls.
pub(super) struct AnswerCallIndex<'c> {
    history: ModelHistory<'c>,
    pairs: CallPairs,
}

impl<'c> AnswerCallIndex<'c> {
    /// Pairs the remaining messages. Messages from the first unreadable one on are not paired.
    pub(super) fn of(messages: &[CompactedFileMessage<'c>], format: Format) -> AnswerCallIndex<'c> {
        let decoded =
            messages.iter().map_while(|message| decode_message(message.json, format).ok());
        let history = ModelHistory { messages: decoded.collect() };
        AnswerCallIndex { pairs: CallPairs::of(&history), history }
    }

    /// The call that a part of a message answers. `part` is the index in the message's list.
    pub(super) fn call_of(&self, message: usize, part: usize) -> Option<PartIndex> {
        let answer = PartIndex { message, part };
        match self.history.messages.get(message)?.parts.get(part)?.content() {
            ContentPart::ToolResult(_) => self.pairs.partner(answer),
            _ => None,
        }
    }

    /// The tool name of that call.
    pub(super) fn tool_of(&self, message: usize, part: usize) -> Option<&str> {
        let call = self.call_of(message, part)?;
        match self.history.messages.get(call.message)?.parts.get(call.part)?.content() {
            ContentPart::ToolCall(call) => Some(&call.name),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reused_id_resolves_to_the_tool_of_its_own_turn() {
        let call = |tool: &str| {
            format!(
                r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"x","name":"{tool}","input":{{}}}}]}}"#
            )
        };
        let answer = r#"{"role":"user","content":[{"type":"text","text":"so"},{"type":"tool_result","tool_use_id":"x","content":"ok"}]}"#;
        let (first, second) = (call("read"), call("bash"));
        let message = |json| CompactedFileMessage { origin: None, kept: false, json };
        let messages = [&*first, answer, &*second, answer].map(message);
        let index = AnswerCallIndex::of(&messages, Format::Anthropic);
        assert_eq!((index.tool_of(1, 1), index.tool_of(3, 1)), (Some("read"), Some("bash")));
        assert_eq!((index.tool_of(1, 0), index.tool_of(9, 0)), (None, None));
    }
}
