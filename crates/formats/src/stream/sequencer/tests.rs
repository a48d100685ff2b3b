use super::*;
use crate::model::{ProviderError, ProviderErrorKind};

/// Sequences the events of a script. Returns the output as a script.
///
/// ```text
/// T0 R0 F0 X0    a text, reasoning, a call, a free-text call starts as block 0
/// 0+abc 0.       block 0 continues (`_` is a space); is closed
/// 0~             block 0 gets a signature
/// calls length end done cut fail
/// ```
fn sequence(script: &str) -> String {
    let mut sequencer = EventSequencer::new(Format::Anthropic, "seed", ReplyHead::default());
    let mut sink = ScriptSink::default();
    for word in script.split_whitespace() {
        sequencer.accept(event(word), &mut sink);
    }
    assert!(sink.0.first().is_none_or(|first| first == "start"), "{:?}", sink.0);
    assert_eq!(sink.0.iter().filter(|word| *word == "start").count().max(1), 1);
    sink.0.get(1..).unwrap_or_default().join(" ")
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

/// Records events in the notation of the script.
#[derive(Default)]
struct ScriptSink(Vec<String>);

impl EventSink for ScriptSink {
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
fn blocks_follow_each_other() {
    let table = [
        // Already in order.
        ("start T7 7+a 7+b 7. end done", "T0 0+a 0+b 0. end done"),
        ("T0 0+a 0. F1 1+{} 1. calls done", "T0 0+a 0. F1 1+{} 1. calls done"),
        // Calls that are not closed.
        ("F0 0+{ 0+} F1 1+{} calls done", "F0 0+{ 0+} 0. F1 1+{} 1. calls done"),
        // Two calls with interleaved arguments.
        (
            "F0 F1 0+{\"a\": 1+{\"b\" 0+1} 1+:2} calls done",
            "F0 0+{\"a\": 0+1} 0. F1 1+{\"b\" 1+:2} 1. calls done",
        ),
        ("F5 F9 9+{} 5+{} calls", "F0 0+{} 0. F1 1+{} 1. calls"),
        ("F0 F1 F2 2+{} 1+{} 0+{} calls", "F0 0+{} 0. F1 1+{} 1. F2 2+{} 2. calls"),
        // A text while a call is open.
        ("F0 0+{ T1 1+so 0+} 1+_on calls", "F0 0+{ 0+} 0. T1 1+so 1+_on 1. calls"),
        ("F0 0+{ T1 1+so 1. F2 2+{} 0+} calls", "F0 0+{ 0+} 0. T1 1+so 1. F2 2+{} 2. calls"),
        // A queued text is complete only when it is closed.
        ("F0 0+{ T1 1+a F2 2+{} 0+} 1+b 1. calls", "F0 0+{ 0+} 0. T1 1+a 1+b 1. F2 2+{} 2. calls"),
        // Reasoning keeps its signature.
        ("F0 R1 1+hm 1~ 1. 0+{} calls", "F0 0+{} 0. R1 1+hm 1~ 1. calls"),
        // Free text is complete when it is closed, or at the end.
        ("X0 0+{} X1 1+b 0+a 0. calls", "X0 0+{} 0+a 0. X1 1+b 1. calls"),
        ("X0 0+{} F1 1+{} calls", "X0 0+{} 0. F1 1+{} 1. calls"),
        // Reused block numbers.
        ("F0 0+{} 0. F0 0+[] calls", "F0 0+{} 0. F1 1+[] -arguments 1. calls"),
    ];
    for (script, expected) in table {
        assert_eq!(sequence(script), expected, "{script}");
    }
}

#[test]
fn calls_without_arguments_get_an_empty_object() {
    let table = [
        ("F0 0. calls done", "F0 0+{} 0. calls done"),
        ("F0 0+ 0+_ calls", "F0 0+ 0+_ 0+{} 0. calls"),
        ("F0 F1 calls", "F0 0+{} 0. F1 1+{} 1. calls"),
        // There is no stop reason.
        ("F0 done", "F0 cut"),
        ("X0 0. calls", "X0 0. calls"),
        // The last call of a reply that reached the length limit may have lost its arguments.
        ("F0 length done", "F0 0. length done"),
        ("F0 F1 length", "F0 0+{} 0. F1 1. length"),
        ("F0 0+{\"a length", "F0 0+{\"a -arguments 0. length"),
        ("F0 0. length", "F0 0+{} 0. length"),
        ("F0 F1 1. length", "F0 0+{} 0. F1 1+{} 1. length"),
    ];
    for (script, expected) in table {
        assert_eq!(sequence(script), expected, "{script}");
    }
}

#[test]
fn late_events_are_reported_as_losses() {
    let table = [
        // Only white space may follow complete arguments.
        ("F0 0+{} F1 1+{} 0+_ calls", "F0 0+{} 0. F1 1+{} 1. calls"),
        ("F0 0+{} F1 0+x 1+{} calls", "F0 0+{} 0. F1 -arguments 1+{} 1. calls"),
        ("F0 0+{} 0+_ 0+x F1 calls", "F0 0+{} 0+_ 0+x -arguments 0. F1 1+{} 1. calls"),
        ("T0 0+a 0. 0+b 0~ end", "T0 0+a 0. -unknown -signature end"),
        ("F0 T1 1. 1+late calls", "F0 -unknown 0+{} 0. T1 1. calls"),
        ("T0 0+a end 0+b T1 1+c done", "T0 0+a 0. end -unknown -unknown -unknown done"),
        ("T0 0. 3+a 3. end", "T0 0. -unknown end"),
        // The first stop reason counts, and nothing follows the end.
        ("T0 length end done", "T0 0. length done"),
        ("T0 end done T1 cut fail start", "T0 0. end done"),
        ("T0 fail 0+a 0. end done", "T0 fail"),
    ];
    for (script, expected) in table {
        assert_eq!(sequence(script), expected, "{script}");
    }
}

#[test]
fn truncated_blocks_stay_open() {
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
        assert_eq!(sequence(script), expected, "{script}");
    }
}

#[test]
fn stop_reason_matches_the_reply() {
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
        assert_eq!(sequence(script), expected, "{script}");
    }
}

