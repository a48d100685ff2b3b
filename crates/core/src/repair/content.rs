//! Repairs content: arguments, names, empty answers, empty texts, empty messages.

use std::collections::HashSet;

use foxwedge_json::field_text;

use super::{
    ArgumentsFix, PartPatch, RepairedMessage, RepairedPart, answer_fields, ids::hash, is_allowed,
    media, state::RepairState,
};
use crate::sorting::sort_by_key;
use crate::{
    Span,
    check::{self, CheckOptions, display_id},
    draft::{
        AnswerShape, ArgumentsShape, ContentShape, Draft, Format, MessageFlags, MessageLayout,
        Part, PartKind, Role, TextShape,
    },
    lone_surrogates, placeholder,
    policy::OrphanPolicy,
    profile::Profile,
    report::Strategy,
    rules::{RuleSet, empty_text, unresolved_reference},
};

/// Removes empty content (FW308, FW301) and items that cannot be resolved (FW206).
pub(super) fn remove_empty(state: &mut RepairState<'_, '_>, rules: RuleSet) {
    // A moved or quoted answer may end up in the empty message, or beside it.
    let early = [101, 102, 103, 104, 105].iter().any(|&code| rules.has(code));
    if rules.has(308) {
        remove_empty_texts(state, early);
    }
    if rules.has(206) {
        remove_unstored_items(state);
    }
    if rules.has(301) {
        remove_empty_messages(state, rules, early);
    }
}

/// Fixes FW109, FW302, FW316, FW303, FW315, FW207, FW107, FW205, FW309, FW311, FW312, FW313, FW604 and FW307.
pub(super) fn fix_content(state: &mut RepairState<'_, '_>, rules: RuleSet) {
    type ContentFix = fn(&mut RepairState<'_, '_>);
    let fixes: [(u16, ContentFix); 14] = [
        (109, answer_fields::fix_types),
        (302, fix_arguments),
        (316, fix_call_types),
        (303, fix_empty_answers),
        (315, fix_malformed_answers),
        (207, fix_tool_names),
        (107, answer_fields::fix_names),
        (205, remove_item_ids),
        (309, remove_empty_call_lists),
        (311, fix_null_contents),
        (312, trim_trailing_whitespace),
        (313, replace_surrogates),
        (604, replace_references),
        (307, media::move_media),
    ];
    // Trailing white space matters only where the request ends with it.
    let needed = |code: u16| rules.has(code) && !(code == 312 && rules.has(403));
    for (_, fix) in fixes.into_iter().filter(|(code, _)| needed(*code)) {
        fix(state);
    }
}

/// The messages with findings of one rule that the policy allows to fix. The outline that is checked
/// is gone before they are changed.
pub(super) fn found_messages(state: &RepairState<'_, '_>, code: u16) -> Vec<usize> {
    messages_with(state, &state.draft(), code)
}

/// The same, for an outline of the current history.
fn messages_with(state: &RepairState<'_, '_>, draft: &Draft<'_>, code: u16) -> Vec<usize> {
    let mut rules = RuleSet::default();
    rules.add(code);
    let options = CheckOptions { rules, ..*state.options };
    check::finding_messages(draft, &options, |finding| is_allowed(&options, finding))
}

/// The empty user message that has to stay, if this rule finds it and it may be filled.
fn message_to_fill(state: &RepairState<'_, '_>, draft: &Draft<'_>, code: u16) -> Option<usize> {
    let mut rules = RuleSet::default();
    rules.add(code);
    let options = CheckOptions { rules, ..*state.options };
    let messages = check::finding_messages(draft, &options, |finding| {
        is_allowed(&options, finding) && finding.fix.strategy == Strategy::Recode
    });
    messages.first().copied()
}

/// Fills an empty message with a placeholder text.
fn fill_message(state: &mut RepairState<'_, '_>, at: usize, code: u16) {
    let words = placeholder::empty_message_text(state.policy().language);
    // An item is not composed of parts, so another one replaces it.
    if state.input.layout() == MessageLayout::Items {
        state.messages[at] = RepairedMessage::with_text(Role::User, words);
    } else {
        let message = state.edit_message(at);
        message.parts = vec![RepairedPart::from_text(words)].into();
        message.set_content(ContentShape::List);
    }
    let note = format!("the empty message becomes `{words}`");
    state.note_edit(code, Strategy::Recode, at, Vec::new(), note);
}

