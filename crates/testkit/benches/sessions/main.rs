//! What reading session files costs, beside reading the file and skimming its lines with
//! `serde_json` in the same run.
//!
//! `cargo bench -p foxwedge-testkit --bench sessions` prints ratios; `-- quick` leaves out the largest size. Times are
//! the best of interleaved rounds.

mod data;

use std::{
    fs,
    hint::black_box,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use foxwedge_core::{CheckOptions, check};
use foxwedge_formats::outline_options;
use foxwedge_sessions::{self, SessionAgent};

const SIZES: [usize; 3] = [1 << 20, 10 << 20, 100 << 20];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, mode, what, agent, file] = arguments.as_slice()
        && mode == "--peak"
    {
        return peak(what, SessionAgent::parse(agent).expect("an agent"), Path::new(file));
    }
    let quick = arguments.iter().any(|argument| argument == "quick");
    println!(
        "milliseconds; ratios: higher is better for us; memory: peak above the process, by file size\n"
    );
    println!(
        "{:<13}{:>6} | {:>8}{:>8}{:>8}{:>8} | {:>12}{:>12} | {:>7}{:>7}",
        "agent",
        "MB",
        "yard",
        "check",
        "resume",
        "fix",
        "yard/check",
        "yard/resume",
        "check",
        "fix"
    );
    let folder = std::env::temp_dir().join(format!("foxwedge-bench-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder for the files");
    for agent in SessionAgent::ALL.into_iter().filter(|agent| agent.holds_compactions()) {
        for size in SIZES {
            if !(quick && size > 10 << 20) {
                row(&folder, agent, size);
            }
        }
    }
    all(&folder);
    let _ = fs::remove_dir_all(&folder);
}

/// Checks every session of a machine with the program itself, beside reading and skimming the
/// same files in this process.
fn all(folder: &Path) {
    const SESSIONS: usize = 2_000;
    const BYTES: usize = 50_000;
    let program = std::env::current_exe().ok().and_then(|exe| {
        let program = exe.parent()?.parent()?.join("foxwedge");
        program.is_file().then_some(program)
    });
    let Some(program) = program else {
        println!("\n`check --all` is left out: `cargo build --release` makes the program it needs");
        return;
    };
    let home = folder.join("home");
    let projects = home.join(".claude/projects");
    let mut files = Vec::with_capacity(SESSIONS);
    for number in 0..SESSIONS {
        let project = projects.join(format!("project-{}", number % 40));
        fs::create_dir_all(&project).expect("a folder");
        let file = project.join(format!("{number:08x}-1111-4111-8111-111111111111.jsonl"));
        fs::write(&file, data::file(SessionAgent::ClaudeCode, BYTES, number % 10 == 0))
            .expect("written");
        files.push(file);
    }
    let mut best = [Duration::MAX; 2];
    for _ in 0..5 {
        let start = Instant::now();
        files.iter().for_each(|file| yardstick(SessionAgent::ClaudeCode, file));
        best[0] = best[0].min(start.elapsed());
        let start = Instant::now();
        let run = Command::new(&program)
            .args(["check", "--all", "--statistics", "--exit-zero"])
            .env_clear()
            .env("HOME", &home)
            .output()
            .expect("the program runs");
        best[1] = best[1].min(start.elapsed());
        assert!(run.status.success(), "{run:?}");
    }
    let [yard, ours] = best.map(|time| time.as_secs_f64() * 1e3);
    println!(
        "\ncheck --all over {SESSIONS} sessions of {} kB: {ours:.0} ms; read and skim, one thread: \
         {yard:.0} ms; ratio {:.2}",
        BYTES / 1000,
        yard / ours
    );
}

