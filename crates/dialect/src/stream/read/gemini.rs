//! Gemini's chunks: each is an answer of its own, with more of the parts. Both spellings of every
//! key are in use.

mod partial_arguments;

use foxwedge_core::{CallFamily, Format};

use super::{
    emitter::EventEmitter,
    fields::{arguments_text, optional_index, optional_list, require_object, require_text},
};
use crate::{
    json::{JsonObject, JsonValue, ScanResult},
    model::{JsonText, LossKind, StopReason, provider_errors, stop_reasons, token_usage},
    stream::event::{BlockDelta, BlockStart, ReplyHead},
};
use partial_arguments::PartialArguments;

const WIRE: Format = Format::Gemini;

#[derive(Debug, Default)]
pub(super) struct GeminiEventReader {
    /// The text that is open.
    open: Option<(GeminiTextKind, u32)>,
    /// The call whose arguments come in pieces.
    partial: Option<(u32, PartialArguments)>,
    /// A call has begun.
    called: bool,
    /// Why the model stopped, as far as is known: older models say so in every chunk.
    stop: Option<StopReason<'static>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum GeminiTextKind {
    Text,
    Reasoning,
}

impl GeminiEventReader {
    pub(super) fn read_frame(
        &mut self,
        root: &JsonObject<'_, '_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        // The API behind the command line tool has the chunk one object deeper.
        let wrapped = root.get("response").filter(|_| root.get("candidates").is_none());
        let inner = wrapped.and_then(JsonValue::object);
        let root = inner.as_ref().unwrap_or(root);
        if let Some(error) = first_object(root, &["error"])? {
            tell.fail(provider_errors::read(WIRE, &error));
            return Ok(());
        }
        let head = ReplyHead {
            id: first_text(root, &["responseId", "response_id"])?,
            model: first_text(root, &["modelVersion", "model_version"])?,
            created: None,
        };
        if head != ReplyHead::default() {
            tell.start(head);
        }
        for candidate in optional_list(root, "candidates")? {
            let candidate = require_object(candidate, "candidates")?;
            match optional_index(&candidate, "index")? {
                None | Some(0) => self.read_candidate(&candidate, tell)?,
                Some(_) => tell.skip_once(LossKind::Candidates, "candidates", || {
                    "of several answers only the first was read".to_owned()
                }),
            }
        }
        if let Some(feedback) = first_object(root, &["promptFeedback", "prompt_feedback"])?
            && first_text(&feedback, &["blockReason", "block_reason"])?.is_some()
        {
            self.stop = Some(StopReason::Refusal);
        }
        if let Some(usage) = first_object(root, &["usageMetadata", "usage_metadata"])? {
            tell.usage(token_usage::read(WIRE, &usage));
        }
        Ok(())
    }

    /// The bytes have ended.
    pub(super) fn finish(&mut self, tell: &mut EventEmitter<'_>) {
        let Some(stop) = self.stop.take() else { return };
        self.close_text(tell);
        self.close_partial(tell);
        tell.stop(match stop {
            StopReason::End if self.called => StopReason::ToolCalls,
            stop => stop,
        });
    }

    fn read_candidate(
        &mut self,
        candidate: &JsonObject<'_, '_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        tell.ensure_started();
        if let Some(content) = first_object(candidate, &["content"])? {
            for part in optional_list(&content, "parts")? {
                self.read_part(&require_object(part, "parts")?, tell)?;
            }
        }
        for keys in
            [["groundingMetadata", "grounding_metadata"], ["citationMetadata", "citation_metadata"]]
        {
            if first_object(candidate, &keys)?.is_some_and(|object| !object.tag().is_empty()) {
                let note = || format!("`{}` was left out", keys[0]);
                tell.skip_once(LossKind::Citation, keys[0], note);
            }
        }
        let reason = first_text(candidate, &["finishReason", "finish_reason"])?;
        if let Some(reason) = reason.filter(|reason| *reason != "FINISH_REASON_UNSPECIFIED") {
            self.stop = Some(match stop_reasons::read(WIRE, reason) {
                StopReason::Other(word) => StopReason::Other(word.to_static()),
                StopReason::Sequence(text) => {
                    StopReason::Sequence(text.map(|text| text.to_static()))
                }
                StopReason::End => StopReason::End,
                StopReason::ToolCalls => StopReason::ToolCalls,
                StopReason::Length => StopReason::Length,
                StopReason::ContextFull => StopReason::ContextFull,
                StopReason::Refusal => StopReason::Refusal,
                StopReason::Pause => StopReason::Pause,
                StopReason::MalformedCall => StopReason::MalformedCall,
            });
        }
        Ok(())
    }

