//! A scripted session for tests: a screen and a clock.

use foxwedge_agent_loop::tool_loop::{LoopEvent, ToolDecision};
use foxwedge_run::{
    Outcome, RawJson, RunEffect, RunEnd, RunEvent, RunStart, RunSummary, SharedId, ToolRef,
    ToolStatus, UiChange, UiPart,
};
use serde_json::Value;

use crate::terminal::{
    ChatRunEnd, TerminalStart,
    approval_prompt::ApprovalPrompt,
    approver::RuleScope,
    draw::{self, LiveArea},
    keys::TerminalKey,
    row::StyledRow,
    screen::{ScreenAction, TerminalScreen},
};
use foxwedge_local::runs::draw::SignSet;

pub(super) struct Story {
    pub(super) screen: TerminalScreen,
    pub(super) now: u64,
    asked: u64,
}

impl Story {
    pub(super) fn new() -> Story {
        Story::sized(60, 20)
    }

    pub(super) fn sized(width: usize, height: usize) -> Story {
        Story::begun(TerminalStart::default(), width, height)
    }

    pub(super) fn begun(start: TerminalStart, width: usize, height: usize) -> Story {
        let screen = TerminalScreen::new(start, SignSet::Unicode, (width, height));
        Story { screen, now: 10_000, asked: 0 }
    }

    /// Draws the screen and advances the clock.
    pub(super) fn wait(&mut self, milliseconds: u64) {
        self.screen.on_drawn(self.now);
        self.now += milliseconds;
    }

    /// Presses a key. Returns its actions as text.
    pub(super) fn key(&mut self, key: TerminalKey) -> String {
        let actions = self.screen.on_key(key, self.now);
        self.done(&actions)
    }

    /// Types text; `\n` is Enter. Returns the actions as text.
    pub(super) fn text(&mut self, text: &str) -> String {
        let keys =
            text.chars().map(|c| if c == '\n' { TerminalKey::Enter } else { TerminalKey::Char(c) });
        let done: Vec<String> = keys.map(|key| self.key(key)).collect();
        done.into_iter().filter(|done| !done.is_empty()).collect::<Vec<_>>().join(", ")
    }

    /// Starts a run.
    pub(super) fn busy(&mut self) {
        assert_eq!(self.text("go\n"), "send go");
        self.tell(UiChange::RunStarted { epoch: 1, at: None, started: RunStart::default() });
        self.above();
    }

    pub(super) fn tell(&mut self, change: UiChange) -> String {
        let run: SharedId = "run".into();
        // The emitted event carries the time.
        let mut event = RunEvent::new(&run, foxwedge_run::EventPayload::Tasks(Vec::new()));
        event.at = Some(self.now);
        self.screen.on_loop_event(LoopEvent::Run(RunEffect::Emit(event)), self.now);
        let actions =
            self.screen.on_loop_event(LoopEvent::Run(RunEffect::Show { run, change }), self.now);
        self.done(&actions)
    }

    pub(super) fn say(&mut self, text: &str) {
        let part = UiPart { id: "t".into(), parent: None };
        self.tell(UiChange::TextDelta(part, text.to_owned()));
    }

    pub(super) fn think(&mut self, text: &str) {
        let part = UiPart { id: "t".into(), parent: None };
        self.tell(UiChange::ThoughtOpened(part.clone()));
        self.tell(UiChange::ThoughtDelta(part, text.to_owned()));
    }

    pub(super) fn thought_over(&mut self) {
        self.tell(UiChange::ThoughtClosed(UiPart { id: "t".into(), parent: None }));
    }

    /// Starts a running call.
    pub(super) fn call(&mut self, id: &str, name: &str, input: &str) {
        let tool = tool(id);
        self.tell(UiChange::ToolOpened {
            tool: tool.clone(),
            name: name.into(),
            parent: None,
            title: None,
        });
        if let Some(input) = RawJson::parse(input) {
            self.tell(UiChange::ToolReady { tool: tool.clone(), input });
        }
        self.tell(UiChange::ToolStatus { tool, status: ToolStatus::Running });
    }

    pub(super) fn settle(&mut self, id: &str, status: ToolStatus, content: &str) {
        let (tool, content) = (tool(id), RawJson::string(content));
        self.tell(UiChange::ToolSettled { tool, status, reason: None, content });
    }

    pub(super) fn ask(&mut self, tool: &str, input: Value) {
        self.asked += 1;
        let (number, call) = (self.asked, format!("c{}", self.asked));
        let (tool, diff) = (tool.to_owned(), Vec::new());
        self.screen.add_question(ApprovalPrompt { number, call, tool, input, diff });
    }

    pub(super) fn end(&mut self, outcome: Outcome, counts: &[(ToolStatus, usize)]) -> String {
        let mut summary = RunSummary::default();
        for (status, number) in counts {
            let place = ToolStatus::ALL.iter().position(|other| other == status).unwrap_or(0);
            summary.by_status[place] = *number;
            summary.calls += number;
        }
        let ended = RunEnd { outcome: Some(outcome), ..RunEnd::default() };
        let actions = self.screen.on_run_ended(Ok(&ChatRunEnd { ended, summary }));
        self.done(&actions)
    }

    /// The rows that were finished since the last call.
    pub(super) fn above(&mut self) -> String {
        self.screen.take_rows().iter().map(StyledRow::plain).collect::<Vec<_>>().join("\n")
    }

    pub(super) fn live(&self) -> LiveArea {
        draw::live_area(&self.screen, self.now, Some(0))
    }

    /// The live rows; the cursor is `▏`.
    pub(super) fn below(&self) -> String {
        let live = self.live();
        let mut rows: Vec<String> = live.rows.iter().map(StyledRow::plain).collect();
        let mut used = 0;
        let row = &mut rows[live.row];
        let at = row.char_indices().find(|(_, c)| {
            let here = used;
            used += unicode_width::UnicodeWidthChar::width(*c).unwrap_or(0);
            here >= live.column
        });
        let at = at.map_or(row.len(), |(at, _)| at);
        row.insert(at, '▏');
        rows.join("\n")
    }

    /// Describes actions as text. Work that is sent starts.
    fn done(&mut self, actions: &[ScreenAction]) -> String {
        let mut described = Vec::new();
        for action in actions {
            described.push(match action {
                ScreenAction::Send(text) => {
                    self.screen.begin_work(self.now);
                    format!("send {text}")
                }
                ScreenAction::Command(line) => {
                    self.screen.begin_work(self.now);
                    format!("command {line}")
                }
                ScreenAction::SaveQueue(queue) => format!("queue [{}]", queue.join(" | ")),
                ScreenAction::Interrupt => "press".to_owned(),
                ScreenAction::Decide { number, decision, always } => {
                    let decision = match decision {
                        ToolDecision::Allow => "yes".to_owned(),
                        ToolDecision::Deny(None) => "no".to_owned(),
                        ToolDecision::Deny(Some(why)) => format!("no: {why}"),
                    };
                    let always = always.as_ref().map(|(rule, scope)| match scope {
                        RuleScope::Program => format!(" always {rule}"),
                        RuleScope::Folder => format!(" kept {rule}"),
                    });
                    format!("{number} {decision}{}", always.unwrap_or_default())
                }
                ScreenAction::Leave(code) => format!("leave {code}"),
                ScreenAction::Suspend => "suspend".to_owned(),
                ScreenAction::Redraw => "redraw".to_owned(),
            });
        }
        described.join(", ")
    }
}

pub(super) fn tool(id: &str) -> ToolRef {
    ToolRef { call: id.into(), turn: 1 }
}
