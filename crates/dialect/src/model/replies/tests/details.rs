//! Single promises.

use foxwedge_core::CallFamily;

use super::*;
use crate::model::{
    JsonText, ReasoningPart, ReasoningSignature, StopReason, TokenUsage, ToolCallPart, replies,
};

fn call<'a>(id: Option<&'a str>, arguments: &'a str) -> ToolCallPart<'a> {
    ToolCallPart {
        id: id.map(Into::into),
        name: "f".into(),
        family: CallFamily::Function,
        arguments: arguments.into(),
        signature: None,
    }
}

fn thought<'a>(text: &'a str, seal: ReasoningSignature<'a>) -> ContentPart<'a> {
    ContentPart::Reasoning(ReasoningPart { text: text.into(), signature: seal })
}

/// The list of what is said in a body.
fn content(encoded: &EncodedReply, wire: Format) -> Json {
    let body = json(&encoded.body);
    let path = match wire {
        Format::OpenaiChat => "/choices/0/message",
        Format::OpenaiResponses => "/output",
        Format::Anthropic => "/content",
        Format::Gemini => "/candidates/0/content/parts",
        Format::Bedrock => "/output/message/content",
    };
    body.pointer(path).cloned().unwrap_or_default()
}

#[test]
fn an_answer_that_says_nothing_is_legal_everywhere() {
    let table = [
        (Format::OpenaiChat, r#"{"role":"assistant","content":"","refusal":null}"#),
        (Format::OpenaiResponses, "[]"),
        (Format::Anthropic, "[]"),
        (Format::Gemini, "[]"),
        (Format::Bedrock, "[]"),
    ];
    for (wire, expected) in table {
        for bits in [vec![], vec![ContentPart::Text("".into())]] {
            let encoded = written(bits, wire);
            assert_eq!(content(&encoded, wire), json(expected), "{}", encoded.body);
            let cut = matches!(wire, Format::OpenaiChat | Format::Bedrock);
            assert_eq!(lost(&encoded.losses), [LossKind::StopReason].repeat(usize::from(cut)));
        }
    }
}

#[test]
fn an_answer_that_was_cut_off_says_so_where_it_can() {
    let table = [
        (Format::OpenaiChat, "/choices/0/finish_reason", "\"length\""),
        (Format::OpenaiResponses, "/status", "\"incomplete\""),
        (Format::OpenaiResponses, "/incomplete_details", "null"),
        (Format::Anthropic, "/stop_reason", "null"),
        (Format::Gemini, "/candidates/0/finishReason", "null"),
        (Format::Bedrock, "/stopReason", "\"max_tokens\""),
    ];
    for (wire, path, expected) in table {
        let body = json(&written([ContentPart::Text("a".into())], wire).body);
        assert_eq!(body.pointer(path).cloned().unwrap_or_default(), json(expected), "{wire:?}");
        let legal = matches!(wire, Format::OpenaiChat | Format::Bedrock);
        assert_eq!(reply(&body.to_string(), wire).stop, legal.then_some(StopReason::Length));
    }
}

#[test]
fn a_signature_goes_to_its_maker_only() {
    let claude = [Format::Anthropic, Format::Bedrock];
    for to in WIRES {
        for from in WIRES {
            let same = from == to || claude.contains(&from) && claude.contains(&to);
            assert_eq!(replies::carries_signature(Some(from), to), same, "{from:?} to {to:?}");
        }
        assert!(!replies::carries_signature(None, to));
    }
    let body = r#"{"content":[{"type":"thinking","thinking":"","signature":"EqQB"}],"stop_reason":"end_turn"}"#;
    for to in WIRES {
        let encoded = converted(body, Format::Anthropic, to);
        let kept = claude.contains(&to);
        assert_eq!(encoded.body.contains("EqQB"), kept, "{}", encoded.body);
        assert_eq!(lost(&encoded.losses), [LossKind::Signature].repeat(usize::from(!kept)));
    }
}

#[test]
fn sealed_reasoning_goes_where_it_can_be_opened() {
    let table = [
        (
            ReasoningSignature::Redacted("data".into()),
            [Format::Anthropic, Format::Bedrock].as_slice(),
            LossKind::Reasoning,
        ),
        (
            ReasoningSignature::Encrypted("data".into()),
            &[Format::OpenaiResponses],
            LossKind::Signature,
        ),
    ];
    for (seal, takers, what) in table {
        for to in WIRES {
            let encoded = written([thought("", seal.clone())], to);
            let kept = takers.contains(&to);
            assert_eq!(encoded.body.contains("\"data\""), kept, "{}", encoded.body);
            assert_eq!(lost(&encoded.losses).contains(&what), !kept, "{to:?}");
        }
    }
}

#[test]
fn reasoning_that_can_be_read_is_read_everywhere() {
    let table = [
        (
            Format::OpenaiChat,
            r#"{"role":"assistant","content":"","refusal":null,"reasoning_content":"a\n\nb"}"#,
        ),
        (
            Format::OpenaiResponses,
            r#"[{"type":"reasoning","id":"","summary":[{"type":"summary_text","text":"a"}]},{"type":"reasoning","id":"","summary":[{"type":"summary_text","text":"b"}]}]"#,
        ),
        (
            Format::Anthropic,
            r#"[{"type":"thinking","thinking":"a","signature":""},{"type":"thinking","thinking":"b","signature":""}]"#,
        ),
        (Format::Gemini, r#"[{"text":"a","thought":true},{"text":"b","thought":true}]"#),
        (
            Format::Bedrock,
            r#"[{"reasoningContent":{"reasoningText":{"text":"a"}}},{"reasoningContent":{"reasoningText":{"text":"b"}}}]"#,
        ),
    ];
    for (wire, expected) in table {
        let encoded = written(
            [
                thought("a", ReasoningSignature::Unsigned),
                thought("b", ReasoningSignature::Unsigned),
            ],
            wire,
        );
        let mut content = content(&encoded, wire);
        for item in content.as_array_mut().into_iter().flatten() {
            if let Some(id) = item.get_mut("id") {
                assert!(id.as_str().is_some_and(|id| id.starts_with("rs_")), "{id}");
                *id = "".into();
            }
        }
        assert_eq!(content, json(expected));
    }
}

#[test]
fn arguments_that_are_no_object_are_mended_for_formats_of_objects() {
    let table = [
        ("{\"a\":1}", r#"{"a":1}"#, false),
        ("", "{}", false),
        ("{\"a\":\"b", r#"{"a":"b"}"#, true),
        ("[1]", r#"{"value":[1]}"#, true),
        ("ls", r#"{"value":"ls"}"#, true),
    ];
    for (arguments, object, mended) in table {
        for wire in [Format::Anthropic, Format::Gemini, Format::Bedrock] {
            let encoded = written([ContentPart::ToolCall(call(Some("x"), arguments))], wire);
            let content = content(&encoded, wire);
            let paths = ["/0/input", "/0/functionCall/args", "/0/toolUse/input"];
            let found = paths.iter().find_map(|path| content.pointer(path));
            assert_eq!(found, Some(&json(object)), "{content}");
            assert_eq!(lost(&encoded.losses).contains(&LossKind::Arguments), mended, "{arguments}");
        }
        for wire in [Format::OpenaiChat, Format::OpenaiResponses] {
            let encoded = written([ContentPart::ToolCall(call(Some("x"), arguments))], wire);
            let text = if arguments.is_empty() { "{}" } else { arguments };
            let quoted = Json::from(text).to_string();
            assert!(encoded.body.contains(&format!("\"arguments\":{quoted}")), "{}", encoded.body);
            assert!(!lost(&encoded.losses).contains(&LossKind::Arguments));
        }
    }
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(500), "]".repeat(500));
    let encoded = written([ContentPart::ToolCall(call(Some("x"), &deep))], Format::Anthropic);
    assert_eq!(content(&encoded, Format::Anthropic)[0]["input"]["value"], deep.as_str());
}

#[test]
fn ids_that_a_format_refuses_are_replaced_and_told() {
    let bits = || {
        [Some("functions.f:0"), Some("a"), Some("a"), None]
            .map(|id| ContentPart::ToolCall(call(id, "{}")))
    };
    for wire in WIRES {
        let encoded = written(bits(), wire);
        let back = reply(&encoded.body, wire);
        let ids = back.parts.iter().filter_map(|part| match part.content() {
            ContentPart::ToolCall(call) => call.id.as_deref(),
            _ => None,
        });
        let ids: Vec<&str> = ids.collect();
        let different: std::collections::HashSet<&str> = ids.iter().copied().collect();
        assert_eq!(different.len(), ids.len(), "{ids:?}");
        assert_eq!(ids.len(), if wire == Format::Gemini { 3 } else { 4 });
        for renamed in &encoded.renamed {
            assert!(ids.contains(&&*renamed.new), "{renamed:?}");
        }
        assert_eq!(written(bits(), wire), encoded, "the same ids every time");
    }
    let anthropic = written(bits(), Format::Anthropic);
    let old: Vec<&str> = anthropic.renamed.iter().map(|renamed| &*renamed.old).collect();
    assert_eq!(old, ["functions.f:0", "a", ""]);
}

#[test]
fn a_call_that_was_forced_is_waited_for() {
    let body = r#"{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[
        {"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}]}"#;
    let words = [
        (Format::OpenaiChat, "/choices/0/finish_reason", "stop"),
        (Format::OpenaiResponses, "/status", "completed"),
        (Format::Anthropic, "/stop_reason", "tool_use"),
        (Format::Gemini, "/candidates/0/finishReason", "STOP"),
        (Format::Bedrock, "/stopReason", "tool_use"),
    ];
    for (wire, path, word) in words {
        let encoded = converted(body, Format::OpenaiChat, wire);
        assert_eq!(json(&encoded.body).pointer(path), Some(&Json::from(word)));
        assert_eq!(encoded.losses, [], "{wire:?}");
    }
}

#[test]
fn what_the_model_drew_is_shown_by_gemini() {
    let media = crate::model::MediaPart {
        kind: crate::model::MediaKind::Image,
        media_type: Some("image/png".into()),
        source: crate::model::MediaSource::Data("aGk=".into()),
        name: None,
    };
    let encoded = written([ContentPart::Media(media)], Format::Gemini);
    let expected = r#"[{"inlineData":{"mimeType":"image/png","data":"aGk="}}]"#;
    assert_eq!((content(&encoded, Format::Gemini), encoded.losses), (json(expected), vec![]));
}

#[test]
fn answers_without_a_name_get_one_of_the_seed() {
    let outcome = ModelResponse::Reply(ModelReply::default());
    let id = |seed, wire| {
        let body = json(&encode_reply(&outcome, wire, seed).body);
        body.get("id").or(body.get("responseId")).cloned()
    };
    for wire in WIRES {
        assert_eq!(id("a", wire), id("a", wire));
        // Gemini and Bedrock can do without.
        let nameless = matches!(wire, Format::Gemini | Format::Bedrock);
        assert_eq!(id("a", wire) == id("b", wire), nameless);
    }
    let items: Vec<String> = (0..3).map(|index| replies::item_id("fc", "r", index)).collect();
    assert!(items.iter().all(|id| id.starts_with("fc_") && id.len() == 25), "{items:?}");
    assert_ne!(items[0], items[1]);
}

#[test]
fn texts_keep_their_spelling() {
    let body =
        r#"{"content":[{"type":"text","text":"\u00e9\/\ud83d\ude00\n"}],"stop_reason":"end_turn"}"#;
    for to in WIRES {
        let encoded = converted(body, Format::Anthropic, to);
        assert!(encoded.body.contains(r"\u00e9\/\ud83d\ude00\n"), "{}", encoded.body);
        let back = reply(&encoded.body, to);
        let said: Vec<&ContentPart<'_>> = back.parts.iter().map(ModelPart::content).collect();
        assert_eq!(said, [&ContentPart::Text(JsonText::from("é/😀\n"))]);
    }
}

#[test]
fn figures_come_over_with_what_they_include() {
    let usage = TokenUsage {
        input: Some(100),
        output: Some(50),
        cache_read: Some(60),
        cache_written: Some(30),
        reasoning: Some(20),
    };
    let outcome = ModelResponse::Reply(ModelReply {
        usage,
        stop: Some(StopReason::End),
        ..ModelReply::default()
    });
    for wire in WIRES {
        let encoded = encode_reply(&outcome, wire, "seed");
        let back = reply(&encoded.body, wire).usage;
        assert_eq!((back.input, back.output, back.cache_read), (Some(100), Some(50), Some(60)));
        let short = matches!(wire, Format::Gemini | Format::Bedrock);
        assert_eq!(lost(&encoded.losses), [LossKind::Usage].repeat(usize::from(short)));
    }
}

#[test]
fn redacted_reasoning_that_is_no_base64_stays_out_of_bedrock() {
    for (data, kept) in [("EmwK", true), ("Emw=", true), ("Em_K", false), ("Emw", false)] {
        let encoded =
            written([thought("", ReasoningSignature::Redacted(data.into()))], Format::Bedrock);
        assert_eq!(encoded.body.contains(data), kept, "{}", encoded.body);
        assert_eq!(lost(&encoded.losses).contains(&LossKind::Reasoning), !kept, "{data}");
    }
}
