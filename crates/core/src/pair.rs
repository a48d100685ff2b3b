//! The one place where calls and answers are matched.
//!
//! Matching is by occurrence inside a turn, then by position: real histories use one id for
//! several calls, so a set of ids proves nothing. A call's answers belong into its *home*, the
//! place directly behind its turn; an answer anywhere else may still be matched, and then its
//! [`Fate`] says where it was found. A reused id shadows older calls of the same id, unless the
//! newer calls have their answers already. Calls that the provider runs itself are not paired.

use std::{collections::HashMap, ops::Range};

use crate::{
    draft::{Call, Draft, Family, Kind, Layout, Output, Role, Wire},
    placeholder,
};

mod index;
mod home;
mod apart;
mod items;
mod turns;

pub use index::{Group, PairedAnswer, PairedCall};
pub(crate) use turns::last_turn;

/// Every call and every answer of a draft, matched.
#[derive(Clone, Debug, Default)]
pub struct Pairing {
    /// Turns that hold calls, in order.
    pub groups: Vec<Group>,
    /// Calls in order.
    pub calls: Vec<PairedCall>,
    /// Answers in order.
    pub answers: Vec<PairedAnswer>,
}

/// What became of an answer. Calls are told by their index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate<I = usize> {
    /// It answers this call and stands where it belongs.
    Home(I),
    /// It answers this call, from a later user message of the same run.
    Split(I),
    /// It answers this call, from inside an assistant message.
    Misplaced(I),
    /// It answers this call, from behind something else.
    Apart(I),
    /// It answers this call, which comes only later.
    Early(I),
    /// This call has its answer already.
    Duplicate(I),
    /// No call is known.
    Orphan,
}

impl<I> Fate<I> {
    /// The call it answers.
    pub fn call(self) -> Option<I> {
        match self {
            Fate::Home(call)
            | Fate::Split(call)
            | Fate::Misplaced(call)
            | Fate::Apart(call)
            | Fate::Early(call) => Some(call),
            Fate::Duplicate(_) | Fate::Orphan => None,
        }
    }

    fn map<J>(self, index: impl FnOnce(I) -> J) -> Fate<J> {
        match self {
            Fate::Home(call) => Fate::Home(index(call)),
            Fate::Split(call) => Fate::Split(index(call)),
            Fate::Misplaced(call) => Fate::Misplaced(index(call)),
            Fate::Apart(call) => Fate::Apart(index(call)),
            Fate::Early(call) => Fate::Early(index(call)),
            Fate::Duplicate(call) => Fate::Duplicate(index(call)),
            Fate::Orphan => Fate::Orphan,
        }
    }
}

type Key<'d> = (Family, &'d str);

/// Matches every answer of the draft.
pub fn pair(draft: &Draft<'_>) -> Pairing {
    let mut pairing = Pairing::default();
    collect(draft, &mut pairing);
    group(draft, &mut pairing);
    let open = home::answer(draft, &mut pairing);
    if !open.is_empty() {
        let early = apart::look_back(draft, &mut pairing, open);
        apart::look_ahead(draft, &mut pairing, early);
        home::the_only_ones(draft, &mut pairing);
        if draft.wire == Wire::Gemini {
            home::by_name(draft, &mut pairing);
        }
        items::searches(draft, &mut pairing);
    }
    turns::part(draft, &mut pairing);
    pairing
}

fn collect(draft: &Draft<'_>, pairing: &mut Pairing) {
    let items = draft.layout() == Layout::Items;
    let hosted = items::Hosted::of(draft);
    for (message, header) in draft.messages.iter().enumerate() {
        for part in header.range() {
            match &draft.parts[part].kind {
                Kind::Call(call) if hosted.runs(call) => {}
                Kind::Answer(answer) if hosted.answers(answer) => {}
                Kind::Call(_) if items || header.role.is_assistant() => {
                    pairing.calls.push(PairedCall::new(message, part));
                }
                Kind::Answer(_) => {
                    pairing.answers.push(PairedAnswer::new(message, part));
                }
                _ => {}
            }
        }
    }
}

