use super::*;
use crate::model::{ProviderError, ProviderErrorKind};

/// Tells what comes out for a script.
///
/// ```text
/// T0 R0 F0 X0    a text, reasoning, a call, a free-text call begins as block 0
/// 0+abc 0.       block 0 goes on (`_` is a space); is whole
/// 0~             block 0 gets a signature
/// calls length end done cut fail
/// ```
fn ordered(script: &str) -> String {
    let mut order = EventSequencer::new(Format::Anthropic, "seed", ReplyHead::default());
    let mut heard = Heard::default();
    for word in script.split_whitespace() {
        order.accept(event(word), &mut heard);
    }
    assert!(heard.0.first().is_none_or(|first| first == "start"), "{:?}", heard.0);
    assert_eq!(heard.0.iter().filter(|word| *word == "start").count().max(1), 1);
    heard.0.get(1..).unwrap_or_default().join(" ")
}

fn event(word: &str) -> StreamEvent<'_> {
    let number = |text: &str| text.parse().expect("a number");
    let call = |block: &str, family| BlockStart::Call {
        id: Some(format!("toolu_{block}").into()),
        name: "f".into(),
        family,
        signature: None,
    };
    if let Some((block, text)) = word.split_once('+') {
        let text = text.replace('_', " ").into();
        return StreamEvent::Delta { block: number(block), delta: BlockDelta::Text(text) };
    }
    if let Some(block) = word.strip_suffix('~') {
        return StreamEvent::Delta {
            block: number(block),
            delta: BlockDelta::Signature("s".into()),
        };
    }
    if let Some(block) = word.strip_suffix('.') {
        return StreamEvent::Close { block: number(block) };
    }
    match word {
        "start" => StreamEvent::Start(ReplyHead { id: Some("msg".into()), ..ReplyHead::default() }),
        "calls" => StreamEvent::Stop(StopReason::ToolCalls),
        "length" => StreamEvent::Stop(StopReason::Length),
        "end" => StreamEvent::Stop(StopReason::End),
        "done" => StreamEvent::End,
        "cut" => StreamEvent::Truncated,
        "fail" => StreamEvent::Failed(ProviderError {
            kind: ProviderErrorKind::Server,
            message: "m".into(),
            code: None,
        }),
        open => {
            let (kind, block) = open.split_at(1);
            let kind = match kind {
                "T" => BlockStart::Text,
                "R" => BlockStart::Reasoning,
                "F" => call(block, CallFamily::Function),
                "X" => call(block, CallFamily::Custom),
                other => panic!("{other}"),
            };
            StreamEvent::Open { block: number(block), kind }
        }
    }
}

/// What was heard, in the words of the script.
#[derive(Default)]
struct Heard(Vec<String>);

impl EventSink for Heard {
    fn event(&mut self, event: StreamEvent<'_>) {
        self.0.push(match event {
            StreamEvent::Start(_) => "start".to_owned(),
            StreamEvent::Open { block, kind } => match kind {
                BlockStart::Text => format!("T{block}"),
                BlockStart::Reasoning => format!("R{block}"),
                BlockStart::Call { family: CallFamily::Custom, .. } => format!("X{block}"),
                BlockStart::Call { .. } => format!("F{block}"),
                other => panic!("{other:?}"),
            },
            StreamEvent::Delta { block, delta: BlockDelta::Text(text) } => {
                format!("{block}+{}", text.replace(' ', "_"))
            }
            StreamEvent::Delta { block, .. } => format!("{block}~"),
            StreamEvent::Close { block } => format!("{block}."),
            StreamEvent::Usage(usage) => format!("${}", usage.output.unwrap_or(0)),
            StreamEvent::Stop(StopReason::ToolCalls) => "calls".to_owned(),
            StreamEvent::Stop(StopReason::Length) => "length".to_owned(),
            StreamEvent::Stop(_) => "end".to_owned(),
            StreamEvent::End => "done".to_owned(),
            StreamEvent::Failed(_) => "fail".to_owned(),
            StreamEvent::Truncated => "cut".to_owned(),
        });
    }

    fn skip(&mut self, note: StreamLoss) {
        self.0.push(format!("-{}", note.kind.name()));
    }
}

