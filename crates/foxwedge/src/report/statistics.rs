//! Number of findings per rule.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use foxwedge_core::{FixApplicability, Rule};
use foxwedge_sessions::SessionReach;
use serde::Serialize;

use super::{file_reports, json::write_pretty};
use crate::cli::OutputFormat;
use foxwedge_local::{
    language::localize,
    outcome::TargetOutcome,
    output::{BOLD, DIM, ERROR, paint},
    session_reach::{ReachJson, add_reach, describe_reach},
};

/// A rule and the number of its findings.
#[derive(Serialize)]
struct RuleCount {
    code: String,
    name: &'static str,
    count: usize,
    fixable: usize,
}

/// The JSON document.
#[derive(Serialize)]
struct StatisticsDocument<'a> {
    version: u32,
    statistics: &'a [RuleCount],
    /// How much of all sessions reaches their models; only if there are sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    reach: Option<ReachJson>,
}

/// Writes the counts per rule, the most frequent first.
pub(super) fn write(
    out: &mut dyn Write,
    outcomes: &[TargetOutcome],
    format: OutputFormat,
) -> io::Result<()> {
    let counts = counts(outcomes);
    let reach = total_reach(outcomes);
    match format {
        OutputFormat::Json => {
            let reach = reach.as_ref().map(ReachJson::from);
            write_pretty(out, &StatisticsDocument { version: 1, statistics: &counts, reach })
        }
        OutputFormat::Markdown => {
            markdown(out, &counts)?;
            reach.map_or(Ok(()), |reach| writeln!(out, "\n{}", reach_sentence(&reach)))
        }
        OutputFormat::Full | OutputFormat::Concise => {
            out.write_all(table(&counts).as_bytes())?;
            reach.map_or(Ok(()), |reach| writeln!(out, "{}", reach_sentence(&reach)))
        }
        OutputFormat::JsonLines
        | OutputFormat::Github
        | OutputFormat::Gitlab
        | OutputFormat::Junit
        | OutputFormat::Sarif => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "this format does not support statistics",
        )),
    }
}

/// How much of all sessions reaches their models; `None` without a session.
fn total_reach(outcomes: &[TargetOutcome]) -> Option<SessionReach> {
    let mut reaches = file_reports(outcomes).filter_map(|(_, report)| report.reach);
    let mut sum = reaches.next()?;
    reaches.for_each(|reach| add_reach(&mut sum, &reach));
    Some(sum)
}

fn reach_sentence(reach: &SessionReach) -> String {
    localize(format!("Agents see {}.", localize(describe_reach(reach)))).into_owned()
}

fn counts(outcomes: &[TargetOutcome]) -> Vec<RuleCount> {
    let mut by_code: BTreeMap<u16, (&'static Rule, usize, usize)> = BTreeMap::new();
    for kind in file_reports(outcomes).flat_map(|(_, report)| report.counts.iter()) {
        let (_, count, fixable) = by_code.entry(kind.rule.code).or_insert((kind.rule, 0, 0));
        *count += kind.count;
        if kind.fix.applicability == FixApplicability::Safe {
            *fixable += kind.count;
        }
    }
    let mut counts: Vec<RuleCount> = by_code
        .into_values()
        .map(|(rule, count, fixable)| RuleCount {
            code: rule.label(),
            name: rule.name,
            count,
            fixable,
        })
        .collect();
    counts.sort_by_key(|count| std::cmp::Reverse(count.count));
    counts
}

fn markdown(out: &mut dyn Write, counts: &[RuleCount]) -> io::Result<()> {
    out.write_all(b"### foxwedge\n\n| Findings | Rule | Fixable |\n|---:|---|---:|\n")?;
    for count in counts {
        writeln!(out, "| {} | {} {} | {} |", count.count, count.code, count.name, count.fixable)?;
    }
    Ok(())
}

fn table(counts: &[RuleCount]) -> String {
    let digits = counts.iter().map(|count| count.count.to_string().len()).max().unwrap_or(0);
    let names = counts.iter().map(|count| count.name.len()).max().unwrap_or(0);
    counts
        .iter()
        .map(|count| {
            let fixable = match count.fixable {
                0 => String::new(),
                all if all == count.count => paint(DIM, localize("  fixable")),
                some => paint(DIM, localize(format!("  {some} fixable"))),
            };
            // No line ends in spaces.
            let names = if fixable.is_empty() { 0 } else { names };
            let number = paint(BOLD, format_args!("{:>digits$}", count.count));
            let code = paint(ERROR, &count.code);
            format!("{number}  {code}  {:<names$}{fixable}\n", count.name)
        })
        .collect()
}
