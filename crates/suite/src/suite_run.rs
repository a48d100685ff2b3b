//! Asks an engine every question of the suite, and scores its answers.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::{
    EngineAnswer, EngineReply, HistoryFormat, SuiteEngine, SuiteLevel, SuiteQuestion, SuiteTrack,
    SuiteVector, SuiteVerdict, judge_answer,
};

/// What an engine must keep to. The names are part of the protocol.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SuiteLaw {
    /// There is an answer, in time, and of the right kind.
    Answer,
    /// The verdict is right.
    Verdict,
    /// The message that is named is one that is wrong.
    Message,
    /// The output is a history of the format.
    Readable,
    /// The provider accepts the output.
    Valid,
    /// Every text survives, once.
    Texts,
    /// Every real result survives, once, at its call.
    Results,
    /// Every call with a result survives.
    Calls,
    /// No call and no speech is invented.
    Invented,
    /// Texts and calls keep their order.
    Order,
    /// Ids that are not wrong do not change.
    Ids,
    /// A valid history is not changed.
    Untouched,
    /// A second repair changes nothing.
    Idempotent,
    /// A cut leaves no more messages than asked for.
    Shorter,
}

impl SuiteLaw {
    /// Every law.
    pub const ALL: [SuiteLaw; 14] = [
        SuiteLaw::Answer,
        SuiteLaw::Verdict,
        SuiteLaw::Message,
        SuiteLaw::Readable,
        SuiteLaw::Valid,
        SuiteLaw::Texts,
        SuiteLaw::Results,
        SuiteLaw::Calls,
        SuiteLaw::Invented,
        SuiteLaw::Order,
        SuiteLaw::Ids,
        SuiteLaw::Untouched,
        SuiteLaw::Idempotent,
        SuiteLaw::Shorter,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            SuiteLaw::Answer => "answer",
            SuiteLaw::Verdict => "verdict",
            SuiteLaw::Message => "message",
            SuiteLaw::Readable => "readable",
            SuiteLaw::Valid => "valid",
            SuiteLaw::Texts => "texts",
            SuiteLaw::Results => "results",
            SuiteLaw::Calls => "calls",
            SuiteLaw::Invented => "invented",
            SuiteLaw::Order => "order",
            SuiteLaw::Ids => "ids",
            SuiteLaw::Untouched => "untouched",
            SuiteLaw::Idempotent => "idempotent",
            SuiteLaw::Shorter => "shorter",
        }
    }
}

/// A law that an answer breaks, and how.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LawBreach {
    /// The law.
    pub law: SuiteLaw,
    /// What is wrong, in one sentence.
    pub what: String,
}

impl LawBreach {
    /// A breach of a law.
    pub fn new(law: SuiteLaw, what: impl Into<String>) -> LawBreach {
        LawBreach { law, what: what.into() }
    }
}

/// How a question ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum QuestionOutcome {
    /// The answer is right.
    Passed,
    /// The answer breaks laws.
    Failed(Vec<LawBreach>),
    /// The engine does not do this.
    Skipped,
}

/// One question and how it ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuestionResult {
    /// The vector.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its level.
    pub level: SuiteLevel,
    /// Its format.
    pub format: HistoryFormat,
    /// The track.
    pub track: SuiteTrack,
    /// The profile.
    pub profile: String,
    /// How it ended.
    pub outcome: QuestionOutcome,
}

impl QuestionResult {
    /// The question, as in a file of expected failures.
    pub fn key(&self) -> String {
        question_key(&self.id, self.track, &self.profile)
    }

    /// The laws that were broken.
    pub fn breaches(&self) -> &[LawBreach] {
        match &self.outcome {
            QuestionOutcome::Failed(breaches) => breaches,
            QuestionOutcome::Passed | QuestionOutcome::Skipped => &[],
        }
    }
}

/// Which questions are asked. An empty list means all.
#[derive(Clone, Debug, Default)]
pub struct QuestionFilter {
    /// Vectors.
    pub ids: Vec<String>,
    /// Tracks.
    pub tracks: Vec<SuiteTrack>,
    /// Levels.
    pub levels: Vec<SuiteLevel>,
    /// Formats.
    pub formats: Vec<HistoryFormat>,
    /// Profiles.
    pub profiles: Vec<String>,
}