/// Cuts the calls into turns. In a run of assistant messages the last ones that call form one
/// turn; a call with other assistant content behind it stands alone and has no home yet.
fn group(draft: &Draft<'_>, pairing: &mut Pairing) {
    let items = draft.layout() == Layout::Items;
    let mut next = 0;
    while next < pairing.calls.len() {
        let message = pairing.calls[next].message();
        let run_end = run_of(draft, message, Role::is_assistant);
        let end_calls = next + calls_before(&pairing.calls[next..], run_end);
        let turn = if items { 0 } else { trailing_turn(&pairing.calls[next..end_calls], run_end) };
        let mut from = next;
        // Calls of the run in front of the turn: one group for each message.
        while from < next + turn {
            let own = pairing.calls[from].message();
            let to = from + calls_before(&pairing.calls[from..end_calls], own + 1);
            push(pairing, own..own + 1, own + 1..own + 1, own + 1..own + 1, from..to);
            from = to;
        }
        if from < end_calls {
            let start = pairing.calls[from].message();
            let (home, spill) = home_of(draft, run_end);
            push(pairing, start..run_end, home, spill, from..end_calls);
        }
        next = end_calls;
    }
}

fn push(
    pairing: &mut Pairing,
    messages: Range<usize>,
    home: Range<usize>,
    spill: Range<usize>,
    calls: Range<usize>,
) {
    let group = pairing.groups.len();
    for call in &mut pairing.calls[calls.clone()] {
        call.set_group(group);
    }
    pairing.groups.push(Group::new(messages, home, spill, calls));
}

