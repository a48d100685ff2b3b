//! `foxwedge undo`: puts back what a fix replaced.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};

use crate::{
    cli::UndoArgs,
    disk::{Backup, Backups, Fingerprint, Snapshot},
    mend::roll_back,
    say::{self, DIM, GOOD, Trouble, clean, out, paint, talk},
};

/// Puts every named file back, or lists what could be.
pub(crate) fn run(args: UndoArgs) -> anyhow::Result<ExitCode> {
    let backups = Backups::locate()?;
    if args.list {
        out(&list(&backups.list()?))?;
        return Ok(ExitCode::SUCCESS);
    }
    // Read once, however many files are named.
    let mut known = Known::default();
    for backup in backups.list()?.into_iter().filter(|backup| !backup.manifest.undone) {
        known.entry(PathBuf::from(&backup.manifest.path)).or_default().push(backup);
    }
    let mut code = ExitCode::SUCCESS;
    for path in &args.files {
        let shown = clean(&path.to_string_lossy());
        match put_back(&backups, &mut known, path, args.force) {
            Ok(()) => talk(&format!("{} {shown}\n", paint(GOOD, "restored"))),
            Err(error) => {
                say::error(&error.context(shown));
                code = ExitCode::from(2);
            }
        }
    }
    Ok(code)
}

/// What can be put back, by path, the oldest first.
type Known = HashMap<PathBuf, Vec<Backup>>;

fn put_back(backups: &Backups, known: &mut Known, path: &Path, force: bool) -> anyhow::Result<()> {
    let real = real_path(path)?;
    let found = known.entry(real.clone()).or_default();
    let Some(mut backup) = found.pop() else {
        bail!(
            Trouble::new("no fix of this file can be undone")
                .help("`foxwedge undo --list` lists what can be put back")
        );
    };
    let kept = Fingerprint::of_file(&backup.content).context("its backup cannot be read")?;
    if kept != backup.manifest.before {
        bail!("its backup `{}` is damaged", backup.content.display());
    }
    let now = match Snapshot::take(&real) {
        Ok(now) => now,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            bail!(
                Trouble::new("the file is gone")
                    .help(format!("what it held is in `{}`", backup.content.display()))
            );
        }
        Err(error) => return Err(error).context("the file cannot be read"),
    };
    now.check_writable()?;
    let content = Fingerprint::of(&now.content);
    if Some(&content) != backup.manifest.after.as_ref() {
        if !force {
            bail!(Trouble::new("the file changed since it was fixed")
                .help("--force puts the old content back all the same, and keeps what is there now as a backup"));
        }
        let mut kept = backups.keep(&real, &now.content)?;
        kept.done(backup.manifest.before.clone())?;
        found.push(kept);
    }
    roll_back(&real, &mut backup)
}

/// The file behind every link; a file that is gone still has a folder.
fn real_path(path: &Path) -> anyhow::Result<PathBuf> {
    if let Ok(real) = fs::canonicalize(path) {
        return Ok(real);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder =
        fs::canonicalize(folder.unwrap_or(Path::new("."))).context("its folder does not exist")?;
    Ok(path.file_name().map_or(folder.clone(), |name| folder.join(name)))
}

/// One line for each, the newest first.
fn list(backups: &[Backup]) -> String {
    if backups.is_empty() {
        talk("Nothing was fixed yet.\n");
    }
    let line = |backup: &Backup| {
        let manifest = &backup.manifest;
        let state = if manifest.undone { "undone" } else { "fixed" };
        format!(
            "{}  {state:<6}  {:>10} bytes  {}  {}\n",
            date(manifest.created),
            manifest.before.bytes,
            clean(&manifest.path),
            paint(DIM, clean(&backup.content.to_string_lossy())),
        )
    };
    backups.iter().rev().map(line).collect()
}

/// Seconds since 1970 as a date and time, in UTC.
fn date(seconds: u64) -> String {
    let (days, rest) = (seconds / 86400, seconds % 86400);
    // Years begin in March here, so that the leap day comes last.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{of_month:02} {hour:02}:{minute:02}:{second:02} UTC")
}

#[cfg(test)]
mod tests {
    #[test]
    fn seconds_become_dates() {
        let table = [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_399, "2000-02-28 23:59:59 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_767_225_599, "2025-12-31 23:59:59 UTC"),
        ];
        for (seconds, expected) in table {
            assert_eq!(super::date(seconds), expected);
        }
    }
}
