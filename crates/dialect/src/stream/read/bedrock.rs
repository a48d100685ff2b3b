//! Bedrock's events. A block of text begins with its first piece; only calls have a beginning.

use foxwedge_core::{Family, Wire};

use super::{
    fields::{as_object, index, missing, object, said, words},
    slots::{Kind, Slots},
    tell::Tell,
};
use crate::{
    canon::{Citation, Lost, Stop, Words, failures, stops, usages},
    json::{Object, Scan, Value},
    stream::event::Opened,
};

const WIRE: Wire = Wire::Bedrock;

#[derive(Debug, Default)]
pub(super) struct Bedrock {
    slots: Slots,
}

impl Bedrock {
    /// Reads an event: under its name, or as an object with the name as its only key.
    pub(super) fn frame(
        &mut self,
        name: Option<&str>,
        root: &Object<'_, '_>,
        tell: &mut Tell<'_>,
    ) -> Scan<()> {
        if let Some(name) = name.filter(|name| root.get(name).is_none()) {
            return self.event(name, root, tell);
        }
        // The body of a request that failed.
        if root.text("message").is_some() {
            tell.fail(failures::read(WIRE, root));
            return Ok(());
        }
        let tag = root.tag();
        match root.get(&tag) {
            Some(event) => self.event(&tag, &as_object(event, &tag)?, tell),
            None => missing("the name of the event"),
        }
    }

    fn event(&mut self, name: &str, event: &Object<'_, '_>, tell: &mut Tell<'_>) -> Scan<()> {
        match name {
            "contentBlockDelta" => self.delta(event, tell)?,
            "contentBlockStart" => self.start(event, tell)?,
            "contentBlockStop" => {
                let index = index(event, "contentBlockIndex")?.unwrap_or(self.slots.last());
                self.slots.close(index, tell);
            }
            "messageStart" => tell.begin(),
            "messageStop" => {
                self.slots.close_all(tell);
                let reason = said(event, "stopReason")?.unwrap_or("end_turn".into());
                let more = object(event, "additionalModelResponseFields")?;
                let text = more.map(|more| said(&more, "stop_sequence")).transpose()?.flatten();
                tell.stop(match (stops::read(WIRE, reason), text) {
                    (Stop::Sequence(None), Some(text)) => Stop::Sequence(Some(text)),
                    (stop, _) => stop,
                });
            }
            "metadata" => {
                if let Some(usage) = object(event, "usage")? {
                    tell.usage(usages::read(WIRE, &usage));
                }
            }
            name if name.ends_with("Exception") || name.ends_with("Error") => {
                tell.fail(failures::named(WIRE, name.to_owned().into(), event));
            }
            name => tell.unknown_event(name),
        }
        Ok(())
    }

    fn start(&mut self, event: &Object<'_, '_>, tell: &mut Tell<'_>) -> Scan<()> {
        let at = index(event, "contentBlockIndex")?.unwrap_or(self.slots.last());
        let Some(start) = object(event, "start")? else { return Ok(()) };
        if let Some(call) = object(&start, "toolUse")? {
            let own = words(&call, "type")?.is_none_or(|kind| kind != "server_tool_use");
            if let (true, Some(name)) = (own, said(&call, "name")?) {
                let id = said(&call, "toolUseId")?;
                let call = Opened::Call { id, name, family: Family::Function, signature: None };
                self.slots.open(at, Kind::Call, call, tell);
            } else {
                self.slots.skip(at, tell);
                match own {
                    true => tell.skip(Lost::Unknown, "a call without a name was left out"),
                    false => tell.skip(Lost::ServerCall, "a block `server_tool_use` was left out"),
                }
            }
            return Ok(());
        }
        let tag = start.tag();
        let what = match &*tag {
            // A text that announces itself: its first piece opens it.
            "" | "text" | "reasoningContent" => return Ok(()),
            "toolResult" => Lost::ServerCall,
            "image" => Lost::Media,
            _ => Lost::Unknown,
        };
        self.slots.skip(at, tell);
        tell.skip(what, format!("a block `{tag}` was left out"));
        Ok(())
    }

    fn delta(&mut self, event: &Object<'_, '_>, tell: &mut Tell<'_>) -> Scan<()> {
        let at = index(event, "contentBlockIndex")?;
        let Some(delta) = object(event, "delta")? else { return missing("`delta`") };
        if let Some(text) = words(&delta, "text")? {
            return self.slots.text(at, Kind::Text, text, tell);
        }
        if let Some(call) = object(&delta, "toolUse")? {
            let input = words(&call, "input")?.unwrap_or_default();
            return self.slots.text(at, Kind::Call, input, tell);
        }
        if let Some(reasoning) = object(&delta, "reasoningContent")? {
            return self.reasoning(at, &reasoning, tell);
        }
        if let Some(citation) = object(&delta, "citation")? {
            if let Some(slot) = self.slots.of_kind(at, Kind::Text, tell)? {
                tell.citation(slot.block, cited(&citation));
            }
            return Ok(());
        }
        let tag = delta.tag();
        if self.slots.get(at).is_none_or(|slot| slot.kind != Kind::Skipped) {
            let note = || format!("pieces `{tag}` of a block were left out");
            tell.skip_once(Lost::Unknown, &tag, note);
        }
        Ok(())
    }

    fn reasoning(
        &mut self,
        at: Option<u64>,
        reasoning: &Object<'_, '_>,
        tell: &mut Tell<'_>,
    ) -> Scan<()> {
        if let Some(text) = words(reasoning, "text")? {
            self.slots.text(at, Kind::Reasoning, text, tell)?;
        }
        if let Some(signature) = said(reasoning, "signature")? {
            self.slots.signature(at, signature, tell)?;
        }
        if let Some(data) = said(reasoning, "redactedContent")? {
            // Each is one of its own: encoded pieces cannot be put together.
            let at = at.unwrap_or(self.slots.last());
            self.slots.open(at, Kind::Redacted, Opened::Redacted(data), tell);
        }
        Ok(())
    }
}

/// Where a text comes from.
fn cited<'a>(citation: &Object<'_, 'a>) -> Citation<'a> {
    let words = |value: Option<Value<'_, 'a>>| value?.inside().map(Words::inside);
    let web = citation.object("location").and_then(|location| location.object("web"));
    let content = citation.list("sourceContent").next().and_then(Value::object);
    Citation {
        url: words(web.and_then(|web| web.get("url"))),
        title: words(citation.get("title")),
        quote: words(content.and_then(|content| content.get("text"))),
        span: None,
    }
}
