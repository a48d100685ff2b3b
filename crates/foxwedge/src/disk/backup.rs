//! Private copies of what a fix replaced, each with a manifest that says where it belongs.

use std::{
    env, fs,
    io::{self, Write},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::fingerprint::{ALGORITHM, Fingerprint};
use crate::say::Trouble;

/// The folder of all backups.
pub(crate) struct Backups {
    folder: PathBuf,
}

/// One copy.
#[derive(Clone, Debug)]
pub(crate) struct Backup {
    /// The copied content.
    pub(crate) content: PathBuf,
    note: PathBuf,
    pub(crate) manifest: Manifest,
}

/// What is known about a copy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    version: u32,
    /// Where it belongs.
    pub(crate) path: String,
    /// Seconds since 1970.
    pub(crate) created: u64,
    /// How the checksums are made.
    algorithm: String,
    /// The content that was replaced.
    pub(crate) before: Fingerprint,
    /// The content that replaced it; `None` while the write is under way.
    pub(crate) after: Option<Fingerprint>,
    /// It was put back.
    pub(crate) undone: bool,
}

impl Backups {
    /// `$FOXWEDGE_STATE_DIR`, `$XDG_STATE_HOME/foxwedge` or `~/.local/state/foxwedge`.
    pub(crate) fn locate() -> anyhow::Result<Backups> {
        let set =
            |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let state = set("FOXWEDGE_STATE_DIR")
            .or_else(|| Some(set("XDG_STATE_HOME")?.join("foxwedge")))
            .or_else(|| {
                Some(set("HOME").or_else(|| set("USERPROFILE"))?.join(".local/state/foxwedge"))
            })
            .ok_or_else(|| {
                Trouble::new("there is no folder for backups")
                    .help("set FOXWEDGE_STATE_DIR to a folder that only you can read")
            })?;
        Ok(Backups { folder: state.join("backups") })
    }

    /// Copies the content of a file. The copy is on disk when this returns.
    pub(crate) fn keep(&self, path: &Path, content: &[u8]) -> anyhow::Result<Backup> {
        let known = path.to_str().ok_or_else(|| {
            Trouble::new("its path is not UTF-8, so a backup could not name it")
                .help("use `foxwedge fix - <FILE >NEW` instead")
        })?;
        let created = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let manifest = Manifest {
            version: 1,
            path: known.to_owned(),
            created: created.as_secs(),
            algorithm: ALGORITHM.to_owned(),
            before: Fingerprint::of(content),
            after: None,
            undone: false,
        };
        let folder = || format!("no backup can be written to `{}`", self.folder.display());
        private_folder(&self.folder).with_context(folder)?;
        let stem = format!("{:020}-{}", created.as_nanos(), file_stem(path));
        let (content_path, mut file) = self.create(&stem).with_context(folder)?;
        let backup =
            Backup { note: content_path.with_extension("json"), content: content_path, manifest };
        file.write_all(content).and_then(|()| file.sync_all()).with_context(folder)?;
        backup.save().with_context(folder)?;
        Ok(backup)
    }

    fn create(&self, stem: &str) -> io::Result<(PathBuf, fs::File)> {
        let mut number = 0;
        loop {
            let path = self.folder.join(format!("{stem}-{number}.bak"));
            match private_file(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                result => return result.map(|file| (path, file)),
            }
        }
    }

    /// All copies, the oldest first. Manifests that cannot be read are left out.
    pub(crate) fn list(&self) -> anyhow::Result<Vec<Backup>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => {
                entries.with_context(|| format!("`{}` cannot be read", self.folder.display()))?
            }
        };
        let mut notes: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
            .collect();
        notes.sort();
        Ok(notes.into_iter().filter_map(Backup::load).collect())
    }
}

impl Backup {
    fn load(note: PathBuf) -> Option<Backup> {
        let manifest: Manifest = serde_json::from_slice(&fs::read(&note).ok()?).ok()?;
        Some(Backup { content: note.with_extension("bak"), note, manifest })
    }

    /// Notes what replaced the copied content.
    pub(crate) fn done(&mut self, after: Fingerprint) -> anyhow::Result<()> {
        self.manifest.after = Some(after);
        self.save().context("the manifest of the backup cannot be written")
    }

    /// Notes that it was put back.
    pub(crate) fn undone(&mut self) -> anyhow::Result<()> {
        self.manifest.undone = true;
        self.save().context("the manifest of the backup cannot be written")
    }

    /// Takes the copy away again: what it was made for did not happen.
    pub(crate) fn discard(self) {
        let _ = fs::remove_file(&self.note).and_then(|()| fs::remove_file(&self.content));
    }

    /// Writes the manifest beside itself first, so that it is never half a manifest.
    fn save(&self) -> io::Result<()> {
        let fresh = self.note.with_extension("new");
        let _ = fs::remove_file(&fresh);
        let mut file = private_file(&fresh)?;
        file.write_all(&serde_json::to_vec_pretty(&self.manifest)?)?;
        file.sync_all()?;
        fs::rename(&fresh, &self.note)
    }
}

/// A name for people; what makes it unique stands before it.
fn file_stem(path: &Path) -> String {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("file");
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    name.chars().take(40).map(plain).collect()
}

fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn private_file(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
