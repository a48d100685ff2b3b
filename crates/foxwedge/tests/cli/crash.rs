//! Killed at any moment, a repair leaves the old file or the new one, and the old one can be had
//! back.
//!
//! 25 kills here; `FOXWEDGE_KILLS=300` makes it a campaign. They gather around the moment in which
//! the file changes, wherever that lies on this machine.

#![cfg(unix)]

use std::{
    fs,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{
    sandbox::{Sandbox, names},
    sessions_files::{Script, killed},
};

const NAME: &str = "s.jsonl";

/// A file in its two states, and a process that leads from one to the other.
struct Trial {
    sandbox: Sandbox,
    old: Vec<u8>,
    new: Vec<u8>,
    /// Chance, the same every time.
    seed: u64,
    /// Kills that hit a process at work.
    hits: usize,
}

/// How long the file is: writing it should take a while.
const WORDS: usize = 1000;

impl Trial {
    fn new() -> Trial {
        let text = (0..WORDS).fold(Script::new(), |script, _| script.user("some words to keep"));
        let old = [text.text(), killed().text()].concat().into_bytes();
        let sandbox = Sandbox::with(NAME, &old);
        let ran = sandbox.run(&["fix", NAME]);
        assert_eq!(ran.code, 0, "{}", ran.all());
        let new = fs::read(sandbox.path(NAME)).unwrap();
        assert_eq!(sandbox.run(&["undo", NAME]).code, 0);
        assert_eq!(fs::read(sandbox.path(NAME)).unwrap(), old);
        Trial { sandbox, old, new, seed: 0x5eed, hits: 0 }
    }

    fn content(&self) -> Vec<u8> {
        fs::read(self.sandbox.path(NAME)).unwrap()
    }

    /// How long a process takes that nobody kills.
    fn span(&self, start: &impl Fn(&Sandbox) -> Command) -> Duration {
        let begin = Instant::now();
        spawn(start(&self.sandbox)).wait().unwrap();
        begin.elapsed()
    }

    /// Starts a process, and kills it around some moment of its life. If that came too late the
    /// moment moves forward, else it moves back. Returns whether the file was changed.
    fn kill(&mut self, command: Command, moment: &mut Duration) -> bool {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        let part = u32::try_from(500 + self.seed % 1000).unwrap();
        let before = self.content();
        let mut child = spawn(command);
        thread::sleep(*moment * part / 1000);
        self.hits += usize::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        let changed = self.content() != before;
        *moment = *moment * if changed { 9 } else { 11 } / 10;
        changed
    }

    /// What is wrong after a kill, if anything is.
    fn damage(&self) -> Option<String> {
        let content = self.content();
        if content != self.old && content != self.new {
            return Some(format!("{} bytes are neither the old nor the new ones", content.len()));
        }
        let fixed = content == self.new;
        let ran = self.sandbox.run(&["undo", NAME]);
        let clear = match fixed {
            true => ran.code == 0,
            false => {
                let words = ["nothing to undo", "no fix of this file can be undone"];
                ran.code == 2 && words.iter().any(|words| ran.err.contains(words))
            }
        };
        if !clear || self.content() != self.old {
            return Some(format!("fixed: {fixed}; undo said {}", ran.all()));
        }
        None
    }
}

fn spawn(mut command: Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn kills() -> usize {
    std::env::var("FOXWEDGE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(25)
}

#[test]
fn a_killed_fix_or_undo_leaves_the_old_file_or_the_new_one() {
    let mut trial = Trial::new();
    let fix = |sandbox: &Sandbox| sandbox.command(&["fix", NAME]);
    let undo = |sandbox: &Sandbox| sandbox.command(&["undo", NAME]);
    let mut moments = (trial.span(&fix), trial.span(&undo));
    let (mut done, mut undone) = (0, 0);
    for number in 0..kills() {
        if number % 3 < 2 {
            done += usize::from(trial.kill(fix(&trial.sandbox), &mut moments.0));
        } else {
            assert_eq!(trial.sandbox.run(&["fix", NAME]).code, 0, "kill {number}");
            undone += usize::from(trial.kill(undo(&trial.sandbox), &mut moments.1));
        }
        assert_eq!(trial.damage(), None, "kill {number}");
    }
    assert!(trial.hits > 0, "no kill came in time");
    println!("{} kills hit; {done} fixes and {undone} undos were done", trial.hits);
    // Whatever the dead left behind is gone after the next run, and only fixes have backups.
    let sandbox = &trial.sandbox;
    assert_eq!(sandbox.run(&["fix", NAME]).code, 0);
    assert_eq!(trial.content(), trial.new);
    assert_eq!(sandbox.names(), [NAME]);
    let backups = names(&sandbox.backups());
    let ending = |end: &str| backups.iter().filter(|name| name.ends_with(end)).count();
    assert_eq!(
        (ending(".bak"), ending(".bak") + ending(".json")),
        (ending(".json"), backups.len())
    );
    assert_eq!(sandbox.run(&["undo", NAME]).code, 0);
    assert_eq!(trial.content(), trial.old);
    assert_eq!(sandbox.run(&["undo", NAME]).code, 2);
}

/// A writer as it should not be: it empties the file and fills it again.
#[test]
fn a_careless_writer_would_be_noticed() {
    let mut trial = Trial::new();
    trial.sandbox.write("new", &trial.new);
    let careless = |sandbox: &Sandbox| {
        let mut command = Command::new("sh");
        let slowly = format!("head -c 50000 new >{NAME}; sleep 0.05; tail -c +50001 new >>{NAME}");
        command.args(["-c", &slowly]).current_dir(sandbox.path(""));
        command
    };
    let mut moment = trial.span(&careless);
    let damaged = (0..20).any(|_| {
        trial.sandbox.write(NAME, &trial.old);
        trial.kill(careless(&trial.sandbox), &mut moment);
        trial.damage().is_some()
    });
    assert!(damaged);
}
