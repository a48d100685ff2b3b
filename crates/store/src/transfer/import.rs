//! Import: line by line, as long as the lines are valid. Content of a file is checked like the
//! input of any caller.

use std::io::BufRead;

use foxwedge_run::wire;

use super::{
    FileDamage, ImportReport,
    line_format::{self, ExportLine},
    linked_lines::LinkedLineReader,
};
use crate::{
    ArchiveStore, RawEvent, RestoreItem, Result, RunRow, StoreError, StoredRecord,
    chain::{self, ROOT},
    check,
};

/// Maximum number of lines, and of bytes, written to the store at once.
const BATCH: usize = 1_000;
const BATCH_BYTES: usize = 4 << 20;

/// Maximum number of conflicts listed in the report.
const CONFLICTS: usize = 100;

/// Reads a file that [`export`](super::export) wrote. Skips what exists already, so importing the
/// same file again changes nothing. The next sweep closes runs that were open.
pub async fn import<A: ArchiveStore>(
    store: &A,
    input: impl BufRead + Send,
) -> Result<ImportReport> {
    let mut import = StoreImport {
        store,
        report: ImportReport::default(),
        counts: [0; 4],
        session: ImportSession::None,
        run: None,
        records: Vec::new(),
        bytes: 0,
    };
    let mut lines = LinkedLineReader::new(input);
    let end = loop {
        match lines.next().map_err(|error| StoreError::Unavailable(Box::new(error)))? {
            Err(damage) => break Some(damage),
            Ok(None) => break Some(lines.damage("the file is incomplete")),
            Ok(Some(open)) => match import.read_line(&open).await {
                Ok(ImportStep::Continue) => {}
                Ok(ImportStep::End) => break check_trailing(&mut lines)?,
                Err(ImportFailure::Line(what)) => break Some(lines.damage(what)),
                Err(ImportFailure::Store(error)) => return Err(error),
            },
        }
    };
    import.finish(end).await
}

/// Whether to read another line.
enum ImportStep {
    Continue,
    End,
}

/// Why a line was not imported.
enum ImportFailure {
    /// The line is invalid.
    Line(String),
    /// The store failed.
    Store(StoreError),
}

impl From<String> for ImportFailure {
    fn from(what: String) -> ImportFailure {
        ImportFailure::Line(what)
    }
}

impl From<&str> for ImportFailure {
    fn from(what: &str) -> ImportFailure {
        ImportFailure::Line(what.to_owned())
    }
}

/// The session of the current lines.
#[derive(Clone, PartialEq, Eq)]
enum ImportSession {
    /// No line was read yet.
    None,
    /// After the first line, before the first session.
    Begun,
    /// Lines of this session are imported.
    Session(String),
    /// The session id exists with other content: its lines are skipped.
    Skipped,
}

/// The run of the current events.
struct CurrentRun {
    row: RunRow,
    last: u64,
    link: [u8; 16],
    /// Verified events that are not in the store yet.
    events: Vec<RawEvent>,
    state: ImportDecision,
}

/// Whether a run is imported.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ImportDecision {
    Accepted,
    Skipped,
}

struct StoreImport<'a, A> {
    store: &'a A,
    report: ImportReport,
    /// Sessions, records, runs and events read from the file.
    counts: [u64; 4],
    session: ImportSession,
    run: Option<CurrentRun>,
    records: Vec<StoredRecord>,
    /// Bytes of the records and events not written yet.
    bytes: usize,
}

