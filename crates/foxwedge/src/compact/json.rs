//! The report on a compaction as JSON. Field names are stable.

use std::ops::Range;

use foxwedge_core::{
    Edit, Finding,
    compact::{AnswerRemainder, DropReason, DroppedUnit, HistoryCut, ShrinkError},
};
use foxwedge_formats::compact::{
    CachedPrefix, HistorySize, MessageOutcome, ShortenedResult, StageAccount,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::compaction_result::CompactionResult;

/// The whole document.
#[derive(Serialize)]
pub(crate) struct CompactionDocument<'t> {
    version: u32,
    path: &'t str,
    format: &'static str,
    profile: &'static str,
    counting: TokenCountingEntry,
    limits: TokenLimitsEntry,
    changed: bool,
    dry_run: bool,
    before: ConversationSizeEntry,
    after: ConversationSizeEntry,
    strategies: Vec<CompactionStrategyEntry<'t>>,
    given_up: Vec<[usize; 2]>,
    prefix: Option<CachedPrefixEntry>,
    repaired: Vec<CompactionEditEntry<'t>>,
    /// Number of all repairs, if not all are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    repaired_total: Option<usize>,
    remaining: Vec<RemainingFindingEntry<'t>>,
    /// Number of all remaining findings, if not all are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    remaining_total: Option<usize>,
    held: Vec<ProtectedUnitEntry>,
    messages: Vec<MessageSizeEntry>,
}

#[derive(Serialize)]
struct TokenCountingEntry {
    name: &'static str,
    exact: bool,
}

#[derive(Serialize)]
struct TokenLimitsEntry {
    most: Option<u64>,
    goal: Option<u64>,
    window: Option<u64>,
    reserve: Option<u64>,
}

#[derive(Serialize)]
struct ConversationSizeEntry {
    messages: usize,
    units: usize,
    calls: usize,
    tokens: u64,
    around: u64,
}

#[derive(Serialize)]
struct CompactionStrategyEntry<'t> {
    name: &'static str,
    before: u64,
    after: u64,
    gone: Vec<RemovedUnitEntry>,
    shrunk: Vec<ShrunkAnswerEntry<'t>>,
    cut: Option<CutPositionEntry>,
    summary: Option<SummaryEntry<'t>>,
    repairs: Vec<CompactionEditEntry<'t>>,
    short: Option<ShortageEntry>,
}

#[derive(Serialize)]
struct RemovedUnitEntry {
    messages: [usize; 2],
    tokens: u64,
    why: &'static str,
    points: Option<u32>,
    reasons: Option<Vec<&'static str>>,
}

#[derive(Serialize)]
struct ShrunkAnswerEntry<'t> {
    message: Option<usize>,
    tool: Option<&'t str>,
    tokens: u64,
    /// `"text"`, `"note"`, or `{"ends": tokens}`.
    keep: Value,
}

#[derive(Serialize)]
struct CutPositionEntry {
    asked: usize,
    made: usize,
}

#[derive(Serialize)]
struct SummaryEntry<'t> {
    by: &'t str,
    tokens: u64,
}

#[derive(Serialize)]
struct ShortageEntry {
    messages: [usize; 2],
    hold: &'static str,
    needs: u64,
    least: u64,
    budget: u64,
}

#[derive(Serialize)]
struct CompactionEditEntry<'t> {
    code: String,
    strategy: &'static str,
    message_index: usize,
    call_ids: &'t [String],
    note: &'t str,
}

#[derive(Serialize)]
struct RemainingFindingEntry<'t> {
    code: String,
    name: &'static str,
    message: &'t str,
    message_index: usize,
    applicability: &'static str,
}

#[derive(Serialize)]
struct ProtectedUnitEntry {
    messages: [usize; 2],
    why: &'static str,
}

#[derive(Serialize)]
struct CachedPrefixEntry {
    message: usize,
    tokens: u64,
}

#[derive(Serialize)]
struct MessageSizeEntry {
    tokens: u64,
    became: &'static str,
    left: u64,
}

/// The report on a compaction, also if nothing was changed.
pub(crate) fn document<'t>(result: &CompactionResult<'t>) -> CompactionDocument<'t> {
    let account = &result.compacted.account;
    let changed = result.is_changed();
    let limits = result.budget.limits;
    let mut document = CompactionDocument {
        version: 1,
        path: result.path,
        format: result.format,
        profile: result.profile.name(),
        counting: TokenCountingEntry {
            name: result.budget.tokenizer.counting().name(),
            exact: account.exact,
        },
        limits: TokenLimitsEntry {
            most: limits.map(|limits| limits.max_tokens()),
            goal: limits.map(|limits| limits.goal()),
            window: result.budget.window,
            reserve: result.budget.reserve,
        },
        changed,
        dry_run: result.dry_run,
        before: size_entry(&account.before),
        after: size_entry(if changed { &account.after } else { &account.before }),
        strategies: Vec::new(),
        given_up: Vec::new(),
        prefix: None,
        repaired: Vec::new(),
        repaired_total: None,
        remaining_total: Some(account.remaining.total())
            .filter(|_| account.remaining.unlisted() > 0),
        remaining: account.remaining.findings.iter().map(finding_entry).collect(),
        held: result
            .protected_units()
            .iter()
            .map(|(messages, hold)| protected_unit_entry(messages, hold.name()))
            .collect(),
        messages: message_entries(result, changed),
    };
    if changed {
        document.strategies = account.stages.iter().map(strategy_entry).collect();
        document.given_up = account.removed_ranges().iter().map(range_bounds).collect();
        document.prefix = account
            .prefix
            .map(|CachedPrefix { message, tokens }| CachedPrefixEntry { message, tokens });
        document.repaired =
            result.file_repairs.iter().chain(&account.repaired).map(edit_entry).collect();
        let all = result.file_repairs.len() + account.repaired.len();
        document.repaired_total = Some(all).filter(|&all| all > document.repaired.len());
    }
    document
}

