//! Reads a stream of named events.

use serde_json::Value;

use super::{WIRE, read_step, read_usage, stops};
use crate::oracle::answers::{
    CutFrame, OracleStream, ReasoningSeal, SIGNED,
    draft::{DraftBlock, DraftBlockKind, ReplyDraft},
    fields::{list, said, text},
};

pub(crate) fn hear(cuts: &[CutFrame]) -> OracleStream {
    let mut draft = ReplyDraft::default();
    let mut begun = false;
    for cut in cuts {
        // Behind the last event, the bytes may say that nothing follows.
        if cut.data == "[DONE]" && draft.heard.ended {
            continue;
        }
        let Some(event) = draft.open(cut) else { continue };
        let kind = text(&event, "event_type");
        let named = cut.name.as_deref() == Some(kind.as_str());
        draft.must(named, "an event is not named as its data says");
        let first = begun != (kind == "interaction.created") || kind == "error";
        draft.must(first, "it does not begin first");
        begun = true;
        take(&mut draft, &kind, &event);
    }
    draft.finish()
}

fn take(draft: &mut ReplyDraft, kind: &str, event: &Value) {
    match kind {
        "interaction.created" => {
            let interaction = &event["interaction"];
            draft.must(interaction["status"] == "in_progress", "it begins at its end");
            let answer = &mut draft.heard.answer;
            (answer.id, answer.model) = (said(interaction, "id"), said(interaction, "model"));
        }
        "step.start" => start(draft, event),
        "step.delta" => delta(draft, event),
        "step.stop" => {
            let last = event["index"].as_u64() == (draft.parts.len() as u64).checked_sub(1);
            draft.must(last && is_open(draft), "the end of a step that is not open");
            if let Some(part) = draft.parts.last_mut() {
                part.whole = true;
                let early = part.early.take().filter(|_| part.text.is_empty());
                part.text.push_str(&early.unwrap_or_default());
            }
        }
        "interaction.completed" => {
            draft.must(!is_open(draft), "a step is open where the interaction ends");
            let interaction = &event["interaction"];
            draft.must(said(interaction, "id").is_some(), "the interaction lost its id");
            draft.stop(stops::meaning(WIRE, &text(interaction, "status")));
            match read_usage(&interaction["usage"]) {
                Ok(usage) => draft.heard.answer.usage = usage,
                Err(what) => draft.fault(what),
            }
            draft.heard.ended = true;
        }
        "interaction.status_update" => {}
        "error" => {
            draft.must(event["error"]["message"].is_string(), "an error without a message");
            draft.heard.error = Some(text(&event["error"], "message"));
        }
        _ => draft.heard.unknown += 1,
    }
}

fn is_open(draft: &ReplyDraft) -> bool {
    draft.parts.last().is_some_and(|part| !part.whole)
}

fn start(draft: &mut ReplyDraft, event: &Value) {
    draft.must(!is_open(draft), "a step begins in another one");
    let turn = event["index"].as_u64() == Some(draft.parts.len() as u64);
    draft.must(turn, "steps are not numbered in turn");
    let step = &event["step"];
    match read_step(step) {
        Ok(parts) => {
            // The content of an output usually follows.
            let part = parts.into_iter().next();
            let mut part = part.unwrap_or_else(|| DraftBlock::new(DraftBlockKind::Text));
            if part.kind == DraftBlockKind::Function {
                let input = std::mem::take(&mut part.text);
                part.early = Some(input).filter(|input| input != "{}");
            }
            let empty = part.text.is_empty() && part.early.is_none();
            draft.must(empty, "a step begins with something in it");
            draft.must(list(step, "content").len() < 2, "a step begins with several texts");
            draft.parts.push(part);
        }
        Err(what) => draft.fault(what),
    }
}

fn delta(draft: &mut ReplyDraft, event: &Value) {
    let last = event["index"].as_u64() == (draft.parts.len() as u64).checked_sub(1);
    draft.must(last && is_open(draft), "a piece of a step that is not open");
    let delta = &event["delta"];
    let Some(part) = draft.parts.last_mut() else { return };
    let (kind, value) = match delta["type"].as_str() {
        Some("text") => (DraftBlockKind::Text, &delta["text"]),
        Some("thought_summary") => (DraftBlockKind::Reasoning, &delta["content"]["text"]),
        Some("arguments_delta") => (DraftBlockKind::Function, &delta["arguments"]),
        Some("thought_signature") => {
            let seal = ReasoningSeal::Signed(text(delta, "signature"));
            let sealed = std::mem::replace(&mut part.seal, seal);
            let fits = part.kind == DraftBlockKind::Reasoning;
            draft.must(fits, "a signature where none belongs");
            return draft.must(sealed == ReasoningSeal::Open, SIGNED);
        }
        _ => return draft.fault(format!("a piece of no type: {delta}")),
    };
    let fits = part.kind == kind && value.is_string();
    let signed = part.seal != ReasoningSeal::Open;
    part.text.push_str(value.as_str().unwrap_or_default());
    draft.must(fits, "a piece of another kind than its step");
    draft.must(!signed, SIGNED);
}
