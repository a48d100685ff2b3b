//! Merges the client's history with open calls. A client that answered only some of several calls
//! received the others again, and its history repeats them.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use foxwedge_core::{Format, MessageLayout};
use foxwedge_formats::{
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
    /// Open calls of the last turn, if only tool results follow it.
    pub open: Vec<ClientToolCall>,
    /// Indexes of the assistant messages that list these calls. The conversation may continue with
    /// results after each of them. Empty if no call is open.
    pub listed: Vec<usize>,
    /// Number of messages up to the last assistant message; everything after them is new.
    pub known_messages: usize,
    /// Ids of tool results after the last assistant message that match no call.
    pub unknown: Vec<String>,
}

/// Removes turns that repeat open calls, so that results belong to the turn that listed the calls
/// first. [`CallPairs`] decides which calls are open.
///
/// # Errors
/// If the text is not JSON, or holds no list of messages of that format.
pub fn merge_history(source: &str, format: Format) -> Result<MergedHistory, ReadError> {
    let reading = read(source, format, OutlineOptions::default())?;
    let history = decode(source, format)?;
    let listed = reading.draft.messages.len();
    // Instructions outside the message list come first.
    let Some(beside) = history.messages.len().checked_sub(listed).filter(|_| listed > 0) else {
        return Ok(MergedHistory::default());
    };
    let mut walk = HistoryWalk { pairs: CallPairs::of(&history), turn: None, repeated: Vec::new() };
    let mut next = beside;
    while let Some(message) = history.messages.get(next) {
        let run = next..next + same_role_count(&history, next);
        match message.role {
            ModelRole::Assistant => {
                walk.read_model_messages(&history, run.clone(), format.layout())
            }
            ModelRole::User | ModelRole::System | ModelRole::Developer => {
                walk.read_other_messages(&history, &run)
            }
        }
        next = run.end;
    }
    let unknown = unknown_answers(&history);
    let first = walk.turn.as_ref().and_then(|turn| turn.calls.first()).map(|at| at.message);
    let open = walk.turn.map_or_else(Vec::new, |turn| turn.into_calls(&history));
    let repeated: Vec<_> = walk.repeated.iter().map(|at| at - beside).collect();
    let is_model_at = |at: &usize| history.messages.get(*at).is_some_and(is_model);
    let ends_reply = |at: &usize| is_model_at(at) && !is_model_at(&(at + 1));
    let from = first.filter(|_| !open.is_empty()).unwrap_or(history.messages.len());
    let listed = (from..history.messages.len()).filter(ends_reply).map(|at| at - beside).collect();
    let known_messages =
        history.messages.iter().rposition(is_model).map_or(0, |last| last + 1 - beside);
    Ok(MergedHistory {
        body: remove_messages(&reading, &repeated),
        open,
        listed,
        known_messages,
        unknown,
    })
}

fn is_model(message: &ModelMessage<'_>) -> bool {
    message.role == ModelRole::Assistant
}

/// Ids of tool results after the last assistant message that match no call.
fn unknown_answers(history: &ModelHistory<'_>) -> Vec<String> {
    let called: HashSet<&str> = call_positions(history, 0..history.messages.len())
        .into_iter()
        .filter_map(|at| call_at(history, at)?.id.as_deref())
        .collect();
    let new = history.messages.iter().rev().take_while(|message| !is_model(message));
    let mut unknown: Vec<String> = new
        .flat_map(|message| message.parts.iter().rev())
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

/// Number of consecutive messages with the same role.
fn same_role_count(history: &ModelHistory<'_>, from: usize) -> usize {
    let rest = history.messages.get(from..).unwrap_or(&[]);
    let role = rest.first().map(|message| message.role);
    rest.iter().take_while(|message| Some(message.role) == role).count()
}

/// A walk over a history.
struct HistoryWalk<'h> {
    pairs: CallPairs,
    /// The last turn with calls, if only tool results follow it.
    turn: Option<CallingTurn<'h>>,
    /// Messages that only repeat open calls.
    repeated: Vec<usize>,
}

/// A call by its id and its name.
type OpenCallKey<'h> = (&'h str, &'h str);

