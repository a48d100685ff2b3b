//! Reads a stream of chunks: texts by their key, calls by their index.

use serde_json::Value;

use super::{WIRE, read_usage};
use crate::oracle::answers::{
    CutFrame, OracleStream,
    draft::{DraftBlock, DraftBlockKind, ReplyDraft},
    fields::{list, said, text},
    stops,
};

pub(crate) fn hear(cuts: &[CutFrame]) -> OracleStream {
    let mut chat = ChatAssembler::default();
    for cut in cuts {
        if cut.data == "[DONE]" {
            let open = chat.draft.heard.error.is_none() && !chat.draft.heard.ended;
            chat.draft.must(open && chat.draft.heard.stopped, "[DONE] before the end");
            chat.draft.heard.ended = true;
        } else if let Some(value) = chat.draft.open(cut) {
            chat.chunk(&value);
        }
    }
    chat.finish()
}

#[derive(Default)]
struct ChatAssembler {
    draft: ReplyDraft,
    /// The reasoning, the text and the refusal; at most one of each.
    texts: [Option<DraftBlock>; 3],
    calls: Vec<DraftBlock>,
    begun: bool,
}

impl ChatAssembler {
    fn chunk(&mut self, chunk: &Value) {
        if let Some(error) = chunk.get("error") {
            self.draft.must(said(error, "type").is_some(), "an error without a type");
            self.draft.heard.error = Some(text(error, "message"));
            return;
        }
        let draft = &mut self.draft;
        draft.must(chunk["object"] == "chat.completion.chunk", "not a chunk");
        draft.must(chunk["created"].is_u64(), "`created` is no number");
        for (key, known) in
            [("id", &mut draft.heard.answer.id), ("model", &mut draft.heard.answer.model)]
        {
            let new = chunk[key].as_str();
            if new.is_none() || known.as_deref().is_some_and(|known| Some(known) != new) {
                draft.heard.faults.push(format!("`{key}` changes or is missing: {chunk}"));
            }
            *known = new.map(str::to_owned);
        }
        if chunk["usage"].is_object() {
            match read_usage(&chunk["usage"]) {
                Ok(usage) => draft.heard.answer.usage = usage,
                Err(what) => draft.fault(what),
            }
        }
        match list(chunk, "choices") {
            [] => draft.must(chunk["usage"].is_object(), "a chunk without anything"),
            [choice] => self.choice(choice),
            _ => draft.fault("more than one choice"),
        }
    }

    fn choice(&mut self, choice: &Value) {
        let delta = &choice["delta"];
        let draft = &mut self.draft;
        draft.must(choice["index"] == 0 && delta.is_object(), "not a choice");
        draft.must(!draft.heard.stopped, "a choice behind the finish");
        draft.must(self.begun || delta["role"] == "assistant", "the role is not told first");
        self.begun = true;
        let known = [
            "role",
            "content",
            "refusal",
            "reasoning_content",
            "reasoning",
            "tool_calls",
            "annotations",
        ];
        let fields = delta.as_object().into_iter().flatten();
        let strange = fields.filter(|(key, _)| !known.contains(&key.as_str())).count();
        draft.heard.unknown += strange;
        // Some servers send their reasoning twice.
        let reasoning = said(delta, "reasoning_content").or(said(delta, "reasoning"));
        let delta_texts = [reasoning, said(delta, "content"), said(delta, "refusal")];
        for (at, delta_text) in delta_texts.into_iter().enumerate() {
            if let Some(delta_text) = delta_text {
                let kind =
                    [DraftBlockKind::Reasoning, DraftBlockKind::Text, DraftBlockKind::Refusal][at];
                let part = self.texts[at].get_or_insert_with(|| DraftBlock::new(kind));
                part.text.push_str(&delta_text);
            }
        }
        for fragment in list(delta, "tool_calls") {
            self.fragment(fragment);
        }
        if let Some(reason) = said(choice, "finish_reason") {
            self.draft.stop(stops::meaning(WIRE, &reason));
        }
    }

    fn fragment(&mut self, fragment: &Value) {
        let numbered = fragment["index"].as_u64().map(|index| index as usize);
        self.draft.must(numbered.is_some(), "a call has no number");
        let (kind, tool, key) = match fragment.get("custom") {
            Some(tool) => (DraftBlockKind::Custom, tool, "input"),
            None => (DraftBlockKind::Function, &fragment["function"], "arguments"),
        };
        let index = numbered.unwrap_or_else(|| {
            let id = said(fragment, "id");
            let known = self.calls.iter().position(|call| call.id == id);
            match id {
                Some(_) => known.unwrap_or(self.calls.len()),
                None => self.calls.len().saturating_sub(1),
            }
        });
        if index == self.calls.len() {
            let typed = if kind == DraftBlockKind::Custom { "custom" } else { "function" };
            let sound = said(fragment, "id").is_some() && said(tool, "name").is_some();
            self.draft.must(sound && fragment["type"] == typed, "a call begins without a name");
            self.calls.push(DraftBlock {
                id: said(fragment, "id"),
                name: text(tool, "name"),
                signature: said(&fragment["extra_content"]["google"], "thought_signature"),
                ..DraftBlock::new(kind)
            });
        }
        match self.calls.get_mut(index) {
            Some(call) => call.text.push_str(&text(tool, key)),
            None => self.draft.fault("calls are not numbered one after the other"),
        }
    }

    fn finish(mut self) -> OracleStream {
        let whole = self.draft.heard.stopped;
        let parts = self.texts.into_iter().flatten().chain(self.calls);
        self.draft.parts = parts.map(|part| DraftBlock { whole, ..part }).collect();
        self.draft.finish()
    }
}
