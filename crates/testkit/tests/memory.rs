//! What findings cost in memory: nothing that is wrong with a document may take more than a small
//! multiple of its bytes, however often it is wrong.
//!
//! Every case runs in a process of its own, whose peak the system knows. Bodies have a few
//! megabytes here; `FOXWEDGE_MEMORY_MB=30 cargo test --release -p foxwedge-testkit --test memory --
//! --nocapture` tries thirty, and prints the table of `crates/bench/RESULTS.md`.
#![cfg(target_os = "linux")]

#[path = "memory/rule_times.rs"]
mod rule_times;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use foxwedge_core::{Format, Profile, rules};
use foxwedge_testkit::hostile::{
    HostileFormat, HostileOutcome, multiplied, multiplied_bare, shapes,
};

/// A check and a repair may take so many times the document.
const TIMES: usize = 3;
/// The first findings and edits of each rule are kept in full, whatever the document's size.
const BESIDE: usize = 12 << 20;
/// Small documents list all of their findings, of whatever rules.
const LISTED: usize = 20_000;
const LISTED_EACH: usize = 400;
/// Where messages are as small as they can be, what counts is how many there are: an outline of each,
/// and in a repair what becomes of it. So many bytes for each thing that a hostile request or file
/// repeats, in a check and in a repair.
const REQUEST_EACH: [usize; 2] = [200, 1_000];
const FILE_EACH: [usize; 2] = [600, 3_000];

/// From this size on, a document of nothing but the case of a rule takes what [`rule_times`] says.
/// Below it, findings and edits that are listed weigh more, and are counted for themselves.
const RULE_SIZE: usize = 16 << 20;
/// What an allocator takes beside it.
const RULE_BESIDE: usize = 3 << 20;

/// In the process that is measured: what to do.
const CASE: &str = "FOXWEDGE_MEMORY_CASE";

fn megabytes() -> usize {
    std::env::var("FOXWEDGE_MEMORY_MB").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// A document made of one broken case of a rule, or of one hostile shape.
struct Case {
    name: String,
    /// How many small things it is made of; none if it is made of real messages.
    many: usize,
    format: HostileFormat,
    bytes: Vec<u8>,
}

impl Case {
    /// Tenths of its size that a check and a repair of it may take.
    fn tenths(&self) -> [usize; 2] {
        let bare = self.name.strip_suffix(NOTHING_ELSE);
        bare.map_or([10 * TIMES; 2], rule_times::tenths)
    }
}

/// How the name of a case ends that has no text in between.
const NOTHING_ELSE: &str = ", nothing else";

/// The broken cases of the rules in one format, each as often as it takes: with text in between, as
/// in real conversations, and with nothing in between.
fn of_rules(wire: Format, wanted: Option<&str>) -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/tests/cases");
    let mut cases = Vec::new();
    for rule in rules::ALL.iter().filter(|rule| rule.code < 700) {
        let folder = root.join(rule.name.replace('-', "_"));
        let Some((path, profile)) = broken(&folder, wire) else { continue };
        let name = format!("{} {}", rule.label(), wire.name());
        let bare = format!("{name}{NOTHING_ELSE}");
        let is_wanted = |name: &String| wanted.is_none_or(|wanted| wanted == name);
        if !is_wanted(&name) && !is_wanted(&bare) {
            continue;
        }
        let document = fs::read_to_string(&path).expect("a case can be read");
        let size = if wanted.is_some() { megabytes() << 20 } else { 1 };
        let format = HostileFormat::Request(wire, profile);
        if is_wanted(&name)
            && let Some(text) = multiplied(&document, wire, size)
        {
            cases.push(Case { name, many: 0, format, bytes: text.into_bytes() });
        }
        if is_wanted(&bare)
            && let Some((text, many)) = multiplied_bare(&document, wire, size)
        {
            cases.push(Case { name: bare, many, format, bytes: text.into_bytes() });
        }
    }
    cases
}

/// The first broken case of a rule in a format, and whose rules it breaks.
fn broken(folder: &Path, wire: Format) -> Option<(PathBuf, Profile)> {
    let entries = fs::read_dir(folder).ok()?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths.into_iter().find_map(|path| {
        let name = path.file_name()?.to_str()?.strip_suffix(".json")?.to_owned();
        let mut parts = name.strip_prefix("broken_")?.split('.').skip(1);
        let format = parts.next().and_then(Format::parse)?;
        let profile = parts.next().map_or(Some(Profile::for_format(wire)), Profile::parse)?;
        (format == wire).then_some((path, profile))
    })
}

