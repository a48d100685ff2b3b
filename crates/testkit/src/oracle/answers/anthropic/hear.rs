//! Reads a stream of named events.

use serde_json::Value;

use super::{read_block, read_stop, read_usage};
use crate::oracle::answers::{
    CutFrame, OracleStream, ReasoningSeal, SIGNED,
    draft::{DraftBlockKind, ReplyDraft},
    fields::{said, text},
};

pub(crate) fn hear(cuts: &[CutFrame]) -> OracleStream {
    let mut draft = ReplyDraft::default();
    let mut begun = false;
    for cut in cuts {
        let Some(event) = draft.open(cut) else { continue };
        let kind = text(&event, "type");
        let named = cut.name.as_deref() == Some(kind.as_str());
        draft.must(named, "an event is not named as its data says");
        draft
            .must(begun != (kind == "message_start") || kind == "error", "it does not begin first");
        begun = true;
        take(&mut draft, &kind, &event);
    }
    draft.finish()
}

fn take(draft: &mut ReplyDraft, kind: &str, event: &Value) {
    match kind {
        "message_start" => {
            let message = &event["message"];
            let empty = message["content"] == Value::Array(Vec::new());
            let sound = empty && message["stop_reason"].is_null() && message["role"] == "assistant";
            draft.must(sound && message["type"] == "message", "it begins with something in it");
            draft.must(message["usage"]["input_tokens"].is_u64(), "it begins without figures");
            let answer = &mut draft.heard.answer;
            (answer.id, answer.model) = (said(message, "id"), said(message, "model"));
            answer.usage = read_usage(&message["usage"]);
        }
        "content_block_start" => start(draft, event),
        "content_block_delta" => delta(draft, event),
        "content_block_stop" => {
            let last = event["index"].as_u64() == (draft.parts.len() as u64).checked_sub(1);
            draft.must(last && is_open(draft), "the end of a block that is not open");
            if let Some(part) = draft.parts.last_mut() {
                part.whole = true;
                let early = part.early.take().filter(|_| part.text.is_empty());
                part.text.push_str(&early.unwrap_or_default());
            }
        }
        "message_delta" => {
            draft.must(!is_open(draft), "a block is open where the message ends");
            let delta = &event["delta"];
            draft.must(delta.get("stop_sequence").is_some(), "no word about a stop sequence");
            draft.must(event["usage"]["output_tokens"].is_u64(), "it ends without figures");
            if let Some(stop) = read_stop(delta) {
                draft.stop(stop);
            }
            let (known, new) = (draft.heard.answer.usage, read_usage(&event["usage"]));
            // The first input counts are final, unless the event repeats all of them.
            let again = event["usage"].get("cache_read_input_tokens").is_some()
                || event["usage"].get("input_tokens").is_some() && known.cached + known.stored == 0;
            let mut usage = if again { new } else { known };
            (usage.output, usage.reasoning) = (new.output, new.reasoning);
            draft.heard.answer.usage = usage;
        }
        "message_stop" => {
            draft.must(draft.heard.stopped, "the message ends without a reason");
            draft.heard.ended = true;
        }
        "ping" => {}
        "error" => {
            draft.must(said(&event["error"], "type").is_some(), "an error without a type");
            draft.heard.error = Some(text(&event["error"], "message"));
        }
        _ => draft.heard.unknown += 1,
    }
}

fn is_open(draft: &ReplyDraft) -> bool {
    draft.parts.last().is_some_and(|part| !part.whole)
}

fn start(draft: &mut ReplyDraft, event: &Value) {
    draft.must(!is_open(draft), "a block begins in another one");
    draft.must(!draft.heard.stopped, "a block begins behind the end");
    let turn = event["index"].as_u64() == Some(draft.parts.len() as u64);
    draft.must(turn, "blocks are not numbered in turn");
    match read_block(&event["content_block"]) {
        Ok(mut part) => {
            if part.kind == DraftBlockKind::Function {
                let input = std::mem::take(&mut part.text);
                part.early = Some(input).filter(|input| input != "{}");
            }
            let empty = part.text.is_empty() && part.early.is_none();
            draft.must(empty, "a block begins with something in it");
            draft.parts.push(part);
        }
        Err(what) => draft.fault(what),
    }
}

fn delta(draft: &mut ReplyDraft, event: &Value) {
    let last = event["index"].as_u64() == (draft.parts.len() as u64).checked_sub(1);
    draft.must(last && is_open(draft), "a piece of a block that is not open");
    let delta = &event["delta"];
    let Some(part) = draft.parts.last_mut() else { return };
    let (kind, key) = match delta["type"].as_str() {
        Some("text_delta") => (DraftBlockKind::Text, "text"),
        Some("thinking_delta") => (DraftBlockKind::Reasoning, "thinking"),
        Some("input_json_delta") => (DraftBlockKind::Function, "partial_json"),
        Some("signature_delta") => {
            let sealed =
                std::mem::replace(&mut part.seal, ReasoningSeal::Signed(text(delta, "signature")));
            let fits = part.kind == DraftBlockKind::Reasoning
                && !matches!(sealed, ReasoningSeal::Redacted(_));
            draft.must(fits, "a signature where none belongs");
            return draft.must(sealed == ReasoningSeal::Open, SIGNED);
        }
        _ => return draft.fault(format!("a piece of no type: {delta}")),
    };
    let fits = part.kind == kind && delta[key].is_string();
    let redacted = matches!(part.seal, ReasoningSeal::Redacted(_));
    let signed = part.seal != ReasoningSeal::Open;
    part.text.push_str(&text(delta, key));
    draft.must(fits && !redacted, "a piece of another kind than its block");
    draft.must(!signed, SIGNED);
}