fn fix_arguments(state: &mut RepairState<'_, '_>) {
    let profile = state.options.profile;
    let strict = profile == Profile::Strict;
    let texts = strict || matches!(profile, Profile::OpenaiChat | Profile::OpenaiResponses);
    for at in found_messages(state, 302) {
        let mut ids = Vec::new();
        for part in &mut state.edit_message(at).parts {
            let PartKind::Call(call) = &part.part.kind else { continue };
            let fix = match call.arguments {
                ArgumentsShape::Valid => continue,
                ArgumentsShape::Broken if !strict => continue,
                ArgumentsShape::Missing => ArgumentsFix::Empty,
                ArgumentsShape::RawObject => ArgumentsFix::ToString,
                ArgumentsShape::RawString => ArgumentsFix::ToObject,
                ArgumentsShape::Broken => ArgumentsFix::CompleteObject,
                ArgumentsShape::WrongType => ArgumentsFix::Wrap,
                ArgumentsShape::NoInput | ArgumentsShape::MalformedInput if !texts => continue,
                ArgumentsShape::NoInput => ArgumentsFix::EmptyText,
                ArgumentsShape::MalformedInput => ArgumentsFix::ToText,
            };
            let Some(call) = part.part.kind.call_mut() else { continue };
            call.arguments = ArgumentsShape::Valid;
            part.patch.arguments = Some(fix);
            ids.extend(call.id.as_deref().map(str::to_owned));
        }
        let note = "the arguments are written in the form that the provider accepts".to_owned();
        state.note_edit(302, Strategy::Recode, at, ids, note);
    }
}

fn fix_empty_answers(state: &mut RepairState<'_, '_>) {
    let words = placeholder::no_output_text(state.policy().language);
    let mut output = PartPatch::default();
    output.set_output(words.into());
    for at in found_messages(state, 303) {
        let mut ids = Vec::new();
        for part in &mut state.edit_message(at).parts {
            let PartKind::Answer(answer) = &part.part.kind else { continue };
            if matches!(answer.output, AnswerShape::Full | AnswerShape::Malformed) {
                continue;
            }
            if let Some(answer) = part.part.kind.answer_mut() {
                answer.output = AnswerShape::Full;
                if !part.patch.share_content(&output) {
                    part.patch.set_output(words.into());
                }
                ids.extend(answer.id.as_deref().map(str::to_owned));
            }
        }
        state.note_edit(
            303,
            Strategy::Recode,
            at,
            ids,
            format!("the empty result becomes `{words}`"),
        );
    }
}

fn fix_malformed_answers(state: &mut RepairState<'_, '_>) {
    for at in found_messages(state, 315) {
        let mut ids = Vec::new();
        for part in &mut state.edit_message(at).parts {
            let PartKind::Answer(answer) = &part.part.kind else { continue };
            if answer.output != AnswerShape::Malformed {
                continue;
            }
            if let Some(answer) = part.part.kind.answer_mut() {
                answer.output = AnswerShape::Full;
                part.patch.recode_content = true;
                ids.extend(answer.id.as_deref().map(str::to_owned));
            }
        }
        let note = "the result is rewritten in a form that the provider accepts".to_owned();
        state.note_edit(315, Strategy::Recode, at, ids, note);
    }
}

fn fix_call_types(state: &mut RepairState<'_, '_>) {
    for at in found_messages(state, 316) {
        let mut ids = Vec::new();
        for part in &mut state.edit_message(at).parts {
            let PartKind::Call(call) = &part.part.kind else { continue };
            if call.typed {
                continue;
            }
            if let Some(call) = part.part.kind.call_mut() {
                call.typed = true;
                part.patch.typed = true;
                ids.extend(call.id.as_deref().map(str::to_owned));
            }
        }
        state.note_edit(316, Strategy::Recode, at, ids, "the call gets a valid type".to_owned());
    }
}

fn fix_tool_names(state: &mut RepairState<'_, '_>) {
    let profile = state.options.profile;
    let input = state.input;
    // A chat call may have its name beside the object where it belongs.
    let flat_name = |part: Span| match input.format {
        Format::OpenaiChat => {
            field_text(input.source, part, "name").filter(|name| !name.is_empty())
        }
        _ => None,
    };
    for at in found_messages(state, 207) {
        let mut notes = Vec::new();
        for part in &mut state.edit_message(at).parts {
            let PartKind::Call(call) = &part.part.kind else { continue };
            let old = call.name.as_deref();
            if old.is_some_and(|old| profile.accepts_name(old)) {
                continue;
            }
            let flat = flat_name(part.part.span).filter(|_| old.is_none());
            let new = match &flat {
                Some(flat) if profile.accepts_name(flat) => flat.to_string(),
                flat => clean_name(profile, old.or(flat.as_deref())),
            };
            let note = match old.or(flat.as_deref()) {
                Some(old) if old == new => format!("the tool name `{new}` moves to its place"),
                Some(old) => format!("tool name {} becomes `{new}`", display_id(Some(old))),
                None => format!("the missing tool name becomes `{new}`"),
            };
            notes.push((call.id.as_deref().map(str::to_owned), note));
            if let Some(call) = part.part.kind.call_mut() {
                call.name = new.into();
            }
            part.patch.name = true;
        }
        for (id, note) in notes {
            state.note_edit(207, Strategy::Rename, at, id.into_iter().collect(), note);
        }
    }
}

