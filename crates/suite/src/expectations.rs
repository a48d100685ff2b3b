//! Known failures, so that a project can adopt the suite before it passes.

use std::collections::BTreeSet;

use crate::SuiteResults;

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
    /// Reads a file of expected failures.
    ///
    /// # Errors
    /// If a line is not a vector, a track and a profile.
    pub fn read(text: &str) -> Result<ExpectedFailures, String> {
        let mut keys = BTreeSet::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                [] => {}
                [_, _, _] => drop(keys.insert(words.join(" "))),
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

    /// How results differ. Questions that were not asked are not missed.
    pub fn difference(&self, results: &SuiteResults) -> ExpectationDifference {
        let mut difference = ExpectationDifference::default();
        for question in &results.questions {
            let key = question.key();
            match (self.0.contains(&key), question.breaches().is_empty()) {
                (false, false) => difference.new_failures.push(key),
                (true, true) => difference.unexpected_passes.push(key),
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
