use super::*;
use crate::canon::{Failure, Trouble};

/// Tells what comes out for a script.
///
/// ```text
/// T0 R0 F0 X0    a text, reasoning, a call, a free-text call begins as block 0
/// 0+abc 0.       block 0 goes on (`_` is a space); is whole
/// 0~             block 0 gets a signature
/// calls length end done cut fail
/// ```
fn ordered(script: &str) -> String {
    let mut order = Order::new(Wire::Anthropic, "seed", Head::default());
    let mut heard = Heard::default();
    for word in script.split_whitespace() {
        order.event(event(word), &mut heard);
    }
    assert!(heard.0.first().is_none_or(|first| first == "start"), "{:?}", heard.0);
    assert_eq!(heard.0.iter().filter(|word| *word == "start").count().max(1), 1);
    heard.0.get(1..).unwrap_or_default().join(" ")
}

fn event(word: &str) -> Event<'_> {
    let number = |text: &str| text.parse().expect("a number");
    let call = |block: &str, family| Opened::Call {
        id: Some(format!("toolu_{block}").into()),
        name: "f".into(),
        family,
        signature: None,
    };
    if let Some((block, text)) = word.split_once('+') {
        let text = text.replace('_', " ").into();
        return Event::More { block: number(block), piece: Piece::Text(text) };
    }
    if let Some(block) = word.strip_suffix('~') {
        return Event::More { block: number(block), piece: Piece::Signature("s".into()) };
    }
    if let Some(block) = word.strip_suffix('.') {
        return Event::Close { block: number(block) };
    }
    match word {
        "start" => Event::Start(Head { id: Some("msg".into()), ..Head::default() }),
        "calls" => Event::Stop(Stop::Calls),
        "length" => Event::Stop(Stop::Length),
        "end" => Event::Stop(Stop::End),
        "done" => Event::End,
        "cut" => Event::Cut,
        "fail" => Event::Failed(Failure { kind: Trouble::Server, message: "m".into(), code: None }),
        open => {
            let (kind, block) = open.split_at(1);
            let kind = match kind {
                "T" => Opened::Text,
                "R" => Opened::Reasoning,
                "F" => call(block, Family::Function),
                "X" => call(block, Family::Custom),
                other => panic!("{other}"),
            };
            Event::Open { block: number(block), kind }
        }
    }
}

/// What was heard, in the words of the script.
#[derive(Default)]
struct Heard(Vec<String>);

impl Sink for Heard {
    fn event(&mut self, event: Event<'_>) {
        self.0.push(match event {
            Event::Start(_) => "start".to_owned(),
            Event::Open { block, kind } => match kind {
                Opened::Text => format!("T{block}"),
                Opened::Reasoning => format!("R{block}"),
                Opened::Call { family: Family::Custom, .. } => format!("X{block}"),
                Opened::Call { .. } => format!("F{block}"),
                other => panic!("{other:?}"),
            },
            Event::More { block, piece: Piece::Text(text) } => {
                format!("{block}+{}", text.replace(' ', "_"))
            }
            Event::More { block, .. } => format!("{block}~"),
            Event::Close { block } => format!("{block}."),
            Event::Usage(usage) => format!("${}", usage.output.unwrap_or(0)),
            Event::Stop(Stop::Calls) => "calls".to_owned(),
            Event::Stop(Stop::Length) => "length".to_owned(),
            Event::Stop(_) => "end".to_owned(),
            Event::End => "done".to_owned(),
            Event::Failed(_) => "fail".to_owned(),
            Event::Cut => "cut".to_owned(),
        });
    }

