//! Unmatched calls and answers, of the client and of the provider.

use super::{WordingGroup, advice, rule};

pub(super) const GROUPS: &[WordingGroup] = &[
    rule(
        602,
        &[],
        &advice::ORPHAN_SERVER_ANSWER,
        &[
            ("anthropic", &["unexpected tool_use_id found in", "corresponding server_tool_use"]),
            ("anthropic", &["unexpected tool_use_id found in", "corresponding mcp_tool_use"]),
            ("anthropic", &["_tool_result block must have a corresponding server_tool_use"]),
            ("anthropic", &["unexpected tool_use_id found in advisor_tool_result blocks"]),
        ],
    ),
    rule(
        604,
        &[],
        &advice::UNRESOLVED_REFERENCE,
        &[
            ("anthropic", &["Tool reference", "not found in available tools"]),
            ("anthropic", &["tool_reference_unresolved"]),
        ],
    ),
    rule(
        601,
        &[],
        &advice::DEAD_SERVER_CALL,
        &[
            (
                "anthropic",
                &["tool use with id", "was found without a corresponding", "_tool_result"],
            ),
            ("anthropic", &["server_tool_use", "without a corresponding", "_tool_result"]),
        ],
    ),
    rule(
        104,
        &[],
        &advice::DUPLICATE_ANSWER,
        &[
            ("anthropic", &["each tool_use must have a single result"]),
            ("anthropic", &["Found multiple tool_result blocks with id"]),
            ("mistral", &["Duplicate tool call id", "in tool results"]),
        ],
    ),
    rule(
        104,
        &[201],
        &advice::DUPLICATE_ANSWER,
        &[
            ("openai", &["Duplicate value for 'tool_call_id' of", "in messages["]),
            ("deepseek", &["Duplicate value for 'tool_call_id' of"]),
        ],
    ),
    rule(
        310,
        &[],
        &advice::SHARED_ANSWER_MESSAGE,
        &[(
            "bedrock",
            &["Conversation blocks and tool result blocks cannot be provided in the same turn"],
        )],
    ),
    rule(
        103,
        &[310, 102, 101],
        &advice::MINIMAX,
        &[("minimax", &["tool call result does not follow tool call"])],
    ),
    rule(
        101,
        &[103, 106],
        &advice::UNANSWERED,
        &[
            ("deepseek", &["insufficient tool messages following tool_calls message"]),
            ("openai", &["tool_call_ids did not have response messages"]),
            ("openai", &["tool_calls must be followed by tool messages"]),
            ("openai", &["No tool output found for"]),
            ("mistral", &["Not the same number of function calls and responses"]),
            ("anthropic", &["compaction_incomplete_turn"]),
            ("ai-sdk", &["Tool result is missing for tool call"]),
            ("ai-sdk", &["Tool results are missing for tool call"]),
            ("ai-sdk", &["MissingToolResultsError"]),
            ("langgraph", &["tool_calls that do not have a corresponding ToolMessage"]),
            ("langgraph", &["INVALID_CHAT_HISTORY"]),
            ("pydantic-ai", &["message history contains unprocessed tool calls"]),
            ("mcp", &["ids of tool_result blocks and tool_use blocks", "do not match"]),
        ],
    ),
    rule(
        101,
        &[103, 105, 305],
        &advice::UNANSWERED,
        &[
            ("anthropic", &["tool_use ids were found without tool_result blocks"]),
            ("anthropic", &["tool_use block must have a corresponding tool_result block"]),
            (
                "anthropic",
                &["Did not find", "tool_result block", "at the beginning of this message"],
            ),
            ("bedrock", &["Expected toolResult blocks at", "for the following Ids"]),
            ("gemini", &["number of function response parts", "number of function call parts"]),
        ],
    ),
    rule(
        305,
        &[101, 105],
        &advice::ANSWER_AFTER_TEXT,
        &[
            ("bedrock", &["must begin with a matching number of tool_result blocks"]),
            ("mcp", &["last message must contain only tool_result content if any is present"]),
        ],
    ),
    rule(
        102,
        &[103, 105],
        &advice::ORPHAN,
        &[
            ("openai", &["role 'tool' must be a response to a preceeding message"]),
            ("deepseek", &["role 'tool' must be a response to a preceding message"]),
            ("gemini", &["function response turn comes immediately after a function call turn"]),
            ("mcp", &["tool_result", "requires a previous message containing tool_use"]),
            (
                "mcp",
                &["tool_result blocks are not matching any tool_use from the previous message"],
            ),
        ],
    ),
    rule(
        102,
        &[103, 104, 105],
        &advice::ORPHAN,
        &[
            ("anthropic", &["unexpected tool_use_id found in tool_result blocks"]),
            ("anthropic", &["tool_result block must have a corresponding tool_use block"]),
        ],
    ),
    rule(
        102,
        &[104, 103],
        &advice::ORPHAN,
        &[("bedrock", &["number of toolResult blocks at", "exceeds the number of toolUse blocks"])],
    ),
    rule(
        102,
        &[204],
        &advice::ORPHAN,
        &[
            ("mistral", &["Unexpected tool call id", "in tool results"]),
            ("minimax", &["tool result's tool id", "not found"]),
            ("kimi", &["tool_call_id", "is not found"]),
        ],
    ),
    rule(102, &[103, 104], &advice::ORPHAN_ITEM, &[("openai", &["No tool call found for"])]),
    rule(
        103,
        &[102],
        &advice::DISPLACED_MISTRAL,
        &[
            ("mistral", &["Unexpected role 'tool' after role"]),
            ("mistral", &["Unexpected role RoleEnum.tool"]),
        ],
    ),
    rule(
        107,
        &[],
        &advice::NAME_MISMATCH,
        &[
            ("kimi", &["tool messages need a resolvable tool name"]),
            ("gemini", &["function_response.name: Name cannot be empty"]),
            ("gemini", &["function_response.name", "cannot be empty"]),
        ],
    ),
    rule(
        108,
        &[],
        &advice::TOO_MANY_CALLS,
        &[
            ("openai", &["tool_calls': array too long"]),
            ("openai", &["array too long. Expected an array with maximum length 128"]),
        ],
    ),
];
