//! One valid order out of what the client says and what the agent knows: a client that answered some
//! of several calls was told the others once more, and repeats that.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use foxwedge_core::{Layout, Wire};
use foxwedge_dialect::{
    ReadError, Reading, Want,
    canon::{At, Bit, History, Pairs, Said, Speaker, decode},
    read,
};
use serde_json::Value;

use crate::Call;

/// A history, with every call listed once.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Merged {
    /// The request without the turns that list open calls once more; `None` if there are none.
    pub body: Option<String>,
    /// Calls of the last turn that nothing answers, if nobody said anything behind it but answers.
    pub open: Vec<Call>,
    /// Messages of the model that list these calls, by their place in the list: behind each of them
    /// the conversation may go on with the answers. None if no call is open.
    pub listed: Vec<usize>,
    /// How many messages there are up to the last of the model: what is behind them is new.
    pub heard: usize,
    /// Answers behind the last message of the model to calls that nobody made.
    pub unknown: Vec<String>,
}

/// Takes out what lists open calls once more: answers then belong to the turn that listed them
/// first. Which call is open, the engine's pairing says ([`foxwedge_dialect::canon::Pairs`]).
///
/// # Errors
/// If the text is not JSON, or holds no list of messages of that format.
pub fn merged(source: &str, wire: Wire) -> Result<Merged, ReadError> {
    let reading = read(source, wire, Want::default())?;
    let history = decode(source, wire)?;
    let listed = reading.draft.messages.len();
    // Instructions that stand beside the list come first.
    let Some(beside) = history.messages.len().checked_sub(listed).filter(|_| listed > 0) else {
        return Ok(Merged::default());
    };
    let mut walk = Walk { pairs: Pairs::of(&history), turn: None, again: Vec::new() };
    let mut next = beside;
    while let Some(said) = history.messages.get(next) {
        let run = next..next + run_of(&history, next);
        match said.role {
            Speaker::Assistant => walk.model(&history, run.clone(), wire.layout()),
            Speaker::User | Speaker::System | Speaker::Developer => walk.others(&history, &run),
        }
        next = run.end;
    }
    let unknown = unknown(&history);
    let first = walk.turn.as_ref().and_then(|turn| turn.calls.first()).map(|at| at.message);
    let open = walk.turn.map_or_else(Vec::new, |turn| turn.into_calls(&history));
    let again: Vec<_> = walk.again.iter().map(|at| at - beside).collect();
    let model = |at: &usize| history.messages.get(*at).is_some_and(is_model);
    let ends = |at: &usize| model(at) && !model(&(at + 1));
    let from = first.filter(|_| !open.is_empty()).unwrap_or(history.messages.len());
    let listed = (from..history.messages.len()).filter(ends).map(|at| at - beside).collect();
    let heard = history.messages.iter().rposition(is_model).map_or(0, |last| last + 1 - beside);
    Ok(Merged { body: without(&reading, &again), open, listed, heard, unknown })
}

fn is_model(said: &Said<'_>) -> bool {
    said.role == Speaker::Assistant
}

/// Answers behind the last message of the model to calls that nobody made.
fn unknown(history: &History<'_>) -> Vec<String> {
    let called: HashSet<&str> = calls(history, 0..history.messages.len())
        .into_iter()
        .filter_map(|at| call(history, at)?.id.as_deref())
        .collect();
    let new = history.messages.iter().rev().take_while(|said| !is_model(said));
    let mut unknown: Vec<String> = new
        .flat_map(|said| said.parts.iter().rev())
        .filter_map(|part| match part.bit() {
            Bit::Answer(answer) => answer.id.as_deref().filter(|id| !called.contains(id)),
            Bit::Text(_) | Bit::Media(_) | Bit::Reasoning(_) | Bit::Call(_) | Bit::Other(_) => None,
        })
        .map(str::to_owned)
        .collect();
    unknown.reverse();
    unknown
}

/// How many messages from this one on have the same speaker.
fn run_of(history: &History<'_>, from: usize) -> usize {
    let rest = history.messages.get(from..).unwrap_or(&[]);
    let role = rest.first().map(|said| said.role);
    rest.iter().take_while(|said| Some(said.role) == role).count()
}

/// A walk over a history.
struct Walk<'h> {
    pairs: Pairs,
    /// The last turn that calls, if nothing but answers stands behind it.
    turn: Option<Turn<'h>>,
    /// Messages that only list open calls once more.
    again: Vec<usize>,
}

/// A call by its id and its name.
type Key<'h> = (&'h str, &'h str);

/// A turn that calls.
#[derive(Default)]
struct Turn<'h> {
    calls: Vec<At>,
    /// Its calls that have no answer so far; ids may repeat.
    open: HashMap<Key<'h>, usize>,
    /// One of the open calls has no id: nobody can ask for its answer.
    nameless: bool,
}

impl<'h> Walk<'h> {
    /// A run of messages of the model. In a list of items it is one reply.
    fn model(&mut self, history: &'h History<'_>, run: Range<usize>, layout: Layout) {
        match layout {
            Layout::Items => self.reply(history, run, true),
            Layout::Chat | Layout::Blocks => {
                for at in run.clone() {
                    self.reply(history, at..at + 1, at == run.start);
                }
            }
        }
    }

