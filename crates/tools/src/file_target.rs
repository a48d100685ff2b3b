//! Where a file is written, and how: beside it first, and then in one step into its place, so that
//! whoever reads it sees the old one or the new one, whole.

use std::{
    ffi::OsString,
    io::{self, Write as _},
    path::{Component, Path, PathBuf},
};

use cap_std::fs::{Dir, File, Metadata, OpenOptions};

use crate::{
    ToolWorkspace,
    cancel::CancelToken,
    dir_entry_kind::DirEntryKind,
    path::display_path,
    random::random_digits,
    refusal::ToolRefusal,
    swap::{SwapOutcome, swap},
    workspace::open_regular,
};

/// Links that are followed from one to the next.
const MAX_LINKS: usize = 16;

/// Where a file lies, or will lie. A link is followed to what it points to, and stays.
#[derive(Debug)]
pub(crate) struct FileTarget {
    folder: Dir,
    name: OsString,
    /// From the root.
    path: PathBuf,
    existing: Option<Metadata>,
}

/// What to do about folders that are not there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MissingParents {
    Create,
    Fail,
}

impl FileTarget {
    /// Finds it. What lies there is a regular file that may be written, or nothing.
    pub(crate) fn find(
        workspace: &ToolWorkspace,
        path: &Path,
        parents: MissingParents,
        leash: &CancelToken,
    ) -> Result<FileTarget, ToolRefusal> {
        let root = workspace.folder()?;
        let mut path = path.to_owned();
        for _ in 0..MAX_LINKS {
            let told = |error: io::Error| ToolRefusal::of(&error, &path);
            let Some(name) = path.file_name().map(OsString::from) else {
                return Err(ToolRefusal(format!(
                    "`{}` is a folder; name a file",
                    display_path(&path)
                )));
            };
            let parent = match path.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
                Some(_) | None => PathBuf::from("."),
            };
            check_git(&path, &path)?;
            let folder = open_parent(root, &parent, parents, leash, &path)?;
            // Links may have led there.
            let real = root.canonicalize(&parent).map_err(told)?;
            check_git(&real, &path)?;
            let before = match folder.symlink_metadata(&name) {
                Ok(metadata) => Some(metadata),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(told(error)),
            };
            match before.as_ref().map(|metadata| DirEntryKind::of(metadata.file_type())) {
                Some(DirEntryKind::Link) => {
                    let target = folder.read_link_contents(&name).map_err(told)?;
                    if target.has_root() {
                        return Err(ToolRefusal(format!(
                            "`{}` is a link to `{}`, which is not a path inside of the workspace",
                            display_path(&path),
                            display_path(&target)
                        )));
                    }
                    path = parent.join(target);
                }
                None | Some(DirEntryKind::File) => {
                    check_writable(before.as_ref(), &path)?;
                    let path = real.strip_prefix(".").unwrap_or(&real).join(&name);
                    return Ok(FileTarget { folder, name, path, existing: before });
                }
                Some(
                    kind @ (DirEntryKind::Folder
                    | DirEntryKind::Fifo
                    | DirEntryKind::Socket
                    | DirEntryKind::Device
                    | DirEntryKind::Other),
                ) => {
                    let path = display_path(&path);
                    return Err(ToolRefusal(format!(
                        "`{path}` is {}; only regular files can be written",
                        kind.description()
                    )));
                }
            }
        }
        Err(ToolRefusal(format!(
            "`{}`: too many links lead from one to the next",
            display_path(&path)
        )))
    }

    /// Whether a file lies there.
    pub(crate) fn exists(&self) -> bool {
        self.existing.is_some()
    }

    /// From the root, behind all links.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens what lies there.
    pub(crate) fn open(&self) -> Result<(File, Metadata), ToolRefusal> {
        open_regular(&self.folder, Path::new(&self.name)).map_err(|ToolRefusal(why)| {
            ToolRefusal(
                why.replace(&display_path(Path::new(&self.name)), &display_path(&self.path)),
            )
        })
    }

    /// Puts a file there, whatever is there. If nobody waits any more, nothing is changed.
    pub(crate) fn write(&self, bytes: &[u8], leash: &CancelToken) -> Result<(), ToolRefusal> {
        self.write_file(bytes, None, leash)
    }

    /// Puts a file in the place of one that was read, if that still is what was read.
    pub(crate) fn replace(
        &self,
        read: &[u8],
        bytes: &[u8],
        leash: &CancelToken,
    ) -> Result<(), ToolRefusal> {
        self.write_file(bytes, Some(read), leash)
    }

    fn write_file(
        &self,
        bytes: &[u8],
        read: Option<&[u8]>,
        leash: &CancelToken,
    ) -> Result<(), ToolRefusal> {
        let told = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => ToolRefusal("the folder of the file is gone".to_owned()),
            _ => ToolRefusal::of(&error, &self.path),
        };
        let (mut beside, mut file) =
            SiblingFile::make(&self.folder, self.existing.as_ref(), leash)?;
        for part in bytes.chunks(1 << 20) {
            leash.commit(|| ())?;
            file.write_all(part).map_err(told)?;
        }
        if let Some(before) = &self.existing {
            keep(&file, before).map_err(|error| {
                ToolRefusal(format!(
                    "`{}`: its owner, group or permissions cannot be kept, so it was left as it \
                     is: {error}",
                    display_path(&self.path)
                ))
            })?;
        }
        file.sync_all().map_err(told)?;
        drop(file);
        match read {
            None => {
                leash
                    .commit(|| self.folder.rename(&beside.name, &self.folder, &self.name))?
                    .map_err(told)?;
                beside.moved = true;
            }
            Some(read) => {
                let contents = (read, bytes);
                let swapped = leash.commit(|| {
                    swap(&self.folder, &beside.name, &self.name, contents, &mut || ())
                })?;
                let path = display_path(&self.path);
                match swapped.map_err(told)? {
                    SwapOutcome::Done => {}
                    SwapOutcome::Changed => {
                        return Err(ToolRefusal(format!(
                            "`{path}` was changed by somebody else meanwhile, and was left as it \
                             is; read it again"
                        )));
                    }
                    SwapOutcome::BothKept => {
                        beside.moved = true;
                        return Err(ToolRefusal(format!(
                            "`{path}` was changed by several others meanwhile; what one of them \
                             wrote is in `{}` beside it; read both",
                            beside.name
                        )));
                    }
                }
            }
        }
        // That the name lasts is for the file system to promise; some cannot.
        let _ = self.folder.open(".").and_then(|folder| folder.sync_all());
        Ok(())
    }
}

