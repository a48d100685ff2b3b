//! One valid order out of what the client says and what the agent knows: a client that answered some
//! of several calls was told the others once more, and repeats that.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use foxwedge_core::{Format, MessageLayout};
use foxwedge_dialect::{
    OutlineOptions, OutlinedDocument, ReadError,
    model::{CallPairs, ContentPart, ModelHistory, ModelMessage, ModelRole, PartIndex, decode},
    read,
};
use serde_json::Value;

use crate::ClientToolCall;

/// A history, with every call listed once.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct MergedHistory {
    /// The request without the turns that list open calls once more; `None` if there are none.
    pub body: Option<String>,
    /// Calls of the last turn that nothing answers, if nobody said anything behind it but answers.
    pub open: Vec<ClientToolCall>,
    /// Messages of the model that list these calls, by their place in the list: behind each of them
    /// the conversation may go on with the answers. None if no call is open.
    pub listed: Vec<usize>,
    /// How many messages there are up to the last of the model: what is behind them is new.
    pub known_messages: usize,
    /// Answers behind the last message of the model to calls that nobody made.
    pub unknown: Vec<String>,
}

/// Takes out what lists open calls once more: answers then belong to the turn that listed them
/// first. Which call is open, the engine's pairing says ([`foxwedge_dialect::canon::Pairs`]).
///
/// # Errors
/// If the text is not JSON, or holds no list of messages of that format.
pub fn merge_history(source: &str, wire: Format) -> Result<MergedHistory, ReadError> {
    let reading = read(source, wire, OutlineOptions::default())?;
    let history = decode(source, wire)?;
    let listed = reading.draft.messages.len();
    // Instructions that stand beside the list come first.
    let Some(beside) = history.messages.len().checked_sub(listed).filter(|_| listed > 0) else {
        return Ok(MergedHistory::default());
    };
    let mut walk = HistoryWalk { pairs: CallPairs::of(&history), turn: None, repeated: Vec::new() };
    let mut next = beside;
    while let Some(said) = history.messages.get(next) {
        let run = next..next + same_role_count(&history, next);
        match said.role {
            ModelRole::Assistant => walk.read_model_messages(&history, run.clone(), wire.layout()),
            ModelRole::User | ModelRole::System | ModelRole::Developer => {
                walk.read_other_messages(&history, &run)
            }
        }
        next = run.end;
    }
    let unknown = unknown_answers(&history);
    let first = walk.turn.as_ref().and_then(|turn| turn.calls.first()).map(|at| at.message);
    let open = walk.turn.map_or_else(Vec::new, |turn| turn.into_calls(&history));
    let again: Vec<_> = walk.repeated.iter().map(|at| at - beside).collect();
    let model = |at: &usize| history.messages.get(*at).is_some_and(is_model);
    let ends = |at: &usize| model(at) && !model(&(at + 1));
    let from = first.filter(|_| !open.is_empty()).unwrap_or(history.messages.len());
    let listed = (from..history.messages.len()).filter(ends).map(|at| at - beside).collect();
    let heard = history.messages.iter().rposition(is_model).map_or(0, |last| last + 1 - beside);
    Ok(MergedHistory {
        body: remove_messages(&reading, &again),
        open,
        listed,
        known_messages: heard,
        unknown,
    })
}

fn is_model(said: &ModelMessage<'_>) -> bool {
    said.role == ModelRole::Assistant
}

/// Answers behind the last message of the model to calls that nobody made.
fn unknown_answers(history: &ModelHistory<'_>) -> Vec<String> {
    let called: HashSet<&str> = call_positions(history, 0..history.messages.len())
        .into_iter()
        .filter_map(|at| call_at(history, at)?.id.as_deref())
        .collect();
    let new = history.messages.iter().rev().take_while(|said| !is_model(said));
    let mut unknown: Vec<String> = new
        .flat_map(|said| said.parts.iter().rev())
        .filter_map(|part| match part.content() {
            ContentPart::ToolResult(answer) => {
                answer.id.as_deref().filter(|id| !called.contains(id))
            }
            ContentPart::Text(_)
            | ContentPart::Media(_)
            | ContentPart::Reasoning(_)
            | ContentPart::ToolCall(_)
            | ContentPart::Unknown(_) => None,
        })
        .map(str::to_owned)
        .collect();
    unknown.reverse();
    unknown
}