    /// One reply of the model. `first`: somebody else stands before it.
    fn reply(&mut self, history: &'h History<'_>, run: Range<usize>, first: bool) {
        let calls = calls(history, run.clone());
        if self.lists_again(history, &run, &calls) {
            return self.again.extend(run);
        }
        if calls.is_empty() || first {
            self.turn = None;
        }
        for at in calls {
            let turn = self.turn.get_or_insert_default();
            turn.calls.push(at);
            match key(history, at) {
                Some(key) => *turn.open.entry(key).or_default() += 1,
                None => turn.nameless |= self.pairs.partner(at).is_none(),
            }
        }
    }

    /// Whether a reply holds nothing but calls that are open.
    fn lists_again(&self, history: &'h History<'_>, run: &Range<usize>, calls: &[At]) -> bool {
        let Some(turn) = &self.turn else { return false };
        let mut listed: HashMap<Key<'_>, usize> = HashMap::new();
        let mut is_open = |at: &At| {
            let Some(key) = key(history, *at) else { return false };
            let count = listed.entry(key).or_default();
            *count += 1;
            turn.open.get(&key).is_some_and(|open| open >= count)
        };
        let mut said = run.clone().filter_map(|at| history.messages.get(at));
        !calls.is_empty() && said.all(only_calls) && calls.iter().all(&mut is_open)
    }

    /// A run of messages of somebody else: a turn stays the last one behind its answers alone.
    fn others(&mut self, history: &'h History<'_>, run: &Range<usize>) {
        for message in run.clone() {
            let said = history.messages.get(message).filter(|said| only_answers(said));
            let (Some(said), Some(turn)) = (said, &mut self.turn) else {
                self.turn = None;
                return;
            };
            for part in 0..said.parts.len() {
                let asked = self.pairs.partner(At { message, part });
                let asked = asked.filter(|at| turn.calls.first().is_some_and(|first| first <= at));
                let open = asked.and_then(|at| turn.open.get_mut(&key(history, at)?));
                if let Some(open) = open {
                    *open = open.saturating_sub(1);
                }
            }
        }
    }
}

impl<'h> Turn<'h> {
    /// Its open calls, in order. The last ones of an id are those that are open.
    fn into_calls(mut self, history: &'h History<'_>) -> Vec<Call> {
        let mut open = Vec::new();
        for at in self.calls.iter().rev().filter(|_| !self.nameless) {
            let Some(count) = key(history, *at).and_then(|key| self.open.get_mut(&key)) else {
                continue;
            };
            if *count > 0 {
                *count -= 1;
                open.extend(told(history, *at));
            }
        }
        open.reverse();
        open
    }
}

/// Where the calls of some messages stand.
fn calls(history: &History<'_>, run: Range<usize>) -> Vec<At> {
    let said = run.filter_map(|message| Some((message, history.messages.get(message)?)));
    said.flat_map(|(message, said)| {
        let calls = said.parts.iter().enumerate();
        let calls = calls.filter(|(_, part)| matches!(part.bit(), Bit::Call(_)));
        calls.map(move |(part, _)| At { message, part })
    })
    .collect()
}

fn call<'h, 'a>(history: &'h History<'a>, at: At) -> Option<&'h foxwedge_dialect::canon::Call<'a>> {
    match history.messages.get(at.message)?.parts.get(at.part)?.bit() {
        Bit::Call(call) => Some(call),
        Bit::Text(_) | Bit::Media(_) | Bit::Reasoning(_) | Bit::Answer(_) | Bit::Other(_) => None,
    }
}

fn key<'h>(history: &'h History<'_>, at: At) -> Option<Key<'h>> {
    let call = call(history, at)?;
    Some((call.id.as_deref()?, &*call.name))
}

/// A call as a client is told of it.
fn told(history: &History<'_>, at: At) -> Option<Call> {
    let call = call(history, at)?;
    let text = || Value::String(call.arguments.to_string());
    let arguments = match call.is_free_text() {
        true => text(),
        false => serde_json::from_str(&call.arguments).unwrap_or_else(|_| text()),
    };
    Some(Call { id: call.id.as_deref()?.to_owned(), name: call.name.to_string(), arguments })
}

fn only_calls(said: &Said<'_>) -> bool {
    said.parts.iter().all(|part| match part.bit() {
        Bit::Call(_) => true,
        Bit::Text(text) => text.is_empty(),
        Bit::Media(_) | Bit::Reasoning(_) | Bit::Answer(_) | Bit::Other(_) => false,
    })
}

fn only_answers(said: &Said<'_>) -> bool {
    said.role == Speaker::User
        && said.parts.iter().any(|part| matches!(part.bit(), Bit::Answer(_)))
        && said.parts.iter().all(|part| match part.bit() {
            Bit::Answer(_) => true,
            Bit::Text(text) => text.is_empty(),
            Bit::Media(_) | Bit::Reasoning(_) | Bit::Call(_) | Bit::Other(_) => false,
        })
}

/// The document without these messages. Each goes with what parts it from the one before.
fn without(reading: &Reading<'_>, messages: &[usize]) -> Option<String> {
    let (draft, source) = (&reading.draft, reading.draft.source);
    let mut body = String::new();
    let mut kept = 0;
    for &at in messages {
        let before = draft.messages.get(at.checked_sub(1)?)?.span.end as usize;
        body.push_str(source.get(kept..before)?);
        kept = draft.messages.get(at)?.span.end as usize;
    }
    body.push_str(source.get(kept..)?);
    (!messages.is_empty()).then_some(body)
}

#[cfg(test)]
mod tests;
