//! What the model says: the `assistant` lines, with one part in each or with many.

use serde_json::value::RawValue;

use crate::{
    Body, Call, How, Id, Json, Problem, Status, Text, ToolResult, Turn,
    follow::{
        calls::Stage,
        claude::{
            Claude,
            messages::{Kind, mark},
        },
        fields::Fields,
        tasks,
    },
};

/// Whose message it is, and where its calls belong.
#[derive(Clone)]
pub(super) struct Home {
    pub(super) message: Id,
    /// How the message is told; none if it has no id of its own.
    pub(super) told: Option<Id>,
    pub(super) parent: Option<Id>,
    /// The parent as the line names it.
    pub(super) speaker: Option<Id>,
    pub(super) turn: u32,
}

impl Claude {
    pub(super) fn reply(&mut self, line: &str, fields: &Fields<'_>) {
        let Some(message) = fields.object("message") else {
            return self.tale.unknown("assistant", line);
        };
        self.under_way();
        self.ending.goes_on();
        if fields.is_true("is_api_error_message") || fields.is_true("isApiErrorMessage") {
            return self.api_error(fields, &message);
        }
        let home = self.home(message.id("id"), fields.id("parent_tool_use_id"));
        self.blocks(&home, &message, fields);
        if self.messages.is_coming(home.speaker.as_ref(), &home.message) {
            // Counted when the model has stopped.
            self.metered_quietly(&home, &message);
        } else {
            self.metered(&home, &message);
        }
    }

    /// Where a message belongs. A new one of the run itself is a new turn; one of a sub-agent
    /// belongs to the turn of the call that the sub-agent works for.
    pub(super) fn home(&mut self, id: Option<Id>, parent: Option<Id>) -> Home {
        let message = id.clone().unwrap_or_else(|| self.messages.nameless());
        if id.is_some() {
            self.messages.close_nameless();
        }
        if let Some(speaker) = parent {
            let number = self.tale.calls.find(Some(&speaker));
            let call = number.map(|number| self.call(number)).unwrap_or_default();
            let turn = call.turn.unwrap_or(self.tale.turn);
            let parent = Some(call.id.unwrap_or_else(|| speaker.clone()));
            return Home { message, told: id, parent, speaker: Some(speaker), turn };
        }
        let (turn, new) = self.messages.turn(&message);
        if new {
            self.tale.turn = turn;
            self.tale.tell(Body::Turn(Turn { turn: Some(turn), message: id.clone() }));
        }
        Home { message, told: id, parent: None, speaker: None, turn }
    }

    fn blocks(&mut self, home: &Home, message: &Fields<'_>, line: &Fields<'_>) {
        let Some(text) = message.text("content") else {
            if let Some(raw) = message.raw("content").filter(|_| !message.is_list("content")) {
                self.tale.unknown("content", raw.get());
            }
            let blocks = message.list("content");
            let marks: Vec<u64> = blocks.iter().map(|block| mark(block.get())).collect();
            let told = self.messages.open(&home.message).repeated(&marks);
            for (block, mark) in blocks.into_iter().zip(marks).skip(told) {
                self.block(home, block, line);
                self.messages.open(&home.message).told.push(mark);
            }
            return;
        };
        self.whole(home, Kind::Text, text);
    }

    fn block(&mut self, home: &Home, raw: &RawValue, line: &Fields<'_>) {
        let Some(block) = Fields::read(raw.get()) else {
            return self.tale.unknown("block", raw.get());
        };
        match block.text("type").unwrap_or_default().as_str() {
            "text" => self.whole(home, Kind::Text, block.text("text").unwrap_or_default()),
            "thinking" => {
                self.whole(home, Kind::Thought, block.text("thinking").unwrap_or_default());
            }
            "tool_use" => self.called(home, &block, line),
            "server_tool_use" | "mcp_tool_use" => {
                let number = self.called_by_id(home, &block);
                if let Some(known) = self.tale.calls.get_mut(number) {
                    known.by_provider = true;
                }
                self.called(home, &block, line);
            }
            "tool_result" => self.answer(&block, home.turn, line),
            kind if kind.ends_with("_tool_result") => self.answered_by_provider(home, &block),
            kind => self.tale.unknown(format!("block:{kind}"), raw.get()),
        }
    }

