//! The rules, in the order they are reported. One file each; each file's page says what it finds,
//! who refuses it, and what repair does.

use crate::{
    check::{Findings, RuleContext},
    draft::{DraftFeatures, MessageLayout},
    profile::{Profile, RuleEvidence},
};

mod unanswered_call;
mod orphan_answer;
mod displaced_answer;
mod duplicate_answer;
mod split_answers;
pub(crate) mod split_turn;
mod name_mismatch;
pub(crate) mod too_many_calls;
mod duplicate_call_id;
mod reused_call_id;
mod illegal_call_id;
mod missing_call_id;
mod item_id_prefix;
mod unstored_item;
mod illegal_tool_name;
mod empty_message;
mod malformed_arguments;
mod empty_answer;
mod misplaced_block;
mod answer_after_text;
mod content_after_call;
mod media_in_answer;
pub(crate) mod empty_text;
mod empty_call_list;
mod shared_answer_message;
mod null_content;
mod trailing_whitespace;
mod lone_surrogate;
mod empty_history;
mod malformed_answer;
mod untyped_call;
mod first_not_user;
mod role_order;
mod trailing_assistant;
mod user_after_answer;
mod tools_not_declared;
mod misplaced_system;
mod unknown_role;
mod detached_reasoning;
pub(crate) mod missing_reasoning;
mod foreign_signature;
mod dead_server_call;
mod orphan_server_answer;
mod broken_parent;
mod lost_sibling_answer;
mod duplicate_record_id;
mod parent_cycle;
mod torn_line;
mod nul_bytes;
mod not_utf8;
mod oversized_record;
mod paired_answers;
mod required_messages;
mod defects;
pub(crate) mod server_calls;

/// One rule: what it is called, who demands it, and how it is found.
pub struct Rule {
    /// Its number; `FW101` is 101. Never reused, never changes meaning.
    pub code: u16,
    /// Its name. Never reused, never changes meaning.
    pub name: &'static str,
    /// What it finds, in a few words.
    pub summary: &'static str,
    /// Its page, in Markdown.
    pub explain: &'static str,
    /// Who demands it, and how we know.
    pub applies: &'static [(Profile, RuleEvidence)],
    pub(crate) layouts: &'static [MessageLayout],
    pub(crate) features: DraftFeatures,
    pub(crate) check: fn(&RuleContext<'_, '_>, &mut Findings<'_, '_, '_>),
}

impl Rule {
    /// How we know that this profile's provider demands it; `None` if it does not.
    pub fn evidence(&self, profile: Profile) -> Option<RuleEvidence> {
        self.applies.iter().find(|(who, _)| *who == profile).map(|(_, evidence)| *evidence)
    }

    /// The code as people write it.
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
    &orphan_answer::RULE,
    &displaced_answer::RULE,
    &duplicate_answer::RULE,
    &split_answers::RULE,
    &split_turn::RULE,
    &name_mismatch::RULE,
    &too_many_calls::RULE,
    &duplicate_call_id::RULE,
    &reused_call_id::RULE,
    &illegal_call_id::RULE,
    &missing_call_id::RULE,
    &item_id_prefix::RULE,
    &unstored_item::RULE,
    &illegal_tool_name::RULE,
    &empty_message::RULE,
    &malformed_arguments::RULE,
    &empty_answer::RULE,
    &misplaced_block::RULE,
    &answer_after_text::RULE,
    &content_after_call::RULE,
    &media_in_answer::RULE,
    &empty_text::RULE,
    &empty_call_list::RULE,
    &shared_answer_message::RULE,
    &null_content::RULE,
    &trailing_whitespace::RULE,
    &lone_surrogate::RULE,
    &empty_history::RULE,
    &malformed_answer::RULE,
    &untyped_call::RULE,
    &first_not_user::RULE,
    &role_order::RULE,
    &trailing_assistant::RULE,
    &user_after_answer::RULE,
    &tools_not_declared::RULE,
    &misplaced_system::RULE,
    &unknown_role::RULE,
    &detached_reasoning::RULE,
    &missing_reasoning::RULE,
    &foreign_signature::RULE,
    &dead_server_call::RULE,
    &orphan_server_answer::RULE,
    &broken_parent::RULE,
    &lost_sibling_answer::RULE,
    &duplicate_record_id::RULE,
    &parent_cycle::RULE,
    &torn_line::RULE,
    &nul_bytes::RULE,
    &not_utf8::RULE,
    &oversized_record::RULE,
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
    /// All rules that a profile demands.
    pub fn of(profile: Profile) -> RuleSet {
        let mut set = RuleSet::default();
        for rule in ALL.iter().filter(|rule| rule.evidence(profile).is_some()) {
            set.add(rule.code);
        }
        set
    }

    /// Whether the rule is in the set.
    pub fn has(&self, code: u16) -> bool {
        self.0.get(usize::from(code / 100)).is_some_and(|bits| bits & (1 << (code % 16)) != 0)
    }

    /// Puts a rule into the set.
    pub fn add(&mut self, code: u16) {
        if let Some(bits) = self.0.get_mut(usize::from(code / 100)) {
            *bits |= 1 << (code % 16);
        }
    }

    /// Takes a rule out of the set.
    pub fn remove(&mut self, code: u16) {
        if let Some(bits) = self.0.get_mut(usize::from(code / 100)) {
            *bits &= !(1 << (code % 16));
        }
    }
}

/// What every rule's file uses.
mod prelude {
    pub(super) use super::Rule;
    pub(super) use crate::{
        draft::MessageLayout::{Blocks, Chat, Items},
        profile::{
            Profile::{
                Anthropic, Bedrock, Deepseek, Gemini, Mistral, OpenaiChat, OpenaiResponses, Strict,
            },
            RuleEvidence::{Documented, Inferred},
        },
    };
}
