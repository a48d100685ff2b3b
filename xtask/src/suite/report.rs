//! `suite/REPORT.md`: how the engines of others answer, at exact versions.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use foxwedge_suite::REVISION;
use serde_json::Value;

use crate::{Outcome, ci, workspace::root};

/// One line of `suite/adapters/engines.tsv`.
struct EngineEntry {
    name: String,
    runtime: String,
    adapter: String,
    packages: String,
}

/// Runs every engine of the list and writes the report. Engines are installed by `suite/adapters/install.sh FOLDER`.
pub(super) fn write(arguments: &[&str]) -> Outcome {
    let (folder, binary) = match arguments {
        [folder] => (folder, ci::binary()?),
        [folder, "--foxwedge", binary] => (folder, PathBuf::from(binary)),
        _ => return Err("usage: cargo xtask suite report FOLDER [--foxwedge BINARY]".to_owned()),
    };
    let folder = fs::canonicalize(folder).map_err(|error| format!("{folder}: {error}"))?;
    let mut results = Vec::new();
    for engine in engines()? {
        let result = run(&binary, &folder, &engine)?;
        println!("{}: {} of {} passed", engine.name, result["passed"], count(&result));
        results.push((engine, result));
    }
    let path = root().join("suite/report.svg");
    fs::write(&path, plot(&results)).map_err(|error| format!("{}: {error}", path.display()))?;
    let path = root().join("suite/REPORT.md");
    fs::write(&path, report(&results)).map_err(|error| format!("{}: {error}", path.display()))
}

fn engines() -> Result<Vec<EngineEntry>, String> {
    let path = root().join("suite/adapters/engines.tsv");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| match line.split('\t').collect::<Vec<_>>().as_slice() {
            [name, runtime, adapter, packages] => Ok(EngineEntry {
                name: (*name).to_owned(),
                runtime: (*runtime).to_owned(),
                adapter: (*adapter).to_owned(),
                packages: (*packages).to_owned(),
            }),
            _ => Err(format!("engines.tsv: `{line}`")),
        })
        .collect()
}

fn run(binary: &Path, folder: &Path, engine: &EngineEntry) -> Result<Value, String> {
    let own = folder.join(&engine.name);
    let adapter = root().join("suite/adapters").join(&engine.adapter);
    let command = match engine.runtime.as_str() {
        "python" => format!("'{}' '{}'", own.join("bin/python").display(), adapter.display()),
        _ => format!("node '{}' '{}'", adapter.display(), own.display()),
    };
    let output = Command::new(binary)
        .args(["suite", "run", "--output-format", "json", "--timeout", "120", "--engine", &command])
        .arg("--vectors")
        .arg(root().join("suite/vectors"))
        .output()
        .map_err(|error| error.to_string())?;
    serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("{}: {}", engine.name, String::from_utf8_lossy(&output.stderr)))
}

fn count(result: &Value) -> u64 {
    result["passed"].as_u64().unwrap_or(0) + result["failed"].as_u64().unwrap_or(0)
}

fn report(results: &[(EngineEntry, Value)]) -> String {
    let mut text = format!(
        "# Report on engines, suite {REVISION}\n\n\
         <!-- Made by `cargo xtask suite report`; do not edit. -->\n\n\
         How published packages answer the questions of the [suite](SPEC.md). It is a description of versions, not a\n\
         ranking: most of these functions were written for one provider and one kind of defect, and are asked here about\n\
         that only. A failure is a question for its maintainers, not a verdict; corrections of an adapter are welcome.\n\n\
         ## Method\n\n\
         Each engine is installed from its registry at the version below, into a folder of its own. An adapter of about\n\
         thirty lines in [`adapters/`](adapters/) passes each question to the documented or internal function that the\n\
         package itself uses for this purpose, and returns what it returns. It skips what the engine was not made for:\n\
         other formats, other tracks, content that the adapter cannot carry over. Skipped questions are not counted.\n\
         No provider was asked anything, and no engine used the network. Claude Code and Codex are programs: they resume\n\
         a session that holds the history, and what they send to a server in the adapter is their answer. The last two\n\
         rows are the packages of this repository.\n\n\
         ![Share of questions passed, by engine](report.svg)\n\n\
         To reproduce: `suite/adapters/install.sh FOLDER`, then `cargo xtask suite report FOLDER`.\n\n\
         ## Results\n\n\
         | engine | versions | asked | passed | failed | skipped | laws broken |\n|---|---|---|---|---|---|---|\n"
    );
    for (engine, result) in results {
        let laws = laws(result);
        let laws: Vec<String> = laws.iter().map(|(law, count)| format!("{law} {count}")).collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} |",
            engine.name,
            engine.packages.replace(' ', ", "),
            count(result),
            result["passed"],
            result["failed"],
            result["skipped"],
            if laws.is_empty() { "none".to_owned() } else { laws.join(", ") }
        );
    }
    text.push_str(
        "\n## By track\n\n| engine | track | level | passed | failed |\n|---|---|---|---|---|\n",
    );
    for (engine, result) in results {
        let mut rows: BTreeMap<(String, String), (u32, u32)> = BTreeMap::new();
        for question in questions(result) {
            let key = (string(&question["track"]), string(&question["level"]));
            let row = rows.entry(key).or_default();
            match question["outcome"].as_str() {
                Some("passed") => row.0 += 1,
                Some("failed") => row.1 += 1,
                _ => {}
            }
        }
        for ((track, level), (passed, failed)) in rows.into_iter().filter(|(_, row)| *row != (0, 0))
        {
            let _ = writeln!(text, "| {} | {track} | {level} | {passed} | {failed} |", engine.name);
        }
    }
    text.push_str(
        "\n## Every failure\n\nBy law; a vector with several broken laws is listed under each.\n",
    );
    for (engine, result) in results.iter().filter(|(_, result)| result["failed"] != 0) {
        let _ = write!(text, "\n### {}\n\n", engine.name);
        let mut by_law: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
        for question in questions(result) {
            let mut laws: Vec<String> =
                broken(question).iter().map(|it| string(&it["law"])).collect();
            laws.dedup();
            for law in laws {
                let key = (
                    format!("{} {}", string(&question["track"]), string(&question["profile"])),
                    law,
                );
                let ids = by_law.entry(key).or_default();
                let id = string(&question["id"]);
                if ids.last() != Some(&id) {
                    ids.push(id);
                }
            }
        }
        for ((what, law), ids) in by_law {
            let _ = writeln!(text, "- {what}, `{law}`: {}", ids.join(" "));
        }
    }
    text.push_str(LIMITS);
    text
}

