//! Number of findings per rule.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use foxwedge_core::{FixApplicability, Rule};
use serde::Serialize;

use super::{file_reports, json::write_pretty};
use crate::cli::OutputFormat;
use foxwedge_local::{
    language::localize,
    outcome::TargetOutcome,
    output::{BOLD, DIM, ERROR, paint},
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
}

/// Writes the counts per rule, the most frequent first.
pub(super) fn write(
    out: &mut dyn Write,
    outcomes: &[TargetOutcome],
    format: OutputFormat,
) -> io::Result<()> {
    let counts = counts(outcomes);
    match format {
        OutputFormat::Json => {
            write_pretty(out, &StatisticsDocument { version: 1, statistics: &counts })
        }
        OutputFormat::Markdown => markdown(out, &counts),
        OutputFormat::Full | OutputFormat::Concise => out.write_all(table(&counts).as_bytes()),
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
