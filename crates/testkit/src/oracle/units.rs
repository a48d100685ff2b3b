//! What became of each message of a history that was made shorter, and whether anything was parted
//! that belongs together.
//!
//! The result says where its messages come from. Nothing of that is believed: what a message holds
//! has to be found again, whole, in order, and nothing but text may be new.

use serde_json::Value;

use super::atoms::{Atom, atoms, slices};
use super::matching::{Fate, Matching};
use super::reading::{Kind, Reading, Role, text};
use crate::dialect::Dialect;

/// A history and the shorter one that was made of it.
#[derive(Clone, Copy, Debug)]
pub struct Shorter<'a> {
    /// The format, by name.
    pub dialect: &'a str,
    /// The history; sound.
    pub before: &'a str,
    /// What was made of it.
    pub after: &'a str,
    /// For each message of the result the message that it says it comes from.
    pub origins: &'a [Option<usize>],
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Became {
    /// It stands there, byte for byte.
    Same(usize),
    /// What it holds stands there, and is not the same any more.
    Changed(usize),
    /// It is gone.
    Gone,
    /// There was nothing in it that could be found again.
    Hollow,
}

impl Became {
    /// Whether it is still there.
    pub fn is_there(self) -> bool {
        match self {
            Became::Same(_) | Became::Changed(_) => true,
            Became::Gone | Became::Hollow => false,
        }
    }
}

/// What has to stay in a shorter history.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stays {
    /// The first message.
    pub first: bool,
    /// The first thing the user said.
    pub first_wish: bool,
    /// The last thing the user said.
    pub last_wish: bool,
    /// Every message.
    pub everything: bool,
}

/// What became of every message.
///
/// # Errors
/// What is wrong with the result: things that come from nowhere, halves of messages, another order.
pub fn became(shorter: &Shorter<'_>) -> Result<Vec<Became>, Vec<String>> {
    let Some(dialect) = Dialect::named(shorter.dialect) else { return Err(vec![]) };
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap_or(Value::Null);
    let (old, new) = (parsed(shorter.before), parsed(shorter.after));
    let (before, after) = (Reading::new(dialect, &old), Reading::new(dialect, &new));
    let from = atoms(&before, &Matching::new(&before));
    let to = atoms(&after, &Matching::new(&after));
    let mut complaints = Vec::new();
    if to.len() != shorter.origins.len() {
        let (there, told) = (to.len(), shorter.origins.len());
        return Err(vec![format!("{there} messages are there and {told} are told of")]);
    }
    let told: Vec<usize> = shorter.origins.iter().flatten().copied().collect();
    if !told.is_sorted_by(|one, two| one < two) || told.last().is_some_and(|at| *at >= from.len()) {
        return Err(vec![format!("messages are out of order: {told:?} of {}", from.len())]);
    }
    let flat: Vec<(usize, &Atom)> = from
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
            // What is put between messages so that they alternate is new, even if it was there.
            if shorter.origins[at].is_none() && matches!(atom, Atom::Text(true, _)) {
                continue;
            }
            // Inside a message the order may change, among messages it may not.
            let open = |place: &usize| found[*place].is_none() && flat[*place].1 == atom;
            // What was joined is told apart by its words; of equal words the newest are meant.
            let own = shorter.origins[at].map_or(0..0, |at| start(at)..start(at + 1));
            let place = own.clone().find(open).or_else(|| (lower..upper).rev().find(open));
            match place {
                Some(place) => {
                    found[place] = Some(at);
                    lower = start(flat[place].0);
                }
                None if matches!(atom, Atom::Text(..)) => {
                    let pieces = (lower..upper).filter(|place| is_piece(flat[*place].1, atom));
                    for place in pieces.collect::<Vec<_>>() {
                        found[place] = Some(at);
                        lower = start(flat[place].0);
                    }
                }
                None => complaints.push(format!("[{at}] holds what nobody said: {atom:?}")),
            }
        }
    }
    let old = slices(dialect, shorter.before);
    let new = slices(dialect, shorter.after);
    let mut all = Vec::new();
    for (message, held) in from.iter().enumerate() {
        let mine = || (start(message)..start(message + 1)).filter(|at| weighs(flat[*at].1));
        let there: Vec<usize> = mine().filter_map(|at| found[at]).collect();
        let claimed = shorter.origins.iter().position(|origin| *origin == Some(message));
        if !there.is_empty() && there.len() < mine().count() {
            complaints.push(format!("half of [{message}] is gone"));
        }
        // Of what is all reasoning nothing else could be found.
        let thought = mine().next().is_none().then_some(claimed).flatten();
        all.push(match there.first().copied().or(thought) {
            None if held.is_empty() => Became::Hollow,
            None => Became::Gone,
            Some(at) if claimed == Some(at) && old.get(message) == new.get(at) => Became::Same(at),
            Some(at) => Became::Changed(at),
        });
        if let (Some(at), Some(Became::Gone)) = (claimed, all.last()) {
            complaints.push(format!("[{at}] is said to be [{message}], and is not"));
        }
    }
    if complaints.is_empty() { Ok(all) } else { Err(complaints) }
}

/// Whether a text stands in another as a paragraph of its own: messages that are put together.
fn is_piece(piece: &Atom, whole: &Atom) -> bool {
    let (Atom::Text(one, piece), Atom::Text(two, whole)) = (piece, whole) else { return false };
    let alone = |(at, _): (usize, &str)| {
        let (before, after) = (&whole[..at], &whole[at + piece.len()..]);
        (before.is_empty() || before.ends_with("\n\n"))
            && (after.is_empty() || after.starts_with("\n\n"))
    };
    one == two && whole.match_indices(piece.as_str()).any(alone)
}

