//! The file under our `.old` name, before and after it is swapped with another file.
//!
//! After the swap it may be another process's file. It is never removed unchecked, and a process
//! that is killed leaves it.

use std::{
    fs::{File, Metadata, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use super::{attributes, ops, private_files, temporary_file};

/// A file next to another one, under our `.old` name.
pub(super) struct DisplacedFile {
    path: PathBuf,
    /// The replaced file, if this is only a copy of it.
    original: Option<File>,
}

impl DisplacedFile {
    pub(super) fn new(path: PathBuf) -> DisplacedFile {
        DisplacedFile { path, original: None }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Swaps it with the file at a path.
    pub(super) fn swap(&mut self, path: &Path) -> io::Result<()> {
        match ops::exchange(&self.path, path) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => self.swap_by_link(path)?,
            done => {
                done?;
                self.original = None;
            }
        }
        Ok(())
    }

    /// Swaps in two steps, without an atomic exchange. A file that is renamed to the path between
    /// them is lost.
    fn swap_by_link(&mut self, path: &Path) -> io::Result<()> {
        let second = temporary_file::free_name(path);
        match ops::link(path, &second) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(error),
            Err(_) => return self.swap_by_copy(path),
        }
        if let Err(error) = ops::rename(&self.path, path) {
            let _ = ops::remove(&second);
            return Err(error);
        }
        *self = DisplacedFile { path: second, original: None };
        Ok(())
    }

    /// Keeps a copy of the replaced file, for file systems without hard links.
    fn swap_by_copy(&mut self, path: &Path) -> io::Result<()> {
        let mut replaced = ops::open(path)?;
        ops::rename(&self.path, path)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let copied = ops::open_with(&options, &self.path).and_then(|mut copy| {
            io::copy(&mut replaced, &mut copy)?;
            // As far as this file system supports attributes.
            let _ = attributes::copy_attributes(&copy, &replaced, &replaced.metadata()?);
            copy.sync_all()
        });
        self.original = Some(replaced);
        copied
    }

    /// Metadata of the displaced file.
    pub(super) fn metadata(&self) -> io::Result<Metadata> {
        match &self.original {
            Some(original) => original.metadata(),
            None => ops::metadata(&self.path),
        }
    }

    /// Opens the displaced file for reading from its start.
    pub(super) fn open(&self) -> io::Result<File> {
        match &self.original {
            Some(original) => {
                let mut file = original.try_clone()?;
                io::Seek::rewind(&mut file)?;
                Ok(file)
            }
            None => ops::open(&self.path),
        }
    }

    /// Removes it after the folder is synced. The caller has checked its content.
    pub(super) fn remove(self) {
        private_files::sync_folder(temporary_file::parent_folder(&self.path));
        let _ = ops::remove(&self.path);
    }
}
