//! The rules, in the order they are reported. One file each; the Markdown page of each file
//! describes what the rule finds, which providers refuse it, and what the repair does.

use std::sync::OnceLock;

use crate::{
    check::{Findings, RuleContext},
    draft::{DraftFeatures, MessageLayout},
    profile::{Profile, RuleEvidence},
};

/// The page of a rule; empty in programs that show none.
macro_rules! page {
    ($file:literal) => {
        if cfg!(feature = "rule-pages") { include_str!($file) } else { "" }
    };
}

mod unanswered_call;
mod orphan_result;
mod displaced_result;
mod duplicate_result;
mod split_results;
pub(crate) mod split_turn;
mod name_mismatch;
pub(crate) mod too_many_calls;
mod mistyped_result;
mod duplicate_call_id;
mod reused_call_id;
mod illegal_call_id;
mod missing_call_id;
mod item_id_prefix;
mod unstored_item;
mod illegal_tool_name;
pub(crate) mod empty_message;
mod malformed_arguments;
mod empty_result;
mod misplaced_block;
mod result_after_text;
mod content_after_call;
mod media_in_result;
pub(crate) mod empty_text;
mod empty_call_list;
mod shared_result_message;
mod null_content;
mod trailing_whitespace;
mod lone_surrogate;
mod empty_history;
mod malformed_result;
mod untyped_call;
mod first_not_user;
mod role_order;
mod trailing_assistant;
mod user_after_result;
mod tools_not_declared;
mod misplaced_system;
mod misplaced_trigger;
mod unknown_role;
mod detached_reasoning;
pub(crate) mod missing_reasoning;
mod foreign_signature;
mod dead_server_call;
mod orphan_server_result;
mod unknown_block;
pub(crate) mod unresolved_reference;
mod broken_parent;
mod lost_sibling_result;
mod duplicate_record_id;
mod parent_cycle;
mod torn_line;
mod nul_bytes;
mod not_utf8;
mod oversized_record;
mod incomplete_record;
mod paired_answers;
mod required_messages;
mod defects;
pub(crate) mod server_calls;
mod chinese;

pub use chinese::ChineseRule;

/// One rule: its names, the profiles that require it, and its check.
pub struct Rule {
    /// Its number; `FW101` is 101. Never reused, never changes meaning.
    pub code: u16,
    /// Its name. Never reused, never changes meaning.
    pub name: &'static str,
    /// What it finds, in one line.
    pub summary: &'static str,
    /// Its documentation, in Markdown. Needs the feature `rule-pages`.
    pub explain: &'static str,
    /// The profiles that require it, and the evidence.
    pub applies: &'static [(Profile, RuleEvidence)],
    pub(crate) layouts: &'static [MessageLayout],
    pub(crate) features: DraftFeatures,
    pub(crate) check: fn(&RuleContext<'_, '_>, &mut Findings<'_, '_, '_>),
}

impl Rule {
    /// The evidence that this profile's provider requires it; `None` if it does not.
    pub fn evidence(&self, profile: Profile) -> Option<RuleEvidence> {
        self.applies.iter().find(|(other, _)| *other == profile).map(|(_, evidence)| *evidence)
    }

    /// The code as shown to users, such as `FW101`.
    pub fn label(&self) -> String {
        format!("FW{}", self.code)
    }
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FW{} {}", self.code, self.name)
    }
}

/// Every rule.
pub const ALL: &[&Rule] = &[
    &unanswered_call::RULE,
    &orphan_result::RULE,
    &displaced_result::RULE,
    &duplicate_result::RULE,
    &split_results::RULE,
    &split_turn::RULE,
    &name_mismatch::RULE,
    &too_many_calls::RULE,
    &mistyped_result::RULE,
    &duplicate_call_id::RULE,
    &reused_call_id::RULE,
    &illegal_call_id::RULE,
    &missing_call_id::RULE,
    &item_id_prefix::RULE,
    &unstored_item::RULE,
    &illegal_tool_name::RULE,
    &empty_message::RULE,
    &malformed_arguments::RULE,
    &empty_result::RULE,
    &misplaced_block::RULE,
    &result_after_text::RULE,
    &content_after_call::RULE,
    &media_in_result::RULE,
    &empty_text::RULE,
    &empty_call_list::RULE,
    &shared_result_message::RULE,
    &null_content::RULE,
    &trailing_whitespace::RULE,
    &lone_surrogate::RULE,
    &empty_history::RULE,
    &malformed_result::RULE,
    &untyped_call::RULE,
    &first_not_user::RULE,
    &role_order::RULE,
    &trailing_assistant::RULE,
    &user_after_result::RULE,
    &tools_not_declared::RULE,
    &misplaced_system::RULE,
    &unknown_role::RULE,
    &detached_reasoning::RULE,
    &missing_reasoning::RULE,
    &foreign_signature::RULE,
    &dead_server_call::RULE,
    &orphan_server_result::RULE,
    &unknown_block::RULE,
    &unresolved_reference::RULE,
    &misplaced_trigger::RULE,
    &broken_parent::RULE,
    &lost_sibling_result::RULE,
    &duplicate_record_id::RULE,
    &parent_cycle::RULE,
    &torn_line::RULE,
    &nul_bytes::RULE,
    &not_utf8::RULE,
    &oversized_record::RULE,
    &incomplete_record::RULE,
];

/// The rule of that code or name: `FW101`, `101`, `unanswered-call`.
pub fn find_rule(text: &str) -> Option<&'static Rule> {
    let text = text.trim();
    let digits = text.strip_prefix("FW").or_else(|| text.strip_prefix("fw")).unwrap_or(text);
    let code: Option<u16> = digits.parse().ok();
    ALL.iter().copied().find(|rule| Some(rule.code) == code || rule.name.eq_ignore_ascii_case(text))
}

/// A set of rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RuleSet([u16; 10]);

impl RuleSet {
    /// All rules that a profile requires.
    pub fn of(profile: Profile) -> RuleSet {
        static SETS: OnceLock<[RuleSet; Profile::ALL.len()]> = OnceLock::new();
        let sets = SETS.get_or_init(|| {
            Profile::ALL.map(|profile| {
                let mut set = RuleSet::default();
                for rule in ALL.iter().filter(|rule| rule.evidence(profile).is_some()) {
                    set.add(rule.code);
                }
                set
            })
        });
        // `Profile::ALL` has the profiles in the order of their declaration.
        sets.get(profile as usize).copied().unwrap_or_default()
    }

    /// Whether the rule is in the set.
    pub fn has(&self, code: u16) -> bool {
        self.0.get(usize::from(code / 100)).is_some_and(|bits| bits & (1 << (code % 16)) != 0)
    }

    /// Adds a rule to the set.
    pub fn add(&mut self, code: u16) {
        if let Some(bits) = self.0.get_mut(usize::from(code / 100)) {
            *bits |= 1 << (code % 16);
        }
    }

    /// Removes a rule from the set.
    pub fn remove(&mut self, code: u16) {
        if let Some(bits) = self.0.get_mut(usize::from(code / 100)) {
            *bits &= !(1 << (code % 16));
        }
    }
}

/// Imports shared by all rule files.
mod prelude {
    pub(super) use super::Rule;
    pub(super) use crate::{
        draft::MessageLayout::{Blocks, Chat, Items},
        profile::{
            Profile::{
                Anthropic, Bedrock, Deepseek, Gemini, GeminiInteractions, Mistral, OpenaiChat,
                OpenaiResponses, Strict,
            },
            RuleEvidence::{Documented, Inferred},
        },
    };
}
