//! Which call an answer of a compaction belongs to: asked of the engine, since ids repeat.

use foxwedge_core::Format;

use super::CompactedFileMessage;
use crate::model::{CallPairs, ContentPart, ModelHistory, PartIndex, decode_message};

/// The answers of a compaction and their calls.
pub(super) struct AnswerCallIndex<'c> {
    history: ModelHistory<'c>,
    pairs: CallPairs,
}

impl<'c> AnswerCallIndex<'c> {
    /// Matches what is left. What cannot be read has no partner.
    pub(super) fn of(messages: &[CompactedFileMessage<'c>], wire: Format) -> AnswerCallIndex<'c> {
        let said = messages.iter().map_while(|shown| decode_message(shown.json, wire).ok());
        let history = ModelHistory { messages: said.collect() };
        AnswerCallIndex { pairs: CallPairs::of(&history), history }
    }

    /// The call that a part of a message answers. Parts are counted as they stand in its list.
    pub(super) fn call_of(&self, message: usize, part: usize) -> Option<PartIndex> {
        let answer = PartIndex { message, part };
        match self.history.messages.get(message)?.parts.get(part)?.content() {
            ContentPart::ToolResult(_) => self.pairs.partner(answer),
            _ => None,
        }
    }

    /// The tool of that call.
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
    fn an_id_that_is_used_again_names_the_tool_of_its_own_turn() {
        let call = |tool: &str| {
            format!(
                r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"x","name":"{tool}","input":{{}}}}]}}"#
            )
        };
        let answer = r#"{"role":"user","content":[{"type":"text","text":"so"},{"type":"tool_result","tool_use_id":"x","content":"ok"}]}"#;
        let (first, second) = (call("read"), call("bash"));
        let shown = |json| CompactedFileMessage { origin: None, kept: false, json };
        let messages = [&*first, answer, &*second, answer].map(shown);
        let partners = AnswerCallIndex::of(&messages, Format::Anthropic);
        assert_eq!((partners.tool_of(1, 1), partners.tool_of(3, 1)), (Some("read"), Some("bash")));
        assert_eq!((partners.tool_of(1, 0), partners.tool_of(9, 0)), (None, None));
    }
}
