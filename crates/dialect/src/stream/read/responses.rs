//! The events of Responses: items, parts of items, and an end that repeats everything.
//!
//! What an event that says `done` repeats is read only where the pieces before it did not come.

mod calls;
mod items;

use foxwedge_core::Format;

use super::{
    emitter::EventEmitter,
    fields::{
        missing_field, non_empty_text, optional_index, optional_list, optional_object,
        optional_text, require_object,
    },
};
use crate::{
    json::{JsonObject, ScanResult},
    model::{JsonText, LossKind, StopReason, decode, provider_errors, stop_reasons, token_usage},
};
use items::{ReasoningSection, ResponsesItems};

const WIRE: Format = Format::OpenaiResponses;

#[derive(Debug, Default)]
pub(super) struct ResponsesEventReader {
    items: ResponsesItems,
}

impl ResponsesEventReader {
    pub(super) fn read_frame(
        &mut self,
        name: Option<&str>,
        root: &JsonObject<'_, '_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let kind = optional_text(root, "type")?;
        let kind = kind.as_deref().or(name).unwrap_or_default();
        let Some(what) = kind.strip_prefix("response.") else {
            match kind {
                "error" => {
                    let error = optional_object(root, "error")?;
                    tell.fail(provider_errors::read(WIRE, error.as_ref().unwrap_or(root)));
                }
                // The same, from those who do not name their events.
                kind => match optional_object(root, "error")? {
                    Some(error) => tell.fail(provider_errors::read(WIRE, &error)),
                    None if matches!(kind, "ping" | "keepalive") => {}
                    None => tell.unknown_event(kind),
                },
            }
            return Ok(());
        };
        self.read_event(kind, what, root, tell)
    }

    fn read_event(
        &mut self,
        kind: &str,
        what: &str,
        root: &JsonObject<'_, '_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let items = &mut self.items;
        let at = optional_index(root, "output_index")?;
        let part = |key| Ok(optional_index(root, key)?.unwrap_or_default());
        let delta = || required_text(root, "delta");
        match what {
            "output_text.delta" => {
                items.add_text(at, part("content_index")?, false, delta()?, tell)
            }
            "refusal.delta" => items.add_text(at, part("content_index")?, true, delta()?, tell),
            "function_call_arguments.delta" | "custom_tool_call_input.delta" => {
                items.add_arguments(at, delta()?, tell)
            }
            "reasoning_summary_text.delta" => items.add_reasoning(
                at,
                (ReasoningSection::Summary, part("summary_index")?),
                delta()?,
                tell,
            ),
            "reasoning_text.delta" => items.add_reasoning(
                at,
                (ReasoningSection::Content, part("content_index")?),
                delta()?,
                tell,
            ),
            "output_text.done" => {
                let text = optional_text(root, "text")?.unwrap_or_default();
                items.complete_text(at, part("content_index")?, false, text, tell)
            }
            "refusal.done" => {
                let text = optional_text(root, "refusal")?.unwrap_or_default();
                items.complete_text(at, part("content_index")?, true, text, tell)
            }
            "function_call_arguments.done" => items.complete_arguments(
                at,
                optional_text(root, "arguments")?.unwrap_or_default(),
                tell,
            ),
            "custom_tool_call_input.done" => items.complete_arguments(
                at,
                optional_text(root, "input")?.unwrap_or_default(),
                tell,
            ),
            "reasoning_summary_part.added" => items.add_reasoning(
                at,
                (ReasoningSection::Summary, part("summary_index")?),
                JsonText::default(),
                tell,
            ),
            "reasoning_summary_text.done" => {
                let text = optional_text(root, "text")?.unwrap_or_default();
                items.complete_reasoning_part(
                    at,
                    (ReasoningSection::Summary, part("summary_index")?),
                    text,
                    tell,
                )
            }
            "reasoning_text.done" => {
                let text = optional_text(root, "text")?.unwrap_or_default();
                items.complete_reasoning_part(
                    at,
                    (ReasoningSection::Content, part("content_index")?),
                    text,
                    tell,
                )
            }
            "reasoning_summary_part.done" => Ok(()),
            "content_part.added" | "content_part.done" => {
                let Some(content) = optional_object(root, "part")? else {
                    return missing_field("`part`");
                };
                let number = part("content_index")?;
                match what {
                    "content_part.added" => items.start_part(at, number, &content, tell),
                    _ => items.finish_part(at, number, &content, tell),
                }
            }
            "output_text.annotation.added" => match optional_object(root, "annotation")? {
                Some(annotation) => {
                    let citation = decode::read_citation(WIRE, &annotation);
                    items.add_citation(at, part("content_index")?, citation, tell)
                }
                None => Ok(()),
            },
            "output_item.added" | "output_item.done" => {
                let Some(item) = optional_object(root, "item")? else {
                    return missing_field("`item`");
                };
                match what {
                    "output_item.added" => items.start_item(at, &item, tell),
                    _ => items.finish_item(at, &item, tell),
                }
            }
            "created" | "queued" | "in_progress" => {
                let Some(response) = optional_object(root, "response")? else {
                    return missing_field("`response`");
                };
                tell.start_from(&response, ["id", "model", "created_at"])?;
                tell.ensure_started();
                Ok(())
            }
            "completed" | "incomplete" | "failed" | "cancelled" => self.read_end(what, root, tell),
            // What happens inside of a call says nothing that the call itself does not say.
            _ if items.is_call(at) => Ok(()),
            _ => {
                tell.unknown_event(kind);
                Ok(())
            }
        }
    }