/// Reasoning may go where its past is gone; everything else is there or not.
fn weighs(atom: &Atom) -> bool {
    !matches!(atom, Atom::Thought(_))
}

/// What was parted that belongs together.
pub fn parted(dialect: &str, before: &str, became: &[Became]) -> Vec<String> {
    let Some(dialect) = Dialect::named(dialect) else { return Vec::new() };
    let value: Value = serde_json::from_str(before).unwrap_or(Value::Null);
    let reading = Reading::new(dialect, &value);
    let matching = Matching::new(&reading);
    let mut bound: Vec<(usize, usize, String)> = Vec::new();
    for (number, call) in matching.calls.iter().enumerate() {
        let answers = matching.answers.iter().filter(|answer| answer.fate == Fate::Of(number));
        for answer in answers {
            let (one, two) = (call.position.0, answer.position.0);
            bound.push((one.min(two), one.max(two), "a call and its answer".to_owned()));
        }
    }
    for (start, end) in reading.assistant_runs() {
        bound.push((start, end - 1, "one turn".to_owned()));
    }
    // Nothing hangs on instructions at the beginning.
    let count = reading.messages.len();
    let leading = (0..count).take_while(|at| reading.role(*at) == Some(Role::System)).count();
    for at in leading + 1..count {
        let old = dialect == Dialect::Chat && reading.role(at) == Some(Role::Other);
        if old || is_carried(&reading, at) {
            bound.push((at - 1, at, "a message and what hangs on it".to_owned()));
        }
    }
    bound.extend(approvals(&reading));
    let is_there = |at: usize| became.get(at).is_some_and(|became| became.is_there());
    let held = atoms(&reading, &matching);
    let solid = |at: &usize| held[*at].iter().any(weighs);
    let thought = |at: &usize| !held[*at].is_empty() && !solid(at);
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

/// Requests for a person's approval, and what the person said.
fn approvals(reading: &Reading<'_>) -> Vec<(usize, usize, String)> {
    let mut bound = Vec::new();
    for (at, message) in reading.messages.iter().enumerate() {
        let Some(wanted) = text(message.value, "approval_request_id") else { continue };
        let asked = |other: &usize| {
            let other = reading.messages[*other].value;
            text(other, "type") == Some("mcp_approval_request") && text(other, "id") == Some(wanted)
        };
        let before = (0..at).rev().find(asked);
        bound.extend(before.map(|first| (first, at, "an approval and its request".to_owned())));
    }
    bound
}

/// The messages that have to stay.
pub fn stays(dialect: &str, before: &str, which: Stays) -> Vec<(usize, &'static str)> {
    let Some(dialect) = Dialect::named(dialect) else { return Vec::new() };
    let value: Value = serde_json::from_str(before).unwrap_or(Value::Null);
    let reading = Reading::new(dialect, &value);
    let matching = Matching::new(&reading);
    let count = reading.messages.len();
    let mut stay = Vec::new();
    let system = |at: &usize| reading.role(*at) == Some(Role::System);
    stay.extend((0..count).take_while(system).map(|at| (at, "instructions at the beginning")));
    for call in matching.calls.iter().filter(|call| !call.answered) {
        stay.push((call.position.0, "a call that nobody answered yet"));
    }
    let refers = |at: &usize| text(reading.messages[*at].value, "type") == Some("item_reference");
    stay.extend((0..count).filter(refers).map(|at| (at, "what lies on the server")));
    // A message without anything in it can neither stay nor go.
    let held = atoms(&reading, &matching);
    let wish = |at: &usize| {
        let message = &reading.messages[*at];
        message.role == Role::User && !is_carried(&reading, *at)
    };
    // Neither are our own words for a tool wishes of the user.
    let ours = |atom: &Atom| match atom {
        Atom::Text(_, text) => text.starts_with("[foxwedge] "),
        _ => false,
    };
    let own = |at: &usize| {
        // What is shown beside answers came from a tool.
        // So did calls of the provider, whoever they are said to be from.
        let tools = [Kind::Answer, Kind::ServerCall, Kind::ServerAnswer];
        let told = held[*at].iter().any(ours)
            || tools.into_iter().any(|kind| reading.messages[*at].has(kind));
        let said = |atom: &Atom| matches!(atom, Atom::Text(..)) && !ours(atom);
        held[*at].iter().any(|atom| said(atom) || !told && weighs(atom))
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
    stay.retain(|(at, _)| held[*at].iter().any(weighs));
    stay
}

/// Media that a repair carried out of an answer, into a message of its own.
fn is_carried(reading: &Reading<'_>, at: usize) -> bool {
    let message = &reading.messages[at];
    let first = message.value.to_string();
    message.role == Role::User && first.contains("[foxwedge] Media from the answer")
}

/// How many messages and how many calls a document has.
pub fn count(dialect: &str, document: &str) -> (usize, usize) {
    let Some(dialect) = Dialect::named(dialect) else { return (0, 0) };
    let value: Value = serde_json::from_str(document).unwrap_or(Value::Null);
    let reading = Reading::new(dialect, &value);
    (reading.messages.len(), Matching::new(&reading).calls.len())
}

/// How many messages at the beginning of two documents have the same bytes.
pub fn common(dialect: &str, one: &str, two: &str) -> usize {
    let Some(dialect) = Dialect::named(dialect) else { return 0 };
    let (one, two) = (slices(dialect, one), slices(dialect, two));
    one.iter().zip(&two).take_while(|(one, two)| one == two).count()
}

#[cfg(test)]
mod tests;