#[test]
fn blocks_stand_one_behind_the_other() {
    let table = [
        // As it should be.
        ("start T7 7+a 7+b 7. end done", "T0 0+a 0+b 0. end done"),
        ("T0 0+a 0. F1 1+{} 1. calls done", "T0 0+a 0. F1 1+{} 1. calls done"),
        // Nobody closes calls.
        ("F0 0+{ 0+} F1 1+{} calls done", "F0 0+{ 0+} 0. F1 1+{} 1. calls done"),
        // Two calls, their arguments in turns.
        (
            "F0 F1 0+{\"a\": 1+{\"b\" 0+1} 1+:2} calls done",
            "F0 0+{\"a\": 0+1} 0. F1 1+{\"b\" 1+:2} 1. calls done",
        ),
        ("F5 F9 9+{} 5+{} calls", "F0 0+{} 0. F1 1+{} 1. calls"),
        ("F0 F1 F2 2+{} 1+{} 0+{} calls", "F0 0+{} 0. F1 1+{} 1. F2 2+{} 2. calls"),
        // A text while a call is open.
        ("F0 0+{ T1 1+so 0+} 1+_on calls", "F0 0+{ 0+} 0. T1 1+so 1+_on 1. calls"),
        ("F0 0+{ T1 1+so 1. F2 2+{} 0+} calls", "F0 0+{ 0+} 0. T1 1+so 1. F2 2+{} 2. calls"),
        // A text that waits is whole only when somebody says so.
        ("F0 0+{ T1 1+a F2 2+{} 0+} 1+b 1. calls", "F0 0+{ 0+} 0. T1 1+a 1+b 1. F2 2+{} 2. calls"),
        // Reasoning keeps its signature.
        ("F0 R1 1+hm 1~ 1. 0+{} calls", "F0 0+{} 0. R1 1+hm 1~ 1. calls"),
        // Free text is whole when somebody says so, or at the end.
        ("X0 0+{} X1 1+b 0+a 0. calls", "X0 0+{} 0+a 0. X1 1+b 1. calls"),
        ("X0 0+{} F1 1+{} calls", "X0 0+{} 0. F1 1+{} 1. calls"),
        // Numbers that are used again.
        ("F0 0+{} 0. F0 0+[] calls", "F0 0+{} 0. F1 1+[] -arguments 1. calls"),
    ];
    for (script, expected) in table {
        assert_eq!(ordered(script), expected, "{script}");
    }
}

#[test]
fn calls_without_arguments_have_the_empty_object() {
    let table = [
        ("F0 0. calls done", "F0 0+{} 0. calls done"),
        ("F0 0+ 0+_ calls", "F0 0+ 0+_ 0+{} 0. calls"),
        ("F0 F1 calls", "F0 0+{} 0. F1 1+{} 1. calls"),
        // Nobody said that the model has stopped.
        ("F0 done", "F0 cut"),
        ("X0 0. calls", "X0 0. calls"),
        // The last call of an answer that was too long may have lost its arguments.
        ("F0 length done", "F0 0. length done"),
        ("F0 F1 length", "F0 0+{} 0. F1 1. length"),
        ("F0 0. length", "F0 0+{} 0. length"),
        ("F0 F1 1. length", "F0 0+{} 0. F1 1+{} 1. length"),
    ];
    for (script, expected) in table {
        assert_eq!(ordered(script), expected, "{script}");
    }
}

#[test]
fn what_comes_late_is_left_out_and_said() {
    let table = [
        // Only white space may follow whole arguments.
        ("F0 0+{} F1 1+{} 0+_ calls", "F0 0+{} 0. F1 1+{} 1. calls"),
        ("F0 0+{} F1 0+x 1+{} calls", "F0 0+{} 0. F1 -arguments 1+{} 1. calls"),
        ("F0 0+{} 0+_ 0+x F1 calls", "F0 0+{} 0+_ 0+x -arguments 0. F1 1+{} 1. calls"),
        ("T0 0+a 0. 0+b 0~ end", "T0 0+a 0. -unknown -signature end"),
        ("F0 T1 1. 1+late calls", "F0 -unknown 0+{} 0. T1 1. calls"),
        ("T0 0+a end 0+b T1 1+c done", "T0 0+a 0. end -unknown -unknown -unknown done"),
        ("T0 0. 3+a 3. end", "T0 0. -unknown end"),
        // The first reason counts, and after the end there is nothing.
        ("T0 length end done", "T0 0. length done"),
        ("T0 end done T1 cut fail start", "T0 0. end done"),
        ("T0 fail 0+a 0. end done", "T0 fail"),
    ];
    for (script, expected) in table {
        assert_eq!(ordered(script), expected, "{script}");
    }
}

#[test]
fn what_is_cut_off_stays_open() {
    let table = [
        ("cut", "cut"),
        ("T0 0+a cut", "T0 0+a cut"),
        ("F0 0+{} cut", "F0 0+{} cut"),
        ("F0 0+{\"a\" fail", "F0 0+{\"a\" fail"),
        ("F0 0+{ F1 1+{} T2 cut", "F0 0+{ -arguments -unknown cut"),
        ("F0 0+{ F1 1+{} 1. fail", "F0 0+{ -arguments fail"),
        ("T0 0+a 0. end cut", "T0 0+a 0. end cut"),
    ];
    for (script, expected) in table {
        assert_eq!(ordered(script), expected, "{script}");
    }
}

#[test]
fn the_reason_fits_the_answer() {
    let table = [
        ("T0 0. calls done", "T0 0. end done"),
        ("T0 0. done", "T0 0. end done"),
        ("F0 0+{} end done", "F0 0+{} 0. end done"),
        ("F0 0+{ X1 calls", "F0 0+{ -arguments 0. X1 1. calls"),
        ("F0 0+{ X1 done", "F0 0+{ -arguments cut"),
        ("done", "cut"),
        ("start done", "end done"),
    ];
    for (script, expected) in table {
        assert_eq!(ordered(script), expected, "{script}");
    }
}