/// The replacement for a tool name that the provider refuses; `None` if it accepts the name. Use it
/// for calls and declared tools alike, so that they keep matching.
pub fn legal_name(profile: Profile, name: &str) -> Option<String> {
    (!profile.accepts_name(name)).then(|| clean_name(profile, Some(name)))
}

/// A valid name for an invalid one: always the same for the same name, and never that of another
/// tool in the history.
fn clean_name(profile: Profile, old: Option<&str>) -> String {
    let rule = profile.name_rule();
    let Some(old) = old.filter(|old| !old.is_empty()) else { return "unknown_tool".to_owned() };
    let legal = |c: char| {
        c.is_ascii_alphanumeric() || rule.extra_chars.is_none_or(|extra| extra.contains(c))
    };
    let mut name: String = old.chars().take(48).map(|c| if legal(c) { c } else { '_' }).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        name.insert(0, '_');
    }
    format!("{name}_{:06x}", hash(old, 0) & 0xff_ffff)
}

fn remove_item_ids(state: &mut RepairState<'_, '_>) {
    for at in found_messages(state, 205) {
        if state.messages[at].flags.has(MessageFlags::BAD_ITEM_ID) {
            let message = state.mark_message(at);
            message.flags =
                message.flags.without(MessageFlags::BAD_ITEM_ID).without(MessageFlags::ITEM_ID);
            message.mark_lost_id();
            state.note_edit(
                205,
                Strategy::Drop,
                at,
                Vec::new(),
                "the id of the item is removed".to_owned(),
            );
        }
    }
}

fn remove_unstored_items(state: &mut RepairState<'_, '_>) {
    let mut removed = Vec::new();
    for at in found_messages(state, 206) {
        if !state.messages[at].flags.has(MessageFlags::UNSTORED) {
            continue;
        }
        removed.push(at);
        let note = "reasoning that only exists in the server's storage is removed".to_owned();
        state.note_edit(206, Strategy::Drop, at, Vec::new(), note);
        // The item generated with it may no longer reference its stored id.
        let names_id = state.messages.get(at + 1).is_some_and(|next| {
            next.role.is_assistant()
                && next.flags.has(MessageFlags::ITEM_ID)
                && !next.flags.has(MessageFlags::UNSTORED)
        });
        if names_id {
            let next = state.mark_message(at + 1);
            next.flags =
                next.flags.without(MessageFlags::ITEM_ID).without(MessageFlags::BAD_ITEM_ID);
            next.mark_lost_id();
        }
    }
    state.remove_messages(&removed);
}

fn remove_empty_texts(state: &mut RepairState<'_, '_>, early: bool) {
    let (profile, format) = (state.options.profile, state.input.format);
    let draft = state.draft();
    let filled = message_to_fill(state, &draft, 308);
    let found = messages_with(state, &draft, 308);
    drop(draft);
    for at in found {
        if filled == Some(at) {
            if !early {
                fill_message(state, at, 308);
            }
            continue;
        }
        state
            .load_message(at)
            .retain_parts(|part| !empty_text::is_refused(profile, format, &part.part.kind));
        state.note_edit(
            308,
            Strategy::Drop,
            at,
            Vec::new(),
            "the empty text block is removed".to_owned(),
        );
    }
}

fn remove_empty_call_lists(state: &mut RepairState<'_, '_>) {
    for at in found_messages(state, 309) {
        let message = state.mark_message(at);
        message.flags = message.flags.without(MessageFlags::EMPTY_CALLS);
        let note = "the empty list of calls is removed".to_owned();
        state.note_edit(309, Strategy::Drop, at, Vec::new(), note);
    }
}

fn fix_null_contents(state: &mut RepairState<'_, '_>) {
    for at in found_messages(state, 311) {
        let message = state.edit_message(at);
        message.set_content(ContentShape::Text);
        message.parts.insert(0, RepairedPart::from_text(""));
        let note = "content becomes an empty string".to_owned();
        state.note_edit(311, Strategy::Recode, at, Vec::new(), note);
    }
}

