//! However much a model says at once, all of it is printed, in every form.

use serde_json::Value;

use crate::stage::Stage;

#[test]
fn every_word_of_a_burst_is_printed_in_every_form() {
    let stage = Stage::new();
    for number in [1, 63, 64, 65, 66, 80, 128, 129, 190] {
        let words: Vec<String> = (0..number).map(|at| (at % 10).to_string()).collect();
        let (prompt, expected) = (words.join(" "), format!("You said: {}", words.join(" ")));
        let ran = stage.chat(&["--api", "scripted", "-p", &prompt], "");
        assert_eq!(ran.out, format!("{expected}\n"), "{number} words");
        if ![65, 129].contains(&number) {
            continue;
        }
        for format in ["json", "jsonl", "agui", "ai-sdk", "acp"] {
            let options = ["--api", "scripted", "-p", &prompt, "--output-format", format];
            let ran = stage.chat(&options, "");
            assert_eq!(ran.code, 0, "{format}: {ran:?}");
            let said = match format {
                "json" => {
                    let document: Value = serde_json::from_str(&ran.out).unwrap();
                    document["text"].as_str().unwrap_or_default().to_owned()
                }
                _ => ran.out.lines().filter_map(delta).collect(),
            };
            assert!(said.contains(&expected), "{format}, {number} words: {said}");
        }
    }
}

/// What a frame of any form adds to the text.
fn delta(line: &str) -> Option<String> {
    let frame: Value = serde_json::from_str(line).ok()?;
    let places = ["/delta", "/text/delta", "/update/content/text", "/params/update/content/text"];
    places.iter().find_map(|place| frame.pointer(place)?.as_str().map(str::to_owned))
}

#[test]
fn every_call_of_a_burst_runs_once() {
    let stage = Stage::new();
    for number in [1, 63, 64, 65, 66, 70] {
        let calls: Vec<String> = (0..number).map(|_| "call list with {}".to_owned()).collect();
        let ran = stage.chat(&["--api", "scripted", "-p", &calls.join(" and ")], "");
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(ran.err.matches("✓ list").count(), number, "{number} calls: {}", ran.err);
        let count = if number == 1 {
            "1 call: 1 done".to_owned()
        } else {
            format!("{number} calls: {number} done")
        };
        assert!(ran.err.contains(&count), "{number} calls: {}", ran.err);
    }
}
