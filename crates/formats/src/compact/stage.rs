//! Runs one strategy on a document.

use std::ops::Range;

use foxwedge_core::{
    CompactionText, EditLog, PartKind, Transcript, apply_plan,
    compact::{
        CompactionInput, CompactionPlan, DroppedUnit, HistoryClues, HistoryCut, ShrinkError,
        TokenCounter, TokenLimits, check_summary, plan_budget, plan_elision, plan_importance,
        plan_summary, plan_window,
    },
    summary_text,
};

use super::{
    CompactError, CompactionSettings, CompactionStage, HistorySummarizer, MessageOutcome,
    ShortenedResult, StageAccount, SummaryRequest, read_clues, shortened_text,
    state::{CompactionChange, CompactionState},
};
use crate::{
    OutlinedDocument,
    document::DocumentFrame,
    model::{ModelHistory, decode_message},
    outline_options, patched_document, read,
};

/// Maximum number of plans. A plan is based on estimates; if the result is too large, the next plan
/// aims lower by the difference.
const MAX_ATTEMPTS: usize = 4;
/// Maximum number of summaries per stage, because a summary may cost money.
const MAX_SUMMARIES: usize = 2;

/// Result of a strategy.
struct StageResult {
    change: CompactionChange,
    plan: CompactionPlan,
    /// Tools of the shortened results.
    tools: Vec<Option<String>>,
    edits: EditLog,
    summary: Option<(String, u64)>,
    shortage: Option<ShrinkError>,
}

impl CompactionState<'_> {
    /// Runs one strategy.
    pub(super) fn run_stage(
        &mut self,
        stage: CompactionStage,
        settings: &CompactionSettings,
        counter: &mut dyn TokenCounter,
        summarizer: &mut dyn HistorySummarizer,
    ) -> Result<(), CompactError> {
        let result = self.plan_and_apply(stage, settings, counter, summarizer)?;
        let mut account = self.stage_account(stage, &result);
        if !result.plan.is_empty() {
            self.apply_change(result.change);
        }
        account.after = self.size.tokens;
        if settings.limits.is_some_and(|limits| self.size.tokens <= limits.max_tokens()) {
            account.shortage = None;
        }
        if let Some(shortage) = &mut account.shortage {
            shortage.total_needed = self.size.tokens;
        }
        for unit in account.removed.iter().filter(|_| result.plan.condense) {
            for at in unit.messages.clone() {
                if let Some((_, outcome)) = self.account.messages.get_mut(at) {
                    *outcome = MessageOutcome::Summarized;
                }
            }
        }
        self.account.stages.push(account);
        Ok(())
    }

    /// Plans and applies the strategy. Plans again if the result is larger than estimated.
    fn plan_and_apply(
        &self,
        stage: CompactionStage,
        settings: &CompactionSettings,
        counter: &mut dyn TokenCounter,
        summarizer: &mut dyn HistorySummarizer,
    ) -> Result<StageResult, CompactError> {
        let OutlinedDocument { draft, frame, .. } =
            read(&self.text, self.wire, outline_options(self.question.profile))?;
        let transcript = draft.validate(&self.question);
        let transcript = transcript.map_err(|report| CompactError::Unsound(Box::new(report)))?;
        let clues = match stage {
            CompactionStage::Importance => read_clues(transcript.draft(), transcript.pairing()),
            _ => HistoryClues::default(),
        };
        let context = StageContext { work: self, transcript, frame, clues, settings };
        let mut target = settings.limits;
        let max_attempts =
            if stage == CompactionStage::Summarize { MAX_SUMMARIES } else { MAX_ATTEMPTS };
        let mut attempt = 1;
        loop {
            let result = context.attempt(stage, target, counter, summarizer)?;
            let (Some(limits), Some(current), None) = (settings.limits, target, &result.shortage)
            else {
                return Ok(result);
            };
            let tokens = result.change.tokens();
            if tokens <= limits.max_tokens() || attempt == max_attempts {
                return Ok(result);
            }
            attempt += 1;
            target = Some(current.reduce_by(tokens - limits.max_tokens()));
        }
    }

    /// Accounts for a strategy in terms of the input.
    fn stage_account(&self, stage: CompactionStage, result: &StageResult) -> StageAccount {
        let removed = result.plan.dropped.iter().map(|removed| DroppedUnit {
            messages: self.input_range(removed.messages.clone()),
            tokens: removed.tokens,
            reason: removed.reason.clone(),
        });
        let shortened =
            result.plan.shrunk.iter().zip(&result.tools).map(|(shortened, tool)| ShortenedResult {
                message: self
                    .origins
                    .get(shortened.message)
                    .and_then(|origins| origins.first())
                    .copied(),
                tool: tool.clone(),
                tokens: shortened.tokens,
                keep: shortened.keep,
            });
        StageAccount {
            stage,
            before: self.size.tokens,
            after: self.size.tokens,
            removed: removed.collect(),
            shortened: shortened.collect(),
            cut: result.plan.cut.map(|cut| HistoryCut {
                requested: self.input_position(cut.requested),
                actual: self.input_position(cut.actual),
            }),
            summary: result.summary.clone(),
            edits: result.edits.clone(),
            shortage: result.shortage.clone(),
        }
    }

    /// Position in the input of a cut before a message.
    fn input_position(&self, message: usize) -> usize {
        let next = self.origins.get(message..).unwrap_or(&[]).iter().flatten().next();
        next.copied().unwrap_or(self.account.messages.len())
    }

    /// Range of the input that messages come from; empty if they are new.
    pub(super) fn input_range(&self, messages: Range<usize>) -> Range<usize> {
        let known = || self.origins.get(messages.clone()).unwrap_or(&[]).iter().flatten();
        match (known().min(), known().max()) {
            (Some(&first), Some(&last)) => first..last + 1,
            _ => 0..0,
        }
    }
}

