//! The folder that tools work in. Every file is opened through a handle on it, so no name, no link
//! and no race leads out of it.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use cap_std::{
    ambient_authority,
    fs::{Dir, File, Metadata, OpenOptions},
};

use crate::{
    CommandSettings, Tool, ToolLimits, builtin,
    builtin::UnknownTool,
    dir_entry_kind::DirEntryKind,
    file_change::{FileChangeObserver, SharedObserver},
    path::{display_path, resolve_inside},
    refusal::ToolRefusal,
    walk::{FolderWalk, WalkFilter},
};

/// Maximum number of levels that are listed.
const MAX_DEPTH: usize = 32;

/// The folder that tools work in. Clones share state.
#[derive(Clone, Debug)]
pub struct ToolWorkspace {
    root: Arc<WorkspaceRoot>,
    observer: Option<SharedObserver>,
}

#[derive(Debug)]
struct WorkspaceRoot {
    folder: Dir,
    /// Path without links.
    real_path: PathBuf,
    /// Path as the caller gave it.
    given_path: PathBuf,
}

/// Why a folder cannot be used as a workspace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// The folder does not exist.
    #[error("folder `{}` does not exist", .0.display())]
    Missing(PathBuf),
    /// The path is not a folder.
    #[error("`{}` is not a folder", .0.display())]
    NotAFolder(PathBuf),
    /// The system refuses access.
    #[error("folder `{}` cannot be opened", path.display())]
    Unavailable {
        /// Path of the folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl ToolWorkspace {
    /// Opens a folder.
    ///
    /// # Errors
    ///
    /// If it is not a folder or cannot be opened.
    pub fn open(root: &Path) -> Result<ToolWorkspace, WorkspaceError> {
        let given_path = root.to_owned();
        let to_error = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => WorkspaceError::Missing(root.to_owned()),
            io::ErrorKind::NotADirectory => WorkspaceError::NotAFolder(root.to_owned()),
            _ => WorkspaceError::Unavailable { path: root.to_owned(), source },
        };
        let real_path = root.canonicalize().map_err(to_error)?;
        if !real_path.is_dir() {
            return Err(WorkspaceError::NotAFolder(given_path));
        }
        let folder = Dir::open_ambient_dir(&real_path, ambient_authority()).map_err(to_error)?;
        let root = Arc::new(WorkspaceRoot { folder, real_path, given_path });
        Ok(ToolWorkspace { root, observer: None })
    }

    /// The same folder, with an observer of the files that tools write in it.
    #[must_use]
    pub fn with_observer(self, observer: Arc<dyn FileChangeObserver>) -> ToolWorkspace {
        ToolWorkspace { observer: Some(SharedObserver(observer)), ..self }
    }

    pub(crate) fn observer(&self) -> Option<&SharedObserver> {
        self.observer.as_ref()
    }

    /// The files below the root without those that `.gitignore` files name, at most `max`. May block.
    pub fn files(&self, max: usize) -> Vec<String> {
        let mut files = Vec::new();
        let Ok(mut walk) = FolderWalk::new(self, Path::new("."), MAX_DEPTH, WalkFilter::Ignored)
        else {
            return files;
        };
        while files.len() < max
            && let Some((entry, _)) = walk.next()
        {
            if matches!(entry.kind, DirEntryKind::File | DirEntryKind::Link) {
                files.extend(entry.path.to_str().map(str::to_owned));
            }
        }
        files
    }

    /// Path without links.
    pub fn root(&self) -> &Path {
        &self.root.real_path
    }

    /// All built-in tools, in the order of [`NAMES`](crate::NAMES).
    pub fn tools(&self, limits: ToolLimits) -> Vec<Arc<dyn Tool>> {
        self.tools_with(limits, &CommandSettings::default())
    }

    /// The same, with settings for commands.
    pub fn tools_with(&self, limits: ToolLimits, commands: &CommandSettings) -> Vec<Arc<dyn Tool>> {
        builtin::all(self, limits, commands)
    }

    /// Some of the built-in tools.
    ///
    /// # Errors
    ///
    /// If a name is not that of a built-in tool.
    pub fn tools_named<N: AsRef<str>>(
        &self,
        names: &[N],
        limits: ToolLimits,
    ) -> Result<Vec<Arc<dyn Tool>>, UnknownTool> {
        let commands = CommandSettings::default();
        let tool = |name: &N| builtin::by_name(self, name.as_ref(), limits.clone(), &commands);
        names.iter().map(tool).collect()
    }

    /// The handle of the folder, if the folder still exists.
    pub(crate) fn folder(&self) -> Result<&Dir, ToolRefusal> {
        let missing = || ToolRefusal("the folder of the workspace is gone".to_owned());
        let metadata = self.root.folder.dir_metadata().map_err(|_| missing())?;
        match has_name(&metadata) {
            true => Ok(&self.root.folder),
            false => Err(missing()),
        }
    }

    /// The path of the folder, if it is still the same folder.
    pub(crate) fn current_root(&self) -> Result<&Path, ToolRefusal> {
        let folder = self.folder()?.dir_metadata();
        let current = Dir::open_ambient_dir(&self.root.real_path, ambient_authority())
            .and_then(|current| current.dir_metadata());
        match (folder, current) {
            (Ok(folder), Ok(current)) if is_same(&folder, &current) => Ok(&self.root.real_path),
            (Ok(_) | Err(_), Ok(_) | Err(_)) => {
                let root = display_path(&self.root.real_path);
                Err(ToolRefusal(format!("the folder of the workspace is not at `{root}` any more")))
            }
        }
    }

    /// Resolves a path of a call below the root.
    pub(crate) fn resolve_path(&self, path: &str) -> Result<PathBuf, ToolRefusal> {
        resolve_inside(path, &[&self.root.given_path, &self.root.real_path])
    }

    /// Opens a regular file for reading.
    pub(crate) fn open_file(&self, path: &Path) -> Result<(File, Metadata), ToolRefusal> {
        let folder = self.folder()?;
        // Check before opening, because opening some devices has side effects.
        let metadata = folder.metadata(path).map_err(|error| ToolRefusal::of(&error, path))?;
        check_regular(&metadata, path)?;
        open_regular(folder, path)
    }
}

