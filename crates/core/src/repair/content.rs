//! What messages say: arguments, names, empty answers, empty texts, empty messages.

use super::{
    ArgumentsFix, RepairedMessage, RepairedPart, ids::hash, is_allowed, media, state::RepairState,
};
use crate::{
    check::{self, CheckOptions, display_id},
    draft::{
        AnswerShape, ArgumentsShape, ContentShape, Draft, MessageFlags, MessageLayout, PartKind,
        Role, TextShape, lone_surrogates,
    },
    placeholder,
    profile::Profile,
    report::Strategy,
    rules::{RuleSet, empty_text},
};

/// Removes what says nothing (FW308, FW301) and what nobody can resolve (FW206).
pub(super) fn remove_empty(work: &mut RepairState<'_, '_>, found: RuleSet) {
    // What is brought home or quoted may end up in the message that says nothing, or beside it.
    let early = [101, 102, 103, 104, 105].iter().any(|&code| found.has(code));
    if found.has(308) {
        remove_empty_texts(work, early);
    }
    if found.has(206) {
        remove_unstored_items(work);
    }
    if found.has(301) {
        remove_empty_messages(work, early);
    }
}

/// Mends FW302, FW316, FW303, FW315, FW207, FW107, FW205, FW309, FW311, FW312, FW313 and FW307.
pub(super) fn fix_content(work: &mut RepairState<'_, '_>, found: RuleSet) {
    type ContentFix = fn(&mut RepairState<'_, '_>);
    let mends: [(u16, ContentFix); 12] = [
        (302, fix_arguments),
        (316, fix_call_types),
        (303, fix_empty_answers),
        (315, fix_malformed_answers),
        (207, fix_tool_names),
        (107, fix_answer_names),
        (205, remove_item_ids),
        (309, remove_empty_call_lists),
        (311, fix_null_contents),
        (312, trim_trailing_whitespace),
        (313, replace_surrogates),
        (307, media::move_media),
    ];
    // White space at the end matters only where the request ends with it.
    let needed = |code: u16| found.has(code) && !(code == 312 && found.has(403));
    for (_, mend) in mends.into_iter().filter(|(code, _)| needed(*code)) {
        mend(work);
    }
}

/// The messages in which one rule finds something.
pub(super) fn messages_with(
    work: &RepairState<'_, '_>,
    draft: &Draft<'_>,
    code: u16,
) -> Vec<usize> {
    let mut rules = RuleSet::default();
    rules.add(code);
    let question = CheckOptions { rules, ..*work.options };
    check::finding_messages(draft, &question, |finding| is_allowed(&question, finding))
}

/// The user message that says nothing and has to stay, if this rule finds it and it may be filled.
fn message_to_fill(work: &RepairState<'_, '_>, draft: &Draft<'_>, code: u16) -> Option<usize> {
    let mut rules = RuleSet::default();
    rules.add(code);
    let question = CheckOptions { rules, ..*work.options };
    let places = check::finding_messages(draft, &question, |finding| {
        is_allowed(&question, finding) && finding.fix.strategy == Strategy::Recode
    });
    places.first().copied()
}

/// Lets a message say that it was empty.
fn fill_message(work: &mut RepairState<'_, '_>, at: usize, code: u16) {
    let words = placeholder::empty_message_text(work.policy().language);
    // An item is not put together from pieces: another takes its place.
    if work.input.layout() == MessageLayout::Items {
        work.messages[at] = RepairedMessage::with_text(Role::User, words);
    } else {
        let slot = work.edit_message(at);
        slot.parts = vec![RepairedPart::from_text(words)];
        slot.content = ContentShape::List;
    }
    let note = format!("the empty message says `{words}`");
    work.note_edit(code, Strategy::Recode, at, Vec::new(), note);
}

fn fix_arguments(work: &mut RepairState<'_, '_>) {
    let draft = work.draft();
    let profile = work.options.profile;
    let strict = profile == Profile::Strict;
    let texts = strict || matches!(profile, Profile::OpenaiChat | Profile::OpenaiResponses);
    for at in messages_with(work, &draft, 302) {
        let mut ids = Vec::new();
        for piece in &mut work.edit_message(at).parts {
            let Some(call) = piece.part.kind.call_mut() else { continue };
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
            call.arguments = ArgumentsShape::Valid;
            piece.patch.arguments = Some(fix);
            ids.extend(call.id.as_deref().map(str::to_owned));
        }
        let note = "arguments are spelled as the provider wants them".to_owned();
        work.note_edit(302, Strategy::Recode, at, ids, note);
    }
}

