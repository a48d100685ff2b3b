//! Gemini CLI's `--output-format stream-json`: messages, calls and results without ids of
//! messages. What the model says or calls after a result is its next message.

use crate::{
    Activity, Body, Call, Ended, How, Id, Json, Outcome, Problem, Status, Text, ToolResult, Turn,
    Usage,
    follow::{
        Exit, Reader, State,
        fields::Fields,
        tale::{Phase, Tale, cut_short},
        tasks, time,
    },
};

/// Follows Gemini CLI.
pub(super) struct Gemini {
    tale: Tale,
    /// A result came since the model spoke.
    answered: bool,
}

impl Gemini {
    pub(super) fn new(run: Id) -> Gemini {
        Gemini { tale: Tale::new(run, "gemini-cli"), answered: false }
    }

    fn init(&mut self, fields: &Fields<'_>) {
        if self.tale.phase() == Phase::Over {
            self.tale.renew();
            self.answered = false;
        }
        self.tale.about.session = fields.id("session_id");
        self.tale.about.model = fields.id("model");
        self.tale.begin();
    }

    /// The model speaks: anew, if somebody answered it.
    fn speaks(&mut self) {
        self.tale.begin();
        if self.tale.turn == 0 || self.answered {
            self.answered = false;
            self.tale.turn = self.tale.turn.saturating_add(1);
            self.tale.tell(Body::Turn(Turn { turn: Some(self.tale.turn), message: None }));
        }
    }

    fn message(&mut self, line: &str, fields: &Fields<'_>) {
        let content = fields.text("content").unwrap_or_default();
        match fields.text("role").as_deref() {
            Some("assistant") => {
                self.speaks();
                let is_piece = fields.is_true("delta");
                let (delta, full) =
                    if is_piece { (Some(content), None) } else { (None, Some(content)) };
                self.tale.tell(Body::Text(Text { delta, full, ..Text::default() }));
            }
            Some("user") => {
                let content = Json::string(&content);
                let prompt = Activity { kind: "prompt".into(), id: None, content };
                self.tale.tell(Body::Activity(prompt));
            }
            Some(_) | None => self.tale.unknown("message", line),
        }
    }

    fn called(&mut self, fields: &Fields<'_>) {
        self.speaks();
        let (id, turn) = (fields.id("tool_id"), self.tale.turn);
        let input = fields.json("parameters").or_else(|| Json::parse("{}"));
        let home: Id = format!("turn-{turn}").into();
        let calls = &mut self.tale.calls;
        let number = calls.announce(id.as_ref(), turn, &home, input.as_ref());
        let name = fields.id("tool_name");
        if let Some(known) = calls.get_mut(number) {
            known.name.clone_from(&name);
        }
        if !calls.complete(number, input.as_ref()) {
            return;
        }
        let list = name.as_deref().zip(input.as_ref());
        let list = list.and_then(|(name, input)| tasks::written(name, input));
        let (call, status) = (calls.reference(number), Some(Status::Running));
        self.tale.tell(Body::Call(Call { call, name, input, status, ..Call::default() }));
        if let Some(list) = list {
            self.tale.tell(Body::Tasks(list));
        }
    }

    fn result(&mut self, fields: &Fields<'_>) {
        self.tale.begin();
        self.answered = true;
        let id = fields.id("tool_id");
        let number = self.tale.calls.mention(id.as_ref(), self.tale.turn);
        let error = fields.object("error");
        let kind = error.as_ref().and_then(|error| error.text("type"));
        let (how, odd) = match (fields.text("status").as_deref(), kind.as_deref()) {
            (Some("error"), Some("policy_violation" | "execution_denied")) => (How::Denied, None),
            (Some("error"), _) => (How::Error, None),
            (Some("success") | None, _) => (How::Ok, None),
            // It may have done its work.
            (Some(word), _) => (How::Interrupted, Some(word.into())),
        };
        let said = error.and_then(|error| error.json("message"));
        let content = fields.json("output").or(said);
        let name = self.tale.calls.get(number).and_then(|known| known.name.clone());
        let call = self.tale.calls.reference(number);
        let result = ToolResult { call, name, how, reason: None, content };
        self.tale.tell_odd(Body::Result(result), odd);
        self.tale.calls.settle(number);
    }

    fn ends(&mut self, fields: &Fields<'_>) {
        let usage = fields.object("stats").map(|stats| {
            let count = |name: &str| stats.number(name).unwrap_or(0);
            Usage {
                input: count("input_tokens"),
                output: count("output_tokens"),
                cached: count("cached"),
                reasoning: 0,
            }
        });
        if let Some(usage) = usage {
            self.tale.begin();
            self.tale.tell(Body::Usage(usage));
        }
        let (outcome, problem, odd) = match fields.text("status").as_deref() {
            Some("success") | None => (None, None, None),
            Some(status) => {
                let odd = (status != "error").then(|| status.into());
                (Some(Outcome::Failed), Some(problem(fields)), odd)
            }
        };
        self.tale.end(Ended { outcome, problem, usage, ..Ended::default() }, odd);
    }
}

impl Reader for Gemini {
    fn line(&mut self, line: &str) {
        let Some(fields) = Fields::read(line) else { return self.tale.unreadable(line) };
        self.tale.at = fields.text("timestamp").and_then(|text| time::milliseconds(&text));
        let kind = fields.text("type").unwrap_or_default();
        match kind.as_str() {
            "init" => self.init(&fields),
            "message" => self.message(line, &fields),
            "tool_use" => self.called(&fields),
            "tool_result" => self.result(&fields),
            "error" => {
                let message = fields.text("message").unwrap_or_default();
                let code = fields.id("severity");
                self.tale.tell(Body::Problem(Problem { message, code, fatal: false }));
            }
            "result" => self.ends(&fields),
            "" => self.tale.unknown("no-type", line),
            _ => self.tale.unknown(kind, line),
        }
    }

    fn host_line(&mut self, _line: &str) {}

    fn finish(&mut self, exit: Exit) {
        self.tale.end(cut_short(exit), None);
    }

    fn settle(&mut self) {}

    fn state(&self) -> State {
        self.tale.state()
    }

    fn tale(&mut self) -> &mut Tale {
        &mut self.tale
    }
}

fn problem(fields: &Fields<'_>) -> Problem {
    let error = fields.object("error");
    let message = error.as_ref().and_then(|error| error.words("message"));
    Problem {
        message: message.unwrap_or_else(|| "the agent says that the run failed".into()),
        code: error.and_then(|error| error.id("type")),
        fatal: true,
    }
}
