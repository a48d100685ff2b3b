//! Everything in any order: agents that make no sense, and clients that ask what they like.

use foxwedge_agent::{
    Answer, Ask, AskKind, Decision, Heard, Input, Output, Phase, Tail, Talk, Trouble,
};
use serde_json::{Value, json};

use crate::{dice::Dice, judge};

#[test]
fn whatever_happens_replies_are_whole_and_nobody_is_told_twice() {
    for seed in 0..200 {
        let mut dice = Dice(seed);
        let mut talk = Talk::new(dice.chance(30));
        let mut said: Option<Vec<Value>> = None;
        for _ in 0..200 {
            let input = input(&mut dice);
            let asks = matches!(input, Input::Request(_));
            let newcomer = asks && said.is_some();
            if asks && !newcomer {
                said = Some(Vec::new());
            }
            let before = talk.phase();
            for output in talk.step(input) {
                match output {
                    Output::Say(event) => said.as_mut().unwrap().push(event),
                    Output::End => drop(judge::reply(&said.take().unwrap())),
                    Output::Fail(_) if newcomer => {}
                    Output::Fail(_) => drop(said.take().unwrap()),
                    Output::Kill => assert_ne!(before, Phase::Dead),
                    Output::Order(_) => assert_ne!(before, Phase::Dead),
                    Output::Note(_) => {}
                }
            }
            assert_eq!(talk.phase() == Phase::Replying, said.is_some(), "seed {seed}");
            if talk.phase() == Phase::Dead {
                assert!(talk.open().is_empty() && talk.asked().is_empty());
                talk = Talk::new(dice.chance(50));
            }
        }
    }
}

fn input(dice: &mut Dice) -> Input {
    let id = |dice: &mut Dice| format!("c{}", dice.below(4));
    let ticket = |dice: &mut Dice| format!("t{}", dice.below(4));
    match dice.below(40) {
        0..=5 => Input::Request(tail(dice)),
        6 if dice.chance(20) => Input::Stop,
        7 if dice.chance(20) => Input::Died("gone".into()),
        8 => Input::Decided { ticket: ticket(dice), decision: Decision::Allow { input: None } },
        9..=12 => Input::Heard(Heard::Wants {
            ticket: ticket(dice),
            call: dice.chance(70).then(|| id(dice)),
            name: "f".into(),
            arguments: json!({}),
        }),
        13 => Input::Heard(Heard::Withdrawn { ticket: ticket(dice) }),
        14..=15 => Input::Heard(Heard::Closed { call: id(dice), error: dice.chance(50) }),
        16 => Input::Heard(Heard::Asks(Ask {
            ticket: ticket(dice),
            call: None,
            tool: "Bash".into(),
            input: json!({}),
            kind: AskKind::Permission,
        })),
        17 => Input::Heard(Heard::Ended {
            trouble: dice.chance(5).then(|| Trouble {
                status: None,
                message: "oh".into(),
                stopped: dice.chance(50),
            }),
            text: dice.chance(50).then(|| "text".into()),
            more: dice.chance(50),
        }),
        18 => Input::Heard(Heard::Idle),
        _ => Input::Heard(Heard::Said(event(dice))),
    }
}

fn tail(dice: &mut Dice) -> Tail {
    let text = json!({"type": "text", "text": "words"});
    let answer = |dice: &mut Dice| Answer {
        call: format!("c{}", dice.below(5)),
        content: vec![json!({"type": "text", "text": "answer"})],
        error: false,
    };
    let count = dice.below(4);
    Tail {
        answers: (0..count).map(|_| answer(dice)).collect(),
        words: if dice.chance(30) { vec![text] } else { Vec::new() },
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
