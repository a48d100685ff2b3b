//! Recent decisions, so that one that is sent twice takes effect once.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;

/// Number of decisions kept.
const MAX_DECISIONS: usize = 1_024;

/// The newest decisions on questions of agents.
#[derive(Debug, Default)]
pub(crate) struct AnsweredQuestions(Mutex<VecDeque<AnsweredQuestion>>);

#[derive(Clone, Debug, PartialEq)]
struct AnsweredQuestion {
    run: String,
    ticket: String,
    decision: Value,
}

/// How a decision compares to earlier ones.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum DecisionClaim {
    /// The first decision on its question.
    First,
    /// The same decision as before, on this question.
    Repeated(String),
    /// Differs from the earlier decision.
    Different,
}

impl AnsweredQuestions {
    /// Records a decision on a question, unless there is one already.
    pub(crate) fn claim(&self, run: &str, ticket: &str, decision: &Value) -> DecisionClaim {
        let mut known = self.lock();
        if let Some(claim) = compare_decisions(&known, run, Some(ticket), decision) {
            return claim;
        }
        if known.len() >= MAX_DECISIONS {
            known.pop_front();
        }
        let (run, ticket, decision) = (run.to_owned(), ticket.to_owned(), decision.clone());
        known.push_back(AnsweredQuestion { run, ticket, decision });
        DecisionClaim::First
    }

    /// The earlier decision on a closed question, or on the last one of the run if `ticket` is
    /// `None`.
    pub(crate) fn earlier_claim(
        &self,
        run: &str,
        ticket: Option<&str>,
        decision: &Value,
    ) -> Option<DecisionClaim> {
        compare_decisions(&self.lock(), run, ticket, decision)
    }

    /// Removes a decision that did not reach the agent.
    pub(crate) fn forget(&self, run: &str, ticket: &str) {
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
    decision: &Value,
) -> Option<DecisionClaim> {
    let matches = |known: &&AnsweredQuestion| {
        known.run == run && ticket.is_none_or(|ticket| known.ticket == ticket)
    };
    let earlier = known.iter().rev().find(matches)?;
    Some(match earlier.decision == *decision {
        true => DecisionClaim::Repeated(earlier.ticket.clone()),
        false => DecisionClaim::Different,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_decision_is_applied_once_and_recognized_again() {
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
        for number in 0..2 * MAX_DECISIONS {
            answered.claim("r", &format!("more-{number}"), &yes);
        }
        assert_eq!(answered.lock().len(), MAX_DECISIONS);
    }
}
