//! Order of roles.

use super::{WordingGroup, advice, rule};

pub(super) const GROUPS: &[WordingGroup] = &[
    rule(404, &[], &advice::BRIDGE, &[("mistral", &["Unexpected role 'user' after role 'tool'"])]),
    rule(
        406,
        &[],
        &advice::SYSTEM,
        &[
            ("anthropic", &["role 'system' is not supported on this model"]),
            ("anthropic", &["role 'system' must follow a 'user' message"]),
            ("anthropic", &["Unexpected role \"system\". The Messages API accepts a top-level"]),
            ("gemini", &["Content with system role is not supported"]),
            ("bedrock", &["Value 'system' at 'messages.", "role' failed to satisfy constraint"]),
        ],
    ),
    rule(
        406,
        &[],
        &advice::SYSTEM_MISTRAL,
        &[("mistral", &["Unexpected role 'system' after role"])],
    ),
    rule(
        406,
        &[],
        &advice::SYSTEM_STRICT,
        &[
            ("qwen", &["System message must be at the beginning"]),
            ("minimax", &["invalid message role: system"]),
        ],
    ),
    rule(
        401,
        &[],
        &advice::FIRST_NOT_USER,
        &[
            ("anthropic", &["first message must use the user role"]),
            ("bedrock", &["A conversation must start with a user message"]),
        ],
    ),
    rule(
        401,
        &[402, 106, 101],
        &advice::CALL_TURN,
        &[
            (
                "gemini",
                &[
                    "function call turn comes immediately after a user turn or after a function response",
                ],
            ),
            ("gemini", &["function call turns come immediately after a user turn"]),
        ],
    ),
    rule(
        402,
        &[106],
        &advice::ROLE_ORDER,
        &[
            ("gemini", &["ensure that multiturn requests alternate"]),
            ("bedrock", &["A conversation must alternate between user and assistant roles"]),
        ],
    ),
    rule(
        402,
        &[106, 401],
        &advice::ROLE_ORDER_STRICT,
        &[
            ("anthropic", &["roles must alternate between \"user\" and \"assistant\""]),
            ("perplexity", &["user and assistant roles should be alternating"]),
            ("perplexity", &["should alternate with assistant message"]),
            ("template", &["conversation roles must alternate user/assistant"]),
        ],
    ),
    rule(
        403,
        &[],
        &advice::TRAILING,
        &[
            ("anthropic", &["does not support assistant message prefill"]),
            ("anthropic", &["Prefilling assistant messages is not supported"]),
            ("gemini", &["Requests ending with a model turn are not supported"]),
            (
                "gemini",
                &["ensure that multiturn requests end", "with a user role or a function response"],
            ),
            ("bedrock", &["conversation must end with a user message"]),
        ],
    ),
    rule(
        403,
        &[101],
        &advice::TRAILING_MISTRAL,
        &[
            ("mistral", &["Expected last role User or Tool"]),
            ("mistral", &["Unexpected role RoleEnum.assistant"]),
        ],
    ),
    rule(
        407,
        &[],
        &advice::DEVELOPER,
        &[
            ("deepseek", &["unknown variant `developer`, expected one of"]),
            ("mistral", &["Input tag 'developer' found using 'role'"]),
        ],
    ),
    rule(
        407,
        &[406],
        &advice::ROLE,
        &[
            ("openai", &["Supported values are: 'system', 'assistant', 'user', 'function'"]),
            ("openai", &["Supported values are: 'assistant', 'system', 'developer', and 'user'"]),
            ("openai", &["Missing required parameter: 'messages[#].role'"]),
            ("openai", &["Missing required parameter: 'input[#].role'"]),
            ("anthropic", &["role: Field required"]),
            ("anthropic", &["role: Input should be 'user' or 'assistant'"]),
            ("deepseek", &["role: unknown variant", "expected one of `system`, `user`"]),
            ("anthropic", &["messages: Unexpected role", "Allowed roles are"]),
            ("gemini", &["Please use a valid role: user, model"]),
            ("mistral", &["found using 'role' does not match any of the expected tags"]),
        ],
    ),
];
