//! One strategy, carried out on a document.

use std::ops::Range;

use foxwedge_core::{
    CompactionText, EditLog, PartKind, Transcript, apply_plan,
    compact::{
        CompactionInput, CompactionPlan, DroppedUnit, HistoryClues, HistoryCut, ShrinkError,
        TokenCounter, TokenLimits, check_summary, plan_budget, plan_elision, plan_importance,
        plan_summary, plan_window,
    },
    summary_text as framed,
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
    outline_options, read, splice,
};

/// A plan is made of estimates. When the result is heavier, the next one aims so much lower; more
/// often than this nobody has to.
const MAX_ATTEMPTS: usize = 4;
/// A summary may cost money: nobody is asked more often than this.
const MAX_SUMMARIES: usize = 2;

/// What a strategy made of a document.
struct StageResult {
    change: CompactionChange,
    plan: CompactionPlan,
    /// Tools of the answers that shrank.
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
        let done = self.plan_and_apply(stage, settings, counter, summarizer)?;
        let mut account = self.stage_account(stage, &done);
        if !done.plan.is_empty() {
            self.apply_change(done.change);
        }
        account.after = self.size.tokens;
        if settings.limits.is_some_and(|limits| self.size.tokens <= limits.max_tokens()) {
            account.shortage = None;
        }
        if let Some(short) = &mut account.shortage {
            short.total_needed = self.size.tokens;
        }
        for gone in account.removed.iter().filter(|_| done.plan.condense) {
            for at in gone.messages.clone() {
                if let Some((_, became)) = self.account.messages.get_mut(at) {
                    *became = MessageOutcome::Summarized;
                }
            }
        }
        self.account.stages.push(account);
        Ok(())
    }

    /// Plans, carries out, looks at the result, and plans again if it is heavier than expected.
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
        let bench = StageContext { work: self, transcript, frame, clues, settings };
        let mut aim = settings.limits;
        let attempts =
            if stage == CompactionStage::Summarize { MAX_SUMMARIES } else { MAX_ATTEMPTS };
        let mut attempt = 1;
        loop {
            let done = bench.attempt(stage, aim, counter, summarizer)?;
            let (Some(limits), Some(aimed), None) = (settings.limits, aim, &done.shortage) else {
                return Ok(done);
            };
            let tokens = done.change.tokens();
            if tokens <= limits.max_tokens() || attempt == attempts {
                return Ok(done);
            }
            attempt += 1;
            aim = Some(aimed.reduce_by(tokens - limits.max_tokens()));
        }
    }

    /// What a strategy did, in terms of the input.
    fn stage_account(&self, stage: CompactionStage, done: &StageResult) -> StageAccount {
        let gone = done.plan.dropped.iter().map(|gone| DroppedUnit {
            messages: self.input_range(gone.messages.clone()),
            tokens: gone.tokens,
            reason: gone.reason.clone(),
        });
        let shrunk =
            done.plan.shrunk.iter().zip(&done.tools).map(|(shrunk, tool)| ShortenedResult {
                message: self
                    .origins
                    .get(shrunk.message)
                    .and_then(|made_of| made_of.first())
                    .copied(),
                tool: tool.clone(),
                tokens: shrunk.tokens,
                keep: shrunk.keep,
            });
        StageAccount {
            stage,
            before: self.size.tokens,
            after: self.size.tokens,
            removed: gone.collect(),
            shortened: shrunk.collect(),
            cut: done.plan.cut.map(|cut| HistoryCut {
                requested: self.input_position(cut.requested),
                actual: self.input_position(cut.actual),
            }),
            summary: done.summary.clone(),
            edits: done.edits.clone(),
            shortage: done.shortage.clone(),
        }
    }

    /// Where a cut in front of a message lies in the input.
    fn input_position(&self, message: usize) -> usize {
        let behind = self.origins.get(message..).unwrap_or(&[]).iter().flatten().next();
        behind.copied().unwrap_or(self.account.messages.len())
    }

    /// Where messages stood in the input; nowhere if they are new.
    pub(super) fn input_range(&self, messages: Range<usize>) -> Range<usize> {
        let known = || self.origins.get(messages.clone()).unwrap_or(&[]).iter().flatten();
        match (known().min(), known().max()) {
            (Some(&first), Some(&last)) => first..last + 1,
            _ => 0..0,
        }
    }
}

