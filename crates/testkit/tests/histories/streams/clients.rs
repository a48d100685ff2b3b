//! What clients were promised: an answer of any provider, as their own provider would give it.

use foxwedge_core::Format;
use foxwedge_formats::stream::{StreamConverter, StreamOptions};
use foxwedge_testkit::{
    Random,
    answers::{
        self, OracleReply, ReasoningSeal, ReplyBlock, ReplyCall, ReplyCallInput, ReplyStop,
        ReplyUsage, body, bytes, cut, failure_body, hear, stream,
    },
    laws::streams::{converted, streamed},
};
use serde_json::{Value, json};

fn text_and_calls(wire: Format) -> OracleReply {
    let call = |id: &str, place: &str| {
        ReplyBlock::Call(ReplyCall {
            id: Some(id.to_owned()),
            name: "get_tide".to_owned(),
            input: ReplyCallInput::Json(json!({"place": place})),
            signature: None,
        })
    };
    let named = (wire != Format::Bedrock).then(|| "the-name".to_owned());
    OracleReply {
        id: named.clone(),
        model: named,
        blocks: vec![
            ReplyBlock::Reasoning("Two harbours.".to_owned(), ReasoningSeal::Open),
            ReplyBlock::Text("I look it up.".to_owned()),
            call("call_1", "Husum"),
            call("call_2", "B\u{fc}sum"),
        ],
        stop: Some(ReplyStop::Calls),
        usage: ReplyUsage { input: 30, output: 12, cached: 10, ..ReplyUsage::default() },
    }
}

#[test]
fn b2_16_text_calls_usage_errors_and_the_end_arrive_in_openai_shape() {
    for from in Format::ALL {
        let answer = text_and_calls(from);
        let whole = converted(from, Format::OpenaiChat, &body(from, &answer).to_string());
        let whole: Value = serde_json::from_str(&whole.expect("an answer").body).expect("JSON");
        let choice = &whole["choices"][0];
        assert_eq!(choice["message"]["content"], "I look it up.", "{}", from.name());
        let calls: Vec<&Value> =
            choice["message"]["tool_calls"].as_array().into_iter().flatten().collect();
        let told: Vec<(&Value, Value)> = calls
            .iter()
            .map(|call| {
                let arguments = call["function"]["arguments"].as_str().expect("a string");
                (&call["id"], serde_json::from_str(arguments).expect("an object"))
            })
            .collect();
        let (first, second) = (json!("call_1"), json!("call_2"));
        let places = [json!({"place": "Husum"}), json!({"place": "B\u{fc}sum"})];
        let [husum, busum] = places;
        assert_eq!(told, [(&first, husum), (&second, busum)], "{}", from.name());
        assert_eq!(choice["finish_reason"], "tool_calls", "{}", from.name());
        assert_eq!(whole["usage"]["prompt_tokens"], 30, "{}", from.name());
        assert_eq!(whole["usage"]["completion_tokens"], 12, "{}", from.name());
        assert_eq!(whole["usage"]["total_tokens"], 42, "{}", from.name());

        let source = bytes(&stream(&mut Random::new(7), from, &answer));
        let out = streamed(from, Format::OpenaiChat, [source.as_slice()]).out;
        let heard = hear(Format::OpenaiChat, &out);
        assert_eq!(heard.faults, [""; 0], "{}", from.name());
        assert_eq!(heard.answer.text(), "I look it up.", "{}", from.name());
        assert_eq!(heard.answer.calls().count(), 2, "{}", from.name());
        assert_eq!((heard.answer.usage.input, heard.answer.usage.output), (30, 12));
        let data: Vec<String> =
            cut(Format::OpenaiChat, &out).into_iter().map(|cut| cut.data).collect();
        assert_eq!(data.last().map(String::as_str), Some("[DONE]"), "{}", from.name());
        let finish = data.iter().filter(|data| data.contains("\"finish_reason\":\"tool_calls\""));
        assert_eq!(finish.count(), 1, "{}", from.name());

        let failed = failure_body(from, "Too much to do").to_string();
        let failed = converted(from, Format::OpenaiChat, &failed).expect("a failure");
        let error: Value = serde_json::from_str(&failed.body).expect("JSON");
        assert!(failed.failed, "{}", from.name());
        assert_eq!(error["error"]["message"], "Too much to do", "{}", from.name());
        for key in ["type", "param", "code"] {
            assert!(error["error"].get(key).is_some(), "{} {error}", from.name());
        }
    }
}

