//! The wordings we know, in the order they are tried: what is more particular stands first.
//!
//! A wording is a list of fragments that must all occur, one behind the other. They are written as the provider writes
//! them; only their letters and digits count, and `#` stands for a number.

mod reasoning;
mod pairing;
mod ids;
mod content;
mod roles;

use super::advice::{self, RuleAdvice};

/// Wordings that mean the same.
pub(super) struct WordingGroup {
    pub(super) meaning: WordingMeaning,
    pub(super) wordings: &'static [ProviderWording],
}

/// A provider and the fragments of one of its wordings.
pub(super) type ProviderWording = (&'static str, &'static [&'static str]);

/// What a group of wordings means.
#[derive(Clone, Copy)]
pub(super) enum WordingMeaning {
    /// A rule of ours, and other rules that lead to the same text.
    Rule { code: u16, also: &'static [u16], advice: &'static RuleAdvice },
    /// Looks like one of ours but is about something else in the request.
    UnrelatedError,
}

/// Everything we know.
pub(super) const GROUPS: &[&[WordingGroup]] = &[
    ELSEWHERE,
    reasoning::GROUPS,
    pairing::GROUPS,
    ids::GROUPS,
    content::GROUPS,
    roles::GROUPS,
    OPAQUE,
];

const fn rule(
    code: u16,
    also: &'static [u16],
    advice: &'static RuleAdvice,
    texts: &'static [ProviderWording],
) -> WordingGroup {
    WordingGroup { meaning: WordingMeaning::Rule { code, also, advice }, wordings: texts }
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

/// Providers that say only that something is wrong. Tried last.
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
