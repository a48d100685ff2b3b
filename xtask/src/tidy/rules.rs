//! Every rule has its file, its page and its cases.

use std::collections::BTreeSet;

use foxwedge_core::{Rule, rules};

use super::{Complaint, complaint};
use crate::workspace::File;

const HOME: &str = "crates/core/src/rules";
const CASES: &str = "crates/core/tests/cases";

pub(super) fn check(files: &[File]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (at, rule) in rules::ALL.iter().enumerate() {
        let stem = rule.name.replace('-', "_");
        complaints.extend(twins(rule, &rules::ALL[..at]));
        complaints.extend(own_files(rule, &stem, files));
        complaints.extend(page(rule, &format!("{HOME}/{stem}.md")));
        complaints.extend(cases(rule, &format!("{CASES}/{stem}"), files));
    }
    complaints.extend(strangers(files));
    complaints
}

/// A code and a name belong to one rule.
fn twins(rule: &Rule, before: &[&Rule]) -> Option<Complaint> {
    let twin = before.iter().find(|other| other.code == rule.code || other.name == rule.name)?;
    Some(complaint(rule.label(), format!("shares its code or its name with `{}`", twin.name)))
}

fn own_files(rule: &Rule, stem: &str, files: &[File]) -> Vec<Complaint> {
    ["rs", "md"]
        .into_iter()
        .map(|ending| format!("{HOME}/{stem}.{ending}"))
        .filter(|path| !files.iter().any(|file| file.path == *path))
        .map(|path| complaint(path, format!("{} {} needs this file", rule.label(), rule.name)))
        .collect()
}

/// The page's heading and its list of profiles say what the data says.
fn page(rule: &Rule, path: &str) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let heading = format!("# {} {}", rule.label(), rule.name);
    if rule.explain.lines().next() != Some(heading.as_str()) {
        complaints.push(complaint(path, format!("the page must start with `{heading}`")));
    }
    let applies: BTreeSet<&str> = rule.applies.iter().map(|(profile, _)| profile.name()).collect();
    let told = rule.explain.split_once("## Applies to").map_or("", |(_, rest)| rest);
    let told: BTreeSet<&str> = told.split([',', '\n']).map(str::trim).collect();
    if told.into_iter().filter(|name| !name.is_empty()).ne(applies.iter().copied()) {
        let applies: Vec<&str> = applies.into_iter().collect();
        let what = format!("`## Applies to` must list what the rule does: {}", applies.join(", "));
        complaints.push(complaint(path, what));
    }
    complaints
}

/// A rule is shown by at least one history it takes and one it refuses.
fn cases(rule: &Rule, folder: &str, files: &[File]) -> Vec<Complaint> {
    let has = |kind: &str| {
        let start = format!("{folder}/{kind}");
        files.iter().any(|file| file.path.starts_with(&start))
    };
    ["sound", "broken"]
        .into_iter()
        .filter(|kind| !has(kind))
        .map(|kind| complaint(folder, format!("{} has no case `{kind}*`", rule.label())))
        .collect()
}

/// Pages and cases of rules that do not exist.
fn strangers(files: &[File]) -> Vec<Complaint> {
    let known = |stem: &str| rules::ALL.iter().any(|rule| rule.name.replace('-', "_") == stem);
    let stem_of = |path: &str| -> Option<String> {
        if let Some(page) = path.strip_prefix(HOME).and_then(|rest| rest.strip_suffix(".md")) {
            return Some(page.trim_start_matches('/').to_owned());
        }
        let case = path.strip_prefix(CASES)?.trim_start_matches('/');
        Some(case.split_once('/')?.0.to_owned())
    };
    let stranger = |file: &&File| stem_of(&file.path).is_some_and(|stem| !known(&stem));
    files.iter().filter(stranger).map(|file| complaint(&file.path, "belongs to no rule")).collect()
}
