//! One strategy, carried out on a document.

use std::ops::Range;

use foxwedge_core::{
    EditLog, Kind, Transcript, Words, carry_out,
    compact::{
        CannotShrink, Clues, Counter, Cut, Gone, Limits, Plan, Scene, accept, budget, condense,
        elide, importance, window,
    },
    summary as framed,
};

use super::{
    Became, CompactError, Settings, Shortened, Stage, StageAccount, Summarizer, SummaryRequest,
    clues, words,
    work::{Change, Work},
};
use crate::{
    Reading,
    canon::{History, decode_message},
    document::Frame,
    read, splice, want,
};

/// A plan is made of estimates. When the result is heavier, the next one aims so much lower; more
/// often than this nobody has to.
const ATTEMPTS: usize = 4;
/// A summary may cost money: nobody is asked more often than this.
const SUMMARIES: usize = 2;

/// What a strategy made of a document.
struct Done {
    change: Change,
    plan: Plan,
    /// Tools of the answers that shrank.
    tools: Vec<Option<String>>,
    edits: EditLog,
    summary: Option<(String, u64)>,
    short: Option<CannotShrink>,
}

impl Work<'_> {
    /// Runs one strategy.
    pub(super) fn run(
        &mut self,
        stage: Stage,
        settings: &Settings,
        counter: &mut dyn Counter,
        summarizer: &mut dyn Summarizer,
    ) -> Result<(), CompactError> {
        let done = self.made_by(stage, settings, counter, summarizer)?;
        let mut account = self.told(stage, &done);
        if !done.plan.is_empty() {
            self.take(done.change);
        }
        account.after = self.size.tokens;
        if settings.limits.is_some_and(|limits| self.size.tokens <= limits.most()) {
            account.short = None;
        }
        if let Some(short) = &mut account.short {
            short.least = self.size.tokens;
        }
        for gone in account.gone.iter().filter(|_| done.plan.condense) {
            for at in gone.messages.clone() {
                if let Some((_, became)) = self.account.messages.get_mut(at) {
                    *became = Became::Condensed;
                }
            }
        }
        self.account.stages.push(account);
        Ok(())
    }

    /// Plans, carries out, looks at the result, and plans again if it is heavier than expected.
    fn made_by(
        &self,
        stage: Stage,
        settings: &Settings,
        counter: &mut dyn Counter,
        summarizer: &mut dyn Summarizer,
    ) -> Result<Done, CompactError> {
        let Reading { draft, frame, .. } =
            read(&self.text, self.wire, want(self.question.profile))?;
        let transcript = draft.seal(&self.question);
        let transcript = transcript.map_err(|report| CompactError::Unsound(Box::new(report)))?;
        let clues = match stage {
            Stage::Importance => clues(transcript.draft(), transcript.pairing()),
            _ => Clues::default(),
        };
        let bench = Bench { work: self, transcript, frame, clues, settings };
        let mut aim = settings.limits;
        let attempts = if stage == Stage::Summarize { SUMMARIES } else { ATTEMPTS };
        let mut attempt = 1;
        loop {
            let done = bench.attempt(stage, aim, counter, summarizer)?;
            let (Some(limits), Some(aimed), None) = (settings.limits, aim, &done.short) else {
                return Ok(done);
            };
            let tokens = done.change.tokens();
            if tokens <= limits.most() || attempt == attempts {
                return Ok(done);
            }
            attempt += 1;
            aim = Some(aimed.lower(tokens - limits.most()));
        }
    }

    /// What a strategy did, in terms of the input.
    fn told(&self, stage: Stage, done: &Done) -> StageAccount {
        let gone = done.plan.gone.iter().map(|gone| Gone {
            messages: self.in_input(gone.messages.clone()),
            tokens: gone.tokens,
            why: gone.why.clone(),
        });
        let shrunk = done.plan.shrunk.iter().zip(&done.tools).map(|(shrunk, tool)| Shortened {
            message: self.origins.get(shrunk.message).and_then(|made_of| made_of.first()).copied(),
            tool: tool.clone(),
            tokens: shrunk.tokens,
            keep: shrunk.keep,
        });
        StageAccount {
            stage,
            before: self.size.tokens,
            after: self.size.tokens,
            gone: gone.collect(),
            shrunk: shrunk.collect(),
            cut: done
                .plan
                .cut
                .map(|cut| Cut { asked: self.place(cut.asked), made: self.place(cut.made) }),
            summary: done.summary.clone(),
            edits: done.edits.clone(),
            short: done.short.clone(),
        }
    }

    /// Where a cut in front of a message lies in the input.
    fn place(&self, message: usize) -> usize {
        let behind = self.origins.get(message..).unwrap_or(&[]).iter().flatten().next();
        behind.copied().unwrap_or(self.account.messages.len())
    }

    /// Where messages stood in the input; nowhere if they are new.
    pub(super) fn in_input(&self, messages: Range<usize>) -> Range<usize> {
        let known = || self.origins.get(messages.clone()).unwrap_or(&[]).iter().flatten();
        match (known().min(), known().max()) {
            (Some(&first), Some(&last)) => first..last + 1,
            _ => 0..0,
        }
    }
}

