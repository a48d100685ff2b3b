//! `cargo xtask console`: the web page of the gateway.
//!
//! Its types are checked, it is built and compared with the build in `console/dist`, its size is
//! checked, its own tests run, and then a browser opens it: with a real gateway, and with a made-up
//! one that sends what no real one would. All of it happens in a copy of the sources under
//! `target/console`, beside the packages; nothing is written beside the sources.

use std::{
    collections::BTreeMap,
    env, fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use sha2::{Digest, Sha256};

use super::{
    SuiteError,
    install::{Language, MissingSoftware, PackageFolder, copy_files},
    process::run_to_end,
};
use crate::{
    ci,
    options::TaskOptions,
    tidy::{Complaint, complaint},
    workspace::{self, File},
};

const SOURCES: &str = "console";
/// The reducer of runs, the chat and its components are part of the page.
const REDUCER: &str = "clients/typescript/src";
/// The build that is kept, so that cargo needs no Node.
const KEPT: &str = "console/dist";
/// The checksum of the sources from which that build was made.
const CHECKSUM: &str = "console/sources.sha256";
/// Names a browser.
const VARIABLE: &str = "FOXWEDGE_CHROMIUM";
/// The most bytes that a browser may have to load, compressed.
const BUDGET: u64 = 250_000;

/// Checks all of it; `--write` keeps the new build instead of comparing it.
pub(super) fn run(options: &TaskOptions) -> Result<(), SuiteError> {
    let packages = PackageFolder::install(Language::TypeScript, SOURCES, "console")?;
    for name in [SOURCES, REDUCER] {
        let to = packages.path.join(name);
        // What an older copy left must not be tested for what there is now.
        let _ = fs::remove_dir_all(&to);
        let wanted =
            |path: &Path| !["node_modules", "build", "dist"].iter().any(|it| path.ends_with(it));
        copy_files(&workspace::root().join(name), &to, &wanted)
            .map_err(|error| format!("{}: {error}", to.display()))?;
    }
    let page = ConsolePage { folder: packages.path.join(SOURCES) };
    page.node("tsc", &["../node_modules/typescript/bin/tsc", "--noEmit"])?;
    let vite = ["../node_modules/vite/bin/vite.js", "build", "--logLevel", "warn"];
    page.node("vite build", &vite)?;
    let built = files(&page.folder.join("dist"))?;
    if options.has("--write") {
        write(built)?;
    } else if let Some(name) = difference(&files(&workspace::root().join(KEPT))?, &built) {
        return Err(format!(
            "{KEPT}/{name} is not what the sources make; run `cargo xtask console --write`"
        )
        .into());
    }
    let size = page.node("size.mjs", &["size.mjs", "dist"])?;
    let size: u64 = size.parse().map_err(|_| format!("size.mjs: `{size}` is no number"))?;
    println!("console: {size} bytes to load, of at most {BUDGET}");
    if size > BUDGET {
        return Err(format!("the console is too large: {size} bytes").into());
    }
    page.node("tsc", &["../node_modules/typescript/bin/tsc", "--project", "tsconfig.test.json"])?;
    let tests = page.folder.join("build/console/test");
    println!("console: {}", run_node_tests(&tests, ".test.js", &mut page.command())?);
    let mut node = page.command();
    node.env(VARIABLE, find_browser()?).env("FOXWEDGE_BINARY", ci::binary()?);
    node.env("FOXWEDGE_SCRIPTED_AGENT", ci::program("foxwedge-scripted-agent")?);
    node.env("FOXWEDGE_FIXTURES", workspace::root().join("fixtures"));
    let tests = run_node_tests(&page.folder.join("e2e"), ".test.mjs", &mut node)?;
    println!("console: in a browser, {tests}");
    Ok(())
}

/// The copy of the sources.
struct ConsolePage {
    folder: PathBuf,
}

impl ConsolePage {
    fn node(&self, what: &str, arguments: &[&str]) -> Result<String, String> {
        run_to_end(what, self.command().args(arguments))
    }

    fn command(&self) -> Command {
        let mut node = Command::new("node");
        node.current_dir(&self.folder);
        node
    }
}

/// Runs the tests of a folder with Node's own test runner; how many passed.
pub(super) fn run_node_tests(
    folder: &Path,
    ending: &str,
    node: &mut Command,
) -> Result<String, String> {
    let mut tests = workspace::sorted_entries(folder)?;
    tests.retain(|path| path.to_string_lossy().ends_with(ending));
    // One after the other: each may have a browser and a gateway of its own.
    node.args(["--test", "--test-concurrency=1", "--test-reporter=tap"]).args(&tests);
    let printed = run_to_end("node --test", node)?;
    let passed = printed.lines().rev().find_map(|line| line.strip_prefix("# pass "));
    Ok(format!("{} tests passed", passed.unwrap_or("?")))
}

/// The browser that was named or that is there. Where that needs no permission (as root, on a
/// system with Debian's packages) it is installed.
pub(super) fn find_browser() -> Result<PathBuf, MissingSoftware> {
    const PLACES: [&str; 3] =
        ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
    if let Some(named) = env::var_os(VARIABLE) {
        return Ok(named.into());
    }
    let there = || PLACES.iter().map(PathBuf::from).find(|place| place.exists());
    if there().is_none() && Path::new("/usr/bin/apt-get").exists() {
        eprintln!("Chromium is not installed; trying `apt-get install chromium`");
        let mut install = Command::new("apt-get");
        install.args(["install", "--yes", "--quiet", "--no-install-recommends", "chromium"]);
        install.env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
        // If it fails, there is still no browser.
        let _ = install.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
    let missing = || MissingSoftware(format!("no Chromium was found; {VARIABLE} can name one"));
    there().ok_or_else(missing)
}

type BuiltFiles = BTreeMap<String, Vec<u8>>;

/// Says without a build whether the kept one is of older sources.
pub(crate) fn outdated(files: &[File]) -> Vec<Complaint> {
    let kept = files.iter().find(|file| file.path == CHECKSUM).map_or("", |file| &file.text);
    if kept.trim_end() == sources_checksum(files) {
        return Vec::new();
    }
    vec![complaint(KEPT, "is old: run `cargo xtask console --write`")]
}

/// A checksum of all that the page is built from.
fn sources_checksum(files: &[File]) -> String {
    let mut checksum = Sha256::new();
    for File { path, text } in files {
        let page = path.strip_prefix(SOURCES).and_then(|rest| rest.strip_prefix('/'));
        let shown = page.is_some_and(|rest| {
            path != CHECKSUM && !["test/", "e2e/", "README"].iter().any(|it| rest.starts_with(it))
        });
        if shown || path.strip_prefix(REDUCER).is_some_and(|rest| rest.starts_with('/')) {
            checksum.update(format!("{path} {}\n{text}", text.len()));
        }
    }
    checksum.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Keeps a new build.
fn write(built: BuiltFiles) -> Result<(), String> {
    let kept = workspace::root().join(KEPT);
    let _ = fs::remove_dir_all(&kept);
    for (name, bytes) in built {
        let path = kept.join(&name);
        let folder = path.parent().unwrap_or(&kept);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, bytes))
            .map_err(|error| format!("{KEPT}/{name}: {error}"))?;
    }
    let checksum = sources_checksum(&workspace::files()?);
    fs::write(workspace::root().join(CHECKSUM), format!("{checksum}\n"))
        .map_err(|error| format!("{CHECKSUM}: {error}"))
}

/// The first name under which the two do not have the same.
fn difference(kept: &BuiltFiles, fresh: &BuiltFiles) -> Option<String> {
    let mut names: Vec<&String> = kept.keys().chain(fresh.keys()).collect();
    names.sort();
    names.into_iter().find(|name| kept.get(*name) != fresh.get(*name)).cloned()
}

fn files(folder: &Path) -> Result<BuiltFiles, String> {
    let mut found = BuiltFiles::new();
    let mut open = vec![(folder.to_owned(), String::new())];
    while let Some((folder, prefix)) = open.pop() {
        for path in workspace::sorted_entries(&folder)? {
            let name = format!("{prefix}{}", path.file_name().unwrap_or_default().display());
            if path.is_dir() {
                open.push((path, format!("{name}/")));
            } else {
                let cannot = |error: io::Error| format!("{}: {error}", path.display());
                found.insert(name, fs::read(&path).map_err(cannot)?);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_older_sources_is_outdated() {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let sources = |reducer: &str, test: &str| {
            let reducer = file("clients/typescript/src/reduce.ts", reducer);
            vec![reducer, file("console/src/app.tsx", "page"), file("console/test/a.ts", test)]
        };
        let kept = file(CHECKSUM, &sources_checksum(&sources("1", "1")));
        for (reducer, test, old) in [("1", "1", 0), ("1", "2", 0), ("2", "1", 1)] {
            let mut files = sources(reducer, test);
            assert_eq!(outdated(&files).len(), 1, "without a checksum");
            files.push(file(&kept.path, &kept.text));
            assert_eq!(outdated(&files).len(), old, "{reducer} {test}");
        }
    }

    #[test]
    fn files_that_are_missing_new_or_different_are_found() {
        let table = [
            ("a=1 b=2", "a=1 b=2", None),
            ("a=1", "a=1 b=2", Some("b")),
            ("a=1 b=2", "b=2", Some("a")),
            ("a=1 b=2", "a=1 b=3", Some("b")),
        ];
        let files = |text: &str| -> BuiltFiles {
            let pairs = text.split(' ').filter_map(|pair| pair.split_once('='));
            pairs.map(|(name, it)| (name.to_owned(), it.as_bytes().to_vec())).collect()
        };
        for (kept, fresh, expected) in table {
            assert_eq!(difference(&files(kept), &files(fresh)).as_deref(), expected);
        }
    }
}
