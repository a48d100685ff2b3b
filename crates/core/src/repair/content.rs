//! What messages say: arguments, names, empty answers, empty texts, empty messages.

use super::{ArgumentsFix, Piece, Slot, ids::hash, may, media, work::Work};
use crate::{
    check::{self, Question, shown},
    draft::{Arguments, Content, Draft, Kind, Layout, Marks, Output, Role, Text, lone_surrogates},
    placeholder,
    profile::Profile,
    report::Strategy,
    rules::{RuleSet, empty_text},
};

/// Removes what says nothing (FW308, FW301) and what nobody can resolve (FW206).
pub(super) fn clear(work: &mut Work<'_, '_>, found: RuleSet) {
    // What is brought home or quoted may end up in the message that says nothing, or beside it.
    let early = [101, 102, 103, 104, 105].iter().any(|&code| found.has(code));
    if found.has(308) {
        empty_texts(work, early);
    }
    if found.has(206) {
        unstored(work);
    }
    if found.has(301) {
        empty_messages(work, early);
    }
}

/// Mends FW302, FW316, FW303, FW315, FW207, FW107, FW205, FW309, FW311, FW312, FW313 and FW307.
pub(super) fn mend(work: &mut Work<'_, '_>, found: RuleSet) {
    type Mend = fn(&mut Work<'_, '_>);
    let mends: [(u16, Mend); 12] = [
        (302, arguments),
        (316, types),
        (303, outputs),
        (315, odd_outputs),
        (207, names),
        (107, answer_names),
        (205, item_ids),
        (309, empty_call_lists),
        (311, null_contents),
        (312, trailing),
        (313, surrogates),
        (307, media::carry),
    ];
    // White space at the end matters only where the request ends with it.
    let needed = |code: u16| found.has(code) && !(code == 312 && found.has(403));
    for (_, mend) in mends.into_iter().filter(|(code, _)| needed(*code)) {
        mend(work);
    }
}

/// The messages in which one rule finds something.
pub(super) fn places(work: &Work<'_, '_>, draft: &Draft<'_>, code: u16) -> Vec<usize> {
    let mut rules = RuleSet::default();
    rules.add(code);
    let question = Question { rules, ..*work.question };
    check::places(draft, &question, |finding| may(&question, finding))
}

/// The user message that says nothing and has to stay, if this rule finds it and it may be filled.
fn filled(work: &Work<'_, '_>, draft: &Draft<'_>, code: u16) -> Option<usize> {
    let mut rules = RuleSet::default();
    rules.add(code);
    let question = Question { rules, ..*work.question };
    let places = check::places(draft, &question, |finding| {
        may(&question, finding) && finding.fix.strategy == Strategy::Recode
    });
    places.first().copied()
}

/// Lets a message say that it was empty.
fn fill(work: &mut Work<'_, '_>, at: usize, code: u16) {
    let words = placeholder::empty_message(work.policy().language);
    // An item is not put together from pieces: another takes its place.
    if work.input.layout() == Layout::Items {
        work.slots[at] = Slot::say(Role::User, words);
    } else {
        let slot = work.touch(at);
        slot.pieces = vec![Piece::words(words)];
        slot.content = Content::List;
    }
    let note = format!("the empty message says `{words}`");
    work.note(code, Strategy::Recode, at, Vec::new(), note);
}

fn arguments(work: &mut Work<'_, '_>) {
    let draft = work.draft();
    let profile = work.question.profile;
    let strict = profile == Profile::Strict;
    let texts = strict || matches!(profile, Profile::OpenaiChat | Profile::OpenaiResponses);
    for at in places(work, &draft, 302) {
        let mut ids = Vec::new();
        for piece in &mut work.touch(at).pieces {
            let Some(call) = piece.part.kind.call_mut() else { continue };
            let fix = match call.arguments {
                Arguments::Good => continue,
                Arguments::Broken if !strict => continue,
                Arguments::Missing => ArgumentsFix::Empty,
                Arguments::RawObject => ArgumentsFix::ToString,
                Arguments::RawString => ArgumentsFix::ToObject,
                Arguments::Broken => ArgumentsFix::Mend,
                Arguments::WrongType => ArgumentsFix::Wrap,
                Arguments::NoInput | Arguments::OddInput if !texts => continue,
                Arguments::NoInput => ArgumentsFix::NoText,
                Arguments::OddInput => ArgumentsFix::ToText,
            };
            call.arguments = Arguments::Good;
            piece.patch.arguments = Some(fix);
            ids.extend(call.id.as_deref().map(str::to_owned));
        }
        let note = "arguments are spelled as the provider wants them".to_owned();
        work.note(302, Strategy::Recode, at, ids, note);
    }
}

