//! Sessions, records, runs and events as lines, and back.

use std::collections::BTreeMap;

use foxwedge_run::{RunEnd, RunSummary};
use serde_json::{Value, json, value::RawValue};

use super::{
    ExportReport,
    linked_lines::{hex, unhex},
};
use crate::{NewRecord, RawEvent, RunRow, RunState, SessionRow, StoredRecord, codec};

/// The version of the format.
const FORMAT: u64 = 1;

/// A line, read.
pub(super) enum ExportLine {
    Header,
    Session(SessionRow),
    Record(StoredRecord),
    Run(RunRow),
    /// An event, whose place is the next one.
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
    let facts = json!({
        "id": row.id,
        "owner": row.owner,
        "title": row.title,
        "created": row.created,
        "touched": row.touched,
        "epoch": row.epoch,
    });
    let meta = row.meta.as_deref().map_or(String::new(), |meta| write_payload("meta", meta));
    format!("{{\"session\":{facts}{meta}")
}

pub(super) fn record_line(record: &StoredRecord) -> String {
    let StoredRecord { ordinal, at, record } = record;
    let facts = json!({
        "ordinal": ordinal,
        "at": at,
        "id": record.id,
        "parent": record.parent,
        "run": record.run,
        "kind": record.kind,
    });
    format!("{{\"record\":{facts}{}", write_payload("body", &record.body))
}

pub(super) fn run_line(row: &RunRow) -> String {
    let facts = json!({
        "id": row.id,
        "epoch": row.epoch,
        "key": row.key,
        "started": row.started,
        "agent": row.agent,
        "model": row.model,
    });
    format!("{{\"run\":{facts}")
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

pub(super) fn trailer_line(exported: &ExportReport) -> String {
    let ExportReport { sessions, records, runs, events, .. } = exported;
    let counts =
        json!({ "sessions": sessions, "records": records, "runs": runs, "events": events });
    format!("{{\"end\":{counts}")
}

/// Reads a line whose last brace is missing. The session of a run is filled in by whoever knows.
pub(super) fn parse_line(open: &str) -> Result<ExportLine, String> {
    let text = format!("{open}}}");
    let fields: ExportFields<'_> =
        serde_json::from_str(&text).map_err(|error| format!("the line is no JSON: {error}"))?;
    let read = |name: &str| fields.get(name).map(|raw| LineMetadata::read(raw));
    if let Some(version) = fields.get("foxwedge") {
        return match version.get() == FORMAT.to_string() {
            true => Ok(ExportLine::Header),
            false => Err(format!("nobody knows version {} of the format", version.get())),
        };
    }
    if let Some(facts) = read("session") {
        return read_session(&facts?, &fields).map(ExportLine::Session);
    }
    if let Some(facts) = read("record") {
        return read_record(&facts?, &fields).map(ExportLine::Record);
    }
    if let Some(facts) = read("run") {
        return read_run(&facts?).map(ExportLine::Run);
    }
    if let Some(body) = fields.get("event") {
        let chain = fields.get("chain").and_then(|raw| serde_json::from_str(raw.get()).ok());
        let chain = chain.and_then(unhex).ok_or("the event has no link")?;
        return Ok(ExportLine::Event { body: body.get().to_owned(), chain });
    }
    if let Some(facts) = read("run_end") {
        return read_end(&facts?, &fields);
    }
    if let Some(facts) = read("end") {
        let facts = facts?;
        let count = |name| facts.number(name);
        let counts = [count("sessions")?, count("records")?, count("runs")?, count("events")?];
        return Ok(ExportLine::Trailer { counts });
    }
    Err("nobody knows this kind of line".to_owned())
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
            Some(_) => Err(format!("`{name}` is no text")),
        }
    }

    fn number(&self, name: &str) -> Result<u64, String> {
        let number = self.0.get(name).and_then(Value::as_u64);
        number.ok_or_else(|| format!("`{name}` is no number"))
    }
}

fn read_session(facts: &LineMetadata, fields: &ExportFields<'_>) -> Result<SessionRow, String> {
    Ok(SessionRow {
        id: facts.text("id")?,
        owner: facts.text("owner")?,
        title: facts.text("title")?,
        meta: read_payload("meta", fields)?,
        created: facts.number("created")?,
        touched: facts.number("touched")?,
        epoch: facts.number("epoch")?,
        records: 0,
    })
}

fn read_record(facts: &LineMetadata, fields: &ExportFields<'_>) -> Result<StoredRecord, String> {
    Ok(StoredRecord {
        ordinal: facts.number("ordinal")?,
        at: facts.number("at")?,
        record: NewRecord {
            id: facts.text("id")?,
            parent: facts.optional("parent")?,
            run: facts.optional("run")?,
            kind: facts.text("kind")?,
            body: read_payload("body", fields)?.ok_or("the record has no body")?,
        },
    })
}

fn read_run(facts: &LineMetadata) -> Result<RunRow, String> {
    Ok(RunRow {
        id: facts.text("id")?,
        session: String::new(),
        epoch: facts.number("epoch")?,
        key: facts.optional("key")?,
        started: facts.number("started")?,
        last: 0,
        state: RunState::Open,
        lease: None,
        lease_until: None,
        agent: facts.optional("agent")?,
        model: facts.optional("model")?,
    })
}

fn read_end(facts: &LineMetadata, fields: &ExportFields<'_>) -> Result<ExportLine, String> {
    match facts.text("state")?.as_str() {
        "open" => Ok(ExportLine::Left),
        "ended" => {
            let part = |name| fields.get(name).map(|raw| raw.get()).ok_or("the end is incomplete");
            let ended = codec::read_end("", part("ended")?).map_err(|error| error.to_string())?;
            let summary =
                codec::read_summary("", part("summary")?).map_err(|error| error.to_string())?;
            Ok(ExportLine::Ended { ended, summary, at: facts.number("at")? })
        }
        state => Err(format!("nobody knows the state `{state}`")),
    }
}

/// JSON as it was spelled; as a string in a field of another name if it would break the line.
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