fn fix_empty_answers(work: &mut RepairState<'_, '_>) {
    let draft = work.draft();
    let words = placeholder::no_output_text(work.policy().language);
    for at in messages_with(work, &draft, 303) {
        let mut ids = Vec::new();
        for piece in &mut work.edit_message(at).parts {
            let Some(answer) = piece.part.kind.answer_mut() else { continue };
            if !matches!(answer.output, AnswerShape::Full | AnswerShape::Malformed) {
                answer.output = AnswerShape::Full;
                piece.patch.set_output(words.into());
                ids.extend(answer.id.as_deref().map(str::to_owned));
            }
        }
        work.note_edit(303, Strategy::Recode, at, ids, format!("the empty answer says `{words}`"));
    }
}

fn fix_malformed_answers(work: &mut RepairState<'_, '_>) {
    let draft = work.draft();
    for at in messages_with(work, &draft, 315) {
        let mut ids = Vec::new();
        for piece in &mut work.edit_message(at).parts {
            let Some(answer) = piece.part.kind.answer_mut() else { continue };
            if answer.output == AnswerShape::Malformed {
                answer.output = AnswerShape::Full;
                piece.patch.recode_content = true;
                ids.extend(answer.id.as_deref().map(str::to_owned));
            }
        }
        let note = "the answer says the same in a form that the provider takes".to_owned();
        work.note_edit(315, Strategy::Recode, at, ids, note);
    }
}

fn fix_call_types(work: &mut RepairState<'_, '_>) {
    let draft = work.draft();
    for at in messages_with(work, &draft, 316) {
        let mut ids = Vec::new();
        for piece in &mut work.edit_message(at).parts {
            let Some(call) = piece.part.kind.call_mut() else { continue };
            if !call.typed {
                call.typed = true;
                piece.patch.typed = true;
                ids.extend(call.id.as_deref().map(str::to_owned));
            }
        }
        work.note_edit(
            316,
            Strategy::Recode,
            at,
            ids,
            "the call says of which type it is".to_owned(),
        );
    }
}

fn fix_tool_names(work: &mut RepairState<'_, '_>) {
    let profile = work.options.profile;
    let draft = work.draft();
    for at in messages_with(work, &draft, 207) {
        let mut notes = Vec::new();
        for piece in &mut work.edit_message(at).parts {
            let Some(call) = piece.part.kind.call_mut() else { continue };
            let old = call.name.as_deref();
            if old.is_some_and(|old| profile.accepts_name(old)) {
                continue;
            }
            let new = clean_name(profile, old);
            let note = match old {
                Some(old) => format!("tool name {} becomes `{new}`", display_id(Some(old))),
                None => format!("the missing tool name becomes `{new}`"),
            };
            notes.push((call.id.as_deref().map(str::to_owned), note));
            call.name = new.into();
            piece.patch.name = true;
        }
        for (id, note) in notes {
            work.note_edit(207, Strategy::Rename, at, id.into_iter().collect(), note);
        }
    }
}

/// The name that stands for a tool name which the provider refuses; `None` if it takes the name.
/// Calls and declared tools that go through it keep agreeing.
pub fn legal_name(profile: Profile, name: &str) -> Option<String> {
    (!profile.accepts_name(name)).then(|| clean_name(profile, Some(name)))
}

/// A legal name for an illegal one: always the same for the same name, and never that of another
/// tool, whatever the rest of the history calls.
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

fn fix_answer_names(work: &mut RepairState<'_, '_>) {
    let (draft, pairing) = work.draft_with_pairing();
    for answer in &pairing.answers {
        let Some(call) = answer.result_match().call() else { continue };
        let name = crate::pairing::call_at(&draft, pairing.calls[call].part())
            .and_then(|call| call.name.to_cow());
        let Some(name) = name else { continue };
        let index = answer.part() - draft.messages[answer.message()].first as usize;
        let PartKind::Answer(outline) = &draft.parts[answer.part()].kind else { continue };
        if outline.tool() == Some(&*name) {
            continue;
        }
        let Some(piece) = work.edit_message(answer.message()).parts.get_mut(index) else {
            continue;
        };
        let Some(outline) = piece.part.kind.answer_mut() else { continue };
        let ids = outline.id.as_deref().map(str::to_owned).into_iter().collect();
        let note = format!("the answer takes its call's name {}", display_id(Some(&*name)));
        outline.name = Some(Box::new(name));
        piece.patch.name = true;
        work.note_edit(107, Strategy::Rename, answer.message(), ids, note);
    }
}

fn remove_item_ids(work: &mut RepairState<'_, '_>) {
    for at in 0..work.messages.len() {
        if work.messages[at].flags.has(MessageFlags::BAD_ITEM_ID) {
            let slot = work.mark_message(at);
            slot.flags =
                slot.flags.without(MessageFlags::BAD_ITEM_ID).without(MessageFlags::ITEM_ID);
            slot.without_id = true;
            work.note_edit(
                205,
                Strategy::Drop,
                at,
                Vec::new(),
                "the item's id is left out".to_owned(),
            );
        }
    }
}

