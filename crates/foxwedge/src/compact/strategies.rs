//! What each strategy did: tokens saved, units removed, tool results shortened, summary written.

use std::{cmp::Ordering, collections::BTreeMap};

use foxwedge_core::compact::{AnswerRemainder, DropReason, DroppedUnit, UnitScore};
use foxwedge_formats::compact::{ShortenedResult, StageAccount};

use super::{
    amount::format_spaced,
    compaction_result::{CompactionResult, join_ranges},
    full::{format_message_range, format_message_ranges, push_row, push_steps},
};
use foxwedge_local::language::localize;
use foxwedge_local::output::{DIM, GOOD, WARNING, clean, cut, paint, pluralize};

/// Max tools and units listed per strategy.
const MAX_LISTED: usize = 5;

/// Adds the lines of one strategy.
pub(super) fn draw(text: &mut String, stage: &StageAccount, result: &CompactionResult<'_>) {
    let saved = stage.before.saturating_sub(stage.after);
    let mut parts = Vec::new();
    if !stage.shortened.is_empty() {
        parts.push(format!("{} shortened", pluralize(stage.shortened.len(), "tool result")));
    }
    if !stage.removed.is_empty() {
        let verb = if stage.summary.is_some() { "summarized" } else { "removed" };
        parts.push(format!("{} {verb}", pluralize(stage.removed.len(), "unit")));
    }
    if parts.is_empty() {
        parts.push("nothing to remove".to_owned());
    }
    let saved = paint(GOOD, format!("{:>9}", format!("−{}", format_spaced(saved))));
    let (before, after) = (format_spaced(stage.before), format_spaced(stage.after));
    let sizes = paint(DIM, format_args!("({before} → {after})"));
    let parts: Vec<_> = parts.into_iter().map(localize).collect();
    push_row(text, stage.stage.name(), &format!("{saved}  {} {sizes}", parts.join(", ")));
    push_removed(text, &stage.removed);
    push_cut(text, stage, result);
    if let Some((author, tokens)) = &stage.summary {
        let author = cut(&clean(author), 60);
        push_detail(text, &format!("summary of {} tokens by `{author}`", format_spaced(*tokens)));
    }
    push_shrunk_by_tool(text, &stage.shortened);
    push_scores(text, &stage.removed);
    if let Some(shortage) = &stage.shortage {
        let (min, max) = (format_spaced(shortage.total_needed), format_spaced(shortage.budget));
        let label = paint(WARNING, "not enough by itself:");
        push_detail(text, &format!("{label} {min} tokens must stay, and {max} are allowed"));
    }
    if !stage.edits.is_empty() {
        push_steps(text, "", "repaired afterwards:", &stage.edits, result.draft().format);
    }
}

/// Adds an indented line below the first.
fn push_detail(text: &mut String, detail: &str) {
    push_row(text, "", &format!("{:11}{}", "", localize(detail)));
}

fn push_removed(text: &mut String, removed: &[DroppedUnit]) {
    let ranges = join_ranges(removed.iter().map(|removed| removed.messages.clone()));
    if ranges.is_empty() {
        return;
    }
    let tokens: u64 = removed.iter().map(|removed| removed.tokens).sum();
    push_detail(
        text,
        &format!("{}, {} tokens", format_message_ranges(&ranges), format_spaced(tokens)),
    );
}

fn push_cut(text: &mut String, stage: &StageAccount, result: &CompactionResult<'_>) {
    let Some(cut) = stage.cut else { return };
    let reason = match cut.requested.cmp(&cut.actual) {
        Ordering::Equal => {
            return push_detail(text, &format!("cut before message {}, as requested", cut.actual));
        }
        _ if result.splits_unit(cut.requested) => "would have split a unit",
        Ordering::Less => "was not enough",
        Ordering::Greater => "was too much: the newest unit stays",
    };
    let (actual, requested) = (cut.actual, cut.requested);
    push_detail(
        text,
        &format!("cut before message {actual}; {requested} was requested, but that {reason}"),
    );
}

/// Adds the shortened tool results by tool, the largest first.
fn push_shrunk_by_tool(text: &mut String, shortened: &[ShortenedResult]) {
    #[derive(Default)]
    struct ToolShrinkTotals {
        results: usize,
        tokens: u64,
        remainders: [usize; 3],
    }
    let mut tools: BTreeMap<&str, ToolShrinkTotals> = BTreeMap::new();
    for answer in shortened {
        let tool = tools.entry(answer.tool.as_deref().unwrap_or("(no name)")).or_default();
        tool.results += 1;
        tool.tokens += answer.tokens;
        tool.remainders[match answer.keep {
            AnswerRemainder::Text => 0,
            AnswerRemainder::Ends(_) => 1,
            AnswerRemainder::Note => 2,
        }] += 1;
    }
    let mut tools: Vec<(&str, ToolShrinkTotals)> = tools.into_iter().collect();
    tools.sort_by_key(|(_, tool)| std::cmp::Reverse(tool.tokens));
    for (name, tool) in tools.iter().take(MAX_LISTED) {
        let kinds = ["without images", "cut to their ends", "replaced by a note"];
        let kinds: Vec<String> = kinds
            .iter()
            .zip(tool.remainders)
            .filter(|(_, number)| *number > 0)
            .map(|(kind, number)| localize(format!("{number} {kind}")).into_owned())
            .collect();
        let (name, results) = (cut(&clean(name), 40), pluralize(tool.results, "tool result"));
        let (tokens, kinds) = (format_spaced(tool.tokens), kinds.join(", "));
        push_detail(text, &format!("{name}: {results} of {tokens} tokens; {kinds}"));
    }
    if tools.len() > MAX_LISTED {
        push_detail(text, &format!("… and {}", pluralize(tools.len() - MAX_LISTED, "more tool")));
    }
}

/// Adds the units removed as unimportant, those with the highest score first.
fn push_scores(text: &mut String, removed: &[DroppedUnit]) {
    let mut scored: Vec<(&DroppedUnit, UnitScore)> = removed
        .iter()
        .filter_map(|removed| match removed.reason {
            DropReason::Unimportant(score) => Some((removed, score)),
            DropReason::Oldest | DropReason::Condensed => None,
        })
        .collect();
    scored.sort_by_key(|(_, score)| std::cmp::Reverse(score.points()));
    for (removed, score) in scored.iter().take(MAX_LISTED) {
        let points = pluralize(usize::try_from(score.points()).unwrap_or(0), "point");
        push_detail(
            text,
            &format!(
                "{}: {points}, {}",
                format_message_range(&removed.messages),
                format_reasons(*score)
            ),
        );
    }
    if scored.len() > MAX_LISTED {
        push_detail(
            text,
            &format!(
                "… and {} with the same or fewer points",
                pluralize(scored.len() - MAX_LISTED, "unit")
            ),
        );
    }
}

/// The reasons for the score of a unit.
fn format_reasons(score: UnitScore) -> String {
    let mut parts: Vec<_> = score.reasons().map(|reason| localize(reason.name())).collect();
    if !score.is_stale() {
        parts.push(localize(format!("{} for recency", score.recency)));
    }
    parts.join(", ")
}