fn trim_trailing_whitespace(state: &mut RepairState<'_, '_>) {
    let Some(at) = state.messages.len().checked_sub(1) else { return };
    let message = state.edit_message(at);
    let Some(part) = message.parts.last_mut() else { return };
    part.patch.trim = true;
    let blank = matches!(part.part.kind, PartKind::Text(TextShape::Blank));
    part.part.kind = PartKind::Text(if blank { TextShape::Empty } else { TextShape::Full });
    state.note_edit(
        312,
        Strategy::Recode,
        at,
        Vec::new(),
        "trailing white space is removed".to_owned(),
    );
}

fn replace_surrogates(state: &mut RepairState<'_, '_>) {
    let surrogates = state.input.body.surrogates.clone();
    let messages = state.input.messages_at(&surrogates);
    for (span, message) in surrogates.iter().zip(messages) {
        let message = message.unwrap_or(0);
        let note = match lone_surrogates(span.of(state.input.source)).count() {
            0 | 1 => "a lone surrogate becomes U+FFFD".to_owned(),
            many => format!("{many} lone surrogates become U+FFFD"),
        };
        state.edits.push(super::Edit {
            code: 313,
            strategy: Strategy::Recode,
            message,
            ids: Vec::new(),
            note,
        });
    }
    state.surrogates = surrogates;
}

fn replace_references(state: &mut RepairState<'_, '_>) {
    let draft = state.draft();
    for at in messages_with(state, &draft, 604) {
        for (result, references) in unresolved_reference::references_in(&draft, &draft.messages[at])
        {
            let tools = unresolved_reference::display_tools(draft.source, references);
            let note = match result.kind {
                PartKind::Answer(_) => format!("the reference to {tools} becomes text"),
                _ => format!("the reference to {tools} is removed from the list"),
            };
            state.replacements.extend(references.iter().map(|reference| reference.replacement));
            state.note_edit(604, Strategy::Recode, at, Vec::new(), note);
        }
    }
    sort_by_key(&mut state.replacements, |replacement| replacement.span.start);
}

fn remove_empty_messages(state: &mut RepairState<'_, '_>, rules: RuleSet, early: bool) {
    let draft = state.draft();
    let mut removed = Vec::new();
    let mut empty = messages_with(state, &draft, 301);
    if let Some(at) = message_to_fill(state, &draft, 301) {
        if !early {
            fill_message(state, at, 301);
        }
        empty.retain(|&other| other != at);
    }
    if state.options.profile == Profile::Anthropic
        && let Some(last) = reply_that_becomes_last(state, &draft, rules, &empty)
    {
        empty.retain(|&at| at != last);
    }
    for at in empty {
        removed.push(at);
        state.note_edit(
            301,
            Strategy::Drop,
            at,
            Vec::new(),
            "the empty message is removed".to_owned(),
        );
    }
    state.remove_messages(&removed);
}

/// The reply that becomes the last message, because all messages after it are removed. It may be
/// empty.
fn reply_that_becomes_last(
    state: &RepairState<'_, '_>,
    draft: &Draft<'_>,
    rules: RuleSet,
    empty: &[usize],
) -> Option<usize> {
    let drops_orphans = rules.has(102) && state.policy().orphans == OrphanPolicy::Drop;
    let calls: HashSet<&str> = match drops_orphans {
        true => draft.message_parts().filter_map(|part| called_id(&part.kind)).collect(),
        false => HashSet::new(),
    };
    let is_removed = |part: &Part<'_>, is_reply: bool| match &part.kind {
        PartKind::Reasoning(_) => is_reply && rules.has(501),
        PartKind::Answer(answer) => {
            drops_orphans && !is_reply && answer.id.as_deref().is_some_and(|id| !calls.contains(id))
        }
        _ => false,
    };
    let empty: HashSet<usize> = empty.iter().copied().collect();
    let vanishes = |at: &usize| {
        let message = &draft.messages[*at];
        let (parts, is_reply) = (draft.parts_of(message), message.role.is_assistant());
        let has_only_removed =
            !parts.is_empty() && parts.iter().all(|part| is_removed(part, is_reply));
        has_only_removed || !is_reply && empty.contains(at)
    };
    let end = (0..draft.messages.len()).rev().take_while(vanishes).count();
    let last = draft.messages.len().checked_sub(end + 1).filter(|_| end > 0)?;
    draft.messages[last].role.is_assistant().then_some(last)
}

/// The id of a call.
fn called_id<'p>(kind: &'p PartKind<'_>) -> Option<&'p str> {
    match kind {
        PartKind::Call(call) => call.id.as_deref(),
        _ => None,
    }
}
