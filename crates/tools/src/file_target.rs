//! Writes files atomically: first to a sibling file, then in one step to the target, so that a
//! reader sees either the old or the new content as a whole.

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

/// Maximum number of links to follow.
const MAX_LINKS: usize = 16;

/// An existing file, or one to create. A link is followed to its target, and stays.
#[derive(Debug)]
pub(crate) struct FileTarget {
    folder: Dir,
    name: OsString,
    /// Path from the root.
    path: PathBuf,
    existing: Option<Metadata>,
}

/// What to do about missing folders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MissingParents {
    Create,
    Fail,
}

impl FileTarget {
    /// Finds the target. It is a writable regular file, or does not exist.
    pub(crate) fn find(
        workspace: &ToolWorkspace,
        path: &Path,
        parents: MissingParents,
        cancel: &CancelToken,
    ) -> Result<FileTarget, ToolRefusal> {
        let root = workspace.folder()?;
        let mut path = path.to_owned();
        for _ in 0..MAX_LINKS {
            let refuse = |error: io::Error| ToolRefusal::of(&error, &path);
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
            let folder = open_parent(root, &parent, parents, cancel, &path)?;
            // The path may have gone through links.
            let real_parent = root.canonicalize(&parent).map_err(refuse)?;
            check_git(&real_parent, &path)?;
            let existing = match folder.symlink_metadata(&name) {
                Ok(metadata) => Some(metadata),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(refuse(error)),
            };
            match existing.as_ref().map(|metadata| DirEntryKind::of(metadata.file_type())) {
                Some(DirEntryKind::Link) => {
                    let target = folder.read_link_contents(&name).map_err(refuse)?;
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
                    check_writable(existing.as_ref(), &path)?;
                    let path = real_parent.strip_prefix(".").unwrap_or(&real_parent).join(&name);
                    return Ok(FileTarget { folder, name, path, existing });
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

    /// Whether the file exists.
    pub(crate) fn exists(&self) -> bool {
        self.existing.is_some()
    }

    /// Path from the root, with all links resolved.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the existing file.
    pub(crate) fn open(&self) -> Result<(File, Metadata), ToolRefusal> {
        open_regular(&self.folder, Path::new(&self.name)).map_err(|ToolRefusal(why)| {
            ToolRefusal(
                why.replace(&display_path(Path::new(&self.name)), &display_path(&self.path)),
            )
        })
    }

    /// Writes the file, whatever its content is. If the caller is gone, nothing changes.
    pub(crate) fn write(&self, bytes: &[u8], cancel: &CancelToken) -> Result<(), ToolRefusal> {
        self.write_file(bytes, None, cancel)
    }

    /// Replaces a file that was read, if its content is still the same.
    pub(crate) fn replace(
        &self,
        read: &[u8],
        bytes: &[u8],
        cancel: &CancelToken,
    ) -> Result<(), ToolRefusal> {
        self.write_file(bytes, Some(read), cancel)
    }

    /// Deletes the file.
    pub(crate) fn remove(&self) -> Result<(), ToolRefusal> {
        self.folder.remove_file(&self.name).map_err(|error| ToolRefusal::of(&error, &self.path))
    }

    fn write_file(
        &self,
        bytes: &[u8],
        read: Option<&[u8]>,
        cancel: &CancelToken,
    ) -> Result<(), ToolRefusal> {
        let refuse = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => ToolRefusal("the folder of the file is gone".to_owned()),
            _ => ToolRefusal::of(&error, &self.path),
        };
        let (mut sibling, mut file) =
            SiblingFile::make(&self.folder, self.existing.as_ref(), cancel)?;
        for part in bytes.chunks(1 << 20) {
            cancel.commit(|| ())?;
            file.write_all(part).map_err(refuse)?;
        }
        if let Some(before) = &self.existing {
            copy_ownership(&file, before).map_err(|error| {
                ToolRefusal(format!(
                    "`{}`: its owner, group or permissions cannot be kept, so it was left as it \
                     is: {error}",
                    display_path(&self.path)
                ))
            })?;
        }
        file.sync_all().map_err(refuse)?;
        drop(file);
        match read {
            None => {
                cancel
                    .commit(|| self.folder.rename(&sibling.name, &self.folder, &self.name))?
                    .map_err(refuse)?;
                sibling.moved = true;
            }
            Some(read) => {
                let contents = (read, bytes);
                let swapped = cancel.commit(|| {
                    swap(&self.folder, &sibling.name, &self.name, contents, &mut || ())
                })?;
                let path = display_path(&self.path);
                match swapped.map_err(refuse)? {
                    SwapOutcome::Done => {}
                    SwapOutcome::Changed => {
                        return Err(ToolRefusal(format!(
                            "`{path}` was changed by somebody else meanwhile, and was left as it \
                             is; read it again"
                        )));
                    }
                    SwapOutcome::BothKept => {
                        sibling.moved = true;
                        return Err(ToolRefusal(format!(
                            "`{path}` was changed by several others meanwhile; what one of them \
                             wrote is in `{}` beside it; read both",
                            sibling.name
                        )));
                    }
                }
            }
        }
        // Whether the name is durable depends on the file system; some cannot sync folders.
        let _ = self.folder.open(".").and_then(|folder| folder.sync_all());
        Ok(())
    }
}

/// A file next to the target. It is deleted unless it is moved.
struct SiblingFile<'a> {
    folder: &'a Dir,
    name: String,
    moved: bool,
}

impl<'a> SiblingFile<'a> {
    fn make(
        folder: &'a Dir,
        before: Option<&Metadata>,
        cancel: &CancelToken,
    ) -> Result<(SiblingFile<'a>, File), ToolRefusal> {
        let name = random_digits().map(|digits| format!(".{digits}.part"));
        let created = name.and_then(|name| {
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            if before.is_some() {
                private(&mut options);
            }
            match cancel.commit(|| folder.open_with(&name, &options)) {
                Ok(file) => Ok((SiblingFile { folder, name, moved: false }, file?)),
                Err(ToolRefusal(why)) => Err(io::Error::other(why)),
            }
        });
        created.map_err(|error| {
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
    cancel: &CancelToken,
    path: &Path,
) -> Result<Dir, ToolRefusal> {
    let refuse = |error: io::Error| ToolRefusal::of(&error, path);
    match (root.open_dir(parent), parents) {
        (Ok(folder), _) => Ok(folder),
        (Err(error), MissingParents::Create) if error.kind() == io::ErrorKind::NotFound => {
            cancel.commit(|| root.create_dir_all(parent))?.map_err(refuse)?;
            root.open_dir(parent).map_err(refuse)
        }
        (Err(error), MissingParents::Create | MissingParents::Fail) => Err(refuse(error)),
    }
}

/// Files in `.git` include code that runs later, unseen: only git itself changes them.
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

/// A read-only file could be replaced by another one, but its owner did not intend that.
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

/// Copies owner and permissions. Does not copy setuid and setgid, because this is another file.
#[cfg(unix)]
fn copy_ownership(file: &File, before: &Metadata) -> io::Result<()> {
    use cap_std::fs::{MetadataExt as _, Permissions, PermissionsExt as _};
    let now = file.metadata()?;
    // The group separately: a user who may not give a file away may still be in its group.
    if now.gid() != before.gid() {
        std::os::unix::fs::fchown(file, None, Some(before.gid()))?;
    }
    if now.uid() != before.uid() {
        std::os::unix::fs::fchown(file, Some(before.uid()), None)?;
    }
    file.set_permissions(Permissions::from_mode(before.mode() & 0o777))
}

#[cfg(not(unix))]
fn copy_ownership(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}
