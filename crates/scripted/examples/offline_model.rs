//! Answers a request without a network, and refuses a broken one as its provider would.
//!
//! ```sh
//! cargo run -p foxwedge-scripted --example offline_model
//! ```

use foxwedge_core::Format;
use foxwedge_scripted::{ScriptedRequest, respond};

fn main() {
    let valid = r#"{"model": "scripted", "messages": [{"role": "user", "content": "hello"}]}"#;
    let broken = r#"{"model": "gpt-5", "messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
        {"role": "user", "content": "well?"}]}"#;
    for (body, status) in [(valid, 200), (broken, 400)] {
        let response = respond(&ScriptedRequest {
            format: Format::OpenaiChat,
            path: "/v1/chat/completions",
            headers: &[],
            body: body.as_bytes(),
        });
        println!("{} {}", response.status, String::from_utf8_lossy(&response.body()));
        assert_eq!(response.status, status);
    }
}