    /// A text or a thought, all of it.
    fn whole(&mut self, home: &Home, kind: Kind, full: String) {
        let streamed = self.messages.open(&home.message).close(kind);
        if full.is_empty() && !streamed {
            return;
        }
        self.say(home, kind, Text { full: Some(full), ..Text::default() });
    }

    pub(super) fn say(&mut self, home: &Home, kind: Kind, text: Text) {
        let text = Text { message: home.told.clone(), parent: home.parent.clone(), ..text };
        self.tale.tell(match kind {
            Kind::Thought => Body::Thought(text),
            Kind::Text | Kind::Call(_) | Kind::Other => Body::Text(text),
        });
    }

    /// The call of a block, which may have been told in pieces.
    pub(super) fn called_by_id(&mut self, home: &Home, block: &Fields<'_>) -> usize {
        let input = block.json("input");
        let id = block.id("id");
        let calls = &mut self.tale.calls;
        let number = calls.announce(id.as_ref(), home.turn, &home.message, input.as_ref());
        if let Some(known) = calls.get_mut(number) {
            known.name = block.id("name").or(known.name.take());
            known.parent.clone_from(&home.parent);
        }
        number
    }

    fn called(&mut self, home: &Home, block: &Fields<'_>, line: &Fields<'_>) {
        let number = self.called_by_id(home, block);
        self.messages.open(&home.message).close(Kind::Call(number));
        let id = block.id("id");
        let metas =
            line.list("tool_use_meta").into_iter().filter_map(|raw| Fields::read(raw.get()));
        let meta = metas.into_iter().find(|meta| id.is_some() && meta.id("id") == id);
        let title = meta.and_then(|meta| meta.words("display_name"));
        let input = block.json("input");
        if self.tale.calls.complete(number, input.as_ref()) {
            self.completed(number, input, title);
        }
    }

    /// The arguments of a call are all there, and the agent starts it.
    pub(super) fn completed(&mut self, number: usize, input: Option<Json>, title: Option<String>) {
        let Some(known) = self.tale.calls.get(number) else { return };
        let (name, parent) = (known.name.clone(), known.parent.clone());
        let call = Call {
            call: known.call.clone(),
            name: name.clone(),
            parent: parent.clone(),
            input: Some(input.clone().unwrap_or_else(|| Json::from(&serde_json::json!({})))),
            title,
            status: Some(Status::Running),
        };
        self.tale.tell(Body::Call(call));
        // The list of a sub-agent is its own.
        if let (Some(name), Some(input), None) = (name, input, parent) {
            match tasks::written(&name, &input) {
                Some(tasks) => self.tale.tell(Body::Tasks(tasks)),
                None if name.starts_with("Task") => {
                    self.task_calls.insert(number, input);
                }
                None => {}
            }
        }
    }

    fn answered_by_provider(&mut self, home: &Home, block: &Fields<'_>) {
        let id = block.id("tool_use_id");
        let number = self.tale.calls.mention(id.as_ref(), home.turn);
        let Some(known) = self.tale.calls.get(number) else { return };
        if known.stage == Stage::Settled {
            return;
        }
        let failed = block.object("content").and_then(|content| content.text("type"));
        let failed = failed.is_some_and(|kind| kind.ends_with("_error"));
        let how = if failed || block.is_true("is_error") { How::Error } else { How::Ok };
        let (call, name) = (known.call.clone(), known.name.clone());
        let content = block.json("content");
        self.tale.tell(Body::Result(ToolResult { call, name, how, reason: None, content }));
        self.tale.calls.settle(number);
    }

    /// The model could not be asked: what the agent says about it is not the model's.
    fn api_error(&mut self, line: &Fields<'_>, message: &Fields<'_>) {
        let blocks = message.list("content").into_iter().filter_map(|raw| Fields::read(raw.get()));
        let texts: Vec<String> = blocks.filter_map(|block| block.words("text")).collect();
        let text = message.words("content").unwrap_or_else(|| texts.join("\n"));
        let problem = Problem { message: text, code: error_code(line), fatal: false };
        self.tale.tell(Body::Problem(problem));
    }
}

/// What kind of error it is, in a word.
pub(super) fn error_code(line: &Fields<'_>) -> Option<Id> {
    ["api_error_type", "api_error", "api_error_status", "error_status", "error"]
        .into_iter()
        .find_map(|name| line.id(name))
        .filter(|code| &**code != "unknown")
}
