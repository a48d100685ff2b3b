//! One story: a screen, a clock, and what came out so far.

use foxwedge_engine::tool_loop::{Decision, Told};
use foxwedge_run::{
    Change, Effect, Ended, Event, Id, Json, Outcome, Part, Started, Status, Summary, ToolRef,
};
use serde_json::Value;

use crate::{
    chat::terminal::{
        Ending, Start,
        ask::Ask,
        draw::{self, Live},
        keys::Key,
        row::Row,
        screen::{Act, Screen},
    },
    runs::draw::Signs,
};

pub(super) struct Story {
    pub(super) screen: Screen,
    pub(super) now: u64,
    asked: u64,
}

impl Story {
    pub(super) fn new() -> Story {
        Story::sized(60, 20)
    }

    pub(super) fn sized(width: usize, height: usize) -> Story {
        Story::begun(Start::default(), width, height)
    }

    pub(super) fn begun(start: Start, width: usize, height: usize) -> Story {
        let screen = Screen::new(start, Signs::Unicode, (width, height));
        Story { screen, now: 10_000, asked: 0 }
    }

    /// Time passes.
    pub(super) fn wait(&mut self, milliseconds: u64) {
        self.screen.drawn(self.now);
        self.now += milliseconds;
    }

    /// A key. What it does, in words.
    pub(super) fn key(&mut self, key: Key) -> String {
        let acts = self.screen.on_key(key, self.now);
        self.done(&acts)
    }

    /// Typed text; `\n` is Enter.
    pub(super) fn text(&mut self, text: &str) -> String {
        let keys = text.chars().map(|c| if c == '\n' { Key::Enter } else { Key::Char(c) });
        let done: Vec<String> = keys.map(|key| self.key(key)).collect();
        done.into_iter().filter(|done| !done.is_empty()).collect::<Vec<_>>().join(", ")
    }

    /// A prompt that is at work.
    pub(super) fn busy(&mut self) {
        assert_eq!(self.text("go\n"), "send go");
        self.tell(Change::RunStarted { epoch: 1, at: None, started: Started::default() });
        self.above();
    }

    pub(super) fn tell(&mut self, change: Change) -> String {
        let run: Id = "run".into();
        // The log has the time.
        let mut event = Event::new(&run, foxwedge_run::Body::Tasks(Vec::new()));
        event.at = Some(self.now);
        self.screen.on_told(Told::Run(Effect::Emit(event)), self.now);
        let acts = self.screen.on_told(Told::Run(Effect::Show { run, change }), self.now);
        self.done(&acts)
    }

    pub(super) fn say(&mut self, text: &str) {
        let part = Part { id: "t".into(), parent: None };
        self.tell(Change::TextDelta(part, text.to_owned()));
    }

    pub(super) fn think(&mut self, text: &str) {
        let part = Part { id: "t".into(), parent: None };
        self.tell(Change::ThoughtOpened(part.clone()));
        self.tell(Change::ThoughtDelta(part, text.to_owned()));
    }

    pub(super) fn thought_over(&mut self) {
        self.tell(Change::ThoughtClosed(Part { id: "t".into(), parent: None }));
    }

    /// A call that is at work.
    pub(super) fn call(&mut self, id: &str, name: &str, input: &str) {
        let tool = tool(id);
        self.tell(Change::ToolOpened {
            tool: tool.clone(),
            name: name.into(),
            parent: None,
            title: None,
        });
        if let Some(input) = Json::parse(input) {
            self.tell(Change::ToolReady { tool: tool.clone(), input });
        }
        self.tell(Change::ToolStatus { tool, status: Status::Running });
    }

    pub(super) fn settle(&mut self, id: &str, status: Status, content: &str) {
        let (tool, content) = (tool(id), Json::string(content));
        self.tell(Change::ToolSettled { tool, status, reason: None, content });
    }

    pub(super) fn ask(&mut self, tool: &str, input: Value) {
        self.asked += 1;
        let (number, call) = (self.asked, format!("c{}", self.asked));
        self.screen.ask(Ask { number, call, tool: tool.to_owned(), input });
    }

    pub(super) fn end(&mut self, outcome: Outcome, counts: &[(Status, usize)]) -> String {
        let mut summary = Summary::default();
        for (status, number) in counts {
            let place = Status::ALL.iter().position(|other| other == status).unwrap_or(0);
            summary.by_status[place] = *number;
            summary.calls += number;
        }
        let ended = Ended { outcome: Some(outcome), ..Ended::default() };
        let acts = self.screen.ended(Ok(&Ending { ended, summary }));
        self.done(&acts)
    }

    /// What went into the scrollback since the last time.
    pub(super) fn above(&mut self) -> String {
        self.screen.take_rows().iter().map(Row::plain).collect::<Vec<_>>().join("\n")
    }

    pub(super) fn live(&self) -> Live {
        draw::live(&self.screen, self.now, Some(0))
    }

    /// What stands below; the cursor is `▏`.
    pub(super) fn below(&self) -> String {
        let live = self.live();
        let mut rows: Vec<String> = live.rows.iter().map(Row::plain).collect();
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

    /// What is done. A run that is sent begins.
    fn done(&mut self, acts: &[Act]) -> String {
        let mut words = Vec::new();
        for act in acts {
            words.push(match act {
                Act::Send(text) => {
                    self.screen.begin(self.now);
                    format!("send {text}")
                }
                Act::Command(line) => {
                    self.screen.begin(self.now);
                    format!("command {line}")
                }
                Act::Queued(queue) => format!("queue [{}]", queue.join(" | ")),
                Act::Press => "press".to_owned(),
                Act::Decide { number, decision, always } => {
                    let decision = match decision {
                        Decision::Allow => "yes".to_owned(),
                        Decision::Deny(None) => "no".to_owned(),
                        Decision::Deny(Some(why)) => format!("no: {why}"),
                    };
                    let always = always.as_ref().map(|tool| format!(" always {tool}"));
                    format!("{number} {decision}{}", always.unwrap_or_default())
                }
                Act::Leave(code) => format!("leave {code}"),
                Act::Suspend => "suspend".to_owned(),
                Act::Redraw => "redraw".to_owned(),
            });
        }
        words.join(", ")
    }
}

pub(super) fn tool(id: &str) -> ToolRef {
    ToolRef { call: id.into(), turn: 1 }
}
