//! Out: one session after the other, page by page.

use std::io::{self, Write};

use super::{Exported, lines::Writer, spell};
use crate::{
    Archive, Filter, Page, RawEvent, Result, RunRow, SessionRow, StoreError,
    chain::{self, ROOT},
};

/// How much is read at once.
const PAGE: usize = 500;

/// Writes sessions with everything in them: those of the list, or all if it is empty. What others
/// write meanwhile may or may not be in it; what is in it is whole.
pub async fn export<A: Archive>(
    store: &A,
    sessions: &[String],
    out: impl Write + Send,
) -> Result<Exported> {
    let mut export = Export { store, lines: Writer::new(out), done: Exported::default() };
    export.write(&spell::header())?;
    match sessions {
        [] => export.all().await?,
        ids => export.named(ids).await?,
    }
    let trailer = spell::trailer(&export.done);
    export.write(&trailer)?;
    export.lines.flush().map_err(broken)?;
    Ok(export.done)
}

struct Export<'a, A, W> {
    store: &'a A,
    lines: Writer<W>,
    done: Exported,
}

impl<A: Archive, W: Write> Export<'_, A, W> {
    fn write(&mut self, line: &str) -> Result<()> {
        self.lines.write(line).map_err(broken)
    }

    async fn all(&mut self) -> Result<()> {
        let mut page = Page { after: None, limit: PAGE };
        loop {
            let sessions = self.store.sessions(Filter::default(), page.clone()).await?;
            let Some(last) = sessions.last() else { return Ok(()) };
            page.after = Some(last.id.clone());
            for session in sessions {
                self.session(&session).await?;
            }
        }
    }

    async fn named(&mut self, ids: &[String]) -> Result<()> {
        for id in ids {
            let session = self.store.session(id).await?;
            let session = session.ok_or_else(|| StoreError::NoSession(id.clone()))?;
            self.session(&session).await?;
        }
        Ok(())
    }

    async fn session(&mut self, session: &SessionRow) -> Result<()> {
        self.write(&spell::session(session))?;
        self.done.sessions += 1;
        let mut after = 0;
        loop {
            let records = self.store.records(&session.id, after, PAGE).await?;
            let Some(last) = records.last() else { break };
            after = last.ordinal;
            for record in &records {
                self.write(&spell::record(record))?;
                self.done.records += 1;
            }
        }
        let filter = Filter { session: Some(session.id.clone()), ..Filter::default() };
        let mut page = Page { after: None, limit: PAGE };
        loop {
            let runs = self.store.runs(filter.clone(), page.clone()).await?;
            let Some(last) = runs.last() else { return Ok(()) };
            page.after = Some(last.id.clone());
            for run in &runs {
                self.run(run).await?;
            }
        }
    }

    async fn run(&mut self, run: &RunRow) -> Result<()> {
        self.write(&spell::run(run))?;
        self.done.runs += 1;
        if let Some(damage) = self.events(run).await? {
            self.done.damage.push(format!("run `{}`: {damage}", run.id));
        }
        self.write(&spell::run_end(&run.state))
    }

    /// The log up to where the row says it goes, or to where it is damaged.
    async fn events(&mut self, run: &RunRow) -> Result<Option<String>> {
        let (mut place, mut link) = (0, ROOT);
        while place < run.last {
            let rows = self.store.raw_events(&run.id, place, PAGE).await?;
            if rows.is_empty() {
                return Ok(Some(format!("event {}: it is missing", place + 1)));
            }
            let rows: Vec<RawEvent> = rows.into_iter().filter(|row| row.seq <= run.last).collect();
            for row in rows {
                if let Err(why) = chain::follows(place, &link, &row) {
                    return Ok(Some(format!("event {}: {why}", place + 1)));
                }
                self.write(&spell::event(&row))?;
                (place, link) = (row.seq, row.chain);
                self.done.events += 1;
            }
        }
        Ok(None)
    }
}

fn broken(error: io::Error) -> StoreError {
    StoreError::Unavailable(Box::new(error))
}
