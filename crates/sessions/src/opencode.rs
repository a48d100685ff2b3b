//! opencode 1.x and Kilo CLI: the tables `session`, `message` and `part` of one database.
//!
//! A message row holds the role, its part rows the content. A tool part is a call and its result in
//! one: its state is `pending`, `running`, `completed` or `error`. Messages are ordered by time and
//! id, parts by id. A compaction hides everything before it, except a tail that it names.

use std::borrow::Cow;

use foxwedge_core::{
    AnswerShape, ArgumentsShape, CallFamily, ContentShape, DraftAnswer, DraftCall, MessageFlags,
    PartKind, Role, SignatureState, Span, TextShape,
};
use foxwedge_formats::outline::{OutlineReader, text_fullness};
use foxwedge_json::{JsonScanner, JsonShape, ScanResult, field_text};

use super::{
    metadata::SessionMetadata,
    records::ParsedRecord,
    row_copy::{RowCopy, new_uuid},
    row_fields::RowFields,
    rows::{RowRecord, read_row},
};

mod faults;
mod required;
mod visible;
mod writer;
mod history_writer;

pub(super) use history_writer::write_block;
pub(super) use visible::visible_messages;
pub(super) use writer::rewrite;

/// How a session is copied.
pub(super) const ROW_COPY: RowCopy = RowCopy {
    session_table: "session",
    references: &[],
    own_columns: &["revert", "share_url", "parent_id", "workspace_id"],
    new_id,
};

/// The id of a copied row. It begins like the old one, with its kind and its time, so that copies keep
/// the order of the rows.
fn new_id(session: &str, old: &str) -> String {
    const HEAD: usize = "msg_0123456789ab".len();
    let hash = new_uuid(session, old).replace('-', "");
    let head = old.get(..HEAD).unwrap_or(old);
    format!("{head}{}", hash.get(..14).unwrap_or(&hash))
}

/// Reads one row with the rows that belong to it.
pub(super) fn read_record<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    record: &mut ParsedRecord<'a>,
    metadata: &mut SessionMetadata<'a>,
) -> ScanResult<()> {
    let source = reader.source;
    let row = read_row(scan, source)?;
    record.kind = row.table;
    record.link.id = Some(row.id);
    let columns = RowFields::of(source, row.columns);
    record.time = columns.get("time_created").map(|time| time.of(source));
    match row.table {
        "session" => {
            metadata.id = Some(Cow::Borrowed(row.id));
            metadata.folder = columns.text("directory").filter(|folder| !folder.is_empty());
            metadata.title = columns.text("title");
            metadata.version = columns.text("version");
        }
        "message" => {
            metadata.record_time(record.time);
            read_message(reader, record, metadata, &row);
        }
        _ => {}
    }
    Ok(())
}

/// A part row whose payload can be read.
struct OpencodePart<'a> {
    /// Its payload.
    span: Span,
    kind: Cow<'a, str>,
    fields: RowFields<'a>,
}

/// The parts of a message that can be read.
fn readable_parts<'a>(source: &'a str, row: &RowRecord<'a>) -> Vec<OpencodePart<'a>> {
    let parts = row.rows.iter().filter(|part| part.table == "part");
    let parts = parts.filter_map(|part| {
        let span = part.object(source)?;
        let fields = RowFields::of(source, span);
        Some(OpencodePart { span, kind: fields.text("type").unwrap_or_default(), fields })
    });
    parts.collect()
}

fn read_message<'a>(
    reader: &mut OutlineReader<'a>,
    record: &mut ParsedRecord<'a>,
    metadata: &mut SessionMetadata<'a>,
    row: &RowRecord<'a>,
) {
    let source = reader.source;
    let fields = RowFields::of(source, row.object(source).unwrap_or(Span::NOWHERE));
    let parts = readable_parts(source, row);
    let role = role_of(source, row, &fields, &parts);
    record.defects = faults::find(source, row, role);
    if role == Role::User {
        record.link.is_hidden = !push_prompt(reader, row.span, &parts);
        return;
    }
    metadata.model = fields.text("modelID").or(metadata.model.take());
    let has_content = |part: &OpencodePart<'_>| !matches!(&*part.kind, "step-start" | "reasoning");
    let error = fields.get("error").filter(|error| error.of(source).starts_with('{'));
    let aborted = error.and_then(|error| field_text(source, error, "name"));
    let is_failed = error.is_some()
        && !(aborted.as_deref() == Some("MessageAbortedError") && parts.iter().any(has_content));
    let is_sent = |part: &OpencodePart<'_>| matches!(&*part.kind, "text" | "tool" | "reasoning");
    record.link.is_hidden = is_failed || !parts.iter().any(is_sent);
    push_reply(reader, row.span, &parts);
}