#[test]
fn reply_starts_once_with_the_known_metadata() {
    let head = |id: &'static str, model: &'static str| ReplyHead {
        id: Some(id.into()).filter(|_| !id.is_empty()),
        model: Some(JsonText::from(model)),
        created: None,
    };
    let fallback = ReplyHead { id: None, model: Some("asked".into()), created: Some(7) };
    let mut sequencer = EventSequencer::new(Format::OpenaiChat, "", fallback);
    let mut heads = Heads::default();
    let output_usage = |output| TokenUsage { output: Some(output), ..TokenUsage::default() };
    sequencer.accept(StreamEvent::Usage(output_usage(1)), &mut heads);
    sequencer.accept(StreamEvent::Start(head("", "")), &mut heads);
    assert_eq!(heads, Heads::default());
    sequencer.accept(StreamEvent::Start(head("a", "")), &mut heads);
    sequencer.accept(StreamEvent::Start(head("b", "m")), &mut heads);
    let input = TokenUsage { input: Some(5), ..TokenUsage::default() };
    sequencer.accept(StreamEvent::Usage(input), &mut heads);
    sequencer.accept(StreamEvent::Usage(output_usage(9)), &mut heads);
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
fn call_ids_are_valid_for_the_target() {
    let mut sequencer = EventSequencer::new(Format::Anthropic, "seed", ReplyHead::default());
    let mut ids = Ids::default();
    for id in [Some("toolu_1"), Some("functions.get:0"), None, Some("toolu_1")] {
        let kind = BlockStart::Call {
            id: id.map(JsonText::from),
            name: "f".into(),
            family: CallFamily::Function,
            signature: None,
        };
        sequencer.accept(StreamEvent::Open { block: 0, kind }, &mut ids);
        sequencer.accept(StreamEvent::Close { block: 0 }, &mut ids);
    }
    assert_eq!(ids.0[0], "toolu_1");
    assert!(ids.0[1..].iter().all(|id| id.starts_with("toolu_") && id != "toolu_1"), "{ids:?}");
    let renamed: Vec<&str> = sequencer.renamed().iter().map(|renamed| &*renamed.old).collect();
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
fn queued_text_is_counted_and_keeps_its_escapes() {
    let mut sequencer = EventSequencer::keeping_ids();
    let mut raw = Raw::default();
    for block in 0..2 {
        let kind = BlockStart::Call {
            id: None,
            name: "f".into(),
            family: CallFamily::Function,
            signature: None,
        };
        sequencer.accept(StreamEvent::Open { block, kind }, &mut raw);
    }
    let empty = sequencer.held_bytes();
    for delta in [r#"{\"a\": \"\ud83d"#, r#"\ude00\"}"#] {
        let delta = BlockDelta::Text(JsonText::from_json((delta, true)));
        sequencer.accept(StreamEvent::Delta { block: 1, delta }, &mut raw);
    }
    assert!(sequencer.held_bytes() >= empty + 25);
    assert_eq!(raw.0, "");
    sequencer
        .accept(StreamEvent::Delta { block: 0, delta: BlockDelta::Text("{}".into()) }, &mut raw);
    assert_eq!((sequencer.held_bytes(), &*raw.0), (0, r#"{}{\"a\": \"\ud83d\ude00\"}"#));
}

#[derive(Default)]
struct Raw(String);

impl EventSink for Raw {
    fn event(&mut self, event: StreamEvent<'_>) {
        if let StreamEvent::Delta { delta: BlockDelta::Text(text), .. } = event {
            text.write_unquoted(&mut self.0);
        }
    }

    fn skip(&mut self, note: StreamLoss) {
        panic!("{note:?}");
    }
}