/// Opens a regular file for reading. Never blocks on a FIFO that may have replaced the file.
pub(crate) fn open_regular(folder: &Dir, path: &Path) -> Result<(File, Metadata), ToolRefusal> {
    let refuse = |error: io::Error| ToolRefusal::of(&error, path);
    let mut options = OpenOptions::new();
    options.read(true);
    without_waiting(&mut options);
    let file = folder.open_with(path, &options).map_err(refuse)?;
    let metadata = file.metadata().map_err(refuse)?;
    check_regular(&metadata, path)?;
    Ok((file, metadata))
}

fn check_regular(metadata: &Metadata, path: &Path) -> Result<(), ToolRefusal> {
    let kind = DirEntryKind::of(metadata.file_type());
    let advice = match kind {
        DirEntryKind::File => return Ok(()),
        DirEntryKind::Folder => "; use `list` to look into it",
        DirEntryKind::Link
        | DirEntryKind::Fifo
        | DirEntryKind::Socket
        | DirEntryKind::Device
        | DirEntryKind::Other => "; only regular files can be used",
    };
    Err(ToolRefusal(format!("`{}` is {}{advice}", display_path(path), kind.description())))
}

#[cfg(unix)]
fn without_waiting(options: &mut OpenOptions) {
    use cap_std::fs::OpenOptionsExt as _;
    use rustix::fs::OFlags;
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits();
    if let Ok(flags) = i32::try_from(flags) {
        options.custom_flags(flags);
    }
}

#[cfg(not(unix))]
fn without_waiting(_: &mut OpenOptions) {}

/// Whether an open folder still has a name.
#[cfg(unix)]
fn has_name(metadata: &Metadata) -> bool {
    use cap_std::fs::MetadataExt as _;
    metadata.nlink() > 0
}

#[cfg(not(unix))]
fn has_name(_: &Metadata) -> bool {
    true
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use cap_std::fs::MetadataExt as _;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    one.created().ok() == other.created().ok()
}
