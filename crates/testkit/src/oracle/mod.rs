//! A second, naive reading of the providers' rules.
//!
//! It judges what repair returns, so it shares nothing with the engine: it works on plain JSON
//! values, one straight function per rule, and may be quadratic. Any value can be judged; a
//! value that is no history at all simply has few violations.
//!
//! One rule is left out: a lone surrogate (313) cannot be held by a parsed value.

mod reading;
mod blocks;
mod items;
mod matching;
mod pairing;
mod ids;
mod content;
mod placement;
mod order;
mod reasoning;
mod inventory;
mod repairs;
mod atoms;
mod units;
mod gist;
mod session;
pub mod answers;
#[cfg(test)]
mod tests;

use serde_json::Value;

pub use gist::{Beat, Call, Facet, Gist, Media, Side, declared, difference, gist, missing, unsaid};
pub use inventory::{Inventory, all_text, inventory, lost};
pub use repairs::{calls_before_assistant, has_user, loose_calls, owed};
pub use session::{View, plain_walk, session_view, told};
pub use units::{Became, Shorter, Stays, became, common, count, parted, stays};

use crate::dialect::Dialect;
use matching::Matching;
use reading::{Reading, field, text};

/// The profiles the oracle knows, by name.
pub const PROFILES: [&str; 8] = [
    "openai-chat",
    "openai-responses",
    "anthropic",
    "gemini",
    "bedrock",
    "mistral",
    "deepseek",
    "strict",
];

/// A rule that a document breaks, and where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// The number of the rule.
    pub code: u16,
    /// The message, and the block in it, counted from the list: `[3].content[1]`.
    pub at: String,
}

/// Every violation of `profile` in a document of `dialect`, by code and then by place.
///
/// `tail_pending` says that open calls at the end are still running. An unknown dialect or
/// profile has no rules.
pub fn violations(
    dialect: &str,
    profile: &str,
    tail_pending: bool,
    document: &Value,
) -> Vec<Violation> {
    let (Some(dialect), Some(profile)) = (Dialect::named(dialect), Profile::named(profile)) else {
        return Vec::new();
    };
    let reading = Reading::new(dialect, document);
    let matching = Matching::new(&reading);
    let case = Case { reading, matching, profile, tail_pending };
    let rules = [
        pairing::RULES,
        ids::RULES,
        content::RULES,
        placement::RULES,
        order::RULES,
        reasoning::RULES,
    ];
    let mut found = Vec::new();
    for (code, rule) in rules.into_iter().flatten() {
        found.extend(rule(&case).into_iter().map(|at| Violation { code: *code, at }));
    }
    found.sort_by_key(|violation| violation.code);
    found
}

/// A rule: its number, and the places that break it.
type Rule = (u16, fn(&Case<'_>) -> Vec<String>);

/// What a rule looks at.
struct Case<'a> {
    reading: Reading<'a>,
    matching: Matching<'a>,
    profile: Profile,
    tail_pending: bool,
}

/// Whose rules are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Profile {
    OpenaiChat,
    OpenaiResponses,
    Anthropic,
    Gemini,
    Bedrock,
    Mistral,
    Deepseek,
    Strict,
}

impl Profile {
    fn named(name: &str) -> Option<Self> {
        let all = [
            Self::OpenaiChat,
            Self::OpenaiResponses,
            Self::Anthropic,
            Self::Gemini,
            Self::Bedrock,
            Self::Mistral,
            Self::Deepseek,
            Self::Strict,
        ];
        PROFILES.iter().position(|known| *known == name).and_then(|at| all.get(at).copied())
    }
}

impl Case<'_> {
    /// True when the profile is one of these.
    fn under(&self, profiles: &[Profile]) -> bool {
        profiles.contains(&self.profile)
    }

    /// The message indexes that break a rule, as places.
    fn messages(&self, broken: impl Fn(usize) -> bool) -> Vec<String> {
        let all = 0..self.reading.messages.len();
        all.filter(|index| broken(*index)).map(|index| format!("[{index}]")).collect()
    }

    /// The blocks that break a rule, as places.
    fn blocks(&self, broken: impl Fn(usize, usize) -> bool) -> Vec<String> {
        let mut places = Vec::new();
        for (index, message) in self.reading.messages.iter().enumerate() {
            for at in 0..message.blocks.len() {
                if broken(index, at) {
                    places.push(self.reading.at(index, at));
                }
            }
        }
        places
    }

    /// The calls that break a rule, as places.
    fn calls(&self, broken: impl Fn(&matching::Call<'_>) -> bool) -> Vec<String> {
        let broken = self.matching.calls.iter().filter(|call| broken(call));
        broken.map(|call| self.reading.at(call.position.0, call.position.1)).collect()
    }

    /// The answers that break a rule, as places.
    fn answers(&self, broken: impl Fn(&matching::Answer<'_>) -> bool) -> Vec<String> {
        let broken = self.matching.answers.iter().filter(|answer| broken(answer));
        broken.map(|answer| self.reading.at(answer.position.0, answer.position.1)).collect()
    }
}

/// Whether a Chat call is a custom one, and the object with its name.
fn chat_call(call: &Value) -> (bool, Option<&Value>) {
    let holds = |key: &str| field(call, key).is_some_and(Value::is_object);
    let custom = match text(call, "type") {
        Some("custom") => true,
        Some("function") => false,
        _ => holds("custom") && !holds("function"),
    };
    (custom, field(call, if custom { "custom" } else { "function" }))
}
