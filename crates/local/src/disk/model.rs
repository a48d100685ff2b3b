//! Tests all interleavings of a repair with other writers, on real files.
//!
//! Other writers append, write in place, replace by rename, remove, and append through a handle
//! that they opened earlier. They act between any two of our system calls, and our process is
//! killed at any of them. Two invariants must hold: no write is lost unless another writer
//! overwrote it, and the file is always complete. Tests use pairs of actions; `FOXWEDGE_MODEL=3`
//! tries triples.

use std::{
    cell::RefCell,
    collections::BTreeSet,
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    rc::Rc,
    sync::atomic::{AtomicUsize, Ordering},
};

use super::{
    backup::BackupFolder,
    ops::{
        SwapMethod,
        faults::{self, FaultPlan},
    },
    replace::replace,
    snapshot::{FileSnapshot, is_same},
    temporary_file::tests::sweep_as_next,
};
use crate::output::help_of;

/// An action of another writer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WriterAction {
    Append,
    /// Opens the file to append. A later action writes, or the end of the test.
    OpenLate,
    WriteLate,
    WriteInPlace,
    Replace,
    Remove,
    /// Kills our process.
    Kill,
}

const OTHERS: [WriterAction; 6] = [
    WriterAction::Append,
    WriterAction::OpenLate,
    WriterAction::WriteLate,
    WriterAction::WriteInPlace,
    WriterAction::Replace,
    WriterAction::Remove,
];

/// A file, its writers, and the lines that must not be lost.
struct ModelWorld {
    path: PathBuf,
    number: usize,
    /// Handles that are open and not written yet.
    late: Vec<File>,
    /// Lines that were written and not overwritten by another writer.
    owed: BTreeSet<String>,
    /// Files that other writers overwrote. Lines written to them may be lost.
    dead: Vec<File>,
    /// A writer removed the file.
    removed: bool,
    /// A writer kept the file open. Then the file must stay, and lines that others appended
    /// meanwhile are added to it later: nothing is lost, but the order is not guaranteed.
    kept_open: bool,
}

impl ModelWorld {
    fn line(&mut self, kind: &str) -> String {
        self.number += 1;
        format!("{kind}{}\n", self.number)
    }

    /// Overwritten lines may be lost.
    fn overwritten(&mut self) {
        let Ok(file) = File::open(&self.path) else { return };
        for line in fs::read_to_string(&self.path).unwrap().lines() {
            self.owed.remove(line);
        }
        self.dead.push(file);
    }

    fn write(&mut self, mut file: File, line: &str) {
        let metadata = file.metadata().unwrap();
        let is_dead = |dead: &File| is_same(&dead.metadata().unwrap(), &metadata);
        if !self.dead.iter().any(is_dead) {
            self.owed.insert(line.trim_end().to_owned());
        }
        file.write_all(line.as_bytes()).unwrap();
    }

    fn act(&mut self, act: WriterAction) -> io::Result<()> {
        let append =
            |create: bool, path: &Path| OpenOptions::new().append(true).create(create).open(path);
        match act {
            WriterAction::Append => {
                let line = self.line("append");
                self.write(append(true, &self.path)?, &line);
                self.removed = false;
            }
            WriterAction::OpenLate => {
                self.kept_open = true;
                self.late.extend(append(false, &self.path).ok());
            }
            WriterAction::WriteLate => {
                let line = self.line("late");
                if let Some(file) = self.late.pop() {
                    self.write(file, &line);
                }
            }
            WriterAction::WriteInPlace => {
                let line = self.line("written");
                if let Ok(file) = OpenOptions::new().write(true).open(&self.path) {
                    self.overwritten();
                    self.dead.pop();
                    file.set_len(0)?;
                    self.write(file, &line);
                }
            }
            WriterAction::Replace => {
                let line = self.line("replaced");
                let beside = self.path.with_extension("theirs");
                self.write(File::create(&beside)?, &line);
                self.overwritten();
                fs::rename(beside, &self.path)?;
                self.removed = false;
            }
            WriterAction::Remove => {
                self.overwritten();
                let _ = fs::remove_file(&self.path);
                self.removed = true;
            }
            WriterAction::Kill => return Err(io::Error::other("killed")),
        }
        Ok(())
    }

