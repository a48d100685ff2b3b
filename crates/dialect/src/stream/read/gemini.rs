//! Gemini's chunks: each is an answer of its own, with more of the parts. Both spellings of every
//! key are in use.

mod partial;

use foxwedge_core::{Family, Wire};

use super::{
    fields::{arguments, as_object, index, list, text},
    tell::Tell,
};
use crate::{
    canon::{Lost, Stop, Words, failures, stops, usages},
    json::{Object, Scan, Value},
    stream::event::{Head, Opened, Piece},
};
use partial::Partial;

const WIRE: Wire = Wire::Gemini;

#[derive(Debug, Default)]
pub(super) struct Gemini {
    /// The text that is open.
    open: Option<(Kind, u32)>,
    /// The call whose arguments come in pieces.
    partial: Option<(u32, Partial)>,
    /// A call has begun.
    called: bool,
    /// Why the model stopped, as far as is known: older models say so in every chunk.
    stop: Option<Stop<'static>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Text,
    Reasoning,
}

impl Gemini {
    pub(super) fn frame(&mut self, root: &Object<'_, '_>, tell: &mut Tell<'_>) -> Scan<()> {
        // The API behind the command line tool has the chunk one object deeper.
        let wrapped = root.get("response").filter(|_| root.get("candidates").is_none());
        let inner = wrapped.and_then(Value::object);
        let root = inner.as_ref().unwrap_or(root);
        if let Some(error) = object(root, &["error"])? {
            tell.fail(failures::read(WIRE, &error));
            return Ok(());
        }
        let head = Head {
            id: words(root, &["responseId", "response_id"])?,
            model: words(root, &["modelVersion", "model_version"])?,
            created: None,
        };
        if head != Head::default() {
            tell.start(head);
        }
        for candidate in list(root, "candidates")? {
            let candidate = as_object(candidate, "candidates")?;
            match index(&candidate, "index")? {
                None | Some(0) => self.candidate(&candidate, tell)?,
                Some(_) => tell.skip_once(Lost::Candidates, "candidates", || {
                    "of several answers only the first was read".to_owned()
                }),
            }
        }
        if let Some(feedback) = object(root, &["promptFeedback", "prompt_feedback"])?
            && words(&feedback, &["blockReason", "block_reason"])?.is_some()
        {
            self.stop = Some(Stop::Refusal);
        }
        if let Some(usage) = object(root, &["usageMetadata", "usage_metadata"])? {
            tell.usage(usages::read(WIRE, &usage));
        }
        Ok(())
    }

    /// The bytes have ended.
    pub(super) fn finish(&mut self, tell: &mut Tell<'_>) {
        let Some(stop) = self.stop.take() else { return };
        self.close(tell);
        self.close_partial(tell);
        tell.stop(match stop {
            Stop::End if self.called => Stop::Calls,
            stop => stop,
        });
    }

    fn candidate(&mut self, candidate: &Object<'_, '_>, tell: &mut Tell<'_>) -> Scan<()> {
        tell.begin();
        if let Some(content) = object(candidate, &["content"])? {
            for part in list(&content, "parts")? {
                self.part(&as_object(part, "parts")?, tell)?;
            }
        }
        for keys in
            [["groundingMetadata", "grounding_metadata"], ["citationMetadata", "citation_metadata"]]
        {
            if object(candidate, &keys)?.is_some_and(|object| !object.tag().is_empty()) {
                let note = || format!("`{}` was left out", keys[0]);
                tell.skip_once(Lost::Citation, keys[0], note);
            }
        }
        let reason = words(candidate, &["finishReason", "finish_reason"])?;
        if let Some(reason) = reason.filter(|reason| *reason != "FINISH_REASON_UNSPECIFIED") {
            self.stop = Some(match stops::read(WIRE, reason) {
                Stop::Other(word) => Stop::Other(word.to_static()),
                Stop::Sequence(text) => Stop::Sequence(text.map(|text| text.to_static())),
                Stop::End => Stop::End,
                Stop::Calls => Stop::Calls,
                Stop::Length => Stop::Length,
                Stop::ContextFull => Stop::ContextFull,
                Stop::Refusal => Stop::Refusal,
                Stop::Pause => Stop::Pause,
                Stop::Malformed => Stop::Malformed,
            });
        }
        Ok(())
    }

