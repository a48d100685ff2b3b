//! Plays a script to the machine and tells what it does.
//!
//! One step a line. The client: `ask WORDS`, `answer a b` (`answer a b | WORDS` says something
//! behind), `serial ...` (one call at a time), `stop`. The agent: `says hello a b +x` (a message
//! with a text, calls of the client's tools, and one of its own), `wants a b`, `wants ?f` (without an
//! id), `closed a`, `withdrawn a`, `ended`, `ended more`, `ended: text`, `idle`, `trouble 429`,
//! `asks q`, `died`. Raw pieces of a message: `open`, `block a`, `close`; more of the last one:
//! `part b`. A person: `decide q`.

use std::collections::BTreeSet;

use foxwedge_agents::{
    AgentBridge, AgentCommand, AgentEvent, BridgeInput, BridgeNote, BridgeOutput, BridgePhase,
    ClientToolResult, PermissionDecision, PermissionKind, PermissionRequest, RequestTail,
    TurnFailure,
};
use foxwedge_core::Format;
use foxwedge_formats::{
    model::ContentPart,
    stream::{CollectedEnding, collect},
};
use serde_json::{Value, json};

/// What the agent has written last.
#[derive(Default)]
struct Pen {
    message: u64,
    blocks: u64,
}

/// Plays a script: each line is `what happens => what is done`.
pub(crate) fn plays(script: &str) {
    play(AgentBridge::new(false), script);
}

/// The same, with an agent that goes on by itself.
pub(crate) fn play(mut talk: AgentBridge, script: &str) {
    let mut pen = Pen::default();
    let mut said = Vec::new();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (step, expected) = line.split_once("=>").unwrap_or((line, ""));
        let mut outputs = Vec::new();
        for input in inputs(step.trim(), &mut pen) {
            outputs.extend(talk.step(input));
        }
        assert_eq!(told(&outputs, &mut said), expected.trim(), "`{}` in:\n{script}", step.trim());
    }
    if talk.phase() == BridgePhase::Idle {
        assert!(talk.open_calls().is_empty() && talk.permission_requests().is_empty(), "{script}");
    }
}

