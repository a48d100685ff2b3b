//! Reads Responses events: items, parts of items, and an end that repeats everything.
//!
//! The content of a `done` event is used only if its deltas did not arrive.

mod calls;
mod items;

use super::WIRE;
use crate::{
    conversation::{JsonText, LossKind, StopReason, provider_errors, stop_reasons, token_usage},
    event::{
        emitter::EventEmitter,
        fields::{
            missing_field, non_empty_text, optional_index, optional_list, optional_object,
            optional_text, require_object,
        },
    },
    openai_chat::decode::read_citation,
};
use foxwedge_json::{JsonObject, ScanResult};
use items::{ReasoningSection, ResponsesItems};

#[derive(Debug, Default)]
pub(crate) struct ResponsesEventReader {
    items: ResponsesItems,
}

impl ResponsesEventReader {
    pub(crate) fn read_frame(
        &mut self,
        name: Option<&str>,
        root: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let kind = optional_text(root, "type")?;
        let kind = kind.as_deref().or(name).unwrap_or_default();
        let Some(suffix) = kind.strip_prefix("response.") else {
            match kind {
                "error" => {
                    let error = optional_object(root, "error")?;
                    emitter.fail(provider_errors::read(WIRE, error.as_ref().unwrap_or(root)));
                }
                // Errors from servers that do not name their events.
                kind => match optional_object(root, "error")? {
                    Some(error) => emitter.fail(provider_errors::read(WIRE, &error)),
                    None if matches!(kind, "ping" | "keepalive") => {}
                    None => emitter.unknown_event(kind),
                },
            }
            return Ok(());
        };
        self.read_event(kind, suffix, root, emitter)
    }

    fn read_event(
        &mut self,
        kind: &str,
        suffix: &str,
        root: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let items = &mut self.items;
        let at = optional_index(root, "output_index")?;
        let part = |key| Ok(optional_index(root, key)?.unwrap_or_default());
        let delta = || required_text(root, "delta");
        match suffix {
            "output_text.delta" => {
                items.add_text(at, part("content_index")?, false, delta()?, emitter)
            }
            "refusal.delta" => items.add_text(at, part("content_index")?, true, delta()?, emitter),
            "function_call_arguments.delta" | "custom_tool_call_input.delta" => {
                items.add_arguments(at, delta()?, emitter)
            }
            "reasoning_summary_text.delta" => items.add_reasoning(
                at,
                (ReasoningSection::Summary, part("summary_index")?),
                delta()?,
                emitter,
            ),
            "reasoning_text.delta" => items.add_reasoning(
                at,
                (ReasoningSection::Content, part("content_index")?),
                delta()?,
                emitter,
            ),
            "output_text.done" => {
                let text = optional_text(root, "text")?.unwrap_or_default();
                items.complete_text(at, part("content_index")?, false, text, emitter)
            }
            "refusal.done" => {
                let text = optional_text(root, "refusal")?.unwrap_or_default();
                items.complete_text(at, part("content_index")?, true, text, emitter)
            }
            "function_call_arguments.done" => items.complete_arguments(
                at,
                optional_text(root, "arguments")?.unwrap_or_default(),
                emitter,
            ),
            "custom_tool_call_input.done" => items.complete_arguments(
                at,
                optional_text(root, "input")?.unwrap_or_default(),
                emitter,
            ),
            "reasoning_summary_part.added" => items.add_reasoning(
                at,
                (ReasoningSection::Summary, part("summary_index")?),
                JsonText::default(),
                emitter,
            ),
            "reasoning_summary_text.done" => {
                let text = optional_text(root, "text")?.unwrap_or_default();
                items.complete_reasoning_part(
                    at,
                    (ReasoningSection::Summary, part("summary_index")?),
                    text,
                    emitter,
                )
            }
            "reasoning_text.done" => {
                let text = optional_text(root, "text")?.unwrap_or_default();
                items.complete_reasoning_part(
                    at,
                    (ReasoningSection::Content, part("content_index")?),
                    text,
                    emitter,
                )
            }
            "reasoning_summary_part.done" => Ok(()),
            "content_part.added" | "content_part.done" => {
                let Some(content) = optional_object(root, "part")? else {
                    return missing_field("`part`");
                };
                let index = part("content_index")?;
                match suffix {
                    "content_part.added" => items.start_part(at, index, &content, emitter),
                    _ => items.finish_part(at, index, &content, emitter),
                }
            }
            "output_text.annotation.added" => match optional_object(root, "annotation")? {
                Some(annotation) => {
                    let citation = read_citation(&annotation);
                    items.add_citation(at, part("content_index")?, citation, emitter)
                }
                None => Ok(()),
            },
            "output_item.added" | "output_item.done" => {
                let Some(item) = optional_object(root, "item")? else {
                    return missing_field("`item`");
                };
                match suffix {
                    "output_item.added" => items.start_item(at, &item, emitter),
                    _ => items.finish_item(at, &item, emitter),
                }
            }
            "created" | "queued" | "in_progress" => {
                let Some(response) = optional_object(root, "response")? else {
                    return missing_field("`response`");
                };
                emitter.start_from(&response, ["id", "model", "created_at"])?;
                emitter.ensure_started();
                Ok(())
            }
            "completed" | "incomplete" | "failed" | "cancelled" => {
                self.read_end(suffix, root, emitter)
            }
            // Progress events of a call add nothing to the call itself.
            _ if items.is_call(at) => Ok(()),
            _ => {
                emitter.unknown_event(kind);
                Ok(())
            }
        }
    }

