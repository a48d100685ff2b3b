//! The known wordings, in the order they are tried: more specific ones come first.
//!
//! A wording is a list of fragments that must all occur, one after the other. They are written as
//! the provider writes them; only their letters and digits count, and `#` matches a number.

mod reasoning;
mod pairing;
mod ids;
mod content;
mod roles;
mod other;

use super::advice::{self, RuleAdvice};

/// Wordings with the same meaning.
pub(super) struct WordingGroup {
    pub(super) meaning: WordingMeaning,
    pub(super) wordings: &'static [ProviderWording],
}

/// A provider and the fragments of one of its wordings.
pub(super) type ProviderWording = (&'static str, &'static [&'static str]);

/// What a group of wordings means.
#[derive(Clone, Copy)]
pub(super) enum WordingMeaning {
    /// A foxwedge rule, and other rules that cause the same text.
    Rule { code: u16, also: &'static [u16], advice: &'static RuleAdvice },
    /// No rule: something beside the history has to change.
    Other { advice: &'static RuleAdvice },
    /// Similar to a known wording, but about another part of the request.
    UnrelatedError,
}

/// All groups, in order.
pub(super) const GROUPS: &[&[WordingGroup]] = &[
    ELSEWHERE,
    reasoning::GROUPS,
    pairing::GROUPS,
    ids::GROUPS,
    content::GROUPS,
    roles::GROUPS,
    other::GROUPS,
    OPAQUE,
];

const fn rule(
    code: u16,
    also: &'static [u16],
    advice: &'static RuleAdvice,
    wordings: &'static [ProviderWording],
) -> WordingGroup {
    WordingGroup { meaning: WordingMeaning::Rule { code, also, advice }, wordings }
}

/// Declared tools, not calls; parts of messages.
const ELSEWHERE: &[WordingGroup] = &[WordingGroup {
    meaning: WordingMeaning::UnrelatedError,
    wordings: &[
        ("openai", &["Invalid 'tools': array too long"]),
        ("openai", &["Invalid 'tools[", "].function.name'"]),
        ("anthropic", &["tools.", ".custom.name: String should match pattern"]),
        ("openai", &["Missing required parameter: 'input[#].content[#]."]),
    ],
}];

/// Errors without details. Tried last.
const OPAQUE: &[WordingGroup] = &[
    rule(
        401,
        &[101, 102, 103, 202, 301, 302, 402],
        &advice::GLM,
        &[
            ("glm", &["messages 参数非法"]),
            ("glm", &["The messages parameter is illegal"]),
            ("glm", &["code: 1214", "messages"]),
        ],
    ),
    rule(
        103,
        &[102, 101, 404, 406, 403],
        &advice::MISTRAL_ORDER,
        &[
            ("mistral", &["invalid_request_message_order"]),
            ("mistral", &["Unexpected role", "code: 3230"]),
        ],
    ),
    rule(203, &[207, 204], &advice::MISTRAL_ID, &[("mistral", &["invalid_function_call", "3280"])]),
    rule(
        102,
        &[103, 101, 310],
        &advice::MINIMAX,
        &[
            ("minimax", &["invalid params, tool result", "2013"]),
            ("minimax", &["invalid params, tool call", "2013"]),
        ],
    ),
    rule(
        101,
        &[102, 103, 104, 201],
        &advice::CONCURRENCY,
        &[("anthropic", &["400 due to tool use concurrency issues"])],
    ),
];
