//! Random runs: changes in any order, with few distinct names, so that ids collide.

use std::sync::Arc;

use super::run::{
    ActivityCard, ApprovalKind, ApprovalRequest, ApprovalVerdict, CallRef, Outcome, RawJson,
    RunEnd, RunProblem, RunStart, RunSummary, RunUsage, SharedId, TaskItem, TaskStatus, ToolRef,
    ToolStatus, ToolStatusReason, ToolsAvailable, UiChange, UiPart,
};

/// A random run. The same seed gives the same run.
pub(crate) fn changes(seed: u64) -> Vec<UiChange> {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let length = dice.below(60);
    let mut changes: Vec<UiChange> = (0..length).map(|_| change(&mut dice)).collect();
    // Most runs start and end normally; what is between is random.
    if dice.below(8) > 0 {
        changes
            .insert(0, UiChange::RunStarted { epoch: 1, at: None, started: RunStart::default() });
    }
    changes.push(ended(&mut dice));
    changes
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }

    fn one<T: Clone>(&mut self, items: &[T]) -> T {
        let at = self.below(items.len() as u64) as usize;
        items.get(at).or(items.first()).cloned().unwrap_or_else(|| panic!("nothing to choose from"))
    }
}

fn change(dice: &mut Dice) -> UiChange {
    match dice.below(50) {
        0 => UiChange::RunStarted { epoch: 2, at: Some(u64::MAX), started: RunStart::default() },
        1 => ended(dice),
        2..=4 => UiChange::StepStarted { turn: dice.below(3) as u32 },
        5..=6 => UiChange::StepEnded { turn: dice.below(3) as u32 },
        7..=8 => UiChange::TextOpened(part(dice)),
        9..=12 => UiChange::TextDelta(part(dice), words(dice)),
        13..=14 => UiChange::TextClosed(part(dice)),
        15 => UiChange::ThoughtOpened(part(dice)),
        16..=17 => UiChange::ThoughtDelta(part(dice), words(dice)),
        18 => UiChange::ThoughtClosed(part(dice)),
        19..=22 => UiChange::ToolOpened {
            tool: tool(dice),
            name: name(dice),
            parent: parent(dice),
            title: (dice.below(2) == 0).then(|| words(dice)),
        },
        23..=26 => UiChange::ToolArguments { tool: tool(dice), delta: words(dice) },
        27..=29 => UiChange::ToolReady { tool: tool(dice), input: json(dice) },
        30..=32 => UiChange::ToolStatus { tool: tool(dice), status: dice.one(&ToolStatus::ALL) },
        33 => UiChange::ToolProgress { tool: tool(dice), content: json(dice) },
        34..=36 => asked(dice),
        37..=38 => UiChange::ApprovalClosed {
            tool: tool(dice),
            id: name(dice),
            verdict: dice.one(&[
                ApprovalVerdict::Allowed,
                ApprovalVerdict::Denied,
                ApprovalVerdict::Answered,
                ApprovalVerdict::Cancelled,
            ]),
        },
        39..=42 => UiChange::ToolSettled {
            tool: tool(dice),
            status: dice.one(&ToolStatus::ALL),
            reason: dice.one(&[
                None,
                Some(ToolStatusReason::TimedOut),
                Some(ToolStatusReason::RunEnded),
            ]),
            content: json(dice),
        },
        43 => UiChange::ToolsAvailable(ToolsAvailable {
            version: dice.one(&[None, Some(3)]),
            ready: dice.below(2) == 0,
            tools: vec![name(dice), name(dice)],
        }),
        44 => UiChange::Tasks(vec![task(dice), task(dice)]),
        45 => UiChange::Usage(RunUsage { input: u64::MAX, output: 1, cached: 2, reasoning: 3 }),
        46 => UiChange::Activity(ActivityCard {
            kind: dice.one(&["compaction", "repair", ""].map(SharedId::from)),
            id: (dice.below(2) == 0).then(|| name(dice)),
            content: json(dice),
        }),
        47..=48 => UiChange::ToolCorrected {
            tool: tool(dice),
            status: dice.one(&ToolStatus::ALL),
            reason: None,
            content: json(dice),
        },
        _ => UiChange::Problem(problem(dice)),
    }
}

fn ended(dice: &mut Dice) -> UiChange {
    let ended = RunEnd {
        outcome: dice.one(&Outcome::ALL.map(Some)).filter(|_| dice.below(9) > 0),
        text: (dice.below(3) == 0).then(|| words(dice)),
        problem: (dice.below(3) == 0).then(|| problem(dice)),
        usage: (dice.below(2) == 0).then(RunUsage::default),
    };
    UiChange::RunEnded { ended, summary: RunSummary::default(), at: dice.one(&[None, Some(7)]) }
}

fn asked(dice: &mut Dice) -> UiChange {
    let request = ApprovalRequest {
        call: CallRef::default(),
        id: (dice.below(4) > 0).then(|| name(dice)),
        kind: dice.one(&[ApprovalKind::Approval, ApprovalKind::Approval, ApprovalKind::Question]),
        prompt: (dice.below(2) == 0).then(|| words(dice)),
        choices: (dice.below(2) == 0).then(|| json(dice)),
    };
    UiChange::ApprovalRequested { tool: tool(dice), request }
}

fn problem(dice: &mut Dice) -> RunProblem {
    RunProblem {
        message: words(dice),
        code: dice.one(&[None, Some(SharedId::from("x"))]),
        fatal: false,
    }
}

fn task(dice: &mut Dice) -> TaskItem {
    let all = [
        TaskStatus::Unknown,
        TaskStatus::Pending,
        TaskStatus::InProgress,
        TaskStatus::Completed,
        TaskStatus::Paused,
    ];
    TaskItem { id: None, content: words(dice), status: dice.one(&all), active: Some(words(dice)) }
}

fn tool(dice: &mut Dice) -> ToolRef {
    ToolRef { call: name(dice), turn: dice.below(2) as u32 }
}

fn part(dice: &mut Dice) -> UiPart {
    UiPart { id: name(dice), parent: parent(dice) }
}

fn parent(dice: &mut Dice) -> Option<SharedId> {
    (dice.below(3) == 0).then(|| name(dice))
}

/// Includes names that look like the ones we generate.
fn name(dice: &mut Dice) -> SharedId {
    let names = ["a", "b", "c", "a~2", "r", "r:a", "step-1", "r:a:result", "tasks", "", "\"\n"];
    let is_common = dice.below(3) > 0;
    if is_common {
        dice.one(&names[..3].iter().map(|name| Arc::from(*name)).collect::<Vec<SharedId>>())
    } else {
        Arc::from(dice.one(&names))
    }
}

fn words(dice: &mut Dice) -> String {
    dice.one(&["", "x", "two words", "{\"a\":", "1}", "\u{0}\n\"\\\u{2028}é😀", "null"]).to_owned()
}

fn json(dice: &mut Dice) -> RawJson {
    let text = dice.one(&[
        "null",
        "{}",
        "[]",
        "\"\"",
        "\"said\"",
        "{\"a\":1}",
        "{\n\"status\":\"failed\",\r\n\"x\":[1,\n2]}",
        "[{\"type\":\"text\",\"text\":\"said\"}]",
        "[\"red\",{\"label\":\"blue\"},\"red\",7]",
        "1e400",
        "true",
    ]);
    RawJson::parse(text).unwrap_or_else(|| panic!("`{text}` is JSON"))
}
