//! Items and steps of tools that the provider runs itself.

use serde_json::{Value, json};

use crate::random::Random;

pub(super) fn hosted_steps(random: &mut Random, number: usize) -> Vec<Value> {
    let id = format!("h{number}{}", random.below(1_000_000));
    let tools = [
        "code_execution",
        "google_search",
        "google_maps",
        "url_context",
        "file_search",
        "mcp_server_tool",
        "retrieval",
        "processing",
    ];
    let tool = random.pick(&tools);
    vec![
        json!({"type": format!("{tool}_call"), "id": id, "arguments": {}, "signature": "c2ln"}),
        json!({"type": format!("{tool}_result"), "call_id": id, "result": [], "signature": "c2ln"}),
    ]
}

pub(super) fn hosted_items(random: &mut Random, number: usize) -> Vec<Value> {
    let id = format!("h{number}{}", random.below(1_000_000));
    match random.below(12) {
        0 => vec![
            json!({"type": "web_search_call", "id": format!("ws_{id}"), "status": "completed", "action": {"type": "search", "query": "fox"}}),
        ],
        1 => vec![
            json!({"type": "file_search_call", "id": format!("fs_{id}"), "status": "completed", "queries": ["fox"], "results": null}),
        ],
        2 => vec![
            json!({"type": "code_interpreter_call", "id": format!("ci_{id}"), "status": "completed", "container_id": "cntr_1", "code": "1", "outputs": null}),
        ],
        3 => vec![
            json!({"type": "image_generation_call", "id": format!("ig_{id}"), "status": "completed", "result": "AA=="}),
        ],
        4 => vec![
            json!({"type": "mcp_list_tools", "id": format!("mcpl_{id}"), "server_label": "s", "tools": []}),
        ],
        5 => vec![
            json!({"type": "mcp_call", "id": format!("mcp_{id}"), "server_label": "s", "name": "find", "arguments": "{}", "output": "found", "error": null}),
        ],
        6 => vec![
            json!({"type": "mcp_approval_request", "id": format!("mcpr_{id}"), "server_label": "s", "name": "find", "arguments": "{}"}),
            json!({"type": "mcp_approval_response", "approval_request_id": format!("mcpr_{id}"), "approve": true}),
        ],
        7 => vec![
            json!({"type": "tool_search_call", "id": format!("tsc_{id}"), "call_id": null, "execution": "server", "status": "completed", "arguments": {}}),
            json!({"type": "tool_search_output", "id": format!("tso_{id}"), "call_id": null, "execution": "server", "status": "completed", "tools": []}),
        ],
        8 => vec![
            json!({"type": "tool_search_call", "id": format!("tsc_{id}"), "call_id": format!("tsc_{id}"), "status": "completed", "arguments": {}}),
        ],
        9 => vec![
            json!({"type": "shell_call", "id": format!("sh_{id}"), "call_id": format!("sh_{id}"), "status": "completed", "action": {"commands": ["ls"]}, "environment": {"type": "container_reference", "container_id": "cntr_1"}}),
            json!({"type": "shell_call_output", "call_id": format!("sh_{id}"), "output": [{"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]}),
        ],
        // A notice of a tool that was not called by id.
        11 => vec![
            json!({"type": "function_call_output", "name": "watch", "output": format!("notice {id}.")}),
        ],
        // The model continues while the tool runs; the output may come in any later request.
        10 => vec![
            json!({"type": "function_call", "call_id": format!("call_{id}"), "name": "watch", "arguments": "{}", "async": true}),
        ],
        _ => vec![
            json!({"type": "program", "id": format!("prg_{id}"), "call_id": format!("prg_{id}"), "code": "1", "fingerprint": "x"}),
            json!({"type": "program_output", "call_id": format!("prg_{id}"), "output": "1"}),
        ],
    }
}
