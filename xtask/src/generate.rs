//! Pages that are made from the rules and from the table of agents: nothing is written twice.

mod pages;
mod examples;
mod catalogue;
mod effects;
mod facts;

use std::fs;

use crate::{
    Outcome, manual,
    tidy::{Complaint, complaint},
    workspace::{self, File},
};

const FOLDER: &str = "docs/rules/";
/// The summaries of the rules in Chinese, for the console.
const CONSOLE: &str = "console/src/words/rules-zh.ts";

/// A page: its path in the workspace, and its text.
struct Page {
    path: String,
    text: String,
}

fn pages(files: &[File]) -> Vec<Page> {
    let mut pages = pages::rules(FOLDER, files);
    pages.push(Page { path: format!("{FOLDER}README.md"), text: pages::index() });
    pages.push(Page { path: "docs/catalogue.md".to_owned(), text: catalogue::page() });
    pages.push(Page { path: "acceptance/effects.md".to_owned(), text: effects::page() });
    pages.push(Page { path: "docs/errors.md".to_owned(), text: manual::error_list() });
    pages.push(Page { path: CONSOLE.to_owned(), text: pages::console_summaries() });
    pages
}

/// Writes every page, and removes pages of rules that no longer exist.
pub(crate) fn write() -> Outcome {
    let root = workspace::root();
    let files = workspace::files()?;
    let pages = pages(&files);
    let complain = |path: &str, error: std::io::Error| format!("{path}: {error}");
    fs::create_dir_all(root.join(FOLDER)).map_err(|error| complain(FOLDER, error))?;
    let mut written = 0;
    for Page { path, text } in &pages {
        if fs::read_to_string(root.join(path)).is_ok_and(|old| old == *text) {
            continue;
        }
        fs::write(root.join(path), text).map_err(|error| complain(path, error))?;
        written += 1;
    }
    for path in strangers(&files, &pages) {
        fs::remove_file(root.join(&path)).map_err(|error| complain(&path, error))?;
        println!("removed {path}");
    }
    println!("{written} of {} pages written anew", pages.len());
    Ok(())
}

/// Says whether the pages are current, and writes nothing.
pub(crate) fn check() -> Outcome {
    let complaints = outdated(&workspace::files()?);
    for Complaint { place, what } in &complaints {
        println!("{place}: {what}");
    }
    match complaints.len() {
        0 => Ok(()),
        count => Err(format!("{count} pages are old: run `cargo xtask generate`")),
    }
}

/// Pages that are missing, old, or of no rule.
pub(crate) fn outdated(files: &[File]) -> Vec<Complaint> {
    let pages = pages(files);
    let mut complaints = Vec::new();
    for Page { path, text } in &pages {
        let old = files.iter().find(|file| file.path == *path);
        if old.is_none_or(|old| old.text != *text) {
            complaints.push(complaint(path, "is old: run `cargo xtask generate`"));
        }
    }
    let strangers = strangers(files, &pages);
    complaints.extend(strangers.into_iter().map(|path| complaint(path, "belongs to no rule")));
    complaints
}

fn strangers(files: &[File], pages: &[Page]) -> Vec<String> {
    files
        .iter()
        .filter(|file| file.path.starts_with(FOLDER))
        .filter(|file| !pages.iter().any(|page| page.path == file.path))
        .map(|file| file.path.clone())
        .collect()
}
