//! What happened to each message of a history that was compacted, and whether anything was
//! separated that belongs together.
//!
//! The result states where its messages come from. The oracle does not rely on that: the content of
//! a message must be found again, complete and in order, and only text may be new.

use serde_json::Value;

use super::atoms::{MessageAtom, atoms, slices};
use super::items::is_reference;
use super::matching::{CallMatching, MatchOutcome};
use super::reading::{DocumentReading, OracleBlockKind, OracleRole, text};
use crate::dialect::TestFormat;

/// A history and its compacted form.
#[derive(Clone, Copy, Debug)]
pub struct ShorterHistory<'a> {
    /// The name of the format.
    pub format: &'a str,
    /// The history, which is valid.
    pub before: &'a str,
    /// The compacted history.
    pub after: &'a str,
    /// For each message of the result, the stated original message.
    pub origins: &'a [Option<usize>],
}

/// What happened to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageSurvival {
    /// Unchanged, at this position.
    Same(usize),
    /// Present with changes, at this position.
    Changed(usize),
    /// Removed.
    Gone,
    /// The message had no content that could be found again.
    Hollow,
}

impl MessageSurvival {
    /// Whether it is still present.
    pub fn is_there(self) -> bool {
        match self {
            MessageSurvival::Same(_) | MessageSurvival::Changed(_) => true,
            MessageSurvival::Gone | MessageSurvival::Hollow => false,
        }
    }
}

/// Which messages must stay in a compacted history.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequiredMessages {
    /// The first message.
    pub first: bool,
    /// The first request of the user.
    pub first_wish: bool,
    /// The last request of the user.
    pub last_wish: bool,
    /// Every message.
    pub everything: bool,
}

/// What happened to every message.
///
/// # Errors
/// What is wrong with the result: content without a source, partial messages, a different order.
pub fn became(shorter: &ShorterHistory<'_>) -> Result<Vec<MessageSurvival>, Vec<String>> {
    let Some(format) = TestFormat::named(shorter.format) else { return Err(vec![]) };
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap_or(Value::Null);
    let (old, new) = (parsed(shorter.before), parsed(shorter.after));
    let (before, after) = (DocumentReading::new(format, &old), DocumentReading::new(format, &new));
    let from = atoms(&before, &CallMatching::new(&before));
    let to = atoms(&after, &CallMatching::new(&after));
    let mut complaints = Vec::new();
    if to.len() != shorter.origins.len() {
        let (there, stated) = (to.len(), shorter.origins.len());
        return Err(vec![format!("{there} messages are there and {stated} are told of")]);
    }
    let stated: Vec<usize> = shorter.origins.iter().flatten().copied().collect();
    if !stated.is_sorted_by(|one, two| one < two)
        || stated.last().is_some_and(|at| *at >= from.len())
    {
        return Err(vec![format!("messages are out of order: {stated:?} of {}", from.len())]);
    }
    let flat: Vec<(usize, &MessageAtom)> = from
        .iter()
        .enumerate()
        .flat_map(|(at, atoms)| atoms.iter().map(move |a| (at, a)))
        .collect();
    let mut found: Vec<Option<usize>> = vec![None; flat.len()];
    let start = |message: usize| flat.partition_point(|(at, _)| *at < message);
    let mut lower = 0;
    for (at, atoms) in to.iter().enumerate() {
        lower = shorter.origins[at].map_or(lower, |origin| lower.max(start(origin)));
        let next = shorter.origins.get(at + 1..).unwrap_or(&[]).iter().flatten().next();
        let upper = next.map_or(flat.len(), |origin| start(*origin));
        for atom in atoms {
            // A text that is inserted so that roles alternate is new, even if the history has the
            // same text.
            if shorter.origins[at].is_none() && matches!(atom, MessageAtom::Text(true, _)) {
                continue;
            }
            // The order may change within a message, but not between messages.
            let open = |place: &usize| found[*place].is_none() && flat[*place].1 == atom;
            // Joined messages are identified by their text; of equal texts, the newest one counts.
            let own = shorter.origins[at].map_or(0..0, |at| start(at)..start(at + 1));
            let place = own.clone().find(open).or_else(|| (lower..upper).rev().find(open));
            match place {
                Some(place) => {
                    found[place] = Some(at);
                    lower = start(flat[place].0);
                }
                None if matches!(atom, MessageAtom::Text(..)) => {
                    let paragraphs = (lower..upper).filter(|place| is_piece(flat[*place].1, atom));
                    for place in paragraphs.collect::<Vec<_>>() {
                        found[place] = Some(at);
                        lower = start(flat[place].0);
                    }
                }
                None => complaints.push(format!("[{at}] holds what nobody said: {atom:?}")),
            }
        }
    }
    let old = slices(format, shorter.before);
    let new = slices(format, shorter.after);
    let mut all = Vec::new();
    for (message, contents) in from.iter().enumerate() {
        let mine = || (start(message)..start(message + 1)).filter(|at| weighs(flat[*at].1));
        let there: Vec<usize> = mine().filter_map(|at| found[at]).collect();
        let claimed = shorter.origins.iter().position(|origin| *origin == Some(message));
        if !there.is_empty() && there.len() < mine().count() {
            complaints.push(format!("half of [{message}] is gone"));
        }
        // A message with only reasoning is found by its reasoning.
        let thought = mine().next().is_none().then_some(claimed).flatten();
        all.push(match there.first().copied().or(thought) {
            None if contents.is_empty() => MessageSurvival::Hollow,
            None => MessageSurvival::Gone,
            Some(at) if claimed == Some(at) && old.get(message) == new.get(at) => {
                MessageSurvival::Same(at)
            }
            Some(at) => MessageSurvival::Changed(at),
        });
        if let (Some(at), Some(MessageSurvival::Gone)) = (claimed, all.last()) {
            complaints.push(format!("[{at}] is said to be [{message}], and is not"));
        }
    }
    if complaints.is_empty() { Ok(all) } else { Err(complaints) }
}

