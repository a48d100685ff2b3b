//! Reads Gemini chunks: each is a whole response with more parts. Both spellings of every key are
//! in use.

mod partial_arguments;

use foxwedge_core::CallFamily;

use super::WIRE;
use crate::{
    conversation::{JsonText, LossKind, StopReason, provider_errors, stop_reasons, token_usage},
    event::{
        BlockDelta, BlockStart, ReplyHead,
        emitter::EventEmitter,
        fields::{arguments_text, optional_index, optional_list, require_object, require_text},
    },
};
use foxwedge_json::{JsonObject, JsonValue, ScanResult};
use partial_arguments::PartialArguments;

#[derive(Debug, Default)]
pub(crate) struct GeminiEventReader {
    /// The open text block.
    open: Option<(GeminiTextKind, u32)>,
    /// The call whose arguments are being streamed.
    partial: Option<(u32, PartialArguments)>,
    /// A call has started.
    called: bool,
    /// The latest stop reason: older models send one in every chunk.
    stop: Option<StopReason<'static>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum GeminiTextKind {
    Text,
    Reasoning,
}

impl GeminiEventReader {
    pub(crate) fn read_frame(
        &mut self,
        root: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        // The API of Gemini CLI nests the chunk in `response`.
        let wrapped = root.get("response").filter(|_| root.get("candidates").is_none());
        let inner = wrapped.and_then(JsonValue::object);
        let root = inner.as_ref().unwrap_or(root);
        if let Some(error) = first_object(root, &["error"])? {
            emitter.fail(provider_errors::read(WIRE, &error));
            return Ok(());
        }
        let head = ReplyHead {
            id: first_text(root, &["responseId", "response_id"])?,
            model: first_text(root, &["modelVersion", "model_version"])?,
            created: None,
        };
        if head != ReplyHead::default() {
            emitter.start(head);
        }
        for candidate in optional_list(root, "candidates")? {
            let candidate = require_object(candidate, "candidates")?;
            match optional_index(&candidate, "index")? {
                None | Some(0) => self.read_candidate(&candidate, emitter)?,
                Some(_) => emitter.skip_once(LossKind::Candidates, "candidates", || {
                    "all candidates but the first were left out".to_owned()
                }),
            }
        }
        if let Some(feedback) = first_object(root, &["promptFeedback", "prompt_feedback"])?
            && first_text(&feedback, &["blockReason", "block_reason"])?.is_some()
        {
            self.stop = Some(StopReason::Refusal);
        }
        if let Some(usage) = first_object(root, &["usageMetadata", "usage_metadata"])? {
            emitter.usage(token_usage::read(WIRE, &usage));
        }
        Ok(())
    }

    /// Ends the reply with the last stop reason, if there is one.
    pub(crate) fn finish(&mut self, emitter: &mut EventEmitter<'_>) {
        let Some(stop) = self.stop.take() else { return };
        self.close_text(emitter);
        self.close_partial(emitter);
        emitter.stop(match stop {
            StopReason::End if self.called => StopReason::ToolCalls,
            stop => stop,
        });
    }

