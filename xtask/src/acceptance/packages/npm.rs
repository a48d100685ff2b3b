//! The npm package: built, tested, packed, installed; in its hosts; and compared with the engine in
//! Node, in Deno and Bun, and in a browser.

mod launcher;
mod runtimes;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{FOLDER, first_example, run_program};
use crate::{
    acceptance::{
        SuiteError,
        console::find_browser,
        install::{Language, MissingSoftware, PackageFolder, copy_files},
    },
    workspace,
};

const TARGET: &str = "wasm32-unknown-unknown";
/// The packages of platforms are optional, and not published while they are tried.
const INSTALL: [&str; 5] = ["install", "--offline", "--silent", "--no-audit", "--no-fund"];
const TESTS: [&str; 5] = [
    "--test",
    "test/package.test.mjs",
    "test/follow.test.mjs",
    "test/examples.test.mjs",
    "test/pack.test.mjs",
];

/// `tables`: the cases of documents, and those of agents that are followed.
pub(super) fn run(tables: &[&Path; 2]) -> Result<(), SuiteError> {
    install_target()?;
    let package = workspace::root().join("bindings/npm");
    run_program("node", &["build.mjs"], &package)?;
    run_program("node", &TESTS, &package)?;
    let folder = workspace::root().join(FOLDER).join("npm");
    let complain = |error: std::io::Error| format!("{}: {error}", folder.display());
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(complain)?;
    let packed = pack(&package, &folder)?;
    let installed = try_packed(&packed, &package, &folder)?;
    println!("npm package: built, tested, installed, and its first example run");
    launcher::run(&packed, &folder)?;
    compare(&package, tables)?;
    try_hosts(&installed)
}

/// Compares the package with the tables of cases.
fn compare(package: &Path, tables: &[&Path; 2]) -> Result<(), SuiteError> {
    let [documents, followed] = tables.map(|table| table.display().to_string());
    let script = ["test/run-cases.mjs", &documents, &followed];
    let printed = run_program("node", &script, package)?;
    println!("npm package: {}", printed.trim());
    runtimes::run(&script, package)?;
    let browser = find_browser()?.display().to_string();
    let [script, documents, followed] = script;
    let printed = run_program("node", &[script, documents, followed, &browser], package)?;
    println!("npm package: in a browser, {}", printed.trim());
    Ok(())
}

/// Installs the hosts, puts the package beside them, checks its types, and tries each host.
fn try_hosts(installed: &Path) -> Result<(), SuiteError> {
    let hosts = PackageFolder::install(Language::TypeScript, "acceptance/npm", "npm")?;
    let beside = hosts.path.join("node_modules/foxwedge");
    let _ = fs::remove_dir_all(&beside);
    copy_files(installed, &beside, &|_| true)
        .map_err(|error| format!("{}: {error}", beside.display()))?;
    let mut check = vec!["node_modules/typescript/bin/tsc", "--noEmit", "--strict"];
    check.extend(["--module", "nodenext", "--lib", "es2022,dom", "types.mts"]);
    fs::write(hosts.path.join("types.mts"), TYPES).map_err(|error| error.to_string())?;
    run_program("node", &check, &hosts.path)?;
    run_program("node", &["--test", "hosts.mjs", "readme.test.mjs"], &hosts.path)?;
    let names = [
        "ai",
        "openai",
        "@anthropic-ai/sdk",
        "@openai/agents",
        "@langchain/core",
        "@mastra/core",
        "@opencode-ai/plugin",
    ];
    println!("npm package: repairs for {}", names.map(|name| hosts.label(name)).join(", "));
    Ok(())
}

/// A program in TypeScript that uses every entry of the package.
const TYPES: &str = r#"
import { check, compact, convert, fix, load, loadAll, loadCheck, sessions, StreamConverter } from "foxwedge";
import { repairMessages, repairMiddleware } from "foxwedge/ai-sdk";
import { repairingFetch } from "foxwedge/fetch";
import { AgentFollower, loadFollow, type DesktopEvent, type RunEvent } from "foxwedge/follow";
import { repairMessages as repairChain } from "foxwedge/langchain";
import { repairProcessor } from "foxwedge/mastra";
import { repairInput, repairSession } from "foxwedge/openai-agents";
import { FoxwedgeRepair } from "foxwedge/opencode";
import type { Plugin } from "@opencode-ai/plugin";

