//! Ids of calls and items, and names of tools.

use super::{Group, advice, rule};

pub(super) const GROUPS: &[Group] = &[
    rule(
        207,
        &[],
        &advice::TOOL_NAME,
        &[
            ("openai", &["function.name': empty string"]),
            ("openai", &["function.name': string does not match pattern"]),
            ("openai", &["function.name': string too long"]),
            ("openai", &["Invalid 'input[", "].name': string does not match pattern"]),
            ("openai", &["Invalid 'input[", "].name': string too long"]),
            ("openai", &["Invalid 'input[", "].name': empty string"]),
            ("mistral", &["Function name was", "but must be a-z"]),
            ("gemini", &["Invalid function name. Must start with a letter or an underscore"]),
            ("bedrock", &["toolUse.name' failed to satisfy constraint"]),
            ("anthropic", &["tool_use.name: String should match pattern"]),
            ("anthropic", &["tool_use.name: String should have at"]),
        ],
    ),
    rule(
        204,
        &[],
        &advice::MISSING_ID,
        &[
            ("mistral", &["Tool call id has to be defined"]),
            ("openai", &["Missing parameter 'tool_call_id'"]),
            ("openai", &["Missing required parameter", "tool_calls", "].id'"]),
            ("openai", &["Missing required parameter", "].call_id'"]),
            ("openai", &["tool_call_id': empty string"]),
            ("openai", &["call_id': empty string"]),
            ("openai", &["tool_calls", "].id': empty string"]),
            ("anthropic", &["tool_use.id: Field required"]),
            ("anthropic", &["tool_use_id: Field required"]),
            ("anthropic", &["tool_use.id: String should have at least 1 character"]),
            ("anthropic", &["tool_use_id: String should have at least 1 character"]),
            ("bedrock", &["toolUseId' failed to satisfy constraint", "greater than or equal to 1"]),
        ],
    ),
    rule(
        201,
        &[],
        &advice::UNIQUE_IDS,
        &[("mistral", &["Duplicate tool call id", "in assistant message"])],
    ),
    rule(
        201,
        &[202, 104],
        &advice::UNIQUE_IDS_STRICT,
        &[("kimi", &["tool call id", "is duplicated"])],
    ),
    rule(201, &[], &advice::UNIQUE_IDS, &[("openai", &["Duplicate item found with id fc_"])]),
    rule(202, &[201], &advice::UNIQUE_IDS, &[("anthropic", &["tool_use ids must be unique"])]),
    rule(
        203,
        &[],
        &advice::ILLEGAL_ID,
        &[
            ("anthropic", &["tool_use.id: String should match pattern"]),
            ("anthropic", &["tool_use_id: String should match pattern"]),
            ("openai", &["call_id': string too long"]),
            ("openai", &["tool_calls", "].id': string too long"]),
            ("bedrock", &["toolUseId' failed to satisfy constraint"]),
        ],
    ),
    rule(
        203,
        &[],
        &advice::MISTRAL_ID,
        &[("mistral", &["Tool call id was", "but must be a-z, A-Z, 0-9, with a length of 9"])],
    ),
    rule(
        205,
        &[],
        &advice::ITEM_ID,
        &[
            ("openai", &["Expected an ID that begins with"]),
            ("openai", &["Invalid 'input[", "Expected an ID that contains letters"]),
            ("openai", &["Invalid 'input[", "].id': string too long"]),
        ],
    ),
    rule(
        206,
        &[],
        &advice::UNSTORED,
        &[
            ("openai", &["Item with id", "not found", "not persisted when store is set to false"]),
            ("openai", &["Items are not persisted when store is set to false"]),
            ("openai", &["Item with id 'rs_", "not found"]),
        ],
    ),
];
