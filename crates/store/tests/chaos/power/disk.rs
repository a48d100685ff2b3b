//! A disk that was promised things: what it has to hold when the power goes, and what it may hold.
//!
//! What was synced is there. Of everything else any part may be there, in any order, torn at the
//! borders of sectors; a file that grew may have its old length, and a name that was given or
//! taken away may still be as it was before. After a sync that was refused nobody knows what
//! became of what it was to bring to disk, and a later sync does not bring it there, either:
//! systems forget that it was ever to be written.

mod file;
mod names;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Path, PathBuf},
};

use self::{
    file::{Change, File, What},
    names::{Names, Naming},
};
use super::trace::{Call, Refused, Step};
use crate::random::Random;

/// What is left of files when the power is gone.
pub(crate) type Image = BTreeMap<PathBuf, Vec<u8>>;

/// A bug that is planted: a sync that nobody makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Omitted {
    Nothing,
    /// Of the log that everything is written to first.
    LogSyncs,
    /// Of the folder, in which the names of files stand.
    FolderSyncs,
}

/// A disk with one folder.
pub(crate) struct Disk {
    folder: PathBuf,
    omitted: Omitted,
    files: Vec<File>,
    names: Names,
    /// What the numbers of open files stand for.
    open: HashMap<u64, Handle>,
    /// Calls that are under way.
    calls: HashMap<usize, Pending>,
    /// What was said, as far as it was said.
    said: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Handle {
    File(usize),
    Folder,
    Elsewhere,
}

/// How far a change is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    UnderWay,
    Done,
    /// A sync that was to bring it to disk was refused.
    Forgotten,
}

/// What has to be done about a call once it is done.
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
            said: String::new(),
        }
    }

    /// Something happens.
    pub(crate) fn take(&mut self, step: &Step) {
        match step {
            Step::Begun(call, what) => self.begin(*call, what),
            Step::Done(call, result) => self.finish(*call, *result),
        }
    }

    /// What was said since the last time, line by line.
    pub(crate) fn lines(&mut self) -> Vec<String> {
        let end = self.said.rfind('\n').map_or(0, |end| end + 1);
        let rest = self.said.split_off(end);
        std::mem::replace(&mut self.said, rest).lines().map(str::to_owned).collect()
    }

    /// The power goes: one of the things that may be left.
    pub(crate) fn image(&self, random: &mut Random) -> Image {
        let luck = Luck::draw(random);
        let mut names = self.names.durable.clone();
        for (_, _, naming) in &self.names.changes {
            if luck.keeps(random) {
                naming.apply(&mut names);
            }
        }
        names.into_iter().map(|(name, file)| (name, self.files[file].left(random))).collect()
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
                self.said.push_str(&String::from_utf8_lossy(data));
                return;
            }
            Call::Write { file, offset, data } => {
                let Handle::File(file) = self.handle(*file) else { return };
                let offset = offset.expect("nobody writes behind what was written before");
                self.change(call, file, What::Write { offset, data: data.clone() })
            }
            Call::Cut { file, length } => {
                let Handle::File(file) = self.handle(*file) else { return };
                self.change(call, file, What::Cut { length: *length })
            }
            Call::Sync { file } => {
                let handle = self.handle(*file);
                Pending::Sync { handle, covered: self.done_by_now(handle) }
            }
            Call::Remove { path } => {
                if !self.names.current.contains_key(path) {
                    return;
                }
                self.names.current.remove(path);
                self.names.changes.push((call, State::UnderWay, Naming::Taken(path.clone())));
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

    fn change(&mut self, call: usize, file: usize, what: What) -> Pending {
        self.files[file].changes.push(Change { call, what, state: State::UnderWay });
        Pending::Change { file }
    }

    /// What a sync that begins now covers.
    fn done_by_now(&self, handle: Handle) -> BTreeSet<usize> {
        match handle {
            Handle::File(file) => {
                let changes = self.files[file].changes.iter();
                let done = changes.filter(|change| change.state != State::UnderWay);
                done.map(|change| change.call).collect()
            }
            Handle::Folder => {
                let changes = self.names.changes.iter();
                let done = changes.filter(|(_, state, _)| *state != State::UnderWay);
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

/// What becomes of things that were not synced.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Luck {
    None,
    All,
    Any,
    AnyInAnyOrder,
}

impl Luck {
    fn draw(random: &mut Random) -> Luck {
        *random.pick(&[Luck::None, Luck::All, Luck::Any, Luck::AnyInAnyOrder])
    }

    fn keeps(self, random: &mut Random) -> bool {
        match self {
            Luck::None => false,
            Luck::All => true,
            Luck::Any | Luck::AnyInAnyOrder => random.chance(50),
        }
    }
}