/// A file beside the one that is written. Goes away unless it is moved.
struct SiblingFile<'a> {
    folder: &'a Dir,
    name: String,
    moved: bool,
}

impl<'a> SiblingFile<'a> {
    fn make(
        folder: &'a Dir,
        before: Option<&Metadata>,
        leash: &CancelToken,
    ) -> Result<(SiblingFile<'a>, File), ToolRefusal> {
        let name = random_digits().map(|digits| format!(".{digits}.part"));
        let made = name.and_then(|name| {
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            if before.is_some() {
                private(&mut options);
            }
            match leash.commit(|| folder.open_with(&name, &options)) {
                Ok(file) => Ok((SiblingFile { folder, name, moved: false }, file?)),
                Err(ToolRefusal(why)) => Err(io::Error::other(why)),
            }
        });
        made.map_err(|error| {
            ToolRefusal(format!("nothing can be written into its folder: {error}"))
        })
    }
}

impl Drop for SiblingFile<'_> {
    fn drop(&mut self) {
        if !self.moved {
            let _ = self.folder.remove_file(&self.name);
        }
    }
}

fn open_parent(
    root: &Dir,
    parent: &Path,
    parents: MissingParents,
    leash: &CancelToken,
    path: &Path,
) -> Result<Dir, ToolRefusal> {
    let told = |error: io::Error| ToolRefusal::of(&error, path);
    match (root.open_dir(parent), parents) {
        (Ok(folder), _) => Ok(folder),
        (Err(error), MissingParents::Create) if error.kind() == io::ErrorKind::NotFound => {
            leash.commit(|| root.create_dir_all(parent))?.map_err(told)?;
            root.open_dir(parent).map_err(told)
        }
        (Err(error), MissingParents::Create | MissingParents::Fail) => Err(told(error)),
    }
}

/// What lies in `.git` is code that runs later, out of sight: it is left to git itself.
fn check_git(real: &Path, path: &Path) -> Result<(), ToolRefusal> {
    let is_git = |part: Component<'_>| part.as_os_str().eq_ignore_ascii_case(".git");
    match real.components().any(is_git) {
        true => Err(ToolRefusal(format!(
            "`{}` belongs to git and is not written by this tool; use git itself",
            display_path(path)
        ))),
        false => Ok(()),
    }
}

/// Another file could be put in the place of one that must not be written; that is not what its
/// owner meant.
fn check_writable(before: Option<&Metadata>, path: &Path) -> Result<(), ToolRefusal> {
    match before.is_some_and(|before| before.permissions().readonly()) {
        true => Err(ToolRefusal(format!(
            "`{}` is read-only; if it has to be changed, its permissions have to be changed first",
            display_path(path)
        ))),
        false => Ok(()),
    }
}

#[cfg(unix)]
fn private(options: &mut OpenOptions) {
    use cap_std::fs::OpenOptionsExt as _;
    options.mode(0o600);
}

#[cfg(not(unix))]
fn private(_: &mut OpenOptions) {}

/// Owner and permissions as before; rights that a file lends to whoever runs it are not kept, as
/// it is another file now.
#[cfg(unix)]
fn keep(file: &File, before: &Metadata) -> io::Result<()> {
    use cap_std::fs::{MetadataExt as _, Permissions, PermissionsExt as _};
    let now = file.metadata()?;
    // The group by itself: whoever may not give a file away may still be in its group.
    if now.gid() != before.gid() {
        std::os::unix::fs::fchown(file, None, Some(before.gid()))?;
    }
    if now.uid() != before.uid() {
        std::os::unix::fs::fchown(file, Some(before.uid()), None)?;
    }
    file.set_permissions(Permissions::from_mode(before.mode() & 0o777))
}

#[cfg(not(unix))]
fn keep(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}
