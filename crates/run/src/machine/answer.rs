//! Which question an answer is for.

use super::{RunPhase, SessionMachine, approvals::ApprovalState};
use crate::{ApprovalReply, ApprovalVerdict, CallRef, EventPayload, RawJson, RunEvent, SharedId};

/// What somebody answers, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UserAnswer {
    /// The run that asked.
    pub run: Option<SharedId>,
    /// The call that asked, and its turn where ids are used again.
    pub call: CallRef,
    /// The request's own id, if the call asked several things.
    pub id: Option<SharedId>,
    /// What was decided.
    pub verdict: ApprovalVerdict,
    /// What the person said.
    pub answer: Option<RawJson>,
}

/// Where an answer goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AnswerRoute {
    /// To this event: give it to the machine.
    Deliver(RunEvent),
    /// Nowhere: the same was answered before.
    Repeated,
}

/// Why an answer goes nowhere. Nothing was changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnswerError {
    /// It names no run.
    RunRequired,
    /// No run of that name is known here.
    RunMismatch,
    /// The run is over.
    RunEnded,
    /// It names no call.
    CallRequired,
    /// No call of that name is known in the run.
    TargetNotFound,
    /// The call exists and asks nothing.
    NoPending,
    /// Calls of several turns have that id and ask: the turn is needed.
    Ambiguous,
    /// Something else was answered before.
    AlreadyResolved,
}

impl AnswerError {
    /// The word for it.
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
    /// Finds the question. The same answer again is no error.
    pub fn route(&self, answer: &UserAnswer) -> Result<AnswerRoute, AnswerError> {
        let run = answer.run.as_ref().filter(|run| !run.is_empty());
        let run = self.run(run.ok_or(AnswerError::RunRequired)?);
        let run = run.ok_or(AnswerError::RunMismatch)?;
        let call = answer.call.id.as_ref().filter(|call| !call.is_empty());
        let call = call.ok_or(AnswerError::CallRequired)?;
        let places = run.table.candidates(call, answer.call.turn);
        let tools = places.iter().filter_map(|place| run.table.tools.get(*place));
        let fits = |asked: &&ApprovalState| answer.id.as_ref().is_none_or(|id| asked.has_id(id));
        let asks: Vec<(u32, &ApprovalState)> = tools
            .flat_map(|tool| tool.approvals.iter().filter(fits).map(|asked| (tool.turn(), asked)))
            .collect();
        let open: Vec<&(u32, &ApprovalState)> =
            asks.iter().filter(|(_, asked)| asked.is_open()).collect();
        let over = !matches!(run.phase, RunPhase::Running);
        match open.as_slice() {
            _ if places.is_empty() => Err(AnswerError::TargetNotFound),
            [] => Err(match asks.last() {
                Some((_, asked)) if answer.repeats(asked) => return Ok(AnswerRoute::Repeated),
                Some((_, asked)) if asked.verdict != Some(ApprovalVerdict::Cancelled) => {
                    AnswerError::AlreadyResolved
                }
                Some(_) | None if over => AnswerError::RunEnded,
                Some(_) | None => AnswerError::NoPending,
            }),
            [_] if over => Err(AnswerError::RunEnded),
            [(turn, asked)] => {
                let reply = ApprovalReply {
                    call: CallRef { id: Some(call.clone()), turn: Some(*turn) },
                    id: Some(asked.id.clone()),
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
    fn repeats(&self, asked: &ApprovalState) -> bool {
        let value = |answer: &Option<RawJson>| answer.as_ref().map(RawJson::value);
        asked.verdict == Some(self.verdict) && value(&asked.answer) == value(&self.answer)
    }
}
