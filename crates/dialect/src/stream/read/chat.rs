//! Chat's chunks. The format says where nothing ends but the whole: a text ends where something else
//! begins, and calls end with the answer.

mod calls;

use foxwedge_core::Wire;

use super::{
    fields::{as_object, get, index, list, object, said, text, words},
    tell::Tell,
};
use crate::{
    canon::{Failure, Lost, Trouble, Words, decode, failures, stops, usages},
    json::{Object, Scan, Value},
    stream::event::Opened,
};
use calls::{Calls, Fragment};

const WIRE: Wire = Wire::OpenaiChat;

#[derive(Debug, Default)]
pub(super) struct Chat {
    /// The text that is open.
    open: Option<(Kind, u32)>,
    calls: Calls,
}

/// What a text is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Text,
    Refusal,
    Reasoning,
}

impl Chat {
    pub(super) fn frame(
        &mut self,
        name: Option<&str>,
        root: &Object<'_, '_>,
        tell: &mut Tell<'_>,
    ) -> Scan<()> {
        if let Some(error) = get(root, "error") {
            match error.object() {
                Some(error) => tell.fail(failures::read(WIRE, &error)),
                // Some servers put the message there, and its kind beside it.
                None => {
                    let mut failure = failures::read(WIRE, root);
                    failure.message = decode::words(Some(error)).unwrap_or(failure.message);
                    tell.fail(failure);
                }
            }
            return Ok(());
        }
        let failed = said(root, "object")?.is_some_and(|object| object == "error");
        if failed || name == Some("error") {
            tell.fail(failures::read(WIRE, root));
            return Ok(());
        }
        if get(root, "choices").is_none() && get(root, "usage").is_none() && name.is_none() {
            tell.skip_once(Lost::Unknown, "event", || {
                "an event that holds neither choices nor figures was left out".to_owned()
            });
        }
        tell.head(root, ["id", "model", "created"])?;
        for choice in list(root, "choices")? {
            let choice = as_object(choice, "choices")?;
            match index(&choice, "index")? {
                None | Some(0) => self.choice(&choice, tell)?,
                Some(_) => tell.skip_once(Lost::Candidates, "choices", || {
                    "of several answers only the first was read".to_owned()
                }),
            }
        }
        if list(root, "citations")?.next().is_some() {
            tell.skip_once(Lost::Citation, "citations", || {
                "citations that belong to no text were left out".to_owned()
            });
        }
        // Groq has the figures one object deeper.
        for figures in [Some(*root), object(root, "x_groq")?].into_iter().flatten() {
            if let Some(usage) = object(&figures, "usage")? {
                tell.usage(usages::read(WIRE, &usage));
            }
        }
        Ok(())
    }

    /// The provider says that this is all.
    pub(super) fn done(&mut self, tell: &mut Tell<'_>) {
        self.close(tell);
        self.calls.end(tell);
        tell.end();
    }

