//! A name beside a file, for whatever changes places with it.
//!
//! From the moment it changes places, what lies aside may be somebody else's. It is never removed
//! unless somebody looked at it; a process that dies leaves it.

use std::{
    fs::{File, Metadata, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use super::{attributes, ops, state_folder, temporary_file};

/// A file that lies beside another, under a name of ours.
pub(super) struct DisplacedFile {
    path: PathBuf,
    /// The file of which this is only a copy.
    original: Option<File>,
}

impl DisplacedFile {
    pub(super) fn new(path: PathBuf) -> DisplacedFile {
        DisplacedFile { path, original: None }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Changes places with the file of that name.
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

    /// In two steps, where names cannot be exchanged: whatever takes the name between them is lost.
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

    /// Where a file can have one name only, a copy of what was replaced has to do.
    fn swap_by_copy(&mut self, path: &Path) -> io::Result<()> {
        let mut replaced = ops::open(path)?;
        ops::rename(&self.path, path)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let copied = ops::open_with(&options, &self.path).and_then(|mut copy| {
            io::copy(&mut replaced, &mut copy)?;
            // As far as this file system has it.
            let _ = attributes::copy_attributes(&copy, &replaced, &replaced.metadata()?);
            copy.sync_all()
        });
        self.original = Some(replaced);
        copied
    }

    /// The metadata of what lies aside.
    pub(super) fn metadata(&self) -> io::Result<Metadata> {
        match &self.original {
            Some(original) => original.metadata(),
            None => ops::metadata(&self.path),
        }
    }

    /// What lies aside, open for reading from its beginning.
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

    /// Takes it away, once the names around it last. Whoever calls this knows what it is.
    pub(super) fn remove(self) {
        state_folder::sync_folder(temporary_file::parent_folder(&self.path));
        let _ = ops::remove(&self.path);
    }
}