    fn writes(&self, file: &Metadata) -> bool {
        self.late.iter().any(|late| is_same(&late.metadata().unwrap(), file))
    }

    /// The file exists and is complete, and has every line once and in order.
    fn check_file(&self, what: &str) {
        let Ok(content) = fs::read_to_string(&self.path) else {
            assert!(self.removed, "the file is gone {what}");
            return;
        };
        let lines: Vec<&str> = content.lines().collect();
        let kinds = ["old", "new", "append", "late", "written", "replaced"];
        let is_whole = |line: &&str| kinds.iter().any(|kind| line.starts_with(kind));
        assert!(content.ends_with('\n') || content.is_empty(), "{content:?} {what}");
        assert!(lines.iter().all(is_whole), "{content:?} {what}");
        let appended: Vec<usize> =
            lines.iter().filter_map(|line| line.strip_prefix("append")?.parse().ok()).collect();
        let in_order = appended.is_sorted_by(|one, two| one < two);
        assert!(in_order || self.kept_open, "{content:?} {what}");
        let mut once = lines.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), lines.len(), "{content:?} {what}");
    }
}

/// One test run in its own folder.
struct ModelTrial {
    folder: PathBuf,
    world: Rc<RefCell<ModelWorld>>,
    backups: BackupFolder,
}

static NUMBER: AtomicUsize = AtomicUsize::new(0);

impl ModelTrial {
    fn new() -> ModelTrial {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("foxwedge-model-{}-{number}", std::process::id());
        // In memory if possible: the test writes thousands of files.
        let memory = Path::new("/dev/shm");
        let root = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let folder = root.join(name);
        fs::create_dir_all(folder.join("work")).unwrap();
        let folder = fs::canonicalize(folder).unwrap();
        let path = folder.join("work/s.jsonl");
        fs::write(&path, "old\n").unwrap();
        let world = ModelWorld {
            path,
            number: 0,
            late: Vec::new(),
            owed: BTreeSet::from(["old".to_owned()]),
            dead: Vec::new(),
            removed: false,
            kept_open: false,
        };
        let backups = BackupFolder::at(folder.join("backups"));
        ModelTrial { folder, world: Rc::new(RefCell::new(world)), backups }
    }

    fn path(&self) -> PathBuf {
        self.world.borrow().path.clone()
    }

    /// Repairs the file while other writers act at their steps. Also returns the number of steps.
    fn fix(
        &self,
        plan: &[(usize, WriterAction)],
        method: SwapMethod,
    ) -> (anyhow::Result<()>, usize) {
        let Ok(snapshot) = FileSnapshot::take(&self.path()) else { return (Ok(()), 0) };
        let (acting, writing, plan) = (self.world.clone(), self.world.clone(), plan.to_vec());
        let act = move |step: usize| {
            let mut world = acting.borrow_mut();
            world.check_file(&format!("before step {step} of {plan:?}"));
            plan.iter().filter(|(at, _)| *at == step).try_for_each(|(_, act)| world.act(*act))
        };
        let writer = move |file: &Metadata| writing.borrow().writes(file).then_some(1);
        let faults = FaultPlan {
            act: Box::new(act),
            writer: Box::new(writer),
            method,
            steps: 0,
            killed: false,
        };
        faults::with(faults, || {
            let write = |out: &mut dyn Write| out.write_all(b"new\n");
            replace(&snapshot, write, |_, after| {
                self.backups.save_copy(&snapshot.path, &snapshot.content, after).map(Some)
            })
            .map(drop)
        })
    }

    /// Every line that must not be lost is in the file, a backup or a named file.
    fn check(&self, named: &[PathBuf], what: &str) {
        let world = self.world.borrow();
        world.check_file(what);
        let copies = self.backups.list().unwrap().into_iter().map(|backup| backup.content);
        let mut found = String::new();
        for file in copies.chain(named.iter().cloned()).chain([world.path.clone()]) {
            found.push_str(&fs::read_to_string(file).unwrap_or_default());
        }
        for owed in &world.owed {
            assert!(found.lines().any(|line| line == owed), "`{owed}` is lost {what}");
        }
    }

    /// Our own files next to the file.
    fn beside(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.folder.join("work")).unwrap().flatten();
        let ours = |path: &PathBuf| path.to_string_lossy().contains(".foxwedge-");
        entries.map(|entry| entry.path()).filter(ours).collect()
    }
}

