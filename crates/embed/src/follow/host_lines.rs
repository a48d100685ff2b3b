//! The steps of a host, as lines of the agent's protocol.

use std::borrow::Cow;

use foxwedge_json::{JsonObject, JsonTape, JsonValue};
use foxwedge_run::follow::AgentExit;

use crate::{CallError, report::ReportObject};

/// A step, ready for the follower.
pub(super) enum HostInput<'b> {
    Message(&'b str),
    /// A message that the host sent, in the agent's own form.
    HostMessage(&'b str),
    /// The agent asks about a call.
    Asked {
        call: String,
        line: String,
    },
    /// The host decided about a call.
    Decision {
        call: String,
        /// The question, for a host that did not say that it was asked.
        question: String,
        line: String,
    },
    Prompt {
        run: Option<String>,
        line: String,
    },
    Interrupt(&'static str),
    Settle,
    Finish(AgentExit),
}

const INTERRUPT: &str =
    r#"{"type":"control_request","request_id":"interrupt","request":{"subtype":"interrupt"}}"#;

/// What a host may say about a call that it is asked about: our name, and the agent's.
const QUESTION: [(&str, &str); 5] = [
    ("toolName", "tool_name"),
    ("input", "input"),
    ("title", "title"),
    ("description", "description"),
    ("suggestions", "permission_suggestions"),
];

impl<'b> HostInput<'b> {
    pub(super) fn read(step: &str, body: &'b str) -> Result<HostInput<'b>, CallError> {
        match step {
            "message" => Ok(HostInput::Message(body)),
            "host" => Ok(HostInput::HostMessage(body)),
            "interrupt" => Ok(HostInput::Interrupt(INTERRUPT)),
            "settle" => Ok(HostInput::Settle),
            "asked" => {
                let tape = read_object(body)?;
                let fields = StepFields::new(&tape, body)?;
                let call = fields.call()?;
                let line = question_line(&call, &fields);
                Ok(HostInput::Asked { call, line })
            }
            "decision" => read_decision(body),
            "prompt" => read_prompt(body),
            "finish" => read_exit(body).map(HostInput::Finish),
            other => Err(CallError::new("unknown-operation", format!("no step `{other}`"))),
        }
    }
}

fn read_decision(body: &str) -> Result<HostInput<'_>, CallError> {
    let tape = read_object(body)?;
    let fields = StepFields::new(&tape, body)?;
    // The answer as the agent's protocol has it.
    if fields.text("type")?.as_deref() == Some("control_response") {
        return Ok(HostInput::Message(body));
    }
    let call = fields.call()?;
    let decision = match (fields.get("answers"), fields.text("behavior")?.as_deref()) {
        (Some(answers), None) => {
            let updated = ReportObject::new().raw("answers", answers.raw()).end();
            ReportObject::new().text("behavior", "allow").raw("updatedInput", updated).end()
        }
        (None, Some("allow" | "deny")) => body.to_owned(),
        _ => {
            let message = "a decision has a `behavior`, `allow` or `deny`, or it has `answers`";
            return Err(unreadable(message));
        }
    };
    let response = ReportObject::new()
        .text("subtype", "success")
        .text("request_id", &call)
        .raw("response", decision)
        .end();
    let line = ReportObject::new().text("type", "control_response").raw("response", response);
    let question = question_line(&call, &fields);
    Ok(HostInput::Decision { call, question, line: line.end() })
}

/// A request of the agent about a call; the call's id names the request, too.
fn question_line(call: &str, fields: &StepFields<'_, '_>) -> String {
    let mut request = ReportObject::new().text("subtype", "can_use_tool").text("tool_use_id", call);
    for (name, theirs) in QUESTION {
        if let Some(value) = fields.get(name) {
            request = request.raw(theirs, value.raw());
        }
    }
    ReportObject::new()
        .text("type", "control_request")
        .text("request_id", call)
        .raw("request", request.end())
        .end()
}

/// A prompt: a text, or a message with content.
fn read_prompt(body: &str) -> Result<HostInput<'_>, CallError> {
    let tape = read_object(body)?;
    let fields = StepFields::new(&tape, body)?;
    let run = fields.text("run")?.filter(|run| !run.is_empty()).map(Cow::into_owned);
    let line = match fields.get("message") {
        Some(message) if message.is_object() => message.raw().to_owned(),
        message => {
            let content = message.map_or("\"\"", JsonValue::raw);
            let message = ReportObject::new().text("role", "user").raw("content", content);
            ReportObject::new().text("type", "user").raw("message", message.end()).end()
        }
    };
    Ok(HostInput::Prompt { run, line })
}

fn read_exit(body: &str) -> Result<AgentExit, CallError> {
    if body.trim().is_empty() {
        return Ok(AgentExit::Eof);
    }
    let tape = read_object(body)?;
    let fields = StepFields::new(&tape, body)?;
    let number = |value: JsonValue<'_, '_>| value.number().and_then(|text| text.parse().ok());
    if let Some(signal) = fields.get("signal") {
        let named = signal.text().as_deref().and_then(signal_number);
        let signal = number(signal).or(named);
        return signal.map(AgentExit::Signal).ok_or_else(|| unreadable("no such `signal`"));
    }
    match fields.get("code") {
        None => Ok(AgentExit::Eof),
        Some(code) => {
            number(code).map(AgentExit::Code).ok_or_else(|| unreadable("`code` is no exit code"))
        }
    }
}

/// The number of a signal that ends processes, by the name that Node gives it.
fn signal_number(name: &str) -> Option<i32> {
    const SIGNALS: [(&str, i32); 15] = [
        ("SIGHUP", 1),
        ("SIGINT", 2),
        ("SIGQUIT", 3),
        ("SIGILL", 4),
        ("SIGTRAP", 5),
        ("SIGABRT", 6),
        ("SIGBUS", 7),
        ("SIGFPE", 8),
        ("SIGKILL", 9),
        ("SIGUSR1", 10),
        ("SIGSEGV", 11),
        ("SIGUSR2", 12),
        ("SIGPIPE", 13),
        ("SIGALRM", 14),
        ("SIGTERM", 15),
    ];
    SIGNALS.iter().find(|(known, _)| *known == name).map(|(_, number)| *number)
}

/// The fields of a body.
struct StepFields<'t, 'b> {
    object: JsonObject<'t, 'b>,
}

impl<'t, 'b> StepFields<'t, 'b> {
    fn new(tape: &'t JsonTape, body: &'b str) -> Result<StepFields<'t, 'b>, CallError> {
        let object = tape.root(body).object();
        object.map(|object| StepFields { object }).ok_or_else(|| unreadable("it is no object"))
    }

    fn get(&self, name: &str) -> Option<JsonValue<'t, 'b>> {
        self.object.get(name).filter(|value| !value.is_null())
    }

    fn text(&self, name: &str) -> Result<Option<Cow<'b, str>>, CallError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.text().map(Some).ok_or_else(|| unreadable(&format!("`{name}` is no text")))
    }

    fn call(&self) -> Result<String, CallError> {
        let call = self.text("toolUseID")?.filter(|call| !call.is_empty());
        call.map(Cow::into_owned).ok_or_else(|| unreadable("`toolUseID` is missing"))
    }
}

fn read_object(body: &str) -> Result<JsonTape, CallError> {
    JsonTape::read(body).map_err(|error| CallError {
        kind: "unreadable",
        message: format!("it is not JSON: {}", error.message()),
        at: Some(error.at()),
    })
}

fn unreadable(message: &str) -> CallError {
    CallError::new("unreadable", message)
}
