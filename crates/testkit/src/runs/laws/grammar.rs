//! Checks the sequence of changes that a user interface receives about a run.
//!
//! A small automaton for each run: a part is opened once, before any change to it, and everything
//! is closed before the end. Encoders for other protocols rely on this.

use std::collections::BTreeMap;

use foxwedge_run::{RunSummary, SharedId, ToolRef, ToolStatus, UiChange, UiPart};

/// The state after the changes of one run so far.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct UiGrammar {
    stage: UiStage,
    step: Option<u32>,
    last_step: u32,
    /// Every part that was opened.
    parts: BTreeMap<SharedId, UiTextKind>,
    /// Parts that are still open.
    speaking: Vec<UiPart>,
    tools: BTreeMap<(SharedId, u32), UiToolState>,
    /// Number of calls that are not settled.
    working: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
enum UiStage {
    #[default]
    Before,
    During,
    After,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum UiTextKind {
    Text,
    Thought,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct UiToolState {
    status: ToolStatus,
    ready: bool,
    /// Every approval request, and whether it is still open.
    asks: Vec<(SharedId, bool)>,
}

impl UiGrammar {
    /// Accepts the next change.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn take(&mut self, change: &UiChange) -> Result<(), String> {
        match (self.stage, change) {
            (UiStage::Before, UiChange::RunStarted { .. }) => self.stage = UiStage::During,
            (UiStage::Before, _) => return Err("said before the start".to_owned()),
            (UiStage::During, UiChange::RunStarted { .. }) => {
                return Err("a second start".to_owned());
            }
            (UiStage::During, _) => {}
            (UiStage::After, _) => return Err("said behind the end".to_owned()),
        }
        match change {
            UiChange::RunStarted { .. }
            | UiChange::ToolsAvailable(_)
            | UiChange::Tasks(_)
            | UiChange::Usage(_)
            | UiChange::Activity(_) => Ok(()),
            UiChange::Problem(problem) if problem.fatal => Err("a fatal problem, shown".to_owned()),
            UiChange::Problem(_) => Ok(()),
            UiChange::StepStarted { turn } => self.step_started(*turn),
            UiChange::StepEnded { turn } => self.step_ended(*turn),
            UiChange::TextOpened(part) => self.opened(part, UiTextKind::Text),
            UiChange::TextDelta(part, delta) => self.goes_on(part, UiTextKind::Text, delta),
            UiChange::TextClosed(part) => self.closed(part, UiTextKind::Text),
            UiChange::ThoughtOpened(part) => self.opened(part, UiTextKind::Thought),
            UiChange::ThoughtDelta(part, delta) => self.goes_on(part, UiTextKind::Thought, delta),
            UiChange::ThoughtClosed(part) => self.closed(part, UiTextKind::Thought),
            UiChange::ToolOpened { tool, .. } => self.tool_opened(tool),
            UiChange::ToolArguments { tool, delta } => {
                let worked = self.open_tool(tool)?;
                let fine = !worked.ready && !delta.is_empty();
                holds(fine, || format!("arguments of {tool:?} behind the last, or none"))
            }
            UiChange::ToolReady { tool, .. } => {
                let worked = self.open_tool(tool)?;
                let first = !std::mem::replace(&mut worked.ready, true);
                holds(first, || format!("{tool:?} is ready twice"))
            }
            UiChange::ToolStatus { tool, status } => {
                let worked = self.open_tool(tool)?;
                let before = std::mem::replace(&mut worked.status, *status);
                holds(before != *status && !status.is_final(), || {
                    format!("{tool:?} goes from {before:?} to {status:?}, unsettled")
                })
            }
            UiChange::ToolProgress { tool, .. } => self.open_tool(tool).map(|_| ()),
            UiChange::ApprovalRequested { tool, request: ask } => {
                let worked = self.open_tool(tool)?;
                let id = ask.id.clone().ok_or("a question without an id")?;
                let known = worked.asks.iter().any(|(other, _)| *other == id);
                worked.asks.push((id, true));
                holds(!known, || format!("{tool:?} asks twice under one id"))
            }
            UiChange::ApprovalClosed { tool, id, .. } => {
                let worked = self.open_tool(tool)?;
                let ask = worked.asks.iter_mut().find(|(other, open)| other == id && *open);
                let ask =
                    ask.ok_or_else(|| format!("{tool:?} closes `{id}`, which is not open"))?;
                ask.1 = false;
                Ok(())
            }
            UiChange::ToolSettled { tool, status, .. } => self.tool_settled(tool, *status),
            UiChange::ToolCorrected { tool, status, .. } => self.tool_corrected(tool, *status),
            UiChange::RunEnded { summary, .. } => self.ended(summary),
        }
    }

    /// Whether the end of the run was announced.
    pub fn is_over(&self) -> bool {
        self.stage == UiStage::After
    }

    fn step_started(&mut self, turn: u32) -> Result<(), String> {
        let fine = self.step.is_none() && turn > self.last_step;
        self.step = Some(turn);
        self.last_step = turn;
        holds(fine, || format!("step {turn} begins out of order"))
    }

    fn step_ended(&mut self, turn: u32) -> Result<(), String> {
        holds(self.step.take() == Some(turn), || format!("step {turn} ends and is not open"))?;
        self.nothing_spoken("at the end of a step")
    }

    fn opened(&mut self, part: &UiPart, kind: UiTextKind) -> Result<(), String> {
        if part.parent.is_none() {
            self.nothing_spoken("when the next begins")?;
        }
        self.speaking.push(part.clone());
        let known = self.parts.insert(part.id.clone(), kind);
        holds(known.is_none(), || format!("part `{}` is opened twice", part.id))
    }

    fn goes_on(&mut self, part: &UiPart, kind: UiTextKind, delta: &str) -> Result<(), String> {
        self.spoken(part, kind)?;
        holds(!delta.is_empty(), || format!("part `{}` goes on by nothing", part.id))
    }

    fn closed(&mut self, part: &UiPart, kind: UiTextKind) -> Result<(), String> {
        self.spoken(part, kind)?;
        self.speaking.retain(|open| open != part);
        Ok(())
    }

    fn spoken(&self, part: &UiPart, kind: UiTextKind) -> Result<(), String> {
        let open = self.speaking.contains(part) && self.parts.get(&part.id) == Some(&kind);
        holds(open, || format!("part `{}` is not open", part.id))
    }

    fn nothing_spoken(&self, when: &str) -> Result<(), String> {
        let open = self.speaking.iter().find(|part| part.parent.is_none());
        open.map_or(Ok(()), |part| Err(format!("part `{}` is open {when}", part.id)))
    }

    fn tool_opened(&mut self, tool: &ToolRef) -> Result<(), String> {
        let worked = UiToolState { status: ToolStatus::Pending, ready: false, asks: Vec::new() };
        let known = self.tools.insert((tool.call.clone(), tool.turn), worked);
        self.working += 1;
        holds(known.is_none(), || format!("{tool:?} is opened twice"))
    }

    fn open_tool(&mut self, tool: &ToolRef) -> Result<&mut UiToolState, String> {
        let worked = self.tools.get_mut(&(tool.call.clone(), tool.turn));
        let worked = worked.ok_or_else(|| format!("{tool:?} was never opened"))?;
        match worked.status.is_final() {
            true => Err(format!("{tool:?} is settled already")),
            false => Ok(worked),
        }
    }

    fn tool_settled(&mut self, tool: &ToolRef, status: ToolStatus) -> Result<(), String> {
        let worked = self.open_tool(tool)?;
        worked.status = status;
        let asks = worked.asks.iter().any(|(_, open)| *open);
        holds(status.is_final(), || format!("{tool:?} is settled as {status:?}"))?;
        holds(!asks, || format!("{tool:?} is settled and still asks"))?;
        self.working -= 1;
        Ok(())
    }

    /// The status of a settled call only becomes more specific.
    fn tool_corrected(&mut self, tool: &ToolRef, status: ToolStatus) -> Result<(), String> {
        let worked = self.tools.get_mut(&(tool.call.clone(), tool.turn));
        let worked = worked.ok_or_else(|| format!("{tool:?} was never opened"))?;
        let before = std::mem::replace(&mut worked.status, status);
        let fine = match (before, status) {
            (
                ToolStatus::Failed | ToolStatus::Interrupted,
                ToolStatus::Denied | ToolStatus::HandedOver,
            ) => true,
            (before, status) => before == ToolStatus::Denied && status == ToolStatus::HandedOver,
        };
        holds(fine, || format!("{tool:?} is corrected from {before:?} to {status:?}"))
    }

    fn ended(&mut self, summary: &RunSummary) -> Result<(), String> {
        self.stage = UiStage::After;
        holds(self.working == 0, || format!("{} calls are open at the end", self.working))?;
        if let Some(part) = self.speaking.first() {
            return Err(format!("part `{}` is open at the end", part.id));
        }
        holds(self.step.is_none(), || "a step is open at the end".to_owned())?;
        let sum: usize = summary.by_status.iter().sum();
        holds(sum == summary.calls, || format!("{sum} statuses of {} calls", summary.calls))
    }
}

fn holds(fine: bool, problem: impl FnOnce() -> String) -> Result<(), String> {
    if fine { Ok(()) } else { Err(problem()) }
}

#[cfg(test)]
mod tests {
    use foxwedge_run::{
        ApprovalKind, ApprovalRequest, ApprovalVerdict, CallRef, RawJson, RunEnd, RunStart,
    };