#[test]
fn an_answer_begins_once_with_what_is_known() {
    let head = |id: &'static str, model: &'static str| ReplyHead {
        id: Some(id.into()).filter(|_| !id.is_empty()),
        model: Some(JsonText::from(model)),
        created: None,
    };
    let fallback = ReplyHead { id: None, model: Some("asked".into()), created: Some(7) };
    let mut order = EventSequencer::new(Format::OpenaiChat, "", fallback);
    let mut heads = Heads::default();
    let figures = |output| TokenUsage { output: Some(output), ..TokenUsage::default() };
    order.accept(StreamEvent::Usage(figures(1)), &mut heads);
    order.accept(StreamEvent::Start(head("", "")), &mut heads);
    assert_eq!(heads, Heads::default());
    order.accept(StreamEvent::Start(head("a", "")), &mut heads);
    order.accept(StreamEvent::Start(head("b", "m")), &mut heads);
    let input = TokenUsage { input: Some(5), ..TokenUsage::default() };
    order.accept(StreamEvent::Usage(input), &mut heads);
    order.accept(StreamEvent::Usage(figures(9)), &mut heads);
    let start = ReplyHead { id: Some("a".into()), model: Some("asked".into()), created: Some(7) };
    assert_eq!(heads.heads, [start]);
    let usage = |input, output| TokenUsage { input, output: Some(output), ..TokenUsage::default() };
    assert_eq!(heads.usage, [usage(None, 1), usage(Some(5), 1), usage(Some(5), 9)]);
}

#[derive(Default, PartialEq, Eq, Debug)]
struct Heads {
    heads: Vec<ReplyHead<'static>>,
    usage: Vec<TokenUsage>,
}

impl EventSink for Heads {
    fn event(&mut self, event: StreamEvent<'_>) {
        match event {
            StreamEvent::Start(head) => self.heads.push(ReplyHead {
                id: head.id.as_ref().map(JsonText::to_static),
                model: head.model.as_ref().map(JsonText::to_static),
                created: head.created,
            }),
            StreamEvent::Usage(usage) => self.usage.push(usage),
            other => panic!("{other:?}"),
        }
    }

    fn skip(&mut self, note: StreamLoss) {
        panic!("{note:?}");
    }
}

#[test]
fn ids_are_such_as_the_target_takes() {
    let mut order = EventSequencer::new(Format::Anthropic, "seed", ReplyHead::default());
    let mut ids = Ids::default();
    for id in [Some("toolu_1"), Some("functions.get:0"), None, Some("toolu_1")] {
        let kind = BlockStart::Call {
            id: id.map(JsonText::from),
            name: "f".into(),
            family: CallFamily::Function,
            signature: None,
        };
        order.accept(StreamEvent::Open { block: 0, kind }, &mut ids);
        order.accept(StreamEvent::Close { block: 0 }, &mut ids);
    }
    assert_eq!(ids.0[0], "toolu_1");
    assert!(ids.0[1..].iter().all(|id| id.starts_with("toolu_") && id != "toolu_1"), "{ids:?}");
    let renamed: Vec<&str> = order.renamed().iter().map(|renamed| &*renamed.old).collect();
    assert_eq!(renamed, ["functions.get:0", "", "toolu_1"]);
}

#[derive(Default, Debug)]
struct Ids(Vec<String>);

impl EventSink for Ids {
    fn event(&mut self, event: StreamEvent<'_>) {
        if let StreamEvent::Open { kind: BlockStart::Call { id, .. }, .. } = event {
            self.0.push(id.expect("an id").to_string());
        }
    }

    fn skip(&mut self, note: StreamLoss) {
        panic!("{note:?}");
    }
}

#[test]
fn what_waits_is_counted_and_comes_out_as_it_was_spelled() {
    let mut order = EventSequencer::keeping_ids();
    let mut raw = Raw::default();
    for block in 0..2 {
        let kind = BlockStart::Call {
            id: None,
            name: "f".into(),
            family: CallFamily::Function,
            signature: None,
        };
        order.accept(StreamEvent::Open { block, kind }, &mut raw);
    }
    let empty = order.held_bytes();
    for piece in [r#"{\"a\": \"\ud83d"#, r#"\ude00\"}"#] {
        let piece = BlockDelta::Text(JsonText::from_json((piece, true)));
        order.accept(StreamEvent::Delta { block: 1, delta: piece }, &mut raw);
    }
    assert!(order.held_bytes() >= empty + 25);
    assert_eq!(raw.0, "");
    order.accept(StreamEvent::Delta { block: 0, delta: BlockDelta::Text("{}".into()) }, &mut raw);
    assert_eq!((order.held_bytes(), &*raw.0), (0, r#"{}{\"a\": \"\ud83d\ude00\"}"#));
}

#[derive(Default)]
struct Raw(String);

impl EventSink for Raw {
    fn event(&mut self, event: StreamEvent<'_>) {
        if let StreamEvent::Delta { delta: BlockDelta::Text(words), .. } = event {
            words.write_unquoted(&mut self.0);
        }
    }

    fn skip(&mut self, note: StreamLoss) {
        panic!("{note:?}");
    }
}