/// How many messages from this one on have the same speaker.
fn same_role_count(history: &ModelHistory<'_>, from: usize) -> usize {
    let rest = history.messages.get(from..).unwrap_or(&[]);
    let role = rest.first().map(|said| said.role);
    rest.iter().take_while(|said| Some(said.role) == role).count()
}

/// A walk over a history.
struct HistoryWalk<'h> {
    pairs: CallPairs,
    /// The last turn that calls, if nothing but answers stands behind it.
    turn: Option<CallingTurn<'h>>,
    /// Messages that only list open calls once more.
    repeated: Vec<usize>,
}

/// A call by its id and its name.
type OpenCallKey<'h> = (&'h str, &'h str);

/// A turn that calls.
#[derive(Default)]
struct CallingTurn<'h> {
    calls: Vec<PartIndex>,
    /// Its calls that have no answer so far; ids may repeat.
    open: HashMap<OpenCallKey<'h>, usize>,
    /// One of the open calls has no id: nobody can ask for its answer.
    has_unnamed: bool,
}

impl<'h> HistoryWalk<'h> {
    /// A run of messages of the model. In a list of items it is one reply.
    fn read_model_messages(
        &mut self,
        history: &'h ModelHistory<'_>,
        run: Range<usize>,
        layout: MessageLayout,
    ) {
        match layout {
            MessageLayout::Items => self.read_reply(history, run, true),
            MessageLayout::Chat | MessageLayout::Blocks => {
                for at in run.clone() {
                    self.read_reply(history, at..at + 1, at == run.start);
                }
            }
        }
    }

    /// One reply of the model. `first`: somebody else stands before it.
    fn read_reply(&mut self, history: &'h ModelHistory<'_>, run: Range<usize>, first: bool) {
        let calls = call_positions(history, run.clone());
        if self.repeats_open_calls(history, &run, &calls) {
            return self.repeated.extend(run);
        }
        if calls.is_empty() || first {
            self.turn = None;
        }
        for at in calls {
            let turn = self.turn.get_or_insert_default();
            turn.calls.push(at);
            match call_key(history, at) {
                Some(key) => *turn.open.entry(key).or_default() += 1,
                None => turn.has_unnamed |= self.pairs.partner(at).is_none(),
            }
        }
    }

    /// Whether a reply holds nothing but calls that are open.
    fn repeats_open_calls(
        &self,
        history: &'h ModelHistory<'_>,
        run: &Range<usize>,
        calls: &[PartIndex],
    ) -> bool {
        let Some(turn) = &self.turn else { return false };
        let mut listed: HashMap<OpenCallKey<'_>, usize> = HashMap::new();
        let mut is_open = |at: &PartIndex| {
            let Some(key) = call_key(history, *at) else { return false };
            let count = listed.entry(key).or_default();
            *count += 1;
            turn.open.get(&key).is_some_and(|open| open >= count)
        };
        let mut said = run.clone().filter_map(|at| history.messages.get(at));
        !calls.is_empty() && said.all(has_only_calls) && calls.iter().all(&mut is_open)
    }

    /// A run of messages of somebody else: a turn stays the last one behind its answers alone.
    fn read_other_messages(&mut self, history: &'h ModelHistory<'_>, run: &Range<usize>) {
        for message in run.clone() {
            let said = history.messages.get(message).filter(|said| has_only_answers(said));
            let (Some(said), Some(turn)) = (said, &mut self.turn) else {
                self.turn = None;
                return;
            };
            for part in 0..said.parts.len() {
                let asked = self.pairs.partner(PartIndex { message, part });
                let asked = asked.filter(|at| turn.calls.first().is_some_and(|first| first <= at));
                let open = asked.and_then(|at| turn.open.get_mut(&call_key(history, at)?));
                if let Some(open) = open {
                    *open = open.saturating_sub(1);
                }
            }
        }
    }
}