/// Everything a strategy needs; can be used several times.
struct StageContext<'b> {
    work: &'b CompactionState<'b>,
    transcript: Transcript<'b>,
    frame: DocumentFrame,
    clues: HistoryClues,
    settings: &'b CompactionSettings,
}

impl StageContext<'_> {
    fn attempt(
        &self,
        stage: CompactionStage,
        limits: Option<TokenLimits>,
        counter: &mut dyn TokenCounter,
        summarizer: &mut dyn HistorySummarizer,
    ) -> Result<StageResult, CompactError> {
        let (plan, shortage) = match self.plan(stage, limits)? {
            Ok(plan) => (plan, None),
            Err(shortage) => ((*shortage.best_plan).clone(), Some(shortage)),
        };
        let draft = self.transcript.draft();
        let language = self.settings.question.policy.language;
        let mut texts = CompactionText {
            answers: shortened_text::shortened_texts(draft, &plan, language),
            ..CompactionText::default()
        };
        let mut summary = None;
        if plan.condense {
            let (text, tokens) = self.request_summary(&plan, limits, counter, summarizer)?;
            texts.summary = Some(text);
            summary = Some((summarizer.name().to_owned(), tokens));
        }
        let repair = apply_plan(&self.transcript, &self.work.question, &plan, texts);
        if !repair.after.is_clean() {
            return Err(CompactError::Unsound(Box::new(repair.after)));
        }
        let text = patched_document::apply(draft, self.frame, &repair).to_string();
        let tools = plan.shrunk.iter().map(|shrunk| self.tool_of_result(shrunk.part)).collect();
        let change = CompactionChange::of(
            draft,
            &repair,
            text,
            self.work.wire,
            &self.work.question,
            counter,
        )?;
        Ok(StageResult { change, tools, edits: repair.edits, summary, shortage, plan })
    }

    fn plan(
        &self,
        stage: CompactionStage,
        limits: Option<TokenLimits>,
    ) -> Result<Result<CompactionPlan, ShrinkError>, CompactError> {
        let is_pin = |origin: &usize| self.work.pins.binary_search(origin).is_ok();
        let origins = self.work.origins.iter().enumerate();
        let pinned = origins.filter(|(_, sources)| sources.iter().any(is_pin));
        let pins: Vec<usize> = pinned.map(|(at, _)| at).collect();
        let elision = &self.work.elision;
        let mut input =
            CompactionInput::new(&self.transcript, &self.work.weights, &self.clues, elision, &pins);
        let required = limits.ok_or(CompactError::NeedsBudget(stage));
        Ok(match stage {
            CompactionStage::Window(fraction) => plan_window(&mut input, fraction, limits),
            CompactionStage::Budget => plan_budget(&mut input, required?),
            CompactionStage::Elide => plan_elision(&input, required?),
            CompactionStage::Importance => plan_importance(&mut input, required?),
            CompactionStage::Summarize => {
                let all = limits.map_or(self.work.weights.total(), TokenLimits::goal);
                plan_summary(&mut input, self.settings.recent.unwrap_or(all / 4), limits)
            }
        })
    }

    /// Requests a summary of the messages to remove, and validates it.
    fn request_summary(
        &self,
        plan: &CompactionPlan,
        limits: Option<TokenLimits>,
        counter: &mut dyn TokenCounter,
        summarizer: &mut dyn HistorySummarizer,
    ) -> Result<(String, u64), CompactError> {
        let draft = self.transcript.draft();
        let language = self.settings.question.policy.language;
        let messages = plan.dropped.iter().flat_map(|unit| unit.messages.clone());
        let headers = messages.filter_map(|at| draft.messages.get(at));
        let decoded =
            headers.map(|header| decode_message(header.span.of(draft.source), draft.format));
        let history = ModelHistory { messages: decoded.collect::<Result<_, _>>()? };
        let count = history.messages.len();
        let condensed: u64 = plan.dropped.iter().map(|unit| unit.tokens).sum();
        let room = limits.map_or(u64::MAX, |limits| limits.goal().saturating_sub(plan.expected));
        // The heading takes some of the room. A summary longer than half of its source is too long.
        let max_tokens = room.saturating_sub(32).min(condensed / 2).max(1);
        let request = SummaryRequest { history, max_tokens, language };
        let summary = summarizer
            .summarize(&request)
            .map_err(|why| CompactError::NoSummary { name: summarizer.name().to_owned(), why })?;
        let text = summary_text(&summary, count, language);
        let tokens = u64::from(counter.count_text(&text));
        check_summary(plan, &summary, tokens)?;
        Ok((text, tokens))
    }

    /// The tool whose result a part is.
    fn tool_of_result(&self, part: usize) -> Option<String> {
        let (draft, pairing) = (self.transcript.draft(), self.transcript.pairing());
        let at = pairing.answers.partition_point(|answer| answer.part() < part);
        let call = pairing.answers.get(at)?.result_match().call()?;
        match &draft.parts.get(pairing.calls.get(call)?.part())?.kind {
            PartKind::Call(call) => call.name.as_deref().map(str::to_owned),
            _ => None,
        }
    }
}
