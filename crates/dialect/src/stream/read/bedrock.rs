//! Bedrock's events. A block of text begins with its first piece; only calls have a beginning.

use foxwedge_core::{CallFamily, Format};

use super::{
    emitter::EventEmitter,
    fields::{
        missing_field, non_empty_text, optional_index, optional_object, optional_text,
        require_object,
    },
    indexed_blocks::{IndexedBlockKind, IndexedBlocks},
};
use crate::{
    json::{JsonObject, JsonValue, ScanResult},
    model::{
        JsonText, LossKind, StopReason, TextCitation, provider_errors, stop_reasons, token_usage,
    },
    stream::event::BlockStart,
};

const WIRE: Format = Format::Bedrock;

#[derive(Debug, Default)]
pub(super) struct BedrockEventReader {
    slots: IndexedBlocks,
}

impl BedrockEventReader {
    /// Reads an event: under its name, or as an object with the name as its only key.
    pub(super) fn read_frame(
        &mut self,
        name: Option<&str>,
        root: &JsonObject<'_, '_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        if let Some(name) = name.filter(|name| root.get(name).is_none()) {
            return self.read_event(name, root, tell);
        }
        // The body of a request that failed.
        if root.text("message").is_some() {
            tell.fail(provider_errors::read(WIRE, root));
            return Ok(());
        }
        let tag = root.tag();
        match root.get(&tag) {
            Some(event) => self.read_event(&tag, &require_object(event, &tag)?, tell),
            None => missing_field("the name of the event"),
        }
    }

    fn read_event(
        &mut self,
        name: &str,
        event: &JsonObject<'_, '_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        match name {
            "contentBlockDelta" => self.read_delta(event, tell)?,
            "contentBlockStart" => self.start_block(event, tell)?,
            "contentBlockStop" => {
                let index =
                    optional_index(event, "contentBlockIndex")?.unwrap_or(self.slots.last());
                self.slots.close(index, tell);
            }
            "messageStart" => tell.ensure_started(),
            "messageStop" => {
                self.slots.close_all(tell);
                let reason = non_empty_text(event, "stopReason")?.unwrap_or("end_turn".into());
                let more = optional_object(event, "additionalModelResponseFields")?;
                let text =
                    more.map(|more| non_empty_text(&more, "stop_sequence")).transpose()?.flatten();
                tell.stop(match (stop_reasons::read(WIRE, reason), text) {
                    (StopReason::Sequence(None), Some(text)) => StopReason::Sequence(Some(text)),
                    (stop, _) => stop,
                });
            }
            "metadata" => {
                if let Some(usage) = optional_object(event, "usage")? {
                    tell.usage(token_usage::read(WIRE, &usage));
                }
            }
            name if name.ends_with("Exception") || name.ends_with("Error") => {
                tell.fail(provider_errors::read_named(WIRE, name.to_owned().into(), event));
            }
            name => tell.unknown_event(name),
        }
        Ok(())
    }

    fn start_block(
        &mut self,
        event: &JsonObject<'_, '_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let at = optional_index(event, "contentBlockIndex")?.unwrap_or(self.slots.last());
        let Some(start) = optional_object(event, "start")? else { return Ok(()) };
        if let Some(call) = optional_object(&start, "toolUse")? {
            let own = optional_text(&call, "type")?.is_none_or(|kind| kind != "server_tool_use");
            if let (true, Some(name)) = (own, non_empty_text(&call, "name")?) {
                let id = non_empty_text(&call, "toolUseId")?;
                let call =
                    BlockStart::Call { id, name, family: CallFamily::Function, signature: None };
                self.slots.open(at, IndexedBlockKind::Call, call, tell);
            } else {
                self.slots.skip(at, tell);
                match own {
                    true => tell.skip(LossKind::Unknown, "a call without a name was left out"),
                    false => {
                        tell.skip(LossKind::ServerCall, "a block `server_tool_use` was left out")
                    }
                }
            }
            return Ok(());
        }
        let tag = start.tag();
        let what = match &*tag {
            // A text that announces itself: its first piece opens it.
            "" | "text" | "reasoningContent" => return Ok(()),
            "toolResult" => LossKind::ServerCall,
            "image" => LossKind::Media,
            _ => LossKind::Unknown,
        };
        self.slots.skip(at, tell);
        tell.skip(what, format!("a block `{tag}` was left out"));
        Ok(())
    }

    fn read_delta(
        &mut self,
        event: &JsonObject<'_, '_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let at = optional_index(event, "contentBlockIndex")?;
        let Some(delta) = optional_object(event, "delta")? else { return missing_field("`delta`") };
        if let Some(text) = optional_text(&delta, "text")? {
            return self.slots.add_text(at, IndexedBlockKind::Text, text, tell);
        }
        if let Some(call) = optional_object(&delta, "toolUse")? {
            let input = optional_text(&call, "input")?.unwrap_or_default();
            return self.slots.add_text(at, IndexedBlockKind::Call, input, tell);
        }
        if let Some(reasoning) = optional_object(&delta, "reasoningContent")? {
            return self.read_reasoning(at, &reasoning, tell);
        }
        if let Some(citation) = optional_object(&delta, "citation")? {
            if let Some(slot) = self.slots.get_or_open(at, IndexedBlockKind::Text, tell)? {
                tell.citation(slot.block, read_citation(&citation));
            }
            return Ok(());
        }
        let tag = delta.tag();
        if self.slots.get(at).is_none_or(|slot| slot.kind != IndexedBlockKind::Skipped) {
            let note = || format!("pieces `{tag}` of a block were left out");
            tell.skip_once(LossKind::Unknown, &tag, note);
        }
        Ok(())
    }

    fn read_reasoning(
        &mut self,
        at: Option<u64>,
        reasoning: &JsonObject<'_, '_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        if let Some(text) = optional_text(reasoning, "text")? {
            self.slots.add_text(at, IndexedBlockKind::Reasoning, text, tell)?;
        }
        if let Some(signature) = non_empty_text(reasoning, "signature")? {
            self.slots.add_signature(at, signature, tell)?;
        }
        if let Some(data) = non_empty_text(reasoning, "redactedContent")? {
            // Each is one of its own: encoded pieces cannot be put together.
            let at = at.unwrap_or(self.slots.last());
            self.slots.open(at, IndexedBlockKind::Redacted, BlockStart::Redacted(data), tell);
        }
        Ok(())
    }
}

/// Where a text comes from.
fn read_citation<'a>(citation: &JsonObject<'_, 'a>) -> TextCitation<'a> {
    let words = |value: Option<JsonValue<'_, 'a>>| value?.raw_string().map(JsonText::from_json);
    let web = citation.object("location").and_then(|location| location.object("web"));
    let content = citation.list("sourceContent").next().and_then(JsonValue::object);
    TextCitation {
        url: words(web.and_then(|web| web.get("url"))),
        title: words(citation.get("title")),
        quote: words(content.and_then(|content| content.get("text"))),
        span: None,
    }
}
