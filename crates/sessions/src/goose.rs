//! goose: the tables `sessions` and `messages` of one database.
//!
//! The payload of a message is its content. Calls are `toolRequest` parts of a reply, results are
//! `toolResponse` parts of messages of the user. The metadata of a message tells whether the model
//! sees it: a compaction hides the messages before it.

use foxwedge_core::{
    AnswerShape, ArgumentsShape, CallFamily, DraftAnswer, DraftCall, Part, PartKind, PartPatch,
    SignatureState, Span, TextShape,
};
use foxwedge_formats::{
    outline::OutlineReader,
    splice::{BlockSpliceFormat, ElementQuoting},
};
use foxwedge_json::{
    FieldChange, FieldChanges, JsonScanner, ScanResult, array_elements, field_text, field_value,
    quote,
};

use super::{
    derived_id::derive_uuid,
    message_rows::{
        self, NewRow, PartReading, RowFormat, RowRole, text_shape, write_call, write_image,
        write_result,
    },
    metadata::SessionMetadata,
    records::ParsedRecord,
    row_copy::{RowCopy, new_uuid},
    row_fields::RowFields,
};

/// How rows are read and written.
pub(super) const ROWS: RowFormat = RowFormat {
    store: "goose",
    time: "created_timestamp",
    results_role: "user",
    read_session: |columns, metadata| {
        metadata.folder = columns.text("working_dir").filter(|folder| !folder.is_empty());
        let name = columns.text("name").filter(|name| !name.is_empty());
        metadata.title = name.or_else(|| columns.text("description"));
    },
    read_columns,
    read_part,
    is_sent,
    splice: BlockSpliceFormat {
        parts: "data",
        assistant: "assistant",
        text: ("{\"type\":\"text\",\"text\":", "}"),
        changes,
        answer: new_result,
        repeated: None,
        extra_media: |_, _| Vec::new(),
        element: |source, one| match field_text(source, one, "type").as_deref() {
            Some("text") => ElementQuoting::Text("text"),
            Some("image") => ElementQuoting::Verbatim,
            _ => ElementQuoting::AsJson,
        },
    },
    new_columns,
    new_id: |seed| new_number(&derive_uuid(&["row", seed], 0)),
};

/// How a session is copied.
pub(super) const ROW_COPY: RowCopy = RowCopy {
    session_table: "sessions",
    references: &["session_id"],
    own_columns: &["parent_session_id", "schedule_id"],
    new_id: |session, old| new_number(&new_uuid(session, old)),
};

/// Rows are numbered by the database. The plus sign shows that a row has no number yet.
fn new_number(name: &str) -> String {
    format!("+{name}")
}

/// Reads one row.
pub(super) fn read_record<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    record: &mut ParsedRecord<'a>,
    metadata: &mut SessionMetadata<'a>,
) -> ScanResult<()> {
    message_rows::read_record(&ROWS, scan, reader, record, metadata)
}

fn read_columns<'a>(columns: &RowFields<'a>, metadata: &mut SessionMetadata<'a>) -> RowRole {
    let own = columns.text("metadata_json").unwrap_or_default();
    let own = RowFields::of(&own, Span::new(0, own.len()));
    if own.get("agentVisible").is_some_and(|value| value.of(own.source) == "false") {
        return RowRole::Unsent;
    }
    match columns.text("role").as_deref() {
        Some("user") => RowRole::User,
        Some("assistant") => {
            let model = own.inner("inference").text("requestedModel");
            metadata.model = model.map(|model| model.into_owned().into()).or(metadata.model.take());
            RowRole::Model
        }
        _ => RowRole::Unsent,
    }
}

/// goose leaves out messages without content.
fn is_sent(_: RowRole, parts: &[PartKind<'_>]) -> bool {
    parts.iter().any(|part| !matches!(part, PartKind::Other | PartKind::Text(TextShape::Empty)))
}

fn read_part<'a>(part: &RowFields<'a>) -> PartReading<'a> {
    let source = part.source;
    let Some(kind) = part.text("type") else { return PartReading::Broken };
    let required: &[&str] = match &*kind {
        "text" => &["text"],
        "image" => &["data", "mimeType"],
        "toolRequest" | "frontendToolRequest" | "toolResponse" => &["id"],
        "thinking" => &["thinking", "signature"],
        "redactedThinking" => &["data"],
        "toolConfirmationRequest" => &["id", "toolName"],
        "actionRequired" | "systemNotification" | "reasoning" => &[],
        _ => return PartReading::Unknown,
    };
    if !required.iter().all(|key| part.text(key).is_some()) {
        return PartReading::Broken;
    }
    // A call or a result is a value or an error.
    let is_outcome = |outcome: &RowFields<'_>| match outcome.text("status").as_deref() {
        Some("success") => outcome.get("value").is_some(),
        Some("error") => outcome.text("error").is_some(),
        _ => false,
    };
    let id = || part.text("id").filter(|id| !id.is_empty());
    PartReading::Known(match &*kind {
        "text" => PartKind::Text(text_shape(part, "text").unwrap_or(TextShape::Empty)),
        "image" => PartKind::Media,
        "thinking" | "redactedThinking" | "reasoning" => PartKind::Reasoning(SignatureState::Plain),
        "toolRequest" | "frontendToolRequest" => {
            let call = part.inner("toolCall");
            if !is_outcome(&call) {
                return PartReading::Broken;
            }
            PartKind::call(DraftCall {
                id: id().into(),
                name: call.inner("value").text("name").filter(|name| !name.is_empty()).into(),
                family: CallFamily::Function,
                arguments: ArgumentsShape::Valid,
                signed: false,
                typed: true,
            })
        }
        "toolResponse" => {
            let result = part.inner("toolResult");
            let content = result_content(source, &result);
            if !is_outcome(&result) || !content.is_some_and(|content| is_content(source, content)) {
                return PartReading::Broken;
            }
            PartKind::answer(DraftAnswer {
                id: id().into(),
                name: None,
                family: CallFamily::Function,
                output: AnswerShape::Full,
                content: content.unwrap_or(Span::NOWHERE),
                media: false,
                foreign: false,
            })
        }
        _ => PartKind::Other,
    })
}

