//! Known failures, so that a project can adopt the suite before it passes.

use std::collections::BTreeSet;

use crate::{
    QuestionFilter, QuestionResult, SuiteResults, SuiteVector,
    suite_run::{question_key, select_questions},
};

/// The questions that an engine is expected to fail: one per line, `V0001 repair openai-chat`. What
/// follows a `#` is a comment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExpectedFailures(BTreeSet<String>);

/// How results differ from what was expected.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExpectationDifference {
    /// Failures that were not expected.
    pub new_failures: Vec<String>,
    /// Questions that were expected to fail and passed.
    pub unexpected_passes: Vec<String>,
}

impl ExpectedFailures {
    /// Reads a file of expected failures of these vectors.
    ///
    /// # Errors
    /// If a line is not a vector, a track and a profile, or no question of the suite.
    pub fn read(text: &str, vectors: &[SuiteVector]) -> Result<ExpectedFailures, String> {
        let (questions, _) = select_questions(vectors, &QuestionFilter::default());
        let known: BTreeSet<String> = questions
            .into_iter()
            .filter_map(|asked| {
                let id = &vectors.get(asked.vector)?.id;
                Some(question_key(id, asked.track, &asked.profile))
            })
            .collect();
        let mut keys = BTreeSet::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                [] => {}
                [_, _, _] => {
                    let key = words.join(" ");
                    if !known.contains(&key) {
                        return Err(format!("line {}: the suite has no question `{key}`", at + 1));
                    }
                    keys.insert(key);
                }
                _ => {
                    return Err(format!("line {}: not a vector, a track and a profile", at + 1));
                }
            }
        }
        Ok(ExpectedFailures(keys))
    }

    /// The file of expected failures that results would need.
    pub fn of(results: &SuiteResults) -> String {
        let lines = results.failed().map(|failed| {
            let laws: Vec<&str> = failed.breaches().iter().map(|it| it.law.name()).collect();
            let mut laws: Vec<&str> = laws;
            laws.dedup();
            format!("{}  # {}\n", failed.key(), laws.join(", "))
        });
        lines.collect()
    }

    /// Whether a question is expected to fail.
    pub fn has(&self, question: &QuestionResult) -> bool {
        self.0.contains(&question.key())
    }

    /// How results differ. Questions that were not asked are not missed.
    pub fn difference(&self, results: &SuiteResults) -> ExpectationDifference {
        let mut difference = ExpectationDifference::default();
        for question in &results.questions {
            match (self.has(question), question.breaches().is_empty()) {
                (false, false) => difference.new_failures.push(question.key()),
                (true, true) => difference.unexpected_passes.push(question.key()),
                (true, false) | (false, true) => {}
            }
        }
        difference
    }
}

impl ExpectationDifference {
    /// Whether everything is as expected.
    pub fn is_empty(&self) -> bool {
        self.new_failures.is_empty() && self.unexpected_passes.is_empty()
    }
}
