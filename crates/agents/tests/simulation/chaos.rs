//! Everything in any order: agents that make no sense, and clients that ask what they like.

use foxwedge_agents::{
    AgentBridge, AgentEvent, BridgeInput, BridgeOutput, BridgePhase, ClientToolResult,
    PermissionDecision, PermissionKind, PermissionRequest, RequestTail, TurnFailure,
};
use serde_json::{Value, json};

use crate::{dice::Dice, judge};

#[test]
fn whatever_happens_replies_are_whole_and_nobody_is_told_twice() {
    for seed in 0..200 {
        let mut dice = Dice(seed);
        let mut talk = AgentBridge::new(dice.chance(30));
        let mut said: Option<Vec<Value>> = None;
        for _ in 0..200 {
            let input = input(&mut dice);
            let asks = matches!(input, BridgeInput::Request(_));
            let newcomer = asks && said.is_some();
            if asks && !newcomer {
                said = Some(Vec::new());
            }
            let before = talk.phase();
            for output in talk.step(input) {
                match output {
                    BridgeOutput::StreamEvent(event) => said.as_mut().unwrap().push(event),
                    BridgeOutput::End => drop(judge::reply(&said.take().unwrap())),
                    BridgeOutput::Fail(_) if newcomer => {}
                    BridgeOutput::Fail(_) => drop(said.take().unwrap()),
                    BridgeOutput::Kill => assert_ne!(before, BridgePhase::Dead),
                    BridgeOutput::Command(_) => assert_ne!(before, BridgePhase::Dead),
                    BridgeOutput::Note(_) => {}
                }
            }
            assert_eq!(talk.phase() == BridgePhase::Replying, said.is_some(), "seed {seed}");
            if talk.phase() == BridgePhase::Dead {
                assert!(talk.open_calls().is_empty() && talk.permission_requests().is_empty());
                talk = AgentBridge::new(dice.chance(50));
            }
        }
    }
}

fn input(dice: &mut Dice) -> BridgeInput {
    let id = |dice: &mut Dice| format!("c{}", dice.below(4));
    let ticket = |dice: &mut Dice| format!("t{}", dice.below(4));
    match dice.below(40) {
        0..=5 => BridgeInput::Request(tail(dice)),
        6 if dice.chance(20) => BridgeInput::Stop,
        7 if dice.chance(20) => BridgeInput::Died("gone".into()),
        8 => BridgeInput::Decided {
            ticket: ticket(dice),
            decision: PermissionDecision::Allow { input: None },
        },
        9..=12 => BridgeInput::AgentEvent(AgentEvent::ToolResultWanted {
            ticket: ticket(dice),
            call: dice.chance(70).then(|| id(dice)),
            name: "f".into(),
            arguments: json!({}),
        }),
        13 => BridgeInput::AgentEvent(AgentEvent::Withdrawn { ticket: ticket(dice) }),
        14..=15 => BridgeInput::AgentEvent(AgentEvent::CallClosed {
            call: id(dice),
            error: dice.chance(50),
        }),
        16 => BridgeInput::AgentEvent(AgentEvent::PermissionRequested(PermissionRequest {
            ticket: ticket(dice),
            call: None,
            tool: "Bash".into(),
            input: json!({}),
            kind: PermissionKind::Permission,
        })),
        17 => BridgeInput::AgentEvent(AgentEvent::TurnEnded {
            failure: dice.chance(5).then(|| TurnFailure {
                status: None,
                message: "oh".into(),
                stopped: dice.chance(50),
            }),
            text: dice.chance(50).then(|| "text".into()),
            more: dice.chance(50),
        }),
        18 => BridgeInput::AgentEvent(AgentEvent::Idle),
        _ => BridgeInput::AgentEvent(AgentEvent::StreamEvent(event(dice))),
    }
}

fn tail(dice: &mut Dice) -> RequestTail {
    let text = json!({"type": "text", "text": "words"});
    let answer = |dice: &mut Dice| ClientToolResult {
        call: format!("c{}", dice.below(5)),
        content: vec![json!({"type": "text", "text": "answer"})],
        error: false,
    };
    let count = dice.below(4);
    RequestTail {
        answers: (0..count).map(|_| answer(dice)).collect(),
        user_content: if dice.chance(30) { vec![text] } else { Vec::new() },
        foreign: dice.chance(5),
        one_at_a_time: dice.chance(20),
        seed: 0,
    }
}

/// An event that may make no sense where it stands, or anywhere. Only one block is open at a time:
/// the machine passes on in which order blocks come.
fn event(dice: &mut Dice) -> Value {
    let id = format!("c{}", dice.below(4));
    let call = |kind: &str| json!({"type": kind, "id": id, "name": "f", "input": {}});
    let start =
        |block: Value| json!({"type": "content_block_start", "index": 0, "content_block": block});
    let delta = |delta: Value| json!({"type": "content_block_delta", "index": 0, "delta": delta});
    match dice.below(14) {
        0 => json!({"type": "message_start", "message": {"usage": {"input_tokens": 1}}}),
        1 => json!({"type": "message_stop"}),
        2 => json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
        3 => start(json!({"type": "text", "text": ""})),
        4..=6 => start(call("tool_use")),
        7 => start(call("agent_tool_use")),
        8 => delta(json!({"type": "text_delta", "text": "text"})),
        9 => delta(json!({"type": "input_json_delta", "partial_json": " "})),
        10..=12 => json!({"type": "content_block_stop", "index": 0}),
        _ => [json!(null), json!({"type": "ping"}), json!({"type": 7, "index": -1})][dice.below(3)]
            .clone(),
    }
}
