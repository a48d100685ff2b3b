//! Chat's chunks. The format says where nothing ends but the whole: a text ends where something else
//! begins, and calls end with the answer.

mod calls;

use foxwedge_core::Format;

use super::{
    emitter::EventEmitter,
    fields::{
        get, non_empty_text, optional_index, optional_list, optional_object, optional_text,
        require_object, require_text,
    },
};
use crate::{
    json::{JsonObject, JsonValue, ScanResult},
    model::{
        JsonText, LossKind, ProviderError, ProviderErrorKind, decode, provider_errors,
        stop_reasons, token_usage,
    },
    stream::event::BlockStart,
};
use calls::{CallFragment, ChatCallAssembler};

const WIRE: Format = Format::OpenaiChat;

#[derive(Debug, Default)]
pub(super) struct ChatEventReader {
    /// The text that is open.
    open: Option<(ChatTextKind, u32)>,
    calls: ChatCallAssembler,
}

/// What a text is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ChatTextKind {
    Text,
    Refusal,
    Reasoning,
}

impl ChatEventReader {
    pub(super) fn read_frame(
        &mut self,
        name: Option<&str>,
        root: &JsonObject<'_, '_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        if let Some(error) = get(root, "error") {
            match error.object() {
                Some(error) => tell.fail(provider_errors::read(WIRE, &error)),
                // Some servers put the message there, and its kind beside it.
                None => {
                    let mut failure = provider_errors::read(WIRE, root);
                    failure.message = decode::read_text(Some(error)).unwrap_or(failure.message);
                    tell.fail(failure);
                }
            }
            return Ok(());
        }
        let failed = non_empty_text(root, "object")?.is_some_and(|object| object == "error");
        if failed || name == Some("error") {
            tell.fail(provider_errors::read(WIRE, root));
            return Ok(());
        }
        if get(root, "choices").is_none() && get(root, "usage").is_none() && name.is_none() {
            tell.skip_once(LossKind::Unknown, "event", || {
                "an event that holds neither choices nor figures was left out".to_owned()
            });
        }
        tell.start_from(root, ["id", "model", "created"])?;
        for choice in optional_list(root, "choices")? {
            let choice = require_object(choice, "choices")?;
            match optional_index(&choice, "index")? {
                None | Some(0) => self.read_choice(&choice, tell)?,
                Some(_) => tell.skip_once(LossKind::Candidates, "choices", || {
                    "of several answers only the first was read".to_owned()
                }),
            }
        }
        if optional_list(root, "citations")?.next().is_some() {
            tell.skip_once(LossKind::Citation, "citations", || {
                "citations that belong to no text were left out".to_owned()
            });
        }
        // Groq has the figures one object deeper.
        for figures in [Some(*root), optional_object(root, "x_groq")?].into_iter().flatten() {
            if let Some(usage) = optional_object(&figures, "usage")? {
                tell.usage(token_usage::read(WIRE, &usage));
            }
        }
        Ok(())
    }

    /// The provider says that this is all.
    pub(super) fn finish(&mut self, tell: &mut EventEmitter<'_>) {
        self.close_text(tell);
        self.calls.finish(tell);
        tell.end();
    }

    fn read_choice(
        &mut self,
        choice: &JsonObject<'_, '_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        tell.ensure_started();
        // A whole answer in place of a chunk says the same under another key.
        let key = if get(choice, "delta").is_some() { "delta" } else { "message" };
        match optional_object(choice, key)? {
            Some(delta) => self.read_delta(&delta, tell)?,
            // The oldest form has nothing but text.
            None => {
                if let Some(text) = optional_text(choice, "text")? {
                    self.add_text(ChatTextKind::Text, text, tell);
                }
            }
        }
        if let Some(error) = optional_object(choice, "error")? {
            tell.fail(provider_errors::read(WIRE, &error));
            return Ok(());
        }
        let reason = non_empty_text(choice, "finish_reason")?;
        if reason.as_ref().is_some_and(|reason| *reason == "error") {
            let message = "the provider stopped with an error and did not say which".into();
            tell.fail(ProviderError { kind: ProviderErrorKind::Server, message, code: None });
            return Ok(());
        }
        if let Some(reason) = reason {
            self.close_text(tell);
            self.calls.finish(tell);
            // Moonshot has the figures here.
            if let Some(usage) = optional_object(choice, "usage")? {
                tell.usage(token_usage::read(WIRE, &usage));
            }
            tell.stop(stop_reasons::read(WIRE, reason));
        }
        Ok(())
    }

