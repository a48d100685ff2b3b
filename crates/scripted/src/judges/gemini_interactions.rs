//! Google's Interactions.
//!
//! Results follow the model's steps with their calls, before anything else of the user or the model.
//! No state is kept, so no earlier interaction is known.

use serde_json::Value;

use super::{
    JudgeObjection, JudgeResult,
    gemini::{ANSWER_TURN, COUNT_MISMATCH},
};
use crate::json_fields::{has_only, non_null, text};

pub(super) fn judge(request: &Value) -> JudgeResult {
    if text(request, "model").or_else(|| text(request, "agent")).is_none_or(str::is_empty) {
        return Err(JudgeObjection::new("Either `model` or `agent` must be set."));
    }
    if let Some(id) = non_null(request, "previous_interaction_id") {
        return Err(JudgeObjection::new(format!("Interaction {id} was not found."))
            .status(404)
            .kind("NOT_FOUND"));
    }
    let steps = match request.get("input") {
        Some(Value::String(input)) if !input.is_empty() => return Ok(()),
        Some(content @ Value::Object(_)) => return judge_step(content, 0),
        Some(Value::Array(steps)) if !steps.is_empty() => steps,
        _ => return Err(JudgeObjection::new("`input` must not be empty.")),
    };
    for (at, step) in steps.iter().enumerate() {
        judge_step(step, at)?;
    }
    judge_pairs(steps)
}

fn judge_step(step: &Value, at: usize) -> JudgeResult {
    let missing = |what: &str, kind: &str| {
        JudgeObjection::new(format!("Missing {what} in content of type {kind}"))
    };
    let is_blank = |key: &str| text(step, key).is_none_or(str::is_empty);
    let Some(kind) = text(step, "type") else {
        return Err(JudgeObjection::new(format!("Missing type at 'input[{at}]'")));
    };
    match kind {
        "function_call" => {
            if is_blank("id") {
                return Err(missing("id", kind));
            }
            let name = text(step, "name").unwrap_or_default();
            let starts =
                name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
            if !starts || name.len() > 128 || !has_only(name, "_.:-") {
                return Err(JudgeObjection::new(format!("Invalid function name at 'input[{at}]'")));
            }
            if !step.get("arguments").is_some_and(Value::is_object) {
                return Err(missing("arguments", kind));
            }
        }
        "function_result" => {
            if is_blank("call_id") {
                return Err(missing("call_id", kind));
            }
            match step.get("result") {
                Some(Value::String(_) | Value::Array(_) | Value::Object(_)) => {}
                _ => return Err(missing("result", kind)),
            }
        }
        _ => {}
    }
    Ok(())
}

fn judge_pairs(steps: &[Value]) -> JudgeResult {
    let mut open: Vec<&str> = Vec::new();
    let mut results_began = false;
    for step in steps {
        match text(step, "type").unwrap_or_default() {
            "function_result" => {
                let id = text(step, "call_id").unwrap_or_default();
                let Some(at) = open.iter().position(|known| *known == id) else {
                    return Err(JudgeObjection::new(ANSWER_TURN));
                };
                open.remove(at);
                results_began = true;
            }
            kind => {
                let is_user = matches!(
                    kind,
                    "user_input" | "text" | "image" | "audio" | "document" | "video"
                );
                if (is_user || results_began) && !open.is_empty() {
                    return Err(JudgeObjection::new(COUNT_MISMATCH));
                }
                results_began = false;
                if kind == "function_call" {
                    let id = text(step, "id").unwrap_or_default();
                    if open.contains(&id) {
                        return Err(JudgeObjection::new(format!("Duplicate call id {id}")));
                    }
                    open.push(id);
                }
            }
        }
    }
    match open.is_empty() {
        true => Ok(()),
        false => Err(JudgeObjection::new(COUNT_MISMATCH)),
    }
}