/// The content of a result: a list, or the text of an error. Older versions wrote the list itself.
fn result_content(source: &str, result: &RowFields<'_>) -> Option<Span> {
    let Some(value) = result.get("value") else { return result.get("error") };
    match value.of(source).starts_with('[') {
        true => Some(value),
        false => field_value(source, value, "content"),
    }
}

/// Whether goose can decode the content of a result: a text, or a list whose elements tell what they
/// are.
fn is_content(source: &str, content: Span) -> bool {
    let is_known = |one: Span| match field_text(source, one, "type").as_deref() {
        Some("text") => field_text(source, one, "text").is_some(),
        kind => kind.is_some(),
    };
    match content.of(source).as_bytes().first() {
        Some(b'[') => array_elements(source, content).into_iter().all(is_known),
        first => first == Some(&b'"'),
    }
}

fn changes(_: &str, _: Span, patch: &PartPatch<'_>, kind: &PartKind<'_>) -> FieldChanges<'static> {
    let id = patch.new_id(kind).map(|id| ("id", FieldChange::Text(quote(id))));
    id.into_iter().collect()
}

fn new_result(answer: &DraftAnswer<'_>, words: &str) -> String {
    format!(
        "{{\"type\":\"toolResponse\",\"id\":{},\"toolResult\":{{\"status\":\"error\",\"error\":{}}}}}",
        quote(answer.id.as_deref().unwrap_or_default()),
        quote(words)
    )
}

fn new_columns(row: &NewRow<'_>) -> String {
    let NewRow { session, role, time, seed, before } = row;
    // goose reads it as a time, so it must not be missing.
    let written = before.get("timestamp").map(|written| written.of(before.source));
    let written = written.filter(|written| written.starts_with('"'));
    let written = written.unwrap_or("\"1970-01-01 00:00:00\"");
    let id = quote(&format!("msg_{}", derive_uuid(&["message", seed], 0)));
    format!(
        "{{\"created_timestamp\":{time},\"message_id\":{id},\
         \"metadata_json\":\"{{\\\"userVisible\\\":true,\\\"agentVisible\\\":true}}\",\
         \"role\":\"{role}\",\"session_id\":{session},\"timestamp\":{written},\"tokens\":null}}"
    )
}

/// Appends a part to a list of blocks. Returns `false` for a part that has no equivalent.
pub(super) fn write_block(out: &mut String, source: &str, part: &Part<'_>) -> bool {
    let fields = RowFields::of(source, part.span);
    let raw = |key: &str| fields.get(key).map_or("\"\"", |value| value.of(source));
    match &part.kind {
        PartKind::Text(_) => {
            out.push_str(&format!("{{\"type\":\"text\",\"text\":{}}}", raw("text")));
        }
        PartKind::Media => write_image(out, raw("mimeType"), raw("data")),
        PartKind::Reasoning(_) if raw("signature") != "\"\"" => out.push_str(&format!(
            "{{\"type\":\"thinking\",\"thinking\":{},\"signature\":{}}}",
            raw("thinking"),
            raw("signature")
        )),
        PartKind::Call(_) => {
            let input = fields.inner("toolCall").inner("value").get("arguments");
            let input = input.map(|input| input.of(source)).filter(|input| input.starts_with('{'));
            write_call(out, part, input.unwrap_or("{}"));
        }
        PartKind::Answer(answer) => {
            let result = fields.inner("toolResult");
            let is_error =
                result.get("value").is_none() || result.inner("value").is_true("isError");
            write_result(out, part, &block_content(source, answer.content), is_error);
        }
        _ => return false,
    }
    true
}

/// The content of a result as blocks: texts and images.
fn block_content(source: &str, content: Span) -> String {
    if !content.of(source).starts_with('[') {
        let text = content.of(source);
        return if text.starts_with('"') { text.to_owned() } else { "\"\"".to_owned() };
    }
    let mut blocks = Vec::new();
    for one in array_elements(source, content) {
        let raw = |key: &str| field_value(source, one, key).map_or("\"\"", |at| at.of(source));
        blocks.push(match field_text(source, one, "type").as_deref() {
            Some("text") => format!("{{\"type\":\"text\",\"text\":{}}}", raw("text")),
            Some("image") => {
                let mut image = String::new();
                write_image(&mut image, raw("mimeType"), raw("data"));
                image
            }
            _ => format!("{{\"type\":\"text\",\"text\":{}}}", quote(one.of(source))),
        });
    }
    format!("[{}]", blocks.join(","))
}
