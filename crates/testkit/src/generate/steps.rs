//! Writes a turn as the steps of Gemini Interactions.

use serde_json::{Value, json};

use super::draft::{GeneratedPart, GeneratedTurn, TurnSpeaker};
use super::render::object;

/// The steps of all turns, in order. There is no step for instructions.
pub(super) fn of_turns(turns: &[GeneratedTurn]) -> Vec<Value> {
    let steps = turns.iter().flat_map(|turn| turn.parts.iter().map(|part| step(turn, part)));
    steps.collect()
}

fn step(turn: &GeneratedTurn, part: &GeneratedPart) -> Value {
    match part {
        GeneratedPart::Text(text) => {
            let content = json!({"type": "text", "text": text});
            match turn.speaker {
                TurnSpeaker::Assistant => json!({"type": "model_output", "content": [content]}),
                TurnSpeaker::User | TurnSpeaker::System => {
                    json!({"type": "user_input", "content": [content]})
                }
            }
        }
        GeneratedPart::Call(call) => object(vec![
            ("type", Some(json!("function_call"))),
            ("id", call.id.clone()),
            ("name", Some(json!(call.name))),
            ("arguments", Some(call.arguments.clone())),
        ]),
        GeneratedPart::Answer(answer) => {
            let text = &answer.text;
            let result = match answer.parts {
                true => json!([{"type": "text", "text": text}]),
                false => json!(text),
            };
            object(vec![
                ("type", Some(json!("function_result"))),
                ("call_id", answer.id.clone()),
                ("name", Some(json!(answer.name))),
                ("result", Some(result)),
            ])
        }
        GeneratedPart::Thinking(thinking) => object(vec![
            ("type", Some(json!("thought"))),
            ("signature", thinking.seal.as_ref().map(|seal| json!(seal))),
            ("summary", Some(json!([{"type": "text", "text": thinking.text}]))),
        ]),
        GeneratedPart::ServerCall(id) => {
            json!({"type": "google_search_call", "id": id, "arguments": {"queries": ["fox"]}})
        }
        GeneratedPart::ServerAnswer(id) => {
            json!({"type": "google_search_result", "call_id": id, "result": []})
        }
    }
}
