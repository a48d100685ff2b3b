//! Finds the request that a person's answer is for.

use super::{RunPhase, SessionMachine, approvals::ApprovalState};
use crate::{ApprovalReply, ApprovalVerdict, CallRef, EventPayload, RawJson, RunEvent, SharedId};

/// A person's answer, and the request it is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UserAnswer {
    /// The run that made the request.
    pub run: Option<SharedId>,
    /// The call that made the request, and its turn where ids are reused.
    pub call: CallRef,
    /// The id of the request, if the call made several.
    pub id: Option<SharedId>,
    /// The decision.
    pub verdict: ApprovalVerdict,
    /// The answer to a question.
    pub answer: Option<RawJson>,
}

/// What to do with an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AnswerRoute {
    /// Pass this event to the machine.
    Deliver(RunEvent),
    /// Nothing: the same answer was given before.
    Repeated,
}

/// Why an answer was rejected. The state is unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnswerError {
    /// It names no run.
    RunRequired,
    /// The run is unknown.
    RunMismatch,
    /// The run has ended.
    RunEnded,
    /// It names no call.
    CallRequired,
    /// The call is unknown in the run.
    TargetNotFound,
    /// The call has no open request.
    NoPending,
    /// Calls in several turns have that id and an open request: the turn is required.
    Ambiguous,
    /// The request was resolved with another answer.
    AlreadyResolved,
}

impl AnswerError {
    /// The error code.
    pub fn code(self) -> &'static str {
        match self {
            AnswerError::RunRequired => "run_required",
            AnswerError::RunMismatch => "run_mismatch",
            AnswerError::RunEnded => "run_ended",
            AnswerError::CallRequired => "call_id_required",
            AnswerError::TargetNotFound => "target_not_found",
            AnswerError::NoPending => "no_pending",
            AnswerError::Ambiguous => "ambiguous",
            AnswerError::AlreadyResolved => "already_resolved",
        }
    }
}

impl SessionMachine {
    /// Finds the request that an answer is for. Repeating an answer is not an error.
    pub fn route(&self, answer: &UserAnswer) -> Result<AnswerRoute, AnswerError> {
        let run = answer.run.as_ref().filter(|run| !run.is_empty());
        let run = self.run(run.ok_or(AnswerError::RunRequired)?);
        let run = run.ok_or(AnswerError::RunMismatch)?;
        let call = answer.call.id.as_ref().filter(|call| !call.is_empty());
        let call = call.ok_or(AnswerError::CallRequired)?;
        let indices = run.table.candidates(call, answer.call.turn);
        let tools = indices.iter().filter_map(|index| run.table.tools.get(*index));
        let is_match =
            |approval: &&ApprovalState| answer.id.as_ref().is_none_or(|id| approval.has_id(id));
        let approvals: Vec<(u32, &ApprovalState)> = tools
            .flat_map(|tool| {
                tool.approvals.iter().filter(is_match).map(|approval| (tool.turn(), approval))
            })
            .collect();
        let open: Vec<&(u32, &ApprovalState)> =
            approvals.iter().filter(|(_, approval)| approval.is_open()).collect();
        let is_over = !matches!(run.phase, RunPhase::Running);
        match open.as_slice() {
            _ if indices.is_empty() => Err(AnswerError::TargetNotFound),
            [] => Err(match approvals.last() {
                Some((_, approval)) if answer.repeats(approval) => {
                    return Ok(AnswerRoute::Repeated);
                }
                Some((_, approval)) if approval.verdict != Some(ApprovalVerdict::Cancelled) => {
                    AnswerError::AlreadyResolved
                }
                Some(_) | None if is_over => AnswerError::RunEnded,
                Some(_) | None => AnswerError::NoPending,
            }),
            [_] if is_over => Err(AnswerError::RunEnded),
            [(turn, approval)] => {
                let reply = ApprovalReply {
                    call: CallRef { id: Some(call.clone()), turn: Some(*turn) },
                    id: Some(approval.id.clone()),
                    verdict: answer.verdict,
                    answer: answer.answer.clone(),
                };
                Ok(AnswerRoute::Deliver(RunEvent::new(
                    &run.id,
                    EventPayload::ApprovalReplied(reply),
                )))
            }
            [_, _, ..] => Err(AnswerError::Ambiguous),
        }
    }
}

impl UserAnswer {
    fn repeats(&self, approval: &ApprovalState) -> bool {
        let value = |answer: &Option<RawJson>| answer.as_ref().map(RawJson::value);
        approval.verdict == Some(self.verdict) && value(&approval.answer) == value(&self.answer)
    }
}
