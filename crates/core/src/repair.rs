//! Turns a draft that a provider would refuse into one that it accepts.
//!
//! Recover before inventing, invent before dropping. A repair is data: the messages in their new
//! order ([`RepairedMessage`]), each either kept byte for byte or rewritten from [`RepairedPart`]s,
//! and a list of [`Edit`]s that records what was done and why. The formats crate writes it back as
//! bytes.

use std::{borrow::Cow, sync::Arc};

use crate::{
    Span, TextReplacement,
    check::{CheckOptions, check, count_findings},
    draft::{Draft, MessageFlags, Part, Role},
    placeholder,
    report::{Finding, FixApplicability, Report, Strategy},
    rules::RuleSet,
};

mod state;
mod message_state;
mod edits;
mod patch;
mod part_list;
mod sources;
mod defects;
mod roles;
mod misplaced;
mod pairs;
mod answers;
mod blocks;
mod ids;
mod answer_fields;
mod content;
mod media;
mod order;
mod turns;
mod reasoning;
pub(crate) mod binding;
mod compaction;
mod losses;

pub use compaction::{CompactionText, apply_plan};
pub use content::legal_name;
pub use edits::EditLog;
pub use ids::fresh_id;
pub use losses::RepairLosses;
use message_state::MessageState;
pub use part_list::PartList;
pub use patch::PartPatch;
pub use sources::{NewText, PartSource, QuotedAnswer};
use state::RepairState;

/// A repaired history.
#[derive(Clone, Debug)]
pub struct Repair<'a> {
    /// The messages in their new order; empty if nothing was done.
    pub messages: Arc<Vec<RepairedMessage<'a>>>,
    /// The edits, in order.
    pub edits: EditLog,
    /// Changes to the document around the list of messages.
    pub body: BodyEdits,
    /// Strings whose lone surrogates are replaced, as in [`crate::DraftBody::surrogates`].
    pub surrogates: Arc<Vec<Span>>,
    /// Parts of the input that are replaced wherever they are copied, in order.
    pub replacements: Arc<Vec<TextReplacement>>,
    /// The findings in the input.
    pub before: Report,
    /// The remaining findings: those without a fix, or whose fix the policy does not allow.
    pub after: Report,
    /// Losses outside of the messages of this repair: of later rounds, where a file has to be read
    /// again for a complete repair, and of records that are removed from a file.
    pub later_losses: RepairLosses,
    changed: bool,
}

impl<'a> Repair<'a> {
    /// Loads the parts of every changed message, also where only its role or another field changes.
    pub fn load_touched_parts(&mut self, draft: &Draft<'a>) {
        let unloaded =
            |message: &RepairedMessage<'_>| message.is_touched() && !message.parts.is_loaded();
        if self.messages.iter().any(unloaded) {
            let messages = Arc::make_mut(&mut self.messages).iter_mut();
            messages
                .filter(|message| unloaded(message))
                .for_each(|message| message.load_parts(draft));
        }
    }

    /// Whether the input stays unchanged, byte for byte.
    pub fn is_untouched(&self) -> bool {
        !self.changed
    }
}

/// One message of the repaired history. There is one for each message of the input, so it is small.
#[derive(Clone, Debug)]
pub struct RepairedMessage<'a> {
    /// Its parts. Parts of an untouched message stay in the input; so do those of a message of
    /// which only other fields change, until they are loaded.
    pub parts: PartList<'a>,
    origin: u32,
    /// Rare properties.
    pub flags: MessageFlags,
    /// Its role.
    pub role: Role,
    state: MessageState,
}

impl<'a> RepairedMessage<'a> {
    /// The message with its parts loaded.
    pub fn with_parts<'s>(&'s self, draft: &Draft<'a>) -> Cow<'s, RepairedMessage<'a>> {
        if self.parts.is_loaded() {
            return Cow::Borrowed(self);
        }
        let mut message = self.clone();
        message.load_parts(draft);
        Cow::Owned(message)
    }
}

/// One part of a repaired message.
#[derive(Clone, Debug)]
pub struct RepairedPart<'a> {
    /// Its outline.
    pub part: Part<'a>,
    /// The changes inside it.
    pub patch: PartPatch<'a>,
}

impl<'a> RepairedPart<'a> {
    /// Where its content comes from.
    pub fn source(&self) -> &PartSource<'a> {
        self.patch.source()
    }

    /// Replaces its content.
    pub fn set_source(&mut self, source: PartSource<'a>) {
        self.patch.set_source(source);
    }
}

/// How arguments are rewritten.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArgumentsFix {
    /// Convert an object to a string.
    ToString,
    /// Convert a string to an object: parse it, else complete it, else wrap it.
    ToObject,
    /// Fix a string that is not an object: complete it if it is the beginning of one, else wrap it.
    CompleteObject,
    /// Write an empty object where arguments are missing.
    Empty,
    /// Wrap another value in an object.
    Wrap,
    /// Write an empty string where free text is missing.
    EmptyText,
    /// Convert a value to free text with the same content.
    ToText,
}

/// Changes to the document around the list of messages.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BodyEdits {
    /// Names of the tools to declare.
    pub declare: Vec<String>,
    /// Turn thinking off.
    pub thinking_off: bool,
    /// File defects that are fixed (indices into [`crate::DraftBody::defects`]).
    pub fixed_defects: Vec<usize>,
}

/// One step of a repair.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    /// The rule that caused it.
    pub code: u16,
    /// What it does.
    pub strategy: Strategy,
    /// The message of the input it concerns.
    pub message: usize,
    /// The call ids it concerns.
    pub ids: Vec<String>,
    /// One sentence.
    pub note: String,
}

