//! Gemini CLI: `tmp/<project>/chats/session-<time>-<id>.jsonl`, and older `.json`.
//!
//! A changed message is written again under the same id: the last version counts, at the position
//! of the first. `$set` may replace all messages, `$rewindTo` removes some. A reply and the results
//! of its calls are one record.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use foxwedge_core::{
    AnswerShape, ArgumentsShape, CallFamily, ContentShape, DraftAnswer, DraftCall, MessageFlags,
    PartKind, Role, Span,
};

use super::{
    metadata::SessionMetadata,
    records::{ParsedRecord, SessionRecords, plain_string, string_value},
};
use foxwedge_formats::{
    gemini,
    outline::{OutlineReader, UniqueFields, text_fullness},
};
use foxwedge_json::{JsonScanner, JsonShape, ScanResult, array_elements, field_text, field_value};

mod content_writer;
mod write;

use super::gemini_history::{GeminiHistoryStep, GeminiMessageVersion};
pub(super) use content_writer::write_content;
pub(super) use write::rewrite;

/// Whether an object is a record, not an object inside one.
pub(super) fn is_record(source: &str, object: Span) -> bool {
    let has = |key: &str| field_value(source, object, key).is_some();
    let is_message = has("id") && has("content") && (has("timestamp") || has("type"));
    has("$set") || has("$rewindTo") || is_message
}

/// Reads one record.
pub(super) fn read_record<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    record: &mut ParsedRecord<'a>,
    metadata: &mut SessionMetadata<'a>,
) -> ScanResult<()> {
    let source = reader.source;
    let (mut set, mut list) = (None, None);
    let mut head = SessionMetadata::default();
    let mut version = GeminiVersionReader::default();
    let span = scan.object(|scan, key, _| {
        match key {
            b"$rewindTo" => {
                record.step = plain_string(scan, source)?.map(GeminiHistoryStep::Rewind)
            }
            b"$set" => set = Some(scan.skip()?),
            b"timestamp" => record.time = plain_string(scan, source)?,
            b"model" => head.model = string_value(scan, source)?,
            b"sessionId" => head.id = string_value(scan, source)?,
            b"startTime" => head.started = string_value(scan, source)?,
            b"lastUpdated" => head.updated = string_value(scan, source)?,
            b"summary" => head.title = string_value(scan, source)?,
            b"messages" => list = Some(scan.skip()?),
            key if key.starts_with(b"$") => {
                let key = String::from_utf8_lossy(key).into_owned();
                return scan.fail(format!("`{key}` records are not supported yet"));
            }
            _ => version.field(scan, reader, key)?,
        }
        Ok(())
    })?;
    metadata.model = head.model.or(metadata.model.take());
    metadata.id = metadata.id.take().or(head.id);
    metadata.started = metadata.started.take().or(head.started);
    metadata.updated = head.updated.or(record.time.map(Into::into)).or(metadata.updated.take());
    metadata.title = head.title.or(metadata.title.take());
    record.kind = version.kind;
    if let Some(GeminiHistoryStep::Rewind(_)) = record.step {
        record.kind = "$rewindTo";
    } else if let Some(id) = version.id {
        record.link.id = Some(id);
        version.finish(id, span, reader, record);
    } else if let Some(set) = set {
        record.kind = "$set";
        metadata.title = field_text(source, set, "summary").or(metadata.title.take());
        metadata.updated = field_text(source, set, "lastUpdated").or(metadata.updated.take());
        if let Some(list) = field_value(source, set, "messages") {
            record.step = Some(GeminiHistoryStep::Reset);
            read_nested(list, reader, record)?;
        }
    } else if let Some(list) = list {
        read_nested(list, reader, record)?;
    }
    Ok(())
}

/// Reads the messages of a list.
fn read_nested<'a>(
    list: Span,
    reader: &mut OutlineReader<'a>,
    record: &mut ParsedRecord<'a>,
) -> ScanResult<()> {
    let source = reader.source;
    let mut scan = JsonScanner::within(source, list);
    if scan.shape()? != JsonShape::Array {
        return scan.fail("`messages` is not a list");
    }
    scan.array(|scan, _| {
        if scan.shape()? != JsonShape::Object {
            return scan.fail("a message is not an object");
        }
        let mut version = GeminiVersionReader::default();
        let span = scan.object(|scan, key, _| version.field(scan, reader, key))?;
        let id = version.id.unwrap_or_default();
        version.finish(id, span, reader, record);
        Ok(())
    })
    .map(drop)
}

