//! Random events from a seed: every payload, optional fields present and absent, hostile texts.

use super::{id, json};
use crate::*;

pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(super) fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        let at = self.below(items.len());
        items[at].clone()
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Dice) -> T) -> Option<T> {
        (self.below(2) == 0).then(|| make(self))
    }

    fn flag(&mut self) -> bool {
        self.below(2) == 0
    }

    fn number(&mut self) -> u64 {
        let number = self.next();
        let special = self.pick(&[0, 1, 1 << 53, (1 << 53) + 1, u64::MAX]);
        self.pick(&[number % 100, number % 100_000, number, special])
    }

    fn text(&mut self) -> String {
        const TEXTS: [&str; 16] = [
            "",
            " ",
            "null",
            "\"",
            "\\",
            "\\u0041\\",
            "a\nb\r\n\tc",
            "\0\u{1}\u{8}\u{c}\u{1f}\u{7f}",
            "\u{2028}\u{2029}\u{feff}\u{fffd}",
            "\u{1f600}\u{10ffff}e\u{301}",
            "{\"type\":\"run-ended\",\"runId\":\"r\"}",
            "}],\"",
            "</script><!--",
            "工具调用",
            "1e999",
            "completed",
        ];
        match self.below(5) {
            0 => "x\"\n".repeat(self.below(200)),
            1 => (0..self.below(24))
                .filter_map(|_| char::from_u32(self.below(0x11_0000) as u32))
                .collect(),
            _ => (0..1 + self.below(3)).map(|_| self.pick(&TEXTS)).collect(),
        }
    }

    fn id(&mut self) -> SharedId {
        let text = self.text();
        if text.is_empty() { id("x") } else { text.into() }
    }

    /// Any value but `null`, in unusual spellings.
    fn json(&mut self) -> RawJson {
        const VALUES: [&str; 14] = [
            "0",
            "-0.0",
            "1e400",
            "123456789012345678901234567890",
            "false",
            "\"\"",
            r#""\ud800 \u0000 \/""#,
            r#"[ 1 ,	2 ]"#,
            "{}",
            r#"{"a":null,"a":{"a":[[]]},"":0}"#,
            r#"{"type":"text","text":"\n"}"#,
            r#"[{"type":"text","text":"hello"}]"#,
            "[null]",
            "\"{\"",
        ];
        match self.below(4) {
            0 => RawJson::string(&self.text()),
            1 => {
                let depth = self.below(400);
                json(&format!("{}{}", "[".repeat(depth + 1), "]".repeat(depth + 1)))
            }
            _ => json(self.pick(&VALUES)),
        }
    }

    fn json_or_null(&mut self) -> RawJson {
        if self.below(4) == 0 { json("null") } else { self.json() }
    }

    fn call(&mut self) -> CallRef {
        CallRef { id: self.maybe(Dice::id), turn: self.maybe(|dice| dice.number() as u32) }
    }

    fn said(&mut self) -> TextUpdate {
        TextUpdate {
            message: self.maybe(Dice::id),
            parent: self.maybe(Dice::id),
            delta: self.maybe(Dice::text),
            full: self.maybe(Dice::text),
        }
    }

    fn usage(&mut self) -> RunUsage {
        let [input, output, cached, reasoning] = [(); 4].map(|()| self.number());
        RunUsage { input, output, cached, reasoning }
    }

    fn problem(&mut self) -> RunProblem {
        RunProblem { message: self.text(), code: self.maybe(Dice::id), fatal: self.flag() }
    }

    fn task(&mut self) -> TaskItem {
        use TaskStatus::*;
        TaskItem {
            id: self.maybe(Dice::id),
            content: self.text(),
            status: self.pick(&[Unknown, Pending, InProgress, Completed, Paused]),
            active: self.maybe(Dice::text),
        }
    }

    fn result(&mut self) -> ToolResult {
        use ToolOutcome::*;
        use ToolStatusReason as Why;
        const WHY: [Why; 6] = [
            Why::TimedOut,
            Why::Skipped,
            Why::ParentClosed,
            Why::RunEnded,
            Why::CallCancelled,
            Why::NeverCalled,
        ];
        ToolResult {
            call: self.call(),
            name: self.maybe(Dice::id),
            outcome: self.pick(&[
                Ok,
                Error,
                Denied,
                TimedOut,
                Cancelled,
                Interrupted,
                Skipped,
                HandedOver,
            ]),
            reason: self.maybe(|dice| dice.pick(&WHY)),
            content: self.maybe(Dice::json),
        }
    }

    fn made(&mut self) -> ToolCallUpdate {
        use ToolStatus::*;
        ToolCallUpdate {
            call: self.call(),
            name: self.maybe(Dice::id),
            parent: self.maybe(Dice::id),
            input: self.maybe(Dice::json),
            title: self.maybe(Dice::text),
            status: self.maybe(|dice| dice.pick(&[Unknown, Pending, AwaitingApproval, Running])),
        }
    }

    fn body(&mut self, which: usize) -> EventPayload {
        match which {
            0 => EventPayload::Started(RunStart {
                session: self.maybe(Dice::id),
                parent: self.maybe(Dice::id),
                agent: self.maybe(Dice::id),
                model: self.maybe(Dice::id),
            }),
            1 => EventPayload::ToolsAvailable(ToolsAvailable {
                version: self.maybe(Dice::number),
                ready: self.flag(),
                tools: (0..self.below(5)).map(|_| self.text().into()).collect(),
            }),
            2 => {
                let call = self.call();
                EventPayload::TurnStarted(TurnStart { turn: call.turn, message: call.id })
            }
            3 => EventPayload::Text(self.said()),
            4 => EventPayload::Thought(self.said()),
            5 => EventPayload::ToolCall(self.made()),
            6 => EventPayload::ToolArguments { call: self.call(), delta: self.text() },
            7 => EventPayload::ToolProgress { call: self.call(), content: self.json_or_null() },
            8 => EventPayload::ToolResult(self.result()),
            9 => EventPayload::ToolCancelled { call: self.call() },
            10 => EventPayload::ApprovalRequested(ApprovalRequest {
                call: self.call(),
                id: self.maybe(Dice::id),
                kind: self.pick(&[ApprovalKind::Approval, ApprovalKind::Question]),
                prompt: self.maybe(Dice::text),
                choices: self.maybe(Dice::json),
            }),
            11 => {
                use ApprovalVerdict::*;
                EventPayload::ApprovalReplied(ApprovalReply {
                    call: self.call(),
                    id: self.maybe(Dice::id),
                    verdict: self.pick(&[Allowed, Denied, Answered, Cancelled]),
                    answer: self.maybe(Dice::json),
                })
            }
            12 => EventPayload::Tasks((0..self.below(5)).map(|_| self.task()).collect()),
            13 => EventPayload::Usage(self.usage()),
            14 => EventPayload::Activity(ActivityCard {
                kind: self.text().into(),
                id: self.maybe(Dice::id),
                content: self.json_or_null(),
            }),
            15 => EventPayload::Problem(self.problem()),
            16 => EventPayload::Stop(StopRequest { grace: self.number() }),
            17 => EventPayload::TimedOut { call: self.maybe(Dice::call) },
            18 => EventPayload::Ended(RunEnd {
                outcome: self.maybe(|dice| dice.pick(&Outcome::ALL)),
                text: self.maybe(Dice::text),
                problem: self.maybe(Dice::problem),
                usage: self.maybe(Dice::usage),
            }),
            _ => EventPayload::Unknown { kind: self.text(), raw: self.json_or_null() },
        }
    }

    /// The number of payload kinds that [`Dice::event`] generates.
    pub(super) const BODIES: usize = 20;

    pub(super) fn event(&mut self, which: usize) -> RunEvent {
        RunEvent {
            run: self.id(),
            epoch: self.maybe(Dice::number),
            seq: self.maybe(|dice| dice.number() % (1 << 53) + 1),
            at: self.maybe(Dice::number),
            unknown_word: self.maybe(Dice::id),
            body: self.body(which),
        }
    }
}
