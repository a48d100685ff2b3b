//! Reads Bedrock events. A text block starts with its first delta; only calls have a start event.

use foxwedge_core::CallFamily;

use super::WIRE;
use crate::{
    conversation::{
        JsonText, LossKind, StopReason, TextCitation, provider_errors, stop_reasons, token_usage,
    },
    event::{
        BlockStart,
        emitter::EventEmitter,
        fields::{
            missing_field, non_empty_text, optional_index, optional_object, optional_text,
            require_object,
        },
        indexed_blocks::{IndexedBlockKind, IndexedBlocks},
    },
};
use foxwedge_json::{JsonObject, JsonValue, ScanResult};

#[derive(Debug, Default)]
pub(crate) struct BedrockEventReader {
    blocks: IndexedBlocks,
}

impl BedrockEventReader {
    /// Reads an event: named by the frame, or an object with the name as its only key.
    pub(crate) fn read_frame(
        &mut self,
        name: Option<&str>,
        root: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        if let Some(name) = name.filter(|name| root.get(name).is_none()) {
            return self.read_event(name, root, emitter);
        }
        // The error body of a failed request.
        if root.text("message").is_some() {
            emitter.fail(provider_errors::read(WIRE, root));
            return Ok(());
        }
        let tag = root.tag();
        match root.get(&tag) {
            Some(event) => self.read_event(&tag, &require_object(event, &tag)?, emitter),
            None => missing_field("the name of the event"),
        }
    }

    fn read_event(
        &mut self,
        name: &str,
        event: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        match name {
            "contentBlockDelta" => self.read_delta(event, emitter)?,
            "contentBlockStart" => self.start_block(event, emitter)?,
            "contentBlockStop" => {
                let index =
                    optional_index(event, "contentBlockIndex")?.unwrap_or(self.blocks.last());
                self.blocks.close(index, emitter);
            }
            "messageStart" => emitter.ensure_started(),
            "messageStop" => {
                self.blocks.close_all(emitter);
                let reason = non_empty_text(event, "stopReason")?.unwrap_or("end_turn".into());
                let more = optional_object(event, "additionalModelResponseFields")?;
                let text =
                    more.map(|more| non_empty_text(&more, "stop_sequence")).transpose()?.flatten();
                emitter.stop(match (stop_reasons::read(WIRE, reason), text) {
                    (StopReason::Sequence(None), Some(text)) => StopReason::Sequence(Some(text)),
                    (stop, _) => stop,
                });
            }
            "metadata" => {
                if let Some(usage) = optional_object(event, "usage")? {
                    emitter.usage(token_usage::read(WIRE, &usage));
                }
            }
            name if name.ends_with("Exception") || name.ends_with("Error") => {
                emitter.fail(provider_errors::read_named(WIRE, name.to_owned().into(), event));
            }
            name => emitter.unknown_event(name),
        }
        Ok(())
    }

    fn start_block(
        &mut self,
        event: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let at = optional_index(event, "contentBlockIndex")?.unwrap_or(self.blocks.last());
        let Some(start) = optional_object(event, "start")? else { return Ok(()) };
        if let Some(call) = optional_object(&start, "toolUse")? {
            let is_client_call =
                optional_text(&call, "type")?.is_none_or(|kind| kind != "server_tool_use");
            if let (true, Some(name)) = (is_client_call, non_empty_text(&call, "name")?) {
                let id = non_empty_text(&call, "toolUseId")?;
                let call =
                    BlockStart::Call { id, name, family: CallFamily::Function, signature: None };
                self.blocks.open(at, IndexedBlockKind::Call, call, emitter);
            } else {
                self.blocks.skip(at, emitter);
                match is_client_call {
                    true => emitter.skip(LossKind::Unknown, "a call without a name was left out"),
                    false => {
                        emitter.skip(LossKind::ServerCall, "a block `server_tool_use` was left out")
                    }
                }
            }
            return Ok(());
        }
        let tag = start.tag();
        let loss = match &*tag {
            // Text and reasoning: the first delta opens the block.
            "" | "text" | "reasoningContent" => return Ok(()),
            "toolResult" => LossKind::ServerCall,
            "image" => LossKind::Media,
            _ => LossKind::Unknown,
        };
        self.blocks.skip(at, emitter);
        emitter.skip(loss, format!("a block `{tag}` was left out"));
        Ok(())
    }

    fn read_delta(
        &mut self,
        event: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let at = optional_index(event, "contentBlockIndex")?;
        let Some(delta) = optional_object(event, "delta")? else { return missing_field("`delta`") };
        if let Some(text) = optional_text(&delta, "text")? {
            return self.blocks.add_text(at, IndexedBlockKind::Text, text, emitter);
        }
        if let Some(call) = optional_object(&delta, "toolUse")? {
            let input = optional_text(&call, "input")?.unwrap_or_default();
            return self.blocks.add_text(at, IndexedBlockKind::Call, input, emitter);
        }
        if let Some(reasoning) = optional_object(&delta, "reasoningContent")? {
            return self.read_reasoning(at, &reasoning, emitter);
        }
        if let Some(citation) = optional_object(&delta, "citation")? {
            if let Some(open_block) =
                self.blocks.get_or_open(at, IndexedBlockKind::Text, emitter)?
            {
                emitter.citation(open_block.block, read_citation(&citation));
            }
            return Ok(());
        }
        let tag = delta.tag();
        if self.blocks.get(at).is_none_or(|open_block| open_block.kind != IndexedBlockKind::Skipped)
        {
            let note = || format!("deltas `{tag}` of a block were left out");
            emitter.skip_once(LossKind::Unknown, &tag, note);
        }
        Ok(())
    }

    fn read_reasoning(
        &mut self,
        at: Option<u64>,
        reasoning: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        if let Some(text) = optional_text(reasoning, "text")? {
            self.blocks.add_text(at, IndexedBlockKind::Reasoning, text, emitter)?;
        }
        if let Some(signature) = non_empty_text(reasoning, "signature")? {
            self.blocks.add_signature(at, signature, emitter)?;
        }
        if let Some(data) = non_empty_text(reasoning, "redactedContent")? {
            // Each is a separate block: encoded data cannot be joined.
            let at = at.unwrap_or(self.blocks.last());
            self.blocks.open(at, IndexedBlockKind::Redacted, BlockStart::Redacted(data), emitter);
        }
        Ok(())
    }
}

/// Reads a source of a text.
fn read_citation<'a>(citation: &JsonObject<'_, 'a>) -> TextCitation<'a> {
    let text = |value: Option<JsonValue<'_, 'a>>| value?.raw_string().map(JsonText::from_json);
    let web = citation.object("location").and_then(|location| location.object("web"));
    let content = citation.list("sourceContent").next().and_then(JsonValue::object);
    TextCitation {
        url: text(web.and_then(|web| web.get("url"))),
        title: text(citation.get("title")),
        quote: text(content.and_then(|content| content.get("text"))),
        span: None,
    }
}