    fn skip(&mut self, note: Skipped) {
        self.0.push(format!("-{}", note.what.name()));
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
    let head = |id: &'static str, model: &'static str| Head {
        id: Some(id.into()).filter(|_| !id.is_empty()),
        model: Some(Words::from(model)),
        created: None,
    };
    let fallback = Head { id: None, model: Some("asked".into()), created: Some(7) };
    let mut order = Order::new(Wire::OpenaiChat, "", fallback);
    let mut heads = Heads::default();
    let figures = |output| Usage { output: Some(output), ..Usage::default() };
    order.event(Event::Usage(figures(1)), &mut heads);
    order.event(Event::Start(head("", "")), &mut heads);
    assert_eq!(heads, Heads::default());
    order.event(Event::Start(head("a", "")), &mut heads);
    order.event(Event::Start(head("b", "m")), &mut heads);
    let input = Usage { input: Some(5), ..Usage::default() };
    order.event(Event::Usage(input), &mut heads);
    order.event(Event::Usage(figures(9)), &mut heads);
    let start = Head { id: Some("a".into()), model: Some("asked".into()), created: Some(7) };
    assert_eq!(heads.heads, [start]);
    let usage = |input, output| Usage { input, output: Some(output), ..Usage::default() };
    assert_eq!(heads.usage, [usage(None, 1), usage(Some(5), 1), usage(Some(5), 9)]);
}

#[derive(Default, PartialEq, Eq, Debug)]
struct Heads {
    heads: Vec<Head<'static>>,
    usage: Vec<Usage>,
}

impl Sink for Heads {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(head) => self.heads.push(Head {
                id: head.id.as_ref().map(Words::to_static),
                model: head.model.as_ref().map(Words::to_static),
                created: head.created,
            }),
            Event::Usage(usage) => self.usage.push(usage),
            other => panic!("{other:?}"),
        }
    }

    fn skip(&mut self, note: Skipped) {
        panic!("{note:?}");
    }
}

#[test]
fn ids_are_such_as_the_target_takes() {
    let mut order = Order::new(Wire::Anthropic, "seed", Head::default());
    let mut ids = Ids::default();
    for id in [Some("toolu_1"), Some("functions.get:0"), None, Some("toolu_1")] {
        let kind = Opened::Call {
            id: id.map(Words::from),
            name: "f".into(),
            family: Family::Function,
            signature: None,
        };
        order.event(Event::Open { block: 0, kind }, &mut ids);
        order.event(Event::Close { block: 0 }, &mut ids);
    }
    assert_eq!(ids.0[0], "toolu_1");
    assert!(ids.0[1..].iter().all(|id| id.starts_with("toolu_") && id != "toolu_1"), "{ids:?}");
    let renamed: Vec<&str> = order.renamed().iter().map(|renamed| &*renamed.old).collect();
    assert_eq!(renamed, ["functions.get:0", "", "toolu_1"]);
}

#[derive(Default, Debug)]
struct Ids(Vec<String>);

impl Sink for Ids {
    fn event(&mut self, event: Event<'_>) {
        if let Event::Open { kind: Opened::Call { id, .. }, .. } = event {
            self.0.push(id.expect("an id").to_string());
        }
    }

    fn skip(&mut self, note: Skipped) {
        panic!("{note:?}");
    }
}

#[test]
fn what_waits_is_counted_and_comes_out_as_it_was_spelled() {
    let mut order = Order::plain();
    let mut raw = Raw::default();
    for block in 0..2 {
        let kind =
            Opened::Call { id: None, name: "f".into(), family: Family::Function, signature: None };
        order.event(Event::Open { block, kind }, &mut raw);
    }
    let empty = order.held();
    for piece in [r#"{\"a\": \"\ud83d"#, r#"\ude00\"}"#] {
        let piece = Piece::Text(Words::inside((piece, true)));
        order.event(Event::More { block: 1, piece }, &mut raw);
    }
    assert!(order.held() >= empty + 25);
    assert_eq!(raw.0, "");
    order.event(Event::More { block: 0, piece: Piece::Text("{}".into()) }, &mut raw);
    assert_eq!((order.held(), &*raw.0), (0, r#"{}{\"a\": \"\ud83d\ude00\"}"#));
}

#[derive(Default)]
struct Raw(String);

impl Sink for Raw {
    fn event(&mut self, event: Event<'_>) {
        if let Event::More { piece: Piece::Text(words), .. } = event {
            words.write_inside(&mut self.0);
        }
    }

    fn skip(&mut self, note: Skipped) {
        panic!("{note:?}");
    }
}