/// Reads one version of a message.
#[derive(Default)]
struct GeminiVersionReader<'a> {
    once: UniqueFields,
    id: Option<&'a str>,
    kind: &'a str,
    content: Option<Span>,
    shape: ContentShape,
    calls: Vec<GeminiStoredCall<'a>>,
}

/// A call of a reply, with its result.
struct GeminiStoredCall<'a> {
    span: Span,
    id: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
    result: Option<Span>,
}

impl<'a> GeminiVersionReader<'a> {
    fn field(
        &mut self,
        scan: &mut JsonScanner<'a>,
        reader: &mut OutlineReader<'a>,
        key: &[u8],
    ) -> ScanResult<()> {
        let source = reader.source;
        self.once.check_known(scan, &[b"id", b"type", b"content", b"toolCalls"], key)?;
        match key {
            b"id" => self.id = plain_string(scan, source)?,
            b"type" => self.kind = plain_string(scan, source)?.unwrap_or_default(),
            b"content" => {
                scan.shape()?;
                let start = scan.position();
                self.shape = read_parts(scan, reader)?;
                self.content = Some(Span::new(start, scan.position()));
            }
            b"toolCalls" if scan.shape()? == JsonShape::Array => {
                scan.array(|scan, _| {
                    self.calls.push(read_call(scan, source)?);
                    Ok(())
                })?;
            }
            _ => drop(scan.skip()?),
        }
        Ok(())
    }

    /// Builds messages from the fields: a user message, or a reply and the results of its calls.
    fn finish(
        self,
        id: &'a str,
        span: Span,
        reader: &mut OutlineReader<'a>,
        parsed: &mut ParsedRecord<'a>,
    ) {
        let count = |reader: &OutlineReader<'_>| {
            u32::try_from(reader.builder.message_count()).unwrap_or(u32::MAX)
        };
        let first = count(reader);
        match self.kind {
            "user"
                if !self.content.is_some_and(|content| is_agent_input(reader.source, content)) =>
            {
                reader.builder.push_message(Role::User, span, self.shape, MessageFlags::default());
            }
            "gemini" => self.finish_reply(span, reader),
            _ => {}
        }
        let last = count(reader);
        reader.builder.truncate(last as usize);
        parsed.entries.push(GeminiMessageVersion {
            id,
            record: 0,
            span,
            first,
            last,
            first_version: (0, span),
        });
    }

    fn finish_reply(self, span: Span, reader: &mut OutlineReader<'a>) {
        // Calls that are also in the content are not added twice.
        let calls = reader.builder.open_parts().iter().filter_map(|part| match &part.kind {
            PartKind::Call(call) => call.id.as_deref().map(str::to_owned),
            _ => None,
        });
        let known_calls: HashSet<String> = calls.collect();
        let mut answers = Vec::new();
        for GeminiStoredCall { span, id, name, result } in self.calls {
            if let Some(result) = result {
                answers.push((id.clone(), name.clone(), result));
            }
            if !id.as_deref().is_some_and(|id| known_calls.contains(id)) {
                let (family, arguments) = (CallFamily::Function, ArgumentsShape::Valid);
                let (id, name) = (id.into(), name.into());
                let call = DraftCall { id, name, family, arguments, signed: false, typed: true };
                reader.builder.push_part(span, PartKind::call(call));
            }
        }
        if reader.builder.open_parts().is_empty() {
            return;
        }
        reader.builder.push_message(Role::Assistant, span, self.shape, MessageFlags::default());
        if answers.is_empty() {
            return;
        }
        for (id, name, content) in answers {
            let (family, output) = (CallFamily::Function, AnswerShape::Full);
            let (id, name) = (id.into(), name.map(Box::new));
            let answer =
                DraftAnswer { id, name, family, output, content, media: false, foreign: false };
            reader.builder.push_part(content, PartKind::answer(answer));
        }
        reader.builder.push_message(Role::User, span, ContentShape::List, MessageFlags::default());
    }
}