impl<'h> CallingTurn<'h> {
    /// Its open calls, in order. The last ones of an id are those that are open.
    fn into_calls(mut self, history: &'h ModelHistory<'_>) -> Vec<ClientToolCall> {
        let mut open = Vec::new();
        for at in self.calls.iter().rev().filter(|_| !self.has_unnamed) {
            let Some(count) = call_key(history, *at).and_then(|key| self.open.get_mut(&key)) else {
                continue;
            };
            if *count > 0 {
                *count -= 1;
                open.extend(client_call(history, *at));
            }
        }
        open.reverse();
        open
    }
}

/// Where the calls of some messages stand.
fn call_positions(history: &ModelHistory<'_>, run: Range<usize>) -> Vec<PartIndex> {
    let said = run.filter_map(|message| Some((message, history.messages.get(message)?)));
    said.flat_map(|(message, said)| {
        let calls = said.parts.iter().enumerate();
        let calls = calls.filter(|(_, part)| matches!(part.content(), ContentPart::ToolCall(_)));
        calls.map(move |(part, _)| PartIndex { message, part })
    })
    .collect()
}

fn call_at<'h, 'a>(
    history: &'h ModelHistory<'a>,
    at: PartIndex,
) -> Option<&'h foxwedge_dialect::model::ToolCallPart<'a>> {
    match history.messages.get(at.message)?.parts.get(at.part)?.content() {
        ContentPart::ToolCall(call) => Some(call),
        ContentPart::Text(_)
        | ContentPart::Media(_)
        | ContentPart::Reasoning(_)
        | ContentPart::ToolResult(_)
        | ContentPart::Unknown(_) => None,
    }
}

fn call_key<'h>(history: &'h ModelHistory<'_>, at: PartIndex) -> Option<OpenCallKey<'h>> {
    let call = call_at(history, at)?;
    Some((call.id.as_deref()?, &*call.name))
}

/// A call as a client is told of it.
fn client_call(history: &ModelHistory<'_>, at: PartIndex) -> Option<ClientToolCall> {
    let call = call_at(history, at)?;
    let text = || Value::String(call.arguments.to_string());
    let arguments = match call.is_free_text() {
        true => text(),
        false => serde_json::from_str(&call.arguments).unwrap_or_else(|_| text()),
    };
    Some(ClientToolCall {
        id: call.id.as_deref()?.to_owned(),
        name: call.name.to_string(),
        arguments,
    })
}

fn has_only_calls(said: &ModelMessage<'_>) -> bool {
    said.parts.iter().all(|part| match part.content() {
        ContentPart::ToolCall(_) => true,
        ContentPart::Text(text) => text.is_empty(),
        ContentPart::Media(_)
        | ContentPart::Reasoning(_)
        | ContentPart::ToolResult(_)
        | ContentPart::Unknown(_) => false,
    })
}

fn has_only_answers(said: &ModelMessage<'_>) -> bool {
    said.role == ModelRole::User
        && said.parts.iter().any(|part| matches!(part.content(), ContentPart::ToolResult(_)))
        && said.parts.iter().all(|part| match part.content() {
            ContentPart::ToolResult(_) => true,
            ContentPart::Text(text) => text.is_empty(),
            ContentPart::Media(_)
            | ContentPart::Reasoning(_)
            | ContentPart::ToolCall(_)
            | ContentPart::Unknown(_) => false,
        })
}

/// The document without these messages. Each goes with what parts it from the one before.
fn remove_messages(reading: &OutlinedDocument<'_>, messages: &[usize]) -> Option<String> {
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
