//! Parsers that nobody here wrote read what foxwedge converted: `cargo xtask sdks`.
//!
//! Every fixture is converted into every other format by the binary, and the official SDKs of that
//! format read the result: whole and in awkward pieces, plainly and by their own helpers. What they
//! understood is compared with what the fixture says. The fixtures themselves are read, too, so that
//! a wrong fixture is not taken for a wrong conversion. The SDKs run in `acceptance/sdk/read.py` and
//! `acceptance/sdk/read.mjs`; where they cannot be installed, that is said and the rest goes on.

mod fixture;
mod convert;
mod reader;
pub(crate) mod install;
mod verdict;

use std::{
    env, fs,
    path::{Path, PathBuf},
    thread,
};

use foxwedge_core::Format;

use crate::{
    Outcome,
    judges::{Question as _, Table, ask},
    workspace,
};
use convert::Foxwedge;
use fixture::Fixture;
use install::Shelf;
use reader::{Job, Language};

/// Set to `required`, what is missing on this machine is an error.
pub(crate) const VARIABLE: &str = "FOXWEDGE_SDKS";

/// The folder of the scripts and of the pinned lists.
const SCRIPTS: &str = "acceptance/sdk";

/// Reads everything, prints what was understood, and fails if anything was not as it should be.
pub(crate) fn run(words: &[&str]) -> Outcome {
    let named = match words {
        [] => None,
        ["--foxwedge", path] => Some(PathBuf::from(path)),
        _ => return Err("`sdks` takes nothing but `--foxwedge BINARY`".to_owned()),
    };
    let home = workspace::root().join("target").join("sdks");
    let shelves = shelves(&home)?;
    if shelves.is_empty() {
        return Ok(());
    }
    let foxwedge = Foxwedge::find(named)?;
    let scenes = scenes(&foxwedge, &home.join("converted"))?;
    let answers = thread::scope(|scope| {
        let asked: Vec<_> = shelves
            .iter()
            .map(|shelf| {
                let jobs = jobs(&scenes, shelf.language);
                scope.spawn(move || {
                    let answers = ask(shelf.language.name(), shelf.command(), &jobs)?;
                    Ok::<_, String>((shelf, jobs.into_iter().zip(answers).collect::<Vec<_>>()))
                })
            })
            .collect();
        let joined = asked.into_iter().map(|asked| asked.join());
        joined.map(|it| it.unwrap_or_else(|_| Err("a reader panicked".to_owned()))).collect()
    });
    let answers: Result<Vec<_>, String> = answers;
    let mut table = Table::new(["format", "SDK", "language", "reader"], ["jobs", "ok"]);
    for (shelf, answered) in answers? {
        for (job, answer) in answered {
            let [jobs, ok] = table.row((job.target, job.language, job.way), || who(shelf, &job));
            *jobs += 1;
            match verdict::judge(&job, &answer) {
                Ok(()) => *ok += 1,
                Err(trouble) => table.trouble(&job.told(), &trouble),
            }
        }
    }
    for scene in &scenes {
        if let Err(trouble) = &scene.path {
            let (from, to) = (scene.fixture.wire.name(), scene.target.name());
            let path = scene.fixture.path.display();
            table.trouble(&format!("convert --from {from} --to {to} {path}"), trouble);
        }
    }
    table.print()
}

/// Who reads: the first columns of the table.
fn who(shelf: &Shelf, job: &Job<'_>) -> [String; 4] {
    let package = job.language.package(job.target).unwrap_or_default();
    let sdk = format!("{package} {}", shelf.version(package));
    let (format, language, way) = (job.target.name(), job.language.name(), job.way.name());
    [format.to_owned(), sdk, language.to_owned(), way.to_owned()]
}

/// A document that SDKs are to read, and the fixture that says what it says.
struct Scene {
    fixture: Fixture,
    target: Format,
    /// Where it is; or why there is none.
    path: Result<PathBuf, String>,
}

/// Every fixture as it is, and in every other format; and what is left of some when they are cut off.
fn scenes(foxwedge: &Foxwedge, folder: &Path) -> Result<Vec<Scene>, String> {
    // What an older run left must not be read for what this one makes.
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut fixtures = fixture::all()?;
    for at in 0..fixtures.len() {
        let cuts = fixture::cuts(&fixtures[at], folder)?;
        fixtures.extend(cuts);
    }
    let mut scenes = Vec::new();
    for fixture in fixtures {
        for target in Format::ALL {
            let path = if target == fixture.wire {
                Ok(fixture.path.clone())
            } else {
                foxwedge.convert(&fixture, target, folder)
            };
            scenes.push(Scene { fixture: fixture.clone(), target, path });
        }
    }
    Ok(scenes)
}

fn jobs(scenes: &[Scene], language: Language) -> Vec<Job<'_>> {
    scenes.iter().flat_map(|scene| reader::jobs(scene, language)).collect()
}

/// The languages whose SDKs are there. What is missing is told, or is an error where it must not be.
fn shelves(home: &Path) -> Result<Vec<Shelf>, String> {
    let required = env::var_os(VARIABLE).is_some_and(|value| value == "required");
    let mut shelves = Vec::new();
    for language in Language::ALL {
        match install::shelf(language, home) {
            Ok(shelf) => shelves.push(shelf),
            Err(missing) if required => return Err(missing),
            Err(missing) => println!("skipped: {missing}"),
        }
    }
    Ok(shelves)
}
