//! Anthropic's events: blocks with a beginning, pieces and an end.

use foxwedge_core::{CallFamily, Format};

use super::{
    emitter::EventEmitter,
    fields::{
        arguments_text, get, missing_field, non_empty_text, optional_index, optional_list,
        optional_object, optional_text,
    },
    indexed_blocks::{IndexedBlockKind, IndexedBlocks},
};
use crate::{
    json::{JsonObject, JsonValue, ScanResult},
    model::{LossKind, StopReason, TokenUsage, decode, provider_errors, stop_reasons, token_usage},
    stream::event::BlockStart,
};

const WIRE: Format = Format::Anthropic;

#[derive(Debug, Default)]
pub(super) struct AnthropicEventReader {
    slots: IndexedBlocks,
    /// What was told when the answer began.
    usage: TokenUsage,
}

impl AnthropicEventReader {
    pub(super) fn read_frame(
        &mut self,
        name: Option<&str>,
        root: &JsonObject<'_, '_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let kind = optional_text(root, "type")?;
        match kind.as_deref().or(name).unwrap_or_default() {
            "content_block_delta" => self.read_delta(root, tell),
            "content_block_start" => self.start_block(root, tell),
            "content_block_stop" => {
                let index = optional_index(root, "index")?.unwrap_or(self.slots.last());
                self.slots.close(index, tell);
                Ok(())
            }
            "message_start" => {
                let Some(message) = optional_object(root, "message")? else {
                    return missing_field("`message`");
                };
                tell.start_from(&message, ["id", "model", "created_at"])?;
                tell.ensure_started();
                if let Some(usage) = optional_object(&message, "usage")? {
                    self.usage = token_usage::read(WIRE, &usage);
                    tell.usage(self.usage);
                }
                Ok(())
            }
            "message_delta" => self.read_message_delta(root, tell),
            "message_stop" => {
                self.slots.close_all(tell);
                tell.end();
                Ok(())
            }
            "ping" => Ok(()),
            kind => {
                match optional_object(root, "error")? {
                    Some(error) => tell.fail(provider_errors::read(WIRE, &error)),
                    None => tell.unknown_event(kind),
                }
                Ok(())
            }
        }
    }

    fn start_block(
        &mut self,
        root: &JsonObject<'_, '_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let Some(block) = optional_object(root, "content_block")? else {
            return missing_field("`content_block`");
        };
        let at = optional_index(root, "index")?.unwrap_or(self.slots.last());
        let slots = &mut self.slots;
        match &*optional_text(&block, "type")?.unwrap_or_default() {
            "text" => {
                slots.open(at, IndexedBlockKind::Text, BlockStart::Text, tell);
                let text = optional_text(&block, "text")?.unwrap_or_default();
                slots.add_text(Some(at), IndexedBlockKind::Text, text, tell)?;
                for citation in optional_list(&block, "citations")?.filter_map(JsonValue::object) {
                    self.add_citation(Some(at), &citation, tell)?;
                }
            }
            "thinking" => {
                slots.open(at, IndexedBlockKind::Reasoning, BlockStart::Reasoning, tell);
                let text = optional_text(&block, "thinking")?.unwrap_or_default();
                slots.add_text(Some(at), IndexedBlockKind::Reasoning, text, tell)?;
                let signature = optional_text(&block, "signature")?.unwrap_or_default();
                slots.add_signature(Some(at), signature, tell)?;
            }
            "redacted_thinking" => {
                let data = optional_text(&block, "data")?.unwrap_or_default();
                slots.open(at, IndexedBlockKind::Redacted, BlockStart::Redacted(data), tell);
            }
            "tool_use" => self.start_call(at, &block, tell)?,
            kind => {
                slots.skip(at, tell);
                let note = format!("a block `{kind}` was left out");
                tell.skip(
                    if is_server_tool(kind) { LossKind::ServerCall } else { LossKind::Unknown },
                    note,
                );
            }
        }
        Ok(())
    }