/// Whether a text is a paragraph of another: messages that were joined.
fn is_piece(paragraph: &MessageAtom, whole: &MessageAtom) -> bool {
    let (MessageAtom::Text(one, paragraph), MessageAtom::Text(two, whole)) = (paragraph, whole)
    else {
        return false;
    };
    let alone = |(at, _): (usize, &str)| {
        let (before, after) = (&whole[..at], &whole[at + paragraph.len()..]);
        (before.is_empty() || before.ends_with("\n\n"))
            && (after.is_empty() || after.starts_with("\n\n"))
    };
    one == two && whole.match_indices(paragraph.as_str()).any(alone)
}

/// Whether an atom must be present. Reasoning may be dropped if the history before it is gone.
fn weighs(atom: &MessageAtom) -> bool {
    !matches!(atom, MessageAtom::Thought(_))
}

/// What was separated although it belongs together.
pub fn parted(format: &str, before: &str, became: &[MessageSurvival]) -> Vec<String> {
    let Some(format) = TestFormat::named(format) else { return Vec::new() };
    let value: Value = serde_json::from_str(before).unwrap_or(Value::Null);
    let reading = DocumentReading::new(format, &value);
    let matching = CallMatching::new(&reading);
    let mut bound: Vec<(usize, usize, String)> = Vec::new();
    for (number, call) in matching.calls.iter().enumerate() {
        let answers =
            matching.answers.iter().filter(|answer| answer.fate == MatchOutcome::Of(number));
        for answer in answers {
            let (one, two) = (call.position.0, answer.position.0);
            bound.push((one.min(two), one.max(two), "a call and its answer".to_owned()));
        }
    }
    for (start, end) in reading.assistant_runs() {
        bound.push((start, end - 1, "one turn".to_owned()));
    }
    // Instructions at the beginning belong to no unit.
    let count = reading.messages.len();
    let leading = (0..count).take_while(|at| reading.role(*at) == Some(OracleRole::System)).count();
    for at in leading + 1..count {
        let old = format == TestFormat::Chat && reading.role(at) == Some(OracleRole::Other);
        if old || is_carried(&reading, at) {
            bound.push((at - 1, at, "a message and what hangs on it".to_owned()));
        }
    }
    bound.extend(approvals(&reading));
    let is_there = |at: usize| became.get(at).is_some_and(|became| became.is_there());
    let contents = atoms(&reading, &matching);
    let solid = |at: &usize| contents[*at].iter().any(weighs);
    let thought = |at: &usize| !contents[*at].is_empty() && !solid(at);
    let mut complaints = Vec::new();
    for (first, last, what) in bound {
        let whole = (first..=last).filter(solid).all(is_there);
        if !whole && (first..=last).filter(solid).any(is_there) {
            complaints.push(format!("[{first}]..=[{last}] was parted: {what}"));
        }
        if !whole && (first..=last).filter(thought).any(is_there) {
            complaints.push(format!("[{first}]..=[{last}]: reasoning stayed without its turn"));
        }
    }
    complaints.sort();
    complaints.dedup();
    complaints
}

