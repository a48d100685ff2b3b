//! `cargo xtask drift`: what the newest packages of agents and SDKs have that we do not know.
//!
//! The newest package of each agent and SDK is downloaded into a temporary folder and searched for the
//! names of record kinds, columns, migrations, item types and event types. A name is known if it is a
//! column of a store that we write, or if somebody looked at it: `acceptance/drift.json` lists those.
//! Everything else is printed with the place to look at. Then the agents are tried as by `cargo xtask
//! agents`.

mod packages;
mod registry;
mod scan;

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use foxwedge_sessions::STORE_TABLES;

use super::{SuiteError, process::TemporaryFolder};
use crate::{options::TaskOptions, workspace};
use packages::{PACKAGES, WatchedPackage};

pub(super) const OPTIONS: &[&str] =
    &["--write", "--only NAME…", "--no-trials", "--keep FOLDER", "--foxwedge BINARY"];

/// The names that somebody looked at, in the workspace.
const REVIEWED: &str = "acceptance/drift.json";

/// The names of one package.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct PackageNames {
    version: String,
    /// By what they name: `record kind`, `event type` …
    names: BTreeMap<String, BTreeSet<String>>,
}

/// Downloads, compares and tries the packages.
pub(super) fn run(options: &TaskOptions) -> Result<(), SuiteError> {
    let only = options.values("--only");
    let is_wanted = |package: &&WatchedPackage| only.is_empty() || only.contains(&package.name);
    if let Some(unknown) = only.iter().find(|name| PACKAGES.iter().all(|it| it.name != **name)) {
        let known: Vec<&str> = PACKAGES.iter().map(|package| package.name).collect();
        return Err(format!("unknown package `{unknown}`; known: {}", known.join(", ")).into());
    }
    let mut scratch = TemporaryFolder::new("drift", &[])?;
    if let Some(keep) = options.path("--keep") {
        fs::create_dir_all(&keep).map_err(|error| format!("{}: {error}", keep.display()))?;
        scratch = TemporaryFolder { path: keep, is_kept: true };
    }
    let path = workspace::root().join(REVIEWED);
    let mut reviewed = read_reviewed(&path)?;
    let (mut news, mut trials) = (Vec::new(), Vec::new());
    for package in PACKAGES.iter().filter(is_wanted) {
        let folder = scratch.path.join(package.name);
        let version = registry::download(package, &folder)?;
        let names = scan::scan(package, &folder)?;
        eprintln!(
            "{} {version}: {} names",
            package.name,
            names.values().map(BTreeSet::len).sum::<usize>()
        );
        let found = PackageNames { version, names };
        let known = reviewed.entry(package.name.to_owned()).or_default();
        news.extend(news_of(package, known, &found));
        if options.has("--write") {
            *known = without_known_columns(package, found);
        }
        trials.extend(package.trial.map(|(option, program)| (option, folder.join(program))));
    }
    news.iter().for_each(|line| println!("{line}"));
    if options.has("--write") {
        write_reviewed(&path, &reviewed)?;
        println!("{REVIEWED} is written: read its diff before you commit it");
        news.clear();
    }
    let tried = match options.has("--no-trials") {
        true => Ok(()),
        false => resume_trials(options, &trials, &scratch.path),
    };
    match (news.len(), tried) {
        (0, Ok(())) => Ok(()),
        (0, Err(error)) => Err(error.into()),
        (count, tried) => {
            let tried = tried.err().map_or(String::new(), |error| format!("; {error}"));
            Err(format!("{count} news; each line names the file to look at{tried}").into())
        }
    }
}

/// What is new in a package: one line for each name, with the place to look at.
fn news_of(package: &WatchedPackage, known: &PackageNames, found: &PackageNames) -> Vec<String> {
    let mut news = Vec::new();
    for watch in package.watches {
        let names = found.names.get(watch.what);
        // A pattern that matches nothing any more would never report anything.
        if names.is_none_or(BTreeSet::is_empty) {
            news.push(format!(
                "{} {}: no {} was found; correct its pattern in xtask/src/acceptance/drift/packages.rs",
                package.name, found.version, watch.what
            ));
            continue;
        }
        let reviewed = known.names.get(watch.what);
        for name in names.into_iter().flatten() {
            let is_reviewed = reviewed.is_some_and(|reviewed| reviewed.contains(name));
            if !is_reviewed && !is_known_column(watch.store, name) {
                news.push(format!(
                    "{} {}: new {} `{name}` (since {}): see {}",
                    package.name,
                    found.version,
                    watch.what,
                    if known.version.is_empty() { "the first look" } else { &known.version },
                    package.reader
                ));
            }
        }
    }
    news.sort();
    news.dedup();
    news
}

/// The names that our own tables do not hold.
fn without_known_columns(package: &WatchedPackage, mut found: PackageNames) -> PackageNames {
    for watch in package.watches.iter().filter(|watch| watch.store.is_some()) {
        if let Some(names) = found.names.get_mut(watch.what) {
            names.retain(|name| !is_known_column(watch.store, name));
        }
    }
    found.names.retain(|_, names| !names.is_empty());
    found
}

/// Whether a name is a column, `table.column`, that a repair of this store knows.
fn is_known_column(store: Option<&str>, name: &str) -> bool {
    let Some((table, column)) = name.split_once('.') else { return false };
    let stores = STORE_TABLES.iter().filter(|tables| Some(tables.agent.name()) == store);
    let mut tables = stores.flat_map(|store| store.messages).filter(|it| it.name == table);
    tables.any(|table| table.knows(column))
}

