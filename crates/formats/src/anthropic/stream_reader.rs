//! Reads Anthropic events: blocks with a start, deltas and a stop.

use super::{
    WIRE,
    decode::{DECODE_FORMAT, read_citation},
};
use crate::{
    conversation::{
        LossKind, StopReason, TokenUsage, decode::read_notes, provider_errors, stop_reasons,
        token_usage,
    },
    event::{
        BlockStart,
        emitter::EventEmitter,
        fields::{
            missing_field, non_empty_text, optional_index, optional_list, optional_object,
            optional_text,
        },
        indexed_blocks::{IndexedBlockKind, IndexedBlocks},
    },
};
use foxwedge_json::{JsonObject, JsonValue, ScanResult};

#[derive(Debug, Default)]
pub(crate) struct AnthropicEventReader {
    blocks: IndexedBlocks,
    /// The usage at the start of the reply.
    usage: TokenUsage,
}

impl AnthropicEventReader {
    pub(crate) fn read_frame(
        &mut self,
        name: Option<&str>,
        root: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let kind = optional_text(root, "type")?;
        match kind.as_deref().or(name).unwrap_or_default() {
            "content_block_delta" => self.read_delta(root, emitter),
            "content_block_start" => self.start_block(root, emitter),
            "content_block_stop" => {
                let index = optional_index(root, "index")?.unwrap_or(self.blocks.last());
                self.blocks.close(index, emitter);
                Ok(())
            }
            "message_start" => {
                let Some(message) = optional_object(root, "message")? else {
                    return missing_field("`message`");
                };
                emitter.start_from(&message, ["id", "model", "created_at"])?;
                emitter.ensure_started();
                if let Some(usage) = optional_object(&message, "usage")? {
                    self.usage = token_usage::read(WIRE, &usage);
                    emitter.usage(self.usage);
                }
                Ok(())
            }
            "message_delta" => self.read_message_delta(root, emitter),
            "message_stop" => {
                self.blocks.close_all(emitter);
                emitter.end();
                Ok(())
            }
            "ping" => Ok(()),
            kind => {
                match optional_object(root, "error")? {
                    Some(error) => emitter.fail(provider_errors::read(WIRE, &error)),
                    None => emitter.unknown_event(kind),
                }
                Ok(())
            }
        }
    }

    fn start_block(
        &mut self,
        root: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let Some(block) = optional_object(root, "content_block")? else {
            return missing_field("`content_block`");
        };
        let at = optional_index(root, "index")?.unwrap_or(self.blocks.last());
        let blocks = &mut self.blocks;
        match &*optional_text(&block, "type")?.unwrap_or_default() {
            "text" => {
                blocks.open(at, IndexedBlockKind::Text, BlockStart::Text, emitter);
                let text = optional_text(&block, "text")?.unwrap_or_default();
                blocks.add_text(Some(at), IndexedBlockKind::Text, text, emitter)?;
                for citation in optional_list(&block, "citations")?.filter_map(JsonValue::object) {
                    self.add_citation(Some(at), &citation, emitter)?;
                }
            }
            "thinking" => {
                blocks.open(at, IndexedBlockKind::Reasoning, BlockStart::Reasoning, emitter);
                let text = optional_text(&block, "thinking")?.unwrap_or_default();
                blocks.add_text(Some(at), IndexedBlockKind::Reasoning, text, emitter)?;
                let signature = optional_text(&block, "signature")?.unwrap_or_default();
                blocks.add_signature(Some(at), signature, emitter)?;
            }
            "redacted_thinking" => {
                let data = optional_text(&block, "data")?.unwrap_or_default();
                blocks.open(at, IndexedBlockKind::Redacted, BlockStart::Redacted(data), emitter);
            }
            "tool_use" => {
                blocks.open_call(at, &block, "input", emitter)?;
                emitter.skip_call_fields(read_notes(&block, &DECODE_FORMAT));
            }
            kind => {
                blocks.skip(at, emitter);
                let note = format!("a block `{kind}` was left out");
                emitter.skip(
                    if is_server_tool(kind) { LossKind::ServerCall } else { LossKind::Unknown },
                    note,
                );
            }
        }
        Ok(())
    }

    fn read_delta(
        &mut self,
        root: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let at = optional_index(root, "index")?;
        let Some(delta) = optional_object(root, "delta")? else { return missing_field("`delta`") };
        let delta_text = |key| Ok(optional_text(&delta, key)?.unwrap_or_default());
        match &*optional_text(&delta, "type")?.unwrap_or_default() {
            "text_delta" => {
                self.blocks.add_text(at, IndexedBlockKind::Text, delta_text("text")?, emitter)
            }
            "input_json_delta" => self.blocks.add_text(
                at,
                IndexedBlockKind::Call,
                delta_text("partial_json")?,
                emitter,
            ),
            "thinking_delta" => self.blocks.add_text(
                at,
                IndexedBlockKind::Reasoning,
                delta_text("thinking")?,
                emitter,
            ),
            "signature_delta" => self.blocks.add_signature(at, delta_text("signature")?, emitter),
            "citations_delta" => match optional_object(&delta, "citation")? {
                Some(citation) => self.add_citation(at, &citation, emitter),
                None => missing_field("`citation`"),
            },
            kind => {
                // Deltas of a skipped block are skipped silently.
                if self
                    .blocks
                    .get(at)
                    .is_none_or(|open_block| open_block.kind != IndexedBlockKind::Skipped)
                {
                    let note = || format!("deltas `{kind}` of a block were left out");
                    emitter.skip_once(LossKind::Unknown, kind, note);
                }
                Ok(())
            }
        }
    }

    fn add_citation(
        &mut self,
        at: Option<u64>,
        citation: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        if let Some(open_block) = self.blocks.get_or_open(at, IndexedBlockKind::Text, emitter)? {
            emitter.citation(open_block.block, read_citation(citation));
        }
        Ok(())
    }

    fn read_message_delta(
        &mut self,
        root: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        if let Some(usage) = optional_object(root, "usage")? {
            let mut usage = token_usage::read(WIRE, &usage);
            // Input tokens without cache fields may exclude cached tokens: keep the larger count.
            if usage.cache_read.or(usage.cache_written).is_none() {
                usage.input = usage.input.map(|input| input.max(self.usage.input.unwrap_or(0)));
            }
            emitter.usage(usage);
        }
        let Some(delta) = optional_object(root, "delta")? else { return Ok(()) };
        for key in ["container", "stop_details"] {
            emitter.skip_field(&delta, key);
        }
        if let Some(reason) = non_empty_text(&delta, "stop_reason")? {
            let stop = match stop_reasons::read(WIRE, reason) {
                StopReason::Sequence(None) => {
                    StopReason::Sequence(optional_text(&delta, "stop_sequence")?)
                }
                stop => stop,
            };
            self.blocks.close_all(emitter);
            emitter.stop(stop);
        }
        Ok(())
    }
}

/// Whether blocks of that kind belong to a call that the provider runs.
fn is_server_tool(kind: &str) -> bool {
    matches!(kind, "server_tool_use" | "mcp_tool_use") || kind.ends_with("_tool_result")
}