    fn choice(&mut self, choice: &Object<'_, '_>, tell: &mut Tell<'_>) -> Scan<()> {
        tell.begin();
        // A whole answer in place of a chunk says the same under another key.
        let key = if get(choice, "delta").is_some() { "delta" } else { "message" };
        match object(choice, key)? {
            Some(delta) => self.delta(&delta, tell)?,
            // The oldest form has nothing but text.
            None => {
                if let Some(text) = words(choice, "text")? {
                    self.text(Kind::Text, text, tell);
                }
            }
        }
        if let Some(error) = object(choice, "error")? {
            tell.fail(failures::read(WIRE, &error));
            return Ok(());
        }
        let reason = said(choice, "finish_reason")?;
        if reason.as_ref().is_some_and(|reason| *reason == "error") {
            let message = "the provider stopped with an error and did not say which".into();
            tell.fail(Failure { kind: Trouble::Server, message, code: None });
            return Ok(());
        }
        if let Some(reason) = reason {
            self.close(tell);
            self.calls.end(tell);
            // Moonshot has the figures here.
            if let Some(usage) = object(choice, "usage")? {
                tell.usage(usages::read(WIRE, &usage));
            }
            tell.stop(stops::read(WIRE, reason));
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Object<'_, '_>, tell: &mut Tell<'_>) -> Scan<()> {
        // Whoever sends both sends the same twice.
        let reasoning = match said(delta, "reasoning_content")? {
            None => said(delta, "reasoning")?,
            reasoning => reasoning,
        };
        if let Some(reasoning) = reasoning {
            self.text(Kind::Reasoning, reasoning, tell);
        }
        match get(delta, "content") {
            Some(content) if content.is_list() => {
                for part in content.list() {
                    self.part(&as_object(part, "content")?, tell)?;
                }
            }
            Some(content) => self.text(Kind::Text, text(content, "content")?, tell),
            None => {}
        }
        if let Some(refusal) = words(delta, "refusal")? {
            self.text(Kind::Refusal, refusal, tell);
        }
        for citation in list(delta, "annotations")?.filter_map(Value::object) {
            match self.open {
                Some((Kind::Text, block)) if !tell.told.stopped => {
                    tell.citation(block, decode::citation(WIRE, &citation));
                }
                _ => tell.skip_once(Lost::Citation, "annotations", || {
                    "annotations that belong to no text were left out".to_owned()
                }),
            }
        }
        for call in list(delta, "tool_calls")? {
            self.call(Fragment::read(&as_object(call, "tool_calls")?)?, tell)?;
        }
        if let Some(function) = object(delta, "function_call")? {
            self.call(Fragment::older(&function)?, tell)?;
        }
        self.others(delta, tell);
        Ok(())
    }

    /// A part of a content that is a list, as Mistral's models with reasoning write it.
    fn part(&mut self, part: &Object<'_, '_>, tell: &mut Tell<'_>) -> Scan<()> {
        match &*words(part, "type")?.unwrap_or_default() {
            "text" => self.text(Kind::Text, words(part, "text")?.unwrap_or_default(), tell),
            "refusal" => {
                self.text(Kind::Refusal, words(part, "refusal")?.unwrap_or_default(), tell)
            }
            "thinking" => {
                for thought in list(part, "thinking")? {
                    let thought = words(&as_object(thought, "thinking")?, "text")?;
                    self.text(Kind::Reasoning, thought.unwrap_or_default(), tell);
                }
            }
            kind => tell.skip_once(Lost::Unknown, kind, || {
                format!("parts `{kind}` of the content were left out")
            }),
        }
        Ok(())
    }

    fn text(&mut self, kind: Kind, text: Words<'_>, tell: &mut Tell<'_>) {
        if text.is_empty() {
            return;
        }
        if tell.told.stopped {
            tell.skip_once(Lost::Unknown, "late", || {
                "what came after the model had stopped was left out".to_owned()
            });
            return;
        }
        let block = match self.open {
            Some((open, block)) if open == kind => block,
            _ => {
                self.close(tell);
                let block = tell.open(match kind {
                    Kind::Text => Opened::Text,
                    Kind::Refusal => Opened::Refusal,
                    Kind::Reasoning => Opened::Reasoning,
                });
                self.open = Some((kind, block));
                block
            }
        };
        tell.text(block, text);
    }

    fn call(&mut self, fragment: Fragment<'_>, tell: &mut Tell<'_>) -> Scan<()> {
        if tell.told.stopped {
            tell.skip_once(Lost::Unknown, "late", || {
                "what came after the model had stopped was left out".to_owned()
            });
            return Ok(());
        }
        if fragment.begins() {
            self.close(tell);
        }
        self.calls.take(fragment, tell)
    }

    /// Notes what vendors say besides.
    fn others(&mut self, delta: &Object<'_, '_>, tell: &mut Tell<'_>) {
        for (key, value) in delta.fields() {
            let what = match &*key {
                "role" | "content" | "refusal" | "reasoning_content" | "reasoning"
                | "annotations" | "tool_calls" | "function_call" => continue,
                _ if value.is_null() || matches!(value.raw(), "\"\"" | "[]" | "{}") => continue,
                "reasoning_details" | "extra_content" => Lost::Signature,
                "audio" | "images" => Lost::Media,
                _ => Lost::Unknown,
            };
            tell.skip_once(what, &key, || format!("`{key}` was left out"));
        }
    }

    fn close(&mut self, tell: &mut Tell<'_>) {
        if let Some((_, block)) = self.open.take() {
            tell.close(block);
        }
    }
}
