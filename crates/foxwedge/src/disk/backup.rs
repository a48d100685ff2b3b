//! Private copies of what a fix replaced, each with a manifest that says where it belongs.

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
    ops,
    prune::PruneRule,
    state_folder,
    temporary_file::{is_dead, parent_folder},
};
use crate::cli_output::CliError;

/// Once in a process is enough.
static SWEPT: Once = Once::new();

/// The folder of all backups.
pub(crate) struct BackupFolder {
    folder: PathBuf,
}

/// One copy.
#[derive(Clone, Debug)]
pub(crate) struct Backup {
    /// The copied content.
    pub(crate) content: PathBuf,
    manifest_path: PathBuf,
    pub(crate) manifest: BackupManifest,
}

/// What became of the fix that a copy was made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BackupStanding {
    /// The file is what the fix made of it.
    Applied,
    /// The file is what it was before: the fix was interrupted, or somebody put the file back.
    NotApplied,
    /// The file is something else.
    Changed,
    /// It was undone.
    Undone,
}

/// What is known about a copy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct BackupManifest {
    version: u32,
    /// Where it belongs.
    pub(crate) path: String,
    /// Seconds since 1970.
    pub(crate) created: u64,
    /// How the checksums are made.
    algorithm: String,
    /// The content that was replaced.
    pub(crate) before: ContentFingerprint,
    /// The content that replaced it, or was about to.
    pub(crate) after: Option<ContentFingerprint>,
    /// It was put back.
    pub(crate) undone: bool,
}

impl BackupFolder {
    /// The folder that they lie in.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where they are kept.
    pub(crate) fn locate() -> anyhow::Result<BackupFolder> {
        Ok(BackupFolder { folder: state_folder::state_folder()?.join("backups") })
    }

    /// Some other folder.
    #[cfg(test)]
    pub(super) fn at(folder: PathBuf) -> BackupFolder {
        BackupFolder { folder }
    }

    /// Copies the content of a file that is about to be replaced. The copy and its manifest are on
    /// disk when this returns.
    pub(crate) fn save_copy(
        &self,
        path: &Path,
        content: &[u8],
        after: ContentFingerprint,
    ) -> anyhow::Result<Backup> {
        let known = path.to_str().ok_or_else(|| {
            CliError::new("its path is not UTF-8, so a backup could not name it")
                .help("use `foxwedge fix - <FILE >NEW` instead")
        })?;
        let created = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let manifest = BackupManifest {
            version: 1,
            path: known.to_owned(),
            created: created.as_secs(),
            algorithm: ALGORITHM.to_owned(),
            before: ContentFingerprint::of(content),
            after: Some(after),
            undone: false,
        };
        let trouble = || format!("no backup can be written to `{}`", self.folder.display());
        state_folder::create_private_folder(&self.folder).with_context(trouble)?;
        SWEPT.call_once(|| {
            self.remove_unfinished();
            let all = self.list().unwrap_or_default();
            PruneRule::default().choose(&all).into_iter().for_each(Backup::discard);
        });
        let stem = format!("{:020}-{}", created.as_nanos(), file_stem(path));
        let (copy, mut file) = self.create(&stem).with_context(trouble)?;
        let backup = Backup { manifest_path: copy.with_extension("json"), content: copy, manifest };
        let kept = file
            .write_all(content)
            .and_then(|()| file.sync_all())
            .and_then(|()| backup.save())
            .with_context(trouble);
        match kept {
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
            match ops::open_with(state_folder::private_options().create_new(true), &path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                result => return result.map(|file| (path, file)),
            }
        }
    }

    /// Takes away what dead processes left half done: a copy without a manifest was never needed,
    /// since nothing is replaced before the manifest is whole.
    fn remove_unfinished(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name();
            let is_half = || match path.extension().and_then(|extension| extension.to_str()) {
                Some("bak") => !path.with_extension("json").exists(),
                Some("new") => true,
                _ => false,
            };
            // Asked once more: it may have finished, and ended, between the first two questions.
            if is_half()
                && let Some(process) = name.to_str().and_then(parse_process_id)
                && is_dead(process, &path)
                && is_half()
            {
                let _ = fs::remove_file(path);
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
    /// One that lies nowhere.
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

    fn load(note: PathBuf) -> Option<Backup> {
        let manifest: BackupManifest = serde_json::from_slice(&fs::read(&note).ok()?).ok()?;
        Some(Backup { content: note.with_extension("bak"), manifest_path: note, manifest })
    }

    /// Whether some content is in this copy, whole, or was made by the fix it belongs to.
    pub(super) fn covers(&self, content: &ContentFingerprint) -> bool {
        self.manifest.after.as_ref() == Some(content)
            || self.manifest.before == *content
                && ContentFingerprint::of_file(&self.content).is_ok_and(|kept| kept == *content)
    }

    /// What the content of its file says about it.
    pub(crate) fn standing(&self, now: &ContentFingerprint) -> BackupStanding {
        match &self.manifest {
            manifest if manifest.undone => BackupStanding::Undone,
            manifest if manifest.after.as_ref() == Some(now) => BackupStanding::Applied,
            manifest if manifest.before == *now => BackupStanding::NotApplied,
            _ => BackupStanding::Changed,
        }
    }

    /// Notes that it was put back.
    pub(crate) fn mark_undone(&mut self) -> anyhow::Result<()> {
        self.manifest.undone = true;
        self.save().context("the manifest of the backup cannot be written")
    }

    /// Takes the copy away: what it was made for did not happen, or was long ago.
    pub(crate) fn discard(self) {
        let _ = ops::remove(&self.manifest_path);
        let _ = ops::remove(&self.content);
    }

    /// Writes the manifest beside itself first, so that it is never half a manifest.
    fn save(&self) -> io::Result<()> {
        let fresh = self.manifest_path.with_extension("new");
        let _ = fs::remove_file(&fresh);
        let mut file = ops::open_with(state_folder::private_options().create_new(true), &fresh)?;
        file.write_all(&serde_json::to_vec_pretty(&self.manifest)?)?;
        file.sync_all()?;
        ops::rename(&fresh, &self.manifest_path)?;
        state_folder::sync_folder(parent_folder(&self.manifest_path));
        Ok(())
    }
}

/// A name for people; what makes it unique stands before it.
fn file_stem(path: &Path) -> String {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("file");
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    name.chars().take(40).map(plain).collect()
}

/// The process in the name of a copy.
fn parse_process_id(name: &str) -> Option<u32> {
    let stem = name.rsplit_once('.')?.0;
    stem.rsplit('-').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_copies_tell_who_made_them() {
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
