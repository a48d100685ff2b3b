//! `cargo xtask bench list`: how soon `foxwedge list` shows its first line, when it is done, and what memory it
//! takes, over many session files of several agents and a large database of opencode.

mod home;

use std::{
    io::{self, Read as _},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::{relays::status_number, released};
use crate::{Outcome, acceptance::process::TemporaryFolder, options::TaskOptions};

/// What one run of the program took.
#[derive(Clone, Copy)]
struct ListRun {
    first_line: Duration,
    whole: Duration,
    peak_kilobytes: u64,
}

pub(super) fn run(arguments: &[&str]) -> Outcome {
    let known =
        ["--sessions N", "--megabytes N", "--rounds R", "--foxwedge BINARY", "--keep FOLDER"];
    let options = TaskOptions::read(arguments, &known)?;
    let (sessions, rounds) = (options.number("--sessions")?, options.number("--rounds")?);
    let (sessions, rounds) = (sessions.unwrap_or(2_000), rounds.unwrap_or(5_u32));
    let megabytes: usize = options.number("--megabytes")?.unwrap_or(1_000);
    let program = released(&options)?;
    let mut home = TemporaryFolder::new("list", &[])?;
    if let Some(path) = options.path("--keep") {
        home = TemporaryFolder { path, is_kept: true };
    }
    if !home.path.join(".local").exists() {
        home::write(&home.path, sessions, megabytes).map_err(|error| error.to_string())?;
    }
    println!(
        "{sessions} session files, and a database of {megabytes} MB; warm, best of {rounds}\n"
    );
    println!("| command | first line | whole | peak memory |\n|---|---|---|---|");
    for arguments in
        [&["list"][..], &["list", "--output-format", "json"], &["list", "--limit", "20"]]
    {
        measure(&program, &home.path, arguments)?;
        let runs = (0..rounds.max(1)).map(|_| measure(&program, &home.path, arguments));
        let runs = runs.collect::<Result<Vec<ListRun>, String>>()?;
        let best = |time: fn(&ListRun) -> Duration| runs.iter().map(time).min().unwrap_or_default();
        println!(
            "| `foxwedge {}` | {} ms | {} ms | {} MB |",
            arguments.join(" "),
            best(|run| run.first_line).as_millis(),
            best(|run| run.whole).as_millis(),
            runs.iter().map(|run| run.peak_kilobytes).max().unwrap_or(0) / 1_000
        );
    }
    Ok(())
}

/// Runs the program, and looks at its memory every millisecond.
fn measure(program: &Path, home: &Path, arguments: &[&str]) -> Result<ListRun, String> {
    let mut command = Command::new(program);
    command.args(arguments).env_clear().env("HOME", home).current_dir(home);
    let started = Instant::now();
    let complain = |error: io::Error| format!("{}: {error}", program.display());
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(complain)?;
    let mut output = child.stdout.take().ok_or("no output")?;
    let reader = thread::spawn(move || -> io::Result<Duration> {
        output.read_exact(&mut [0])?;
        let first_line = started.elapsed();
        io::copy(&mut output, &mut io::sink())?;
        Ok(first_line)
    });
    let mut peak_kilobytes = 0;
    let status = loop {
        peak_kilobytes = status_number(child.id(), "VmHWM:").unwrap_or(0).max(peak_kilobytes);
        if let Some(status) = child.try_wait().map_err(complain)? {
            break status;
        }
        thread::sleep(Duration::from_millis(1));
    };
    let whole = started.elapsed();
    let first_line = reader.join().map_err(|_| "the reader panicked")?.map_err(complain)?;
    match status.success() {
        true => Ok(ListRun { first_line, whole, peak_kilobytes }),
        false => Err(format!("{} ends with {status}", program.display())),
    }
}
