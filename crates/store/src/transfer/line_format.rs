//! Encodes sessions, records, runs and events as lines, and parses them.

use std::collections::BTreeMap;

use foxwedge_run::{RunEnd, RunSummary};
use serde_json::{Value, json, value::RawValue};

use super::{
    ExportReport,
    linked_lines::{hex, unhex},
};
use crate::{NewRecord, RawEvent, RunRow, RunState, SessionRow, StoredRecord, codec};

/// Format version.
const FORMAT: u64 = 1;

/// A parsed line.
pub(super) enum ExportLine {
    Header,
    Session(SessionRow),
    Record(StoredRecord),
    Run(RunRow),
    /// An event with the next sequence number.
    Event {
        body: String,
        chain: [u8; 16],
    },
    /// The run was open.
    Left,
    Ended {
        ended: RunEnd,
        summary: RunSummary,
        at: u64,
    },
    Trailer {
        counts: [u64; 4],
    },
}

pub(super) fn header_line() -> String {
    format!("{{\"foxwedge\":{FORMAT}")
}

pub(super) fn session_line(row: &SessionRow) -> String {
    let metadata = json!({
        "id": row.id,
        "owner": row.owner,
        "title": row.title,
        "created": row.created,
        "touched": row.touched,
        "epoch": row.epoch,
    });
    let meta = row.meta.as_deref().map_or(String::new(), |meta| write_payload("meta", meta));
    format!("{{\"session\":{metadata}{meta}")
}

pub(super) fn record_line(record: &StoredRecord) -> String {
    let StoredRecord { ordinal, at, record } = record;
    let metadata = json!({
        "ordinal": ordinal,
        "at": at,
        "id": record.id,
        "parent": record.parent,
        "run": record.run,
        "kind": record.kind,
    });
    format!("{{\"record\":{metadata}{}", write_payload("body", &record.body))
}

pub(super) fn run_line(row: &RunRow) -> String {
    let metadata = json!({
        "id": row.id,
        "epoch": row.epoch,
        "key": row.key,
        "started": row.started,
        "agent": row.agent,
        "model": row.model,
    });
    format!("{{\"run\":{metadata}")
}

pub(super) fn event_line(event: &RawEvent) -> String {
    format!("{{\"event\":{},\"chain\":\"{}\"", event.body, hex(&event.chain))
}

pub(super) fn run_end_line(state: &RunState) -> String {
    match state {
        RunState::Open => "{\"run_end\":{\"state\":\"open\"}".to_owned(),
        RunState::Ended { ended, summary, at } => format!(
            "{{\"run_end\":{{\"state\":\"ended\",\"at\":{at}}},\"ended\":{},\"summary\":{}",
            codec::write_end(ended),
            codec::write_summary(summary),
        ),
    }
}

pub(super) fn trailer_line(report: &ExportReport) -> String {
    let ExportReport { sessions, records, runs, events, .. } = report;
    let counts =
        json!({ "sessions": sessions, "records": records, "runs": runs, "events": events });
    format!("{{\"end\":{counts}")
}

/// Parses a line whose last brace is missing. The caller fills in the session of a run.
pub(super) fn parse_line(open: &str) -> Result<ExportLine, String> {
    let text = format!("{open}}}");
    let fields: ExportFields<'_> = serde_json::from_str(&text)
        .map_err(|error| format!("the line is not valid JSON: {error}"))?;
    let read = |name: &str| fields.get(name).map(|raw| LineMetadata::read(raw));
    if let Some(version) = fields.get("foxwedge") {
        return match version.get() == FORMAT.to_string() {
            true => Ok(ExportLine::Header),
            false => Err(format!("unknown format version {}", version.get())),
        };
    }
    if let Some(metadata) = read("session") {
        return read_session(&metadata?, &fields).map(ExportLine::Session);
    }
    if let Some(metadata) = read("record") {
        return read_record(&metadata?, &fields).map(ExportLine::Record);
    }
    if let Some(metadata) = read("run") {
        return read_run(&metadata?).map(ExportLine::Run);
    }
    if let Some(body) = fields.get("event") {
        let chain = fields.get("chain").and_then(|raw| serde_json::from_str(raw.get()).ok());
        let chain = chain.and_then(unhex).ok_or("the event has no hash")?;
        return Ok(ExportLine::Event { body: body.get().to_owned(), chain });
    }
    if let Some(metadata) = read("run_end") {
        return read_end(&metadata?, &fields);
    }
    if let Some(metadata) = read("end") {
        let metadata = metadata?;
        let count = |name| metadata.number(name);
        let counts = [count("sessions")?, count("records")?, count("runs")?, count("events")?];
        return Ok(ExportLine::Trailer { counts });
    }
    Err("unknown kind of line".to_owned())
}

