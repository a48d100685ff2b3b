//! This machine, as the console sees it: the sessions of every agent, through the same eyes as
//! `list`, `show`, `fix`, `undo` and `compact`. Whatever is written goes the way of `fix`.
//!
//! A caller names a session by an id that we gave out ourselves. No path ever comes from outside.

mod scan;
mod view;
mod told;
mod opened;
mod lines;
mod plan;
mod rows;
mod report;
mod mend;
mod cut;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use foxwedge_core::Policy;
use foxwedge_dialect::session::Agent;
use foxwedge_gateway::console::{Listed, Machine, Only, Page, Refusal, SessionFile, Subject, Wish};
use serde_json::{Value, json};

use crate::{
    agents::Entry,
    ask::Ask,
    disk::check_idle,
    outcome::Sitting,
    sessions::kept_by,
    source::{self, Closed, Manner, Source},
};
use opened::Opened;
use plan::Planned;
use scan::Shelf;

/// The most bytes of a session that are read here.
const LARGEST: u64 = 256 << 20;

/// Sessions that stay open, and bytes of them: pages of one session are asked for one by one.
const OPEN: usize = 4;
const BYTES: usize = 256 << 20;

/// This machine.
pub(crate) struct ThisMachine {
    shelf: Shelf,
    /// The last ones that were looked at, the newest last.
    open: Mutex<Vec<(String, Arc<Opened>)>>,
    /// The last repair that was planned.
    planned: Mutex<Option<(String, Arc<Planned>)>>,
}

/// A session file that may be looked at, as it is just now.
struct Place {
    id: String,
    entry: Entry,
    stamp: Stamp,
}

/// Tells whether a file is still the same, without reading it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stamp {
    size: u64,
    modified: u128,
    node: u64,
}

impl ThisMachine {
    /// Looks at nothing before it is asked to.
    pub(crate) fn new() -> ThisMachine {
        ThisMachine { shelf: Shelf::new(), open: Mutex::default(), planned: Mutex::default() }
    }

    /// The file of a session. It has to lie where it was found: a link that somebody put in its
    /// place leads to nothing.
    fn place(&self, id: &str) -> Result<Place, Refusal> {
        let (entry, real) = self.shelf.find(id).ok_or(Refusal::NotFound)?;
        let metadata = fs::symlink_metadata(&entry.path).map_err(gone)?;
        if !metadata.is_file() || fs::canonicalize(&entry.path).map_err(gone)? != real {
            return Err(Refusal::NotFound);
        }
        let stamp = Stamp::of(&metadata);
        Ok(Place { id: id.to_owned(), entry: Entry { size: stamp.size, ..entry }, stamp })
    }

    fn opened(&self, place: &Place) -> Result<Arc<Opened>, Refusal> {
        let known = lock(&self.open).iter().find(|(id, _)| *id == place.id).cloned();
        if let Some((_, opened)) = known.filter(|(_, opened)| opened.stamp == place.stamp) {
            return Ok(opened);
        }
        let opened = Arc::new(Opened::read(place)?);
        let mut open = lock(&self.open);
        open.retain(|(id, _)| *id != place.id);
        open.push((place.id.clone(), opened.clone()));
        let weight = |open: &[(String, Arc<Opened>)]| -> usize {
            open.iter().map(|(_, opened)| opened.weight()).sum()
        };
        while open.len() > 1 && (open.len() > OPEN || weight(&open) > BYTES) {
            open.remove(0);
        }
        Ok(opened)
    }

    fn planned(&self, place: &Place) -> Result<Arc<Planned>, Refusal> {
        let known = lock(&self.planned).clone();
        if let Some((id, planned)) = known
            && id == place.id
            && planned.stamp == place.stamp
        {
            return Ok(planned);
        }
        // The old one goes first: two of them are twice as much.
        lock(&self.planned).take();
        let planned = Arc::new(Planned::make(place)?);
        *lock(&self.planned) = Some((place.id.clone(), planned.clone()));
        Ok(planned)
    }

    /// What is remembered of a session is no longer so.
    fn forget(&self, place: &Place) {
        lock(&self.open).retain(|(id, _)| *id != place.id);
        lock(&self.planned).take();
        self.shelf.look_again(&place.id);
    }
}

