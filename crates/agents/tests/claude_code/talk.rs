//! The pipe and the machine together: recordings as a client would hear them.

use foxwedge_agents::{
    AgentBridge, AgentEvent, AgentProtocol, BridgeInput, BridgeOutput, BridgePhase,
    ClientToolResult, RequestTail,
};
use serde_json::{Value, json};

use crate::support::{Judge, pipe, recordings};

/// Plays a recording: the client says something, answers every call it is handed, and says
/// something more whenever a reply has ended and the agent goes on. Each reply's stop reason.
fn played(lines: &[String]) -> Vec<String> {
    let mut pipe = pipe();
    let mut talk = AgentBridge::new(false);
    let mut judge = Judge::default();
    let mut replies = Vec::new();
    let mut reason = String::new();
    let mut inputs = vec![words()];
    let mut lines = lines.iter();
    loop {
        for input in std::mem::take(&mut inputs) {
            for output in talk.step(input) {
                match output {
                    BridgeOutput::StreamEvent(event) => {
                        if let Some(said) = event["delta"]["stop_reason"].as_str() {
                            reason = said.to_owned();
                        }
                        assert_ne!(event["content_block"]["type"], json!("agent_tool_use"));
                        judge.hear(&AgentEvent::StreamEvent(event));
                    }
                    BridgeOutput::End => {
                        assert!(judge.between_messages());
                        replies.push(std::mem::take(&mut reason));
                    }
                    BridgeOutput::Fail(fault) => {
                        judge = Judge::default();
                        replies.push(format!("{} {}", fault.status, fault.code));
                    }
                    BridgeOutput::Command(order) => drop(pipe.encode_command(order)),
                    BridgeOutput::Note(_) | BridgeOutput::Kill => {}
                }
            }
        }
        let open: Vec<ClientToolResult> =
            talk.open_calls().into_iter().map(|call| answer(&call.id)).collect();
        match talk.phase() {
            BridgePhase::Waiting => inputs.push(BridgeInput::Request(RequestTail {
                answers: open,
                ..RequestTail::default()
            })),
            BridgePhase::Unattended => inputs.push(words()),
            BridgePhase::Idle | BridgePhase::Replying | BridgePhase::Dead => {
                let Some(line) = lines.next() else { return replies };
                let starts = line.contains("\"init\"") && talk.phase() == BridgePhase::Idle;
                inputs.extend(starts.then(words));
                let (heard, _) = pipe.read_line(line.as_bytes());
                inputs.extend(heard.into_iter().map(BridgeInput::AgentEvent));
            }
        }
    }
}

fn words() -> BridgeInput {
    let said: Value = json!({"type": "text", "text": "Go on."});
    BridgeInput::Request(RequestTail { user_content: vec![said], ..RequestTail::default() })
}

fn answer(call: &str) -> ClientToolResult {
    let content = vec![json!({"type": "text", "text": "sunny"})];
    ClientToolResult { call: call.to_owned(), content, error: false }
}

#[test]
fn every_recording_is_a_row_of_replies() {
    let story: Vec<String> = recordings()
        .into_iter()
        .map(|(name, lines)| format!("{name}: {}", played(&lines).join(", ")))
        .collect();
    insta::assert_snapshot!(story.join("\n"));
}