/// The report on a failed compaction.
pub(crate) fn error_document(
    path: Option<&str>,
    message: &str,
    help: Option<&str>,
    short: Option<&ShrinkError>,
) -> Value {
    let short = short.map(shortage_entry);
    json!({
        "version": 1,
        "path": path,
        "changed": false,
        "error": { "message": message, "help": help, "short": short },
    })
}

fn size_entry(size: &HistorySize) -> ConversationSizeEntry {
    let HistorySize { messages, units, calls, tokens, surroundings: around } = *size;
    ConversationSizeEntry { messages, units, calls, tokens, around }
}

fn strategy_entry(stage: &StageAccount) -> CompactionStrategyEntry<'_> {
    CompactionStrategyEntry {
        name: stage.stage.name(),
        before: stage.before,
        after: stage.after,
        gone: stage.removed.iter().map(removed_unit_entry).collect(),
        shrunk: stage.shortened.iter().map(shrunk_answer_entry).collect(),
        cut: stage
            .cut
            .map(|HistoryCut { requested: asked, actual: made }| CutPositionEntry { asked, made }),
        summary: stage.summary.as_ref().map(|(by, tokens)| SummaryEntry { by, tokens: *tokens }),
        repairs: stage.edits.iter().map(edit_entry).collect(),
        short: stage.shortage.as_ref().map(shortage_entry),
    }
}

fn removed_unit_entry(unit: &DroppedUnit) -> RemovedUnitEntry {
    let (why, score) = match unit.reason {
        DropReason::Oldest => ("oldest", None),
        DropReason::Condensed => ("condensed", None),
        DropReason::Unimportant(score) => ("unimportant", Some(score)),
    };
    RemovedUnitEntry {
        messages: range_bounds(&unit.messages),
        tokens: unit.tokens,
        why,
        points: score.map(|score| score.points()),
        reasons: score.map(|score| score.reasons().map(|reason| reason.name()).collect()),
    }
}

fn shrunk_answer_entry(answer: &ShortenedResult) -> ShrunkAnswerEntry<'_> {
    let keep = match answer.keep {
        AnswerRemainder::Text => json!("text"),
        AnswerRemainder::Ends(tokens) => json!({ "ends": tokens }),
        AnswerRemainder::Note => json!("note"),
    };
    let ShortenedResult { message, tool, tokens, keep: _ } = answer;
    ShrunkAnswerEntry { message: *message, tool: tool.as_deref(), tokens: *tokens, keep }
}

fn shortage_entry(short: &ShrinkError) -> ShortageEntry {
    ShortageEntry {
        messages: range_bounds(&short.messages),
        hold: short.hold.name(),
        needs: short.needed,
        least: short.total_needed,
        budget: short.budget,
    }
}

fn edit_entry(edit: &Edit) -> CompactionEditEntry<'_> {
    CompactionEditEntry {
        code: format!("FW{}", edit.code),
        strategy: edit.strategy.name(),
        message_index: edit.message,
        call_ids: &edit.ids,
        note: &edit.note,
    }
}

fn finding_entry(finding: &Finding) -> RemainingFindingEntry<'_> {
    RemainingFindingEntry {
        code: finding.rule.label(),
        name: finding.rule.name,
        message: &finding.message,
        message_index: finding.location.message,
        applicability: finding.fix.applicability.name(),
    }
}

fn protected_unit_entry(messages: &Range<usize>, why: &'static str) -> ProtectedUnitEntry {
    ProtectedUnitEntry { messages: range_bounds(messages), why }
}

fn message_entries(result: &CompactionResult<'_>, changed: bool) -> Vec<MessageSizeEntry> {
    let messages = result.compacted.account.messages.iter().enumerate();
    let message = |(at, &(tokens, outcome)): (usize, &(u64, MessageOutcome))| {
        let left = result.tokens_left.get(at).copied().unwrap_or(0);
        match changed {
            true => MessageSizeEntry { tokens, became: became_name(outcome), left },
            false => MessageSizeEntry { tokens, became: "kept", left: tokens },
        }
    };
    messages.map(message).collect()
}

fn became_name(outcome: MessageOutcome) -> &'static str {
    match outcome {
        MessageOutcome::Unchanged => "kept",
        MessageOutcome::Changed => "changed",
        MessageOutcome::Summarized => "condensed",
        MessageOutcome::Removed => "gone",
    }
}

/// Index of the first message and the end of the range.
fn range_bounds(messages: &Range<usize>) -> [usize; 2] {
    [messages.start, messages.end]
}