    fn read_end(
        &mut self,
        what: &str,
        root: &JsonObject<'_, '_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let Some(response) = optional_object(root, "response")? else {
            return missing_field("`response`");
        };
        tell.start_from(&response, ["id", "model", "created_at"])?;
        if what == "failed" {
            let error = optional_object(&response, "error")?;
            tell.fail(provider_errors::read(WIRE, error.as_ref().unwrap_or(&response)));
            return Ok(());
        }
        if what == "cancelled" {
            tell.finish_bytes();
            return Ok(());
        }
        // Servers that do not stream say it all at once.
        if self.items.is_untouched() {
            for (at, item) in (0..).zip(optional_list(&response, "output")?) {
                self.items.finish_item(Some(at), &require_object(item, "output")?, tell)?;
            }
        }
        self.items.close_all(tell);
        if let Some(usage) = optional_object(&response, "usage")? {
            tell.usage(token_usage::read(WIRE, &usage));
        }
        let stop = match (what, optional_object(&response, "incomplete_details")?) {
            ("incomplete", Some(details)) => stop_reasons::read(
                WIRE,
                non_empty_text(&details, "reason")?.unwrap_or("incomplete".into()),
            ),
            ("incomplete", None) => stop_reasons::read(WIRE, "incomplete".into()),
            _ if self.items.has_called() => StopReason::ToolCalls,
            _ => stop_reasons::read(WIRE, "completed".into()),
        };
        tell.stop(stop);
        tell.end();
        Ok(())
    }
}

/// A text that an event is nothing without.
fn required_text<'a>(object: &JsonObject<'_, 'a>, key: &str) -> ScanResult<JsonText<'a>> {
    match optional_text(object, key)? {
        Some(words) => Ok(words),
        None => missing_field(&format!("`{key}`")),
    }
}

/// Notes an item that was left out.
fn record_skipped_item(kind: &str, tell: &mut EventEmitter<'_>) {
    if matches!(kind, "function_call" | "custom_tool_call") {
        return tell.skip(LossKind::Unknown, "a call without a name was left out");
    }
    let is_run = kind.contains("_call") || kind.ends_with("_output") || kind.starts_with("mcp_");
    let what = if is_run { LossKind::ServerCall } else { LossKind::Unknown };
    tell.skip(what, format!("an item `{kind}` was left out"));
}
