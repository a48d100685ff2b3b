//! Reads chat chunks. The format marks only the end of the reply: a text ends where another block
//! starts, and calls end with the reply.

mod calls;

use super::{WIRE, decode::read_citation};
use crate::{
    conversation::{
        JsonText, LossKind, ProviderError, ProviderErrorKind, StopReason, decode, provider_errors,
        stop_reasons, token_usage,
    },
    event::{
        BlockStart,
        emitter::EventEmitter,
        fields::{
            get, non_empty_text, optional_index, optional_list, optional_object, optional_text,
            require_object, require_text,
        },
    },
};
use calls::{CallFragment, ChatCallAssembler};
use foxwedge_json::{JsonObject, JsonValue, ScanResult};

#[derive(Debug, Default)]
pub(crate) struct ChatEventReader {
    /// The open text block.
    open: Option<(ChatTextKind, u32)>,
    calls: ChatCallAssembler,
}

/// The kind of a text block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ChatTextKind {
    Text,
    Refusal,
    Reasoning,
}

impl ChatEventReader {
    pub(crate) fn read_frame(
        &mut self,
        name: Option<&str>,
        root: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        if let Some(error) = get(root, "error") {
            match error.object() {
                Some(error) => emitter.fail(provider_errors::read(WIRE, &error)),
                // Some servers put the message here and the kind beside it.
                None => {
                    let mut provider_error = provider_errors::read(WIRE, root);
                    provider_error.message =
                        decode::read_text(Some(error)).unwrap_or(provider_error.message);
                    emitter.fail(provider_errors::recognize_overflow(provider_error));
                }
            }
            return Ok(());
        }
        let failed = non_empty_text(root, "object")?.is_some_and(|object| object == "error");
        if failed || name == Some("error") {
            emitter.fail(provider_errors::read(WIRE, root));
            return Ok(());
        }
        if get(root, "choices").is_none() && get(root, "usage").is_none() && name.is_none() {
            emitter.skip_once(LossKind::Unknown, "event", || {
                "an event with neither choices nor usage was left out".to_owned()
            });
        }
        emitter.start_from(root, ["id", "model", "created"])?;
        for choice in optional_list(root, "choices")? {
            let choice = require_object(choice, "choices")?;
            match optional_index(&choice, "index")? {
                None | Some(0) => self.read_choice(&choice, emitter)?,
                Some(_) => emitter.skip_once(LossKind::Candidates, "choices", || {
                    "all choices but the first were left out".to_owned()
                }),
            }
        }
        if optional_list(root, "citations")?.next().is_some() {
            emitter.skip_once(LossKind::Citation, "citations", || {
                "citations that belong to no text were left out".to_owned()
            });
        }
        // Groq nests the usage in `x_groq`.
        for figures in [Some(*root), optional_object(root, "x_groq")?].into_iter().flatten() {
            if let Some(usage) = optional_object(&figures, "usage")? {
                emitter.usage(token_usage::read(WIRE, &usage));
            }
        }
        Ok(())
    }

    /// Ends the reply, at the end marker of the provider.
    pub(crate) fn finish(&mut self, emitter: &mut EventEmitter<'_>) {
        self.close_text(emitter);
        self.calls.finish(false, emitter);
        if !emitter.state.ended {
            emitter.end();
        }
    }

    fn read_choice(
        &mut self,
        choice: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        emitter.ensure_started();
        // A whole reply in place of a chunk has the key `message`.
        let key = if get(choice, "delta").is_some() { "delta" } else { "message" };
        match optional_object(choice, key)? {
            Some(delta) => self.read_delta(&delta, emitter)?,
            // The legacy completions format has only text.
            None => {
                if let Some(text) = optional_text(choice, "text")? {
                    self.add_text(ChatTextKind::Text, text, emitter);
                }
            }
        }
        if let Some(error) = optional_object(choice, "error")? {
            emitter.fail(provider_errors::read(WIRE, &error));
            return Ok(());
        }
        let reason = non_empty_text(choice, "finish_reason")?;
        if reason.as_ref().is_some_and(|reason| *reason == "error") {
            let message = "the provider stopped with an unspecified error".into();
            emitter.fail(ProviderError { kind: ProviderErrorKind::Server, message, code: None });
            return Ok(());
        }
        if let Some(reason) = reason {
            self.close_text(emitter);
            let mut stop = stop_reasons::read(WIRE, reason);
            if self.calls.has_cut_off_name() {
                let note;
                (stop, note) = stop_reasons::of_incomplete_call(stop);
                note.into_iter().for_each(|note| emitter.skip(LossKind::StopReason, note));
            }
            let is_cut_off =
                matches!(stop, StopReason::Length | StopReason::ContextFull | StopReason::Refusal);
            self.calls.finish(is_cut_off, emitter);
            if emitter.state.ended {
                return Ok(());
            }
            // Moonshot puts the usage here.
            if let Some(usage) = optional_object(choice, "usage")? {
                emitter.usage(token_usage::read(WIRE, &usage));
            }
            emitter.stop(stop);
        }
        Ok(())
    }

