//! The one place where calls and answers are matched.
//!
//! Matching is by occurrence inside a turn, then by position: real histories use one id for
//! several calls, so a set of ids proves nothing. A call's answers belong into its *home*, the
//! place directly behind its turn; an answer anywhere else may still be matched, and then its
//! [`Fate`] says where it was found. A reused id shadows older calls of the same id, unless the
//! newer calls have their answers already. Calls that the provider runs itself are not paired.

use std::{collections::HashMap, ops::Range};

use crate::{
    draft::{AnswerShape, CallFamily, Draft, DraftCall, Format, MessageLayout, PartKind, Role},
    placeholder,
};

mod index;
mod in_turn;
mod across_turns;
mod items;
mod turns;

pub use index::{PairedAnswer, PairedCall, Turn};
pub(crate) use turns::last_turn;

/// Every call and every answer of a draft, matched.
#[derive(Clone, Debug, Default)]
pub struct CallPairing {
    /// Turns that hold calls, in order.
    pub turns: Vec<Turn>,
    /// Calls in order.
    pub calls: Vec<PairedCall>,
    /// Answers in order.
    pub answers: Vec<PairedAnswer>,
}

/// What became of an answer. Calls are told by their index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResultMatch<I = usize> {
    /// It answers this call and stands where it belongs.
    InPlace(I),
    /// It answers this call, from a later user message of the same run.
    Split(I),
    /// It answers this call, from inside an assistant message.
    Misplaced(I),
    /// It answers this call, from behind something else.
    Displaced(I),
    /// It answers this call, which comes only later.
    Early(I),
    /// This call has its answer already.
    Duplicate(I),
    /// No call is known.
    Orphan,
}

impl<I> ResultMatch<I> {
    /// The call it answers.
    pub fn call(self) -> Option<I> {
        match self {
            ResultMatch::InPlace(call)
            | ResultMatch::Split(call)
            | ResultMatch::Misplaced(call)
            | ResultMatch::Displaced(call)
            | ResultMatch::Early(call) => Some(call),
            ResultMatch::Duplicate(_) | ResultMatch::Orphan => None,
        }
    }

    fn map<J>(self, index: impl FnOnce(I) -> J) -> ResultMatch<J> {
        match self {
            ResultMatch::InPlace(call) => ResultMatch::InPlace(index(call)),
            ResultMatch::Split(call) => ResultMatch::Split(index(call)),
            ResultMatch::Misplaced(call) => ResultMatch::Misplaced(index(call)),
            ResultMatch::Displaced(call) => ResultMatch::Displaced(index(call)),
            ResultMatch::Early(call) => ResultMatch::Early(index(call)),
            ResultMatch::Duplicate(call) => ResultMatch::Duplicate(index(call)),
            ResultMatch::Orphan => ResultMatch::Orphan,
        }
    }
}

type PairingKey<'d> = (CallFamily, &'d str);

/// Matches every answer of the draft.
pub fn pair_calls(draft: &Draft<'_>) -> CallPairing {
    let mut pairing = CallPairing::default();
    collect_parts(draft, &mut pairing);
    group_turns(draft, &mut pairing);
    let open = in_turn::match_in_turns(draft, &mut pairing);
    if !open.is_empty() {
        let early = across_turns::match_earlier_calls(draft, &mut pairing, open);
        across_turns::match_later_calls(draft, &mut pairing, early);
        in_turn::match_single_pairs(draft, &mut pairing);
        if draft.format == Format::Gemini {
            in_turn::match_by_name(draft, &mut pairing);
        }
        items::match_searches(draft, &mut pairing);
    }
    turns::split_turns(draft, &mut pairing);
    pairing
}

