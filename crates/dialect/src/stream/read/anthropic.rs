//! Anthropic's events: blocks with a beginning, pieces and an end.

use foxwedge_core::{Family, Wire};

use super::{
    fields::{arguments, get, index, list, missing, object, said, words},
    slots::{Kind, Slots},
    tell::Tell,
};
use crate::{
    canon::{Lost, Stop, Usage, decode, failures, stops, usages},
    json::{Object, Scan, Value},
    stream::event::Opened,
};

const WIRE: Wire = Wire::Anthropic;

#[derive(Debug, Default)]
pub(super) struct Anthropic {
    slots: Slots,
    /// What was told when the answer began.
    usage: Usage,
}

impl Anthropic {
    pub(super) fn frame(
        &mut self,
        name: Option<&str>,
        root: &Object<'_, '_>,
        tell: &mut Tell<'_>,
    ) -> Scan<()> {
        let kind = words(root, "type")?;
        match kind.as_deref().or(name).unwrap_or_default() {
            "content_block_delta" => self.delta(root, tell),
            "content_block_start" => self.start(root, tell),
            "content_block_stop" => {
                let index = index(root, "index")?.unwrap_or(self.slots.last());
                self.slots.close(index, tell);
                Ok(())
            }
            "message_start" => {
                let Some(message) = object(root, "message")? else { return missing("`message`") };
                tell.head(&message, ["id", "model", "created_at"])?;
                tell.begin();
                if let Some(usage) = object(&message, "usage")? {
                    self.usage = usages::read(WIRE, &usage);
                    tell.usage(self.usage);
                }
                Ok(())
            }
            "message_delta" => self.message(root, tell),
            "message_stop" => {
                self.slots.close_all(tell);
                tell.end();
                Ok(())
            }
            "ping" => Ok(()),
            kind => {
                match object(root, "error")? {
                    Some(error) => tell.fail(failures::read(WIRE, &error)),
                    None => tell.unknown_event(kind),
                }
                Ok(())
            }
        }
    }

    fn start(&mut self, root: &Object<'_, '_>, tell: &mut Tell<'_>) -> Scan<()> {
        let Some(block) = object(root, "content_block")? else {
            return missing("`content_block`");
        };
        let at = index(root, "index")?.unwrap_or(self.slots.last());
        let slots = &mut self.slots;
        match &*words(&block, "type")?.unwrap_or_default() {
            "text" => {
                slots.open(at, Kind::Text, Opened::Text, tell);
                let text = words(&block, "text")?.unwrap_or_default();
                slots.text(Some(at), Kind::Text, text, tell)?;
                for citation in list(&block, "citations")?.filter_map(Value::object) {
                    self.cited(Some(at), &citation, tell)?;
                }
            }
            "thinking" => {
                slots.open(at, Kind::Reasoning, Opened::Reasoning, tell);
                let text = words(&block, "thinking")?.unwrap_or_default();
                slots.text(Some(at), Kind::Reasoning, text, tell)?;
                let signature = words(&block, "signature")?.unwrap_or_default();
                slots.signature(Some(at), signature, tell)?;
            }
            "redacted_thinking" => {
                let data = words(&block, "data")?.unwrap_or_default();
                slots.open(at, Kind::Redacted, Opened::Redacted(data), tell);
            }
            "tool_use" => self.call(at, &block, tell)?,
            kind => {
                slots.skip(at, tell);
                let note = format!("a block `{kind}` was left out");
                tell.skip(
                    if is_of_the_provider(kind) { Lost::ServerCall } else { Lost::Unknown },
                    note,
                );
            }
        }
        Ok(())
    }

    fn call(&mut self, at: u64, block: &Object<'_, '_>, tell: &mut Tell<'_>) -> Scan<()> {
        let Some(name) = said(block, "name")? else {
            self.slots.skip(at, tell);
            tell.skip(Lost::Unknown, "a call without a name was left out");
            return Ok(());
        };
        let id = said(block, "id")?;
        let call = Opened::Call { id, name, family: Family::Function, signature: None };
        self.slots.open(at, Kind::Call, call, tell);
        // An empty object is the rule: what the call says comes in pieces.
        let input = get(block, "input").map(arguments).filter(|input| !is_empty_object(input));
        if let (Some(slot), Some(input)) = (self.slots.get(Some(at)), input) {
            slot.whole = Some(input.into_owned());
        }
        Ok(())
    }

    fn delta(&mut self, root: &Object<'_, '_>, tell: &mut Tell<'_>) -> Scan<()> {
        let at = index(root, "index")?;
        let Some(delta) = object(root, "delta")? else { return missing("`delta`") };
        let piece = |key| Ok(words(&delta, key)?.unwrap_or_default());
        match &*words(&delta, "type")?.unwrap_or_default() {
            "text_delta" => self.slots.text(at, Kind::Text, piece("text")?, tell),
            "input_json_delta" => self.slots.text(at, Kind::Call, piece("partial_json")?, tell),
            "thinking_delta" => self.slots.text(at, Kind::Reasoning, piece("thinking")?, tell),
            "signature_delta" => self.slots.signature(at, piece("signature")?, tell),
            "citations_delta" => match object(&delta, "citation")? {
                Some(citation) => self.cited(at, &citation, tell),
                None => missing("`citation`"),
            },
            kind => {
                // A block that was left out is left out with its pieces.
                if self.slots.get(at).is_none_or(|slot| slot.kind != Kind::Skipped) {
                    let note = || format!("pieces `{kind}` of a block were left out");
                    tell.skip_once(Lost::Unknown, kind, note);
                }
                Ok(())
            }
        }
    }

    fn cited(
        &mut self,
        at: Option<u64>,
        citation: &Object<'_, '_>,
        tell: &mut Tell<'_>,
    ) -> Scan<()> {
        if let Some(slot) = self.slots.of_kind(at, Kind::Text, tell)? {
            tell.citation(slot.block, decode::citation(WIRE, citation));
        }
        Ok(())
    }

    fn message(&mut self, root: &Object<'_, '_>, tell: &mut Tell<'_>) -> Scan<()> {
        if let Some(usage) = object(root, "usage")? {
            let mut usage = usages::read(WIRE, &usage);
            // The input alone, where a cache was told of before: it counts less than all of it.
            if usage.cached.or(usage.stored).is_none() {
                usage.input = usage.input.map(|input| input.max(self.usage.input.unwrap_or(0)));
            }
            tell.usage(usage);
        }
        let Some(delta) = object(root, "delta")? else { return Ok(()) };
        if let Some(reason) = said(&delta, "stop_reason")? {
            let stop = match stops::read(WIRE, reason) {
                Stop::Sequence(None) => Stop::Sequence(words(&delta, "stop_sequence")?),
                stop => stop,
            };
            self.slots.close_all(tell);
            tell.stop(stop);
        }
        Ok(())
    }
}

/// Whether blocks of that kind belong to a call that the provider runs itself.
fn is_of_the_provider(kind: &str) -> bool {
    matches!(kind, "server_tool_use" | "mcp_tool_use") || kind.ends_with("_tool_result")
}

fn is_empty_object(text: &str) -> bool {
    let inside = text.trim().strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    text.is_empty() || inside.is_some_and(|inside| inside.trim().is_empty())
}