fn remove_unstored_items(work: &mut RepairState<'_, '_>) {
    let mut gone = Vec::new();
    for at in 0..work.messages.len() {
        if !work.messages[at].flags.has(MessageFlags::UNSTORED) {
            continue;
        }
        gone.push(at);
        let note = "reasoning that only the server's store could resolve is removed".to_owned();
        work.note_edit(206, Strategy::Drop, at, Vec::new(), note);
        // The item made with it may not name its stored id any more either.
        let names_id = work.messages.get(at + 1).is_some_and(|next| {
            next.role.is_assistant()
                && next.flags.has(MessageFlags::ITEM_ID)
                && !next.flags.has(MessageFlags::UNSTORED)
        });
        if names_id {
            let next = work.mark_message(at + 1);
            next.flags =
                next.flags.without(MessageFlags::ITEM_ID).without(MessageFlags::BAD_ITEM_ID);
            next.without_id = true;
        }
    }
    work.remove_messages(&gone);
}

fn remove_empty_texts(work: &mut RepairState<'_, '_>, early: bool) {
    let (profile, wire) = (work.options.profile, work.input.format);
    let draft = work.draft();
    let kept = message_to_fill(work, &draft, 308);
    for at in messages_with(work, &draft, 308) {
        if kept == Some(at) {
            if !early {
                fill_message(work, at, 308);
            }
            continue;
        }
        work.load_message(at)
            .retain_parts(|piece| !empty_text::is_refused(profile, wire, &piece.part.kind));
        work.note_edit(
            308,
            Strategy::Drop,
            at,
            Vec::new(),
            "the empty text block is removed".to_owned(),
        );
    }
}

fn remove_empty_call_lists(work: &mut RepairState<'_, '_>) {
    let draft = work.draft();
    for at in messages_with(work, &draft, 309) {
        let slot = work.mark_message(at);
        slot.flags = slot.flags.without(MessageFlags::EMPTY_CALLS);
        let note = "the empty list of calls is left out".to_owned();
        work.note_edit(309, Strategy::Drop, at, Vec::new(), note);
    }
}

fn fix_null_contents(work: &mut RepairState<'_, '_>) {
    let draft = work.draft();
    for at in messages_with(work, &draft, 311) {
        let slot = work.edit_message(at);
        slot.content = ContentShape::Text;
        slot.parts.insert(0, RepairedPart::from_text(""));
        let note = "content becomes an empty string".to_owned();
        work.note_edit(311, Strategy::Recode, at, Vec::new(), note);
    }
}

fn trim_trailing_whitespace(work: &mut RepairState<'_, '_>) {
    let Some(at) = work.messages.len().checked_sub(1) else { return };
    let slot = work.edit_message(at);
    let Some(piece) = slot.parts.last_mut() else { return };
    piece.patch.trim = true;
    let blank = matches!(piece.part.kind, PartKind::Text(TextShape::Blank));
    piece.part.kind = PartKind::Text(if blank { TextShape::Empty } else { TextShape::Full });
    work.note_edit(
        312,
        Strategy::Recode,
        at,
        Vec::new(),
        "white space at the end is cut".to_owned(),
    );
}

fn replace_surrogates(work: &mut RepairState<'_, '_>) {
    let found = work.input.body.surrogates.clone();
    let messages = work.input.messages_at(&found);
    for (span, message) in found.iter().zip(messages) {
        let message = message.unwrap_or(0);
        let note = match lone_surrogates(span.of(work.input.source)).count() {
            0 | 1 => "half a character becomes U+FFFD".to_owned(),
            many => format!("{many} half characters become U+FFFD"),
        };
        work.edits.push(super::Edit {
            code: 313,
            strategy: Strategy::Recode,
            message,
            ids: Vec::new(),
            note,
        });
    }
    work.surrogates = found;
}

fn remove_empty_messages(work: &mut RepairState<'_, '_>, early: bool) {
    let draft = work.draft();
    let mut gone = Vec::new();
    let mut empty = messages_with(work, &draft, 301);
    if let Some(at) = message_to_fill(work, &draft, 301) {
        if !early {
            fill_message(work, at, 301);
        }
        empty.retain(|&other| other != at);
    }
    for at in empty {
        gone.push(at);
        work.note_edit(
            301,
            Strategy::Drop,
            at,
            Vec::new(),
            "the message that says nothing is removed".to_owned(),
        );
    }
    work.remove_messages(&gone);
}