/// A turn with tool calls.
#[derive(Default)]
struct CallingTurn<'h> {
    calls: Vec<PartIndex>,
    /// Calls without a result so far; ids may repeat.
    open: HashMap<OpenCallKey<'h>, usize>,
    /// One of the open calls has no id, so its result cannot be requested.
    has_unnamed: bool,
}

impl<'h> HistoryWalk<'h> {
    /// Reads consecutive assistant messages. In an item list they are one reply.
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

    /// Reads one reply of the model. `first`: a message with another role precedes it.
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

    /// Whether a reply holds only calls that are already open.
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
        let mut messages = run.clone().filter_map(|at| history.messages.get(at));
        !calls.is_empty() && messages.all(has_only_calls) && calls.iter().all(&mut is_open)
    }

    /// Reads messages of other roles. Anything but tool results closes the turn.
    fn read_other_messages(&mut self, history: &'h ModelHistory<'_>, run: &Range<usize>) {
        for message in run.clone() {
            let results = history.messages.get(message).filter(|it| has_only_answers(it));
            let (Some(results), Some(turn)) = (results, &mut self.turn) else {
                self.turn = None;
                return;
            };
            for part in 0..results.parts.len() {
                let call = self.pairs.partner(PartIndex { message, part });
                let call = call.filter(|at| turn.calls.first().is_some_and(|first| first <= at));
                let open = call.and_then(|at| turn.open.get_mut(&call_key(history, at)?));
                if let Some(open) = open {
                    *open = open.saturating_sub(1);
                }
            }
        }
    }
}

impl<'h> CallingTurn<'h> {
    /// The open calls in order. Of several calls with one id, the last ones are open.
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

/// Positions of the calls in these messages.
fn call_positions(history: &ModelHistory<'_>, run: Range<usize>) -> Vec<PartIndex> {
    let parts_of = run.filter_map(|message| Some((message, history.messages.get(message)?)));
    parts_of
        .flat_map(|(message, parts_of)| {
            let calls = parts_of.parts.iter().enumerate();
            let calls =
                calls.filter(|(_, part)| matches!(part.content(), ContentPart::ToolCall(_)));
            calls.map(move |(part, _)| PartIndex { message, part })
        })
        .collect()
}

fn call_at<'h, 'a>(
    history: &'h ModelHistory<'a>,
    at: PartIndex,
) -> Option<&'h foxwedge_formats::model::ToolCallPart<'a>> {
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

/// A call in the form for the client.
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

fn has_only_calls(message: &ModelMessage<'_>) -> bool {
    message.parts.iter().all(|part| match part.content() {
        ContentPart::ToolCall(_) => true,
        ContentPart::Text(text) => text.is_empty(),
        ContentPart::Media(_)
        | ContentPart::Reasoning(_)
        | ContentPart::ToolResult(_)
        | ContentPart::Unknown(_) => false,
    })
}

fn has_only_answers(message: &ModelMessage<'_>) -> bool {
    message.role == ModelRole::User
        && message.parts.iter().any(|part| matches!(part.content(), ContentPart::ToolResult(_)))
        && message.parts.iter().all(|part| match part.content() {
            ContentPart::ToolResult(_) => true,
            ContentPart::Text(text) => text.is_empty(),
            ContentPart::Media(_)
            | ContentPart::Reasoning(_)
            | ContentPart::ToolCall(_)
            | ContentPart::Unknown(_) => false,
        })
}

/// The document without these messages, each removed with the separator before it.
fn remove_messages(reading: &OutlinedDocument<'_>, messages: &[usize]) -> Option<String> {
    let (draft, source) = (&reading.draft, reading.draft.source);
    let mut body = String::new();
    let mut copied = 0;
    for &at in messages {
        let before = draft.messages.get(at.checked_sub(1)?)?.span.end as usize;
        body.push_str(source.get(copied..before)?);
        copied = draft.messages.get(at)?.span.end as usize;
    }
    body.push_str(source.get(copied..)?);
    (!messages.is_empty()).then_some(body)
}

#[cfg(test)]
mod tests;
