//! What each strategy did: what it saved, what went, what shrank, who summarized.

use std::{cmp::Ordering, collections::BTreeMap};

use foxwedge_core::compact::{AnswerRemainder, DropReason, DroppedUnit, UnitScore};
use foxwedge_formats::compact::{ShortenedResult, StageAccount};

use super::{
    amount::format_spaced,
    compaction_result::{CompactionResult, join_ranges},
    full::{format_message_range, format_message_ranges, push_row, push_steps},
};
use crate::cli_output::{DIM, GOOD, WARNING, clean, cut, paint, pluralize};

/// Tools and units that are told of each.
const MAX_LISTED: usize = 5;

/// One strategy and its lines.
pub(super) fn draw(text: &mut String, stage: &StageAccount, told: &CompactionResult<'_>) {
    let saved = stage.before.saturating_sub(stage.after);
    let mut words = Vec::new();
    if !stage.shortened.is_empty() {
        words.push(format!("{} shrunk", pluralize(stage.shortened.len(), "answer")));
    }
    if !stage.removed.is_empty() {
        let what = if stage.summary.is_some() { "summarized" } else { "gone" };
        words.push(format!("{} {what}", pluralize(stage.removed.len(), "unit")));
    }
    if words.is_empty() {
        words.push("nothing to take".to_owned());
    }
    let saved = paint(GOOD, format!("{:>9}", format!("−{}", format_spaced(saved))));
    let (before, after) = (format_spaced(stage.before), format_spaced(stage.after));
    let way = paint(DIM, format_args!("({before} → {after})"));
    push_row(text, stage.stage.name(), &format!("{saved}  {} {way}", words.join(", ")));
    push_removed(text, &stage.removed);
    push_cut(text, stage, told);
    if let Some((author, tokens)) = &stage.summary {
        let author = cut(&clean(author), 60);
        push_detail(text, &format!("summary of {} tokens by `{author}`", format_spaced(*tokens)));
    }
    push_shrunk_by_tool(text, &stage.shortened);
    push_scores(text, &stage.removed);
    if let Some(short) = &stage.shortage {
        let (least, most) = (format_spaced(short.total_needed), format_spaced(short.budget));
        let not = paint(WARNING, "not enough by itself:");
        push_detail(text, &format!("{not} {least} tokens have to stay, and {most} are allowed"));
    }
    if !stage.edits.is_empty() {
        push_steps(text, "", "mended behind it:", &stage.edits, told.draft().format);
    }
}

/// A line below the first, indented.
fn push_detail(text: &mut String, said: &str) {
    push_row(text, "", &format!("{:11}{said}", ""));
}

fn push_removed(text: &mut String, gone: &[DroppedUnit]) {
    let named = join_ranges(gone.iter().map(|gone| gone.messages.clone()));
    if named.is_empty() {
        return;
    }
    let tokens: u64 = gone.iter().map(|gone| gone.tokens).sum();
    push_detail(
        text,
        &format!("{}, {} tokens", format_message_ranges(&named), format_spaced(tokens)),
    );
}

fn push_cut(text: &mut String, stage: &StageAccount, told: &CompactionResult<'_>) {
    let Some(cut) = stage.cut else { return };
    let why = match cut.requested.cmp(&cut.actual) {
        Ordering::Equal => {
            return push_detail(text, &format!("cut before message {}, as asked for", cut.actual));
        }
        _ if told.splits_unit(cut.requested) => "would have parted what belongs together",
        Ordering::Less => "was not enough",
        Ordering::Greater => "was too much: the newest unit stays",
    };
    let (made, asked) = (cut.actual, cut.requested);
    push_detail(text, &format!("cut before message {made}; {asked} was asked for, and that {why}"));
}

/// Answers that shrank, by their tools, the heaviest first.
fn push_shrunk_by_tool(text: &mut String, shrunk: &[ShortenedResult]) {
    #[derive(Default)]
    struct ToolShrinkTotals {
        answers: usize,
        tokens: u64,
        kept: [usize; 3],
    }
    let mut tools: BTreeMap<&str, ToolShrinkTotals> = BTreeMap::new();
    for answer in shrunk {
        let tool = tools.entry(answer.tool.as_deref().unwrap_or("(no name)")).or_default();
        tool.answers += 1;
        tool.tokens += answer.tokens;
        tool.kept[match answer.keep {
            AnswerRemainder::Text => 0,
            AnswerRemainder::Ends(_) => 1,
            AnswerRemainder::Note => 2,
        }] += 1;
    }
    let mut tools: Vec<(&str, ToolShrinkTotals)> = tools.into_iter().collect();
    tools.sort_by_key(|(_, tool)| std::cmp::Reverse(tool.tokens));
    for (name, tool) in tools.iter().take(MAX_LISTED) {
        let kinds = ["without images", "down to the ends", "down to a note"];
        let kinds: Vec<String> = kinds
            .iter()
            .zip(tool.kept)
            .filter(|(_, number)| *number > 0)
            .map(|(kind, number)| format!("{number} {kind}"))
            .collect();
        let (name, answers) = (cut(&clean(name), 40), pluralize(tool.answers, "answer"));
        let (tokens, kinds) = (format_spaced(tool.tokens), kinds.join(", "));
        push_detail(text, &format!("{name}: {answers} of {tokens} tokens; {kinds}"));
    }
    if tools.len() > MAX_LISTED {
        push_detail(text, &format!("… and {}", pluralize(tools.len() - MAX_LISTED, "more tool")));
    }
}

/// Units that mattered least, the dearest of them first.
fn push_scores(text: &mut String, gone: &[DroppedUnit]) {
    let mut scored: Vec<(&DroppedUnit, UnitScore)> = gone
        .iter()
        .filter_map(|gone| match gone.reason {
            DropReason::Unimportant(score) => Some((gone, score)),
            DropReason::Oldest | DropReason::Condensed => None,
        })
        .collect();
    scored.sort_by_key(|(_, score)| std::cmp::Reverse(score.points()));
    for (gone, score) in scored.iter().take(MAX_LISTED) {
        let points = pluralize(usize::try_from(score.points()).unwrap_or(0), "point");
        push_detail(
            text,
            &format!(
                "{}: {points}, {}",
                format_message_range(&gone.messages),
                format_reasons(*score)
            ),
        );
    }
    if scored.len() > MAX_LISTED {
        push_detail(
            text,
            &format!("… and {} with no more points", pluralize(scored.len() - MAX_LISTED, "unit")),
        );
    }
}

/// Why a unit has its points.
fn format_reasons(score: UnitScore) -> String {
    let mut words: Vec<String> = score.reasons().map(|reason| reason.name().to_owned()).collect();
    if !score.is_stale() {
        words.push(format!("{} for its age", score.recency));
    }
    words.join(", ")
}
