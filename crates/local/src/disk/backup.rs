//! Private copies of the content that a fix replaced, each with a manifest.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Once,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::{
    fingerprint::{ALGORITHM, ContentFingerprint},
    ops, private_files,
    prune::PruneRule,
    temporary_file::{is_dead, parent_folder},
};
use crate::{output::HelpfulError, user_folders::UserFolders};

/// Old backups are removed once per process.
static SWEPT: Once = Once::new();

/// The folder of all backups.
pub struct BackupFolder {
    folder: PathBuf,
}

/// A backup of one file.
#[derive(Clone, Debug)]
pub struct Backup {
    /// The copied content.
    pub content: PathBuf,
    manifest_path: PathBuf,
    /// What the backup is of.
    pub manifest: BackupManifest,
}

/// State of the fix that a backup was made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BackupStanding {
    /// The file has the content that the fix wrote.
    Applied,
    /// The file has the content before the fix: the fix was interrupted, or the file was restored.
    NotApplied,
    /// The file has other content.
    Changed,
    /// The fix was undone.
    Undone,
}

/// Description of a backup, stored next to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BackupManifest {
    version: u32,
    /// The file that was backed up.
    pub path: String,
    /// Seconds since 1970.
    pub created: u64,
    /// Checksum algorithm.
    algorithm: String,
    /// The replaced content.
    pub before: ContentFingerprint,
    /// The content that replaced it, or was to replace it.
    pub after: Option<ContentFingerprint>,
    /// Whether the backup was restored.
    pub undone: bool,
}

impl BackupFolder {
    /// The folder of the backups.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The backup folder of a user.
    pub fn locate(folders: &UserFolders) -> anyhow::Result<BackupFolder> {
        Ok(BackupFolder { folder: folders.state()?.join("backups") })
    }

    /// A backup folder at another path.
    #[cfg(test)]
    pub(super) fn at(folder: PathBuf) -> BackupFolder {
        BackupFolder { folder }
    }

    /// Saves the content of a file that is about to be replaced. The backup and its manifest are on
    /// disk when this returns.
    pub fn save_copy(
        &self,
        path: &Path,
        content: &[u8],
        after: ContentFingerprint,
    ) -> anyhow::Result<Backup> {
        let utf8_path = path.to_str().ok_or_else(|| {
            HelpfulError::new("its path is not UTF-8, so it cannot be backed up")
                .help("use `foxwedge fix - <FILE >NEW` instead")
        })?;
        let created = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let manifest = BackupManifest {
            version: 1,
            path: utf8_path.to_owned(),
            created: created.as_secs(),
            algorithm: ALGORITHM.to_owned(),
            before: ContentFingerprint::of(content),
            after: Some(after),
            undone: false,
        };
        let write_error = || format!("cannot write a backup to `{}`", self.folder.display());
        private_files::create_private_folder(&self.folder).with_context(write_error)?;
        SWEPT.call_once(|| {
            self.remove_unfinished();
            let all = self.list().unwrap_or_default();
            PruneRule::default().choose(&all).into_iter().for_each(Backup::discard);
        });
        let stem = format!("{:020}-{}", created.as_nanos(), file_stem(path));
        let (copy, mut file) = self.create(&stem).with_context(write_error)?;
        let backup = Backup { manifest_path: copy.with_extension("json"), content: copy, manifest };
        let saved = file
            .write_all(content)
            .and_then(|()| file.sync_all())
            .and_then(|()| backup.save())
            .with_context(write_error);
        match saved {
            Ok(()) => Ok(backup),
            Err(error) => {
                backup.discard();
                Err(error)
            }
        }
    }

    fn create(&self, stem: &str) -> io::Result<(PathBuf, fs::File)> {
        let process = std::process::id();
        let mut number = 0;
        loop {
            let path = self.folder.join(format!("{stem}-{process}-{number}.bak"));
            match ops::open_with(private_files::private_options().create_new(true), &path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                result => return result.map(|file| (path, file)),
            }
        }
    }

