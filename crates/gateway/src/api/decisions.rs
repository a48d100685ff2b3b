//! The decisions that were taken, so that one that is sent twice is taken once.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;

/// So many decisions are remembered.
const REMEMBERED: usize = 1_024;

/// The newest decisions about questions of agents.
#[derive(Debug, Default)]
pub(crate) struct AnsweredQuestions(Mutex<VecDeque<AnsweredQuestion>>);

#[derive(Clone, Debug, PartialEq)]
struct AnsweredQuestion {
    run: String,
    ticket: String,
    decision: Value,
}

/// What a decision is, compared to those that were taken.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum DecisionClaim {
    /// The first one about its question.
    First,
    /// The same as before, about this question.
    Repeated(String),
    /// Another one than before.
    Different,
}

impl AnsweredQuestions {
    /// Takes a decision about a question, unless one was taken before.
    pub(super) fn claim(&self, run: &str, ticket: &str, said: &Value) -> DecisionClaim {
        let mut known = self.lock();
        if let Some(claim) = compare_decisions(&known, run, Some(ticket), said) {
            return claim;
        }
        if known.len() >= REMEMBERED {
            known.pop_front();
        }
        let (run, ticket, said) = (run.to_owned(), ticket.to_owned(), said.clone());
        known.push_back(AnsweredQuestion { run, ticket, decision: said });
        DecisionClaim::First
    }

    /// What was decided before about a question that is not open, or about the last one of its run
    /// if none is named; `None` if nothing was.
    pub(super) fn earlier_claim(
        &self,
        run: &str,
        ticket: Option<&str>,
        said: &Value,
    ) -> Option<DecisionClaim> {
        compare_decisions(&self.lock(), run, ticket, said)
    }

    /// The decision did not reach the agent.
    pub(super) fn forget(&self, run: &str, ticket: &str) {
        self.lock().retain(|known| known.run != run || known.ticket != ticket);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<AnsweredQuestion>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn compare_decisions(
    known: &VecDeque<AnsweredQuestion>,
    run: &str,
    ticket: Option<&str>,
    said: &Value,
) -> Option<DecisionClaim> {
    let fits = |known: &&AnsweredQuestion| {
        known.run == run && ticket.is_none_or(|ticket| known.ticket == ticket)
    };
    let before = known.iter().rev().find(fits)?;
    Some(match before.decision == *said {
        true => DecisionClaim::Repeated(before.ticket.clone()),
        false => DecisionClaim::Different,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_decision_is_taken_once_and_known_again() {
        let answered = AnsweredQuestions::default();
        let (yes, no) = (json!({"decision": "allow"}), json!({"decision": "deny"}));
        assert_eq!(answered.earlier_claim("r", Some("t"), &yes), None);
        assert_eq!(answered.claim("r", "t", &yes), DecisionClaim::First);
        assert_eq!(answered.claim("r", "t", &yes), DecisionClaim::Repeated("t".into()));
        assert_eq!(answered.claim("r", "t", &no), DecisionClaim::Different);
        assert_eq!(
            answered.earlier_claim("r", None, &yes),
            Some(DecisionClaim::Repeated("t".into()))
        );
        assert_eq!(answered.earlier_claim("r", None, &no), Some(DecisionClaim::Different));
        assert_eq!(answered.earlier_claim("r", Some("u"), &yes), None);
        assert_eq!(answered.earlier_claim("s", Some("t"), &yes), None);
        answered.forget("r", "t");
        assert_eq!(answered.claim("r", "t", &no), DecisionClaim::First);
        for number in 0..2 * REMEMBERED {
            answered.claim("r", &format!("more-{number}"), &yes);
        }
        assert_eq!(answered.lock().len(), REMEMBERED);
    }
}