    fn read_candidate(
        &mut self,
        candidate: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        emitter.ensure_started();
        if let Some(content) = first_object(candidate, &["content"])? {
            for part in optional_list(&content, "parts")? {
                self.read_part(&require_object(part, "parts")?, emitter)?;
            }
        }
        for keys in
            [["groundingMetadata", "grounding_metadata"], ["citationMetadata", "citation_metadata"]]
        {
            if first_object(candidate, &keys)?.is_some_and(|object| !object.tag().is_empty()) {
                let note = || format!("`{}` was left out", keys[0]);
                emitter.skip_once(LossKind::Citation, keys[0], note);
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
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let signature = first_text(part, &["thoughtSignature", "thought_signature"])?;
        if let Some(call) = first_object(part, &["functionCall", "function_call"])? {
            return self.read_call(&call, signature, emitter);
        }
        let text_field =
            first_value(part, &["text"]).map(|value| require_text(value, "text")).transpose()?;
        if text_field.is_none() && self.record_skipped_part(part, emitter) {
            return Ok(());
        }
        let text = text_field.unwrap_or_default();
        match signature {
            // A text may be empty and only carry the signature.
            Some(signature) if part.is_true("thought") || text.is_empty() => {
                let block = self.text_block(GeminiTextKind::Reasoning, emitter);
                emitter.text(block, text);
                emitter.delta(block, BlockDelta::Signature(signature));
            }
            signature => {
                if signature.is_some() {
                    emitter.skip_once(LossKind::Signature, "signed text", || {
                        "the signature of a text was left out".to_owned()
                    });
                }
                if !text.is_empty() {
                    let thought = part.is_true("thought");
                    let kind =
                        if thought { GeminiTextKind::Reasoning } else { GeminiTextKind::Text };
                    let block = self.text_block(kind, emitter);
                    emitter.text(block, text);
                }
            }
        }
        Ok(())
    }

    fn read_call(
        &mut self,
        call: &JsonObject<'_, '_>,
        signature: Option<JsonText<'_>>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let will_continue = call.is_true("willContinue");
        if let Some(name) = first_text(call, &["name"])? {
            self.close_text(emitter);
            self.close_partial(emitter);
            self.called = true;
            let (id, family) = (first_text(call, &["id"])?, CallFamily::Function);
            let block = emitter.open(BlockStart::Call { id, name, family, signature });
            self.partial = Some((block, PartialArguments::default()));
        }
        let Some((block, partial)) = &mut self.partial else {
            emitter.skip(LossKind::Unknown, "a call without a name was left out");
            return Ok(());
        };
        for argument in optional_list(call, "partialArgs")? {
            partial.push(&require_object(argument, "partialArgs")?)?;
        }
        // Complete arguments, the usual case.
        if let Some(arguments) = first_value(call, &["args"]).filter(|_| !will_continue) {
            emitter.text(*block, arguments_text(arguments));
            emitter.close(*block);
            self.partial = None;
        } else if !will_continue {
            self.close_partial(emitter);
        }
        Ok(())
    }

    /// Reports a part that is neither text nor a call. Returns `false` if the part is empty.
    fn record_skipped_part(
        &self,
        part: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> bool {
        let ignored = ["thought", "thoughtSignature", "thought_signature"];
        let Some((name, _)) = part.fields().find(|(key, _)| !ignored.contains(&&**key)) else {
            return false;
        };
        let loss = match &*name {
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
        emitter.skip(loss, format!("a part `{name}` was left out"));
        true
    }

    /// The open block for text of that kind. Opens one if needed.
    fn text_block(&mut self, kind: GeminiTextKind, emitter: &mut EventEmitter<'_>) -> u32 {
        if let Some((open, block)) = self.open
            && open == kind
        {
            return block;
        }
        self.close_text(emitter);
        let block = emitter.open(match kind {
            GeminiTextKind::Text => BlockStart::Text,
            GeminiTextKind::Reasoning => BlockStart::Reasoning,
        });
        self.open = Some((kind, block));
        block
    }

    fn close_text(&mut self, emitter: &mut EventEmitter<'_>) {
        if let Some((_, block)) = self.open.take() {
            emitter.close(block);
        }
    }

    fn close_partial(&mut self, emitter: &mut EventEmitter<'_>) {
        if let Some((block, partial)) = self.partial.take() {
            emitter.text(block, partial.into_json().into());
            emitter.close(block);
        }
    }
}

/// The value under the first existing key, unless it is null.
fn first_value<'t, 'a>(object: &JsonObject<'t, 'a>, keys: &[&str]) -> Option<JsonValue<'t, 'a>> {
    object.get_any(keys).filter(|value| !value.is_null())
}

/// The text under the first existing key, unless it is empty.
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
