//! `cargo xtask lists`: the AI SDK judges message lists that foxwedge repaired or wrote.
//!
//! The cases of the rules and generated lists are given to the SDK as they are and as
//! `foxwedge fix` leaves them, and the conversion fixtures as `foxwedge convert` writes them. The SDK validates them, converts them
//! and sends them to a model that accepts everything. It must accept every list that was repaired
//! or converted, and refuse a good part of the broken ones.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use foxwedge_testkit::{AiSdkList, Random, damage_list, message_list};
use serde_json::{Value, json};

use super::{
    SuiteError, binary,
    install::{Language, PackageFolder},
    script::{ScriptJob, run_jobs},
    verdict::VerdictTable,
};
use crate::{options::TaskOptions, workspace};

/// The scripts and the pinned list; `cargo xtask uis` uses the same packages.
const SCRIPTS: &str = "acceptance/ui";

/// The versions that judge.
const PACKAGES: [&str; 2] = ["ai", "ai-6"];
/// The version that judges lists in its own spelling, which newer ones refuse.
const OLD_PACKAGE: &str = "ai-4";

/// How many generated lists of each kind are judged by default.
const RANDOM: u64 = 100;

/// The kinds of lists.
const KINDS: [&str; 2] = ["ai-sdk-ui", "ai-sdk-model"];

/// Judges everything, prints the verdict, and fails if a good list was refused.
pub(super) fn run(options: &TaskOptions) -> Result<(), SuiteError> {
    let packages = PackageFolder::install(Language::TypeScript, SCRIPTS, "uis")?;
    let binary = binary(options)?;
    let mut jobs = repaired_cases(&binary)?;
    jobs.extend(converted_fixtures(&binary)?);
    let random = options.number("--random")?.unwrap_or(RANDOM);
    jobs.extend(damaged_lists(&binary, random)?);
    let mut table = VerdictTable::new(["list", "SDK"], ["good", "accepted", "broken", "refused"]);
    let results = run_jobs("node", packages.script("lists"), &jobs)?;
    for (job, result) in jobs.iter().zip(&results) {
        let [good, accepted, broken, refused] = table
            .row((job.kind, job.package), || [job.kind.to_owned(), packages.label(job.package)]);
        let (all, right) = if job.is_good { (good, accepted) } else { (broken, refused) };
        let is_refused = result["refused"].is_string();
        *all += 1;
        *right += usize::from(is_refused != job.is_good);
        if job.is_good && is_refused {
            table.fail(&job.label(), &result["refused"].to_string());
        }
    }
    for kind in KINDS {
        for package in PACKAGES {
            let [.., refused] = *table.row((kind, package), || [kind.to_owned(), String::new()]);
            if refused < 3 {
                table.fail(&format!("{kind} by {package}"), "it refuses too few broken lists");
            }
        }
    }
    Ok(table.print()?)
}

/// One list for one version of the SDK.
struct ListJob {
    name: String,
    kind: &'static str,
    package: &'static str,
    list: Value,
    /// It was repaired or converted.
    is_good: bool,
}

impl ScriptJob for ListJob {
    fn line(&self) -> Value {
        // A list with an open approval is sent only after the user decided.
        let messages = self.list.as_array().into_iter().flatten();
        let mut messages = messages.rev().skip_while(|message| message["role"] == "tool");
        let reply = messages.next().filter(|message| message["role"] == "assistant");
        let waits = reply.is_some_and(|reply| reply.to_string().contains("\"approval"));
        json!({"package": self.package, "kind": self.kind, "list": self.list, "waits": waits})
    }

    fn label(&self) -> String {
        format!("{} by {}", self.name, self.package)
    }
}

/// The jobs of a list. Version 6 does not know all parts of version 7.
fn jobs(name: &str, kind: &'static str, list: &Value, is_good: bool) -> Vec<ListJob> {
    let list = list.get("messages").unwrap_or(list);
    let job =
        |package| ListJob { name: name.to_owned(), kind, package, list: list.clone(), is_good };
    let is_new = name.contains("version_7");
    if name.contains("version_4") {
        return vec![job(OLD_PACKAGE)];
    }
    PACKAGES.into_iter().filter(|package| !is_new || *package == "ai").map(job).collect()
}

/// The cases of the rules, as they are and repaired. A list with a part of an unknown type stays as
/// it is, and the SDK refuses it; a torn list is not JSON.
fn repaired_cases(binary: &Path) -> Result<Vec<ListJob>, String> {
    let mut all = Vec::new();
    for path in files(&workspace::root().join("crates/core/tests/cases"))? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let kind = KINDS.into_iter().find(|kind| name.ends_with(&format!(".{kind}.jsonl")));
        let skipped = ["unknown_block", "torn_line"];
        let is_skipped =
            path.parent().is_some_and(|it| skipped.iter().any(|name| it.ends_with(name)));
        let Some(kind) = kind.filter(|_| !is_skipped) else { continue };
        let text = fs::read_to_string(&path).map_err(|error| format!("{name}: {error}"))?;
        if name.starts_with("broken_") {
            all.extend(jobs(&name, kind, &parse(&text)?, false));
        }
        let fixed = filter(binary, &["fix", "-"], &text)?;
        all.extend(jobs(&name, kind, &parse(&fixed)?, true));
    }
    Ok(all)
}

/// The requests among the conversion fixtures, as lists of both kinds.
fn converted_fixtures(binary: &Path) -> Result<Vec<ListJob>, String> {
    let mut all = Vec::new();
    for path in files(&workspace::root().join("fixtures/conversion/requests"))? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.ends_with(".json") {
            continue;
        }
        let text = fs::read_to_string(&path).map_err(|error| format!("{name}: {error}"))?;
        for kind in KINDS {
            let list = filter(binary, &["convert", "--to", kind, "--quiet", "-"], &text)?;
            all.extend(jobs(&name, kind, &parse(&list)?, true));
        }
    }
    Ok(all)
}

/// Generated lists, damaged and then repaired.
fn damaged_lists(binary: &Path, count: u64) -> Result<Vec<ListJob>, String> {
    let mut all = Vec::new();
    for seed in 1..=count {
        for (kind, list) in [("ai-sdk-ui", AiSdkList::Ui), ("ai-sdk-model", AiSdkList::Model)] {
            let mut random = Random::new(seed);
            let mut list = message_list(&mut random, list);
            damage_list(&mut random, &mut list);
            if list.is_empty() {
                continue;
            }
            let name = format!("list {seed}");
            let text = Value::Array(list).to_string();
            let fixed = filter(binary, &["fix", "--format", kind, "-"], &text)?;
            if fixed != text {
                all.extend(jobs(&name, kind, &parse(&text)?, false));
            }
            all.extend(jobs(&name, kind, &parse(&fixed)?, true));
        }
    }
    Ok(all)
}

/// All files below a folder, in order.
fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let complain = |error| format!("{}: {error}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(complain)? {
        let path = entry.map_err(complain)?.path();
        if path.is_dir() { files.extend(self::files(&path)?) } else { files.push(path) }
    }
    files.sort();
    Ok(files)
}

fn parse(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("{error}: {text}"))
}

/// What a command of the binary prints for an input.
fn filter(binary: &Path, arguments: &[&str], input: &str) -> Result<String, String> {
    let complain = |error| format!("{}: {error}", binary.display());
    let mut command = Command::new(binary);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(complain)?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes()).map_err(complain)?;
    }
    let output = child.wait_with_output().map_err(complain)?;
    match output.status.code() {
        Some(0 | 1) => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        _ => Err(format!("{arguments:?}: {}", String::from_utf8_lossy(&output.stderr))),
    }
}
