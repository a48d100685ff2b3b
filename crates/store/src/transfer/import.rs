//! In: line by line, as long as the lines are good. What comes out of a file is checked like
//! anything that a caller says.

use std::io::BufRead;

use foxwedge_run::wire;

use super::{
    Damage, Imported,
    lines::Reader,
    spell::{self, Line},
};
use crate::{
    Archive, Piece, RawEvent, Record, Result, RunRow, StoreError,
    chain::{self, ROOT},
    check,
};

/// So many lines go into the store at once, or so many bytes.
const BATCH: usize = 1_000;
const BATCH_BYTES: usize = 4 << 20;

/// How many conflicts are told one by one.
const CONFLICTS: usize = 100;

/// Reads what [`export`](super::export) wrote. What is there already is passed over, so that the
/// same file again changes nothing. Runs that were open are closed by the next sweep.
pub async fn import<A: Archive>(store: &A, from: impl BufRead + Send) -> Result<Imported> {
    let mut import = Import {
        store,
        done: Imported::default(),
        counts: [0; 4],
        session: Current::None,
        run: None,
        records: Vec::new(),
        bytes: 0,
    };
    let mut lines = Reader::new(from);
    let end = loop {
        match lines.next().map_err(|error| StoreError::Unavailable(Box::new(error)))? {
            Err(damage) => break Some(damage),
            Ok(None) => break Some(lines.damage("the file breaks off")),
            Ok(Some(open)) => match import.line(&open).await {
                Ok(Next::Line) => {}
                Ok(Next::End) => break trailing(&mut lines)?,
                Err(Trouble::Line(what)) => break Some(lines.damage(what)),
                Err(Trouble::Store(error)) => return Err(error),
            },
        }
    };
    import.finish(end).await
}

/// What comes after a line.
enum Next {
    Line,
    End,
}

/// Why a line does not get in.
enum Trouble {
    /// It makes no sense.
    Line(String),
    /// The store is in trouble.
    Store(StoreError),
}

impl From<String> for Trouble {
    fn from(what: String) -> Trouble {
        Trouble::Line(what)
    }
}

impl From<&str> for Trouble {
    fn from(what: &str) -> Trouble {
        Trouble::Line(what.to_owned())
    }
}

/// The session that lines belong to.
#[derive(Clone, PartialEq, Eq)]
enum Current {
    /// Not even the first line was read.
    None,
    /// Between the first line and the first session.
    Begun,
    /// What belongs to it goes in.
    Session(String),
    /// Something else is there under its id: what belongs to it is left out.
    Skipped,
}

/// The run that events belong to.
struct CurrentRun {
    row: RunRow,
    last: u64,
    link: [u8; 16],
    /// Verified, and not in the store yet.
    events: Vec<RawEvent>,
    state: Taken,
}

/// Whether a run goes into the store.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taken {
    Yes,
    No,
}

struct Import<'a, A> {
    store: &'a A,
    done: Imported,
    /// Sessions, records, runs and events, as they were read.
    counts: [u64; 4],
    session: Current,
    run: Option<CurrentRun>,
    records: Vec<Record>,
    /// How much waits.
    bytes: usize,
}

