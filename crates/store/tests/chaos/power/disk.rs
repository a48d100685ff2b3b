//! A simulated disk: what it must contain after a power failure, and what it may contain.
//!
//! Synced data is there. Of everything else any part may be there, in any order, torn at sector
//! boundaries; a file that grew may have its old length, and a created or deleted name may be as
//! before. After a refused sync the state of its data is unknown, and a later sync does not write
//! it either: systems forget that it was dirty.

mod file;
mod names;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Path, PathBuf},
};

use self::{
    file::{Change, ChangeKind, File},
    names::{Names, Naming},
};
use super::trace::{Call, Refused, Step};
use crate::random::Random;

/// The files after a power failure.
pub(crate) type Image = BTreeMap<PathBuf, Vec<u8>>;

/// A planted bug: a sync that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Omitted {
    Nothing,
    /// Syncs of the write-ahead log.
    LogSyncs,
    /// Syncs of the folder, which contains the file names.
    FolderSyncs,
}

/// A disk with one folder.
pub(crate) struct Disk {
    folder: PathBuf,
    omitted: Omitted,
    files: Vec<File>,
    names: Names,
    /// Open file descriptors.
    open: HashMap<u64, Handle>,
    /// Calls that have not returned.
    calls: HashMap<usize, Pending>,
    /// Output of the process so far.
    output: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Handle {
    File(usize),
    Folder,
    Elsewhere,
}

/// The state of a change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    InProgress,
    Done,
    /// A sync that should have written it was refused.
    Forgotten,
}

/// ChangeKind to do when a call returns.
enum Pending {
    Open { path: PathBuf, create: bool },
    Change { file: usize },
    Sync { handle: Handle, covered: BTreeSet<usize> },
    Name,
}

impl Disk {
    /// A disk with an empty folder.
    pub(crate) fn new(folder: &Path, omitted: Omitted) -> Disk {
        Disk {
            folder: folder.to_owned(),
            omitted,
            files: Vec::new(),
            names: Names::default(),
            open: HashMap::new(),
            calls: HashMap::new(),
            output: String::new(),
        }
    }

    /// Applies a step of the trace.
    pub(crate) fn take(&mut self, step: &Step) {
        match step {
            Step::Begun(call, what) => self.begin(*call, what),
            Step::Done(call, result) => self.finish(*call, *result),
        }
    }

    /// Complete output lines since the last call.
    pub(crate) fn lines(&mut self) -> Vec<String> {
        let end = self.output.rfind('\n').map_or(0, |end| end + 1);
        let rest = self.output.split_off(end);
        std::mem::replace(&mut self.output, rest).lines().map(str::to_owned).collect()
    }

    /// The power fails: returns one of the possible results.
    pub(crate) fn image(&self, random: &mut Random) -> Image {
        let survival = Survival::draw(random);
        let mut names = self.names.durable.clone();
        for (_, _, naming) in &self.names.changes {
            if survival.keeps(random) {
                naming.apply(&mut names);
            }
        }
        names.into_iter().map(|(name, file)| (name, self.files[file].remaining(random))).collect()
    }

    fn begin(&mut self, call: usize, what: &Call) {
        let pending = match what {
            Call::Open { path, create } => Pending::Open { path: path.clone(), create: *create },
            Call::Close { file } => {
                self.open.remove(file);
                return;
            }
            Call::Look => return,
            Call::Write { file: 1, offset: None, data } => {
                self.output.push_str(&String::from_utf8_lossy(data));
                return;
            }
            Call::Write { file, offset, data } => {
                let Handle::File(file) = self.handle(*file) else { return };
                let offset = offset.expect("nobody writes behind what was written before");
                self.change(call, file, ChangeKind::Write { offset, data: data.clone() })
            }
            Call::Cut { file, length } => {
                let Handle::File(file) = self.handle(*file) else { return };
                self.change(call, file, ChangeKind::Cut { length: *length })
            }
            Call::Sync { file } => {
                let handle = self.handle(*file);
                Pending::Sync { handle, covered: self.completed_changes(handle) }
            }
            Call::Remove { path } => {
                if !self.names.current.contains_key(path) {
                    return;
                }
                self.names.current.remove(path);
                self.names.changes.push((call, State::InProgress, Naming::Taken(path.clone())));
                Pending::Name
            }
        };
        self.calls.insert(call, pending);
    }