/// What each chunk of an OpenAI stream becomes for a client of Anthropic.
#[test]
fn an_anthropic_client_can_read_an_openai_stream_live() {
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        let chunk = json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [choice],
        });
        format!("data: {chunk}\n\n")
    };
    let more = |index: usize, arguments: &str| {
        let call = json!({"index": index, "function": {"arguments": arguments}});
        chunk(json!({"tool_calls": [call]}), Value::Null)
    };
    let begin = |index: usize, id: &str| {
        let function = json!({"name": "get_tide", "arguments": ""});
        let call = json!({"index": index, "id": id, "type": "function", "function": function});
        chunk(json!({"tool_calls": [call]}), Value::Null)
    };
    let figures = json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13},
    });
    // Of each event: its type, its block, and what it says.
    let table: [(String, &[&str]); 14] = [
        (chunk(json!({"role": "assistant", "content": ""}), Value::Null), &["message_start"]),
        (
            chunk(json!({"content": "I look "}), Value::Null),
            &["content_block_start 0 text", "content_block_delta 0 I look "],
        ),
        (chunk(json!({"content": "it up."}), Value::Null), &["content_block_delta 0 it up."]),
        (
            begin(0, "call_1"),
            &["content_block_stop 0", "content_block_start 1 tool_use call_1 get_tide"],
        ),
        (more(0, "{\"place\":"), &["content_block_delta 1 {\"place\":"]),
        // The second call waits until the first one is whole,
        (begin(1, "functions.get:1"), &[]),
        (more(1, "{\"place"), &[]),
        // which it is with its last bracket.
        (
            more(0, "\"Husum\"}"),
            &[
                "content_block_delta 1 \"Husum\"}",
                "content_block_stop 1",
                "content_block_start 2 tool_use toolu_ get_tide",
                "content_block_delta 2 {\"place",
            ],
        ),
        (more(1, "\":\"Amrum\"}"), &["content_block_delta 2 \":\"Amrum\"}"]),
        (chunk(json!({}), json!("tool_calls")), &["content_block_stop 2"]),
        (format!("data: {figures}\n\n"), &[]),
        ("data: [DONE]\n\n".to_owned(), &["message_delta tool_use 9 4", "message_stop"]),
        (": nobody listens any more\n\n".to_owned(), &[]),
        ("data: {\"id\":\"chatcmpl-2\"}\n\n".to_owned(), &[]),
    ];
    let mut converter =
        StreamConverter::new(Format::OpenaiChat, Format::Anthropic, StreamOptions::default());
    let mut whole = Vec::new();
    for (chunk, expected) in table {
        let mut out = Vec::new();
        converter.push(chunk.as_bytes(), &mut out).expect("a chunk");
        let told: Vec<String> =
            cut(Format::Anthropic, &out).iter().map(|cut| told(&cut.data)).collect();
        assert_eq!(told, expected, "{chunk}");
        whole.extend(out);
    }
    let finished = converter.finish(&mut whole).expect("an end");
    assert!(finished.complete && !finished.failed, "{finished:?}");
    assert_eq!(finished.renamed.len(), 1, "{finished:?}");
    let heard = hear(Format::Anthropic, &whole);
    assert_eq!(heard.faults, [""; 0]);
    assert_eq!(heard.answer.text(), "I look it up.");
    let calls: Vec<&ReplyCallInput> = heard.answer.calls().map(|call| &call.input).collect();
    let wanted = ["Husum", "Amrum"].map(|place| ReplyCallInput::Json(json!({"place": place})));
    assert_eq!(calls, wanted.iter().collect::<Vec<_>>());
}

/// An event of Anthropic in a few words.
fn told(data: &str) -> String {
    let event: Value = serde_json::from_str(data).expect("JSON");
    let mut words = vec![event["type"].as_str().unwrap_or_default().to_owned()];
    words.extend(event["index"].as_u64().map(|index| index.to_string()));
    let (block, delta) = (&event["content_block"], &event["delta"]);
    for value in [&block["type"], &block["id"], &block["name"], &delta["stop_reason"]] {
        // Only the beginning of an id that was made up is known.
        let made_up = |text: &str| text.starts_with("toolu_");
        let text = value.as_str();
        words.extend(text.map(|text| if made_up(text) { "toolu_" } else { text }.to_owned()));
    }
    for value in [&delta["text"], &delta["partial_json"]] {
        words.extend(value.as_str().map(str::to_owned));
    }
    let usage = &event["usage"];
    for value in [&usage["input_tokens"], &usage["output_tokens"]] {
        words.extend(value.as_u64().map(|count| count.to_string()));
    }
    words.join(" ")
}

#[test]
fn figures_come_to_chat_clients_only_if_they_asked_for_them() {
    let answer = text_and_calls(Format::Anthropic);
    let source = bytes(&stream(&mut Random::new(7), Format::Anthropic, &answer));
    for usage in [true, false] {
        let options = StreamOptions { usage, ..StreamOptions::default() };
        let mut converter = StreamConverter::new(Format::Anthropic, Format::OpenaiChat, options);
        let mut out = Vec::new();
        converter.push(&source, &mut out).expect("a stream");
        converter.finish(&mut out).expect("an end");
        let heard = hear(Format::OpenaiChat, &out);
        assert_eq!(heard.faults, [""; 0]);
        assert_eq!(heard.answer.usage == ReplyUsage::default(), !usage);
        assert_eq!(String::from_utf8_lossy(&out).contains("\"usage\""), usage);
    }
}

#[test]
fn calls_without_ids_get_the_same_ones_each_time_and_others_in_other_answers() {
    let mut answer = text_and_calls(Format::Gemini);
    answer.id = None;
    for block in &mut answer.blocks {
        if let ReplyBlock::Call(call) = block {
            call.id = None;
        }
    }
    let source = bytes(&stream(&mut Random::new(7), Format::Gemini, &answer));
    let ids = |seed: &str| -> Vec<Option<String>> {
        let options = StreamOptions { seed: seed.to_owned(), ..StreamOptions::default() };
        let mut converter = StreamConverter::new(Format::Gemini, Format::OpenaiChat, options);
        let mut out = Vec::new();
        converter.push(&source, &mut out).expect("a stream");
        let finished = converter.finish(&mut out).expect("an end");
        assert_eq!(finished.renamed.len(), 2);
        answers::hear(Format::OpenaiChat, &out).answer.calls().map(|call| call.id.clone()).collect()
    };
    assert_eq!(ids("one"), ids("one"));
    let (one, other) = (ids("one"), ids("other"));
    assert!(one.iter().all(|id| id.is_some() && !other.contains(id)), "{one:?} {other:?}");
    assert_ne!(one[0], one[1]);
}