    fn read_end(
        &mut self,
        status: &str,
        root: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let Some(response) = optional_object(root, "response")? else {
            return missing_field("`response`");
        };
        emitter.start_from(&response, ["id", "model", "created_at"])?;
        if status == "failed" {
            let error = optional_object(&response, "error")?;
            emitter.fail(provider_errors::read(WIRE, error.as_ref().unwrap_or(&response)));
            return Ok(());
        }
        if status == "cancelled" {
            emitter.finish_bytes();
            return Ok(());
        }
        // Servers that do not stream send everything at the end.
        if self.items.is_untouched() {
            for (at, item) in (0..).zip(optional_list(&response, "output")?) {
                self.items.finish_item(Some(at), &require_object(item, "output")?, emitter)?;
            }
        }
        self.items.close_all(emitter);
        if let Some(usage) = optional_object(&response, "usage")? {
            emitter.usage(token_usage::read(WIRE, &usage));
        }
        let stop = match (status, optional_object(&response, "incomplete_details")?) {
            ("incomplete", Some(details)) => stop_reasons::read(
                WIRE,
                non_empty_text(&details, "reason")?.unwrap_or("incomplete".into()),
            ),
            ("incomplete", None) => stop_reasons::read(WIRE, "incomplete".into()),
            _ if self.items.has_called() => StopReason::ToolCalls,
            _ => stop_reasons::read(WIRE, "completed".into()),
        };
        emitter.stop(stop);
        emitter.end();
        Ok(())
    }
}

/// A required text field.
fn required_text<'a>(object: &JsonObject<'_, 'a>, key: &str) -> ScanResult<JsonText<'a>> {
    match optional_text(object, key)? {
        Some(text) => Ok(text),
        None => missing_field(&format!("`{key}`")),
    }
}

/// Reports an item that was left out.
fn record_skipped_item(kind: &str, emitter: &mut EventEmitter<'_>) {
    if matches!(kind, "function_call" | "custom_tool_call") {
        return emitter.skip(LossKind::Unknown, "a call without a name was left out");
    }
    let is_server_tool =
        kind.contains("_call") || kind.ends_with("_output") || kind.starts_with("mcp_");
    let loss = if is_server_tool { LossKind::ServerCall } else { LossKind::Unknown };
    emitter.skip(loss, format!("an item `{kind}` was left out"));
}
