//! Gemini CLI with `--output-format stream-json`: messages, calls and results without message ids.
//! Model output after a result belongs to the next message.

use crate::{
    ActivityCard, EventPayload, Outcome, RawJson, RunEnd, RunProblem, RunUsage, SharedId,
    TextUpdate, ToolCallUpdate, ToolOutcome, ToolResult, ToolStatus, TurnStart,
    follow::{
        AgentExit, AgentState, AgentStreamReader,
        emitter::{EmitterPhase, RunEmitter, unfinished_end},
        fields::LineFields,
        tasks, time,
    },
};

/// Follows Gemini CLI.
pub(super) struct GeminiCliReader {
    emitter: RunEmitter,
    /// A result arrived since the last model output.
    has_new_results: bool,
}

impl GeminiCliReader {
    pub(super) fn new(run: SharedId) -> GeminiCliReader {
        GeminiCliReader { emitter: RunEmitter::new(run, "gemini-cli"), has_new_results: false }
    }

    fn read_init(&mut self, fields: &LineFields<'_>) {
        if self.emitter.phase() == EmitterPhase::Ended {
            self.emitter.start_next_run();
            self.has_new_results = false;
        }
        self.emitter.start.session = fields.id("session_id");
        self.emitter.start.model = fields.id("model");
        self.emitter.begin();
    }

    /// The model generates output; after results, this starts a new turn.
    fn ensure_turn(&mut self) {
        self.emitter.begin();
        if self.emitter.turn == 0 || self.has_new_results {
            self.has_new_results = false;
            self.emitter.turn = self.emitter.turn.saturating_add(1);
            self.emitter.emit(EventPayload::TurnStarted(TurnStart {
                turn: Some(self.emitter.turn),
                message: None,
            }));
        }
    }

    fn read_message(&mut self, line: &str, fields: &LineFields<'_>) {
        let content = fields.text("content").unwrap_or_default();
        match fields.text("role").as_deref() {
            Some("assistant") => {
                self.ensure_turn();
                let is_delta = fields.is_true("delta");
                let (delta, full) =
                    if is_delta { (Some(content), None) } else { (None, Some(content)) };
                self.emitter.emit(EventPayload::Text(TextUpdate {
                    delta,
                    full,
                    ..TextUpdate::default()
                }));
            }
            Some("user") => {
                let content = RawJson::string(&content);
                let prompt = ActivityCard { kind: "prompt".into(), id: None, content };
                self.emitter.emit(EventPayload::Activity(prompt));
            }
            Some(_) | None => self.emitter.emit_unknown("message", line),
        }
    }

    fn read_call(&mut self, fields: &LineFields<'_>) {
        self.ensure_turn();
        let (id, turn) = (fields.id("tool_id"), self.emitter.turn);
        let input = fields.json("parameters").or_else(|| RawJson::parse("{}"));
        let message: SharedId = format!("turn-{turn}").into();
        let calls = &mut self.emitter.calls;
        let number = calls.announce(id.as_ref(), turn, &message, input.as_ref());
        let name = fields.id("tool_name");
        if let Some(known) = calls.get_mut(number) {
            known.name.clone_from(&name);
        }
        if !calls.complete(number, input.as_ref()) {
            return;
        }
        let list = name.as_deref().zip(input.as_ref());
        let list = list.and_then(|(name, input)| tasks::read_written_list(name, input));
        let (call, status) = (calls.reference(number), Some(ToolStatus::Running));
        self.emitter.emit(EventPayload::ToolCall(ToolCallUpdate {
            call,
            name,
            input,
            status,
            ..ToolCallUpdate::default()
        }));
        if let Some(list) = list {
            self.emitter.emit(EventPayload::Tasks(list));
        }
    }

    fn read_tool_result(&mut self, fields: &LineFields<'_>) {
        self.emitter.begin();
        self.has_new_results = true;
        let id = fields.id("tool_id");
        let number = self.emitter.calls.mention(id.as_ref(), self.emitter.turn);
        let error = fields.object("error");
        let kind = error.as_ref().and_then(|error| error.text("type"));
        let (outcome, unknown_word) = match (fields.text("status").as_deref(), kind.as_deref()) {
            (Some("error"), Some("policy_violation" | "execution_denied")) => {
                (ToolOutcome::Denied, None)
            }
            (Some("error"), _) => (ToolOutcome::Error, None),
            (Some("success") | None, _) => (ToolOutcome::Ok, None),
            // It may have run.
            (Some(word), _) => (ToolOutcome::Interrupted, Some(word.into())),
        };
        let error_message = error.and_then(|error| error.json("message"));
        let content = fields.json("output").or(error_message);
        let name = self.emitter.calls.get(number).and_then(|known| known.name.clone());
        let call = self.emitter.calls.reference(number);
        let result = ToolResult { call, name, outcome, reason: None, content };
        self.emitter.emit_with_unknown(EventPayload::ToolResult(result), unknown_word);
        self.emitter.calls.settle(number);
    }

    fn end_run(&mut self, fields: &LineFields<'_>) {
        let usage = fields.object("stats").map(|stats| {
            let count = |name: &str| stats.number(name).unwrap_or(0);
            RunUsage {
                input: count("input_tokens"),
                output: count("output_tokens"),
                cached: count("cached"),
                reasoning: 0,
            }
        });
        if let Some(usage) = usage {
            self.emitter.begin();
            self.emitter.emit(EventPayload::Usage(usage));
        }
        let (outcome, problem, unknown_word) = match fields.text("status").as_deref() {
            Some("success") | None => (None, None, None),
            Some(status) => {
                let unknown_word = (status != "error").then(|| status.into());
                (Some(Outcome::Failed), Some(read_problem(fields)), unknown_word)
            }
        };
        self.emitter.end(RunEnd { outcome, problem, usage, ..RunEnd::default() }, unknown_word);
    }
}

impl AgentStreamReader for GeminiCliReader {
    fn line(&mut self, line: &str) {
        let Some(fields) = LineFields::read(line) else {
            return self.emitter.emit_unreadable(line);
        };
        self.emitter.at = fields.text("timestamp").and_then(|text| time::milliseconds(&text));
        let kind = fields.text("type").unwrap_or_default();
        match kind.as_str() {
            "init" => self.read_init(&fields),
            "message" => self.read_message(line, &fields),
            "tool_use" => self.read_call(&fields),
            "tool_result" => self.read_tool_result(&fields),
            "error" => {
                let message = fields.text("message").unwrap_or_default();
                let code = fields.id("severity");
                self.emitter.emit(EventPayload::Problem(RunProblem {
                    message,
                    code,
                    fatal: false,
                }));
            }
            "result" => self.end_run(&fields),
            "" => self.emitter.emit_unknown("no-type", line),
            _ => self.emitter.emit_unknown(kind, line),
        }
    }

    fn host_line(&mut self, _line: &str) {}

    fn finish(&mut self, exit: AgentExit) {
        self.emitter.end(unfinished_end(exit), None);
    }

    fn settle(&mut self) {}

    fn state(&self) -> AgentState {
        self.emitter.state()
    }

    fn emitter(&mut self) -> &mut RunEmitter {
        &mut self.emitter
    }
}

fn read_problem(fields: &LineFields<'_>) -> RunProblem {
    let error = fields.object("error");
    let message = error.as_ref().and_then(|error| error.non_empty_text("message"));
    RunProblem {
        message: message.unwrap_or_else(|| "the agent reported that the run failed".into()),
        code: error.and_then(|error| error.id("type")),
        fatal: true,
    }
}
