//! `foxwedge rules`: all rules, and the profiles they apply to.

use std::process::ExitCode;

use foxwedge_core::{Profile, Rule, RuleEvidence, rules};
use serde::Serialize;

use crate::cli::{ListFormat, RulesArgs};
use foxwedge_local::{
    language::localize,
    output::{DIM, ERROR, paint, width, write_stdout},
    screen::pad,
};

#[derive(Serialize)]
struct RuleListEntry {
    code: String,
    name: &'static str,
    summary: &'static str,
    /// Profiles that document the rule.
    profiles: Vec<&'static str>,
    /// Profiles that probably enforce it.
    likely_profiles: Vec<&'static str>,
}

/// Lists all rules.
pub(crate) fn run(args: RulesArgs) -> anyhow::Result<ExitCode> {
    let mut all: Vec<&Rule> = rules::ALL.to_vec();
    all.sort_by_key(|rule| rule.code);
    match args.output_format {
        ListFormat::Text => write_stdout(&table(all))?,
        ListFormat::Json => {
            let entries: Vec<RuleListEntry> = all.iter().map(|rule| list_entry(rule)).collect();
            write_stdout(&(serde_json::to_string_pretty(&entries)? + "\n"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list_entry(rule: &Rule) -> RuleListEntry {
    RuleListEntry {
        code: rule.label(),
        name: rule.name,
        summary: rule.summary,
        profiles: profile_names(rule, RuleEvidence::Documented),
        likely_profiles: profile_names(rule, RuleEvidence::Inferred),
    }
}

fn profile_names(rule: &Rule, evidence: RuleEvidence) -> Vec<&'static str> {
    rule.applies
        .iter()
        .filter(|(_, own)| *own == evidence)
        .map(|(profile, _)| profile.name())
        .collect()
}

/// One line for each rule, sorted by code.
pub(crate) fn table(mut all: Vec<&Rule>) -> String {
    all.sort_by_key(|rule| rule.code);
    let names = all.iter().map(|rule| rule.name.len()).max().unwrap_or(0);
    let summaries = all.iter().map(|rule| width(&localize(rule.summary))).max().unwrap_or(0);
    all.iter()
        .map(|rule| {
            format!(
                "{}  {:<names$}  {}  {}\n",
                paint(ERROR, rule.label()),
                rule.name,
                pad(&localize(rule.summary), summaries),
                paint(DIM, describe_profiles(rule)),
            )
        })
        .collect()
}

/// The profiles the rule applies to, as a short text.
fn describe_profiles(rule: &Rule) -> String {
    let applies = |profile: &Profile| rule.evidence(*profile).is_some();
    if Profile::ALL.iter().all(applies) {
        return localize("all").into_owned();
    }
    let names = |expected: bool| -> Vec<&str> {
        let profiles = Profile::ALL.iter().filter(|profile| applies(profile) == expected);
        profiles.map(|profile| profile.name()).collect()
    };
    let others = names(false);
    if others.len() > 3 {
        return names(true).join(" ");
    }
    localize(format!("all but {}", others.join(" "))).into_owned()
}
