//! What the model says while it says it: the `stream_event` lines of `--include-partial-messages`.
//!
//! The whole of every part is also printed as an `assistant` line, before the part's end or after
//! it; whichever comes first tells the call.

use crate::{
    Body, Call, Id, Json, Problem, Status, Text,
    follow::{
        calls::Stage,
        claude::{
            Claude, card,
            messages::{Kind, Streamed},
            reply::{Home, error_code},
        },
        fields::Fields,
        tale::Phase,
    },
};

impl Claude {
    pub(super) fn partial(&mut self, line: &str, fields: &Fields<'_>) {
        let Some(event) = fields.object("event") else {
            return self.tale.unknown("stream_event", line);
        };
        let parent = fields.id("parent_tool_use_id");
        let kind = event.text("type").unwrap_or_default();
        match kind.as_str() {
            "message_start" => {
                self.under_way();
                self.ending.goes_on();
                let Some(message) = event.object("message") else {
                    return self.tale.unknown("stream_event:message_start", line);
                };
                let home = self.home(message.id("id"), parent);
                self.messages.stream(home.speaker.clone(), home.message.clone());
                self.metered_quietly(&home, &message);
            }
            "ping" => {}
            "error" => {
                let error = event.object("error");
                let message = error.as_ref().and_then(|error| error.words("message"));
                let code = error.and_then(|error| error.id("type")).or_else(|| error_code(&event));
                let message = message.unwrap_or_else(|| "the model's stream failed".into());
                self.tale.tell(Body::Problem(Problem { message, code, fatal: false }));
            }
            "content_block_start" | "content_block_delta" => {
                self.under_way();
                self.ending.goes_on();
                self.piece(line, parent, &kind, fields);
            }
            "content_block_stop" | "message_delta" | "message_stop" => {
                let named = fields.raw("api_message_id").is_some();
                let known = named || self.messages.streamed(parent.as_ref()).is_some();
                if self.tale.phase() == Phase::UnderWay && known {
                    self.piece(line, parent, &kind, fields);
                }
            }
            _ => self.tale.unknown(format!("stream_event:{kind}"), line),
        }
    }

    fn piece(&mut self, line: &str, parent: Option<Id>, kind: &str, fields: &Fields<'_>) {
        let Some(event) = fields.object("event") else { return };
        let id = fields.id("api_message_id");
        // The beginning of the message may be lost: the stream was joined late.
        let id = id.or_else(|| self.messages.streamed(parent.as_ref()));
        let home = self.home(id, parent);
        let index = event.number("index").unwrap_or(0);
        match kind {
            "content_block_start" => self.part_begins(&home, index, &event),
            "content_block_delta" => self.part_goes_on(line, &home, index, &event),
            "content_block_stop" => self.part_ends(&home, index),
            "message_delta" => {
                let delta = event.object("delta");
                if delta.is_some_and(|delta| delta.raw("stop_reason").is_some()) {
                    self.messages.stop(home.speaker.as_ref());
                }
                self.metered(&home, &event);
            }
            _ => self.messages.stop(home.speaker.as_ref()),
        }
    }

    fn part_begins(&mut self, home: &Home, index: u64, event: &Fields<'_>) {
        let Some(block) = event.object("content_block") else { return };
        let kind = block.text("type").unwrap_or_default();
        let (kind, said) = match kind.as_str() {
            "text" => (Kind::Text, block.words("text")),
            "thinking" => (Kind::Thought, block.words("thinking")),
            "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                let number = self.called_by_id(home, &block);
                if let Some(known) = self.tale.calls.get_mut(number) {
                    known.by_provider = kind != "tool_use";
                }
                self.call_begins(number);
                (Kind::Call(number), None)
            }
            _ => (Kind::Other, None),
        };
        // Most agents begin with an empty object and send the arguments behind it.
        let given = block.object("input").is_some_and(|input| input.values().next().is_some());
        let arguments = block.raw("input").filter(|_| given).map(|raw| raw.get().to_owned());
        let arguments = arguments.unwrap_or_default();
        let part = Streamed { index, kind, closed: false, ended: false, arguments };
        self.messages.open(&home.message).streamed.push(part);
        if said.is_some() {
            self.say(home, kind, Text { delta: said, ..Text::default() });
        }
    }

    fn call_begins(&mut self, number: usize) {
        let Some(known) = self.tale.calls.get_mut(number) else { return };
        if known.stage != Stage::Foretold {
            return;
        }
        known.stage = Stage::Writing;
        let call = Call {
            call: known.call.clone(),
            name: known.name.clone(),
            parent: known.parent.clone(),
            status: Some(Status::Pending),
            ..Call::default()
        };
        self.tale.tell(Body::Call(call));
    }

    fn part_goes_on(&mut self, line: &str, home: &Home, index: u64, event: &Fields<'_>) {
        let Some(delta) = event.object("delta") else { return };
        match delta.text("type").unwrap_or_default().as_str() {
            "text_delta" => self.said(home, index, Kind::Text, delta.words("text")),
            "thinking_delta" => self.said(home, index, Kind::Thought, delta.words("thinking")),
            "input_json_delta" => {
                let Some(delta) = delta.words("partial_json") else { return };
                let part = self.messages.open(&home.message).part(index);
                let number = match part.as_ref().map(|part| part.kind) {
                    Some(Kind::Call(number)) => number,
                    Some(Kind::Text | Kind::Thought | Kind::Other) | None => {
                        return self.tale.unknown("stream_event:arguments", line);
                    }
                };
                if let Some(part) = part {
                    part.arguments.push_str(&delta);
                }
                let call = self.call(number);
                self.tale.tell(Body::Arguments { call, delta });
            }
            // Nobody can read it, and the whole part has it.
            "signature_delta" => {}
            "citations_delta" => {
                if let Some(citation) = delta.json("citation") {
                    self.tale.tell(card("citation", None, citation));
                }
            }
            kind => self.tale.unknown(format!("stream_event:{kind}"), line),
        }
    }

    fn said(&mut self, home: &Home, index: u64, kind: Kind, delta: Option<String>) {
        let message = self.messages.open(&home.message);
        if message.part(index).is_none() {
            let arguments = String::new();
            let part = Streamed { index, kind, closed: false, ended: false, arguments };
            message.streamed.push(part);
        }
        if delta.is_some() {
            self.say(home, kind, Text { delta, ..Text::default() });
        }
    }

    fn part_ends(&mut self, home: &Home, index: u64) {
        let message = self.messages.open(&home.message);
        let part = message.part(index).filter(|part| !part.closed);
        let call = match part {
            Some(Streamed { kind: Kind::Call(number), closed, arguments, .. }) => {
                *closed = true;
                Some((*number, std::mem::take(arguments)))
            }
            Some(Streamed { kind: Kind::Text | Kind::Thought | Kind::Other, .. }) | None => None,
        };
        message.end(index);
        // Arguments that are no JSON are left to the line that tells the call.
        if let Some((number, arguments)) = call
            && let Some(input) = Json::parse(if arguments.is_empty() { "{}" } else { &arguments })
            && self.tale.calls.complete(number, None)
        {
            self.completed(number, Some(input), None);
        }
    }
}
