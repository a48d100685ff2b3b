//! One message on one line: its role and a short description of its parts.

use foxwedge_core::{
    ContentShape, Draft, Format, Message, MessageLayout, Part, PartKind, Role, SignatureState,
};

use crate::{
    output::{clean, cut},
    preview,
};

/// A message on one line.
#[derive(Clone, Debug)]
pub struct MessageRow {
    /// The role of the message.
    pub role: &'static str,
    /// Its parts.
    pub segments: Vec<RowSegment>,
}

/// A short description of one part.
#[derive(Clone, Debug)]
pub struct RowSegment {
    /// The description.
    pub text: String,
    /// How the finding refers to it.
    pub mark: SegmentMark,
}

/// How the finding refers to a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SegmentMark {
    /// Not at all.
    Plain,
    /// The location of the finding.
    Primary,
    /// The matching call or result.
    Partner,
}

/// Marks of an excerpt: parts by their index, or a whole message.
pub struct ExcerptMarks {
    /// The message that the finding is about as a whole.
    pub whole: Option<usize>,
    /// The part that the finding is about.
    pub focus: Option<usize>,
    /// The matching call or result.
    pub second: Option<usize>,
}

/// Max parts shown of one message. Marked parts are always shown.
const SHOWN: usize = 3;
/// Max characters shown of a text.
const TEXT: usize = 40;
/// Max characters shown of an id or a name.
const NAME: usize = 32;

/// A message on one line.
pub fn of(draft: &Draft<'_>, at: usize, marks: &ExcerptMarks) -> Option<MessageRow> {
    let message = draft.messages.get(at)?;
    let range = message.range();
    let is_marked = |part: usize| marks.focus == Some(part) || marks.second == Some(part);
    let marked = [marks.focus, marks.second].into_iter().flatten().filter(|p| range.contains(p));
    let free = SHOWN.saturating_sub(marked.clone().count());
    let mut parts: Vec<usize> = range.clone().take(free).chain(marked).collect();
    parts.sort_unstable();
    parts.dedup();
    let left = range.len() - parts.len();
    let mut segments: Vec<RowSegment> = parts
        .into_iter()
        .filter_map(|index| Some((index, draft.parts.get(index)?)))
        .map(|(index, part)| RowSegment {
            text: describe_part(draft, part),
            mark: match index {
                _ if marks.focus == Some(index) => SegmentMark::Primary,
                _ if is_marked(index) => SegmentMark::Partner,
                _ => SegmentMark::Plain,
            },
        })
        .collect();
    if segments.is_empty() {
        let text = empty_content_text(message.content).to_owned();
        segments.push(RowSegment { text, mark: SegmentMark::Plain });
    }
    if left > 0 {
        segments.push(RowSegment { text: format!("+{left} more"), mark: SegmentMark::Plain });
    }
    if marks.whole == Some(at) {
        segments.iter_mut().for_each(|segment| segment.mark = SegmentMark::Primary);
    }
    Some(MessageRow { role: role(draft, message), segments })
}

/// The id with a prefix such as ` for `, or an empty string without an id.
pub fn prefixed_name(before: &str, id: Option<&str>) -> String {
    id.map(|id| format!("{before}{}", short_name(id))).unwrap_or_default()
}

fn short_name(text: &str) -> String {
    // Cut before cleaning: a name may be a megabyte.
    clean(&cut(text, NAME))
}

/// Role of a message.
pub fn role_at(draft: &Draft<'_>, message: usize) -> Option<&'static str> {
    Some(role(draft, draft.messages.get(message)?))
}

fn role(draft: &Draft<'_>, message: &Message) -> &'static str {
    match (message.role, draft.format) {
        (Role::User, _) => "user",
        (Role::Assistant, Format::Gemini) => "model",
        (Role::Assistant, _) => "assistant",
        (Role::System, _) => "system",
        (Role::Developer, _) => "developer",
        (Role::Answer, _) if draft.layout() == MessageLayout::Chat => "tool",
        (Role::Answer, _) => "output",
        (Role::Neutral, _) => "item",
        (Role::Unknown, _) => "?",
    }
}

/// Text for a message without parts.
fn empty_content_text(content: ContentShape) -> &'static str {
    match content {
        ContentShape::Absent => "(no content)",
        ContentShape::Null => "null",
        ContentShape::Text => "\"\"",
        ContentShape::List => "[]",
        ContentShape::Other => "(content of another type)",
    }
}

/// A short description of a part.
fn describe_part(draft: &Draft<'_>, part: &Part<'_>) -> String {
    match &part.kind {
        PartKind::Text(_) => format!("\"{}\"", preview::text(part.span.of(draft.source), TEXT)),
        PartKind::Media => "media".to_owned(),
        PartKind::Reasoning(SignatureState::Signed) => "thinking (signed)".to_owned(),
        PartKind::Reasoning(SignatureState::Unsigned | SignatureState::Plain) => {
            "thinking".to_owned()
        }
        PartKind::Call(call) => {
            let tool = call.name.as_deref().map(short_name);
            let id = prefixed_name(" ", call.id.as_deref());
            format!("calls {}{id}", tool.as_deref().unwrap_or("a tool"))
        }
        PartKind::Answer(answer) => {
            let id = answer.id.as_deref().or(answer.tool()).map(short_name);
            format!("result for {}", id.as_deref().unwrap_or("(no id)"))
        }
        kind @ PartKind::ServerCall(_) => {
            format!("server call{}", prefixed_name(" ", kind.server_id()))
        }
        kind @ PartKind::ServerAnswer(_) => {
            format!("server result{}", prefixed_name(" ", kind.server_id()))
        }
        PartKind::Fallback => "another model takes over".to_owned(),
        PartKind::Other => "other content".to_owned(),
        PartKind::Unknown => "content of an unknown type".to_owned(),
    }
}