impl<A: ArchiveStore> StoreImport<'_, A> {
    async fn read_line(&mut self, open: &str) -> Result<ImportStep, ImportFailure> {
        let line = line_format::parse_line(open)?;
        if matches!(line, ExportLine::Header) != (self.session == ImportSession::None) {
            return Err("the first line, and no other, must name the format".into());
        }
        if self.run.is_some()
            && !matches!(
                line,
                ExportLine::Event { .. } | ExportLine::Left | ExportLine::Ended { .. }
            )
        {
            return Err("the previous run has no end".into());
        }
        match line {
            ExportLine::Header => self.session = ImportSession::Begun,
            ExportLine::Session(row) => {
                self.flush_records().await?;
                self.counts[0] += 1;
                let id = row.id.clone();
                self.session = match self.restore(RestoreItem::Session(row), &id).await? {
                    Some(new) => {
                        self.report.sessions += new;
                        ImportSession::Session(id)
                    }
                    None => ImportSession::Skipped,
                };
            }
            ExportLine::Record(record) => {
                self.check_session()?;
                check::record(&record.record).map_err(|error| error.to_string())?;
                self.counts[1] += 1;
                self.bytes += record.record.body.len();
                self.records.push(record);
                if self.records.len() >= BATCH || self.bytes >= BATCH_BYTES {
                    self.flush_records().await?;
                }
            }
            ExportLine::Run(row) => {
                self.flush_records().await?;
                self.counts[2] += 1;
                self.start_run(row).await?;
            }
            ExportLine::Event { body, chain } => {
                self.counts[3] += 1;
                self.add_event(body, chain).await?;
            }
            ExportLine::Left => self.end_run(None).await?,
            ExportLine::Ended { ended, summary, at } => {
                let run = self.run.as_ref().map(|run| run.row.id.clone());
                let run = run.ok_or("an end without a run")?;
                self.end_run(Some(RestoreItem::End { run, ended, summary, at })).await?;
            }
            ExportLine::Trailer { counts } => {
                self.flush_records().await?;
                if counts != self.counts {
                    return Err("the counts in the last line do not match the file".into());
                }
                return Ok(ImportStep::End);
            }
        }
        Ok(ImportStep::Continue)
    }

    fn check_session(&self) -> Result<(), ImportFailure> {
        match self.session {
            ImportSession::Session(_) | ImportSession::Skipped => Ok(()),
            ImportSession::None | ImportSession::Begun => {
                Err("the line belongs to no session".into())
            }
        }
    }

    async fn start_run(&mut self, row: RunRow) -> Result<(), ImportFailure> {
        self.check_session()?;
        let state = match &self.session {
            ImportSession::Session(session) => {
                let row = RunRow { session: session.clone(), ..row.clone() };
                let id = row.id.clone();
                let restored = self.restore(RestoreItem::Run(row), &id).await?;
                self.report.runs += restored.unwrap_or(0);
                if restored.is_some() { ImportDecision::Accepted } else { ImportDecision::Skipped }
            }
            ImportSession::None | ImportSession::Begun | ImportSession::Skipped => {
                ImportDecision::Skipped
            }
        };
        self.run = Some(CurrentRun { row, last: 0, link: ROOT, events: Vec::new(), state });
        Ok(())
    }

    async fn add_event(&mut self, body: String, chain: [u8; 16]) -> Result<(), ImportFailure> {
        let run = self.run.as_mut().ok_or("an event without a run")?;
        let event = RawEvent { seq: run.last + 1, body, chain };
        chain::follows(run.last, &run.link, &event)?;
        check::raw_event(&run.row.id, &event).map_err(|error| error.to_string())?;
        check_event(&run.row, &event)?;
        (run.last, run.link) = (event.seq, event.chain);
        if run.state == ImportDecision::Skipped {
            return Ok(());
        }
        self.bytes += event.body.len();
        run.events.push(event);
        if run.events.len() >= BATCH || self.bytes >= BATCH_BYTES {
            self.flush_events().await?;
        }
        Ok(())
    }

    /// Ends a run, or leaves it open if `end` is `None`.
    async fn end_run(&mut self, end: Option<RestoreItem>) -> Result<(), ImportFailure> {
        self.flush_events().await?;
        let run = self.run.take().ok_or("an end without a run")?;
        if run.state == ImportDecision::Skipped {
            return Ok(());
        }
        let id = run.row.id;
        let ended = match end {
            Some(item) => self.restore(item, &id).await?,
            None => None,
        };
        // If it cannot be ended as the file has it, leave it like an open run.
        if ended.is_none() {
            self.restore(RestoreItem::Left { run: id.clone() }, &id).await?;
        }
        Ok(())
    }

    async fn flush_events(&mut self) -> Result<(), ImportFailure> {
        let Some(run) = self.run.as_mut().filter(|run| !run.events.is_empty()) else {
            return Ok(());
        };
        let (id, events) = (run.row.id.clone(), std::mem::take(&mut run.events));
        self.bytes = 0;
        match self.restore(RestoreItem::Events { run: id.clone(), events }, &id).await? {
            Some(new) => self.report.events += new,
            None => {
                // A run that the import itself started must not stay open for ever.
                self.restore(RestoreItem::Left { run: id.clone() }, &id).await?;
                if let Some(run) = &mut self.run {
                    run.state = ImportDecision::Skipped;
                }
            }
        }
        Ok(())
    }

    async fn flush_records(&mut self) -> Result<(), ImportFailure> {
        let records = std::mem::take(&mut self.records);
        self.bytes = 0;
        let ImportSession::Session(session) = self.session.clone() else { return Ok(()) };
        if records.is_empty() {
            return Ok(());
        }
        let id = session.clone();
        let new = self.restore(RestoreItem::Records { session, records }, &id).await?;
        self.report.records += new.unwrap_or(0);
        Ok(())
    }

    /// Restores an item. Returns `None` if other content exists.
    async fn restore(&mut self, item: RestoreItem, id: &str) -> Result<Option<u64>, ImportFailure> {
        match self.store.restore(item).await {
            Ok(new) => Ok(Some(new)),
            Err(StoreError::Conflict(what)) => {
                let what = if what == id { what } else { format!("{id}: {what}") };
                self.report.conflicting += 1;
                if self.report.conflicts.len() < CONFLICTS {
                    self.report.conflicts.push(what);
                }
                Ok(None)
            }
            Err(StoreError::Invalid(why)) => Err(ImportFailure::Line(why)),
            Err(error) => Err(ImportFailure::Store(error)),
        }
    }

    /// Writes what was valid, also if the file is damaged after it.
    async fn finish(mut self, damage: Option<FileDamage>) -> Result<ImportReport> {
        let flushed = self.flush_all().await;
        self.report.damage = match (flushed, damage) {
            (Ok(()), damage) => damage,
            (Err(ImportFailure::Store(error)), _) => return Err(error),
            (Err(ImportFailure::Line(what)), Some(damage)) => Some(FileDamage { what, ..damage }),
            (Err(ImportFailure::Line(what)), None) => return Err(StoreError::Invalid(what)),
        };
        Ok(self.report)
    }

    async fn flush_all(&mut self) -> Result<(), ImportFailure> {
        self.flush_records().await?;
        if self.run.is_some() {
            self.end_run(None).await?;
        }
        Ok(())
    }
}

/// Checks that an event agrees with the lines around it.
fn check_event(run: &RunRow, raw: &RawEvent) -> Result<(), String> {
    let event = wire::read(&raw.body).map_err(|error| error.to_string())?;
    if *event.run != *run.id {
        return Err("the event belongs to another run".to_owned());
    }
    if event.epoch.is_some_and(|epoch| epoch != run.epoch) {
        return Err("the event has the epoch of another run".to_owned());
    }
    if event.seq.is_some_and(|seq| seq != raw.seq) {
        return Err("the event has another number".to_owned());
    }
    Ok(())
}

/// Checks that nothing follows the last line.
fn check_trailing<R: BufRead>(lines: &mut LinkedLineReader<R>) -> Result<Option<FileDamage>> {
    match lines.next().map_err(|error| StoreError::Unavailable(Box::new(error)))? {
        Ok(None) => Ok(None),
        Ok(Some(_)) => Ok(Some(lines.damage("unexpected data after the last line"))),
        Err(_) => Ok(Some(lines.damage("unexpected data after the last line"))),
    }
}
