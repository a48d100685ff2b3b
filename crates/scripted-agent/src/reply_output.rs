//! Prints a message as stream events and as one line for each block.

use std::{process, time::Duration};

use serde_json::{Value, json};

use super::{AgentModelReply, AgentQuirk, HostPipeStop, ScriptedClaudeAgent};

/// Maximum size of one delta.
const DELTA_BYTES: usize = 64 << 10;

impl ScriptedClaudeAgent {
    /// Changes the model's message as the quirks require.
    pub(super) fn apply_quirks(&mut self, mut reply: AgentModelReply) -> AgentModelReply {
        if let Some(bytes) = self.quirks.huge {
            reply.blocks = vec![json!({"type": "text", "text": "x".repeat(bytes)})];
            "end_turn".clone_into(&mut reply.stop);
        }
        let has_calls = reply.blocks.iter().any(|block| block["type"] == "tool_use");
        if has_calls && self.quirks.has(AgentQuirk::Words) {
            let at = reply.blocks.iter().position(|block| block["type"] == "tool_use");
            let text = json!({"type": "text", "text": "I call what you asked for."});
            reply.blocks.insert(at.unwrap_or(0), text);
        }
        reply
    }

    /// Prints a message. Tool calls start as soon as they are printed.
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

    /// Prints a block as its own line. Such lines never have a stop reason.
    fn print_block_line(&mut self, block: &Value, id: &str) -> Result<(), HostPipeStop> {
        let message = json!({
            "id": id, "type": "message", "role": "assistant", "model": self.model,
            "content": [block], "stop_reason": null, "stop_sequence": null, "usage": {},
        });
        self.pipe.print_line(
            json!({"type": "assistant", "message": message, "parent_tool_use_id": null}),
        )
    }

    /// Prints a stream event, and reads input before it.
    fn print_stream_event(&mut self, event: Value) -> Result<(), HostPipeStop> {
        if self.quirks.die_after.is_some_and(|limit| self.printed_events >= limit) {
            eprintln!("the agent was told to die here");
            process::exit(9);
        }
        self.printed_events += 1;
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

/// The empty block for `content_block_start`, and the deltas that fill it.
fn block_deltas(block: &Value, truncate: bool) -> (Value, Vec<Value>) {
    let text = |key: &str| block[key].as_str().unwrap_or_default();
    match text("type") {
        "text" => {
            let deltas =
                split_text(text("text")).map(|delta| json!({"type": "text_delta", "text": delta}));
            (json!({"type": "text", "text": ""}), deltas.collect())
        }
        "thinking" => {
            let deltas = split_text(text("thinking"));
            let deltas = deltas.map(|delta| json!({"type": "thinking_delta", "thinking": delta}));
            let signature = json!({"type": "signature_delta", "signature": text("signature")});
            (json!({"type": "thinking", "thinking": ""}), deltas.chain([signature]).collect())
        }
        "tool_use" => {
            let mut input = block["input"].to_string();
            if truncate {
                input.truncate(input.len() / 2);
            }
            let deltas = split_text(&input);
            let deltas =
                deltas.map(|delta| json!({"type": "input_json_delta", "partial_json": delta}));
            let empty = json!({
                "type": "tool_use", "id": block["id"], "name": block["name"], "input": {},
            });
            (empty, deltas.collect())
        }
        _ => (block.clone(), Vec::new()),
    }
}

/// Splits a text into deltas: single words, or larger parts of a long text.
fn split_text(text: &str) -> impl Iterator<Item = &str> {
    let min_bytes = (text.len() / 64).min(DELTA_BYTES);
    let mut rest = text;
    std::iter::from_fn(move || {
        let found = rest.char_indices().find(|(at, letter)| {
            *at >= min_bytes && letter.is_whitespace() || *at >= DELTA_BYTES.max(min_bytes)
        });
        let end = found.map_or(rest.len(), |(at, letter)| at + letter.len_utf8());
        let (delta, after) = rest.split_at_checked(end)?;
        rest = after;
        (!delta.is_empty()).then_some(delta)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deltas_joined_give_the_text() {
        for text in ["", "one", "one two  three\n", &"x".repeat(1 << 20), &"日本 ".repeat(999)] {
            let deltas: Vec<&str> = split_text(text).collect();
            assert_eq!(deltas.concat(), text);
            assert!(deltas.len() <= 66, "{}", deltas.len());
        }
        assert_eq!(split_text("one two three").collect::<Vec<_>>(), ["one ", "two ", "three"]);
    }
}