fn collect_parts(draft: &Draft<'_>, pairing: &mut CallPairing) {
    let items = draft.layout() == MessageLayout::Items;
    let hosted = items::HostedCalls::of(draft);
    for (message, header) in draft.messages.iter().enumerate() {
        for part in header.range() {
            match &draft.parts[part].kind {
                PartKind::Call(call) if hosted.is_hosted_call(call) => {}
                PartKind::Answer(answer) if hosted.is_hosted_output(answer) => {}
                PartKind::Call(_) if items || header.role.is_assistant() => {
                    pairing.calls.push(PairedCall::new(message, part));
                }
                PartKind::Answer(_) => {
                    pairing.answers.push(PairedAnswer::new(message, part));
                }
                _ => {}
            }
        }
    }
}

/// Cuts the calls into turns. In a run of assistant messages the last ones that call form one
/// turn; a call with other assistant content behind it stands alone and has no home yet.
fn group_turns(draft: &Draft<'_>, pairing: &mut CallPairing) {
    let items = draft.layout() == MessageLayout::Items;
    let mut next = 0;
    while next < pairing.calls.len() {
        let message = pairing.calls[next].message();
        let run_end = find_run_end(draft, message, Role::is_assistant);
        let end_calls = next + calls_before(&pairing.calls[next..], run_end);
        let turn = if items { 0 } else { trailing_turn(&pairing.calls[next..end_calls], run_end) };
        let mut from = next;
        // Calls of the run in front of the turn: one group for each message.
        while from < next + turn {
            let own = pairing.calls[from].message();
            let to = from + calls_before(&pairing.calls[from..end_calls], own + 1);
            push_turn(pairing, own..own + 1, own + 1..own + 1, own + 1..own + 1, from..to);
            from = to;
        }
        if from < end_calls {
            let start = pairing.calls[from].message();
            let (home, spill) = find_home(draft, run_end);
            push_turn(pairing, start..run_end, home, spill, from..end_calls);
        }
        next = end_calls;
    }
}

fn push_turn(
    pairing: &mut CallPairing,
    messages: Range<usize>,
    home: Range<usize>,
    spill: Range<usize>,
    calls: Range<usize>,
) {
    let group = pairing.turns.len();
    for call in &mut pairing.calls[calls.clone()] {
        call.set_turn(group);
    }
    pairing.turns.push(Turn::new(messages, home, spill, calls));
}

/// One past the last message of the run that `from` belongs to.
fn find_run_end(draft: &Draft<'_>, from: usize, belongs: fn(Role) -> bool) -> usize {
    let rest = draft.messages.get(from..).unwrap_or(&[]);
    from + rest.iter().take_while(|message| belongs(message.role)).count()
}

fn calls_before(calls: &[PairedCall], end: usize) -> usize {
    calls.iter().take_while(|call| call.message() < end).count()
}

/// How many of the run's calls stand in front of its turn: walks back from the end of the run
/// over messages that call.
fn trailing_turn(calls: &[PairedCall], run_end: usize) -> usize {
    let mut expected = run_end;
    let mut keep = calls.len();
    while let Some(call) = keep.checked_sub(1).and_then(|last| calls.get(last)) {
        if call.message() + 1 == expected || call.message() == expected {
            expected = call.message();
            keep -= 1;
        } else {
            break;
        }
    }
    keep
}

fn find_home(draft: &Draft<'_>, end: usize) -> (Range<usize>, Range<usize>) {
    match draft.layout() {
        MessageLayout::Chat | MessageLayout::Items => {
            let home = end..find_run_end(draft, end, |role| role == Role::Answer);
            (home.clone(), home.end..home.end)
        }
        MessageLayout::Blocks => {
            let run = find_run_end(draft, end, Role::is_user);
            let first = run.min(end + 1);
            (end..first, first..run)
        }
    }
}

/// Joins an answer to a call, and notes from where it answers.
pub(crate) fn join_answer(
    draft: &Draft<'_>,
    pairing: &mut CallPairing,
    call: usize,
    answer: usize,
) {
    let at = pairing.answers[answer].message();
    let group = &pairing.turns[pairing.calls[call].turn()];
    let fate = if draft.messages[at].role.is_assistant() {
        ResultMatch::Misplaced(call)
    } else if group.home().contains(&at) {
        ResultMatch::InPlace(call)
    } else if group.spill().contains(&at) {
        ResultMatch::Split(call)
    } else if at < pairing.calls[call].message() {
        ResultMatch::Early(call)
    } else {
        ResultMatch::Displaced(call)
    };
    pairing.answers[answer].set_result_match(fate);
    pairing.calls[call].set_answer(Some(answer));
}

