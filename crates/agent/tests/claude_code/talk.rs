//! The pipe and the machine together: recordings as a client would hear them.

use foxwedge_agent::{Answer, Heard, Input, Output, Phase, Protocol, Tail, Talk};
use serde_json::{Value, json};

use crate::support::{Judge, pipe, recordings};

/// Plays a recording: the client says something, answers every call it is handed, and says
/// something more whenever a reply has ended and the agent goes on. Each reply's stop reason.
fn played(lines: &[String]) -> Vec<String> {
    let mut pipe = pipe();
    let mut talk = Talk::new(false);
    let mut judge = Judge::default();
    let mut replies = Vec::new();
    let mut reason = String::new();
    let mut inputs = vec![words()];
    let mut lines = lines.iter();
    loop {
        for input in std::mem::take(&mut inputs) {
            for output in talk.step(input) {
                match output {
                    Output::Say(event) => {
                        if let Some(said) = event["delta"]["stop_reason"].as_str() {
                            reason = said.to_owned();
                        }
                        assert_ne!(event["content_block"]["type"], json!("agent_tool_use"));
                        judge.hear(&Heard::Said(event));
                    }
                    Output::End => {
                        assert!(judge.between_messages());
                        replies.push(std::mem::take(&mut reason));
                    }
                    Output::Fail(fault) => {
                        judge = Judge::default();
                        replies.push(format!("{} {}", fault.status, fault.code));
                    }
                    Output::Order(order) => drop(pipe.order(order)),
                    Output::Note(_) | Output::Kill => {}
                }
            }
        }
        let open: Vec<Answer> = talk.open().into_iter().map(|call| answer(&call.id)).collect();
        match talk.phase() {
            Phase::Waiting => {
                inputs.push(Input::Request(Tail { answers: open, ..Tail::default() }))
            }
            Phase::Alone => inputs.push(words()),
            Phase::Idle | Phase::Replying | Phase::Dead => {
                let Some(line) = lines.next() else { return replies };
                let starts = line.contains("\"init\"") && talk.phase() == Phase::Idle;
                inputs.extend(starts.then(words));
                let (heard, _) = pipe.line(line.as_bytes());
                inputs.extend(heard.into_iter().map(Input::Heard));
            }
        }
    }
}

fn words() -> Input {
    let said: Value = json!({"type": "text", "text": "Go on."});
    Input::Request(Tail { words: vec![said], ..Tail::default() })
}

fn answer(call: &str) -> Answer {
    let content = vec![json!({"type": "text", "text": "sunny"})];
    Answer { call: call.to_owned(), content, error: false }
}

#[test]
fn every_recording_is_a_row_of_replies() {
    let story: Vec<String> = recordings()
        .into_iter()
        .map(|(name, lines)| format!("{name}: {}", played(&lines).join(", ")))
        .collect();
    insta::assert_snapshot!(story.join("\n"));
}