/// One past the last message of the run that `from` belongs to.
fn run_of(draft: &Draft<'_>, from: usize, belongs: fn(Role) -> bool) -> usize {
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

fn home_of(draft: &Draft<'_>, end: usize) -> (Range<usize>, Range<usize>) {
    match draft.layout() {
        Layout::Chat | Layout::Items => {
            let home = end..run_of(draft, end, |role| role == Role::Answer);
            (home.clone(), home.end..home.end)
        }
        Layout::Blocks => {
            let run = run_of(draft, end, Role::is_user);
            let first = run.min(end + 1);
            (end..first, first..run)
        }
    }
}

/// Joins an answer to a call, and notes from where it answers.
pub(crate) fn join(draft: &Draft<'_>, pairing: &mut Pairing, call: usize, answer: usize) {
    let at = pairing.answers[answer].message();
    let group = &pairing.groups[pairing.calls[call].group()];
    let fate = if draft.messages[at].role.is_assistant() {
        Fate::Misplaced(call)
    } else if group.home().contains(&at) {
        Fate::Home(call)
    } else if group.spill().contains(&at) {
        Fate::Split(call)
    } else if at < pairing.calls[call].message() {
        Fate::Early(call)
    } else {
        Fate::Apart(call)
    };
    pairing.answers[answer].set_fate(fate);
    pairing.calls[call].set_answer(Some(answer));
}

fn call_key<'d>(draft: &'d Draft<'_>, part: usize) -> Option<Key<'d>> {
    let call = call_at(draft, part)?;
    call.id.as_deref().map(|id| (call.family, id))
}

fn answer_key<'d>(draft: &'d Draft<'_>, part: usize) -> Option<Key<'d>> {
    match &draft.parts.get(part)?.kind {
        Kind::Answer(answer) => answer.id.as_deref().map(|id| (answer.family, id)),
        _ => None,
    }
}

/// The call at a part index.
pub(crate) fn call_at<'d, 'a>(draft: &'d Draft<'a>, part: usize) -> Option<&'d Call<'a>> {
    match &draft.parts.get(part)?.kind {
        Kind::Call(call) => Some(call),
        _ => None,
    }
}

/// Whether an answer is a placeholder: ours, or one that a known agent writes.
pub(crate) fn is_invented(draft: &Draft<'_>, part: usize) -> bool {
    match &draft.parts[part].kind {
        Kind::Answer(_) if draft.parts[part].span.is_empty() => true,
        Kind::Answer(answer) => {
            // A screenshot is not made of words, and media beside the words is real.
            let beside = || {
                let gemini = draft.wire == Wire::Gemini;
                gemini && placeholder::has_key(draft.parts[part].span.of(draft.source), "parts")
            };
            let content = answer.content.of(draft.source);
            // What a command printed before it ended is real, whatever it says.
            let ended =
                || placeholder::has_key(content, "exit_code") && !content.contains("[foxwedge] ");
            answer.family.takes_words()
                && placeholder::is_placeholder(content)
                && !beside()
                && !ended()
        }
        _ => false,
    }
}

/// Whether an answer is a placeholder, or has nothing in it.
pub(crate) fn is_hollow(draft: &Draft<'_>, part: usize) -> bool {
    let empty = match &draft.parts[part].kind {
        Kind::Answer(answer) => match answer.output {
            Output::Empty | Output::EmptyError | Output::Null | Output::Missing => true,
            // What a command printed has its own field; a patch may have none and only a status.
            Output::Full | Output::Odd if answer.content.is_empty() => {
                matches!(answer.family, Family::LocalShell | Family::Shell)
            }
            Output::Full | Output::Odd => placeholder::is_blank(answer.content.of(draft.source)),
        },
        _ => false,
    };
    empty || is_invented(draft, part)
}

/// A real answer beats a placeholder and one that says nothing, wherever it stands.
pub(crate) fn prefer_real(draft: &Draft<'_>, pairing: &mut Pairing) {
    let mut waiting: Option<HashMap<Key<'_>, PlaceholderCalls>> = None;
    for second in 0..pairing.answers.len() {
        let new = pairing.answers[second];
        let call = match new.fate() {
            Fate::Duplicate(call) => Some(call),
            Fate::Orphan => None,
            _ => continue,
        };
        let first = call.and_then(|call| Some((call, pairing.calls[call].answer()?)));
        if let Some((call, first)) = first
            && replaces(draft, pairing.answers[first].part(), new.part())
        {
            pairing.answers[first].set_fate(Fate::Duplicate(call));
            join(draft, pairing, call, second);
            continue;
        }
        if is_hollow(draft, new.part()) {
            continue;
        }
        // Another call of the id may have got no more than a placeholder.
        let waiting = waiting.get_or_insert_with(|| placeholder_calls(draft, pairing));
        let key = answer_key(draft, new.part());
        let Some(calls) = key.and_then(|key| waiting.get_mut(&key)) else { continue };
        if let Some(hollow) = calls.nearest(pairing, new.message()) {
            take_place(draft, pairing, hollow, call.unwrap_or(hollow), second);
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
    fn nearest(&mut self, pairing: &Pairing, message: usize) -> Option<usize> {
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
    pairing: &Pairing,
) -> HashMap<Key<'d>, PlaceholderCalls> {
    let mut calls: HashMap<Key<'d>, PlaceholderCalls> = HashMap::new();
    for (index, call) in pairing.calls.iter().enumerate() {
        let answer = call.answer().map(|answer| pairing.answers[answer].part());
        let key = call_key(draft, call.part());
        if let (Some(_), Some(key)) = (answer.filter(|&part| is_hollow(draft, part)), key) {
            calls.entry(key).or_default().calls.push(index);
        }
    }
    calls
}

/// A real answer takes the place of the one that says nothing. Inside one turn, the real answers of
/// the id stay in the order of its calls.
fn take_place(draft: &Draft<'_>, pairing: &mut Pairing, hollow: usize, last: usize, answer: usize) {
    // Calls of a turn that are looked at.
    const CALLS: usize = 64;
    let Some(first) = pairing.calls[hollow].answer() else { return };
    pairing.answers[first].set_fate(Fate::Duplicate(hollow));
    let mut call = hollow;
    if pairing.calls[hollow].group() == pairing.calls[last].group() {
        let key = call_key(draft, pairing.calls[hollow].part());
        for next in (hollow + 1..=last).take(CALLS) {
            let same = call_key(draft, pairing.calls[next].part()) == key;
            if let Some(moved) = pairing.calls[next].answer().filter(|_| same) {
                join(draft, pairing, call, moved);
                call = next;
            }
        }
    }
    join(draft, pairing, call, answer);
}

/// Whether a second answer to a call takes the place of the first.
pub(crate) fn replaces(draft: &Draft<'_>, first: usize, second: usize) -> bool {
    is_hollow(draft, first) && !is_hollow(draft, second)
        || is_invented(draft, first) && !is_invented(draft, second)
}

/// Whether a second answer is a placeholder, is empty, or says just what the first one says.
pub(crate) fn says_nothing_new(
    draft: &Draft<'_>,
    pairing: &Pairing,
    second: usize,
    call: usize,
) -> bool {
    let first = pairing.calls[call].answer().map(|answer| pairing.answers[answer].part());
    let content = |part: usize| match &draft.parts[part].kind {
        Kind::Answer(answer) => Some(answer.content.of(draft.source)),
        _ => None,
    };
    let empty = |part: usize| match &draft.parts[part].kind {
        // What has no content field may say something under another name.
        Kind::Answer(answer) => matches!(answer.output, Output::Empty | Output::Null),
        _ => false,
    };
    is_invented(draft, second)
        || empty(second)
        || first.is_some_and(|first| content(first) == content(second))
}