fn call_key<'d>(draft: &'d Draft<'_>, part: usize) -> Option<PairingKey<'d>> {
    let call = call_at(draft, part)?;
    call.id.as_deref().map(|id| (call.family, id))
}

fn answer_key<'d>(draft: &'d Draft<'_>, part: usize) -> Option<PairingKey<'d>> {
    match &draft.parts.get(part)?.kind {
        PartKind::Answer(answer) => answer.id.as_deref().map(|id| (answer.family, id)),
        _ => None,
    }
}

/// The call at a part index.
pub(crate) fn call_at<'d, 'a>(draft: &'d Draft<'a>, part: usize) -> Option<&'d DraftCall<'a>> {
    match &draft.parts.get(part)?.kind {
        PartKind::Call(call) => Some(call),
        _ => None,
    }
}

/// Whether an answer is a placeholder: ours, or one that a known agent writes.
pub(crate) fn is_placeholder_answer(draft: &Draft<'_>, part: usize) -> bool {
    match &draft.parts[part].kind {
        PartKind::Answer(_) if draft.parts[part].span.is_empty() => true,
        PartKind::Answer(answer) => {
            // A screenshot is not made of words, and media beside the words is real.
            let beside = || {
                let gemini = draft.format == Format::Gemini;
                gemini && placeholder::has_key(draft.parts[part].span.of(draft.source), "parts")
            };
            let content = answer.content.of(draft.source);
            // What a command printed before it ended is real, whatever it says.
            let ended =
                || placeholder::has_key(content, "exit_code") && !content.contains("[foxwedge] ");
            answer.family.accepts_text()
                && placeholder::is_placeholder(content)
                && !beside()
                && !ended()
        }
        _ => false,
    }
}

/// Whether an answer is a placeholder, or has nothing in it.
pub(crate) fn is_empty_answer(draft: &Draft<'_>, part: usize) -> bool {
    let empty = match &draft.parts[part].kind {
        PartKind::Answer(answer) => match answer.output {
            AnswerShape::Empty
            | AnswerShape::EmptyError
            | AnswerShape::Null
            | AnswerShape::Missing => true,
            // What a command printed has its own field; a patch may have none and only a status.
            AnswerShape::Full | AnswerShape::Malformed if answer.content.is_empty() => {
                matches!(answer.family, CallFamily::LocalShell | CallFamily::Shell)
            }
            AnswerShape::Full | AnswerShape::Malformed => {
                placeholder::is_blank(answer.content.of(draft.source))
            }
        },
        _ => false,
    };
    empty || is_placeholder_answer(draft, part)
}

/// A real answer beats a placeholder and one that says nothing, wherever it stands.
pub(crate) fn prefer_real_answers(draft: &Draft<'_>, pairing: &mut CallPairing) {
    let mut waiting: Option<HashMap<PairingKey<'_>, PlaceholderCalls>> = None;
    for second in 0..pairing.answers.len() {
        let new = pairing.answers[second];
        let call = match new.result_match() {
            ResultMatch::Duplicate(call) => Some(call),
            ResultMatch::Orphan => None,
            _ => continue,
        };
        let first = call.and_then(|call| Some((call, pairing.calls[call].answer()?)));
        if let Some((call, first)) = first
            && replaces(draft, pairing.answers[first].part(), new.part())
        {
            pairing.answers[first].set_result_match(ResultMatch::Duplicate(call));
            join_answer(draft, pairing, call, second);
            continue;
        }
        if is_empty_answer(draft, new.part()) {
            continue;
        }
        // Another call of the id may have got no more than a placeholder.
        let waiting = waiting.get_or_insert_with(|| placeholder_calls(draft, pairing));
        let key = answer_key(draft, new.part());
        let Some(calls) = key.and_then(|key| waiting.get_mut(&key)) else { continue };
        if let Some(hollow) = calls.nearest(pairing, new.message()) {
            replace_answer(draft, pairing, hollow, call.unwrap_or(hollow), second);
        }
    }
}