/// Kills, damages, repairs and resumes the agents that were downloaded. A process of its own gets the
/// Node that newer agents need.
fn resume_trials(
    options: &TaskOptions,
    trials: &[(&str, PathBuf)],
    scratch: &Path,
) -> Result<(), String> {
    if trials.is_empty() {
        return Ok(());
    }
    let node = registry::newest_node(&scratch.join("node"))?;
    let path = env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(node).chain(env::split_paths(&path));
    let path = env::join_paths(paths).map_err(|error| format!("PATH: {error}"))?;
    let program = env::current_exe().map_err(|error| format!("xtask: {error}"))?;
    let mut command = Command::new(program);
    command.arg("agents").env("PATH", path);
    for (option, program) in trials {
        command.arg(option).arg(program);
    }
    if let Some(binary) = options.value("--foxwedge") {
        command.args(["--foxwedge", binary]);
    }
    let status = command.status().map_err(|error| format!("the resume trials: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err("resume trials failed".to_owned()),
    }
}

fn read_reviewed(path: &Path) -> Result<BTreeMap<String, PackageNames>, String> {
    let complain = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = fs::read_to_string(path).map_err(|error| complain(&error))?;
    let document: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| complain(&error))?;
    let mut reviewed: BTreeMap<String, PackageNames> = BTreeMap::new();
    for (package, lists) in document.as_object().into_iter().flatten() {
        let known = reviewed.entry(package.clone()).or_default();
        for (what, value) in lists.as_object().into_iter().flatten() {
            match value {
                serde_json::Value::String(version) => known.version.clone_from(version),
                list => {
                    let names = list.as_array().into_iter().flatten();
                    let names = names.filter_map(|name| name.as_str().map(str::to_owned));
                    known.names.insert(what.clone(), names.collect());
                }
            }
        }
    }
    Ok(reviewed)
}

fn write_reviewed(path: &Path, reviewed: &BTreeMap<String, PackageNames>) -> Result<(), String> {
    let packages = reviewed.iter().map(|(name, known)| {
        let mut lists = serde_json::Map::new();
        lists.insert("checked".to_owned(), known.version.clone().into());
        for (what, names) in &known.names {
            lists.insert(what.clone(), names.iter().cloned().collect());
        }
        (name.clone(), serde_json::Value::Object(lists))
    });
    let document = serde_json::Value::Object(packages.collect());
    fs::write(path, format!("{document:#}\n"))
        .map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::{packages::NameWatch, registry::PackageSource, *};

    const WATCHES: &[NameWatch] = &[
        NameWatch { what: "column", pattern: "x", store: Some("goose") },
        NameWatch { what: "record kind", pattern: "x", store: None },
    ];

    const PACKAGE: WatchedPackage = WatchedPackage {
        name: "goose",
        source: PackageSource::Npm("goose"),
        describe: None,
        files: &[],
        watches: WATCHES,
        reader: "crates/sessions/src/goose.rs",
        trial: None,
    };

    fn names(version: &str, columns: &[&str], kinds: &[&str]) -> PackageNames {
        let set = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect();
        let names = [("column", columns), ("record kind", kinds)];
        let names = names.into_iter().map(|(what, list)| (what.to_owned(), set(list))).collect();
        PackageNames { version: version.to_owned(), names }
    }

    #[test]
    fn names_are_new_unless_reviewed_or_columns_of_a_store_that_is_written() {
        let known = names("1.0", &["messages.hidden"], &["text"]);
        let columns = ["messages.role", "messages.hidden", "messages.color"];
        let found = names("1.1", &columns, &["text", "video"]);
        let expected = [
            "goose 1.1: new column `messages.color` (since 1.0): see crates/sessions/src/goose.rs",
            "goose 1.1: new record kind `video` (since 1.0): see crates/sessions/src/goose.rs",
        ];
        assert_eq!(news_of(&PACKAGE, &known, &found), expected);
    }

    #[test]
    fn a_pattern_that_matches_nothing_is_reported() {
        let known = names("1.0", &[], &["text"]);
        let found = names("1.1", &["messages.role"], &[]);
        let news = news_of(&PACKAGE, &known, &found);
        assert_eq!(news.len(), 1);
        assert!(news[0].contains("no record kind was found"), "{news:?}");
    }

    #[test]
    fn reviewed_names_are_read_as_they_are_written() {
        let folder = TemporaryFolder::new("drift-reviewed", &[]).expect("a folder");
        let path = folder.path.join("drift.json");
        let known = names("1.0", &["messages.hidden"], &["text", "video"]);
        let reviewed = BTreeMap::from([("goose".to_owned(), known)]);
        write_reviewed(&path, &reviewed).expect("it can be written");
        assert_eq!(read_reviewed(&path), Ok(reviewed));
    }

    #[test]
    fn every_package_that_is_watched_was_reviewed() {
        let reviewed = read_reviewed(&workspace::root().join(REVIEWED)).expect("the list");
        for package in PACKAGES {
            let known = reviewed.get(package.name);
            let known = known.unwrap_or_else(|| panic!("{} was never reviewed", package.name));
            for watch in package.watches.iter().filter(|watch| watch.store.is_none()) {
                let names = known.names.get(watch.what);
                assert!(names.is_some_and(|it| !it.is_empty()), "{} {}", package.name, watch.what);
            }
        }
    }
}