fn outputs(work: &mut Work<'_, '_>) {
    let draft = work.draft();
    let words = placeholder::no_output(work.policy().language);
    for at in places(work, &draft, 303) {
        let mut ids = Vec::new();
        for piece in &mut work.touch(at).pieces {
            let Some(answer) = piece.part.kind.answer_mut() else { continue };
            if !matches!(answer.output, Output::Full | Output::Odd) {
                answer.output = Output::Full;
                piece.patch.set_output(words.into());
                ids.extend(answer.id.as_deref().map(str::to_owned));
            }
        }
        work.note(303, Strategy::Recode, at, ids, format!("the empty answer says `{words}`"));
    }
}

fn odd_outputs(work: &mut Work<'_, '_>) {
    let draft = work.draft();
    for at in places(work, &draft, 315) {
        let mut ids = Vec::new();
        for piece in &mut work.touch(at).pieces {
            let Some(answer) = piece.part.kind.answer_mut() else { continue };
            if answer.output == Output::Odd {
                answer.output = Output::Full;
                piece.patch.told = true;
                ids.extend(answer.id.as_deref().map(str::to_owned));
            }
        }
        let note = "the answer says the same in a form that the provider takes".to_owned();
        work.note(315, Strategy::Recode, at, ids, note);
    }
}

fn types(work: &mut Work<'_, '_>) {
    let draft = work.draft();
    for at in places(work, &draft, 316) {
        let mut ids = Vec::new();
        for piece in &mut work.touch(at).pieces {
            let Some(call) = piece.part.kind.call_mut() else { continue };
            if !call.typed {
                call.typed = true;
                piece.patch.typed = true;
                ids.extend(call.id.as_deref().map(str::to_owned));
            }
        }
        work.note(316, Strategy::Recode, at, ids, "the call says of which type it is".to_owned());
    }
}

fn names(work: &mut Work<'_, '_>) {
    let profile = work.question.profile;
    let draft = work.draft();
    for at in places(work, &draft, 207) {
        let mut notes = Vec::new();
        for piece in &mut work.touch(at).pieces {
            let Some(call) = piece.part.kind.call_mut() else { continue };
            let old = call.name.as_deref();
            if old.is_some_and(|old| profile.takes_name(old)) {
                continue;
            }
            let new = clean_name(profile, old);
            let note = match old {
                Some(old) => format!("tool name {} becomes `{new}`", shown(Some(old))),
                None => format!("the missing tool name becomes `{new}`"),
            };
            notes.push((call.id.as_deref().map(str::to_owned), note));
            call.name = new.into();
            piece.patch.name = true;
        }
        for (id, note) in notes {
            work.note(207, Strategy::Rename, at, id.into_iter().collect(), note);
        }
    }
}

/// The name that stands for a tool name which the provider refuses; `None` if it takes the name.
/// Calls and declared tools that go through it keep agreeing.
pub fn legal_name(profile: Profile, name: &str) -> Option<String> {
    (!profile.takes_name(name)).then(|| clean_name(profile, Some(name)))
}

/// A legal name for an illegal one: always the same for the same name, and never that of another
/// tool, whatever the rest of the history calls.
fn clean_name(profile: Profile, old: Option<&str>) -> String {
    let rule = profile.names();
    let Some(old) = old.filter(|old| !old.is_empty()) else { return "unknown_tool".to_owned() };
    let legal =
        |c: char| c.is_ascii_alphanumeric() || rule.extra.is_none_or(|extra| extra.contains(c));
    let mut name: String = old.chars().take(48).map(|c| if legal(c) { c } else { '_' }).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        name.insert(0, '_');
    }
    format!("{name}_{:06x}", hash(old, 0) & 0xff_ffff)
}

fn answer_names(work: &mut Work<'_, '_>) {
    let (draft, pairing) = work.paired();
    for answer in &pairing.answers {
        let Some(call) = answer.fate().call() else { continue };
        let name = crate::pair::call_at(&draft, pairing.calls[call].part())
            .and_then(|call| call.name.to_cow());
        let Some(name) = name else { continue };
        let index = answer.part() - draft.messages[answer.message()].first as usize;
        let Kind::Answer(outline) = &draft.parts[answer.part()].kind else { continue };
        if outline.tool() == Some(&*name) {
            continue;
        }
        let Some(piece) = work.touch(answer.message()).pieces.get_mut(index) else { continue };
        let Some(outline) = piece.part.kind.answer_mut() else { continue };
        let ids = outline.id.as_deref().map(str::to_owned).into_iter().collect();
        let note = format!("the answer takes its call's name {}", shown(Some(&*name)));
        outline.name = Some(Box::new(name));
        piece.patch.name = true;
        work.note(107, Strategy::Rename, answer.message(), ids, note);
    }
}

