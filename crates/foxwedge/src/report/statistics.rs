//! How often each rule was broken.

use std::collections::BTreeMap;

use foxwedge_core::{Applicability, Rule};
use serde::Serialize;

use super::findings;
use crate::{
    cli::OutputFormat,
    outcome::Outcome,
    say::{BOLD, DIM, ERROR, paint},
};

/// One rule and how often it was broken.
#[derive(Serialize)]
struct Count {
    code: String,
    name: &'static str,
    count: usize,
    fixable: usize,
}

/// Counts by rule, the most frequent first.
pub(crate) fn render(outcomes: &[Outcome], format: OutputFormat) -> anyhow::Result<String> {
    let mut by_code: BTreeMap<u16, (&'static Rule, usize, usize)> = BTreeMap::new();
    for (_, found) in findings(outcomes) {
        let rule = found.finding.rule;
        let (_, count, fixable) = by_code.entry(rule.code).or_insert((rule, 0, 0));
        *count += 1;
        *fixable += usize::from(found.finding.fix.applicability == Applicability::Safe);
    }
    let mut counts: Vec<Count> = by_code
        .into_values()
        .map(|(rule, count, fixable)| Count { code: rule.label(), name: rule.name, count, fixable })
        .collect();
    counts.sort_by_key(|count| std::cmp::Reverse(count.count));
    match format {
        OutputFormat::Json | OutputFormat::Sarif => {
            Ok(serde_json::to_string_pretty(&counts)? + "\n")
        }
        OutputFormat::JsonLines => {
            let lines: Result<Vec<String>, _> = counts.iter().map(serde_json::to_string).collect();
            Ok(lines?.into_iter().map(|line| line + "\n").collect())
        }
        OutputFormat::Full
        | OutputFormat::Concise
        | OutputFormat::Github
        | OutputFormat::Markdown => Ok(table(&counts)),
    }
}

fn table(counts: &[Count]) -> String {
    let digits = counts.iter().map(|count| count.count.to_string().len()).max().unwrap_or(0);
    let names = counts.iter().map(|count| count.name.len()).max().unwrap_or(0);
    counts
        .iter()
        .map(|count| {
            let fixable = match count.fixable {
                0 => String::new(),
                all if all == count.count => "fixable".to_owned(),
                some => format!("{some} fixable"),
            };
            let number = paint(BOLD, format_args!("{:>digits$}", count.count));
            let line = format!(
                "{number}  {}  {:<names$}  {}",
                paint(ERROR, &count.code),
                count.name,
                paint(DIM, fixable),
            );
            line.trim_end().to_owned() + "\n"
        })
        .collect()
}