    use super::*;

    fn tool(call: &str) -> ToolRef {
        ToolRef { call: SharedId::from(call), turn: 0 }
    }

    fn change(text: &str) -> UiChange {
        let (verb, id) = text.split_once(' ').unwrap_or((text, ""));
        let part = UiPart { id: SharedId::from(id), parent: None };
        let tool = tool(id);
        let content = RawJson::string("x");
        match verb {
            "start" => UiChange::RunStarted { epoch: 1, at: None, started: RunStart::default() },
            "step" => UiChange::StepStarted { turn: id.len() as u32 },
            "stepped" => UiChange::StepEnded { turn: id.len() as u32 },
            "text" => UiChange::TextOpened(part),
            "say" => UiChange::TextDelta(part, "x".to_owned()),
            "nothing" => UiChange::TextDelta(part, String::new()),
            "said" => UiChange::TextClosed(part),
            "thought" => UiChange::ThoughtClosed(part),
            "call" => UiChange::ToolOpened {
                tool,
                name: SharedId::from("Bash"),
                parent: None,
                title: None,
            },
            "args" => UiChange::ToolArguments { tool, delta: "{".to_owned() },
            "ready" => UiChange::ToolReady { tool, input: content },
            "run" => UiChange::ToolStatus { tool, status: ToolStatus::Running },
            "won" => UiChange::ToolStatus { tool, status: ToolStatus::Succeeded },
            "ok" => {
                UiChange::ToolSettled { tool, status: ToolStatus::Succeeded, reason: None, content }
            }
            "open" => {
                UiChange::ToolSettled { tool, status: ToolStatus::Running, reason: None, content }
            }
            "bad" => {
                UiChange::ToolSettled { tool, status: ToolStatus::Failed, reason: None, content }
            }
            "no" => {
                UiChange::ToolCorrected { tool, status: ToolStatus::Denied, reason: None, content }
            }
            "ask" => {
                let (call, id, kind) =
                    (CallRef::default(), Some(SharedId::from("r")), ApprovalKind::Approval);
                let ask = ApprovalRequest { call, id, kind, prompt: None, choices: None };
                UiChange::ApprovalRequested { tool, request: ask }
            }
            "asked" => UiChange::ApprovalClosed {
                tool,
                id: SharedId::from("r"),
                verdict: ApprovalVerdict::Allowed,
            },
            "end" => {
                let (ended, summary) = (RunEnd::default(), RunSummary::default());
                UiChange::RunEnded { ended, summary, at: None }
            }
            other => panic!("no change is called `{other}`"),
        }
    }

