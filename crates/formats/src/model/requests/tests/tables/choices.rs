//! Tool choice.

use super::*;

#[test]
fn tool_choice_is_kept_or_reported_as_lost() {
    let among = |mode: &str| {
        json!({"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": [
            {"type": "function", "function": {"name": "f"}}, {"type": "function", "function": {"name": "g"}}]}}})
    };
    let among_flat = |mode: &str| {
        json!({"tool_choice": {"type": "allowed_tools", "mode": mode, "tools": [
            {"type": "function", "name": "f"}, {"type": "function", "name": "g"}]}})
    };
    let calling = |config: Value| json!({"toolConfig": {"functionCallingConfig": config}});
    let narrowed = "tool-choice: the choice of tools cannot be restricted in this format";
    let never = "tool-choice: calls cannot be disabled in this format while tools are declared";
    let alone = "tool-choice: parallel calls cannot be disabled in this format";
    let one_chat = || json!({"tool_choice": {"type": "function", "function": {"name": "f"}}});
    let one = || json!({"tool_choice": {"type": "function", "name": "f"}});
    let rows = vec![
        (
            Chat,
            json!({"tool_choice": "auto"}),
            Anthropic,
            json!({"tool_choice": {"type": "auto"}}),
            "",
        ),
        (
            Chat,
            json!({"tool_choice": "none"}),
            Anthropic,
            json!({"tool_choice": {"type": "none"}}),
            "",
        ),
        (
            Chat,
            json!({"tool_choice": "required"}),
            Anthropic,
            json!({"tool_choice": {"type": "any"}}),
            "",
        ),
        (Chat, one_chat(), Anthropic, json!({"tool_choice": {"type": "tool", "name": "f"}}), ""),
        (Chat, one_chat(), Responses, one(), ""),
        (Chat, among("required"), Responses, among_flat("required"), ""),
        (Responses, among_flat("auto"), Chat, among("auto"), ""),
        (Chat, among("required"), Anthropic, json!({"tool_choice": {"type": "any"}}), narrowed),
        (
            Chat,
            among("auto"),
            Bedrock,
            json!({"toolConfig": {"toolChoice": {"auto": {}}}}),
            narrowed,
        ),
        (
            Chat,
            among("required"),
            Gemini,
            calling(json!({"mode": "ANY", "allowedFunctionNames": ["f", "g"]})),
            "",
        ),
        (
            Chat,
            among("auto"),
            Gemini,
            calling(json!({"mode": "VALIDATED", "allowedFunctionNames": ["f", "g"]})),
            "",
        ),
        (Chat, json!({"tool_choice": "none"}), Gemini, calling(json!({"mode": "NONE"})), ""),
        (Chat, json!({"tool_choice": "none"}), Bedrock, json!({}), never),
        (
            Chat,
            json!({"tool_choice": "required"}),
            Bedrock,
            json!({"toolConfig": {"toolChoice": {"any": {}}}}),
            "",
        ),
        (
            Chat,
            one_chat(),
            Bedrock,
            json!({"toolConfig": {"toolChoice": {"tool": {"name": "f"}}}}),
            "",
        ),
        (
            Gemini,
            calling(json!({"mode": "ANY", "allowedFunctionNames": ["f"]})),
            Chat,
            one_chat(),
            "",
        ),
        (
            Gemini,
            calling(json!({"mode": "any"})),
            Responses,
            json!({"tool_choice": "required"}),
            "",
        ),
        (
            Gemini,
            calling(json!({"mode": "VALIDATED"})),
            Chat,
            json!({}),
            "tool-choice: `toolConfig.functionCallingConfig.mode` is not supported in this format",
        ),
        (
            Bedrock,
            json!({"toolConfig": {"toolChoice": {"any": {}}}}),
            Gemini,
            calling(json!({"mode": "ANY"})),
            "",
        ),
        // Parallel calls.
        (Chat, json!({"parallel_tool_calls": true}), Anthropic, json!({}), ""),
        (
            Chat,
            json!({"parallel_tool_calls": false}),
            Anthropic,
            json!({"tool_choice": {"type": "auto", "disable_parallel_tool_use": true}}),
            "",
        ),
        (
            Anthropic,
            json!({"tool_choice": {"type": "any", "disable_parallel_tool_use": true}}),
            Responses,
            json!({"tool_choice": "required", "parallel_tool_calls": false}),
            "",
        ),
        (Chat, json!({"parallel_tool_calls": false}), Gemini, json!({}), alone),
        (Chat, json!({"parallel_tool_calls": false}), Bedrock, json!({}), alone),
        (Chat, json!({"parallel_tool_calls": true}), Gemini, json!({}), ""),
        // A tool that does not exist.
        (
            Chat,
            json!({"tool_choice": {"type": "function", "function": {"name": "x"}}}),
            Anthropic,
            json!({}),
            "tool-choice: the tools to choose from were left out",
        ),
        // A choice that only its format supports.
        (
            Responses,
            json!({"tool_choice": {"type": "file_search"}}),
            Chat,
            json!({}),
            "tool-choice: `tool_choice` is not supported in this format",
        ),
    ];
    check(rows, true);
}

#[test]
fn without_tools_there_is_no_tool_choice() {
    let rows = vec![
        (
            Chat,
            json!({"tool_choice": "auto", "parallel_tool_calls": false}),
            Anthropic,
            json!({}),
            "",
        ),
        (Chat, json!({"tool_choice": "none"}), Responses, json!({}), ""),
        (
            Responses,
            json!({"tools": [{"type": "web_search"}], "tool_choice": "required"}),
            Chat,
            json!({}),
            "tool: the tool `web_search` exists only in its own format \
             | tool-choice: the tools to choose from were left out",
        ),
    ];
    check(rows, false);
}
