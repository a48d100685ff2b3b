//! Matches calls and answers; no other module does.
//!
//! Matching is by occurrence inside a turn, then by position: real histories use one id for several
//! calls, so a set of ids proves nothing. The answers of a call belong in its *home*, directly
//! after its turn. An answer anywhere else may still match; its [`ResultMatch`] records where it
//! is. A reused id shadows older calls of the same id, unless the newer calls already have answers.
//! Calls that the provider runs itself are not paired.

use std::ops::Range;

use crate::{
    draft::{
        AnswerShape, CallFamily, Draft, DraftCall, Format, Message, MessageLayout, PartKind, Role,
        TextShape,
    },
    placeholder,
};

mod index;
mod in_turn;
mod across_turns;
mod items;
mod real_answers;
mod turns;
mod unknown;

pub(crate) use index::to_u32;
pub use index::{PairedAnswer, PairedCall, Turn};
pub(crate) use real_answers::prefer_real_answers;
pub(crate) use turns::last_turn;

/// All calls and answers of a draft, matched.
#[derive(Clone, Debug, Default)]
pub struct CallPairing {
    /// Turns that hold calls, in order.
    pub turns: Vec<Turn>,
    /// Calls in order.
    pub calls: Vec<PairedCall>,
    /// Answers in order.
    pub answers: Vec<PairedAnswer>,
    /// Messages with a call that the model does not wait for and that has no answer yet.
    pub waiting_calls: Vec<usize>,
    /// Turns (messages) that hold something of an unknown type. Their calls and answers are not
    /// paired, and nothing in them changes.
    pub unknown_turns: Vec<Range<usize>>,
    /// The number of calls that are not paired because of such a turn.
    pub unknown_calls: usize,
}

impl CallPairing {
    /// Finds the turns that hold something of an unknown type, and pairs nothing.
    pub(crate) fn only_unknown_turns(draft: &Draft<'_>) -> CallPairing {
        CallPairing { unknown_turns: unknown::unknown_turns(draft), ..CallPairing::default() }
    }

    /// Whether a call has no result and needs one.
    pub(crate) fn needs_result(&self, draft: &Draft<'_>, call: usize) -> bool {
        let paired = self.calls[call];
        let may_stay_open = || {
            let outline = call_at(draft, paired.part());
            outline.is_some_and(|call| items::may_stay_open(draft, call))
        };
        paired.answer().is_none() && !may_stay_open()
    }

    /// Whether a message belongs to a turn that holds something of an unknown type.
    pub fn is_in_unknown_turn(&self, message: usize) -> bool {
        unknown::contains(&self.unknown_turns, message)
    }
}

/// How an answer matches a call. Calls are identified by their index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResultMatch<I = usize> {
    /// It answers this call and is in its home.
    InPlace(I),
    /// It answers this call, from a later user message after the home.
    Split(I),
    /// It answers this call, from inside an assistant message.
    Misplaced(I),
    /// It answers this call, from a position further down.
    Displaced(I),
    /// It answers this call, but is before it.
    Early(I),
    /// This call already has an answer.
    Duplicate(I),
    /// It matches no call.
    Orphan,
}

impl<I> ResultMatch<I> {
    /// The call it answers; none for duplicates and orphans.
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

/// Matches the answers of a draft with its calls.
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
        if draft.format == Format::OpenaiResponses {
            items::match_other_types(draft, &mut pairing);
        }
    }
    turns::split_turns(draft, &mut pairing);
    pairing
}