    fn read_part(
        &mut self,
        part: &JsonObject<'_, '_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let signature = first_text(part, &["thoughtSignature", "thought_signature"])?;
        if let Some(call) = first_object(part, &["functionCall", "function_call"])? {
            return self.read_call(&call, signature, tell);
        }
        let said =
            first_value(part, &["text"]).map(|value| require_text(value, "text")).transpose()?;
        if said.is_none() && self.record_skipped_part(part, tell) {
            return Ok(());
        }
        let text = said.unwrap_or_default();
        match signature {
            // A text may be there for the signature only.
            Some(signature) if part.is_true("thought") || text.is_empty() => {
                let block = self.text_block(GeminiTextKind::Reasoning, tell);
                tell.text(block, text);
                tell.delta(block, BlockDelta::Signature(signature));
            }
            signature => {
                if signature.is_some() {
                    tell.skip_once(LossKind::Signature, "signed text", || {
                        "the signature of a text was left out".to_owned()
                    });
                }
                if !text.is_empty() {
                    let thought = part.is_true("thought");
                    let kind =
                        if thought { GeminiTextKind::Reasoning } else { GeminiTextKind::Text };
                    let block = self.text_block(kind, tell);
                    tell.text(block, text);
                }
            }
        }
        Ok(())
    }

    fn read_call(
        &mut self,
        call: &JsonObject<'_, '_>,
        signature: Option<JsonText<'_>>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let goes_on = call.is_true("willContinue");
        if let Some(name) = first_text(call, &["name"])? {
            self.close_text(tell);
            self.close_partial(tell);
            self.called = true;
            let (id, family) = (first_text(call, &["id"])?, CallFamily::Function);
            let block = tell.open(BlockStart::Call { id, name, family, signature });
            self.partial = Some((block, PartialArguments::default()));
        }
        let Some((block, partial)) = &mut self.partial else {
            tell.skip(LossKind::Unknown, "a call without a name was left out");
            return Ok(());
        };
        for argument in optional_list(call, "partialArgs")? {
            partial.push(&require_object(argument, "partialArgs")?)?;
        }
        // Whole arguments, as they nearly always come.
        if let Some(whole) = first_value(call, &["args"]).filter(|_| !goes_on) {
            tell.text(*block, arguments_text(whole));
            tell.close(*block);
            self.partial = None;
        } else if !goes_on {
            self.close_partial(tell);
        }
        Ok(())
    }

    /// Notes a part that is neither text nor a call; `false` if there is nothing in it.
    fn record_skipped_part(&self, part: &JsonObject<'_, '_>, tell: &mut EventEmitter<'_>) -> bool {
        let beside = ["thought", "thoughtSignature", "thought_signature"];
        let Some((name, _)) = part.fields().find(|(key, _)| !beside.contains(&&**key)) else {
            return false;
        };
        let what = match &*name {
            "inlineData" | "inline_data" | "fileData" | "file_data" => LossKind::Media,
            "executableCode"
            | "executable_code"
            | "codeExecutionResult"
            | "code_execution_result"
            | "toolCall"
            | "tool_call"
            | "toolResponse"
            | "tool_response" => LossKind::ServerCall,
            _ => LossKind::Unknown,
        };
        tell.skip(what, format!("a part `{name}` was left out"));
        true
    }

    /// The block that goes on with a text of that kind.
    fn text_block(&mut self, kind: GeminiTextKind, tell: &mut EventEmitter<'_>) -> u32 {
        if let Some((open, block)) = self.open
            && open == kind
        {
            return block;
        }
        self.close_text(tell);
        let block = tell.open(match kind {
            GeminiTextKind::Text => BlockStart::Text,
            GeminiTextKind::Reasoning => BlockStart::Reasoning,
        });
        self.open = Some((kind, block));
        block
    }

    fn close_text(&mut self, tell: &mut EventEmitter<'_>) {
        if let Some((_, block)) = self.open.take() {
            tell.close(block);
        }
    }

    fn close_partial(&mut self, tell: &mut EventEmitter<'_>) {
        if let Some((block, partial)) = self.partial.take() {
            tell.text(block, partial.into_json().into());
            tell.close(block);
        }
    }
}

/// The value under the first of the keys that is there, unless it is null.
fn first_value<'t, 'a>(object: &JsonObject<'t, 'a>, keys: &[&str]) -> Option<JsonValue<'t, 'a>> {
    object.get_any(keys).filter(|value| !value.is_null())
}

/// The text under the first of the keys, if it says anything.
fn first_text<'a>(object: &JsonObject<'_, 'a>, keys: &[&str]) -> ScanResult<Option<JsonText<'a>>> {
    let text = first_value(object, keys).map(|value| require_text(value, keys[0])).transpose()?;
    Ok(text.filter(|text| !text.is_empty()))
}

fn first_object<'t, 'a>(
    object: &JsonObject<'t, 'a>,
    keys: &[&str],
) -> ScanResult<Option<JsonObject<'t, 'a>>> {
    first_value(object, keys).map(|value| require_object(value, keys[0])).transpose()
}
