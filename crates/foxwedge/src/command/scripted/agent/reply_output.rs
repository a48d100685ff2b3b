//! How a message is said: in pieces as they come, and block by block.

use std::{process, time::Duration};

use serde_json::{Value, json};

use super::{AgentModelReply, AgentQuirk, HostPipeStop, ScriptedClaudeAgent};

/// Bytes of one piece of a long text.
const DELTA_BYTES: usize = 64 << 10;

impl ScriptedClaudeAgent {
    /// What is made of the model's message before it is said.
    pub(super) fn apply_quirks(&mut self, mut reply: AgentModelReply) -> AgentModelReply {
        if let Some(bytes) = self.quirks.huge {
            reply.blocks = vec![json!({"type": "text", "text": "x".repeat(bytes)})];
            "end_turn".clone_into(&mut reply.stop);
        }
        let calls = reply.blocks.iter().any(|block| block["type"] == "tool_use");
        if calls && self.quirks.has(AgentQuirk::Words) {
            let at = reply.blocks.iter().position(|block| block["type"] == "tool_use");
            let words = json!({"type": "text", "text": "I call what you asked for."});
            reply.blocks.insert(at.unwrap_or(0), words);
        }
        reply
    }

    /// Says a message. Calls begin as soon as they are said.
    pub(super) fn print_reply(&mut self, reply: &AgentModelReply) -> Result<(), HostPipeStop> {
        self.blocks.clear();
        self.open_calls.clear();
        let message = json!({
            "id": reply.id, "type": "message", "role": "assistant", "model": self.model,
            "content": [], "stop_reason": null, "stop_sequence": null, "usage": reply.usage,
        });
        self.print_stream_event(json!({"type": "message_start", "message": message}))?;
        if self.quirks.has(AgentQuirk::Endless) {
            return self.print_endlessly();
        }
        let is_call = |block: &&Value| block["type"] == "tool_use";
        let early = self.quirks.has(AgentQuirk::EarlyCalls);
        if early {
            self.blocks.clone_from(&reply.blocks);
            for block in reply.blocks.iter().filter(is_call) {
                self.start_call(block)?;
            }
        }
        let late = self.quirks.has(AgentQuirk::Fragments);
        for (index, block) in reply.blocks.iter().enumerate() {
            self.print_block(index, block, &reply.id, late)?;
            if !early {
                self.blocks.push(block.clone());
            }
            if !early && is_call(&block) {
                self.start_call(block)?;
            }
        }
        let delta = json!({"stop_reason": reply.stop, "stop_sequence": null});
        let output = reply.usage["output_tokens"].clone();
        let usage = json!({"output_tokens": output});
        self.print_stream_event(json!({"type": "message_delta", "delta": delta, "usage": usage}))?;
        self.print_stream_event(json!({"type": "message_stop"}))?;
        if late {
            for block in reply.blocks.iter().rev() {
                self.print_block_line(block, &reply.id)?;
            }
        }
        Ok(())
    }

    fn print_block(
        &mut self,
        index: usize,
        block: &Value,
        id: &str,
        late: bool,
    ) -> Result<(), HostPipeStop> {
        let (empty, deltas) = block_deltas(block, self.quirks.has(AgentQuirk::BadArguments));
        self.print_stream_event(
            json!({"type": "content_block_start", "index": index, "content_block": empty}),
        )?;
        for delta in deltas {
            self.print_stream_event(
                json!({"type": "content_block_delta", "index": index, "delta": delta}),
            )?;
        }
        if !late {
            self.print_block_line(block, id)?;
        }
        self.print_stream_event(json!({"type": "content_block_stop", "index": index}))
    }

    /// A block as a line of its own. The reason for stopping is never told there.
    fn print_block_line(&mut self, block: &Value, id: &str) -> Result<(), HostPipeStop> {
        let message = json!({
            "id": id, "type": "message", "role": "assistant", "model": self.model,
            "content": [block], "stop_reason": null, "stop_sequence": null, "usage": {},
        });
        self.pipe.print_line(
            json!({"type": "assistant", "message": message, "parent_tool_use_id": null}),
        )
    }

    /// A piece. Between two of them the agent listens.
    fn print_stream_event(&mut self, event: Value) -> Result<(), HostPipeStop> {
        if self.quirks.die_after.is_some_and(|most| self.pieces >= most) {
            eprintln!("the agent was told to die here");
            process::exit(9);
        }
        self.pieces += 1;
        self.pipe.pause(self.quirks.pause)?;
        if !self.arguments.partial || self.quirks.has(AgentQuirk::NoPartial) {
            return Ok(());
        }
        self.pipe
            .print_line(json!({"type": "stream_event", "event": event, "parent_tool_use_id": null}))
    }

    fn print_endlessly(&mut self) -> Result<(), HostPipeStop> {
        let block = json!({"type": "text", "text": ""});
        self.print_stream_event(
            json!({"type": "content_block_start", "index": 0, "content_block": block}),
        )?;
        loop {
            let delta = json!({"type": "text_delta", "text": "and so on "});
            self.print_stream_event(
                json!({"type": "content_block_delta", "index": 0, "delta": delta}),
            )?;
            self.pipe.pause(Duration::from_millis(5))?;
        }
    }
}

/// How a block begins, and the pieces that fill it.
fn block_deltas(block: &Value, cut: bool) -> (Value, Vec<Value>) {
    let text = |key: &str| block[key].as_str().unwrap_or_default();
    match text("type") {
        "text" => {
            let said = split_text(text("text")).map(|it| json!({"type": "text_delta", "text": it}));
            (json!({"type": "text", "text": ""}), said.collect())
        }
        "thinking" => {
            let thought = split_text(text("thinking"));
            let thought = thought.map(|it| json!({"type": "thinking_delta", "thinking": it}));
            let seal = json!({"type": "signature_delta", "signature": text("signature")});
            (json!({"type": "thinking", "thinking": ""}), thought.chain([seal]).collect())
        }
        "tool_use" => {
            let mut input = block["input"].to_string();
            if cut {
                input.truncate(input.len() / 2);
            }
            let parts = split_text(&input);
            let parts = parts.map(|it| json!({"type": "input_json_delta", "partial_json": it}));
            let empty = json!({
                "type": "tool_use", "id": block["id"], "name": block["name"], "input": {},
            });
            (empty, parts.collect())
        }
        _ => (block.clone(), Vec::new()),
    }
}

/// A text in pieces: words as a rule, more of it where it is long.
fn split_text(text: &str) -> impl Iterator<Item = &str> {
    let least = (text.len() / 64).min(DELTA_BYTES);
    let mut rest = text;
    std::iter::from_fn(move || {
        let found = rest.char_indices().find(|(at, letter)| {
            *at >= least && letter.is_whitespace() || *at >= DELTA_BYTES.max(least)
        });
        let end = found.map_or(rest.len(), |(at, letter)| at + letter.len_utf8());
        let (piece, behind) = rest.split_at_checked(end)?;
        rest = behind;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_give_the_text_again() {
        for text in ["", "one", "one two  three\n", &"x".repeat(1 << 20), &"日本 ".repeat(999)] {
            let pieces: Vec<&str> = split_text(text).collect();
            assert_eq!(pieces.concat(), text);
            assert!(pieces.len() <= 66, "{}", pieces.len());
        }
        assert_eq!(split_text("one two three").collect::<Vec<_>>(), ["one ", "two ", "three"]);
    }
}
