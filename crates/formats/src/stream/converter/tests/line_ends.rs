//! Line ends that only some readers take for such.

use super::*;

/// The lines of `str.splitlines` in Python.
fn python_lines(text: &str) -> Vec<&str> {
    let is_end = |c| {
        matches!(
            c,
            '\n' | '\r' | '\x0b' | '\x0c' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    text.split(is_end).filter(|line| !line.is_empty()).collect()
}

#[test]
fn clients_of_google_can_split_a_stream_at_every_line_end_of_python() {
    for end in ['\u{85}', '\u{2028}', '\u{2029}'] {
        let said = format!("a—{end}b\\{end}“{end}");
        let arguments = serde_json::json!({"key": said}).to_string();
        let reply = ModelReply {
            id: Some(format!("r{end}").into()),
            model: Some("m".into()),
            parts: vec![
                ModelPart::new(ContentPart::Reasoning(ReasoningPart {
                    text: said.clone().into(),
                    signature: ReasoningSignature::Unsigned,
                })),
                ModelPart::new(ContentPart::Text(said.clone().into())),
                ModelPart::new(ContentPart::ToolCall(ToolCallPart {
                    id: Some(Cow::Borrowed("call_1")),
                    name: Cow::Borrowed("lookup"),
                    family: CallFamily::Function,
                    arguments: arguments.clone().into(),
                    signature: None,
                })),
                ModelPart::new(ContentPart::ToolCall(ToolCallPart {
                    id: Some(Cow::Borrowed("call_2")),
                    name: Cow::Borrowed("write"),
                    family: CallFamily::Custom,
                    arguments: said.clone().into(),
                    signature: None,
                })),
            ],
            stop: Some(StopReason::ToolCalls),
            ..ModelReply::default()
        };
        for to in [Format::Gemini, Format::GeminiInteractions] {
            let outcome = ModelResponse::Reply(reply.clone());
            let (out, _) = write_stream(&outcome, to, StreamOptions::default());
            let text = String::from_utf8(out.clone()).expect("UTF-8");
            assert!(!text.contains(end), "{text}");
            for line in python_lines(&text) {
                if let Some(data) = line.strip_prefix("data: ").filter(|data| *data != "[DONE]") {
                    serde_json::from_str::<Json>(data).expect("a whole event");
                }
            }
            let collected = collect(to, &out).expect("a stream").reply;
            let texts: Vec<String> = collected
                .parts
                .iter()
                .map(|part| match part.content() {
                    ContentPart::Text(text) => text.to_string(),
                    ContentPart::Reasoning(reasoning) => reasoning.text.to_string(),
                    ContentPart::ToolCall(call) => {
                        let json: Json = serde_json::from_str(&call.arguments).expect("JSON");
                        let field = json.get("key").or(json.get("input")).expect("a field");
                        field.as_str().expect("a string").to_owned()
                    }
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(texts, vec![said.as_str(); 4], "{to:?}");
            // Other formats are split at line feeds only, and keep their bytes.
            let (out, _) = write_stream(&outcome, Format::Anthropic, StreamOptions::default());
            assert!(String::from_utf8_lossy(&out).contains(end));
            let failure = ProviderError {
                kind: ProviderErrorKind::Server,
                message: said.clone().into(),
                code: None,
            };
            let (out, _) =
                write_stream(&ModelResponse::Error(failure), to, StreamOptions::default());
            assert!(!String::from_utf8_lossy(&out).contains(end));
        }
    }
}