fn row(folder: &Path, agent: SessionAgent, size: usize) {
    let (sound, broken) = (folder.join("sound"), folder.join("broken"));
    fs::write(&sound, data::file(agent, size, false)).expect("written");
    fs::write(&broken, data::file(agent, size, true)).expect("written");
    let (clean, open) = (findings(agent, &sound), findings(agent, &broken));
    assert!(clean == 0 && open > 0, "{}: {clean} and {open} findings", agent.name());
    let works: [&dyn Fn(); 4] = [
        &|| yardstick(agent, &sound),
        &|| assert_eq!(black_box(findings(agent, &sound)), 0),
        &|| assert!(black_box(resume(agent, &sound)) > 0),
        &|| assert!(black_box(fix(agent, &broken)) > 0),
    ];
    let mut best = [Duration::MAX; 4];
    for _ in 0..(200 << 20) / size.max(20 << 20) {
        for (work, best) in works.iter().zip(&mut best) {
            let start = Instant::now();
            work();
            *best = (*best).min(start.elapsed());
        }
    }
    let [yard, check, resume, fix] = best.map(|time| time.as_secs_f64() * 1e3);
    let used = |what: &str, file: &Path| {
        (measured(what, agent, file) - measured("nothing", agent, file)) * 1024.0 / size as f64
    };
    println!(
        "{:<13}{:>6} | {yard:>8.1}{check:>8.1}{resume:>8.1}{fix:>8.1} | {:>12.2}{:>12.2} | {:>6.2}x{:>6.2}x",
        agent.name(),
        size >> 20,
        yard / check,
        yard / resume,
        used("check", &sound),
        used("fix", &broken),
    );
}

/// Reads a file and skims its records: the fields that matter, borrowed, everything else skipped.
fn yardstick(agent: SessionAgent, file: &Path) {
    #[derive(serde::Deserialize)]
    struct Skim<'a> {
        #[serde(borrow, default)]
        uuid: Option<&'a str>,
        #[serde(borrow, default, rename = "parentUuid")]
        parent: Option<&'a str>,
        #[serde(borrow, default)]
        message: Option<&'a serde_json::value::RawValue>,
    }
    let bytes = fs::read(file).expect("the file");
    if agent == SessionAgent::Cline {
        let list: Vec<Skim<'_>> = serde_json::from_slice(&bytes).expect("JSON");
        black_box(&list);
        return;
    }
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let skim: Skim<'_> = serde_json::from_slice(line).expect("JSON");
        black_box((skim.uuid, skim.parent, skim.message.map(|message| message.get().len())));
    }
}

fn question(agent: SessionAgent) -> CheckOptions {
    let mut question = CheckOptions::for_profile(agent.profile());
    agent.restrict_rules(&mut question);
    question
}

fn findings(agent: SessionAgent, file: &Path) -> usize {
    let bytes = fs::read(file).expect("the file");
    let text = foxwedge_sessions::readable_text(&bytes).expect("text");
    let question = question(agent);
    let session =
        foxwedge_sessions::read(&text, agent, outline_options(question.profile)).expect("readable");
    check(session.draft(), &question).findings.len()
}

fn resume(agent: SessionAgent, file: &Path) -> usize {
    let bytes = fs::read(file).expect("the file");
    let text = foxwedge_sessions::readable_text(&bytes).expect("text");
    let question = question(agent);
    let session =
        foxwedge_sessions::read(&text, agent, outline_options(question.profile)).expect("readable");
    assert!(check(session.draft(), &question).is_clean(), "a sound file");
    session.history().len()
}

fn fix(agent: SessionAgent, file: &Path) -> usize {
    let bytes = fs::read(file).expect("the file");
    let text = foxwedge_sessions::readable_text(&bytes).expect("text");
    let question = question(agent);
    let session =
        foxwedge_sessions::read(&text, agent, outline_options(question.profile)).expect("readable");
    let (rewritten, repair) = session.fix(&question);
    rewritten.write_to(&mut std::io::sink()).expect("sink");
    repair.edits.len()
}

/// The peak of a process that does one thing, in kilobytes.
fn measured(what: &str, agent: SessionAgent, file: &Path) -> f64 {
    let exe = std::env::current_exe().expect("own path");
    let run = Command::new(exe).args(["--peak", what, agent.name()]).arg(file).output();
    run.ok()
        .and_then(|out| String::from_utf8(out.stdout).ok()?.trim().parse().ok())
        .unwrap_or(f64::NAN)
}

fn peak(what: &str, agent: SessionAgent, file: &Path) {
    match what {
        "check" => assert_eq!(black_box(findings(agent, file)), 0),
        "fix" => assert!(black_box(fix(agent, file)) > 0),
        _ => {}
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    println!("{}", peak.unwrap_or("").trim().trim_end_matches(" kB"));
}