    /// Removes what dead processes left unfinished. A copy without a manifest was never needed:
    /// nothing is replaced before the manifest is complete.
    fn remove_unfinished(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name();
            let is_unfinished = || match path.extension().and_then(|extension| extension.to_str()) {
                Some("bak") => !path.with_extension("json").exists(),
                Some("new") => true,
                _ => false,
            };
            // Checked again: the process may have finished and ended between the first two checks.
            if is_unfinished()
                && let Some(process) = name.to_str().and_then(parse_process_id)
                && is_dead(process, &path)
                && is_unfinished()
            {
                let _ = fs::remove_file(path);
            }
        }
    }

    /// All backups, oldest first. Backups with an unreadable manifest are skipped.
    pub fn list(&self) -> anyhow::Result<Vec<Backup>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => {
                entries.with_context(|| format!("`{}` cannot be read", self.folder.display()))?
            }
        };
        let mut manifests: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
            .collect();
        manifests.sort();
        Ok(manifests.into_iter().filter_map(Backup::load).collect())
    }
}

impl Backup {
    /// A backup without files.
    #[cfg(test)]
    pub(super) fn example(path: &str, created: u64, bytes: u64) -> Backup {
        let manifest = BackupManifest {
            version: 1,
            path: path.to_owned(),
            created,
            algorithm: ALGORITHM.to_owned(),
            before: ContentFingerprint { bytes, hash: String::new() },
            after: None,
            undone: false,
        };
        Backup { content: PathBuf::new(), manifest_path: PathBuf::new(), manifest }
    }

    fn load(manifest_path: PathBuf) -> Option<Backup> {
        let content = fs::read(&manifest_path).ok()?;
        let manifest: BackupManifest = serde_json::from_slice(&content).ok()?;
        Some(Backup { content: manifest_path.with_extension("bak"), manifest_path, manifest })
    }

    /// Whether this backup has the content, or its fix wrote it.
    pub(super) fn covers(&self, content: &ContentFingerprint) -> bool {
        self.manifest.after.as_ref() == Some(content)
            || self.manifest.before == *content
                && ContentFingerprint::of_file(&self.content).is_ok_and(|copy| copy == *content)
    }

    /// State of the fix, from the current content of the file.
    pub fn standing(&self, now: &ContentFingerprint) -> BackupStanding {
        match &self.manifest {
            manifest if manifest.undone => BackupStanding::Undone,
            manifest if manifest.after.as_ref() == Some(now) => BackupStanding::Applied,
            manifest if manifest.before == *now => BackupStanding::NotApplied,
            _ => BackupStanding::Changed,
        }
    }

    /// Records in the manifest that the fix was undone.
    pub fn mark_undone(&mut self) -> anyhow::Result<()> {
        self.manifest.undone = true;
        self.save().context("the manifest of the backup cannot be written")
    }

    /// Removes the backup: its fix did not happen, or is long ago.
    pub fn discard(self) {
        let _ = ops::remove(&self.manifest_path);
        let _ = ops::remove(&self.content);
    }

    /// Writes the manifest to a new file first, so that it is never incomplete.
    fn save(&self) -> io::Result<()> {
        let new_path = self.manifest_path.with_extension("new");
        let _ = fs::remove_file(&new_path);
        let mut file =
            ops::open_with(private_files::private_options().create_new(true), &new_path)?;
        file.write_all(&serde_json::to_vec_pretty(&self.manifest)?)?;
        file.sync_all()?;
        ops::rename(&new_path, &self.manifest_path)?;
        private_files::sync_folder(parent_folder(&self.manifest_path));
        Ok(())
    }
}

/// A readable part for the backup's name. The part before it makes the name unique.
fn file_stem(path: &Path) -> String {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("file");
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    name.chars().take(40).map(plain).collect()
}

/// The process id in the name of a backup.
fn parse_process_id(name: &str) -> Option<u32> {
    let stem = name.rsplit_once('.')?.0;
    stem.rsplit('-').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_id_is_parsed_from_the_backup_name() {
        let table = [
            ("0123-chat_json-77-0.bak", Some(77)),
            ("0123-a-b_json-77-12.new", Some(77)),
            ("0123-chat_json-0.bak", None),
            ("x.bak", None),
        ];
        for (name, expected) in table {
            assert_eq!(parse_process_id(name), expected, "{name}");
        }
    }
}