    fn start_call(
        &mut self,
        at: u64,
        block: &JsonObject<'_, '_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let Some(name) = non_empty_text(block, "name")? else {
            self.slots.skip(at, tell);
            tell.skip(LossKind::Unknown, "a call without a name was left out");
            return Ok(());
        };
        let id = non_empty_text(block, "id")?;
        let call = BlockStart::Call { id, name, family: CallFamily::Function, signature: None };
        self.slots.open(at, IndexedBlockKind::Call, call, tell);
        // An empty object is the rule: what the call says comes in pieces.
        let input = get(block, "input").map(arguments_text).filter(|input| !is_empty_object(input));
        if let (Some(slot), Some(input)) = (self.slots.get(Some(at)), input) {
            slot.initial_arguments = Some(input.into_owned());
        }
        Ok(())
    }

    fn read_delta(
        &mut self,
        root: &JsonObject<'_, '_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let at = optional_index(root, "index")?;
        let Some(delta) = optional_object(root, "delta")? else { return missing_field("`delta`") };
        let piece = |key| Ok(optional_text(&delta, key)?.unwrap_or_default());
        match &*optional_text(&delta, "type")?.unwrap_or_default() {
            "text_delta" => self.slots.add_text(at, IndexedBlockKind::Text, piece("text")?, tell),
            "input_json_delta" => {
                self.slots.add_text(at, IndexedBlockKind::Call, piece("partial_json")?, tell)
            }
            "thinking_delta" => {
                self.slots.add_text(at, IndexedBlockKind::Reasoning, piece("thinking")?, tell)
            }
            "signature_delta" => self.slots.add_signature(at, piece("signature")?, tell),
            "citations_delta" => match optional_object(&delta, "citation")? {
                Some(citation) => self.add_citation(at, &citation, tell),
                None => missing_field("`citation`"),
            },
            kind => {
                // A block that was left out is left out with its pieces.
                if self.slots.get(at).is_none_or(|slot| slot.kind != IndexedBlockKind::Skipped) {
                    let note = || format!("pieces `{kind}` of a block were left out");
                    tell.skip_once(LossKind::Unknown, kind, note);
                }
                Ok(())
            }
        }
    }

    fn add_citation(
        &mut self,
        at: Option<u64>,
        citation: &JsonObject<'_, '_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        if let Some(slot) = self.slots.get_or_open(at, IndexedBlockKind::Text, tell)? {
            tell.citation(slot.block, decode::read_citation(WIRE, citation));
        }
        Ok(())
    }

    fn read_message_delta(
        &mut self,
        root: &JsonObject<'_, '_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        if let Some(usage) = optional_object(root, "usage")? {
            let mut usage = token_usage::read(WIRE, &usage);
            // The input alone, where a cache was told of before: it counts less than all of it.
            if usage.cache_read.or(usage.cache_written).is_none() {
                usage.input = usage.input.map(|input| input.max(self.usage.input.unwrap_or(0)));
            }
            tell.usage(usage);
        }
        let Some(delta) = optional_object(root, "delta")? else { return Ok(()) };
        if let Some(reason) = non_empty_text(&delta, "stop_reason")? {
            let stop = match stop_reasons::read(WIRE, reason) {
                StopReason::Sequence(None) => {
                    StopReason::Sequence(optional_text(&delta, "stop_sequence")?)
                }
                stop => stop,
            };
            self.slots.close_all(tell);
            tell.stop(stop);
        }
        Ok(())
    }
}

/// Whether blocks of that kind belong to a call that the provider runs itself.
fn is_server_tool(kind: &str) -> bool {
    matches!(kind, "server_tool_use" | "mcp_tool_use") || kind.ends_with("_tool_result")
}

fn is_empty_object(text: &str) -> bool {
    let inside = text.trim().strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    text.is_empty() || inside.is_some_and(|inside| inside.trim().is_empty())
}