/// The role in the payload, in what is left of the payload, or as the parts show it.
fn role_of(
    source: &str,
    row: &RowRecord<'_>,
    fields: &RowFields<'_>,
    parts: &[OpencodePart<'_>],
) -> Role {
    let known = |role: &str| match role {
        "user" => Some(Role::User),
        "assistant" => Some(Role::Assistant),
        _ => None,
    };
    let torn = || {
        let text = row.broken_text(source)?;
        let (_, rest) = text.split_once("\"role\":\"")?;
        known(rest.split_once('"')?.0)
    };
    let is_reply = |part: &OpencodePart<'_>| {
        matches!(&*part.kind, "tool" | "reasoning" | "step-start" | "step-finish" | "patch")
    };
    let shown = if parts.iter().any(is_reply) { Role::Assistant } else { Role::User };
    fields.text("role").and_then(|role| known(&role)).or_else(torn).unwrap_or(shown)
}

/// Adds a message of the user. Returns whether the agent sends anything of it.
fn push_prompt<'a>(reader: &mut OutlineReader<'a>, span: Span, parts: &[OpencodePart<'a>]) -> bool {
    let mut is_sent = false;
    for part in parts {
        let kind = match &*part.kind {
            "text" if part.fields.is_true("ignored") => PartKind::Other,
            "text" => PartKind::Text(text_shape(part)),
            // The agent sends a sentence in their place.
            "compaction" | "subtask" => PartKind::Text(TextShape::Full),
            "file" => match part.fields.text("mime").as_deref() {
                Some("text/plain" | "application/x-directory") => PartKind::Other,
                _ => PartKind::Media,
            },
            _ => PartKind::Other,
        };
        is_sent |= match &kind {
            PartKind::Text(shape) => *shape != TextShape::Empty,
            PartKind::Media => true,
            _ => false,
        };
        reader.builder.push_part(part.span, kind);
    }
    let flags = MessageFlags::NO_RESULTS;
    reader.builder.push_message(Role::User, span, ContentShape::List, flags);
    is_sent
}

fn text_shape(part: &OpencodePart<'_>) -> TextShape {
    let text = part.fields.get("text").and_then(|text| {
        let mut scan = JsonScanner::within(part.fields.source, text);
        (scan.shape() == Ok(JsonShape::String)).then(|| scan.string().ok())?
    });
    text.map_or(TextShape::Empty, |text| text_fullness(part.fields.source, text))
}

/// Adds the steps of a reply, and the results of each step behind it.
fn push_reply<'a>(reader: &mut OutlineReader<'a>, span: Span, parts: &[OpencodePart<'a>]) {
    let flags = MessageFlags::default();
    for step in parts.chunk_by(|_, next| next.kind != "step-start") {
        let mut answers = Vec::new();
        for part in step {
            let kind = match &*part.kind {
                "text" => PartKind::Text(text_shape(part)),
                "reasoning" => PartKind::Reasoning(SignatureState::Plain),
                "tool" => {
                    let (call, answer) = read_tool(part);
                    answers.extend(answer.map(|answer| (part.span, answer)));
                    call
                }
                _ => PartKind::Other,
            };
            reader.builder.push_part(part.span, kind);
        }
        reader.builder.push_message(Role::Assistant, span, ContentShape::List, flags);
        if !answers.is_empty() {
            for (span, answer) in answers {
                reader.builder.push_part(span, answer);
            }
            reader.builder.push_message(Role::User, span, ContentShape::List, flags);
        }
    }
}

/// The call of a tool part, and its result if it has one.
fn read_tool<'a>(part: &OpencodePart<'a>) -> (PartKind<'a>, Option<PartKind<'a>>) {
    let source = part.fields.source;
    let id = part.fields.text("callID").filter(|id| !id.is_empty());
    let name = part.fields.text("tool").filter(|name| !name.is_empty());
    if part.fields.inner("metadata").is_true("providerExecuted") {
        return (PartKind::ServerCall(id.map(Box::new)), None);
    }
    let state = part.fields.inner("state");
    let arguments = match state.get("input").map(|input| input.of(source).as_bytes().first()) {
        None => ArgumentsShape::Missing,
        Some(Some(b'{')) => ArgumentsShape::Valid,
        Some(Some(b'"')) => ArgumentsShape::RawString,
        Some(_) => ArgumentsShape::WrongType,
    };
    let content = match state.text("status").as_deref() {
        Some("completed") => Some(state.get("output")),
        Some("error") => Some(state.get("error")),
        _ => None,
    };
    let family = CallFamily::Function;
    let answer = content.map(|content| {
        PartKind::answer(DraftAnswer {
            id: id.clone().into(),
            name: name.clone().map(Box::new),
            family,
            output: AnswerShape::Full,
            content: content.unwrap_or(Span::NOWHERE),
            media: false,
            foreign: false,
        })
    });
    let call = DraftCall {
        id: id.into(),
        name: name.into(),
        family,
        arguments,
        signed: false,
        typed: true,
    };
    (PartKind::call(call), answer)
}