    fn read_delta(
        &mut self,
        delta: &JsonObject<'_, '_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        // Whoever sends both sends the same twice.
        let reasoning = match non_empty_text(delta, "reasoning_content")? {
            None => non_empty_text(delta, "reasoning")?,
            reasoning => reasoning,
        };
        if let Some(reasoning) = reasoning {
            self.add_text(ChatTextKind::Reasoning, reasoning, tell);
        }
        match get(delta, "content") {
            Some(content) if content.is_list() => {
                for part in content.list() {
                    self.read_part(&require_object(part, "content")?, tell)?;
                }
            }
            Some(content) => {
                self.add_text(ChatTextKind::Text, require_text(content, "content")?, tell)
            }
            None => {}
        }
        if let Some(refusal) = optional_text(delta, "refusal")? {
            self.add_text(ChatTextKind::Refusal, refusal, tell);
        }
        for citation in optional_list(delta, "annotations")?.filter_map(JsonValue::object) {
            match self.open {
                Some((ChatTextKind::Text, block)) if !tell.state.stopped => {
                    tell.citation(block, decode::read_citation(WIRE, &citation));
                }
                _ => tell.skip_once(LossKind::Citation, "annotations", || {
                    "annotations that belong to no text were left out".to_owned()
                }),
            }
        }
        for call in optional_list(delta, "tool_calls")? {
            self.add_call(CallFragment::read(&require_object(call, "tool_calls")?)?, tell)?;
        }
        if let Some(function) = optional_object(delta, "function_call")? {
            self.add_call(CallFragment::read_legacy(&function)?, tell)?;
        }
        self.record_other_fields(delta, tell);
        Ok(())
    }

    /// A part of a content that is a list, as Mistral's models with reasoning write it.
    fn read_part(
        &mut self,
        part: &JsonObject<'_, '_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        match &*optional_text(part, "type")?.unwrap_or_default() {
            "text" => self.add_text(
                ChatTextKind::Text,
                optional_text(part, "text")?.unwrap_or_default(),
                tell,
            ),
            "refusal" => self.add_text(
                ChatTextKind::Refusal,
                optional_text(part, "refusal")?.unwrap_or_default(),
                tell,
            ),
            "thinking" => {
                for thought in optional_list(part, "thinking")? {
                    let thought = optional_text(&require_object(thought, "thinking")?, "text")?;
                    self.add_text(ChatTextKind::Reasoning, thought.unwrap_or_default(), tell);
                }
            }
            kind => tell.skip_once(LossKind::Unknown, kind, || {
                format!("parts `{kind}` of the content were left out")
            }),
        }
        Ok(())
    }

    fn add_text(&mut self, kind: ChatTextKind, text: JsonText<'_>, tell: &mut EventEmitter<'_>) {
        if text.is_empty() {
            return;
        }
        if tell.state.stopped {
            tell.skip_once(LossKind::Unknown, "late", || {
                "what came after the model had stopped was left out".to_owned()
            });
            return;
        }
        let block = match self.open {
            Some((open, block)) if open == kind => block,
            _ => {
                self.close_text(tell);
                let block = tell.open(match kind {
                    ChatTextKind::Text => BlockStart::Text,
                    ChatTextKind::Refusal => BlockStart::Refusal,
                    ChatTextKind::Reasoning => BlockStart::Reasoning,
                });
                self.open = Some((kind, block));
                block
            }
        };
        tell.text(block, text);
    }

    fn add_call(
        &mut self,
        fragment: CallFragment<'_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        if tell.state.stopped {
            tell.skip_once(LossKind::Unknown, "late", || {
                "what came after the model had stopped was left out".to_owned()
            });
            return Ok(());
        }
        if fragment.starts_call() {
            self.close_text(tell);
        }
        self.calls.accept(fragment, tell)
    }

    /// Notes what vendors say besides.
    fn record_other_fields(&mut self, delta: &JsonObject<'_, '_>, tell: &mut EventEmitter<'_>) {
        for (key, value) in delta.fields() {
            let what = match &*key {
                "role" | "content" | "refusal" | "reasoning_content" | "reasoning"
                | "annotations" | "tool_calls" | "function_call" => continue,
                _ if value.is_null() || matches!(value.raw(), "\"\"" | "[]" | "{}") => continue,
                "reasoning_details" | "extra_content" => LossKind::Signature,
                "audio" | "images" => LossKind::Media,
                _ => LossKind::Unknown,
            };
            tell.skip_once(what, &key, || format!("`{key}` was left out"));
        }
    }

    fn close_text(&mut self, tell: &mut EventEmitter<'_>) {
        if let Some((_, block)) = self.open.take() {
            tell.close(block);
        }
    }
}