/// Calls of one key whose answer says nothing.
#[derive(Default)]
struct PlaceholderCalls {
    calls: Vec<usize>,
    /// How many of them were passed.
    passed: usize,
    /// Those that were passed and not given away.
    open: Vec<usize>,
}

impl PlaceholderCalls {
    /// Takes the last one before a message. Messages have to come in order.
    fn nearest(&mut self, pairing: &CallPairing, message: usize) -> Option<usize> {
        let rest = self.calls.get(self.passed..).unwrap_or(&[]);
        // A misplaced answer stands in the message of its call.
        let before = rest.iter().take_while(|&&call| pairing.calls[call].message() <= message);
        let count = before.count();
        self.open.extend(rest.iter().take(count));
        self.passed += count;
        self.open.pop()
    }
}

/// Calls whose answer says nothing, by their key.
fn placeholder_calls<'d>(
    draft: &'d Draft<'_>,
    pairing: &CallPairing,
) -> HashMap<PairingKey<'d>, PlaceholderCalls> {
    let mut calls: HashMap<PairingKey<'d>, PlaceholderCalls> = HashMap::new();
    for (index, call) in pairing.calls.iter().enumerate() {
        let answer = call.answer().map(|answer| pairing.answers[answer].part());
        let key = call_key(draft, call.part());
        if let (Some(_), Some(key)) = (answer.filter(|&part| is_empty_answer(draft, part)), key) {
            calls.entry(key).or_default().calls.push(index);
        }
    }
    calls
}

/// A real answer takes the place of the one that says nothing. Inside one turn, the real answers of
/// the id stay in the order of its calls.
fn replace_answer(
    draft: &Draft<'_>,
    pairing: &mut CallPairing,
    hollow: usize,
    last: usize,
    answer: usize,
) {
    // Calls of a turn that are looked at.
    const CALLS: usize = 64;
    let Some(first) = pairing.calls[hollow].answer() else { return };
    pairing.answers[first].set_result_match(ResultMatch::Duplicate(hollow));
    let mut call = hollow;
    if pairing.calls[hollow].turn() == pairing.calls[last].turn() {
        let key = call_key(draft, pairing.calls[hollow].part());
        for next in (hollow + 1..=last).take(CALLS) {
            let same = call_key(draft, pairing.calls[next].part()) == key;
            if let Some(moved) = pairing.calls[next].answer().filter(|_| same) {
                join_answer(draft, pairing, call, moved);
                call = next;
            }
        }
    }
    join_answer(draft, pairing, call, answer);
}

/// Whether a second answer to a call takes the place of the first.
pub(crate) fn replaces(draft: &Draft<'_>, first: usize, second: usize) -> bool {
    is_empty_answer(draft, first) && !is_empty_answer(draft, second)
        || is_placeholder_answer(draft, first) && !is_placeholder_answer(draft, second)
}

/// Whether a second answer is a placeholder, is empty, or says just what the first one says.
pub(crate) fn adds_nothing(
    draft: &Draft<'_>,
    pairing: &CallPairing,
    second: usize,
    call: usize,
) -> bool {
    let first = pairing.calls[call].answer().map(|answer| pairing.answers[answer].part());
    let content = |part: usize| match &draft.parts[part].kind {
        PartKind::Answer(answer) => Some(answer.content.of(draft.source)),
        _ => None,
    };
    let empty = |part: usize| match &draft.parts[part].kind {
        // What has no content field may say something under another name.
        PartKind::Answer(answer) => matches!(answer.output, AnswerShape::Empty | AnswerShape::Null),
        _ => false,
    };
    is_placeholder_answer(draft, second)
        || empty(second)
        || first.is_some_and(|first| content(first) == content(second))
}