/// Everything a strategy needs, ready to be used several times.
struct Bench<'b> {
    work: &'b Work<'b>,
    transcript: Transcript<'b>,
    frame: Frame,
    clues: Clues,
    settings: &'b Settings,
}

impl Bench<'_> {
    fn attempt(
        &self,
        stage: Stage,
        limits: Option<Limits>,
        counter: &mut dyn Counter,
        summarizer: &mut dyn Summarizer,
    ) -> Result<Done, CompactError> {
        let (plan, short) = match self.plan(stage, limits)? {
            Ok(plan) => (plan, None),
            Err(short) => ((*short.best).clone(), Some(short)),
        };
        let draft = self.transcript.draft();
        let language = self.settings.question.policy.language;
        let mut words = Words { answers: words::left(draft, &plan, language), ..Words::default() };
        let mut author = None;
        if plan.condense {
            let (text, tokens) = self.summary(&plan, limits, counter, summarizer)?;
            words.summary = Some(text);
            author = Some((summarizer.name().to_owned(), tokens));
        }
        let repair = carry_out(&self.transcript, &self.work.question, &plan, words);
        if !repair.after.is_clean() {
            return Err(CompactError::Unsound(Box::new(repair.after)));
        }
        let text = splice::apply(draft, self.frame, &repair).to_string();
        let tools = plan.shrunk.iter().map(|shrunk| self.tool(shrunk.part)).collect();
        let change =
            Change::of(draft, &repair, text, self.work.wire, &self.work.question, counter)?;
        Ok(Done { change, tools, edits: repair.edits, summary: author, short, plan })
    }

    fn plan(
        &self,
        stage: Stage,
        limits: Option<Limits>,
    ) -> Result<Result<Plan, CannotShrink>, CompactError> {
        let is_pin = |origin: &usize| self.work.pins.binary_search(origin).is_ok();
        let origins = self.work.origins.iter().enumerate();
        let pinned = origins.filter(|(_, made_of)| made_of.iter().any(is_pin));
        let pins: Vec<usize> = pinned.map(|(at, _)| at).collect();
        let elision = &self.work.elision;
        let mut scene =
            Scene::new(&self.transcript, &self.work.weights, &self.clues, elision, &pins);
        let needed = limits.ok_or(CompactError::NeedsBudget(stage));
        Ok(match stage {
            Stage::Window(fraction) => window(&mut scene, fraction, limits),
            Stage::Budget => budget(&mut scene, needed?),
            Stage::Elide => elide(&scene, needed?),
            Stage::Importance => importance(&mut scene, needed?),
            Stage::Summarize => {
                let all = limits.map_or(self.work.weights.total(), Limits::goal);
                condense(&mut scene, self.settings.recent.unwrap_or(all / 4), limits)
            }
        })
    }

    /// Asks for a summary of what shall go, and judges it.
    fn summary(
        &self,
        plan: &Plan,
        limits: Option<Limits>,
        counter: &mut dyn Counter,
        summarizer: &mut dyn Summarizer,
    ) -> Result<(String, u64), CompactError> {
        let draft = self.transcript.draft();
        let language = self.settings.question.policy.language;
        let messages = plan.gone.iter().flat_map(|gone| gone.messages.clone());
        let headers = messages.filter_map(|at| draft.messages.get(at));
        let said = headers.map(|header| decode_message(header.span.of(draft.source), draft.wire));
        let history = History { messages: said.collect::<Result<_, _>>()? };
        let count = history.messages.len();
        let condensed: u64 = plan.gone.iter().map(|gone| gone.tokens).sum();
        let room = limits.map_or(u64::MAX, |limits| limits.goal().saturating_sub(plan.expected));
        // Some of it goes into the heading; what is no shorter than half says too much.
        let most = room.saturating_sub(32).min(condensed / 2).max(1);
        let request = SummaryRequest { history, most, language };
        let summary = summarizer
            .summarize(&request)
            .map_err(|why| CompactError::NoSummary { name: summarizer.name().to_owned(), why })?;
        let text = framed(&summary, count, language);
        let tokens = u64::from(counter.text(&text));
        accept(plan, &summary, tokens)?;
        Ok((text, tokens))
    }

    /// The tool whose answer a part is.
    fn tool(&self, part: usize) -> Option<String> {
        let (draft, pairing) = (self.transcript.draft(), self.transcript.pairing());
        let at = pairing.answers.partition_point(|answer| answer.part() < part);
        let call = pairing.answers.get(at)?.fate().call()?;
        match &draft.parts.get(pairing.calls.get(call)?.part())?.kind {
            Kind::Call(call) => call.name.as_deref().map(str::to_owned),
            _ => None,
        }
    }
}