impl Drop for ModelTrial {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Runs one plan and checks the invariants. Returns the number of steps.
fn run(plan: &[(usize, WriterAction)], method: SwapMethod) -> usize {
    let what = format!("in {plan:?}, {method:?}");
    let trial = ModelTrial::new();
    let (result, steps) = trial.fix(plan, method);
    let killed = plan.iter().any(|(step, act)| *act == WriterAction::Kill && *step < steps);
    // Actions that were planned for later steps happen now.
    {
        let mut world = trial.world.borrow_mut();
        for (_, act) in
            plan.iter().filter(|(step, act)| *step >= steps && *act != WriterAction::Kill)
        {
            world.act(*act).unwrap();
        }
        while !world.late.is_empty() {
            world.act(WriterAction::WriteLate).unwrap();
        }
    }
    let beside = trial.beside();
    if !killed {
        let help = result.as_ref().err().and_then(help_of).unwrap_or_default();
        for path in &beside {
            assert!(help.contains(&*path.to_string_lossy()), "{path:?} is not reported {what}");
        }
        if plan.iter().all(|(step, _)| *step >= steps) {
            assert!(result.is_ok(), "{result:?} {what}");
        }
    }
    trial.check(&beside, &what);
    // The next process removes our files and keeps all others.
    let path = trial.path();
    let strays = sweep_as_next(&path, &trial.backups);
    trial.check(&strays, &format!("after the sweep {what}"));
    assert_eq!(trial.beside().len(), strays.len(), "something is left {what}");
    if plan.iter().all(|(_, act)| *act == WriterAction::Kill) {
        assert_eq!(strays.len(), 0, "an undisturbed repair left a file {what}");
    }
    let (again, _) = trial.fix(&[], method);
    assert!(again.is_ok(), "{again:?} {what}");
    trial.check(&strays, &format!("after a second repair {what}"));
    steps
}

/// Tries all plans of `depth` actions, at all steps.
fn explore(
    plan: &mut Vec<(usize, WriterAction)>,
    depth: usize,
    acts: &[WriterAction],
    method: SwapMethod,
) {
    let first = plan.last().map_or(0, |(step, _)| *step);
    for &act in acts {
        for step in first.. {
            plan.push((step, act));
            let steps = run(plan, method);
            if depth > 1 && act != WriterAction::Kill {
                explore(plan, depth - 1, acts, method);
            }
            plan.pop();
            if step >= steps {
                break;
            }
        }
    }
}

fn depth() -> usize {
    std::env::var("FOXWEDGE_MODEL").ok().and_then(|text| text.parse().ok()).unwrap_or(2)
}

#[test]
fn nothing_that_others_write_while_a_file_is_replaced_is_lost() {
    let acts = [&OTHERS[..], &[WriterAction::Kill]].concat();
    explore(&mut Vec::new(), depth(), &acts, SwapMethod::Exchange);
}

#[test]
fn continuous_appends_stay_in_order() {
    explore(&mut Vec::new(), 3, &[WriterAction::Append], SwapMethod::Exchange);
}

/// Without an exchange there is a moment in which a replacement by rename goes unnoticed.
#[test]
fn nothing_is_lost_without_atomic_exchange() {
    let acts = [
        WriterAction::Append,
        WriterAction::OpenLate,
        WriterAction::WriteInPlace,
        WriterAction::Kill,
    ];
    explore(&mut Vec::new(), depth(), &acts, SwapMethod::Link);
}

/// Without hard links, a writer that has the old file open continues to write to it.
#[test]
fn nothing_is_lost_without_hard_links() {
    let acts = [WriterAction::Append, WriterAction::WriteInPlace];
    explore(&mut Vec::new(), 1, &acts, SwapMethod::Copy);
}

#[test]
fn a_concurrent_replacement_by_rename_is_kept() {
    for step in 0..run(&[], SwapMethod::Exchange) {
        let trial = ModelTrial::new();
        let (result, _) = trial.fix(&[(step, WriterAction::Replace)], SwapMethod::Exchange);
        let content = fs::read_to_string(trial.path()).unwrap();
        assert_eq!(content, "replaced1\n", "step {step}: {result:?}");
    }
}