fn inputs(step: &str, pen: &mut Pen) -> Vec<BridgeInput> {
    let (word, rest) = step.split_once(' ').unwrap_or((step, ""));
    let heard = |heard: AgentEvent| vec![BridgeInput::AgentEvent(heard)];
    let ended = |trouble, text: &str, more| {
        let text = (!text.is_empty()).then(|| text.to_owned());
        heard(AgentEvent::TurnEnded { failure: trouble, text, more })
    };
    match word {
        "ask" | "answer" => vec![BridgeInput::Request(tail(word, rest, false))],
        "serial" => {
            let (word, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            vec![BridgeInput::Request(tail(word, rest, true))]
        }
        "timeout" => vec![BridgeInput::TimedOut],
        "stop" => vec![BridgeInput::Stop],
        "died" => vec![BridgeInput::Died("killed".into())],
        "decide" => {
            let decision = PermissionDecision::Allow { input: None };
            vec![BridgeInput::Decided { ticket: format!("t-{rest}"), decision }]
        }
        "part" => {
            pen.message -= 1;
            inputs(&format!("says {rest}"), pen)
        }
        "says" => message(rest, pen)
            .into_iter()
            .map(|event| BridgeInput::AgentEvent(AgentEvent::StreamEvent(event)))
            .collect(),
        "open" => heard(AgentEvent::StreamEvent(start(pen))),
        "block" => {
            let events = rest.split_whitespace().flat_map(|word| block(word, pen));
            events.map(|event| BridgeInput::AgentEvent(AgentEvent::StreamEvent(event))).collect()
        }
        "close" => stop()
            .into_iter()
            .map(|event| BridgeInput::AgentEvent(AgentEvent::StreamEvent(event)))
            .collect(),
        "wants" => rest.split_whitespace().map(|id| BridgeInput::AgentEvent(wants(id))).collect(),
        "closed" => heard(AgentEvent::CallClosed { call: rest.into(), error: true }),
        "withdrawn" => heard(AgentEvent::Withdrawn { ticket: format!("t-{rest}") }),
        "asks" => heard(AgentEvent::PermissionRequested(PermissionRequest {
            ticket: format!("t-{rest}"),
            call: None,
            tool: "Bash".into(),
            input: json!({}),
            kind: PermissionKind::Permission,
        })),
        "ended" => ended(None, "", rest == "more"),
        "ended:" => ended(None, rest, false),
        "stopped" => {
            ended(Some(TurnFailure { status: None, message: "x".into(), stopped: true }), "", false)
        }
        "trouble" => ended(
            Some(TurnFailure { status: rest.parse().ok(), message: "oh".into(), stopped: false }),
            "",
            false,
        ),
        "idle" => heard(AgentEvent::Idle),
        other => panic!("what is `{other}`?"),
    }
}

fn tail(word: &str, rest: &str, one_at_a_time: bool) -> RequestTail {
    let (ids, words) = match word {
        "ask" => ("", rest),
        _ => rest.split_once('|').unwrap_or((rest, "")),
    };
    let answer = |id: &str| ClientToolResult {
        call: id.into(),
        content: vec![json!({"type": "text", "text": format!("answer to {id}")})],
        error: false,
    };
    let words = words.trim();
    let words = (!words.is_empty()).then(|| json!({"type": "text", "text": words}));
    RequestTail {
        answers: ids.split_whitespace().map(answer).collect(),
        user_content: words.into_iter().collect(),
        foreign: false,
        one_at_a_time,
        seed: 0,
    }
}

fn wants(id: &str) -> AgentEvent {
    let named = id.strip_prefix('?');
    AgentEvent::ToolResultWanted {
        ticket: format!("t-{}", named.unwrap_or(id)),
        call: named.is_none().then(|| id.to_owned()),
        name: named.map_or_else(|| format!("f_{id}"), |name| format!("f_{name}")),
        arguments: json!({}),
    }
}

fn start(pen: &mut Pen) -> Value {
    pen.blocks = 0;
    pen.message += 1;
    let id = format!("msg_{}", pen.message);
    let usage = json!({"input_tokens": 10, "output_tokens": 1});
    json!({"type": "message_start", "message": {"id": id, "type": "message",
        "role": "assistant", "model": "x", "content": [], "stop_reason": null, "usage": usage}})
}

fn stop() -> [Value; 2] {
    let delta = json!({"stop_reason": "tool_use", "stop_sequence": null});
    let usage = json!({"output_tokens": 5});
    [
        json!({"type": "message_delta", "delta": delta, "usage": usage}),
        json!({"type": "message_stop"}),
    ]
}

/// A text, a call, or a call of the agent's own (`+x`).
fn block(word: &str, pen: &mut Pen) -> Vec<Value> {
    let index = pen.blocks;
    pen.blocks += 1;
    let (start, delta) = if word.len() > 2 {
        (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": word}))
    } else {
        let kind = if word.starts_with('+') { "agent_tool_use" } else { "tool_use" };
        let id = word.trim_start_matches('+');
        let start = json!({"type": kind, "id": id, "name": format!("f_{id}"), "input": {}});
        (start, json!({"type": "input_json_delta", "partial_json": "{}"}))
    };
    vec![
        json!({"type": "content_block_start", "index": index, "content_block": start}),
        json!({"type": "content_block_delta", "index": index, "delta": delta}),
        json!({"type": "content_block_stop", "index": index}),
    ]
}

fn message(words: &str, pen: &mut Pen) -> Vec<Value> {
    let mut events = vec![start(pen)];
    events.extend(words.split_whitespace().flat_map(|word| block(word, pen)));
    events.extend(stop());
    events
}

/// What is done: `<` before the whole reply that the client has heard in the end, `>` before what
/// the agent hears.
fn told(outputs: &[BridgeOutput], said: &mut Vec<Value>) -> String {
    let mut told = Vec::new();
    for output in outputs {
        match output {
            BridgeOutput::StreamEvent(event) => said.push(event.clone()),
            BridgeOutput::End => told.push(format!("< {}", reply(&std::mem::take(said)))),
            BridgeOutput::Fail(fault) => {
                // A newcomer that is refused is not who listens.
                if fault.code != "agent_busy" {
                    said.clear();
                }
                told.push(format!("fail {} {}", fault.status, fault.code));
            }
            BridgeOutput::Kill => told.push("kill".into()),
            BridgeOutput::Command(order) => told.push(match order {
                AgentCommand::Prompt(blocks) => {
                    format!("> says {}", blocks[0]["text"].as_str().unwrap())
                }
                AgentCommand::ToolResult { ticket, content, error } => {
                    let text = content[0]["text"].as_str().unwrap();
                    let text = text.strip_prefix("answer to ").unwrap_or(text);
                    let head: String = text.chars().take_while(|c| *c != ':').collect();
                    assert_eq!(*error, text.starts_with('['));
                    format!("> {ticket}={head}")
                }
                AgentCommand::Decide { request: ask, .. } => format!("> decides {}", ask.ticket),
                AgentCommand::Interrupt => "> interrupt".into(),
            }),
            BridgeOutput::Note(note) => told.push(match note {
                BridgeNote::AgentToolStarted(call) => format!("own {}", call.id),
                BridgeNote::AgentToolEnded { call, .. } => format!("own {call} done"),
                BridgeNote::PermissionRequested(ask) => format!("asked {}", ask.ticket),
                BridgeNote::PermissionClosed { ticket, decision: Some(_) } => {
                    format!("settled {ticket}")
                }
                BridgeNote::PermissionClosed { ticket, decision: None } => {
                    format!("withdrawn {ticket}")
                }
                BridgeNote::Ignored(why, id) => format!("{why} {id}"),
                BridgeNote::TimedOut(id) => format!("timeout {id}"),
            }),
        }
    }
    told.join(", ")
}

/// A reply as the client puts it together.
fn reply(events: &[Value]) -> String {
    let bytes: String = events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
        .collect();
    let collection = collect(Format::Anthropic, bytes.as_bytes()).unwrap();
    assert_eq!(collection.ending, CollectedEnding::Complete, "{bytes}");
    let mut indices = BTreeSet::new();
    for event in events.iter().filter(|event| event["type"] == "content_block_start") {
        assert!(indices.insert(event["index"].as_u64().unwrap()), "{bytes}");
    }
    let mut told: Vec<String> = Vec::new();
    for part in &collection.reply.parts {
        told.push(match part.content() {
            // A blank line is a stroke.
            ContentPart::Text(text) => match text.strip_prefix("\n\n") {
                Some(rest) => format!("/ {rest}"),
                None => text.replace("\n\n", " / "),
            },
            ContentPart::ToolCall(call) => {
                assert_eq!(&*call.arguments, "{}");
                format!("({})", call.id.as_deref().unwrap().chars().take(9).collect::<String>())
            }
            _ => "?".into(),
        });
    }
    let stop = &events[events.len() - 2]["delta"]["stop_reason"];
    told.push(format!("{}.", stop.as_str().unwrap()));
    told.join(" ")
}
