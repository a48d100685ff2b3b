//! Restores files from the backups that repairs made of them.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};

use crate::{
    database::{self, replace_session},
    disk::{
        Backup, BackupFolder, BackupStanding, ContentFingerprint, FileLock, FileSnapshot,
        check_idle, replace,
    },
    output::{self, HelpfulError},
    source::identify_session,
    user_folders::UserFolders,
};

/// The backups of a user that are not undone.
pub struct RestorableBackups {
    folders: UserFolders,
    backups: BackupFolder,
    /// By path, oldest first.
    by_path: HashMap<PathBuf, Vec<Backup>>,
    /// The content of files after the previews so far.
    previewed: HashMap<PathBuf, ContentFingerprint>,
}

impl RestorableBackups {
    /// Lists the backups.
    ///
    /// # Errors
    /// If the backup folder cannot be read.
    pub fn list(folders: UserFolders) -> anyhow::Result<RestorableBackups> {
        let backups = BackupFolder::locate(&folders)?;
        let mut by_path: HashMap<PathBuf, Vec<Backup>> = HashMap::new();
        for backup in backups.list()?.into_iter().filter(|backup| !backup.manifest.undone) {
            by_path.entry(PathBuf::from(&backup.manifest.path)).or_default().push(backup);
        }
        Ok(RestorableBackups { folders, backups, by_path, previewed: HashMap::new() })
    }

    /// Restores the content that the last fix of a file replaced. With `force` also if the file
    /// changed since then.
    ///
    /// # Errors
    /// If there is nothing to restore, the file is in use, or it cannot be written. The file is
    /// unchanged then.
    pub fn restore(&mut self, path: &Path, force: bool) -> anyhow::Result<()> {
        let real = real_path(path)?;
        let found = backups_of(&mut self.by_path, &real)?;
        let lock = FileLock::acquire(&self.folders, &real)?;
        lock.notes().for_each(|text| output::print_note(&text));
        let now = current_snapshot(&real, found.last())?;
        now.check_writable()?;
        let content = ContentFingerprint::of(&now.content);
        let mut backup = choose_backup(found, &content, force, Backup::mark_undone)?;
        let changed = backup.standing(&content) != BackupStanding::Applied;
        let _idle = check_idle(
            &self.folders,
            &real,
            &now.metadata,
            identify_session(&now.content).as_ref(),
        )?;
        let restore_error = || {
            HelpfulError::new("the file could not be restored")
                .help(format!("the backup is in `{}`", backup.content.display()))
        };
        let mut copy = fs::File::open(&backup.content).with_context(restore_error)?;
        let prepare = |after| match changed {
            true => self.backups.save_copy(&real, &now.content, after).map(Some),
            false => Ok(None),
        };
        let write = |mut out: &mut dyn io::Write| io::copy(&mut copy, &mut out).map(drop);
        let forced = match &now.session {
            Some(session) => {
                replace_session(&self.folders, session, &now.content, write, |_, after| {
                    prepare(after)
                })?
            }
            None => replace(&now, write, |_: &Path, after| prepare(after))?,
        };
        found.extend(forced);
        backup.mark_undone()
    }

    /// The backup that [`restore`](Self::restore) would restore now. Writes nothing. The next preview
    /// of the same file is of the content that this backup has.
    ///
    /// # Errors
    /// If there is nothing to restore, or the file is in use.
    pub fn preview(&mut self, path: &Path, force: bool) -> anyhow::Result<Backup> {
        let real = real_path(path)?;
        let found = backups_of(&mut self.by_path, &real)?;
        let content = match self.previewed.get(&real) {
            Some(content) => content.clone(),
            None => {
                let now = current_snapshot(&real, found.last())?;
                now.check_writable()?;
                let session = identify_session(&now.content);
                check_idle(&self.folders, &real, &now.metadata, session.as_ref())?;
                ContentFingerprint::of(&now.content)
            }
        };
        let backup = choose_backup(found, &content, force, |_| Ok(()))?;
        self.previewed.insert(real, backup.manifest.before.clone());
        Ok(backup)
    }
}

