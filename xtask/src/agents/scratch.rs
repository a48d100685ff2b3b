//! Where agents live while they are tried.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process,
};

use super::cli::Cli;

/// A folder for everything; it goes when all is well and nobody wants to keep it.
pub(super) struct Scratch {
    folder: PathBuf,
    kept: std::cell::Cell<bool>,
}

impl Scratch {
    pub(super) fn new(keep: Option<PathBuf>) -> Result<Scratch, String> {
        let kept = keep.is_some();
        let folder = keep
            .unwrap_or_else(|| env::temp_dir().join(format!("foxwedge-agents-{}", process::id())));
        let made = fs::create_dir_all(&folder).and_then(|()| folder.canonicalize());
        let folder = made.map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Scratch { folder, kept: kept.into() })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Keeps the folder for somebody to look at.
    pub(super) fn keep(&self) -> &Path {
        self.kept.set(true);
        &self.folder
    }

    /// A desk for one agent, empty.
    pub(super) fn desk(&self, cli: &Cli) -> Result<Desk, String> {
        let name = format!("{}-{}", cli.vendor.option().trim_start_matches('-'), cli.version);
        let desk = Desk { folder: self.folder.join(name) };
        desk.set_up().map_err(|error| format!("{}: {error}", desk.folder.display()))?;
        Ok(desk)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.kept.get() {
            // What is left in the folder for temporary files does not matter.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// The folders of one agent.
pub(super) struct Desk {
    folder: PathBuf,
}

/// What the tools of the agent read.
pub(super) const FILES: [(&str, &str); 2] = [("first.txt", "alpha\n"), ("second.txt", "beta\n")];

impl Desk {
    fn set_up(&self) -> io::Result<()> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder)?;
        }
        for folder in [self.home(), self.workspace(), self.temporary(), self.shelf("")] {
            fs::create_dir_all(folder)?;
        }
        for (name, text) in FILES {
            fs::write(self.workspace().join(name), text)?;
        }
        Ok(())
    }

    pub(super) fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    pub(super) fn workspace(&self) -> PathBuf {
        self.folder.join("workspace")
    }

    pub(super) fn temporary(&self) -> PathBuf {
        self.folder.join("temporary")
    }

    /// Where something of a run is kept.
    pub(super) fn shelf(&self, name: &str) -> PathBuf {
        self.folder.join("kept").join(name)
    }

    /// Remembers the home as it is.
    pub(super) fn remember(&self, moment: &str) -> io::Result<()> {
        copy(&self.home(), &self.folder.join(moment))
    }

    /// The home as it was. It lies where it lay: agents remember whole paths.
    pub(super) fn restore(&self, moment: &str) -> io::Result<()> {
        fs::remove_dir_all(self.home())?;
        copy(&self.folder.join(moment), &self.home())
    }
}

/// Copies a folder; links stay links, and what is neither file nor folder stays behind.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy(&entry.path(), &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), target)?;
        } else if kind.is_symlink() {
            #[cfg(unix)]
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, target)?;
        }
    }
    Ok(())
}
