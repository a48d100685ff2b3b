//! The list of all session files, and a look at each of them in the background: one file at a time,
//! the newest first, and only what is new or changed.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant, SystemTime},
};

use foxwedge_gateway::console::{Health, Listed, Looked, Scan, SessionFile};
use serde_json::{Value, json};

use super::{LARGEST, Stamp, busy, lock, milliseconds};
use crate::{
    agents::{self, Entry, Found, Rank},
    disk::Fingerprint,
    outcome::Sitting,
    screen::tilde,
    sessions::{self, Glance, glance_within},
};

/// A list is so old before folders are looked into again.
const FRESH: Duration = Duration::from_secs(2);

/// Whether somebody is at work is looked up for so many files, and for those of the last day only.
const WATCHED: usize = 40;
const RECENT: Duration = Duration::from_secs(24 * 60 * 60);

/// Every session file that is known.
pub(super) struct Shelf {
    shared: Arc<Shared>,
    worker: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    stop: AtomicBool,
}

#[derive(Default)]
struct State {
    /// The newest first.
    files: Vec<Arc<Known>>,
    /// What was seen in a file, and when it was that file.
    seen: HashMap<PathBuf, (Stamp, Arc<Sight>)>,
    live: HashMap<PathBuf, bool>,
    scan: Scan,
    last: Option<Instant>,
}

/// A file that was found.
struct Known {
    id: String,
    entry: Entry,
    /// The file behind every link above it.
    real: PathBuf,
    sub_agents: usize,
}

/// What one look at a file tells.
struct Sight {
    looked: Looked,
    title: Option<String>,
    project: Option<String>,
    id: Option<String>,
}

impl Shelf {
    pub(super) fn new() -> Shelf {
        Shelf { shared: Arc::default(), worker: Mutex::default() }
    }

    /// Everything that is known; looks again in the background if that is old.
    pub(super) fn listed(&self) -> Listed {
        self.refresh();
        let state = lock(&self.shared.state);
        let files = state.files.iter().map(|known| Arc::new(state.row(known, None))).collect();
        // A second look at what is all known is nobody's concern.
        let running = state.scan.running && state.scan.looked < state.scan.total;
        Listed { files, scan: Scan { running, ..state.scan.clone() } }
    }

    /// The session of an id, and the real path of its file.
    pub(super) fn find(&self, id: &str) -> Option<(Entry, PathBuf)> {
        let found = |known: &Arc<Known>| (known.entry.clone(), known.real.clone());
        let look = || lock(&self.shared.state).known(id).map(found);
        look().or_else(|| {
            // Somebody may come with an id of an earlier process.
            self.refresh();
            look()
        })
    }

    /// The row of a session that was looked at just now.
    pub(super) fn row(&self, id: &str, looked: Looked) -> Option<Arc<SessionFile>> {
        let state = lock(&self.shared.state);
        Some(Arc::new(state.row(state.known(id)?, Some(looked))))
    }

    /// The sessions that a session started.
    pub(super) fn children(&self, session: &str) -> Vec<Value> {
        /// More of them say nothing.
        const MOST: usize = 200;
        let state = lock(&self.shared.state);
        let parent = Rank::SubAgent(Some(session.to_owned()));
        let of = state.files.iter().filter(|known| known.entry.rank == parent).take(MOST);
        of.map(|known| json!({ "id": known.id, "session": known.entry.id })).collect()
    }

    /// What is known of a file is no longer so.
    pub(super) fn look_again(&self, id: &str) {
        let mut state = lock(&self.shared.state);
        if let Some(path) = state.known(id).map(|known| known.entry.path.clone()) {
            state.seen.remove(&path);
        }
        state.last = None;
    }

    fn refresh(&self) {
        let mut worker = lock(&self.worker);
        if worker.as_ref().is_some_and(|worker| !worker.is_finished()) {
            return;
        }
        if lock(&self.shared.state).last.is_some_and(|last| last.elapsed() < FRESH) {
            return;
        }
        if let Some(done) = worker.take() {
            // A look that panicked is over, too.
            let _ = done.join();
        }
        // Listing is quick, and an empty list would say something wrong.
        let found = agents::find(&[]);
        lock(&self.shared.state).begin(found);
        let shared = self.shared.clone();
        let started = thread::Builder::new().name("console".into()).spawn(move || shared.work());
        match started {
            Ok(thread) => *worker = Some(thread),
            Err(_) => lock(&self.shared.state).end(),
        }
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(worker) = lock(&self.worker).take() {
            let _ = worker.join();
        }
    }
}

impl State {
    fn known(&self, id: &str) -> Option<&Arc<Known>> {
        self.files.iter().find(|known| known.id == id)
    }

