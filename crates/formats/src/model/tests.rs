//! The guarantees of the canonical model, on hand-written histories of every format.

use foxwedge_core::{CheckOptions, Format, Profile, check};
use serde_json::Value;

use super::*;
use crate::{outline_options, read};

mod stories;
mod losses;
mod shapes;

use stories::STORIES;

/// The rules that a history violates, by name.
fn violated_rules(text: &str, format: Format) -> Vec<&'static str> {
    let profile = Profile::for_format(format);
    let reading = read(text, format, outline_options(profile)).expect("readable");
    let report = check(&reading.draft, &CheckOptions::for_profile(profile));
    report.findings.iter().map(|finding| finding.rule.name).collect()
}

/// A history without its original JSON.
fn without_origins<'a>(history: &ModelHistory<'a>) -> ModelHistory<'a> {
    fn bare<'a>(part: &ModelPart<'a>) -> ModelPart<'a> {
        ModelPart::new(match part.content().clone() {
            ContentPart::ToolResult(result) => {
                let parts = result.parts.iter().map(bare).collect();
                ContentPart::ToolResult(ToolResultPart { parts, ..result })
            }
            content => content,
        })
    }
    let message = |message: &ModelMessage<'a>| {
        ModelMessage::new(message.role, message.parts.iter().map(bare).collect())
    };
    ModelHistory { messages: history.messages.iter().map(message).collect() }
}

/// The content of a history, independent of the format: texts, calls with their arguments, results,
/// media. Sorted, because formats differ in the position of results.
fn gist(history: &ModelHistory<'_>) -> Vec<String> {
    fn media(media: &MediaPart<'_>) -> String {
        let place = match &media.source {
            MediaSource::Data(place)
            | MediaSource::Url(place)
            | MediaSource::Stored { id: place, .. } => place,
            MediaSource::Text(words) => {
                let name = media.name.as_deref();
                return name.map(|name| format!("{name}:\n\n{words}")).unwrap_or(words.to_string());
            }
        };
        format!("{} {place}", media.kind.name())
    }
    fn value(call: &ToolCallPart<'_>) -> Value {
        let text = &*call.arguments;
        if call.is_free_text() {
            return serde_json::json!({ "input": text });
        }
        serde_json::from_str(if text.is_empty() { "{}" } else { text }).expect("JSON")
    }
    let mut gist = Vec::new();
    let mut texts = Vec::new();
    for message in &history.messages {
        for part in &message.parts {
            match part.content() {
                ContentPart::Text(text) if text.starts_with("[foxwedge]") => {}
                ContentPart::Text(text) => texts.push(text.to_string()),
                ContentPart::Media(found) => gist.push(media(found)),
                ContentPart::ToolCall(call) => {
                    gist.push(format!("call {} {}", call.name, value(call)))
                }
                ContentPart::ToolResult(result) => {
                    let mut words = Vec::new();
                    for part in &result.parts {
                        match part.content() {
                            ContentPart::Text(text) => {
                                words.extend(text.lines().map(str::to_owned))
                            }
                            ContentPart::Media(found) => gist.push(media(found)),
                            _ => {}
                        }
                    }
                    words.retain(|line| !line.starts_with("(the media"));
                    gist.push(format!("answer {}", words.join("\n").trim()));
                }
                ContentPart::Reasoning(_) | ContentPart::Unknown(_) => {}
            }
        }
    }
    texts.retain(|text| !text.is_empty());
    gist.extend(texts);
    gist.sort();
    gist
}

#[test]
fn the_sample_histories_are_valid() {
    for (name, format, text) in STORIES {
        assert_eq!(violated_rules(text, format), Vec::<&str>::new(), "{name}");
    }
}

#[test]
fn a_round_trip_through_the_same_format_loses_nothing() {
    for (name, format, text) in STORIES {
        let history = decode(text, format).expect(name);
        let (back, losses) = encode(&history, format);
        assert_eq!(losses, [], "{name}");
        let (mut expected, found): (Value, Value) =
            (serde_json::from_str(text).expect(name), serde_json::from_str(&back).expect(name));
        // An omitted role is written.
        if format == Format::Gemini {
            for content in expected.as_array_mut().expect(name) {
                content.as_object_mut().expect(name).entry("role").or_insert("user".into());
            }
        }
        assert_eq!(found, expected, "{name}");
        assert!(!back.contains('\n'), "{name}: compact");
        assert_eq!(
            without_origins(&decode(&back, format).expect(name)),
            without_origins(&history),
            "{name}"
        );
    }
}

#[test]
fn every_format_accepts_converted_histories_of_every_other() {
    for (name, from, text) in STORIES {
        let history = decode(text, from).expect(name);
        for to in Format::ALL {
            let (out, losses) = encode(&history, to);
            assert_eq!(
                violated_rules(&out, to),
                Vec::<&str>::new(),
                "{name} in {}: {out}",
                to.name()
            );
            let lost = losses.iter().any(|loss| loss.kind == LossKind::Media);
            let back = decode(&out, to).expect(name);
            if !lost {
                assert_eq!(gist(&back), gist(&history), "{name} in {}: {out}", to.name());
            }
            let text: Value = serde_json::from_str(&out).expect(name);
            assert!(text.is_array(), "{name} in {}", to.name());
        }
    }
}

#[test]
fn a_history_encoded_again_keeps_its_content() {
    for (name, from, text) in STORIES {
        let history = without_origins(&decode(text, from).expect(name));
        for to in Format::ALL {
            let (out, losses) = encode(&history, to);
            assert_eq!(
                violated_rules(&out, to),
                Vec::<&str>::new(),
                "{name} in {}: {out}",
                to.name()
            );
            if losses.iter().all(|loss| loss.kind != LossKind::Media) {
                let back = decode(&out, to).expect(name);
                assert_eq!(gist(&back), gist(&history), "{name} in {}: {out}", to.name());
            }
        }
    }
}

#[test]
fn encoding_twice_gives_the_same_text() {
    for (name, from, text) in STORIES {
        for to in Format::ALL {
            let first = encode(&decode(text, from).expect(name), to);
            assert_eq!(first, encode(&decode(text, from).expect(name), to), "{name}");
            // Encoded content survives a round trip through its format.
            let again = encode(&decode(&first.0, to).expect(name), to);
            assert_eq!(again, (first.0, Vec::new()), "{name} in {}", to.name());
        }
    }
}
