//! `foxwedge check --watch`: checks again whenever a target changes, until Ctrl-C.

use std::{
    collections::HashMap,
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    thread,
    time::{Duration, SystemTime},
};

use anyhow::Context;

use super::CheckJob;
use crate::{
    cli::CheckArgs,
    deliver::write_outcomes,
    pool,
    target::{self, CheckTarget, TargetKind},
};
use foxwedge_local::{
    database::{self, SessionPath},
    language::localize,
    outcome::TargetOutcome,
    output::{DIM, HelpfulError, is_closed_pipe, paint, pluralize},
};

/// How often the targets are looked at. A change counts once a file stays the same this long: its
/// writer may not be done.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Moves to the start of the screen and erases it, with what was scrolled out of it.
const CLEAR_SCREEN: &str = "\x1b[H\x1b[2J\x1b[3J";

/// Checks every target, and then each one that changes or appears. On a terminal, every report
/// replaces the one before it; in a pipe, only what changed is reported.
pub(super) fn watch(args: &CheckArgs, job: &CheckJob) -> anyhow::Result<ExitCode> {
    let on_terminal = io::stdout().is_terminal();
    // Only the first look prints notes about folders that cannot be read.
    let quiet_args = CheckArgs { quiet: true, ..args.clone() };
    let mut targets = target::expand_targets(args)?;
    if targets.iter().any(|target| matches!(target.kind, TargetKind::Stdin)) {
        return Err(HelpfulError::new("--watch cannot read stdin")
            .help("name files, folders or sessions; `--last` watches the newest session")
            .into());
    }
    let mut stamps = StampTable::default();
    let mut known: HashMap<String, TargetOutcome> = HashMap::new();
    let mut changed: Vec<CheckTarget> = targets.clone();
    changed.iter().for_each(|target| stamps.set_checked(target));
    loop {
        if !changed.is_empty() {
            let outcomes =
                pool::map(&changed, !args.quiet && on_terminal, |target| job.check_target(target));
            let header = header(changed.len(), targets.len());
            let reported = if on_terminal {
                known.extend(outcomes.into_iter().map(|outcome| (outcome.path.clone(), outcome)));
                known.retain(|path, _| targets.iter().any(|it| it.display_name == *path));
                take_in_order(&mut known, &targets)
            } else {
                outcomes
            };
            let start = if on_terminal { CLEAR_SCREEN } else { "" };
            match write_header(&format!("{start}{header}")) {
                Err(error) if is_closed_pipe(&error) => return Ok(ExitCode::SUCCESS),
                result => result.context("stdout cannot be written")?,
            }
            write_outcomes(args, &job.settings, job.mode, &reported)?;
            if on_terminal {
                known.extend(reported.into_iter().map(|outcome| (outcome.path.clone(), outcome)));
            }
        }
        thread::sleep(POLL_INTERVAL);
        // The newest session, or those of an agent, may be gone for a moment.
        if let Ok(found) = target::expand_targets(&quiet_args) {
            targets = found;
        }
        changed = targets.iter().filter(|target| stamps.has_changed(target)).cloned().collect();
    }
}

/// When the check ran, and what is watched.
fn header(checked: usize, watched: usize) -> String {
    let time = jiff::Zoned::now().strftime("%H:%M:%S");
    let (checked, watched) = (pluralize(checked, "file"), pluralize(watched, "file"));
    let text = localize(format!("[{time}] checked {checked}, watching {watched} (Ctrl-C ends)"));
    format!("{}\n", paint(DIM, text))
}

/// Writes to stdout at once. Unlike for reports, a closed pipe is an error.
fn write_header(text: &str) -> io::Result<()> {
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

fn take_in_order(
    known: &mut HashMap<String, TargetOutcome>,
    targets: &[CheckTarget],
) -> Vec<TargetOutcome> {
    targets.iter().filter_map(|target| known.remove(&target.display_name)).collect()
}

/// The states of targets: when they were checked, and when they were looked at last.
#[derive(Default)]
struct StampTable {
    checked: HashMap<String, TargetStamp>,
    seen: HashMap<String, TargetStamp>,
}

/// What changes with a target.
#[derive(Clone, PartialEq, Eq, Debug)]
enum TargetStamp {
    /// Time and size of a file, and of the log of a database.
    File([Option<(SystemTime, u64)>; 2]),
    /// Why it cannot be read.
    Unreadable(String),
}

impl StampTable {
    fn set_checked(&mut self, target: &CheckTarget) {
        let stamp = stamp(target);
        self.checked.insert(target.display_name.clone(), stamp.clone());
        self.seen.insert(target.display_name.clone(), stamp);
    }

    /// Whether a target differs from what was checked and stays as it is. Then it counts as checked.
    fn has_changed(&mut self, target: &CheckTarget) -> bool {
        let stamp = stamp(target);
        let name = &target.display_name;
        let before = self.seen.insert(name.clone(), stamp.clone());
        let has_changed = before.as_ref() == Some(&stamp) && self.checked.get(name) != Some(&stamp);
        if has_changed {
            self.checked.insert(name.clone(), stamp);
        }
        has_changed
    }
}

fn stamp(target: &CheckTarget) -> TargetStamp {
    match &target.kind {
        TargetKind::Stdin => TargetStamp::File([None, None]),
        TargetKind::Unreadable(failure) => TargetStamp::Unreadable(failure.message.clone()),
        TargetKind::Named(path) | TargetKind::FromFolder(path) => {
            let log = SessionPath::parse(path).map(|session| log_of(&session.database));
            TargetStamp::File([file_stamp(path), log.as_deref().and_then(file_stamp)])
        }
    }
}

fn file_stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let metadata = database::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

/// The file that a database appends changes to.
fn log_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_change_counts_once_and_only_when_the_file_is_complete() {
        let folder = std::env::temp_dir().join(format!("foxwedge-check-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("a.json");
        let target = CheckTarget {
            display_name: "a.json".to_owned(),
            name: None,
            agent: None,
            kind: TargetKind::Named(path.clone()),
        };
        let mut stamps = StampTable::default();
        fs::write(&path, "one").expect("a file");
        stamps.set_checked(&target);
        assert!(!stamps.has_changed(&target));
        fs::write(&path, "two two").expect("a file");
        assert!(!stamps.has_changed(&target), "it may still be written");
        fs::write(&path, "three three three").expect("a file");
        assert!(!stamps.has_changed(&target), "it was");
        assert!(stamps.has_changed(&target));
        assert!(!stamps.has_changed(&target), "it was checked");
        fs::remove_dir_all(&folder).expect("a folder");
    }
}
