//! Single guarantees.

use foxwedge_core::CallFamily;

use super::*;
use crate::conversation::{
    JsonText, ReasoningPart, ReasoningSignature, StopReason, TokenUsage, ToolCallPart,
    response::{carries_signature, item_id},
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

fn thought<'a>(text: &'a str, signature: ReasoningSignature<'a>) -> ContentPart<'a> {
    ContentPart::Reasoning(ReasoningPart { text: text.into(), signature })
}

/// The list of content in a body.
fn content(encoded: &EncodedReply, format: Format) -> Json {
    let body = json(&encoded.body);
    let path = match format {
        Format::OpenaiChat => "/choices/0/message",
        Format::OpenaiResponses => "/output",
        Format::Anthropic => "/content",
        Format::Gemini => "/candidates/0/content/parts",
        Format::Bedrock => "/output/message/content",
        Format::GeminiInteractions => "/steps",
    };
    body.pointer(path).cloned().unwrap_or_default()
}

#[test]
fn an_empty_response_is_valid_in_every_format() {
    let table = [
        (Format::OpenaiChat, r#"{"role":"assistant","content":"","refusal":null}"#),
        (Format::OpenaiResponses, "[]"),
        (Format::Anthropic, "[]"),
        (Format::Gemini, "[]"),
        (Format::Bedrock, "[]"),
    ];
    for (format, expected) in table {
        for bits in [vec![], vec![ContentPart::Text("".into())]] {
            let encoded = written(bits, format);
            assert_eq!(content(&encoded, format), json(expected), "{}", encoded.body);
            let cut = matches!(format, Format::OpenaiChat | Format::Bedrock);
            assert_eq!(lost(&encoded.losses), [LossKind::StopReason].repeat(usize::from(cut)));
        }
    }
}

#[test]
fn a_truncated_response_is_marked_where_possible() {
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
fn a_signature_is_only_sent_to_its_provider() {
    let claude = [Format::Anthropic, Format::Bedrock];
    for to in WIRES {
        for from in WIRES {
            let same = from == to || claude.contains(&from) && claude.contains(&to);
            assert_eq!(carries_signature(Some(from), to), same, "{from:?} to {to:?}");
        }
        assert!(!carries_signature(None, to));
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
fn redacted_and_encrypted_reasoning_is_only_sent_to_its_provider() {
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
    for (signature, accepted_by, loss) in table {
        for to in WIRES {
            let encoded = written([thought("", signature.clone())], to);
            let kept = accepted_by.contains(&to);
            assert_eq!(encoded.body.contains("\"data\""), kept, "{}", encoded.body);
            assert_eq!(lost(&encoded.losses).contains(&loss), !kept, "{to:?}");
        }
    }
}

#[test]
fn readable_reasoning_is_written_in_every_format() {
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
    for (format, expected) in table {
        let encoded = written(
            [
                thought("a", ReasoningSignature::Unsigned),
                thought("b", ReasoningSignature::Unsigned),
            ],
            format,
        );
        let mut content = content(&encoded, format);
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
fn arguments_are_repaired_for_formats_that_require_objects() {
    let table = [
        ("{\"a\":1}", r#"{"a":1}"#, false),
        ("", "{}", false),
        ("{\"a\":\"b", r#"{"a":"b"}"#, true),
        ("[1]", r#"{"value":[1]}"#, true),
        ("ls", r#"{"value":"ls"}"#, true),
    ];
    for (arguments, object, repaired) in table {
        for format in [Format::Anthropic, Format::Gemini, Format::Bedrock] {
            let encoded = written([ContentPart::ToolCall(call(Some("x"), arguments))], format);
            let content = content(&encoded, format);
            let paths = ["/0/input", "/0/functionCall/args", "/0/toolUse/input"];
            let found = paths.iter().find_map(|path| content.pointer(path));
            assert_eq!(found, Some(&json(object)), "{content}");
            assert_eq!(
                lost(&encoded.losses).contains(&LossKind::Arguments),
                repaired,
                "{arguments}"
            );
        }
        for format in [Format::OpenaiChat, Format::OpenaiResponses] {
            let encoded = written([ContentPart::ToolCall(call(Some("x"), arguments))], format);
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
fn rejected_ids_are_replaced_and_reported() {
    let bits = || {
        [Some("functions.f:0"), Some("a"), Some("a"), None]
            .map(|id| ContentPart::ToolCall(call(id, "{}")))
    };
    for format in WIRES {
        let encoded = written(bits(), format);
        let back = reply(&encoded.body, format);
        let ids = back.parts.iter().filter_map(|part| match part.content() {
            ContentPart::ToolCall(call) => call.id.as_deref(),
            _ => None,
        });
        let ids: Vec<&str> = ids.collect();
        let different: std::collections::HashSet<&str> = ids.iter().copied().collect();
        assert_eq!(different.len(), ids.len(), "{ids:?}");
        assert_eq!(ids.len(), if format == Format::Gemini { 3 } else { 4 });
        for renamed in &encoded.renamed {
            assert!(ids.contains(&&*renamed.new), "{renamed:?}");
        }
        assert_eq!(written(bits(), format), encoded, "the same ids every time");
    }
    let anthropic = written(bits(), Format::Anthropic);
    let old: Vec<&str> = anthropic.renamed.iter().map(|renamed| &*renamed.old).collect();
    assert_eq!(old, ["functions.f:0", "a", ""]);
}

#[test]
fn a_forced_call_gets_the_stop_reason_for_calls() {
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
fn generated_images_are_written_for_gemini() {
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
fn responses_without_an_id_get_one_from_the_seed() {
    let outcome = ModelResponse::Reply(ModelReply::default());
    let id = |seed, format| {
        let body = json(&encode_reply(&outcome, format, seed).body);
        body.get("id").or(body.get("responseId")).cloned()
    };
    for format in WIRES {
        assert_eq!(id("a", format), id("a", format));
        // Gemini and Bedrock do not require one.
        let nameless = matches!(format, Format::Gemini | Format::Bedrock);
        assert_eq!(id("a", format) == id("b", format), nameless);
    }
    let items: Vec<String> = (0..3).map(|index| item_id("fc", "r", index)).collect();
    assert!(items.iter().all(|id| id.starts_with("fc_") && id.len() == 25), "{items:?}");
    assert_ne!(items[0], items[1]);
}

#[test]
fn texts_keep_their_escapes() {
    let body =
        r#"{"content":[{"type":"text","text":"\u00e9\/\ud83d\ude00\n"}],"stop_reason":"end_turn"}"#;
    for to in WIRES {
        let encoded = converted(body, Format::Anthropic, to);
        assert!(encoded.body.contains(r"\u00e9\/\ud83d\ude00\n"), "{}", encoded.body);
        let back = reply(&encoded.body, to);
        let contents: Vec<&ContentPart<'_>> = back.parts.iter().map(ModelPart::content).collect();
        assert_eq!(contents, [&ContentPart::Text(JsonText::from("é/😀\n"))]);
    }
}

#[test]
fn token_counts_are_converted_with_what_they_include() {
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
    for format in WIRES {
        let encoded = encode_reply(&outcome, format, "seed");
        let back = reply(&encoded.body, format).usage;
        assert_eq!((back.input, back.output, back.cache_read), (Some(100), Some(50), Some(60)));
        let short = matches!(format, Format::Gemini | Format::Bedrock);
        assert_eq!(lost(&encoded.losses), [LossKind::Usage].repeat(usize::from(short)));
    }
}

#[test]
fn redacted_reasoning_without_base64_is_not_written_for_bedrock() {
    for (data, kept) in [("EmwK", true), ("Emw=", true), ("Em_K", false), ("Emw", false)] {
        let encoded =
            written([thought("", ReasoningSignature::Redacted(data.into()))], Format::Bedrock);
        assert_eq!(encoded.body.contains(data), kept, "{}", encoded.body);
        assert_eq!(lost(&encoded.losses).contains(&LossKind::Reasoning), !kept, "{data}");
    }
}