    /// Takes over what was found. What is known of files that are still the same stays known.
    fn begin(&mut self, found: Found) {
        let mut sub_agents: HashMap<String, usize> = HashMap::new();
        for entry in &found.entries {
            if let Rank::SubAgent(Some(parent)) = &entry.rank {
                *sub_agents.entry(parent.clone()).or_default() += 1;
            }
        }
        let home = agents::home();
        let closed = |(path, error): &(PathBuf, std::io::Error)| {
            (tilde(&path.to_string_lossy(), home.as_deref()), error.to_string())
        };
        self.scan = Scan {
            running: true,
            looked: 0,
            total: found.entries.len(),
            began: milliseconds(SystemTime::now()),
            ended: self.scan.ended,
            closed: found.closed.iter().map(closed).collect(),
        };
        let known = |entry: Entry| {
            let real = fs::canonicalize(&entry.path).ok()?;
            let name = entry.path.as_os_str().as_encoded_bytes();
            let id = format!("f-{}", Fingerprint::of(name).hash);
            let sub_agents = sub_agents.get(&entry.id).copied().unwrap_or(0);
            Some(Arc::new(Known { id, entry, real, sub_agents }))
        };
        self.files = found.entries.into_iter().filter_map(known).collect();
        let paths: std::collections::HashSet<&Path> =
            self.files.iter().map(|known| known.entry.path.as_path()).collect();
        self.seen.retain(|path, _| paths.contains(path.as_path()));
        self.live.retain(|path, _| paths.contains(path.as_path()));
        self.scan.looked =
            self.files.iter().filter(|known| self.sight(&known.entry).is_some()).count();
    }

    fn end(&mut self) {
        self.scan.running = false;
        self.scan.ended = Some(milliseconds(SystemTime::now()));
        self.last = Some(Instant::now());
    }

    /// What was seen in a file, if it is still that file.
    fn sight(&self, entry: &Entry) -> Option<&Arc<Sight>> {
        let (stamp, sight) = self.seen.get(&entry.path)?;
        let modified = milliseconds(entry.modified);
        let same =
            stamp.size == entry.size && u64::try_from(stamp.modified / 1_000_000) == Ok(modified);
        same.then_some(sight)
    }

    fn row(&self, known: &Known, looked: Option<Looked>) -> SessionFile {
        let entry = &known.entry;
        let sight = self.sight(entry);
        let parent = match &entry.rank {
            Rank::Session | Rank::SubAgent(None) => None,
            Rank::SubAgent(Some(parent)) => Some(parent.clone()),
        };
        let path = entry.path.to_string_lossy();
        let title = sight.and_then(|sight| sight.title.clone()).or_else(|| entry.title.clone());
        let project = sight.and_then(|sight| sight.project.clone());
        SessionFile {
            id: known.id.clone(),
            session: entry.id.clone(),
            agent: entry.agent.name(),
            product: entry.product,
            title,
            project: project.or_else(|| entry.project.clone()),
            path: tilde(&path, agents::home().as_deref()),
            touched: milliseconds(entry.modified),
            size: entry.size,
            looked: looked.or_else(|| sight.map(|sight| sight.looked.clone())),
            live: self.live.get(&entry.path).copied(),
            sub_agent: entry.is_sub_agent(),
            parent,
            sub_agents: known.sub_agents,
        }
    }
}

impl Shared {
    /// Looks at every file that is new or changed.
    fn work(&self) {
        let files = lock(&self.state).files.clone();
        for known in &files {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let entry = &known.entry;
            if lock(&self.state).sight(entry).is_some() {
                continue;
            }
            // The stamp first: a change while we look is seen later as a change.
            let stamp = fs::symlink_metadata(&entry.path).map(|metadata| Stamp::of(&metadata));
            let Ok(stamp) = stamp else { continue };
            let sight = Arc::new(Sight::of(glance_within(entry, LARGEST)));
            let mut state = lock(&self.state);
            state.seen.insert(entry.path.clone(), (stamp, sight));
            state.scan.looked += 1;
        }
        self.watch(&files);
        lock(&self.state).end();
    }

    /// Looks up whether somebody is at work on the files that were written to lately.
    fn watch(&self, files: &[Arc<Known>]) {
        let mut live = HashMap::new();
        let recent =
            |known: &&Arc<Known>| known.entry.modified.elapsed().is_ok_and(|age| age < RECENT);
        for known in files.iter().filter(recent).take(WATCHED) {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let entry = &known.entry;
            let told = lock(&self.state).sight(entry).and_then(|sight| sight.id.clone());
            let id = Some(told.unwrap_or_else(|| entry.id.clone()));
            let sitting = Sitting { agent: entry.agent, id, folder: None };
            live.insert(entry.path.clone(), busy(&entry.path, Some(&sitting)).is_some());
        }
        lock(&self.state).live = live;
    }
}

impl Sight {
    fn of(glance: Glance) -> Sight {
        let health = health(glance.health);
        let looked = Looked {
            health,
            why: glance.why,
            messages: glance.messages,
            findings: glance.findings,
            repairable: glance.healable,
        };
        Sight { looked, title: glance.title, project: glance.project, id: glance.id }
    }
}

/// The same word in both worlds.
pub(super) fn health(health: sessions::Health) -> Health {
    match health {
        sessions::Health::Ok => Health::Ok,
        sessions::Health::HistoryMissing => Health::HistoryMissing,
        sessions::Health::NeedsRepair => Health::NeedsRepair,
        sessions::Health::Unreadable => Health::Unreadable,
    }
}
