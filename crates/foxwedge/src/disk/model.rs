//! All interleavings of a repair with other writers, over real files.
//!
//! Others append, write in place, replace by rename, remove, and append through a handle that they
//! opened before; they act between any two system calls of ours, and our process is ended at any of
//! them. What must hold: nothing that anybody wrote is lost unless another of them overwrote it, and
//! the file is always whole. Pairs of actions by default; `FOXWEDGE_MODEL=3` tries triples.

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
use crate::cli_output::help_of;

/// What somebody else does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WriterAction {
    Append,
    /// Opens the file to append; writes as a later action, or when everything else is done.
    OpenLate,
    WriteLate,
    WriteInPlace,
    Replace,
    Remove,
    /// Ends our process.
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

/// A file, everybody who writes it, and what must not be lost.
struct ModelWorld {
    path: PathBuf,
    number: usize,
    /// Handles that were opened and not written yet.
    late: Vec<File>,
    /// Lines that somebody wrote, and nobody overwrote.
    owed: BTreeSet<String>,
    /// Files that others overwrote: what is written there is their loss.
    dead: Vec<File>,
    /// Somebody removed the file.
    removed: bool,
    /// Somebody kept the file open. Then it has to stay the file, and what others appended meanwhile
    /// is added to it later: nothing is lost, but the order is not promised.
    kept_open: bool,
}

impl ModelWorld {
    fn line(&mut self, kind: &str) -> String {
        self.number += 1;
        format!("{kind}{}\n", self.number)
    }

    /// Others lose what they overwrite.
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

    /// The file is there, whole, and everything in it stands there once and in order.
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

/// One run: what was planned, and where.
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
        // Memory, where the system has it: thousands of files are written.
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

    /// Repairs the file while others act at their steps. Returns how many steps there were.
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

    /// Everything that was written and must not be lost is somewhere.
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

    /// Names of ours beside the file.
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

/// Runs one plan, and checks everything. Returns how many steps there were.
fn run(plan: &[(usize, WriterAction)], method: SwapMethod) -> usize {
    let what = format!("in {plan:?}, {method:?}");
    let trial = ModelTrial::new();
    let (result, steps) = trial.fix(plan, method);
    let killed = plan.iter().any(|(step, act)| *act == WriterAction::Kill && *step < steps);
    // What was planned for later happens later.
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
            assert!(help.contains(&*path.to_string_lossy()), "{path:?} is not told {what}");
        }
        if plan.iter().all(|(step, _)| *step >= steps) {
            assert!(result.is_ok(), "{result:?} {what}");
        }
    }
    trial.check(&beside, &what);
    // The next process finds what is ours, and leaves what is not.
    let path = trial.path();
    let strays = sweep_as_next(&path, &trial.backups);
    trial.check(&strays, &format!("after the sweep {what}"));
    assert_eq!(trial.beside().len(), strays.len(), "something is left {what}");
    if plan.iter().all(|(_, act)| *act == WriterAction::Kill) {
        assert_eq!(strays.len(), 0, "a repair that nobody disturbed left something {what}");
    }
    let (again, _) = trial.fix(&[], method);
    assert!(again.is_ok(), "{again:?} {what}");
    trial.check(&strays, &format!("after a second repair {what}"));
    steps
}

/// Tries all plans of some actions, one after the other, at all steps that there are.
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
fn lines_of_an_agent_that_never_stops_stay_in_order() {
    explore(&mut Vec::new(), 3, &[WriterAction::Append], SwapMethod::Exchange);
}

/// Without an exchange there is a moment in which a replacement by rename is not seen.
#[test]
fn nothing_is_lost_where_names_cannot_be_exchanged() {
    let acts = [
        WriterAction::Append,
        WriterAction::OpenLate,
        WriterAction::WriteInPlace,
        WriterAction::Kill,
    ];
    explore(&mut Vec::new(), depth(), &acts, SwapMethod::Link);
}

/// Where a file has one name only, whoever has the old file open goes on to write to it.
#[test]
fn nothing_is_lost_where_files_have_one_name() {
    let acts = [WriterAction::Append, WriterAction::WriteInPlace];
    explore(&mut Vec::new(), 1, &acts, SwapMethod::Copy);
}

#[test]
fn a_file_that_was_replaced_by_rename_was_overwritten() {
    for step in 0..run(&[], SwapMethod::Exchange) {
        let trial = ModelTrial::new();
        let (result, _) = trial.fix(&[(step, WriterAction::Replace)], SwapMethod::Exchange);
        let content = fs::read_to_string(trial.path()).unwrap();
        assert_eq!(content, "replaced1\n", "step {step}: {result:?}");
    }
}
