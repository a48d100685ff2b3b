//! `foxwedge undo`: restores files from their backups.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};

use crate::{cli::UndoArgs, command::store::parse_age};
use foxwedge_local::{
    agents::{self, session_lookup},
    calendar::format_date,
    disk::{
        Backup, BackupFolder, BackupStanding, ContentFingerprint, FileLock, FileSnapshot,
        PruneRule, check_idle, replace,
    },
    output::{self, DIM, GOOD, HelpfulError, clean, paint, pluralize, write_stderr, write_stdout},
    screen::format_size,
    source::identify_session,
};

/// Restores every named file, or lists or prunes backups.
pub(crate) fn run(args: UndoArgs) -> anyhow::Result<ExitCode> {
    let backups = BackupFolder::locate()?;
    if args.list {
        let all = backups.list()?;
        if all.is_empty() {
            write_stderr("No file was fixed yet.\n");
        }
        write_stdout(&backup_lines(&all))?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.prune {
        return prune(&backups, &args);
    }
    // Read once for all files.
    let mut known = backups_by_path(&backups)?;
    let mut code = ExitCode::SUCCESS;
    for path in &args.files {
        let display_name = clean(&path.to_string_lossy());
        match restore_file(&backups, &mut known, &resolve_target(path), args.force) {
            Ok(()) => write_stderr(&format!("{} {display_name}\n", paint(GOOD, "restored"))),
            Err(error) => {
                output::print_error(&error.context(display_name));
                code = ExitCode::from(2);
            }
        }
    }
    Ok(code)
}

/// Removes old backups, but never the newest of a file.
fn prune(backups: &BackupFolder, args: &UndoArgs) -> anyhow::Result<ExitCode> {
    let mut rule = PruneRule::default();
    if let Some(age) = &args.older_than {
        let Some(milliseconds) = parse_age(age) else {
            bail!(
                HelpfulError::new(format!("--older-than: `{}` is not a valid age", clean(age)))
                    .help("an age is a number and a unit: 30d, 12h, 90m, 45s, 8w")
            );
        };
        rule = PruneRule { age: milliseconds / 1000, bytes: u64::MAX };
    }
    let all = backups.list()?;
    let old = rule.choose(&all);
    write_stdout(&backup_lines(&old))?;
    let (removed, folder) = (describe_backups(&old), display_path(backups.folder()));
    if args.dry_run {
        write_stderr(&format!("{removed} would be removed from {folder}; nothing was removed.\n"));
        return Ok(ExitCode::SUCCESS);
    }
    old.into_iter().for_each(Backup::discard);
    let remaining = describe_backups(&backups.list()?);
    write_stderr(&format!("{} {removed}; {remaining} in {folder}.\n", paint(GOOD, "removed")));
    Ok(ExitCode::SUCCESS)
}

/// The number of backups and their total size.
fn describe_backups(backups: &[Backup]) -> String {
    let bytes = backups.iter().map(|backup| backup.manifest.before.bytes).sum();
    format!("{} ({})", pluralize(backups.len(), "backup"), format_size(bytes))
}

fn display_path(path: &Path) -> String {
    clean(&path.to_string_lossy())
}

/// Restores one file, if it did not change since the last fix.
pub(crate) fn undo_file(path: &Path) -> anyhow::Result<()> {
    let backups = BackupFolder::locate()?;
    let mut known = backups_by_path(&backups)?;
    restore_file(&backups, &mut known, path, false)
}

/// The newest fix that is still in effect for a file with this content: its time in seconds since
/// 1970, and its standing.
pub(crate) fn latest_fix(
    real: &Path,
    now: &ContentFingerprint,
) -> anyhow::Result<Option<(u64, BackupStanding)>> {
    let mut backups = BackupFolder::locate()?.list()?;
    backups.retain(|backup| Path::new(&backup.manifest.path) == real);
    let standing = |backup: Backup| (backup.manifest.created, backup.standing(now));
    let in_effect = |(_, standing): &(u64, BackupStanding)| match standing {
        BackupStanding::Applied | BackupStanding::Changed => true,
        BackupStanding::NotApplied | BackupStanding::Undone => false,
    };
    Ok(backups.into_iter().rev().map(standing).find(in_effect))
}

/// Backups that are not undone, by path, oldest first.
type BackupsByPath = HashMap<PathBuf, Vec<Backup>>;

fn backups_by_path(backups: &BackupFolder) -> anyhow::Result<BackupsByPath> {
    let mut known = BackupsByPath::default();
    for backup in backups.list()?.into_iter().filter(|backup| !backup.manifest.undone) {
        known.entry(PathBuf::from(&backup.manifest.path)).or_default().push(backup);
    }
    Ok(known)
}

fn restore_file(
    backups: &BackupFolder,
    known: &mut BackupsByPath,
    path: &Path,
    force: bool,
) -> anyhow::Result<()> {
    let real = real_path(path)?;
    let found = known.entry(real.clone()).or_default();
    if found.is_empty() {
        bail!(
            HelpfulError::new("no fix of this file can be undone")
                .help("`foxwedge undo --list` lists what can be restored")
        );
    }
    let lock = FileLock::acquire(&real)?;
    lock.notes().for_each(|text| output::print_note(&text));
    let now = current_snapshot(&real, found.last())?;
    now.check_writable()?;
    let content = ContentFingerprint::of(&now.content);
    let Some(mut backup) = newest_fix(found, &content)? else {
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
    let changed = backup.standing(&content) != BackupStanding::Applied;
    if changed && !force {
        bail!(HelpfulError::new("the file changed since it was fixed").help(
            "--force restores the old content anyway, and keeps the current content as a backup"
        ));
    }
    let _idle = check_idle(&real, &now.metadata, identify_session(&now.content).as_ref())?;
    let restore_error = || {
        HelpfulError::new("the file could not be restored")
            .help(format!("the backup is in `{}`", backup.content.display()))
    };
    let mut copy = fs::File::open(&backup.content).with_context(restore_error)?;
    let prepare = |_: &Path, after| match changed {
        true => backups.save_copy(&real, &now.content, after).map(Some),
        false => Ok(None),
    };
    let forced = replace(&now, |mut out| io::copy(&mut copy, &mut out).map(drop), prepare)?;
    found.extend(forced);
    backup.mark_undone()
}

/// The path of the target. A session id stands for the file of that session.
fn resolve_target(path: &Path) -> PathBuf {
    let id = path.to_str().filter(|id| session_lookup::is_session_id(id) && !path.exists());
    let session = id
        .and_then(|id| session_lookup::find_session(id, &agents::find(&[]).entries).ok().cloned());
    session.map_or_else(|| path.to_owned(), |session| session.path)
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
/// before they were made or after they were undone; these are marked as undone.
fn newest_fix(
    found: &mut Vec<Backup>,
    content: &ContentFingerprint,
) -> anyhow::Result<Option<Backup>> {
    while let Some(mut backup) = found.pop() {
        match backup.standing(content) {
            BackupStanding::Applied | BackupStanding::Changed => return Ok(Some(backup)),
            BackupStanding::NotApplied => backup.mark_undone()?,
            BackupStanding::Undone => {}
        }
    }
    Ok(None)
}

/// Resolves links. For a file that no longer exists, resolves its folder.
fn real_path(path: &Path) -> anyhow::Result<PathBuf> {
    if let Ok(real) = fs::canonicalize(path) {
        return Ok(real);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder =
        fs::canonicalize(folder.unwrap_or(Path::new("."))).context("its folder does not exist")?;
    Ok(path.file_name().map_or(folder.clone(), |name| folder.join(name)))
}

/// One line for each backup, newest first.
fn backup_lines(backups: &[Backup]) -> String {
    let line = |backup: &Backup| {
        let manifest = &backup.manifest;
        let state = match fix_standing(backup) {
            BackupStanding::Undone => "undone",
            BackupStanding::NotApplied => "unmade",
            BackupStanding::Applied | BackupStanding::Changed => "fixed",
        };
        format!(
            "{}  {state:<6}  {:>10} bytes  {}  {}\n",
            format_date(manifest.created),
            manifest.before.bytes,
            clean(&manifest.path),
            paint(DIM, clean(&backup.content.to_string_lossy())),
        )
    };
    backups.iter().rev().map(line).collect()
}

/// The standing of a fix. A file is only read if its size matches.
fn fix_standing(backup: &Backup) -> BackupStanding {
    let (path, before) = (Path::new(&backup.manifest.path), &backup.manifest.before);
    let same_size = fs::metadata(path).is_ok_and(|now| now.len() == before.bytes);
    let now = same_size.then(|| ContentFingerprint::of_file(path).ok()).flatten();
    match now {
        Some(now) => backup.standing(&now),
        None if backup.manifest.undone => BackupStanding::Undone,
        None => BackupStanding::Applied,
    }
}