/// A bar for each engine: passed and failed among the questions it answered, and how many these are.
fn plot(results: &[(EngineEntry, Value)]) -> String {
    const ROW: u64 = 22;
    const WIDTH: u64 = 400;
    let height = results.len() as u64 * ROW + 10;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"760\" height=\"{height}\" role=\"img\" \
         aria-label=\"Share of questions passed, by engine\" font-family=\"Verdana,sans-serif\" font-size=\"12\">\n\
         <rect width=\"760\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    for (at, (engine, result)) in results.iter().enumerate() {
        let (passed, asked) = (result["passed"].as_u64().unwrap_or(0), count(result));
        let (y, text) = (at as u64 * ROW + 5, at as u64 * ROW + 19);
        let width = (passed * WIDTH).checked_div(asked).unwrap_or(0);
        let _ = writeln!(
            svg,
            "<text x=\"170\" y=\"{text}\" text-anchor=\"end\">{}</text>\
             <rect x=\"180\" y=\"{y}\" width=\"{WIDTH}\" height=\"18\" fill=\"#e6a15c\"/>\
             <rect x=\"180\" y=\"{y}\" width=\"{width}\" height=\"18\" fill=\"#2e7d32\"/>\
             <text x=\"590\" y=\"{text}\">{passed} of {asked}</text>",
            engine.name
        );
    }
    svg.push_str("</svg>\n");
    svg
}

const LIMITS: &str = "\n## Limits\n\n\
    - An output counts as valid if Foxwedge finds nothing in it that a provider is known to refuse. No live API was\n  \
      asked. A verdict that rests on an error text in a public report may be out of date.\n\
    - Vectors come from the cases of Foxwedge's own rules, so they show what its authors thought of. Foxwedge passes all of\n  \
      them, also because laws were relaxed where its repair could not keep them; that says that the suite is consistent,\n  \
      not that Foxwedge is right. Judge and vectors were corrected after the first runs of these engines, where a\n  \
      package showed that they were wrong.\n\
    - Verdicts for `ai-sdk`, and many for `mistral`, rest on runs of the AI SDK and mistral-common. Where a package disagreed\n  \
      with the rules, the verdict became `acceptable`. The scores of these two check the verdicts, not the packages.\n\
    - An agent runs as a whole, and its adapter takes out what the agent adds: its prompt, reminders and instructions. What\n  \
      the agent does to a history for other reasons, such as joining messages, is judged as well.\n\
    - Some functions are internal to their package and run there after other steps. What those steps catch is not seen here.\n\
    - A validator that looks at pairing only fails questions about ids or roles. The table by track and level shows it.\n\
    - `untouched` compares content, not bytes.\n";

fn laws(result: &Value) -> BTreeMap<String, u32> {
    let mut laws = BTreeMap::new();
    for question in questions(result) {
        let mut names: Vec<String> = broken(question).iter().map(|it| string(&it["law"])).collect();
        names.sort();
        names.dedup();
        for name in names {
            *laws.entry(name).or_default() += 1;
        }
    }
    laws
}

fn questions(result: &Value) -> &[Value] {
    result["questions"].as_array().map_or(&[], Vec::as_slice)
}

fn broken(question: &Value) -> &[Value] {
    question["broken"].as_array().map_or(&[], Vec::as_slice)
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
