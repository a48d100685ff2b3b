//! The page of what agents do about defects in their sessions.

use std::fmt::Write as _;

use foxwedge_sessions::{FindingEffect, FindingPart, RATED_ROWS, RatedRow};

use super::pages::notice;

/// `acceptance/effects.md`.
pub(super) fn page() -> String {
    let mut page = notice();
    page.push_str(
        "# What agents do about defects\n\n\
         The table behind the health of a session. For each finding the first row that fits counts, from \
         the version in it on.\nA version between two tested ones counts as the older one. *Observed*: the \
         agent was run on a damaged session.\n*Source*, *documentation*: that was read, and the agent was not \
         run. A finding without a row is as severe as its rule.\n",
    );
    for rows in RATED_ROWS.chunk_by(|one, two| one.agent == two.agent) {
        let agent = rows.first().map_or("", |row| row.agent.name());
        let _ = write!(
            page,
            "\n## {agent}\n\n| rules | of which | from | effect | evidence | what it does |\n|---|---|---|---|---|---|\n"
        );
        rows.iter().for_each(|row| page.push_str(&line(row)));
    }
    page
}

fn line(row: &RatedRow) -> String {
    let codes: Vec<String> = row.codes.iter().map(|code| format!("FW{code}")).collect();
    let since = match row.since.numbers() {
        [0, 0, 0] => "any".to_owned(),
        numbers => numbers.map(|number| number.to_string()).join("."),
    };
    let effect = match row.effect {
        FindingEffect::Tolerated => "ok",
        FindingEffect::HidesHistory => "history missing",
        FindingEffect::Blocks => "needs repair",
    };
    let (codes, part, evidence) = (codes.join(", "), part_text(row.part), row.evidence.name());
    format!("| {codes} | {part} | {since} | {effect} | {evidence} | {} |\n", row.behavior)
}

fn part_text(part: FindingPart) -> &'static str {
    match part {
        FindingPart::All => "all",
        FindingPart::OpenEnd => "calls of the last turn",
        FindingPart::SameTurn => "results before the next reply",
        FindingPart::NothingHidden => "what hides no content",
        FindingPart::OpenLine => "the end of the file, without a line end",
        FindingPart::HidesContent => "what hides content",
        FindingPart::FirstRecord => "the first record",
        FindingPart::FirstLine => "a line before the first record",
        FindingPart::WholeCycle => "a cycle with the last message",
        FindingPart::LastMessage => "the last record, behind later turns",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_was_not_run_has_no_observed_row() {
        let page = page();
        let zed = page.split("## ").find(|section| section.starts_with("zed\n"));
        let zed = zed.expect("a section");
        assert!(zed.contains("| source |") && !zed.contains("observed"), "{zed}");
    }
}
