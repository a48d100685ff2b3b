//! Kinds of tools and their input.

use super::*;

#[test]
fn tool_input_is_kept_or_reported_as_lost() {
    let free = || json!({"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]});
    let schema = || json!({"type": "object", "properties": {"k": {"type": "string"}}, "required": ["k"], "additionalProperties": false});
    let custom = || json!({"type": "custom", "custom": {"name": "say", "description": "Says"}});
    let lark = || json!({"type": "custom", "name": "say", "format": {"type": "grammar", "syntax": "lark", "definition": "start: \"a\""}});
    let lark_chat = || json!({"type": "custom", "custom": {"name": "say", "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: \"a\""}}}});
    let description = "The input follows this lark grammar:\nstart: \"a\"";
    let grammar = "tool: the grammar of the tool `say` is described, but not enforced";
    let list = |tool: Value| json!({"tools": [tool]});
    let function = |function: Value| json!({"tools": [{"type": "function", "function": function}]});
    let rows = vec![
        // No parameters, explicitly or by omission.
        (
            Chat,
            function(json!({"name": "f"})),
            Anthropic,
            list(json!({"name": "f", "input_schema": nothing()})),
            "",
        ),
        (
            Chat,
            function(json!({"name": "f", "parameters": {}})),
            Anthropic,
            list(json!({"name": "f", "input_schema": {"type": "object"}})),
            "",
        ),
        (
            Chat,
            function(json!({"name": "f"})),
            Gemini,
            list(json!({"functionDeclarations": [{"name": "f"}]})),
            "",
        ),
        (
            Chat,
            function(json!({"name": "f", "parameters": 7})),
            Bedrock,
            json!({"toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": nothing()}}}]}}),
            "tool: `parameters` of the tool `f` is not supported in this format",
        ),
        // The legacy form.
        (
            Chat,
            json!({"functions": [{"name": "f", "parameters": schema()}], "function_call": {"name": "f"}}),
            Anthropic,
            json!({"tools": [{"name": "f", "input_schema": schema()}], "tool_choice": {"type": "tool", "name": "f"}}),
            "",
        ),
        // Strictness.
        (
            Chat,
            function(json!({"name": "f", "parameters": schema(), "strict": true})),
            Responses,
            list(json!({"type": "function", "name": "f", "parameters": schema(), "strict": true})),
            "",
        ),
        (
            Chat,
            function(json!({"name": "f", "parameters": schema()})),
            Responses,
            list(json!({"type": "function", "name": "f", "parameters": schema(), "strict": false})),
            "",
        ),
        (
            Chat,
            function(json!({"name": "f", "parameters": schema(), "strict": true})),
            Bedrock,
            json!({"toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": schema()}, "strict": true}}]}}),
            "",
        ),
        (
            Chat,
            function(json!({"name": "f", "parameters": schema(), "strict": true})),
            Gemini,
            list(
                json!({"functionDeclarations": [{"name": "f", "parametersJsonSchema": schema()}]}),
            ),
            "tool: the schema of the tool `f` is not enforced in this format",
        ),
        (
            Anthropic,
            list(json!({"name": "f", "input_schema": {"type": "object"}, "strict": true})),
            Chat,
            function(json!({"name": "f", "parameters": {"type": "object"}})),
            "tool: the schema of the tool `f` is not enforced: only schemas that require every field \
             and allow no others are enforced in this format",
        ),
        // Free text.
        (
            Chat,
            list(custom()),
            Responses,
            list(json!({"type": "custom", "name": "say", "description": "Says"})),
            "",
        ),
        (
            Chat,
            list(custom()),
            Anthropic,
            list(json!({"name": "say", "description": "Says", "input_schema": free()})),
            "",
        ),
        (Responses, list(lark()), Chat, list(lark_chat()), ""),
        (Chat, list(lark_chat()), Responses, list(lark()), ""),
        (
            Responses,
            list(lark()),
            Gemini,
            list(
                json!({"functionDeclarations": [{"name": "say", "description": description, "parametersJsonSchema": free()}]}),
            ),
            grammar,
        ),
        (
            Responses,
            json!({"tools": [lark()], "tool_choice": {"type": "custom", "name": "say"}}),
            Chat,
            json!({"tools": [lark_chat()], "tool_choice": {"type": "custom", "custom": {"name": "say"}}}),
            "",
        ),
        // Cache markers.
        (
            Anthropic,
            list(
                json!({"name": "f", "input_schema": nothing(), "cache_control": {"type": "ephemeral", "ttl": "1h"}}),
            ),
            Bedrock,
            json!({"toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": nothing()}}},
                {"cachePoint": {"type": "default", "ttl": "1h"}}]}}),
            "",
        ),
        (
            Bedrock,
            json!({"toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": nothing()}}},
                {"cachePoint": {"type": "default"}}]}}),
            Anthropic,
            list(
                json!({"name": "f", "input_schema": nothing(), "cache_control": {"type": "ephemeral"}}),
            ),
            "",
        ),
        (
            Anthropic,
            list(
                json!({"name": "f", "input_schema": nothing(), "cache_control": {"type": "ephemeral"}}),
            ),
            Chat,
            function(json!({"name": "f", "parameters": nothing()})),
            "cache-mark: the cache mark after the tool `f` is not supported in this format",
        ),
        // Not a tool.
        (
            Anthropic,
            json!({"tools": ["odd", {"input_schema": nothing()}, {"type": "bash_20250124", "name": "bash"}]}),
            Chat,
            json!({}),
            "tool: a tool without a name is left out | tool: a tool without a name is left out \
             | tool: the tool `bash_20250124` exists only in its own format",
        ),
        (Chat, json!({"tools": []}), Anthropic, json!({}), ""),
        (
            Chat,
            json!({"tools": "odd"}),
            Anthropic,
            json!({}),
            "tool: `tools` is not supported in this format",
        ),
    ];
    check(rows, false);
}
