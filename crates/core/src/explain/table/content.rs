//! Content of messages: arguments, text, answers, roles of blocks.

use super::{WordingGroup, advice, rule};

pub(super) const GROUPS: &[WordingGroup] = &[
    rule(
        302,
        &[],
        &advice::ARGUMENTS_STRICT,
        &[
            ("dashscope", &["function.arguments", "must be in JSON format"]),
            ("dashscope", &["function_call.arguments", "Input should be a valid string"]),
            ("minimax", &["invalid function arguments json string"]),
            ("ollama", &["invalid tool call arguments"]),
            ("copilot", &["Invalid JSON format in tool call arguments"]),
        ],
    ),
    rule(
        302,
        &[],
        &advice::ARGUMENTS,
        &[
            ("openai", &["function.arguments': expected a string"]),
            ("openai", &["Missing required parameter", "function.arguments'"]),
            ("openai", &["].arguments': expected a string"]),
            ("openai", &["Missing required parameter", "custom.input'"]),
            ("openai", &["custom.input': expected a string"]),
            ("openai", &["Missing required parameter: 'input[#].arguments'"]),
            ("openai", &["Missing required parameter: 'input[#].input'"]),
            ("openai", &["Invalid type for 'input[#].input': expected a string"]),
            ("anthropic", &["tool_use.input: Input should be"]),
            ("anthropic", &["tool_use.input: Field required"]),
            ("bedrock", &["toolUse.input is invalid. Provide a json object"]),
            ("gemini", &["function_call.args", "google.protobuf.Struct"]),
        ],
    ),
    rule(
        316,
        &[],
        &advice::UNTYPED_CALL,
        &[
            ("openai", &["Missing required parameter: 'messages[#].tool_calls[#].type'"]),
            ("openai", &["Invalid type for 'messages[#].tool_calls[#].type'"]),
            ("openai", &["Supported values are: 'function' and 'custom'"]),
        ],
    ),
    rule(
        315,
        &[],
        &advice::MALFORMED_ANSWER,
        &[
            (
                "openai",
                &[
                    "content': expected one of a string or array of objects, but got an object instead",
                ],
            ),
            ("openai", &["Invalid type for 'input[#].output': expected one of"]),
            ("anthropic", &["tool_result.content: Input should be a valid"]),
            ("gemini", &["function_response.response", "google.protobuf.Struct"]),
            (
                "deepseek",
                &["did not match any variant of untagged enum ChatCompletionRequestContent"],
            ),
        ],
    ),
    rule(
        303,
        &[],
        &advice::EMPTY_ANSWER,
        &[
            ("bedrock", &["toolResult cannot be empty when status value is error"]),
            ("groq", &["for 'role:tool'", "content", "value must be a string"]),
            ("openai", &["Missing required parameter: 'input[", "].output'"]),
        ],
    ),
    rule(
        311,
        &[301],
        &advice::NULL_CONTENT,
        &[("groq", &["for 'role:assistant'", "content", "value must be a string"])],
    ),
    rule(
        308,
        &[],
        &advice::EMPTY_TEXT,
        &[
            ("anthropic", &["text content blocks must be non-empty"]),
            ("anthropic", &["text content blocks must contain non-whitespace text"]),
            ("anthropic", &["cache_control cannot be set for empty text blocks"]),
            ("bedrock", &["The text field in the ContentBlock object at", "is blank"]),
            ("anthropic", &["text.text: Field required"]),
        ],
    ),
    rule(
        308,
        &[303, 315],
        &advice::EMPTY_TEXT,
        &[("openai", &["Missing required parameter: 'messages[#].content[#].text'"])],
    ),
    rule(308, &[301], &advice::EMPTY_TEXT_GEMINI, &[("gemini", &["Model input cannot be empty"])]),
    rule(
        301,
        &[303],
        &advice::EMPTY_MESSAGE,
        &[
            ("openai", &["Invalid value for 'content': expected a string, got null"]),
            ("openai", &["content': expected one of a string or array of objects, but got null"]),
            ("openai", &["Invalid 'messages[#].content': empty array"]),
            ("openai", &["Missing required parameter: 'input[#].content'"]),
            ("anthropic", &["messages.#.content: Field required"]),
            ("anthropic", &["messages must have non-empty content"]),
            ("gemini", &["must include at least one parts field"]),
            ("gemini", &["contents.parts must not be empty"]),
            ("bedrock", &["The content field in the Message object at", "is empty"]),
            ("mistral", &["Assistant message must have either content or tool_calls"]),
        ],
    ),
    rule(
        301,
        &[303, 311],
        &advice::EMPTY_MESSAGE_STRICT,
        &[
            ("kimi", &["message at position", "with role", "must not be empty"]),
            ("xai", &["Each message must have at least one content element"]),
            ("llama.cpp", &["Expected 'content' or 'tool_calls'"]),
            ("deepseek", &["Invalid assistant message: content or tool_calls must be set"]),
        ],
    ),
    rule(
        309,
        &[],
        &advice::EMPTY_CALLS,
        &[
            ("openai", &["tool_calls': empty array"]),
            ("openai", &["[] is too short - 'messages.", "tool_calls"]),
        ],
    ),
    rule(
        314,
        &[],
        &advice::EMPTY_HISTORY,
        &[
            ("openai", &["Invalid 'messages': empty array"]),
            ("openai", &["Invalid 'input': empty array"]),
            ("openai", &["[] is too short - 'messages'"]),
            ("anthropic", &["messages: at least one message is required"]),
            ("gemini", &["contents is not specified"]),
            ("mistral", &["Conversation must have at least one message"]),
        ],
    ),
    rule(
        307,
        &[],
        &advice::MEDIA,
        &[(
            "openai",
            &["Image URLs are only allowed for messages with role 'user'", "role 'tool'"],
        )],
    ),
    rule(
        312,
        &[403],
        &advice::TRAILING_SPACE,
        &[("anthropic", &["final assistant content cannot end with trailing whitespace"])],
    ),
    rule(
        313,
        &[],
        &advice::SURROGATE,
        &[
            ("anthropic", &["no low surrogate in string"]),
            ("any", &["lone leading surrogate"]),
            ("any", &["lone surrogate"]),
            ("any", &["unpaired surrogate"]),
            ("any", &["surrogates not allowed"]),
        ],
    ),
    rule(
        304,
        &[],
        &advice::MISPLACED,
        &[
            ("openai", &["only messages with role 'assistant' can have tool calls"]),
            ("anthropic", &["tool_use blocks can only be in assistant messages"]),
            ("anthropic", &["tool_result blocks can only be in user messages"]),
            ("anthropic", &["thinking blocks can only be in assistant messages"]),
        ],
    ),
    rule(
        405,
        &[],
        &advice::TOOLS_NOT_DECLARED,
        &[
            ("bedrock", &["toolConfig field must be defined when using toolUse and toolResult"]),
            ("litellm", &["Bedrock doesn't support tool calling without tools= param"]),
            (
                "anthropic",
                &["Requests which include tool_use or tool_result blocks must define tools"],
            ),
        ],
    ),
];