/// Everything a strategy needs, ready to be used several times.
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
        let (plan, short) = match self.plan(stage, limits)? {
            Ok(plan) => (plan, None),
            Err(short) => ((*short.best_plan).clone(), Some(short)),
        };
        let draft = self.transcript.draft();
        let language = self.settings.question.policy.language;
        let mut words = CompactionText {
            answers: shortened_text::shortened_texts(draft, &plan, language),
            ..CompactionText::default()
        };
        let mut author = None;
        if plan.condense {
            let (text, tokens) = self.request_summary(&plan, limits, counter, summarizer)?;
            words.summary = Some(text);
            author = Some((summarizer.name().to_owned(), tokens));
        }
        let repair = apply_plan(&self.transcript, &self.work.question, &plan, words);
        if !repair.after.is_clean() {
            return Err(CompactError::Unsound(Box::new(repair.after)));
        }
        let text = splice::apply(draft, self.frame, &repair).to_string();
        let tools = plan.shrunk.iter().map(|shrunk| self.tool_of_result(shrunk.part)).collect();
        let change = CompactionChange::of(
            draft,
            &repair,
            text,
            self.work.wire,
            &self.work.question,
            counter,
        )?;
        Ok(StageResult {
            change,
            tools,
            edits: repair.edits,
            summary: author,
            shortage: short,
            plan,
        })
    }

    fn plan(
        &self,
        stage: CompactionStage,
        limits: Option<TokenLimits>,
    ) -> Result<Result<CompactionPlan, ShrinkError>, CompactError> {
        let is_pin = |origin: &usize| self.work.pins.binary_search(origin).is_ok();
        let origins = self.work.origins.iter().enumerate();
        let pinned = origins.filter(|(_, made_of)| made_of.iter().any(is_pin));
        let pins: Vec<usize> = pinned.map(|(at, _)| at).collect();
        let elision = &self.work.elision;
        let mut scene =
            CompactionInput::new(&self.transcript, &self.work.weights, &self.clues, elision, &pins);
        let needed = limits.ok_or(CompactError::NeedsBudget(stage));
        Ok(match stage {
            CompactionStage::Window(fraction) => plan_window(&mut scene, fraction, limits),
            CompactionStage::Budget => plan_budget(&mut scene, needed?),
            CompactionStage::Elide => plan_elision(&scene, needed?),
            CompactionStage::Importance => plan_importance(&mut scene, needed?),
            CompactionStage::Summarize => {
                let all = limits.map_or(self.work.weights.total(), TokenLimits::goal);
                plan_summary(&mut scene, self.settings.recent.unwrap_or(all / 4), limits)
            }
        })
    }

    /// Asks for a summary of what shall go, and judges it.
    fn request_summary(
        &self,
        plan: &CompactionPlan,
        limits: Option<TokenLimits>,
        counter: &mut dyn TokenCounter,
        summarizer: &mut dyn HistorySummarizer,
    ) -> Result<(String, u64), CompactError> {
        let draft = self.transcript.draft();
        let language = self.settings.question.policy.language;
        let messages = plan.dropped.iter().flat_map(|gone| gone.messages.clone());
        let headers = messages.filter_map(|at| draft.messages.get(at));
        let said = headers.map(|header| decode_message(header.span.of(draft.source), draft.format));
        let history = ModelHistory { messages: said.collect::<Result<_, _>>()? };
        let count = history.messages.len();
        let condensed: u64 = plan.dropped.iter().map(|gone| gone.tokens).sum();
        let room = limits.map_or(u64::MAX, |limits| limits.goal().saturating_sub(plan.expected));
        // Some of it goes into the heading; what is no shorter than half says too much.
        let most = room.saturating_sub(32).min(condensed / 2).max(1);
        let request = SummaryRequest { history, max_tokens: most, language };
        let summary = summarizer
            .summarize(&request)
            .map_err(|why| CompactError::NoSummary { name: summarizer.name().to_owned(), why })?;
        let text = framed(&summary, count, language);
        let tokens = u64::from(counter.count_text(&text));
        check_summary(plan, &summary, tokens)?;
        Ok((text, tokens))
    }

    /// The tool whose answer a part is.
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