const plugin: Plugin = FoxwedgeRepair;
interface Message { role: string; content: string }
const list: Message[] = [{ role: "user", content: "go" }];
const fixed: Message[] = fix(list, { unanswered: "drop-turn" }).messages;
const text: string = fix("[]").document;
const valid: boolean = check(list).valid;
const tokens: number = compact(list, { maxTokens: 9 }).tokensAfter;
const rest: Uint8Array = new StreamConverter({ from: "openai-chat", to: "gemini" }).finish().rest;
const same: Message[] = repairMessages(repairChain(list));
const send: typeof fetch = repairingFetch({ onRepair: (report) => report.edits.length });
const session: { id: string } = repairSession({ id: "s" });
const events: RunEvent[] = new AgentFollower().message({ type: "system" });
const agent = new AgentFollower({ words: "agent", clock: Date.now });
const words: DesktopEvent[] = agent.decision({ toolUseID: "c", behavior: "deny" });
const outcomes = words.flatMap((event) => (event.type === "agent:complete" ? [event.reason] : []));
// @ts-expect-error
agent.decision({ toolUseID: "c" });
// @ts-expect-error
fix(list, { unanswered: "forget" });
// @ts-expect-error
convert(list, {});
void [events, outcomes, loadFollow, plugin];
void [fixed, text, valid, tokens, rest, same, send, session, load, loadAll, loadCheck, sessions, repairMiddleware, repairInput, repairProcessor];
"#;

/// Makes sure that the compiler can build WebAssembly.
fn install_target() -> Result<(), SuiteError> {
    let missing = || MissingSoftware(format!("`rustup target add {TARGET}` does not work here"));
    let output = Command::new("rustup").args(["target", "list", "--installed"]).output();
    let installed = output.map_err(|_| missing())?.stdout;
    if String::from_utf8_lossy(&installed).lines().any(|line| line == TARGET) {
        return Ok(());
    }
    let status = Command::new("rustup").args(["target", "add", TARGET]).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        _ => Err(missing().into()),
    }
}

/// The archive that would be published.
fn pack(package: &Path, folder: &Path) -> Result<PathBuf, SuiteError> {
    let destination = folder.display().to_string();
    run_program("npm", &["pack", "--silent", "--pack-destination", &destination], package)?;
    let mut entries = fs::read_dir(folder).map_err(|error| error.to_string())?.flatten();
    let archive = entries.find(|entry| entry.path().extension().is_some_and(|end| end == "tgz"));
    let archive = archive.ok_or_else(|| "npm packed nothing".to_owned())?;
    Ok(archive.path())
}

/// Installs the archive into an empty folder, and runs the first example of the README there. Where
/// the package was installed.
fn try_packed(archive: &Path, package: &Path, folder: &Path) -> Result<PathBuf, SuiteError> {
    let program = folder.join("program");
    let complain = |error: std::io::Error| format!("{}: {error}", program.display());
    fs::create_dir_all(&program).map_err(complain)?;
    fs::write(program.join("package.json"), "{\"type\":\"module\"}\n").map_err(complain)?;
    let archive = archive.display().to_string();
    run_program("npm", &[&INSTALL[..], &[&archive]].concat(), &program)?;
    let readme = fs::read_to_string(package.join("README.md")).map_err(complain)?;
    let (example, expected) = first_example(&readme, "js", "//")?;
    fs::write(program.join("example.js"), example).map_err(complain)?;
    let printed = run_program("node", &["example.js"], &program)?;
    match printed.trim() == expected {
        true => Ok(program.join("node_modules/foxwedge")),
        false => Err(format!("the example prints {printed:?}, not {expected:?}").into()),
    }
}
