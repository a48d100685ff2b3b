//! Reads a stream of Amazon's events.

use serde_json::Value;

use super::{read_stop, read_usage};
use crate::oracle::answers::{
    CutFrame, OracleStream, ReasoningSeal, SIGNED,
    draft::{DraftBlock, DraftBlockKind, ReplyDraft},
    fields::{is_text, said, text},
};

pub(crate) fn hear(cuts: &[CutFrame]) -> OracleStream {
    let mut draft = ReplyDraft::default();
    let (mut begun, mut counted) = (false, false);
    for cut in cuts {
        let Some(value) = draft.open(cut) else { continue };
        // In a recording the name wraps the event.
        let (name, event) = match (&cut.name, value.as_object().and_then(|it| it.iter().next())) {
            (Some(name), _) => (name.clone(), value.clone()),
            (None, Some((name, event))) => (name.clone(), event.clone()),
            (None, None) => continue,
        };
        let first = name == "messageStart";
        draft.must(begun != first || name.ends_with("Exception"), "it does not begin first");
        draft.must(!counted, "an event behind the figures");
        begun = true;
        counted |= name == "metadata";
        take(&mut draft, &name, &event);
    }
    // The usage follows the stop event and belongs to the response.
    let stopped = draft.heard.stopped;
    draft.heard.ended = stopped && draft.heard.error.is_none();
    draft.finish()
}

fn take(draft: &mut ReplyDraft, name: &str, event: &Value) {
    match name {
        "messageStart" => draft.must(event["role"] == "assistant", "it begins without a role"),
        "contentBlockStart" => {
            let turn = event["contentBlockIndex"].as_u64() == Some(draft.parts.len() as u64);
            draft.must(turn && !is_open(draft), "a block begins in another one");
            let call = &event["start"]["toolUse"];
            let sound = said(call, "toolUseId").is_some() && said(call, "name").is_some();
            draft.must(sound, "a block begins and is no call");
            draft.parts.push(DraftBlock {
                id: said(call, "toolUseId"),
                name: text(call, "name"),
                ..DraftBlock::new(DraftBlockKind::Function)
            });
        }
        "contentBlockDelta" => delta(draft, event),
        "contentBlockStop" => {
            let index = event["contentBlockIndex"].as_u64();
            let last = index == (draft.parts.len() as u64).checked_sub(1);
            draft.must(last && is_open(draft), "the end of a block that is not open");
            if let Some(part) = draft.parts.last_mut() {
                part.whole = true;
            }
        }
        "messageStop" => {
            draft.must(!is_open(draft), "a block is open where the message ends");
            match read_stop(event) {
                Some(stop) => draft.stop(stop),
                None => draft.fault("an end without a reason"),
            }
        }
        "metadata" => {
            draft.must(draft.heard.stopped, "figures before the end");
            match read_usage(&event["usage"]) {
                Ok(usage) => draft.heard.answer.usage = usage,
                Err(what) => draft.fault(what),
            }
            draft.must(event["metrics"]["latencyMs"].is_u64(), "no metrics");
        }
        name if name.ends_with("Exception") => {
            draft.heard.error = Some(text(event, "message"));
        }
        _ => draft.heard.unknown += 1,
    }
}

fn is_open(draft: &ReplyDraft) -> bool {
    draft.parts.last().is_some_and(|part| !part.whole)
}

fn delta(draft: &mut ReplyDraft, event: &Value) {
    let index = event["contentBlockIndex"].as_u64();
    let delta = &event["delta"];
    let reasoning = &delta["reasoningContent"];
    let (kind, delta_text) = if is_text(&delta["text"]) {
        (DraftBlockKind::Text, text(delta, "text"))
    } else if is_text(&delta["toolUse"]["input"]) {
        (DraftBlockKind::Function, text(&delta["toolUse"], "input"))
    } else if reasoning.is_object() {
        (DraftBlockKind::Reasoning, text(reasoning, "text"))
    } else {
        return draft.fault(format!("a piece of no kind: {delta}"));
    };
    // Only calls have a start event.
    if !is_open(draft) && kind != DraftBlockKind::Function {
        draft.parts.push(DraftBlock::new(kind));
    }
    let last = index == (draft.parts.len() as u64).checked_sub(1);
    draft.must(last && is_open(draft), "a piece of a block that is not open");
    let Some(part) = draft.parts.last_mut() else { return };
    let (fits, signed) = (part.kind == kind, part.seal != ReasoningSeal::Open);
    part.text.push_str(&delta_text);
    if let Some(signature) = said(reasoning, "signature") {
        part.seal = ReasoningSeal::Signed(signature);
    }
    if let Some(data) = said(reasoning, "redactedContent") {
        part.seal = ReasoningSeal::Redacted(data);
    }
    draft.must(fits, "a piece of another kind than its block");
    draft.must(!signed, SIGNED);
}
