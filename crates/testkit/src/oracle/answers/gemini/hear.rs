//! Reads a stream of chunks: consecutive texts of one kind are one text.

use serde_json::Value;

use super::{read_part, read_stop, read_usage};
use crate::oracle::answers::{
    CutFrame, OracleStream, ReasoningSeal,
    draft::{DraftBlock, DraftBlockKind, ReplyDraft},
    fields::{list, said, text},
};

pub(crate) fn hear(cuts: &[CutFrame]) -> OracleStream {
    let mut draft = ReplyDraft::default();
    for cut in cuts {
        if let Some(chunk) = draft.open(cut) {
            take(&mut draft, &chunk);
        }
    }
    let stopped = draft.heard.stopped;
    draft.heard.ended = stopped && draft.heard.error.is_none();
    for part in &mut draft.parts {
        part.whole |= stopped || part.kind == DraftBlockKind::Function;
    }
    draft.finish()
}

fn take(draft: &mut ReplyDraft, chunk: &Value) {
    if let Some(error) = chunk.get("error") {
        draft.must(error["code"].is_u64() && said(error, "status").is_some(), "not an error");
        draft.heard.error = Some(text(error, "message"));
        return;
    }
    let answer = &mut draft.heard.answer;
    answer.id = said(chunk, "responseId").or(answer.id.take());
    answer.model = said(chunk, "modelVersion").or(answer.model.take());
    if let Some(usage) = chunk.get("usageMetadata") {
        match read_usage(usage) {
            Ok(usage) => answer.usage = usage,
            Err(what) => draft.fault(what),
        }
    }
    let candidate = match list(chunk, "candidates") {
        [] => return draft.must(chunk.get("usageMetadata").is_some(), "a chunk without anything"),
        [candidate] => candidate,
        _ => return draft.fault("more than one candidate"),
    };
    draft.must(!draft.heard.stopped, "a chunk behind the end");
    let content = &candidate["content"];
    let sound = content["role"] == "model" && content["parts"].is_array();
    draft.must(sound || content.is_null(), "not a content of a model");
    for part in list(content, "parts") {
        match read_part(part) {
            Ok(part) => add(draft, part),
            Err(what) => {
                draft.heard.unknown += 1;
                draft.fault(what);
            }
        }
    }
    let has_calls = draft.parts.iter().any(|part| part.kind == DraftBlockKind::Function);
    if let Some(stop) = read_stop(candidate, has_calls) {
        draft.stop(stop);
    }
}

fn add(draft: &mut ReplyDraft, part: DraftBlock) {
    let nothing = part.text.is_empty()
        && part.seal == ReasoningSeal::Open
        && part.kind != DraftBlockKind::Function;
    if nothing {
        return;
    }
    match draft.parts.last_mut() {
        Some(last)
            if last.kind == part.kind
                && part.kind != DraftBlockKind::Function
                && last.seal == ReasoningSeal::Open =>
        {
            last.text.push_str(&part.text);
            last.seal = part.seal;
        }
        _ => draft.parts.push(part),
    }
}