/// The hostile shapes, as large as is wanted.
fn of_shapes(files: bool, wanted: Option<&str>) -> Vec<Case> {
    let of_kind = |format: &HostileFormat| match format {
        HostileFormat::Request(..) => !files,
        HostileFormat::Session(_) => files,
    };
    let shapes = shapes().into_iter().filter(|shape| of_kind(&shape.format));
    let shapes = shapes.filter(|shape| wanted.is_none_or(|wanted| wanted == shape.name));
    let mut cases = Vec::new();
    for shape in shapes {
        let one = (shape.make)(64).len() / 64;
        let many = if wanted.is_some() { (megabytes() << 20) / one.max(1) } else { 1 };
        let bytes = (shape.make)(many.max(1));
        cases.push(Case { name: shape.name.to_owned(), many, format: shape.format, bytes });
    }
    cases
}

fn cases(group: &str, wanted: Option<&str>) -> Vec<Case> {
    match group {
        "requests" => of_shapes(false, wanted),
        "files" => of_shapes(true, wanted),
        wire => of_rules(Format::parse(wire).expect("a group is a format"), wanted),
    }
}

/// Does one case and says what it took. Other tests are not in this process.
#[test]
fn measured() {
    let Ok(case) = std::env::var(CASE) else { return };
    let mut words = case.splitn(3, '|');
    let (group, job) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let case = cases(group, words.next()).into_iter().next().expect("the case is there");
    // The document is made; from here on the peak is measured.
    fs::write("/proc/self/clear_refs", "5").expect("the peak can be set back");
    let before = status("VmRSS").saturating_sub(case.bytes.len());
    let started = computed();
    let outcome = match job {
        "check" => case.format.check(&case.bytes),
        _ => case.format.fix(&case.bytes),
    };
    let peak = status("VmHWM").saturating_sub(before);
    let HostileOutcome { findings, edits, left, .. } = outcome.expect("it can be read");
    let Case { bytes, many, .. } = case;
    println!("\nmeasured {} {many} {peak} {findings} {edits} {left}", bytes.len());
    println!("computed for {} ms", (computed() - started) / 1_000_000);
}

/// Nanoseconds that this thread has computed so far. Told, and never judged.
fn computed() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0)
}

/// A figure of this process, in bytes.
fn status(field: &str) -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("there is a status");
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
    kilobytes.map_or(0, |kilobytes: usize| kilobytes << 10)
}

/// Tries all cases of a group.
fn try_all(group: &str) {
    let mut broken = Vec::new();
    for case in cases(group, None) {
        for (at, job) in ["check", "fix"].into_iter().enumerate() {
            let [bytes, many, peak, findings, edits, left] = measure(group, job, &case.name);
            let line = format!(
                "{:<58} {job:<5} {findings:>8} findings {edits:>8} edits {:>6.2} times",
                case.name,
                peak as f64 / bytes as f64
            );
            println!("{line}");
            let told = findings.min(LISTED) * LISTED_EACH;
            let most = match group {
                "requests" => bytes * TIMES + many * REQUEST_EACH[at] + told + BESIDE,
                "files" => bytes * TIMES + many * FILE_EACH[at] + told + BESIDE,
                _ => bytes / 10 * case.tenths()[at] + listed(bytes, findings + edits) + RULE_BESIDE,
            };
            if peak > most || job == "fix" && left > 0 {
                broken.push(format!("{line}, {peak} bytes for {bytes}, {left} left"));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// What findings and edits of a small document take that are all listed.
fn listed(bytes: usize, many: usize) -> usize {
    if bytes < RULE_SIZE { many * LISTED_EACH } else { 0 }
}

fn measure(group: &str, job: &str, name: &str) -> [usize; 6] {
    let child = Command::new(std::env::current_exe().expect("this program has a name"))
        .args(["--exact", "measured", "--nocapture"])
        .env(CASE, format!("{group}|{job}|{name}"))
        .output()
        .expect("a process can be started");
    let said = String::from_utf8_lossy(&child.stdout).into_owned();
    let line = said.lines().find_map(|line| line.strip_prefix("measured "));
    let line = line.unwrap_or_else(|| {
        panic!("{name}: nothing was measured\n{said}{}", String::from_utf8_lossy(&child.stderr))
    });
    let mut figures = line.split(' ').map(|figure| figure.parse().expect("a number"));
    std::array::from_fn(|_| figures.next().expect("six numbers"))
}

#[test]
fn findings_of_every_rule_take_little_memory_in_openai_chat() {
    try_all("openai-chat");
}

#[test]
fn findings_of_every_rule_take_little_memory_in_openai_responses() {
    try_all("openai-responses");
}

#[test]
fn findings_of_every_rule_take_little_memory_in_anthropic() {
    try_all("anthropic");
}

#[test]
fn findings_of_every_rule_take_little_memory_in_gemini() {
    try_all("gemini");
}

#[test]
fn findings_of_every_rule_take_little_memory_in_bedrock() {
    try_all("bedrock");
}

#[test]
fn hostile_requests_take_little_memory() {
    try_all("requests");
}

#[test]
fn hostile_session_files_take_little_memory() {
    try_all("files");
}
