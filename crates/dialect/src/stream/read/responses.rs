//! The events of Responses: items, parts of items, and an end that repeats everything.
//!
//! What an event that says `done` repeats is read only where the pieces before it did not come.

mod calls;
mod items;

use foxwedge_core::Wire;

use super::{
    fields::{as_object, index, list, missing, object, said, words},
    tell::Tell,
};
use crate::{
    canon::{Lost, Stop, Words, decode, failures, stops, usages},
    json::{Object, Scan},
};
use items::{Items, Side};

const WIRE: Wire = Wire::OpenaiResponses;

#[derive(Debug, Default)]
pub(super) struct Responses {
    items: Items,
}

impl Responses {
    pub(super) fn frame(
        &mut self,
        name: Option<&str>,
        root: &Object<'_, '_>,
        tell: &mut Tell<'_>,
    ) -> Scan<()> {
        let kind = words(root, "type")?;
        let kind = kind.as_deref().or(name).unwrap_or_default();
        let Some(what) = kind.strip_prefix("response.") else {
            match kind {
                "error" => {
                    let error = object(root, "error")?;
                    tell.fail(failures::read(WIRE, error.as_ref().unwrap_or(root)));
                }
                // The same, from those who do not name their events.
                kind => match object(root, "error")? {
                    Some(error) => tell.fail(failures::read(WIRE, &error)),
                    None if matches!(kind, "ping" | "keepalive") => {}
                    None => tell.unknown_event(kind),
                },
            }
            return Ok(());
        };
        self.event(kind, what, root, tell)
    }

    fn event(
        &mut self,
        kind: &str,
        what: &str,
        root: &Object<'_, '_>,
        tell: &mut Tell<'_>,
    ) -> Scan<()> {
        let items = &mut self.items;
        let at = index(root, "output_index")?;
        let part = |key| Ok(index(root, key)?.unwrap_or_default());
        let delta = || required(root, "delta");
        match what {
            "output_text.delta" => items.text(at, part("content_index")?, false, delta()?, tell),
            "refusal.delta" => items.text(at, part("content_index")?, true, delta()?, tell),
            "function_call_arguments.delta" | "custom_tool_call_input.delta" => {
                items.arguments(at, delta()?, tell)
            }
            "reasoning_summary_text.delta" => {
                items.thought(at, (Side::Summary, part("summary_index")?), delta()?, tell)
            }
            "reasoning_text.delta" => {
                items.thought(at, (Side::Content, part("content_index")?), delta()?, tell)
            }
            "output_text.done" => {
                let text = words(root, "text")?.unwrap_or_default();
                items.whole_text(at, part("content_index")?, false, text, tell)
            }
            "refusal.done" => {
                let text = words(root, "refusal")?.unwrap_or_default();
                items.whole_text(at, part("content_index")?, true, text, tell)
            }
            "function_call_arguments.done" => {
                items.whole_arguments(at, words(root, "arguments")?.unwrap_or_default(), tell)
            }
            "custom_tool_call_input.done" => {
                items.whole_arguments(at, words(root, "input")?.unwrap_or_default(), tell)
            }
            "reasoning_summary_part.added" => {
                items.thought(at, (Side::Summary, part("summary_index")?), Words::default(), tell)
            }
            "reasoning_summary_text.done" => {
                let text = words(root, "text")?.unwrap_or_default();
                items.whole_thought(at, (Side::Summary, part("summary_index")?), text, tell)
            }
            "reasoning_text.done" => {
                let text = words(root, "text")?.unwrap_or_default();
                items.whole_thought(at, (Side::Content, part("content_index")?), text, tell)
            }
            "reasoning_summary_part.done" => Ok(()),
            "content_part.added" | "content_part.done" => {
                let Some(content) = object(root, "part")? else { return missing("`part`") };
                let number = part("content_index")?;
                match what {
                    "content_part.added" => items.part(at, number, &content, tell),
                    _ => items.part_done(at, number, &content, tell),
                }
            }
            "output_text.annotation.added" => match object(root, "annotation")? {
                Some(annotation) => {
                    let citation = decode::citation(WIRE, &annotation);
                    items.cited(at, part("content_index")?, citation, tell)
                }
                None => Ok(()),
            },
            "output_item.added" | "output_item.done" => {
                let Some(item) = object(root, "item")? else { return missing("`item`") };
                match what {
                    "output_item.added" => items.added(at, &item, tell),
                    _ => items.done(at, &item, tell),
                }
            }
            "created" | "queued" | "in_progress" => {
                let Some(response) = object(root, "response")? else {
                    return missing("`response`");
                };
                tell.head(&response, ["id", "model", "created_at"])?;
                tell.begin();
                Ok(())
            }
            "completed" | "incomplete" | "failed" | "cancelled" => self.end(what, root, tell),
            // What happens inside of a call says nothing that the call itself does not say.
            _ if items.is_call(at) => Ok(()),
            _ => {
                tell.unknown_event(kind);
                Ok(())
            }
        }
    }

    fn end(&mut self, what: &str, root: &Object<'_, '_>, tell: &mut Tell<'_>) -> Scan<()> {
        let Some(response) = object(root, "response")? else { return missing("`response`") };
        tell.head(&response, ["id", "model", "created_at"])?;
        if what == "failed" {
            let error = object(&response, "error")?;
            tell.fail(failures::read(WIRE, error.as_ref().unwrap_or(&response)));
            return Ok(());
        }
        if what == "cancelled" {
            tell.ended();
            return Ok(());
        }
        // Servers that do not stream say it all at once.
        if self.items.is_untouched() {
            for (at, item) in (0..).zip(list(&response, "output")?) {
                self.items.done(Some(at), &as_object(item, "output")?, tell)?;
            }
        }
        self.items.close(tell);
        if let Some(usage) = object(&response, "usage")? {
            tell.usage(usages::read(WIRE, &usage));
        }
        let stop = match (what, object(&response, "incomplete_details")?) {
            ("incomplete", Some(details)) => {
                stops::read(WIRE, said(&details, "reason")?.unwrap_or("incomplete".into()))
            }
            ("incomplete", None) => stops::read(WIRE, "incomplete".into()),
            _ if self.items.has_called() => Stop::Calls,
            _ => stops::read(WIRE, "completed".into()),
        };
        tell.stop(stop);
        tell.end();
        Ok(())
    }
}

/// A text that an event is nothing without.
fn required<'a>(object: &Object<'_, 'a>, key: &str) -> Scan<Words<'a>> {
    match words(object, key)? {
        Some(words) => Ok(words),
        None => missing(&format!("`{key}`")),
    }
}

/// Notes an item that was left out.
fn left_out(kind: &str, tell: &mut Tell<'_>) {
    if matches!(kind, "function_call" | "custom_tool_call") {
        return tell.skip(Lost::Unknown, "a call without a name was left out");
    }
    let is_run = kind.contains("_call") || kind.ends_with("_output") || kind.starts_with("mcp_");
    let what = if is_run { Lost::ServerCall } else { Lost::Unknown };
    tell.skip(what, format!("an item `{kind}` was left out"));
}
