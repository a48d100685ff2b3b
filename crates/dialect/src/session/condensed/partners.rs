//! Which call an answer of a compaction belongs to: asked of the engine, since ids repeat.

use foxwedge_core::Wire;

use super::Shown;
use crate::canon::{At, Bit, History, Pairs, decode_message};

/// The answers of a compaction and their calls.
pub(super) struct Partners<'c> {
    history: History<'c>,
    pairs: Pairs,
}

impl<'c> Partners<'c> {
    /// Matches what is left. What cannot be read has no partner.
    pub(super) fn of(messages: &[Shown<'c>], wire: Wire) -> Partners<'c> {
        let said = messages.iter().map_while(|shown| decode_message(shown.json, wire).ok());
        let history = History { messages: said.collect() };
        Partners { pairs: Pairs::of(&history), history }
    }

    /// The call that a part of a message answers. Parts are counted as they stand in its list.
    pub(super) fn call(&self, message: usize, part: usize) -> Option<At> {
        let answer = At { message, part };
        match self.history.messages.get(message)?.parts.get(part)?.bit() {
            Bit::Answer(_) => self.pairs.partner(answer),
            _ => None,
        }
    }

    /// The tool of that call.
    pub(super) fn tool(&self, message: usize, part: usize) -> Option<&str> {
        let call = self.call(message, part)?;
        match self.history.messages.get(call.message)?.parts.get(call.part)?.bit() {
            Bit::Call(call) => Some(&call.name),
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
        let shown = |json| Shown { origin: None, kept: false, json };
        let messages = [&*first, answer, &*second, answer].map(shown);
        let partners = Partners::of(&messages, Wire::Anthropic);
        assert_eq!((partners.tool(1, 1), partners.tool(3, 1)), (Some("read"), Some("bash")));
        assert_eq!((partners.tool(1, 0), partners.tool(9, 0)), (None, None));
    }
}
