//! The promises of the canonical history, on hand-written histories of every format.

use foxwedge_core::{Profile, Question, Wire, check};
use serde_json::Value;

use super::*;
use crate::{read, want};

mod stories;
mod losses;
mod shapes;

use stories::STORIES;

/// What a provider would refuse, as names of rules.
fn refused(text: &str, wire: Wire) -> Vec<&'static str> {
    let profile = Profile::of(wire);
    let reading = read(text, wire, want(profile)).expect("readable");
    let report = check(&reading.draft, &Question::of(profile));
    report.findings.iter().map(|finding| finding.rule.name).collect()
}

/// A history without the spelling of its format.
fn forgotten<'a>(history: &History<'a>) -> History<'a> {
    fn bare<'a>(part: &Part<'a>) -> Part<'a> {
        Part::new(match part.bit().clone() {
            Bit::Answer(answer) => {
                let parts = answer.parts.iter().map(bare).collect();
                Bit::Answer(Answer { parts, ..answer })
            }
            bit => bit,
        })
    }
    let said = |said: &Said<'a>| Said::new(said.role, said.parts.iter().map(bare).collect());
    History { messages: history.messages.iter().map(said).collect() }
}

/// What a history says, format aside: texts, calls with their arguments, answers, media. Sorted, as
/// formats differ in where an answer stands.
fn gist(history: &History<'_>) -> Vec<String> {
    fn media(media: &Media<'_>) -> String {
        let place = match &media.source {
            Source::Data(place) | Source::Url(place) | Source::Stored { id: place, .. } => place,
            Source::Text(words) => {
                let name = media.name.as_deref();
                return name.map(|name| format!("{name}:\n\n{words}")).unwrap_or(words.to_string());
            }
        };
        format!("{} {place}", media.kind.name())
    }
    fn value(call: &Call<'_>) -> Value {
        let text = &*call.arguments;
        if call.is_free_text() {
            return serde_json::json!({ "input": text });
        }
        serde_json::from_str(if text.is_empty() { "{}" } else { text }).expect("JSON")
    }
    let mut gist = Vec::new();
    let mut texts = Vec::new();
    for said in &history.messages {
        for part in &said.parts {
            match part.bit() {
                Bit::Text(text) if text.starts_with("[foxwedge]") => {}
                Bit::Text(text) => texts.push(text.to_string()),
                Bit::Media(found) => gist.push(media(found)),
                Bit::Call(call) => gist.push(format!("call {} {}", call.name, value(call))),
                Bit::Answer(answer) => {
                    let mut words = Vec::new();
                    for part in &answer.parts {
                        match part.bit() {
                            Bit::Text(text) => words.extend(text.lines().map(str::to_owned)),
                            Bit::Media(found) => gist.push(media(found)),
                            _ => {}
                        }
                    }
                    words.retain(|line| !line.starts_with("(the media"));
                    gist.push(format!("answer {}", words.join("\n").trim()));
                }
                Bit::Reasoning(_) | Bit::Other(_) => {}
            }
        }
    }
    texts.retain(|text| !text.is_empty());
    gist.extend(texts);
    gist.sort();
    gist
}

#[test]
fn the_stories_are_sound() {
    for (name, wire, text) in STORIES {
        assert_eq!(refused(text, wire), Vec::<&str>::new(), "{name}");
    }
}

#[test]
fn the_way_back_into_the_same_format_loses_nothing() {
    for (name, wire, text) in STORIES {
        let history = decode(text, wire).expect(name);
        let (back, losses) = encode(&history, wire);
        assert_eq!(losses, [], "{name}");
        let (mut expected, found): (Value, Value) =
            (serde_json::from_str(text).expect(name), serde_json::from_str(&back).expect(name));
        // The role that may be left out is written.
        if wire == Wire::Gemini {
            for content in expected.as_array_mut().expect(name) {
                content.as_object_mut().expect(name).entry("role").or_insert("user".into());
            }
        }
        assert_eq!(found, expected, "{name}");
        assert!(!back.contains('\n'), "{name}: compact");
        assert_eq!(forgotten(&decode(&back, wire).expect(name)), forgotten(&history), "{name}");
    }
}

#[test]
fn every_format_takes_the_histories_of_every_other() {
    for (name, from, text) in STORIES {
        let history = decode(text, from).expect(name);
        for to in Wire::ALL {
            let (out, losses) = encode(&history, to);
            assert_eq!(refused(&out, to), Vec::<&str>::new(), "{name} in {}: {out}", to.name());
            let lost = losses.iter().any(|loss| loss.what == Lost::Media);
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
fn a_history_spelled_anew_says_the_same() {
    for (name, from, text) in STORIES {
        let history = forgotten(&decode(text, from).expect(name));
        for to in Wire::ALL {
            let (out, losses) = encode(&history, to);
            assert_eq!(refused(&out, to), Vec::<&str>::new(), "{name} in {}: {out}", to.name());
            if losses.iter().all(|loss| loss.what != Lost::Media) {
                let back = decode(&out, to).expect(name);
                assert_eq!(gist(&back), gist(&history), "{name} in {}: {out}", to.name());
            }
        }
    }
}

#[test]
fn writing_twice_gives_the_same_text() {
    for (name, from, text) in STORIES {
        for to in Wire::ALL {
            let first = encode(&decode(text, from).expect(name), to);
            assert_eq!(first, encode(&decode(text, from).expect(name), to), "{name}");
            // What a format was given once, it keeps.
            let again = encode(&decode(&first.0, to).expect(name), to);
            assert_eq!(again, (first.0, Vec::new()), "{name} in {}", to.name());
        }
    }
}
