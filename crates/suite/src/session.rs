//! The suite one line at a time, for callers that cannot wait for an engine: a page in a browser.

use crate::{
    EngineAnswer, EngineReply, QuestionFilter, SuiteEngine, SuiteQuestion, SuiteResults,
    SuiteVector,
    suite_run::{AskedQuestion, select_questions},
};

/// A run of the suite that is driven from outside: take a question, bring the answer, go on.
#[derive(Debug, Default)]
pub struct SuiteSession {
    vectors: Vec<SuiteVector>,
    questions: Vec<AskedQuestion>,
    next: usize,
    /// The answer to a question whose output is given to the engine once more.
    first: Option<(EngineReply, String)>,
    results: SuiteResults,
}

impl SuiteSession {
    /// A run of the questions that the filter takes.
    pub fn new(vectors: Vec<SuiteVector>, filter: &QuestionFilter) -> SuiteSession {
        let (questions, unknown) = select_questions(&vectors, filter);
        let results = SuiteResults { unknown, ..SuiteResults::default() };
        SuiteSession { vectors, questions, results, ..SuiteSession::default() }
    }

    /// The number of questions, without those that are asked twice.
    pub fn len(&self) -> usize {
        self.questions.len()
    }

    /// Whether there are no questions.
    pub fn is_empty(&self) -> bool {
        self.questions.is_empty()
    }

    /// The line that the engine has to answer next; `None` at the end.
    pub fn question(&self) -> Option<String> {
        let asked = self.questions.get(self.next)?;
        let question =
            SuiteQuestion::new(self.vectors.get(asked.vector)?, asked.track, &asked.profile);
        Some(match &self.first {
            Some((_, output)) => SuiteQuestion { input: output, ..question }.line(),
            None => question.line(),
        })
    }

    /// Takes the answer to that line.
    pub fn answer(&mut self, line: &str) {
        let Some(asked) = self.questions.get(self.next) else { return };
        let Some(vector) = self.vectors.get(asked.vector) else { return };
        let question = SuiteQuestion::new(vector, asked.track, &asked.profile);
        let given = EngineReply::read(line, &question);
        let (reply, second) = match self.first.take() {
            Some((reply, _)) => (reply, Some(given)),
            None => (given, None),
        };
        let mut engine = SecondAnswer { reply: second, asked: None };
        let before = self.results.questions.len();
        self.results.add(vector, &question, reply.clone(), &mut engine);
        if let Some(output) = engine.asked {
            // Judged again when the second answer is there.
            self.results.questions.truncate(before);
            self.first = Some((reply, output));
        } else {
            self.next += 1;
        }
    }

    /// The results up to now.
    pub fn results(&self) -> &SuiteResults {
        &self.results
    }
}

/// Stands for the engine while an answer is judged.
struct SecondAnswer {
    reply: Option<EngineReply>,
    /// What the engine has to be asked first.
    asked: Option<String>,
}

impl SuiteEngine for SecondAnswer {
    fn ask(&mut self, question: &SuiteQuestion<'_>) -> EngineReply {
        self.reply.take().unwrap_or_else(|| {
            self.asked = Some(question.input.to_owned());
            EngineReply::new(EngineAnswer::Output(question.input.to_owned()))
        })
    }
}