fn item_ids(work: &mut Work<'_, '_>) {
    for at in 0..work.slots.len() {
        if work.slots[at].marks.has(Marks::BAD_ITEM_ID) {
            let slot = work.mark(at);
            slot.marks = slot.marks.without(Marks::BAD_ITEM_ID).without(Marks::ITEM_ID);
            slot.without_id = true;
            work.note(205, Strategy::Drop, at, Vec::new(), "the item's id is left out".to_owned());
        }
    }
}

fn unstored(work: &mut Work<'_, '_>) {
    let mut gone = Vec::new();
    for at in 0..work.slots.len() {
        if !work.slots[at].marks.has(Marks::UNSTORED) {
            continue;
        }
        gone.push(at);
        let note = "reasoning that only the server's store could resolve is removed".to_owned();
        work.note(206, Strategy::Drop, at, Vec::new(), note);
        // The item made with it may not name its stored id any more either.
        let names_id = work.slots.get(at + 1).is_some_and(|next| {
            next.role.is_assistant()
                && next.marks.has(Marks::ITEM_ID)
                && !next.marks.has(Marks::UNSTORED)
        });
        if names_id {
            let next = work.mark(at + 1);
            next.marks = next.marks.without(Marks::ITEM_ID).without(Marks::BAD_ITEM_ID);
            next.without_id = true;
        }
    }
    work.remove_slots(&gone);
}

fn empty_texts(work: &mut Work<'_, '_>, early: bool) {
    let (profile, wire) = (work.question.profile, work.input.wire);
    let draft = work.draft();
    let kept = filled(work, &draft, 308);
    for at in places(work, &draft, 308) {
        if kept == Some(at) {
            if !early {
                fill(work, at, 308);
            }
            continue;
        }
        work.open(at).keep(|piece| !empty_text::is_refused(profile, wire, &piece.part.kind));
        work.note(
            308,
            Strategy::Drop,
            at,
            Vec::new(),
            "the empty text block is removed".to_owned(),
        );
    }
}

fn empty_call_lists(work: &mut Work<'_, '_>) {
    let draft = work.draft();
    for at in places(work, &draft, 309) {
        let slot = work.mark(at);
        slot.marks = slot.marks.without(Marks::EMPTY_CALLS);
        let note = "the empty list of calls is left out".to_owned();
        work.note(309, Strategy::Drop, at, Vec::new(), note);
    }
}

fn null_contents(work: &mut Work<'_, '_>) {
    let draft = work.draft();
    for at in places(work, &draft, 311) {
        let slot = work.touch(at);
        slot.content = Content::Text;
        slot.pieces.insert(0, Piece::words(""));
        let note = "content becomes an empty string".to_owned();
        work.note(311, Strategy::Recode, at, Vec::new(), note);
    }
}

fn trailing(work: &mut Work<'_, '_>) {
    let Some(at) = work.slots.len().checked_sub(1) else { return };
    let slot = work.touch(at);
    let Some(piece) = slot.pieces.last_mut() else { return };
    piece.patch.trim = true;
    let blank = matches!(piece.part.kind, Kind::Text(Text::Blank));
    piece.part.kind = Kind::Text(if blank { Text::Empty } else { Text::Full });
    work.note(312, Strategy::Recode, at, Vec::new(), "white space at the end is cut".to_owned());
}

fn surrogates(work: &mut Work<'_, '_>) {
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

fn empty_messages(work: &mut Work<'_, '_>, early: bool) {
    let draft = work.draft();
    let mut gone = Vec::new();
    let mut empty = places(work, &draft, 301);
    if let Some(at) = filled(work, &draft, 301) {
        if !early {
            fill(work, at, 301);
        }
        empty.retain(|&other| other != at);
    }
    for at in empty {
        gone.push(at);
        work.note(
            301,
            Strategy::Drop,
            at,
            Vec::new(),
            "the message that says nothing is removed".to_owned(),
        );
    }
    work.remove_slots(&gone);
}
