//! `foxwedge rules`: all rules, and who demands them.

use std::process::ExitCode;

use foxwedge_core::{Evidence, Profile, Rule, rules};
use serde::Serialize;

use crate::{
    cli::{ListFormat, RulesArgs},
    say::{DIM, ERROR, out, paint},
};

/// One rule.
#[derive(Serialize)]
struct Entry {
    code: String,
    name: &'static str,
    summary: &'static str,
    /// Who surely demands it.
    profiles: Vec<&'static str>,
    /// Who probably demands it.
    likely_profiles: Vec<&'static str>,
}

/// Lists all rules.
pub(crate) fn run(args: RulesArgs) -> anyhow::Result<ExitCode> {
    let mut all: Vec<&Rule> = rules::ALL.to_vec();
    all.sort_by_key(|rule| rule.code);
    match args.output_format {
        ListFormat::Text => out(&table(all))?,
        ListFormat::Json => {
            let entries: Vec<Entry> = all.iter().map(|rule| entry(rule)).collect();
            out(&(serde_json::to_string_pretty(&entries)? + "\n"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn entry(rule: &Rule) -> Entry {
    Entry {
        code: rule.label(),
        name: rule.name,
        summary: rule.summary,
        profiles: names(rule, Evidence::Sure),
        likely_profiles: names(rule, Evidence::Likely),
    }
}

fn names(rule: &Rule, evidence: Evidence) -> Vec<&'static str> {
    rule.applies.iter().filter(|(_, known)| *known == evidence).map(|(who, _)| who.name()).collect()
}

/// One line for each rule, by code.
pub(crate) fn table(mut all: Vec<&Rule>) -> String {
    all.sort_by_key(|rule| rule.code);
    let names = all.iter().map(|rule| rule.name.len()).max().unwrap_or(0);
    let summaries = all.iter().map(|rule| rule.summary.chars().count()).max().unwrap_or(0);
    all.iter()
        .map(|rule| {
            format!(
                "{}  {:<names$}  {:<summaries$}  {}\n",
                paint(ERROR, rule.label()),
                rule.name,
                rule.summary,
                paint(DIM, who(rule)),
            )
        })
        .collect()
}

/// Who demands it, in a few words.
fn who(rule: &Rule) -> String {
    let demanded = |profile: &Profile| rule.evidence(*profile).is_some();
    if Profile::ALL.iter().all(demanded) {
        return "all".to_owned();
    }
    let names = |wanted: bool| -> Vec<&str> {
        let profiles = Profile::ALL.iter().filter(|profile| demanded(profile) == wanted);
        profiles.map(|profile| profile.name()).collect()
    };
    let others = names(false);
    if others.len() > 3 { names(true).join(" ") } else { format!("all but {}", others.join(" ")) }
}