    fn part(&mut self, part: &Object<'_, '_>, tell: &mut Tell<'_>) -> Scan<()> {
        let signature = words(part, &["thoughtSignature", "thought_signature"])?;
        if let Some(call) = object(part, &["functionCall", "function_call"])? {
            return self.call(&call, signature, tell);
        }
        let said = get(part, &["text"]).map(|value| text(value, "text")).transpose()?;
        if said.is_none() && self.left_out(part, tell) {
            return Ok(());
        }
        let text = said.unwrap_or_default();
        match signature {
            // A text may be there for the signature only.
            Some(signature) if part.is_true("thought") || text.is_empty() => {
                let block = self.block(Kind::Reasoning, tell);
                tell.text(block, text);
                tell.more(block, Piece::Signature(signature));
            }
            signature => {
                if signature.is_some() {
                    tell.skip_once(Lost::Signature, "signed text", || {
                        "the signature of a text was left out".to_owned()
                    });
                }
                if !text.is_empty() {
                    let thought = part.is_true("thought");
                    let kind = if thought { Kind::Reasoning } else { Kind::Text };
                    let block = self.block(kind, tell);
                    tell.text(block, text);
                }
            }
        }
        Ok(())
    }

    fn call(
        &mut self,
        call: &Object<'_, '_>,
        signature: Option<Words<'_>>,
        tell: &mut Tell<'_>,
    ) -> Scan<()> {
        let goes_on = call.is_true("willContinue");
        if let Some(name) = words(call, &["name"])? {
            self.close(tell);
            self.close_partial(tell);
            self.called = true;
            let (id, family) = (words(call, &["id"])?, Family::Function);
            let block = tell.open(Opened::Call { id, name, family, signature });
            self.partial = Some((block, Partial::default()));
        }
        let Some((block, partial)) = &mut self.partial else {
            tell.skip(Lost::Unknown, "a call without a name was left out");
            return Ok(());
        };
        for argument in list(call, "partialArgs")? {
            partial.take(&as_object(argument, "partialArgs")?)?;
        }
        // Whole arguments, as they nearly always come.
        if let Some(whole) = get(call, &["args"]).filter(|_| !goes_on) {
            tell.text(*block, arguments(whole));
            tell.close(*block);
            self.partial = None;
        } else if !goes_on {
            self.close_partial(tell);
        }
        Ok(())
    }

    /// Notes a part that is neither text nor a call; `false` if there is nothing in it.
    fn left_out(&self, part: &Object<'_, '_>, tell: &mut Tell<'_>) -> bool {
        let beside = ["thought", "thoughtSignature", "thought_signature"];
        let Some((name, _)) = part.fields().find(|(key, _)| !beside.contains(&&**key)) else {
            return false;
        };
        let what = match &*name {
            "inlineData" | "inline_data" | "fileData" | "file_data" => Lost::Media,
            "executableCode"
            | "executable_code"
            | "codeExecutionResult"
            | "code_execution_result"
            | "toolCall"
            | "tool_call"
            | "toolResponse"
            | "tool_response" => Lost::ServerCall,
            _ => Lost::Unknown,
        };
        tell.skip(what, format!("a part `{name}` was left out"));
        true
    }

    /// The block that goes on with a text of that kind.
    fn block(&mut self, kind: Kind, tell: &mut Tell<'_>) -> u32 {
        if let Some((open, block)) = self.open
            && open == kind
        {
            return block;
        }
        self.close(tell);
        let block = tell.open(match kind {
            Kind::Text => Opened::Text,
            Kind::Reasoning => Opened::Reasoning,
        });
        self.open = Some((kind, block));
        block
    }

    fn close(&mut self, tell: &mut Tell<'_>) {
        if let Some((_, block)) = self.open.take() {
            tell.close(block);
        }
    }

    fn close_partial(&mut self, tell: &mut Tell<'_>) {
        if let Some((block, partial)) = self.partial.take() {
            tell.text(block, partial.into_json().into());
            tell.close(block);
        }
    }
}

/// The value under the first of the keys that is there, unless it is null.
fn get<'t, 'a>(object: &Object<'t, 'a>, keys: &[&str]) -> Option<Value<'t, 'a>> {
    object.any(keys).filter(|value| !value.is_null())
}

/// The text under the first of the keys, if it says anything.
fn words<'a>(object: &Object<'_, 'a>, keys: &[&str]) -> Scan<Option<Words<'a>>> {
    let text = get(object, keys).map(|value| text(value, keys[0])).transpose()?;
    Ok(text.filter(|text| !text.is_empty()))
}

fn object<'t, 'a>(object: &Object<'t, 'a>, keys: &[&str]) -> Scan<Option<Object<'t, 'a>>> {
    get(object, keys).map(|value| as_object(value, keys[0])).transpose()
}
