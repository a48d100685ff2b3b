//! The results as a table for a document.

use std::fmt::Write as _;

use super::{
    cli::AgentCli,
    damage::DamagedSession,
    judge::{ResumeVerdict, StoryCounts, StoryMeasure},
    session::KilledSession,
};

/// A damaged session, and what came of it.
pub(super) struct DamageTrial {
    pub(super) damaged: DamagedSession,
    /// What `foxwedge list` says about it.
    pub(super) health: String,
    pub(super) alone: ResumeVerdict,
    pub(super) repaired: ResumeVerdict,
}

/// One agent: a healthy session, and every damage, left alone and repaired.
pub(super) fn text(cli: &AgentCli, session: &KilledSession<'_>, trials: &[DamageTrial]) -> String {
    let mut text = format!("\n### {} {}\n\n", cli.vendor.name(), cli.version);
    text.push_str("| the session file | `list` says | left alone | after `foxwedge fix` |\n");
    text.push_str("|---|---|---|---|\n");
    let two_turns = StoryCounts { prompts: 2, replies: 3, calls: 3, answers: 3 };
    let _ =
        writeln!(text, "| healthy, two turns | ok | {} | |", summary(&session.healthy, &two_turns));
    for DamageTrial { damaged, health, alone, repaired } in trials {
        let whole = StoryCounts::of(&session.calls, &session.answered, damaged.lost);
        let (alone, after) = (summary(alone, &whole), summary(repaired, &whole));
        let mark = if repaired.failures.is_empty() { "" } else { "**not as it should be**: " };
        let health = health.replace('-', " ");
        let _ = writeln!(text, "| {} | {health} | {alone} | {mark}{after} |", damaged.name);
    }
    for DamageTrial { damaged, alone, repaired, .. } in trials {
        for failure in alone.failures.iter().chain(&repaired.failures) {
            let _ = writeln!(text, "\n{}: {failure}", damaged.name);
        }
    }
    text
}

/// What an agent did with a session.
fn summary(verdict: &ResumeVerdict, whole: &StoryCounts) -> String {
    let view = verdict.view.iter().map(|view| format!("its server: `{view}`"));
    let Some(shown) = &verdict.shown else {
        let end = match verdict.code {
            Some(0) => "asks the model nothing".to_owned(),
            Some(code) => format!("**refuses the session**, exit {code}"),
            None => "**does not come to an end**".to_owned(),
        };
        return std::iter::once(end).chain(view).collect::<Vec<_>>().join("; ");
    };
    let mut parts: Vec<String> = std::iter::once(kept(shown, whole)).chain(view).collect();
    let mut count = |number: usize, what: &str| {
        if number > 0 {
            parts.push(format!("{number} {what}"));
        }
    };
    count(shown.ours, "answered by our placeholder");
    count(shown.theirs, "answered in its own words");
    count(verdict.pairs.len(), "broken pairs in the request");
    if verdict.code != Some(0) || !verdict.answered {
        parts.push("no answer to the follow-up".to_owned());
    }
    parts.join("; ")
}

fn kept(shown: &StoryMeasure, whole: &StoryCounts) -> String {
    let table = [
        (shown.prompts, whole.prompts, "prompts"),
        (shown.replies, whole.replies, "replies"),
        (shown.calls, whole.calls, "calls"),
        (shown.real, whole.answers, "answers"),
    ];
    if table.iter().all(|(found, ..)| *found == 0) {
        return "**starts blank**".to_owned();
    }
    let differs = |(found, all, what): &(usize, usize, &str)| {
        if found < all {
            return Some(format!("loses {} of {all} {what}", all - found));
        }
        (found > all).then(|| format!("sends {found} {what} for {all}"))
    };
    let lost: Vec<String> = table.iter().filter_map(differs).collect();
    if lost.is_empty() {
        "everything is there".to_owned()
    } else {
        format!("**{}**", lost.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acceptance::agents::{
        history::HistoryEntry,
        script::{CALLS, PROMPTS},
    };

    #[test]
    fn a_verdict_is_written_as_text() {
        let whole = StoryCounts { prompts: 3, replies: 4, calls: 6, answers: 4 };
        let shown = |entries| {
            let verdict = ResumeVerdict::new(Some(0), true);
            summary(&ResumeVerdict { shown: Some(StoryMeasure::of(entries)), ..verdict }, &whole)
        };
        let id = || CALLS[4].0.to_owned();
        let entries = vec![
            HistoryEntry::User(PROMPTS[2].to_owned()),
            HistoryEntry::Call(id()),
            HistoryEntry::Answer(id(), "aborted".to_owned()),
        ];
        let expected = "**loses 2 of 3 prompts, loses 4 of 4 replies, loses 5 of 6 calls, \
                        loses 4 of 4 answers**; 1 answered in its own words";
        assert_eq!(shown(entries), expected);
        assert_eq!(shown(Vec::new()), "**starts blank**");
        assert_eq!(
            summary(&ResumeVerdict::new(Some(1), false), &whole),
            "**refuses the session**, exit 1"
        );
        assert_eq!(
            summary(&ResumeVerdict::new(None, false), &whole),
            "**does not come to an end**"
        );
    }
}