/// More rounds than any history needs; each round repairs what the previous one uncovered.
const MAX_ROUNDS: usize = 48;

/// Repairs a draft under a profile and a policy. Findings that cannot be repaired are in `after`.
pub fn repair<'a>(draft: &Draft<'a>, options: &CheckOptions) -> Repair<'a> {
    let before = check(draft, options);
    if before.is_clean() {
        return unchanged_repair(before);
    }
    run_rounds(RepairState::new(draft, options), before)
}

/// Repairs the history in rounds, until no fixable finding is left.
fn run_rounds<'a>(mut state: RepairState<'_, 'a>, before: Report) -> Repair<'a> {
    let options = state.options;
    let mut after = state.changed.then(|| count_findings(&state.draft(), options));
    for _ in 0..MAX_ROUNDS {
        let edits = state.edits.len();
        let rules = fixable_rules(after.as_ref().unwrap_or(&before), options);
        if rules == RuleSet::default() {
            keep_user_message(&mut state);
            // The repair itself moved the end away: a late result is now with its call.
            let has_tail = |report: &Report| report.counts.of(403) > 0;
            if !has_tail(&before) && after.as_ref().is_some_and(has_tail) {
                turns::end_with_user(&mut state);
            }
            binding::remove_edited_thinking(&mut state);
            binding::remove_bound_thinking(&mut state);
        } else {
            run_phase(&mut state, rules);
        }
        if state.edits.len() == edits {
            break;
        }
        after = Some(count_findings(&state.draft(), options));
    }
    let after = match after {
        None => before.clone(),
        Some(after) if after.unlisted() > 0 => check(&state.draft(), options),
        Some(after) => after,
    };
    Repair {
        changed: state.changed || !state.edits.is_empty(),
        messages: Arc::new(state.messages),
        edits: state.edits,
        body: state.body,
        surrogates: Arc::new(state.surrogates),
        replacements: Arc::new(state.replacements),
        before,
        after,
        later_losses: RepairLosses::default(),
    }
}

/// Keeps a history from becoming empty, or from losing its last user message where no rule may
/// insert another one: a short user message replaces the removed content.
fn keep_user_message(state: &mut RepairState<'_, '_>) {
    let input = state.input;
    let had_messages = !input.messages.is_empty() || input.body.emptied;
    let emptied = state.messages.is_empty() && had_messages;
    let lost_user = || {
        !state.messages.iter().any(|message| message.role == Role::User)
            && input.messages.iter().any(|message| message.role == Role::User)
    };
    if !emptied && !lost_user() {
        return;
    }
    let text = placeholder::opening_text(state.policy().language);
    let at = state.messages.iter().take_while(|message| message.role.is_system()).count();
    let note = "no other user message is left: a short one is inserted".to_owned();
    state.note_edit(314, Strategy::Insert, at, Vec::new(), note);
    state.messages.insert(at, RepairedMessage::with_text(Role::User, text));
}

/// A repair that changes nothing.
fn unchanged_repair<'a>(report: Report) -> Repair<'a> {
    Repair {
        messages: Arc::default(),
        edits: EditLog::default(),
        body: BodyEdits::default(),
        surrogates: Arc::default(),
        replacements: Arc::default(),
        before: report.clone(),
        after: report,
        later_losses: RepairLosses::default(),
        changed: false,
    }
}

/// The rules with findings that the policy allows to fix.
fn fixable_rules(report: &Report, options: &CheckOptions) -> RuleSet {
    let mut rules = RuleSet::default();
    for kind in report.counts.iter().filter(|kind| kind.is_fixable(options.policy.allow_unsafe)) {
        rules.add(kind.rule.code);
    }
    rules
}

/// Whether the policy allows the fix of a finding.
fn is_allowed(options: &CheckOptions, finding: &Finding) -> bool {
    match finding.fix.applicability {
        FixApplicability::Safe => true,
        FixApplicability::Unsafe => options.policy.allow_unsafe,
        FixApplicability::None => false,
    }
}

type RepairPhase = fn(&mut RepairState<'_, '_>, RuleSet);

/// The order of repairs. Each phase relies on the ones before it: roles first, then what has to be
/// removed, pairing, ids and content, and finally order.
const PHASES: [(&[u16], RepairPhase); 10] = [
    (&[701, 702, 703, 704, 801, 802, 803, 804, 805], defects::fix_defects),
    (&[407], roles::fix_roles),
    (&[304, 601, 602], misplaced::remove_misplaced),
    (&[503], reasoning::remove_unsigned),
    (&[308, 301, 206], content::remove_empty),
    (&[101, 102, 103, 104, 105, 304], pairs::fix_pairs),
    (&[201, 202, 203, 204], ids::rename_ids),
    (&[109, 302, 316, 303, 315, 207, 107, 205, 309, 311, 312, 313, 604, 307], content::fix_content),
    (&[305, 306, 310, 108, 106, 406, 402, 404, 401, 403, 405], turns::order_turns),
    (&[501, 502], reasoning::fix_reasoning),
];

/// Runs the first phase that changes something; the next check finds what that uncovers.
fn run_phase(state: &mut RepairState<'_, '_>, rules: RuleSet) {
    for (codes, phase) in PHASES {
        let edits = state.edits.len();
        if codes.iter().any(|&code| rules.has(code)) {
            phase(state, rules);
            state.update_content_shapes();
            state.unload_unchanged();
        }
        if state.edits.len() > edits {
            return;
        }
    }
}