fn collect_parts(draft: &Draft<'_>, pairing: &mut CallPairing) {
    let items = draft.layout() == MessageLayout::Items;
    let hosted = items::HostedCalls::of(draft);
    pairing.unknown_turns = unknown::unknown_turns(draft);
    reserve_pairs(draft, pairing);
    for (message, header) in draft.messages.iter().enumerate() {
        for part in header.range() {
            match &draft.parts[part].kind {
                PartKind::Call(_) if pairing.is_in_unknown_turn(message) => {
                    pairing.unknown_calls += 1;
                }
                PartKind::Answer(_) if pairing.is_in_unknown_turn(message) => {}
                PartKind::Call(call) if hosted.is_hosted_call(call) => {
                    let waits = call.family != CallFamily::ToolSearch;
                    pairing.waiting_calls.extend(waits.then_some(message));
                }
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

/// Reserves as much as is needed at most: lists that double while they grow leave gaps behind.
fn reserve_pairs(draft: &Draft<'_>, pairing: &mut CallPairing) {
    let (mut calls, mut answers, mut turns) = (0, 0, 0);
    for message in &draft.messages {
        let before = calls;
        for part in draft.parts_of(message) {
            calls += usize::from(matches!(part.kind, PartKind::Call(_)));
            answers += usize::from(matches!(part.kind, PartKind::Answer(_)));
        }
        turns += usize::from(calls > before);
    }
    pairing.calls.reserve_exact(calls);
    pairing.answers.reserve_exact(answers);
    pairing.turns.reserve_exact(turns);
}

/// Groups the calls into turns. In a run of assistant messages, the last messages with calls form
/// one turn; a call followed by other assistant content is a turn by itself and has no home yet,
/// unless [`turn_of_results`] says otherwise.
fn group_turns(draft: &Draft<'_>, pairing: &mut CallPairing) {
    let items = draft.layout() == MessageLayout::Items;
    let mut next = 0;
    while next < pairing.calls.len() {
        let message = pairing.calls[next].message();
        let run_end = find_run_end(draft, message, |message| message.role.is_assistant());
        let end_calls = next + calls_before(&pairing.calls[next..], run_end);
        let mut lone_calls =
            if items { 0 } else { trailing_turn(&pairing.calls[next..end_calls], run_end) };
        if draft.format == Format::Gemini && lone_calls > 0 {
            let calls = &pairing.calls[next..end_calls];
            lone_calls = turn_of_results(draft, calls, &pairing.answers, lone_calls, run_end);
        }
        let mut from = next;
        // Calls of the run before the turn: one turn for each message.
        while from < next + lone_calls {
            let at = pairing.calls[from].message();
            let to = from + calls_before(&pairing.calls[from..end_calls], at + 1);
            push_turn(pairing, at..at + 1, at + 1..at + 1, at + 1..at + 1, from..to);
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
    let turn = pairing.turns.len();
    for call in &mut pairing.calls[calls.clone()] {
        call.set_turn(turn);
    }
    pairing.turns.push(Turn::new(messages, home, spill, calls));
}

/// One past the last message of the run that `from` belongs to.
fn find_run_end(draft: &Draft<'_>, from: usize, belongs: fn(&Message) -> bool) -> usize {
    let rest = draft.messages.get(from..).unwrap_or(&[]);
    from + rest.iter().take_while(|message| belongs(message)).count()
}

fn calls_before(calls: &[PairedCall], end: usize) -> usize {
    calls.iter().take_while(|call| call.message() < end).count()
}

/// The number of calls in the run before its last turn: walks back from the end of the run over
/// messages with calls.
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

/// Clients of Gemini keep every chunk of a stream as a content, so that thoughts and empty texts
/// stand behind the calls of a turn or between them. The turn then has as many calls as there are
/// results behind the run. Returns the number of calls before it, given that of other formats.
fn turn_of_results(
    draft: &Draft<'_>,
    calls: &[PairedCall],
    answers: &[PairedAnswer],
    mut lone_calls: usize,
    run_end: usize,
) -> usize {
    let (home, spill) = find_home(draft, run_end);
    let first = answers.partition_point(|answer| answer.message() < home.start);
    let end = answers.partition_point(|answer| answer.message() < spill.end.max(home.end));
    let mut start = calls.get(lone_calls).map_or(run_end, |call| call.message());
    while calls.len() - lone_calls < end - first
        && let Some(last) = lone_calls.checked_sub(1).and_then(|last| calls.get(last))
    {
        let message = last.message();
        if !(message + 1..start).all(|at| is_chunk_without_text(draft, at)) {
            break;
        }
        start = message;
        lone_calls = calls.partition_point(|call| call.message() < message);
    }
    lone_calls
}

/// Whether a content holds nothing but thoughts and empty texts.
fn is_chunk_without_text(draft: &Draft<'_>, message: usize) -> bool {
    draft.parts_of(&draft.messages[message]).iter().all(|part| match part.kind {
        PartKind::Reasoning(_) => true,
        PartKind::Text(shape) => {
            matches!(shape, TextShape::Empty | TextShape::Signature | TextShape::Missing)
        }
        _ => false,
    })
}

fn find_home(draft: &Draft<'_>, end: usize) -> (Range<usize>, Range<usize>) {
    match draft.layout() {
        MessageLayout::Chat | MessageLayout::Items => {
            let home = end..find_run_end(draft, end, |message| message.role == Role::Answer);
            (home.clone(), home.end..home.end)
        }
        MessageLayout::Blocks => {
            let run = find_run_end(draft, end, Message::can_hold_results);
            let first = run.min(end + 1);
            (end..first, first..run)
        }
    }
}

/// Joins an answer to a call, and records where the answer is.
pub(crate) fn join_answer(
    draft: &Draft<'_>,
    pairing: &mut CallPairing,
    call: usize,
    answer: usize,
) {
    let at = pairing.answers[answer].message();
    let turn = &pairing.turns[pairing.calls[call].turn()];
    let result_match = if draft.messages[at].role.is_assistant() {
        ResultMatch::Misplaced(call)
    } else if turn.home().contains(&at) {
        ResultMatch::InPlace(call)
    } else if turn.spill().contains(&at) {
        ResultMatch::Split(call)
    } else if at < pairing.calls[call].message() {
        ResultMatch::Early(call)
    } else {
        ResultMatch::Displaced(call)
    };
    pairing.answers[answer].set_result_match(result_match);
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

/// Whether an answer is a placeholder of foxwedge or of a known agent.
pub(crate) fn is_placeholder_answer(draft: &Draft<'_>, part: usize) -> bool {
    match &draft.parts[part].kind {
        PartKind::Answer(_) if draft.parts[part].span.is_empty() => true,
        PartKind::Answer(answer) => {
            // A screenshot is not text, and media beside the text is real content.
            let has_media_parts = || draft.format == Format::Gemini && has_media(draft, part);
            let content = answer.content.of(draft.source);
            // The output of a command that ended is real, whatever its text.
            let has_exit_code =
                || placeholder::has_key(content, "exit_code") && !content.contains("[foxwedge] ");
            answer.family.accepts_text()
                && placeholder::is_placeholder(content)
                && !has_media_parts()
                && !has_exit_code()
        }
        _ => false,
    }
}

/// Whether a function response of Gemini has media beside its output.
fn has_media(draft: &Draft<'_>, part: usize) -> bool {
    let span = draft.parts[part].span;
    let field = |object, name| foxwedge_json::field_value(draft.source, object, name);
    let response = field(span, "functionResponse").or_else(|| field(span, "function_response"));
    match response {
        Some(response) => field(response, "parts").is_some(),
        // In a session file the response may lie deeper.
        None => placeholder::has_key(span.of(draft.source), "parts"),
    }
}

/// Whether an answer is a placeholder or has no content.
pub(crate) fn is_empty_answer(draft: &Draft<'_>, part: usize) -> bool {
    let empty = match &draft.parts[part].kind {
        PartKind::Answer(answer) => match answer.output {
            AnswerShape::Empty
            | AnswerShape::EmptyError
            | AnswerShape::Null
            | AnswerShape::Missing => true,
            // Command output has its own field; a patch may have only a status.
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

/// Whether a second answer to a call replaces the first.
pub(crate) fn replaces(draft: &Draft<'_>, first: usize, second: usize) -> bool {
    let has_output = |part: usize| match &draft.parts[part].kind {
        PartKind::Answer(answer) => !answer.content.is_empty(),
        _ => false,
    };
    is_empty_answer(draft, first) && !is_empty_answer(draft, second)
        // A patch may have only a status.
        || is_patch(draft, first) && !has_output(first) && has_output(second)
        || is_placeholder_answer(draft, first) && !is_placeholder_answer(draft, second)
}

fn is_patch(draft: &Draft<'_>, part: usize) -> bool {
    matches!(&draft.parts[part].kind, PartKind::Answer(answer) if answer.family == CallFamily::ApplyPatch)
}

/// Whether a second answer is a placeholder, is empty, or has the same content as the first.
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
        // An answer without a content field may hold content under another name.
        PartKind::Answer(answer) => matches!(answer.output, AnswerShape::Empty | AnswerShape::Null),
        _ => false,
    };
    is_placeholder_answer(draft, second)
        || empty(second)
        || first.is_some_and(|first| content(first) == content(second))
}