    #[test]
    fn invalid_change_sequences_are_detected() {
        let table = [
            ("start, end", None),
            ("start, step 1, text m, say m, said m, stepped 1, step 12, stepped 12, end", None),
            ("start, call a, args a, ready a, run a, ask a, asked a, ok a, end", None),
            ("end", Some("said before the start")),
            ("start, start", Some("a second start")),
            ("start, end, text m", Some("said behind the end")),
            ("start, end, end", Some("said behind the end")),
            ("start, text m, text n", Some("part `m` is open when the next begins")),
            ("start, text m, said m, text m", Some("part `m` is opened twice")),
            ("start, say m", Some("part `m` is not open")),
            ("start, text m, thought m", Some("part `m` is not open")),
            ("start, text m, nothing m", Some("part `m` goes on by nothing")),
            ("start, text m, end", Some("part `m` is open at the end")),
            ("start, step 1, text m, stepped 1", Some("part `m` is open at the end of a step")),
            ("start, step 1, step 12", Some("step 2 begins out of order")),
            ("start, stepped 1", Some("step 1 ends and is not open")),
            ("start, step 1, end", Some("a step is open at the end")),
            ("start, call a, end", Some("1 calls are open at the end")),
            ("start, call a, call a", Some("is opened twice")),
            ("start, ok a", Some("was never opened")),
            ("start, call a, ok a, ok a", Some("is settled already")),
            ("start, call a, ok a, run a", Some("is settled already")),
            ("start, call a, bad a, no a, end", None),
            ("start, call a, no a", Some("is corrected from Pending to Denied")),
            ("start, call a, ok a, no a", Some("is corrected from Succeeded to Denied")),
            ("start, call a, bad a, no a, no a", Some("is corrected from Denied to Denied")),
            ("start, call a, won a", Some("goes from Pending to Succeeded, unsettled")),
            ("start, call a, run a, run a", Some("goes from Running to Running, unsettled")),
            ("start, call a, open a", Some("is settled as Running")),
            ("start, call a, ready a, ready a", Some("is ready twice")),
            ("start, call a, ready a, args a", Some("behind the last, or none")),
            ("start, call a, ask a, ok a", Some("is settled and still asks")),
            ("start, call a, ask a, asked a, ask a", Some("asks twice under one id")),
            ("start, call a, asked a", Some("closes `r`, which is not open")),
        ];
        for (changes, expected) in table {
            let mut grammar = UiGrammar::default();
            let error = changes.split(", ").try_for_each(|text| grammar.take(&change(text))).err();
            match expected {
                None => assert_eq!((error, grammar.is_over()), (None, true), "{changes}"),
                Some(expected) => {
                    let error = error.unwrap_or_default();
                    assert!(error.ends_with(expected), "{changes}: {error}");
                }
            }
        }
    }
}
