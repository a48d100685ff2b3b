//! Puts a client's request through the state machine between a client and a live agent.
//!
//! ```sh
//! cargo run -p foxwedge-agents --example bridge_agent
//! ```

use std::error::Error;

use foxwedge_agents::{
    AgentBridge, AgentCommand, AgentEvent, BridgeInput, BridgeOutput, RequestTail,
};
use foxwedge_core::Format;
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let request =
        r#"{"model": "claude-code", "messages": [{"role": "user", "content": "Hello."}]}"#;
    let stream = [
        json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
            "model": "m", "content": [], "stop_reason": null, "stop_sequence": null,
            "usage": {"input_tokens": 1, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi!"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
        json!({"type": "message_stop"}),
    ];
    let mut inputs = vec![
        BridgeInput::AgentEvent(AgentEvent::Ready),
        BridgeInput::Request(RequestTail::read(request, Format::OpenaiChat, 0)?),
    ];
    inputs
        .extend(stream.into_iter().map(|it| BridgeInput::AgentEvent(AgentEvent::StreamEvent(it))));
    let end = AgentEvent::TurnEnded { failure: None, text: None, more: false };
    inputs.push(BridgeInput::AgentEvent(end));

    let mut bridge = AgentBridge::new(false);
    for output in inputs.into_iter().flat_map(|input| bridge.step(input)) {
        match output {
            BridgeOutput::Command(AgentCommand::Prompt(blocks)) => {
                println!("to the agent: {blocks:?}")
            }
            BridgeOutput::StreamEvent(event) => println!("to the client: {event}"),
            BridgeOutput::End => println!("the reply is complete"),
            _ => {}
        }
    }
    Ok(())
}
