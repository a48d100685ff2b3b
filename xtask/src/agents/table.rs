//! What was seen, as a table that can be put into a document.

use std::fmt::Write as _;

use super::{
    cli::Cli,
    damage::Damaged,
    life::Life,
    verdict::{Measure, Verdict, Whole},
};

/// A damaged session, and what came of it.
pub(super) struct Trial {
    pub(super) damaged: Damaged,
    /// What `foxwedge list` says about it.
    pub(super) health: String,
    pub(super) alone: Verdict,
    pub(super) repaired: Verdict,
}

/// One agent: a healthy session, and every damage, left alone and repaired.
pub(super) fn told(cli: &Cli, life: &Life<'_>, trials: &[Trial]) -> String {
    let mut text = format!("\n### {} {}\n\n", cli.vendor.name(), cli.version);
    text.push_str("| the session file | `list` says | left alone | after `foxwedge fix` |\n");
    text.push_str("|---|---|---|---|\n");
    let two_turns = Whole { prompts: 2, replies: 3, calls: 3, answers: 3 };
    let _ = writeln!(text, "| healthy, two turns | ok | {} | |", says(&life.healthy, &two_turns));
    for Trial { damaged, health, alone, repaired } in trials {
        let whole = Whole::of(&life.calls, damaged.lost);
        let (alone, after) = (says(alone, &whole), says(repaired, &whole));
        let mark = if repaired.troubles.is_empty() { "" } else { "**not as it should be**: " };
        let health = health.replace('-', " ");
        let _ = writeln!(text, "| {} | {health} | {alone} | {mark}{after} |", damaged.name);
    }
    for Trial { damaged, alone, repaired, .. } in trials {
        for trouble in alone.troubles.iter().chain(&repaired.troubles) {
            let _ = writeln!(text, "\n{}: {trouble}", damaged.name);
        }
    }
    text
}

/// What an agent did with a session.
fn says(verdict: &Verdict, whole: &Whole) -> String {
    let Some(shown) = &verdict.shown else {
        return match verdict.code {
            Some(0) => "asks the model nothing".to_owned(),
            Some(code) => format!("**refuses the session**, exit {code}"),
            None => "**does not come to an end**".to_owned(),
        };
    };
    let mut parts = vec![kept(shown, whole)];
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

fn kept(shown: &Measure, whole: &Whole) -> String {
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
    use crate::agents::{
        script::{CALLS, PROMPTS},
        told::Word,
    };

    #[test]
    fn a_verdict_is_told_in_words() {
        let whole = Whole { prompts: 3, replies: 4, calls: 6, answers: 4 };
        let shown = |words| {
            let verdict = Verdict::new(Some(0), true);
            says(&Verdict { shown: Some(Measure::of(words)), ..verdict }, &whole)
        };
        let id = || CALLS[4].0.to_owned();
        let words = vec![
            Word::User(PROMPTS[2].to_owned()),
            Word::Call(id()),
            Word::Answer(id(), "aborted".to_owned()),
        ];
        let expected = "**loses 2 of 3 prompts, loses 4 of 4 replies, loses 5 of 6 calls, \
                        loses 4 of 4 answers**; 1 answered in its own words";
        assert_eq!(shown(words), expected);
        assert_eq!(shown(Vec::new()), "**starts blank**");
        assert_eq!(says(&Verdict::new(Some(1), false), &whole), "**refuses the session**, exit 1");
        assert_eq!(says(&Verdict::new(None, false), &whole), "**does not come to an end**");
    }
}