    fn finish(&mut self, call: usize, result: Result<u64, Refused>) {
        match (self.calls.remove(&call), result) {
            (None, _) | (Some(Pending::Open { .. }), Err(Refused)) => {}
            (Some(Pending::Open { path, create }), Ok(number)) => {
                let handle = self.opened(call, path, create);
                self.open.insert(number, handle);
            }
            (Some(Pending::Change { file }), result) => self.files[file].finish(call, result),
            (Some(Pending::Name), Ok(_)) => self.names.finish(call),
            (Some(Pending::Name), Err(Refused)) => self.names.undo(call),
            (Some(Pending::Sync { handle, covered }), result) => {
                self.synced(handle, &covered, result)
            }
        }
    }

    fn handle(&self, number: u64) -> Handle {
        self.open.get(&number).copied().unwrap_or(Handle::Elsewhere)
    }

    fn opened(&mut self, call: usize, path: PathBuf, create: bool) -> Handle {
        if path == self.folder {
            return Handle::Folder;
        }
        if !path.starts_with(&self.folder) {
            return Handle::Elsewhere;
        }
        if let Some(file) = self.names.current.get(&path) {
            return Handle::File(*file);
        }
        assert!(create, "{} was not there before", path.display());
        let file = self.files.len();
        self.files.push(File::default());
        self.names.current.insert(path.clone(), file);
        self.names.changes.push((call, State::Done, Naming::Given(path, file)));
        Handle::File(file)
    }

    fn change(&mut self, call: usize, file: usize, what: ChangeKind) -> Pending {
        self.files[file].changes.push(Change { call, what, state: State::InProgress });
        Pending::Change { file }
    }

    /// ChangeKind a sync that starts now covers.
    fn completed_changes(&self, handle: Handle) -> BTreeSet<usize> {
        match handle {
            Handle::File(file) => {
                let changes = self.files[file].changes.iter();
                let done = changes.filter(|change| change.state != State::InProgress);
                done.map(|change| change.call).collect()
            }
            Handle::Folder => {
                let changes = self.names.changes.iter();
                let done = changes.filter(|(_, state, _)| *state != State::InProgress);
                done.map(|(call, ..)| *call).collect()
            }
            Handle::Elsewhere => BTreeSet::new(),
        }
    }

    fn synced(&mut self, handle: Handle, covered: &BTreeSet<usize>, result: Result<u64, Refused>) {
        match handle {
            Handle::File(file) if self.omitted == Omitted::LogSyncs && self.is_log(file) => {}
            Handle::File(file) => match result {
                Ok(_) => self.files[file].settle(covered),
                Err(Refused) => self.files[file].forget(covered),
            },
            Handle::Folder if self.omitted == Omitted::FolderSyncs || result.is_err() => {}
            Handle::Folder => self.names.settle(covered),
            Handle::Elsewhere => {}
        }
    }

    fn is_log(&self, file: usize) -> bool {
        let named = |(path, found): (&PathBuf, &usize)| {
            *found == file && path.to_string_lossy().ends_with("-wal")
        };
        self.names.current.iter().any(named)
    }
}

/// ChangeKind happens to changes that were not synced.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Survival {
    None,
    All,
    Any,
    AnyInAnyOrder,
}

impl Survival {
    fn draw(random: &mut Random) -> Survival {
        *random.pick(&[Survival::None, Survival::All, Survival::Any, Survival::AnyInAnyOrder])
    }

    fn keeps(self, random: &mut Random) -> bool {
        match self {
            Survival::None => false,
            Survival::All => true,
            Survival::Any | Survival::AnyInAnyOrder => random.chance(50),
        }
    }
}