impl<A: Archive> Import<'_, A> {
    async fn line(&mut self, open: &str) -> Result<Next, Trouble> {
        let line = spell::read(open)?;
        if matches!(line, Line::Header) != (self.session == Current::None) {
            return Err("the first line, and no other, names the format".into());
        }
        if self.run.is_some()
            && !matches!(line, Line::Event { .. } | Line::Left | Line::Ended { .. })
        {
            return Err("the run before has no end".into());
        }
        match line {
            Line::Header => self.session = Current::Begun,
            Line::Session(row) => {
                self.flush_records().await?;
                self.counts[0] += 1;
                let id = row.id.clone();
                self.session = match self.restore(Piece::Session(row), &id).await? {
                    Some(new) => {
                        self.done.sessions += new;
                        Current::Session(id)
                    }
                    None => Current::Skipped,
                };
            }
            Line::Record(record) => {
                self.belongs()?;
                check::record(&record.record).map_err(|error| error.to_string())?;
                self.counts[1] += 1;
                self.bytes += record.record.body.len();
                self.records.push(record);
                if self.records.len() >= BATCH || self.bytes >= BATCH_BYTES {
                    self.flush_records().await?;
                }
            }
            Line::Run(row) => {
                self.flush_records().await?;
                self.counts[2] += 1;
                self.begin(row).await?;
            }
            Line::Event { body, chain } => {
                self.counts[3] += 1;
                self.event(body, chain).await?;
            }
            Line::Left => self.end_run(None).await?,
            Line::Ended { ended, summary, at } => {
                let run = self.run.as_ref().map(|run| run.row.id.clone());
                let run = run.ok_or("an end without a run")?;
                self.end_run(Some(Piece::End { run, ended, summary, at })).await?;
            }
            Line::Trailer { counts } => {
                self.flush_records().await?;
                if counts != self.counts {
                    return Err("the file does not hold what its last line says".into());
                }
                return Ok(Next::End);
            }
        }
        Ok(Next::Line)
    }

    fn belongs(&self) -> Result<(), Trouble> {
        match self.session {
            Current::Session(_) | Current::Skipped => Ok(()),
            Current::None | Current::Begun => Err("the line belongs to no session".into()),
        }
    }

    async fn begin(&mut self, row: RunRow) -> Result<(), Trouble> {
        self.belongs()?;
        let state = match &self.session {
            Current::Session(session) => {
                let row = RunRow { session: session.clone(), ..row.clone() };
                let id = row.id.clone();
                let restored = self.restore(Piece::Run(row), &id).await?;
                self.done.runs += restored.unwrap_or(0);
                if restored.is_some() { Taken::Yes } else { Taken::No }
            }
            Current::None | Current::Begun | Current::Skipped => Taken::No,
        };
        self.run = Some(CurrentRun { row, last: 0, link: ROOT, events: Vec::new(), state });
        Ok(())
    }

    async fn event(&mut self, body: String, chain: [u8; 16]) -> Result<(), Trouble> {
        let run = self.run.as_mut().ok_or("an event without a run")?;
        let event = RawEvent { seq: run.last + 1, body, chain };
        chain::follows(run.last, &run.link, &event)?;
        check::raw_event(&run.row.id, &event).map_err(|error| error.to_string())?;
        fits(&run.row, &event)?;
        (run.last, run.link) = (event.seq, event.chain);
        if run.state == Taken::No {
            return Ok(());
        }
        self.bytes += event.body.len();
        run.events.push(event);
        if run.events.len() >= BATCH || self.bytes >= BATCH_BYTES {
            self.flush_events().await?;
        }
        Ok(())
    }

    /// The run is over, or was left open.
    async fn end_run(&mut self, end: Option<Piece>) -> Result<(), Trouble> {
        self.flush_events().await?;
        let run = self.run.take().ok_or("an end without a run")?;
        if run.state == Taken::No {
            return Ok(());
        }
        let id = run.row.id;
        let ended = match end {
            Some(piece) => self.restore(piece, &id).await?,
            None => None,
        };
        // It is left like an open one if it cannot be ended as the file says.
        if ended.is_none() {
            self.restore(Piece::Left { run: id.clone() }, &id).await?;
        }
        Ok(())
    }

    async fn flush_events(&mut self) -> Result<(), Trouble> {
        let Some(run) = self.run.as_mut().filter(|run| !run.events.is_empty()) else {
            return Ok(());
        };
        let (id, events) = (run.row.id.clone(), std::mem::take(&mut run.events));
        self.bytes = 0;
        match self.restore(Piece::Events { run: id.clone(), events }, &id).await? {
            Some(new) => self.done.events += new,
            None => {
                // What the import itself began is not left open for ever.
                self.restore(Piece::Left { run: id.clone() }, &id).await?;
                if let Some(run) = &mut self.run {
                    run.state = Taken::No;
                }
            }
        }
        Ok(())
    }

    async fn flush_records(&mut self) -> Result<(), Trouble> {
        let records = std::mem::take(&mut self.records);
        self.bytes = 0;
        let Current::Session(session) = self.session.clone() else { return Ok(()) };
        if records.is_empty() {
            return Ok(());
        }
        let id = session.clone();
        let new = self.restore(Piece::Records { session, records }, &id).await?;
        self.done.records += new.unwrap_or(0);
        Ok(())
    }

    /// Puts a piece into the store; `None` if something else is there.
    async fn restore(&mut self, piece: Piece, id: &str) -> Result<Option<u64>, Trouble> {
        match self.store.restore(piece).await {
            Ok(new) => Ok(Some(new)),
            Err(StoreError::Conflict(what)) => {
                let what = if what == id { what } else { format!("{id}: {what}") };
                self.done.conflicting += 1;
                if self.done.conflicts.len() < CONFLICTS {
                    self.done.conflicts.push(what);
                }
                Ok(None)
            }
            Err(StoreError::Invalid(why)) => Err(Trouble::Line(why)),
            Err(error) => Err(Trouble::Store(error)),
        }
    }

    /// What was good goes in, also in front of damage.
    async fn finish(mut self, damage: Option<Damage>) -> Result<Imported> {
        let flushed = self.finish_pieces().await;
        self.done.damage = match (flushed, damage) {
            (Ok(()), damage) => damage,
            (Err(Trouble::Store(error)), _) => return Err(error),
            (Err(Trouble::Line(what)), Some(damage)) => Some(Damage { what, ..damage }),
            (Err(Trouble::Line(what)), None) => return Err(StoreError::Invalid(what)),
        };
        Ok(self.done)
    }

    async fn finish_pieces(&mut self) -> Result<(), Trouble> {
        self.flush_records().await?;
        if self.run.is_some() {
            self.end_run(None).await?;
        }
        Ok(())
    }
}

/// An event has to say the same about itself as the lines around it.
fn fits(run: &RunRow, raw: &RawEvent) -> Result<(), String> {
    let event = wire::read(&raw.body).map_err(|error| error.to_string())?;
    if *event.run != *run.id {
        return Err("the event belongs to another run".to_owned());
    }
    if event.epoch.is_some_and(|epoch| epoch != run.epoch) {
        return Err("the event bears the epoch of another run".to_owned());
    }
    if event.seq.is_some_and(|seq| seq != raw.seq) {
        return Err("the event stands in another place".to_owned());
    }
    Ok(())
}

/// Nothing may follow the last line.
fn trailing<R: BufRead>(lines: &mut Reader<R>) -> Result<Option<Damage>> {
    match lines.next().map_err(|error| StoreError::Unavailable(Box::new(error)))? {
        Ok(None) => Ok(None),
        Ok(Some(_)) => Ok(Some(lines.damage("something follows the last line"))),
        Err(_) => Ok(Some(lines.damage("something follows the last line"))),
    }
}
