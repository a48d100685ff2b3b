//! A second, naive implementation of the providers' rules.
//!
//! It judges the output of repairs, so it shares no code with the engine. It works on plain JSON
//! values, with one simple function per rule, and may be quadratic. Any value can be judged; a
//! value that is not a history has few violations.
//!
//! One rule is missing: a parsed value cannot hold a lone surrogate (313).

mod reading;
mod blocks;
mod items;
mod steps;
mod foreign;
mod call_groups;
mod matching;
mod pairing;
mod ids;
mod content;
mod placement;
mod order;
mod reasoning;
mod unknown;
mod references;
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

pub use gist::{
    Beat, DocumentGist, GistCall, GistFacet, GistMedia, GistSide, declared, difference, gist,
    missing, unsaid,
};
pub use inventory::{TextInventory, all_text, inventory, lost};
pub(crate) use items::is_reference;
pub use repairs::{calls_before_assistant, has_user, loose_calls, lost_user, owed};
pub use session::{SessionConversation, plain_walk, session_view, told};
pub use units::{
    MessageSurvival, RequiredMessages, ShorterHistory, became, common, count, parted, stays,
};

use crate::dialect::TestFormat;
use matching::CallMatching;
use reading::{DocumentReading, OracleBlock, OracleBlockKind, field, text};

/// The profiles the oracle knows, by name.
pub const PROFILES: [&str; 9] = [
    "openai-chat",
    "openai-responses",
    "anthropic",
    "gemini",
    "bedrock",
    "gemini-interactions",
    "mistral",
    "deepseek",
    "strict",
];

/// A violation of a rule, and its position.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleViolation {
    /// The code of the rule.
    pub code: u16,
    /// The position of the message and its block in the list: `[3].content[1]`.
    pub at: String,
    /// Whether a repair may leave it: an empty history, an open program, and whatever stands in a
    /// turn with something unknown.
    pub may_stay: bool,
}

/// Every violation of `profile` in a document of `format`, ordered by code and position.
///
/// `tail_pending` means that open calls at the end are still running. An unknown format or profile
/// has no rules.
pub fn violations(
    format: &str,
    profile: &str,
    tail_pending: bool,
    document: &Value,
) -> Vec<RuleViolation> {
    match (TestFormat::named(format), OracleProfile::named(profile)) {
        (Some(format), Some(profile)) => {
            judge(DocumentReading::new(format, document), profile, tail_pending)
        }
        _ => Vec::new(),
    }
}

/// The same for a list of messages in which results have messages of their own: a user message
/// without a result is no place for results, and ends the place before it.
pub fn violations_in_rows(
    format: &str,
    profile: &str,
    tail_pending: bool,
    messages: &Value,
) -> Vec<RuleViolation> {
    match (TestFormat::named(format), OracleProfile::named(profile)) {
        (Some(format), Some(profile)) => {
            let reading = DocumentReading::new(format, messages);
            judge(DocumentReading { results_apart: true, ..reading }, profile, tail_pending)
        }
        _ => Vec::new(),
    }
}

fn judge(
    mut reading: DocumentReading<'_>,
    profile: OracleProfile,
    tail_pending: bool,
) -> Vec<RuleViolation> {
    let format = reading.format;
    unknown::set_unknown_apart(format, reading.layout, &mut reading.messages);
    let matching = CallMatching::new(&reading);
    let case = RuleCase { reading, matching, profile, tail_pending };
    let rules = [
        pairing::RULES,
        ids::RULES,
        content::RULES,
        placement::RULES,
        order::RULES,
        reasoning::RULES,
        unknown::RULES,
        references::RULES,
    ];
    let mut found = Vec::new();
    let inside = unknown::unknown_messages(format, case.reading.layout, &case.reading.messages);
    // A message whose role is unknown and stays so takes in no other.
    let after_unknown_role = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| case.reading.messages.get(at));
        before.is_some_and(|before| !before.known) && inside.get(at - 1) == Some(&true)
    };
    // A misplaced message that changes tools is left alone.
    let changes_tools = |at: usize| {
        let is_change = |block: &OracleBlock<'_>| {
            block.kind == OracleBlockKind::Other
                && !matches!(block.value["type"].as_str(), Some("image" | "document"))
        };
        let message = case.reading.messages.get(at);
        case.profile == OracleProfile::Anthropic
            && message.is_some_and(|message| message.blocks.iter().any(is_change))
    };
    for (code, rule) in rules.into_iter().flatten() {
        found.extend(rule(&case).into_iter().map(|at| {
            let message = at.trim_start_matches('[').split(']').next();
            let message = message.and_then(|index| index.parse::<usize>().ok());
            let may_stay = matches!(code, 314 | 603 | 605)
                || *code == 601 && case.reading.layout == reading::OracleLayout::Items
                || message.is_some_and(|at| inside.get(at) == Some(&true))
                || *code == 402 && message.is_some_and(after_unknown_role)
                || *code == 406 && message.is_some_and(changes_tools);
            RuleViolation { code: *code, at, may_stay }
        }));
    }
    found.sort_by_key(|violation| violation.code);
    found
}

/// A rule: its code, and a function that returns the positions of violations.
type OracleRule = (u16, fn(&RuleCase<'_>) -> Vec<String>);

/// The input of a rule.
struct RuleCase<'a> {
    reading: DocumentReading<'a>,
    matching: CallMatching<'a>,
    profile: OracleProfile,
    tail_pending: bool,
}

/// The profile whose rules apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OracleProfile {
    OpenaiChat,
    OpenaiResponses,
    Anthropic,
    Gemini,
    Bedrock,
    GeminiInteractions,
    Mistral,
    Deepseek,
    Strict,
}

impl OracleProfile {
    fn named(name: &str) -> Option<Self> {
        let all = [
            Self::OpenaiChat,
            Self::OpenaiResponses,
            Self::Anthropic,
            Self::Gemini,
            Self::Bedrock,
            Self::GeminiInteractions,
            Self::Mistral,
            Self::Deepseek,
            Self::Strict,
        ];
        PROFILES.iter().position(|known| *known == name).and_then(|at| all.get(at).copied())
    }
}

impl RuleCase<'_> {
    /// Whether the profile is one of these.
    fn under(&self, profiles: &[OracleProfile]) -> bool {
        profiles.contains(&self.profile)
    }

    /// The positions of messages that break a rule.
    fn messages(&self, broken: impl Fn(usize) -> bool) -> Vec<String> {
        let all = 0..self.reading.messages.len();
        all.filter(|index| broken(*index)).map(|index| format!("[{index}]")).collect()
    }

    /// The positions of blocks that break a rule.
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

    /// The positions of calls that break a rule.
    fn calls(&self, broken: impl Fn(&matching::MatchedCall<'_>) -> bool) -> Vec<String> {
        let broken = self.matching.calls.iter().filter(|call| broken(call));
        broken.map(|call| self.reading.at(call.position.0, call.position.1)).collect()
    }

    /// The positions of results that break a rule.
    fn answers(&self, broken: impl Fn(&matching::MatchedResult<'_>) -> bool) -> Vec<String> {
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
