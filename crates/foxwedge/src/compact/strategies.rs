//! What each strategy did: what it saved, what went, what shrank, who summarized.

use std::{cmp::Ordering, collections::BTreeMap};

use foxwedge_core::compact::{Gone, Keep, Score, Why};
use foxwedge_dialect::compact::{Shortened, StageAccount};

use super::{
    amount::spaced,
    full::{messages, ranges, row, steps},
    told::{Told, joined},
};
use crate::say::{DIM, GOOD, WARNING, clean, count, cut, paint};

/// Tools and units that are told of each.
const TOLD: usize = 5;

/// One strategy and its lines.
pub(super) fn draw(text: &mut String, stage: &StageAccount, told: &Told<'_>) {
    let saved = stage.before.saturating_sub(stage.after);
    let mut words = Vec::new();
    if !stage.shrunk.is_empty() {
        words.push(format!("{} shrunk", count(stage.shrunk.len(), "answer")));
    }
    if !stage.gone.is_empty() {
        let what = if stage.summary.is_some() { "summarized" } else { "gone" };
        words.push(format!("{} {what}", count(stage.gone.len(), "unit")));
    }
    if words.is_empty() {
        words.push("nothing to take".to_owned());
    }
    let saved = paint(GOOD, format!("{:>9}", format!("−{}", spaced(saved))));
    let (before, after) = (spaced(stage.before), spaced(stage.after));
    let way = paint(DIM, format_args!("({before} → {after})"));
    row(text, stage.stage.name(), &format!("{saved}  {} {way}", words.join(", ")));
    gone(text, &stage.gone);
    cut_made(text, stage, told);
    if let Some((author, tokens)) = &stage.summary {
        let author = cut(&clean(author), 60);
        aside(text, &format!("summary of {} tokens by `{author}`", spaced(*tokens)));
    }
    by_tool(text, &stage.shrunk);
    points(text, &stage.gone);
    if let Some(short) = &stage.short {
        let (least, most) = (spaced(short.least), spaced(short.budget));
        let not = paint(WARNING, "not enough by itself:");
        aside(text, &format!("{not} {least} tokens have to stay, and {most} are allowed"));
    }
    if !stage.edits.is_empty() {
        steps(text, "", "mended behind it:", &stage.edits, told.draft().wire);
    }
}

/// A line below the first, indented.
fn aside(text: &mut String, said: &str) {
    row(text, "", &format!("{:11}{said}", ""));
}

fn gone(text: &mut String, gone: &[Gone]) {
    let named = joined(gone.iter().map(|gone| gone.messages.clone()));
    if named.is_empty() {
        return;
    }
    let tokens: u64 = gone.iter().map(|gone| gone.tokens).sum();
    aside(text, &format!("{}, {} tokens", ranges(&named), spaced(tokens)));
}

fn cut_made(text: &mut String, stage: &StageAccount, told: &Told<'_>) {
    let Some(cut) = stage.cut else { return };
    let why = match cut.asked.cmp(&cut.made) {
        Ordering::Equal => {
            return aside(text, &format!("cut before message {}, as asked for", cut.made));
        }
        _ if told.parts(cut.asked) => "would have parted what belongs together",
        Ordering::Less => "was not enough",
        Ordering::Greater => "was too much: the newest unit stays",
    };
    let (made, asked) = (cut.made, cut.asked);
    aside(text, &format!("cut before message {made}; {asked} was asked for, and that {why}"));
}

/// Answers that shrank, by their tools, the heaviest first.
fn by_tool(text: &mut String, shrunk: &[Shortened]) {
    #[derive(Default)]
    struct Tool {
        answers: usize,
        tokens: u64,
        kept: [usize; 3],
    }
    let mut tools: BTreeMap<&str, Tool> = BTreeMap::new();
    for answer in shrunk {
        let tool = tools.entry(answer.tool.as_deref().unwrap_or("(no name)")).or_default();
        tool.answers += 1;
        tool.tokens += answer.tokens;
        tool.kept[match answer.keep {
            Keep::Text => 0,
            Keep::Ends(_) => 1,
            Keep::Note => 2,
        }] += 1;
    }
    let mut tools: Vec<(&str, Tool)> = tools.into_iter().collect();
    tools.sort_by_key(|(_, tool)| std::cmp::Reverse(tool.tokens));
    for (name, tool) in tools.iter().take(TOLD) {
        let kinds = ["without images", "down to the ends", "down to a note"];
        let kinds: Vec<String> = kinds
            .iter()
            .zip(tool.kept)
            .filter(|(_, number)| *number > 0)
            .map(|(kind, number)| format!("{number} {kind}"))
            .collect();
        let (name, answers) = (cut(&clean(name), 40), count(tool.answers, "answer"));
        let (tokens, kinds) = (spaced(tool.tokens), kinds.join(", "));
        aside(text, &format!("{name}: {answers} of {tokens} tokens; {kinds}"));
    }
    if tools.len() > TOLD {
        aside(text, &format!("… and {}", count(tools.len() - TOLD, "more tool")));
    }
}

/// Units that mattered least, the dearest of them first.
fn points(text: &mut String, gone: &[Gone]) {
    let mut scored: Vec<(&Gone, Score)> = gone
        .iter()
        .filter_map(|gone| match gone.why {
            Why::Unimportant(score) => Some((gone, score)),
            Why::Oldest | Why::Condensed => None,
        })
        .collect();
    scored.sort_by_key(|(_, score)| std::cmp::Reverse(score.points()));
    for (gone, score) in scored.iter().take(TOLD) {
        let points = count(usize::try_from(score.points()).unwrap_or(0), "point");
        aside(text, &format!("{}: {points}, {}", messages(&gone.messages), reasons(*score)));
    }
    if scored.len() > TOLD {
        aside(text, &format!("… and {} with no more points", count(scored.len() - TOLD, "unit")));
    }
}

/// Why a unit has its points.
fn reasons(score: Score) -> String {
    let mut words: Vec<String> = score.reasons().map(|reason| reason.name().to_owned()).collect();
    if !score.is_stale() {
        words.push(format!("{} for its age", score.recency));
    }
    words.join(", ")
}