/// Approval requests, and the replies to them.
fn approvals(reading: &DocumentReading<'_>) -> Vec<(usize, usize, String)> {
    let mut bound = Vec::new();
    for (at, message) in reading.messages.iter().enumerate() {
        let Some(wanted) = text(message.value, "approval_request_id") else { continue };
        let requested = |other: &usize| {
            let other = reading.messages[*other].value;
            text(other, "type") == Some("mcp_approval_request") && text(other, "id") == Some(wanted)
        };
        let before = (0..at).rev().find(requested);
        bound.extend(before.map(|first| (first, at, "an approval and its request".to_owned())));
    }
    bound
}

/// The messages that must stay.
pub fn stays(format: &str, before: &str, which: RequiredMessages) -> Vec<(usize, &'static str)> {
    let Some(format) = TestFormat::named(format) else { return Vec::new() };
    let value: Value = serde_json::from_str(before).unwrap_or(Value::Null);
    let reading = DocumentReading::new(format, &value);
    let matching = CallMatching::new(&reading);
    let count = reading.messages.len();
    let mut stay = Vec::new();
    let system = |at: &usize| reading.role(*at) == Some(OracleRole::System);
    stay.extend((0..count).take_while(system).map(|at| (at, "instructions at the beginning")));
    for call in matching.calls.iter().filter(|call| !call.answered) {
        stay.push((call.position.0, "a call that nobody answered yet"));
    }
    let items = format == TestFormat::Responses;
    let refers = |at: &usize| items && is_reference(reading.messages[*at].value);
    stay.extend((0..count).filter(refers).map(|at| (at, "what lies on the server")));
    // An empty message can neither stay nor be removed.
    let contents = atoms(&reading, &matching);
    let wish = |at: &usize| {
        let message = &reading.messages[*at];
        message.role == OracleRole::User && !is_carried(&reading, *at)
    };
    // Our own text for a tool is not a request of the user either.
    let ours = |atom: &MessageAtom| match atom {
        MessageAtom::Text(_, text) => text.starts_with("[foxwedge] "),
        _ => false,
    };
    let own = |at: &usize| {
        // Media next to results came from a tool. So did provider-run calls, whatever their role.
        let tools =
            [OracleBlockKind::Answer, OracleBlockKind::ServerCall, OracleBlockKind::ServerAnswer];
        let from_tool = contents[*at].iter().any(ours)
            || tools.into_iter().any(|kind| reading.messages[*at].has(kind));
        let is_text = |atom: &MessageAtom| matches!(atom, MessageAtom::Text(..)) && !ours(atom);
        contents[*at].iter().any(|atom| is_text(atom) || !from_tool && weighs(atom))
    };
    let wishes: Vec<usize> = (0..count).filter(wish).filter(own).collect();
    let named = [
        (which.first && count > 0, Some(0), "the first message"),
        (which.first_wish, wishes.first().copied(), "the first thing the user said"),
        (which.last_wish, wishes.last().copied(), "the last thing the user said"),
        (true, count.checked_sub(1), "the newest message"),
    ];
    stay.extend(
        named.into_iter().filter(|(is, ..)| *is).filter_map(|(_, at, why)| Some((at?, why))),
    );
    if which.everything {
        stay.extend((0..count).map(|at| (at, "every message")));
    }
    stay.retain(|(at, _)| contents[*at].iter().any(weighs));
    stay
}

/// Whether the media was moved by a repair from a result into its own message.
fn is_carried(reading: &DocumentReading<'_>, at: usize) -> bool {
    let message = &reading.messages[at];
    let first = message.value.to_string();
    message.role == OracleRole::User && first.contains("[foxwedge] Media from the answer")
}

/// The number of messages and of calls in a document.
pub fn count(format: &str, document: &str) -> (usize, usize) {
    let Some(format) = TestFormat::named(format) else { return (0, 0) };
    let value: Value = serde_json::from_str(document).unwrap_or(Value::Null);
    let reading = DocumentReading::new(format, &value);
    (reading.messages.len(), CallMatching::new(&reading).calls.len())
}

/// The number of identical messages at the beginning of two documents.
pub fn common(format: &str, one: &str, two: &str) -> usize {
    let Some(format) = TestFormat::named(format) else { return 0 };
    let (one, two) = (slices(format, one), slices(format, two));
    one.iter().zip(&two).take_while(|(one, two)| one == two).count()
}

#[cfg(test)]
mod tests;