/// The backups of a file, oldest first.
fn backups_of<'b>(
    by_path: &'b mut HashMap<PathBuf, Vec<Backup>>,
    real: &Path,
) -> anyhow::Result<&'b mut Vec<Backup>> {
    match by_path.get_mut(real) {
        Some(found) if !found.is_empty() => Ok(found),
        _ => bail!(
            HelpfulError::new("no fix of this file can be undone")
                .help("`foxwedge undo --list` lists what can be restored")
        ),
    }
}

/// Takes the backup to restore for a file with this content. `mark` records that an older one is
/// not in effect.
fn choose_backup(
    found: &mut Vec<Backup>,
    content: &ContentFingerprint,
    force: bool,
    mark: fn(&mut Backup) -> anyhow::Result<()>,
) -> anyhow::Result<Backup> {
    let Some(backup) = newest_fix(found, content, mark)? else {
        bail!(
            HelpfulError::new(
                "nothing to undo: the file already has its content from before the fix"
            )
            .help("`foxwedge undo --list` lists what can be restored")
        );
    };
    let saved =
        ContentFingerprint::of_file(&backup.content).context("its backup cannot be read")?;
    if saved != backup.manifest.before {
        bail!("its backup `{}` is damaged", backup.content.display());
    }
    if backup.standing(content) != BackupStanding::Applied && !force {
        bail!(HelpfulError::new("the file changed since it was fixed").help(
            "--force restores the old content anyway, and keeps the current content as a backup"
        ));
    }
    Ok(backup)
}

/// The newest fix that is still in effect for a file with this content: its time in seconds since
/// 1970, and its standing.
///
/// # Errors
/// If the backup folder cannot be read.
pub fn latest_fix(
    folders: &UserFolders,
    real: &Path,
    now: &ContentFingerprint,
) -> anyhow::Result<Option<(u64, BackupStanding)>> {
    let mut backups = BackupFolder::locate(folders)?.list()?;
    backups.retain(|backup| Path::new(&backup.manifest.path) == real);
    let standing = |backup: Backup| (backup.manifest.created, backup.standing(now));
    let in_effect = |(_, standing): &(u64, BackupStanding)| match standing {
        BackupStanding::Applied | BackupStanding::Changed => true,
        BackupStanding::NotApplied | BackupStanding::Undone => false,
    };
    Ok(backups.into_iter().rev().map(standing).find(in_effect))
}

/// The current content of the file.
fn current_snapshot(real: &Path, newest: Option<&Backup>) -> anyhow::Result<FileSnapshot> {
    match FileSnapshot::take(real) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let saved = newest.map(|backup| backup.content.display().to_string());
            bail!(
                HelpfulError::new("the file no longer exists")
                    .help(format!("the backup is in `{}`", saved.unwrap_or_default()))
            );
        }
        now => now.context("the file cannot be read"),
    }
}

/// The newest fix that is in effect for this content. Fixes that are not in effect were interrupted
/// before they were made or after they were undone; `mark` records that.
fn newest_fix(
    found: &mut Vec<Backup>,
    content: &ContentFingerprint,
    mark: fn(&mut Backup) -> anyhow::Result<()>,
) -> anyhow::Result<Option<Backup>> {
    while let Some(mut backup) = found.pop() {
        match backup.standing(content) {
            BackupStanding::Applied | BackupStanding::Changed => return Ok(Some(backup)),
            BackupStanding::NotApplied => mark(&mut backup)?,
            BackupStanding::Undone => {}
        }
    }
    Ok(None)
}

/// Resolves links. For a file that no longer exists, resolves its folder.
fn real_path(path: &Path) -> anyhow::Result<PathBuf> {
    if let Ok(real) = database::canonicalize(path) {
        return Ok(real);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder =
        fs::canonicalize(folder.unwrap_or(Path::new("."))).context("its folder does not exist")?;
    Ok(path.file_name().map_or(folder.clone(), |name| folder.join(name)))
}