impl Machine for ThisMachine {
    fn agents(&self) -> Vec<&'static str> {
        Agent::ALL.iter().map(|agent| agent.name()).collect()
    }

    fn sessions(&self) -> Listed {
        self.shelf.listed()
    }

    fn session(&self, id: &str) -> Result<(Arc<SessionFile>, Value), Refusal> {
        let place = self.place(id)?;
        let opened = self.opened(&place)?;
        let mut more = opened.about();
        more["live"] = live(&place, opened.sitting());
        more["undo"] = mend::undoable(&place);
        more["sub_agents_listed"] = json!(self.shelf.children(&place.entry.id));
        let file = self.shelf.row(&place.id, opened.looked()).ok_or(Refusal::NotFound)?;
        Ok((file, more))
    }

    fn messages(&self, id: &str, page: Page, words: Option<&str>) -> Result<Value, Refusal> {
        Ok(self.opened(&self.place(id)?)?.messages(page, words))
    }

    fn tree(&self, id: &str, page: Page, only: Only) -> Result<Value, Refusal> {
        Ok(self.opened(&self.place(id)?)?.tree(page, only))
    }

    fn records(&self, id: &str, page: Page, most: usize) -> Result<Value, Refusal> {
        lines::lines(&self.place(id)?, page, most)
    }

    fn findings(&self, id: &str, page: Page) -> Result<Value, Refusal> {
        Ok(self.opened(&self.place(id)?)?.findings(page))
    }

    fn plan(&self, id: &str, page: Page) -> Result<Value, Refusal> {
        let place = self.place(id)?;
        let planned = self.planned(&place)?;
        let mut told = planned.told(page);
        told["live"] = live(&place, planned.sitting());
        Ok(told)
    }

    fn plan_told(&self, id: &str) -> Result<String, Refusal> {
        let place = self.place(id)?;
        Ok(report::markdown(&place, &*self.planned(&place)?))
    }

    fn repair(&self, id: &str, plan: &str) -> Result<Value, Refusal> {
        let place = self.place(id)?;
        let done = mend::repair(&place, plan);
        self.forget(&place);
        let mut told = done?;
        mend::after(&self.place(id)?, &mut told);
        Ok(told)
    }

    fn undo(&self, id: &str) -> Result<Value, Refusal> {
        let place = self.place(id)?;
        let done = mend::undo(&place);
        self.forget(&place);
        done?;
        let mut told = json!({});
        mend::after(&self.place(id)?, &mut told);
        Ok(told)
    }

    fn compaction(&self, of: &Subject, wish: &Wish) -> Result<Value, Refusal> {
        match of {
            Subject::File(id) => {
                let place = self.place(id)?;
                let content = place.read()?;
                place.with_source(&content, |source| cut::of_source(source, wish))?
            }
            Subject::Body { text, wire } => cut::of_body(text, *wire, wish),
        }
    }
}

impl Place {
    /// All bytes of the file, unpacked.
    fn read(&self) -> Result<Vec<u8>, Refusal> {
        self.check_size()?;
        let content = fs::read(&self.entry.path).map_err(unread)?;
        let plain = source::unpacked_within(&content, LARGEST).map_err(|error| told(&error))?;
        Ok(plain.into_owned())
    }

    fn check_size(&self) -> Result<(), Refusal> {
        match self.stamp.size {
            size if size > LARGEST => Err(Refusal::TooLarge(size)),
            _ => Ok(()),
        }
    }

    /// What a repair is asked, as `fix` asks it.
    fn ask(&self, content: &[u8]) -> Result<Ask, Refusal> {
        Ok(Ask::of(kept_by(&self.entry, content), Policy::default()).sparing(true).placed())
    }

    fn manner(&self) -> Manner {
        Manner::of_file(&self.entry.path, false)
    }

    /// Reads the conversation in unpacked bytes, and does something with it.
    fn with_source<T>(
        &self,
        content: &[u8],
        work: impl FnOnce(&Source<'_>) -> T,
    ) -> Result<T, Refusal> {
        let ask = self.ask(content)?;
        with_source(content, self.manner(), &ask, work)
    }

    /// Another one for every change of the file.
    fn version(&self) -> String {
        let Stamp { size, modified, node } = self.stamp;
        format!("{size}-{modified:x}-{node:x}")
    }
}

fn with_source<T>(
    content: &[u8],
    manner: Manner,
    ask: &Ask,
    work: impl FnOnce(&Source<'_>) -> T,
) -> Result<T, Refusal> {
    let text = source::text(content).map_err(|failure| Refusal::Unreadable(failure.message))?;
    match source::open(&text, manner, ask) {
        Ok(source) => Ok(work(&source)),
        Err(Closed::Skipped) => Err(Refusal::Unreadable("there is no conversation in it".into())),
        Err(Closed::Failed(failure)) => {
            let at = failure.position.map(|at| format!("line {}: ", at.line)).unwrap_or_default();
            Err(Refusal::Unreadable(format!("{at}{}", failure.message)))
        }
    }
}

impl Stamp {
    fn of(metadata: &fs::Metadata) -> Stamp {
        let modified = metadata.modified().unwrap_or(UNIX_EPOCH);
        let modified = modified.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        Stamp { size: metadata.len(), modified, node: node(metadata) }
    }
}

#[cfg(unix)]
fn node(metadata: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn node(_: &fs::Metadata) -> u64 {
    0
}

/// Whether somebody is at work on a session, and who.
fn live(place: &Place, session: Option<&Sitting>) -> Value {
    match busy(&place.entry.path, session) {
        None => json!({ "is": false, "who": null }),
        Some(who) => json!({ "is": true, "who": who }),
    }
}

/// Who is at work on a file.
fn busy(path: &Path, session: Option<&Sitting>) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    let real: PathBuf = fs::canonicalize(path).ok()?;
    check_idle(&real, &metadata, session).err().map(|trouble| trouble.to_string())
}

fn gone(error: io::Error) -> Refusal {
    match error.kind() {
        io::ErrorKind::NotFound => Refusal::NotFound,
        _ => unread(error),
    }
}

fn unread(error: io::Error) -> Refusal {
    Refusal::Unreadable(format!("the file cannot be read: {error}"))
}

/// An error with its causes.
fn told(error: &anyhow::Error) -> Refusal {
    Refusal::Unreadable(format!("{error:#}"))
}

/// Milliseconds since 1970.
fn milliseconds(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
