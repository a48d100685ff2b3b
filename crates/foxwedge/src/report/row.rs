//! One message on one line: who speaks, and in a few words what.

use foxwedge_core::{Content, Draft, Kind, Layout, Message, Part, Role, Seal, Wire};

use crate::{
    preview,
    say::{clean, cut},
};

/// A message on one line.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) role: &'static str,
    pub(crate) segments: Vec<Segment>,
}

/// One part, in a few words.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) text: String,
    pub(crate) mark: Mark,
}

/// Whether the finding is about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mark {
    Plain,
    /// The finding's place.
    Here,
    /// The other half.
    There,
}

/// What is marked in an excerpt: parts by their index, or a whole message.
pub(crate) struct Marks {
    pub(crate) whole: Option<usize>,
    pub(crate) focus: Option<usize>,
    pub(crate) second: Option<usize>,
}

/// Parts shown of one message, beside those the finding is about.
const SHOWN: usize = 3;
/// Characters shown of a text.
const TEXT: usize = 40;
/// Characters shown of an id or a name.
const NAME: usize = 32;

/// A message on one line.
pub(crate) fn of(draft: &Draft<'_>, at: usize, marks: &Marks) -> Option<Row> {
    let message = draft.messages.get(at)?;
    let range = message.range();
    let is_marked = |part: usize| marks.focus == Some(part) || marks.second == Some(part);
    let marked = [marks.focus, marks.second].into_iter().flatten().filter(|p| range.contains(p));
    let free = SHOWN.saturating_sub(marked.clone().count());
    let mut parts: Vec<usize> = range.clone().take(free).chain(marked).collect();
    parts.sort_unstable();
    parts.dedup();
    let left = range.len() - parts.len();
    let mut segments: Vec<Segment> = parts
        .into_iter()
        .filter_map(|index| Some((index, draft.parts.get(index)?)))
        .map(|(index, part)| Segment {
            text: words(draft, part),
            mark: match index {
                _ if marks.focus == Some(index) => Mark::Here,
                _ if is_marked(index) => Mark::There,
                _ => Mark::Plain,
            },
        })
        .collect();
    if segments.is_empty() {
        let text = hollow(message.content).to_owned();
        segments.push(Segment { text, mark: Mark::Plain });
    }
    if left > 0 {
        segments.push(Segment { text: format!("+{left} more"), mark: Mark::Plain });
    }
    if marks.whole == Some(at) {
        segments.iter_mut().for_each(|segment| segment.mark = Mark::Here);
    }
    Some(Row { role: role(draft, message), segments })
}

/// ` to `x``, or nothing.
pub(crate) fn named(before: &str, id: Option<&str>) -> String {
    id.map(|id| format!("{before}{}", name(id))).unwrap_or_default()
}

fn name(text: &str) -> String {
    // Cut before cleaning: a name may be a megabyte.
    clean(&cut(text, NAME))
}

/// Who speaks a message.
pub(crate) fn role_at(draft: &Draft<'_>, message: usize) -> Option<&'static str> {
    Some(role(draft, draft.messages.get(message)?))
}

fn role(draft: &Draft<'_>, message: &Message) -> &'static str {
    match (message.role, draft.wire) {
        (Role::User, _) => "user",
        (Role::Assistant, Wire::Gemini) => "model",
        (Role::Assistant, _) => "assistant",
        (Role::System, _) => "system",
        (Role::Developer, _) => "developer",
        (Role::Answer, _) if draft.layout() == Layout::Chat => "tool",
        (Role::Answer, _) => "output",
        (Role::Neutral, _) => "item",
        (Role::Unknown, _) => "?",
    }
}

/// What a message without parts holds.
fn hollow(content: Content) -> &'static str {
    match content {
        Content::Absent => "(no content)",
        Content::Null => "null",
        Content::Text => "\"\"",
        Content::List => "[]",
        Content::Other => "(content of another type)",
    }
}

/// A part in a few words.
fn words(draft: &Draft<'_>, part: &Part<'_>) -> String {
    match &part.kind {
        Kind::Text(_) => format!("\"{}\"", preview::text(part.span.of(draft.source), TEXT)),
        Kind::Media => "media".to_owned(),
        Kind::Reasoning(Seal::Signed) => "thinks (signed)".to_owned(),
        Kind::Reasoning(Seal::Unsigned | Seal::Plain) => "thinks".to_owned(),
        Kind::Call(call) => {
            let tool = call.name.as_deref().map(name);
            let id = named(" ", call.id.as_deref());
            format!("calls {}{id}", tool.as_deref().unwrap_or("a tool"))
        }
        Kind::Answer(answer) => {
            let what = answer.id.as_deref().or(answer.tool()).map(name);
            format!("answers {}", what.as_deref().unwrap_or("(no id)"))
        }
        kind @ Kind::ServerCall(_) => format!("server call{}", named(" ", kind.server_id())),
        kind @ Kind::ServerAnswer(_) => format!("server answer{}", named(" ", kind.server_id())),
        Kind::Other => "other content".to_owned(),
    }
}
