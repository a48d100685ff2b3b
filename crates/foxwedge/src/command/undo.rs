//! `foxwedge undo`: restores files from their backups.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::bail;

use crate::{cli::UndoArgs, command::store::parse_age};
use foxwedge_local::{
    agents::{self, session_lookup},
    calendar::format_date,
    disk::{Backup, BackupFolder, BackupStanding, ContentFingerprint, PruneRule},
    language::localize,
    output::{self, DIM, GOOD, HelpfulError, clean, paint, pluralize, write_stderr, write_stdout},
    screen::{format_size, pad},
    undo::RestorableBackups,
    user_folders::UserFolders,
};

/// Restores every named file, or lists or prunes backups.
pub(crate) fn run(args: UndoArgs) -> anyhow::Result<ExitCode> {
    let folders = UserFolders::Environment;
    let backups = BackupFolder::locate(&folders)?;
    if args.list {
        let all = backups.list()?;
        if all.is_empty() {
            write_stderr(&localize("No file was fixed yet.\n"));
        }
        write_stdout(&backup_lines(&all))?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.prune {
        return prune(&backups, &args);
    }
    // Read once for all files.
    let mut restorable = RestorableBackups::list(folders)?;
    let mut code = ExitCode::SUCCESS;
    let files = match &args.since {
        Some(time) => files_since(&backups, time)?,
        None => args.files,
    };
    if args.dry_run {
        return preview(restorable, &files, args.force);
    }
    for path in &files {
        let path = resolve_target(path);
        let display_name = display_path(&path);
        match restorable.restore(&path, args.force) {
            Ok(()) => {
                write_stderr(&format!("{} {display_name}\n", paint(GOOD, localize("restored"))))
            }
            Err(error) => {
                output::print_error(&error.context(display_name));
                code = ExitCode::from(2);
            }
        }
    }
    Ok(code)
}

/// Lists the backups that would be restored.
fn preview(
    mut restorable: RestorableBackups,
    files: &[PathBuf],
    force: bool,
) -> anyhow::Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    let mut chosen = Vec::new();
    for path in files {
        let path = resolve_target(path);
        match restorable.preview(&path, force) {
            Ok(backup) => chosen.push(backup),
            Err(error) => {
                output::print_error(&error.context(display_path(&path)));
                code = ExitCode::from(2);
            }
        }
    }
    chosen.reverse();
    write_stdout(&backup_lines(&chosen))?;
    let restored = describe_backups(&chosen);
    write_stderr(&localize(format!("{restored} would be restored; nothing was changed.\n")));
    Ok(code)
}

/// The files that were replaced since a time, and not restored yet: each as often as it was replaced,
/// newest first.
fn files_since(backups: &BackupFolder, time: &str) -> anyhow::Result<Vec<PathBuf>> {
    let Some(since) = parse_time(time) else {
        bail!(
            HelpfulError::new(format!("--since: `{}` is not a valid time", clean(time)))
                .help("a time is 2026-01-02T03:04:05Z, or an age: 10m, 2h, 1d")
        );
    };
    let mut files: Vec<PathBuf> = Vec::new();
    for backup in backups.list()? {
        if !backup.manifest.undone && backup.manifest.created >= since {
            files.push(PathBuf::from(&backup.manifest.path));
        }
    }
    if files.is_empty() {
        write_stderr(&localize("No file was fixed since then.\n"));
    }
    Ok(files)
}

/// Seconds since 1970 of a timestamp, or of an age before now.
fn parse_time(time: &str) -> Option<u64> {
    if let Ok(stamp) = time.parse::<jiff::Timestamp>() {
        return u64::try_from(stamp.as_second()).ok();
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    now.as_secs().checked_sub(parse_age(time)? / 1000)
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
        write_stderr(&localize(format!(
            "{removed} would be removed from {folder}; nothing was removed.\n"
        )));
        return Ok(ExitCode::SUCCESS);
    }
    old.into_iter().for_each(Backup::discard);
    let remaining = describe_backups(&backups.list()?);
    let removed = format!("{} {removed}", paint(GOOD, "removed"));
    write_stderr(&localize(format!("{removed}; {remaining} in {folder}.\n")));
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

/// The path of the target. A session id stands for the file of that session.
fn resolve_target(path: &Path) -> PathBuf {
    let id = path.to_str().filter(|id| session_lookup::is_session_id(id) && !path.exists());
    let session = id
        .and_then(|id| session_lookup::find_session(id, &agents::find(&[]).entries).ok().cloned());
    session.map_or_else(|| path.to_owned(), |session| session.path)
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
            "{}  {}  {:>10} {}  {}  {}\n",
            format_date(manifest.created),
            pad(&localize(state), 6),
            manifest.before.bytes,
            localize("bytes"),
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