fn read_call<'a>(scan: &mut JsonScanner<'a>, source: &'a str) -> ScanResult<GeminiStoredCall<'a>> {
    if scan.shape()? != JsonShape::Object {
        return scan.fail("a call is not an object");
    }
    let mut call = GeminiStoredCall { span: Span::NOWHERE, id: None, name: None, result: None };
    let mut once = UniqueFields::default();
    call.span = scan.object(|scan, key, _| {
        once.check_known(scan, &[b"id", b"name", b"result"], key)?;
        match key {
            b"id" => call.id = string_value(scan, source)?,
            b"name" => call.name = string_value(scan, source)?,
            b"result" => {
                let result = scan.skip()?;
                call.result = (!matches!(result.of(source), "null" | "[]")).then_some(result);
            }
            _ => drop(scan.skip()?),
        }
        Ok(())
    })?;
    Ok(call)
}

/// Whether user input is for the agent, not the model: a single text of a known form.
fn is_agent_input(source: &str, content: Span) -> bool {
    const OWN: [&str; 4] = ["/", "?", "<session_context>", "<hook_context>"];
    let one = match content.of(source).as_bytes().first() {
        Some(b'[') => match array_elements(source, content).as_slice() {
            [one] => *one,
            _ => return false,
        },
        _ => content,
    };
    let text = match one.of(source).as_bytes().first() {
        Some(b'"') => JsonScanner::within(source, one).string().ok().map(|text| text.text(source)),
        Some(b'{') => field_text(source, one, "text"),
        _ => None,
    };
    let trimmed = text.as_deref().map(str::trim);
    trimmed.is_some_and(|trimmed| {
        trimmed.is_empty() || OWN.iter().any(|mark| trimmed.starts_with(mark))
    })
}

/// Reads a content: a string, a part, or a list of both.
fn read_parts<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
) -> ScanResult<ContentShape> {
    Ok(match scan.shape()? {
        JsonShape::Array => {
            scan.array(|scan, _| read_part(scan, reader))?;
            ContentShape::List
        }
        JsonShape::String => read_part(scan, reader).map(|()| ContentShape::Text)?,
        JsonShape::Object => read_part(scan, reader).map(|()| ContentShape::Other)?,
        JsonShape::Null => scan.skip().map(|_| ContentShape::Null)?,
        JsonShape::Number | JsonShape::Bool => {
            return scan.fail("`content` is neither text nor parts");
        }
    })
}

fn read_part<'a>(scan: &mut JsonScanner<'a>, reader: &mut OutlineReader<'a>) -> ScanResult<()> {
    match scan.shape()? {
        JsonShape::String => {
            let start = scan.position();
            let text = scan.string()?;
            if !text.span.is_empty() {
                let shape = text_fullness(reader.source, text);
                reader.builder.push_part(Span::new(start, scan.position()), PartKind::Text(shape));
            }
            Ok(())
        }
        JsonShape::Object => gemini::read_part(scan, reader),
        _ => scan.fail("a part is neither text nor an object"),
    }
}

/// The current versions of all messages, in order.
pub(super) fn current_versions<'a>(log: &SessionRecords<'a>) -> Vec<GeminiMessageVersion<'a>> {
    versions_until(log, u32::try_from(log.records.len()).unwrap_or(0))
}

/// The versions that were current before a record was written, in order.
pub(super) fn versions_until<'a>(
    log: &SessionRecords<'a>,
    end: u32,
) -> Vec<GeminiMessageVersion<'a>> {
    let mut list: Vec<Option<GeminiMessageVersion<'a>>> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut steps = log.steps.iter().peekable();
    let mut entries = log.entries.iter().peekable();
    for record in 0..end {
        match steps.next_if(|(at, _)| *at == record).map(|(_, step)| *step) {
            Some(GeminiHistoryStep::Reset) => {
                list.clear();
                // Clearing a table costs as much as its capacity.
                places = HashMap::new();
            }
            Some(GeminiHistoryStep::Rewind(id)) => {
                // From the named message on; all of them if the id is unknown.
                let from = places.get(id).copied().unwrap_or(0);
                for entry in list.drain(from..).flatten() {
                    if places.get(entry.id).is_some_and(|&place| place >= from) {
                        places.remove(entry.id);
                    }
                }
            }
            None => {}
        }
        while let Some(entry) = entries.next_if(|entry| entry.record == record) {
            match places.get(entry.id) {
                Some(&place) if !entry.id.is_empty() => {
                    let first_version =
                        list[place].map_or(entry.first_version, |first| first.first_version);
                    list[place] = Some(GeminiMessageVersion { first_version, ..*entry });
                }
                _ => {
                    places.insert(entry.id, list.len());
                    list.push(Some(*entry));
                }
            }
        }
    }
    list.into_iter().flatten().collect()
}
