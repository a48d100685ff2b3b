//! Export: one session after the other, page by page.

use std::io::{self, Write};

use super::{ExportReport, line_format, linked_lines::LinkedLineWriter};
use crate::{
    ArchiveStore, ListFilter, ListPage, RawEvent, Result, RunRow, SessionRow, StoreError,
    chain::{self, ROOT},
};

/// Rows read per page.
const PAGE: usize = 500;

/// Writes sessions with everything in them: those with the given ids, or all if `sessions` is
/// empty. Concurrent writes may or may not be included; what is included is complete.
pub async fn export<A: ArchiveStore>(
    store: &A,
    sessions: &[String],
    out: impl Write + Send,
) -> Result<ExportReport> {
    let mut export =
        StoreExport { store, lines: LinkedLineWriter::new(out), report: ExportReport::default() };
    export.write(&line_format::header_line())?;
    match sessions {
        [] => export.export_all().await?,
        ids => export.export_named(ids).await?,
    }
    let trailer = line_format::trailer_line(&export.report);
    export.write(&trailer)?;
    export.lines.flush().map_err(write_error)?;
    Ok(export.report)
}

struct StoreExport<'a, A, W> {
    store: &'a A,
    lines: LinkedLineWriter<W>,
    report: ExportReport,
}

impl<A: ArchiveStore, W: Write> StoreExport<'_, A, W> {
    fn write(&mut self, line: &str) -> Result<()> {
        self.lines.write(line).map_err(write_error)
    }

    async fn export_all(&mut self) -> Result<()> {
        let mut page = ListPage { after: None, limit: PAGE };
        loop {
            let sessions = self.store.sessions(ListFilter::default(), page.clone()).await?;
            let Some(last) = sessions.last() else { return Ok(()) };
            page.after = Some(last.id.clone());
            for session in sessions {
                self.export_session(&session).await?;
            }
        }
    }

    async fn export_named(&mut self, ids: &[String]) -> Result<()> {
        for id in ids {
            let session = self.store.session(id).await?;
            let session = session.ok_or_else(|| StoreError::NoSession(id.clone()))?;
            self.export_session(&session).await?;
        }
        Ok(())
    }

    async fn export_session(&mut self, session: &SessionRow) -> Result<()> {
        self.write(&line_format::session_line(session))?;
        self.report.sessions += 1;
        let mut after = 0;
        loop {
            let records = self.store.records(&session.id, after, PAGE).await?;
            let Some(last) = records.last() else { break };
            after = last.ordinal;
            for record in &records {
                self.write(&line_format::record_line(record))?;
                self.report.records += 1;
            }
        }
        let filter = ListFilter { session: Some(session.id.clone()), ..ListFilter::default() };
        let mut page = ListPage { after: None, limit: PAGE };
        loop {
            let runs = self.store.runs(filter.clone(), page.clone()).await?;
            let Some(last) = runs.last() else { return Ok(()) };
            page.after = Some(last.id.clone());
            for run in &runs {
                self.export_run(run).await?;
            }
        }
    }

    async fn export_run(&mut self, run: &RunRow) -> Result<()> {
        self.write(&line_format::run_line(run))?;
        self.report.runs += 1;
        if let Some(damage) = self.export_events(run).await? {
            self.report.damage.push(format!("run `{}`: {damage}", run.id));
        }
        self.write(&line_format::run_end_line(&run.state))
    }

    /// Writes the log up to the last event that the run's row names, or up to damage.
    async fn export_events(&mut self, run: &RunRow) -> Result<Option<String>> {
        let (mut last, mut link) = (0, ROOT);
        while last < run.last {
            let rows = self.store.raw_events(&run.id, last, PAGE).await?;
            if rows.is_empty() {
                return Ok(Some(format!("event {}: it is missing", last + 1)));
            }
            let rows: Vec<RawEvent> = rows.into_iter().filter(|row| row.seq <= run.last).collect();
            for row in rows {
                if let Err(why) = chain::follows(last, &link, &row) {
                    return Ok(Some(format!("event {}: {why}", last + 1)));
                }
                self.write(&line_format::event_line(&row))?;
                (last, link) = (row.seq, row.chain);
                self.report.events += 1;
            }
        }
        Ok(None)
    }
}

fn write_error(error: io::Error) -> StoreError {
    StoreError::Unavailable(Box::new(error))
}