    fn read_delta(
        &mut self,
        delta: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        // Servers that send both fields send the same text in both.
        let reasoning = match non_empty_text(delta, "reasoning_content")? {
            None => non_empty_text(delta, "reasoning")?,
            reasoning => reasoning,
        };
        if let Some(reasoning) = reasoning {
            self.add_text(ChatTextKind::Reasoning, reasoning, emitter);
        }
        match get(delta, "content") {
            Some(content) if content.is_list() => {
                for part in content.list() {
                    self.read_part(&require_object(part, "content")?, emitter)?;
                }
            }
            Some(content) => {
                self.add_text(ChatTextKind::Text, require_text(content, "content")?, emitter)
            }
            None => {}
        }
        if let Some(refusal) = optional_text(delta, "refusal")? {
            self.add_text(ChatTextKind::Refusal, refusal, emitter);
        }
        for citation in optional_list(delta, "annotations")?.filter_map(JsonValue::object) {
            match self.open {
                Some((ChatTextKind::Text, block)) if !emitter.state.stopped => {
                    emitter.citation(block, read_citation(&citation));
                }
                _ => emitter.skip_once(LossKind::Citation, "annotations", || {
                    "annotations that belong to no text were left out".to_owned()
                }),
            }
        }
        for call in optional_list(delta, "tool_calls")? {
            self.add_call(CallFragment::read(&require_object(call, "tool_calls")?)?, emitter)?;
        }
        if let Some(function) = optional_object(delta, "function_call")? {
            self.add_call(CallFragment::read_legacy(&function)?, emitter)?;
        }
        self.record_other_fields(delta, emitter);
        Ok(())
    }

    /// Reads a part of list content, which Mistral's reasoning models send.
    fn read_part(
        &mut self,
        part: &JsonObject<'_, '_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        match &*optional_text(part, "type")?.unwrap_or_default() {
            "text" => self.add_text(
                ChatTextKind::Text,
                optional_text(part, "text")?.unwrap_or_default(),
                emitter,
            ),
            "refusal" => self.add_text(
                ChatTextKind::Refusal,
                optional_text(part, "refusal")?.unwrap_or_default(),
                emitter,
            ),
            "thinking" => {
                for thought in optional_list(part, "thinking")? {
                    let thought = optional_text(&require_object(thought, "thinking")?, "text")?;
                    self.add_text(ChatTextKind::Reasoning, thought.unwrap_or_default(), emitter);
                }
            }
            kind => emitter.skip_once(LossKind::Unknown, kind, || {
                format!("parts `{kind}` of the content were left out")
            }),
        }
        Ok(())
    }

    fn add_text(&mut self, kind: ChatTextKind, text: JsonText<'_>, emitter: &mut EventEmitter<'_>) {
        if text.is_empty() {
            return;
        }
        if emitter.state.stopped {
            emitter.skip_once(LossKind::Unknown, "late", || {
                "content after the stop reason was left out".to_owned()
            });
            return;
        }
        let block = match self.open {
            Some((open, block)) if open == kind => block,
            _ => {
                self.close_text(emitter);
                let block = emitter.open(match kind {
                    ChatTextKind::Text => BlockStart::Text,
                    ChatTextKind::Refusal => BlockStart::Refusal,
                    ChatTextKind::Reasoning => BlockStart::Reasoning,
                });
                self.open = Some((kind, block));
                block
            }
        };
        emitter.text(block, text);
    }

    fn add_call(
        &mut self,
        fragment: CallFragment<'_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        if emitter.state.stopped {
            emitter.skip_once(LossKind::Unknown, "late", || {
                "content after the stop reason was left out".to_owned()
            });
            return Ok(());
        }
        if fragment.starts_call() {
            self.close_text(emitter);
        }
        self.calls.accept(fragment, emitter)
    }

    /// Reports other vendor fields as losses.
    fn record_other_fields(&mut self, delta: &JsonObject<'_, '_>, emitter: &mut EventEmitter<'_>) {
        for (key, value) in delta.fields() {
            let loss = match &*key {
                "role" | "content" | "refusal" | "reasoning_content" | "reasoning"
                | "annotations" | "tool_calls" | "function_call" => continue,
                _ if value.is_null() || matches!(value.raw(), "\"\"" | "[]" | "{}") => continue,
                "reasoning_details" | "extra_content" => LossKind::Signature,
                "audio" | "images" => LossKind::Media,
                _ => LossKind::Unknown,
            };
            emitter.skip_once(loss, &key, || format!("`{key}` was left out"));
        }
    }

    fn close_text(&mut self, emitter: &mut EventEmitter<'_>) {
        if let Some((_, block)) = self.open.take() {
            emitter.close(block);
        }
    }
}