type ExportFields<'a> = BTreeMap<String, &'a RawValue>;

/// The small fields of a line.
struct LineMetadata(Value);

impl LineMetadata {
    fn read(raw: &RawValue) -> Result<LineMetadata, String> {
        serde_json::from_str(raw.get()).map(LineMetadata).map_err(|error| error.to_string())
    }

    fn text(&self, name: &str) -> Result<String, String> {
        self.optional(name)?.ok_or_else(|| format!("`{name}` is missing"))
    }

    fn optional(&self, name: &str) -> Result<Option<String>, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!("`{name}` is not a string")),
        }
    }

    fn number(&self, name: &str) -> Result<u64, String> {
        let number = self.0.get(name).and_then(Value::as_u64);
        number.ok_or_else(|| format!("`{name}` is not a number"))
    }
}

fn read_session(metadata: &LineMetadata, fields: &ExportFields<'_>) -> Result<SessionRow, String> {
    Ok(SessionRow {
        id: metadata.text("id")?,
        owner: metadata.text("owner")?,
        title: metadata.text("title")?,
        meta: read_payload("meta", fields)?,
        created: metadata.number("created")?,
        touched: metadata.number("touched")?,
        epoch: metadata.number("epoch")?,
        records: 0,
    })
}

fn read_record(metadata: &LineMetadata, fields: &ExportFields<'_>) -> Result<StoredRecord, String> {
    Ok(StoredRecord {
        ordinal: metadata.number("ordinal")?,
        at: metadata.number("at")?,
        record: NewRecord {
            id: metadata.text("id")?,
            parent: metadata.optional("parent")?,
            run: metadata.optional("run")?,
            kind: metadata.text("kind")?,
            body: read_payload("body", fields)?.ok_or("the record has no body")?,
        },
    })
}

fn read_run(metadata: &LineMetadata) -> Result<RunRow, String> {
    Ok(RunRow {
        id: metadata.text("id")?,
        session: String::new(),
        epoch: metadata.number("epoch")?,
        key: metadata.optional("key")?,
        started: metadata.number("started")?,
        last: 0,
        state: RunState::Open,
        lease: None,
        lease_until: None,
        agent: metadata.optional("agent")?,
        model: metadata.optional("model")?,
    })
}

fn read_end(metadata: &LineMetadata, fields: &ExportFields<'_>) -> Result<ExportLine, String> {
    match metadata.text("state")?.as_str() {
        "open" => Ok(ExportLine::Left),
        "ended" => {
            let part = |name| fields.get(name).map(|raw| raw.get()).ok_or("the end is incomplete");
            let ended = codec::read_end("", part("ended")?).map_err(|error| error.to_string())?;
            let summary =
                codec::read_summary("", part("summary")?).map_err(|error| error.to_string())?;
            Ok(ExportLine::Ended { ended, summary, at: metadata.number("at")? })
        }
        state => Err(format!("unknown state `{state}`")),
    }
}

/// Writes JSON unchanged, or as a string in a field `<name>_text` if it would break the line.
fn write_payload(name: &str, text: &str) -> String {
    if text.contains(['\n', '\r']) || text.trim() != text {
        return format!(",\"{name}_text\":{}", Value::from(text));
    }
    format!(",\"{name}\":{text}")
}

fn read_payload(name: &str, fields: &ExportFields<'_>) -> Result<Option<String>, String> {
    if let Some(raw) = fields.get(name) {
        return Ok(Some(raw.get().to_owned()));
    }
    match fields.get(&format!("{name}_text")) {
        Some(raw) => serde_json::from_str(raw.get()).map(Some).map_err(|error| error.to_string()),
        None => Ok(None),
    }
}