impl QuestionFilter {
    pub(crate) fn takes(&self, vector: &SuiteVector, track: SuiteTrack, profile: &str) -> bool {
        (self.ids.is_empty() || self.ids.contains(&vector.id))
            && (self.tracks.is_empty() || self.tracks.contains(&track))
            && (self.levels.is_empty() || self.levels.contains(&vector.level))
            && (self.formats.is_empty() || self.formats.contains(&vector.format))
            && (self.profiles.is_empty() || self.profiles.iter().any(|it| it == profile))
    }
}

/// The results of one engine.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SuiteResults {
    /// Name and version, if the engine states them.
    pub engine: Option<String>,
    /// Every question that was asked, in order.
    pub questions: Vec<QuestionResult>,
    /// Questions without evidence, which are not asked.
    pub unknown: usize,
}

impl SuiteResults {
    /// Questions with a right answer.
    pub fn passed(&self) -> usize {
        self.questions.iter().filter(|it| it.outcome == QuestionOutcome::Passed).count()
    }

    /// Questions that the engine skipped.
    pub fn skipped(&self) -> usize {
        self.questions.iter().filter(|it| it.outcome == QuestionOutcome::Skipped).count()
    }

    /// Questions with a wrong answer.
    pub fn failed(&self) -> impl Iterator<Item = &QuestionResult> {
        self.questions.iter().filter(|it| !it.breaches().is_empty())
    }

    /// The tracks that were asked for, in order.
    pub fn tracks(&self) -> BTreeSet<SuiteTrack> {
        self.questions.iter().map(|it| it.track).collect()
    }
}

/// A question by its place: the vector, the track and the profile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AskedQuestion {
    pub(crate) vector: usize,
    pub(crate) track: SuiteTrack,
    pub(crate) profile: String,
}

/// A question, as in a file of expected failures.
pub(crate) fn question_key(id: &str, track: SuiteTrack, profile: &str) -> String {
    format!("{id} {} {profile}", track.name())
}

/// The questions that the filter takes, and the number of those that have no evidence.
pub(crate) fn select_questions(
    vectors: &[SuiteVector],
    filter: &QuestionFilter,
) -> (Vec<AskedQuestion>, usize) {
    let (mut questions, mut unknown) = (Vec::new(), 0);
    for (at, vector) in vectors.iter().enumerate() {
        for &track in &vector.tracks {
            for (profile, known) in &vector.verdicts {
                let undecided = track == SuiteTrack::Repair && known.needs_decision;
                if undecided || !filter.takes(vector, track, profile) {
                    continue;
                }
                if known.verdict == SuiteVerdict::Unknown {
                    unknown += 1;
                    continue;
                }
                questions.push(AskedQuestion { vector: at, track, profile: profile.clone() });
            }
        }
    }
    (questions, unknown)
}

impl SuiteResults {
    /// Judges an answer and keeps the result.
    pub(crate) fn add(
        &mut self,
        vector: &SuiteVector,
        question: &SuiteQuestion<'_>,
        reply: EngineReply,
        engine: &mut dyn SuiteEngine,
    ) {
        let outcome = match &reply.answer {
            EngineAnswer::Skip(_) => QuestionOutcome::Skipped,
            answer => match judge_answer(vector, question, answer, engine) {
                breaches if breaches.is_empty() => QuestionOutcome::Passed,
                breaches => QuestionOutcome::Failed(breaches),
            },
        };
        self.engine = self.engine.take().or(reply.engine);
        self.questions.push(QuestionResult {
            id: vector.id.clone(),
            title: vector.title.clone(),
            level: vector.level,
            format: vector.format,
            track: question.track,
            profile: question.profile.to_owned(),
            outcome,
        });
    }
}

/// Asks every question that the filter takes. `observe` sees each result as it comes.
pub fn run_suite(
    vectors: &[SuiteVector],
    engine: &mut dyn SuiteEngine,
    filter: &QuestionFilter,
    mut observe: impl FnMut(&QuestionResult),
) -> SuiteResults {
    let (questions, unknown) = select_questions(vectors, filter);
    let mut results = SuiteResults { unknown, ..SuiteResults::default() };
    for asked in &questions {
        let Some(vector) = vectors.get(asked.vector) else { continue };
        let question = SuiteQuestion::new(vector, asked.track, &asked.profile);
        let reply = engine.ask(&question);
        results.add(vector, &question, reply, engine);
        results.questions.last().into_iter().for_each(&mut observe);
    }
    results
}
