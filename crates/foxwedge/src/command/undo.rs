//! `foxwedge undo`: puts back what a fix replaced.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};

use crate::{
    agents::{self, pick},
    calendar::date,
    cli::UndoArgs,
    command::store::milliseconds,
    disk::{
        Backup, Backups, Claim, Fingerprint, PruneRule, Snapshot, Standing, check_idle, replace,
    },
    say::{self, DIM, GOOD, Trouble, clean, count, out, paint, talk},
    screen::size,
    source::sitting,
};

/// Puts every named file back, or lists what could be.
pub(crate) fn run(args: UndoArgs) -> anyhow::Result<ExitCode> {
    let backups = Backups::locate()?;
    if args.list {
        let all = backups.list()?;
        if all.is_empty() {
            talk("Nothing was fixed yet.\n");
        }
        out(&list(&all))?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.prune {
        return prune(&backups, &args);
    }
    // Read once, however many files are named.
    let mut known = known(&backups)?;
    let mut code = ExitCode::SUCCESS;
    for path in &args.files {
        let shown = clean(&path.to_string_lossy());
        match put_back(&backups, &mut known, &named(path), args.force) {
            Ok(()) => talk(&format!("{} {shown}\n", paint(GOOD, "restored"))),
            Err(error) => {
                say::error(&error.context(shown));
                code = ExitCode::from(2);
            }
        }
    }
    Ok(code)
}

/// Removes old backups, but never the newest of a file.
fn prune(backups: &Backups, args: &UndoArgs) -> anyhow::Result<ExitCode> {
    let mut rule = PruneRule::default();
    if let Some(age) = &args.older_than {
        let Some(milliseconds) = milliseconds(age) else {
            bail!(
                Trouble::new(format!("--older-than: `{}` is no age", clean(age)))
                    .help("an age is a number and a unit: 30d, 12h, 90m, 45s, 8w")
            );
        };
        rule = PruneRule { age: milliseconds / 1000, bytes: u64::MAX };
    }
    let all = backups.list()?;
    let old = rule.choose(&all);
    out(&list(&old))?;
    let (gone, folder) = (amount(&old), shown(backups.folder()));
    if args.dry_run {
        talk(&format!("{gone} would be removed from {folder}; nothing was.\n"));
        return Ok(ExitCode::SUCCESS);
    }
    old.into_iter().for_each(Backup::discard);
    let left = amount(&backups.list()?);
    talk(&format!("{} {gone}; {left} in {folder}.\n", paint(GOOD, "removed")));
    Ok(ExitCode::SUCCESS)
}

/// How many backups, and how large they are.
fn amount(backups: &[Backup]) -> String {
    let bytes = backups.iter().map(|backup| backup.manifest.before.bytes).sum();
    format!("{} ({})", count(backups.len(), "backup"), size(bytes))
}

fn shown(path: &Path) -> String {
    clean(&path.to_string_lossy())
}

/// Puts one file back, if it is what the last fix made of it.
pub(crate) fn one(path: &Path) -> anyhow::Result<()> {
    let backups = Backups::locate()?;
    let mut known = known(&backups)?;
    put_back(&backups, &mut known, path, false)
}

/// The newest fix that shows in a file of that content: when it was made, in seconds since 1970,
/// and what became of it.
pub(crate) fn latest(real: &Path, now: &Fingerprint) -> anyhow::Result<Option<(u64, Standing)>> {
    let mut backups = Backups::locate()?.list()?;
    backups.retain(|backup| Path::new(&backup.manifest.path) == real);
    let standing = |backup: Backup| (backup.manifest.created, backup.standing(now));
    let shows = |(_, standing): &(u64, Standing)| match standing {
        Standing::Made | Standing::Changed => true,
        Standing::Unmade | Standing::Undone => false,
    };
    Ok(backups.into_iter().rev().map(standing).find(shows))
}

/// What can be put back, by path, the oldest first.
type Known = HashMap<PathBuf, Vec<Backup>>;

fn known(backups: &Backups) -> anyhow::Result<Known> {
    let mut known = Known::default();
    for backup in backups.list()?.into_iter().filter(|backup| !backup.manifest.undone) {
        known.entry(PathBuf::from(&backup.manifest.path)).or_default().push(backup);
    }
    Ok(known)
}

fn put_back(backups: &Backups, known: &mut Known, path: &Path, force: bool) -> anyhow::Result<()> {
    let real = real_path(path)?;
    let found = known.entry(real.clone()).or_default();
    if found.is_empty() {
        bail!(
            Trouble::new("no fix of this file can be undone")
                .help("`foxwedge undo --list` lists what can be put back")
        );
    }
    let claim = Claim::take(&real)?;
    claim.notes().for_each(|text| say::note(&text));
    let now = now(&real, found.last())?;
    now.check_writable()?;
    let content = Fingerprint::of(&now.content);
    let Some(mut backup) = newest(found, &content)? else {
        bail!(
            Trouble::new(
                "there is nothing to undo: the file still is what it was before it was fixed"
            )
            .help("`foxwedge undo --list` lists what can be put back")
        );
    };
    let kept = Fingerprint::of_file(&backup.content).context("its backup cannot be read")?;
    if kept != backup.manifest.before {
        bail!("its backup `{}` is damaged", backup.content.display());
    }
    let changed = backup.standing(&content) != Standing::Made;
    if changed && !force {
        bail!(Trouble::new("the file changed since it was fixed")
            .help("--force puts the old content back all the same, and keeps what is there now as a backup"));
    }
    let _idle = check_idle(&real, &now.metadata, sitting(&now.content).as_ref())?;
    let trouble = || {
        Trouble::new("the file could not be put back")
            .help(format!("what it held is in `{}`", backup.content.display()))
    };
    let mut copy = fs::File::open(&backup.content).with_context(trouble)?;
    let prepare = |_: &Path, after| match changed {
        true => backups.keep(&real, &now.content, after).map(Some),
        false => Ok(None),
    };
    let forced = replace(&now, |mut out| io::copy(&mut copy, &mut out).map(drop), prepare)?;
    found.extend(forced);
    backup.undone()
}

/// The file that is meant: the id of a session stands for its file.
fn named(path: &Path) -> PathBuf {
    let word = path.to_str().filter(|word| pick::is_id(word) && !path.exists());
    let session = word.and_then(|word| pick::pick(word, &agents::find(&[]).entries).ok().cloned());
    session.map_or_else(|| path.to_owned(), |session| session.path)
}

/// The file as it is.
fn now(real: &Path, newest: Option<&Backup>) -> anyhow::Result<Snapshot> {
    match Snapshot::take(real) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let kept = newest.map(|backup| backup.content.display().to_string());
            bail!(
                Trouble::new("the file is gone")
                    .help(format!("what it held is in `{}`", kept.unwrap_or_default()))
            );
        }
        now => now.context("the file cannot be read"),
    }
}

/// The newest fix that shows in the file. One that does not was interrupted before it was made or
/// after it was undone: from now on it counts as undone.
fn newest(found: &mut Vec<Backup>, content: &Fingerprint) -> anyhow::Result<Option<Backup>> {
    while let Some(mut backup) = found.pop() {
        match backup.standing(content) {
            Standing::Made | Standing::Changed => return Ok(Some(backup)),
            Standing::Unmade => backup.undone()?,
            Standing::Undone => {}
        }
    }
    Ok(None)
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
    let line = |backup: &Backup| {
        let manifest = &backup.manifest;
        let state = match standing(backup) {
            Standing::Undone => "undone",
            Standing::Unmade => "unmade",
            Standing::Made | Standing::Changed => "fixed",
        };
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

/// What became of a fix. Only a file of the right size is read for that.
fn standing(backup: &Backup) -> Standing {
    let (path, before) = (Path::new(&backup.manifest.path), &backup.manifest.before);
    let alike = fs::metadata(path).is_ok_and(|now| now.len() == before.bytes);
    let now = alike.then(|| Fingerprint::of_file(path).ok()).flatten();
    match now {
        Some(now) => backup.standing(&now),
        None if backup.manifest.undone => Standing::Undone,
        None => Standing::Made,
    }
}
