//! Content, roles and reasoning.

use super::*;

#[test]
fn contents() {
    refuse(&[
        (
            C,
            301,
            r#"[{"role":"user","content":"go"},{"role":"assistant","content":null}]"#,
            "Invalid value for 'content': expected a string, got null.",
        ),
        (
            C,
            302,
            r#"[{"role":"assistant","tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":{}}}]}]"#,
            "function.arguments': expected a string, but got an object instead.",
        ),
        (
            C,
            309,
            r#"[{"role":"assistant","content":"a","tool_calls":[]}]"#,
            "Invalid 'messages[0].tool_calls': empty array.",
        ),
        (C, 314, "[]", "Invalid 'messages': empty array."),
        (
            C,
            307,
            r#"[{"role":"user","content":"go"},{"role":"tool","tool_call_id":"x","content":[{"type":"image_url","image_url":{"url":"u"}}]}]"#,
            "but this message with role 'tool' contains an image URL.",
        ),
        (D, 301, r#"[{"role":"assistant","content":null}]"#, "content or tool_calls must be set"),
        (
            M,
            301,
            r#"[{"role":"assistant","content":null}]"#,
            "Assistant message must have either content or tool_calls",
        ),
        (M, 314, "[]", "Conversation must have at least one message"),
        (
            R,
            302,
            r#"[{"type":"function_call","call_id":"x","name":"f","arguments":{}}]"#,
            "'input[0].arguments': expected a string",
        ),
        (
            R,
            303,
            r#"[{"type":"function_call_output","call_id":"x"}]"#,
            "Missing required parameter: 'input[0].output'.",
        ),
        (R, 314, "[]", "Invalid 'input': empty array."),
        (
            A,
            301,
            r#"[{"role":"user","content":[]}]"#,
            "messages.0: all messages must have non-empty content",
        ),
        (
            A,
            308,
            r#"[{"role":"user","content":[{"type":"text","text":""}]}]"#,
            "text content blocks must be non-empty",
        ),
        (
            A,
            308,
            r#"[{"role":"user","content":" \n"}]"#,
            "text content blocks must contain non-whitespace text",
        ),
        (
            A,
            302,
            r#"[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"f","input":"{}"}]}]"#,
            "tool_use.input: Input should be a valid dictionary",
        ),
        (
            A,
            302,
            r#"[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"f"}]}]"#,
            "tool_use.input: Field required",
        ),
        (
            A,
            304,
            r#"[{"role":"user","content":[{"type":"tool_use","id":"x","name":"f","input":{}}]}]"#,
            "messages.0: `tool_use` blocks can only be in `assistant` messages",
        ),
        (
            A,
            304,
            r#"[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_result","tool_use_id":"x"}]}]"#,
            "`tool_result` blocks can only be in `user` messages",
        ),
        (
            A,
            312,
            r#"[{"role":"user","content":"go"},{"role":"assistant","content":"Well, "}]"#,
            "final assistant content cannot end with trailing whitespace",
        ),
        (
            A,
            313,
            r#"[{"role":"user","content":"half \ud83d"}]"#,
            "no low surrogate in string: line 1 column",
        ),
        (C, 313, r#"[{"role":"user","content":"half \ud83d"}]"#, "lone surrogate"),
        (G, 313, r#"[{"parts":[{"text":"half \ud83d"}]}]"#, "Unpaired surrogate"),
        (A, 314, "[]", "messages: at least one message is required"),
        (G, 301, r#"[{"role":"user","parts":[]}]"#, "contents.parts must not be empty."),
        (
            G,
            302,
            r#"[{"parts":[{"text":"go"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":[]}}]}]"#,
            "function_call.args' (type.googleapis.com/google.protobuf.Struct)",
        ),
        (G, 308, r#"[{"role":"user","parts":[{"text":""}]}]"#, "Model input cannot be empty"),
        (G, 314, "[]", "contents is not specified"),
    ]);
}

#[test]
fn roles() {
    refuse(&[
        (
            C,
            407,
            r#"[{"role":"robot","content":"go"}]"#,
            "Invalid value: 'robot'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.",
        ),
        (
            D,
            407,
            r#"[{"role":"developer","content":"go"}]"#,
            "messages[0].role: unknown variant `developer`, expected one of",
        ),
        (
            M,
            407,
            r#"[{"role":"developer","content":"go"}]"#,
            "Input tag 'developer' found using 'role'",
        ),
        (
            M,
            404,
            r#"[{"role":"user","content":"go"},{"role":"assistant","tool_calls":[{"id":"abcdefgh1","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"abcdefgh1","content":"r"},{"role":"user","content":"?"}]"#,
            "Unexpected role 'user' after role 'tool'",
        ),
        (
            M,
            406,
            r#"[{"role":"user","content":"go"},{"role":"assistant","content":"a"},{"role":"system","content":"s"}]"#,
            "Unexpected role 'system' after role 'assistant'",
        ),
        (
            M,
            403,
            r#"[{"role":"user","content":"go"},{"role":"assistant","content":"a"}]"#,
            "Expected last role User or Tool (or Assistant with prefix) for serving but got assistant",
        ),
        (
            A,
            407,
            r#"[{"role":"tool","content":"go"}]"#,
            "messages: Unexpected role \"tool\". Allowed roles are",
        ),
        (
            A,
            401,
            r#"[{"role":"assistant","content":"go"}]"#,
            "messages: first message must use the \"user\" role",
        ),
        (
            A,
            406,
            r#"[{"role":"user","content":"go"},{"role":"assistant","content":"a"},{"role":"system","content":"s"}]"#,
            "role 'system' must follow a 'user' message",
        ),
        (
            A,
            403,
            r#"{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"go"},{"role":"assistant","content":"a"}]}"#,
            "This model does not support assistant message prefill.",
        ),
        (
            G,
            407,
            r#"[{"role":"assistant","parts":[{"text":"go"}]}]"#,
            "Please use a valid role: user, model.",
        ),
        (
            G,
            406,
            r#"[{"role":"system","parts":[{"text":"go"}]}]"#,
            "Content with system role is not supported.",
        ),
        (
            G,
            403,
            r#"[{"parts":[{"text":"go"}]},{"role":"model","parts":[{"text":"a"}]}]"#,
            "multiturn requests ends with a user role or a function response",
        ),
    ]);
}

#[test]
fn reasoning() {
    refuse(&[
        (
            A,
            501,
            r#"[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"}]},{"role":"user","content":"?"}]"#,
            "messages.1: The final block in an assistant message cannot be `thinking`.",
        ),
        (
            A,
            502,
            r#"{"model":"m","max_tokens":9,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"x"}]}]}"#,
            "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.",
        ),
        (
            A,
            503,
            r#"[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"thinking","thinking":"t"},{"type":"text","text":"a"}]},{"role":"user","content":"?"}]"#,
            "thinking.signature: Field required",
        ),
        (
            A,
            503,
            r#"[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"fwsig.made.up.x"},{"type":"text","text":"a"}]},{"role":"user","content":"?"}]"#,
            "messages.1.content.0: Invalid `signature` in `thinking` block",
        ),
        (
            A,
            304,
            r#"[{"role":"user","content":[{"type":"thinking","thinking":"t","signature":"s"}]}]"#,
            "`thinking` blocks can only be in `assistant` messages",
        ),
        (
            D,
            502,
            r#"{"model":"deepseek-reasoner","messages":[{"role":"user","content":"go"},{"role":"assistant","tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"x","content":"r"}]}"#,
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
        ),
        (
            G,
            502,
            r#"{"model":"gemini-3-pro","contents":[{"parts":[{"text":"go"}]},{"role":"model","parts":[{"functionCall":{"name":"f"}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}]}"#,
            "function call `default_api:f`, position 0.",
        ),
        (
            G,
            502,
            r#"[{"parts":[{"text":"go"}]},{"role":"model","parts":[{"functionCall":{"name":"f"},"thoughtSignature":"Zm94d2VkZ2UxAAAA"}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}]"#,
            "Thought signature is not valid.",
        ),
        (
            R,
            501,
            r#"[{"type":"reasoning","id":"rs_1","summary":[]},{"role":"user","content":"?"}]"#,
            "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
        ),
        (
            R,
            501,
            r#"[{"type":"message","id":"msg_0123456789abcdef_r0123456789abcdef","role":"assistant","content":"a"}]"#,
            "was provided without its required 'reasoning' item: 'rs_0123456789abcdef'.",
        ),
    ]);
}
