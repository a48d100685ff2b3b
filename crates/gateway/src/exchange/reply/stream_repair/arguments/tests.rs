use super::*;

fn repaired(fragments: &[&str]) -> String {
    let (mut repair, mut out) = (ArgumentRepair::default(), String::new());
    fragments.iter().for_each(|fragment| repair.push(fragment, &mut out));
    repair.finish(&mut out);
    out
}

#[test]
fn faults_are_repaired_with_the_least_change() {
    for (input, expected) in [
        ("", "{}"),
        (r#"{"a":"b"#, r#"{"a":"b"}"#),
        (r#"{"a":[1,{"b":tr"#, r#"{"a":[1,{"b":true}]}"#),
        (r#"{"a":1,}"#, r#"{"a":1}"#),
        (r#"[1,2, ]"#, r#"[1,2]"#),
        (r#"{"a":1 "b":2}"#, r#"{"a":1 ,"b":2}"#),
        (
            r#"{'a': 'it\'s "b"', c: True, d: None}"#,
            r#"{"a": "it\u0027s \"b\"", "c": true, "d": null}"#,
        ),
        ("{\"a\":\"two\nlines\"}", r#"{"a":"two\nlines"}"#),
        (r#"{"a":"\d+\x"}"#, r#"{"a":"\\d+\\x"}"#),
        (r#"{"a":1}{"a":1}"#, r#"{"a":1}"#),
        ("```json\n{\"a\":1}\n```", "{\"a\":1}\n"),
        (r#"{"a"}"#, r#"{"a":null}"#),
        (r#"{"a":}"#, r#"{"a":null}"#),
        (r#"{"a":-}"#, r#"{"a":-0}"#),
        (r#"{"a":1.}"#, r#"{"a":1.0}"#),
        (r#"{"a":"\u12"}"#, r#"{"a":"\u1200"}"#),
        (r#"{"a":[1,2}"#, r#"{"a":[1,2]}"#),
        (r#"{"a":hello}"#, r#"{"a":"hello"}"#),
        (r#"{"a":1,,"b":2}"#, r#"{"a":1,"b":2}"#),
        (r#"[1,,2]"#, r#"[1,2]"#),
        ("null", "{}"),
        ("none", "{}"),
        ("42", "{}"),
        ("-", "{}"),
        ("use [1] {\"a\":1}", "{\"a\":1}"),
        ("{}", "{}"),
        ("{}.", "{}"),
        (r#"{"a":"\ud83ex"}"#, r#"{"a":"\ufffdx"}"#),
        (r#"{"a":"\ud83e"#, r#"{"a":"\ufffd"}"#),
        (r#"{"a":"\uDE00"}"#, r#"{"a":"\ufffd"}"#),
        (r#"{"a":"\ud83e\ud83e\udd8a\ud83e\n"}"#, r#"{"a":"\ufffd\ud83e\udd8a\ufffd\n"}"#),
        (r#"{"a":"\ud83e\u0041\ud83e\q"}"#, r#"{"a":"\ufffd\u0041\ufffd\\q"}"#),
        (r#"{"a":"\ud8"}"#, r#"{"a":"\ufffd"}"#),
        (r#"{"\ud83e":"\ud7ff\ud83e\u00"}"#, r#"{"\ufffd":"\ud7ff\ufffd\u0000"}"#),
    ] {
        assert_eq!(repaired(&[input]), expected, "{input}");
        let whole: serde_json::Value = serde_json::from_str(expected).expect("valid");
        let single: Vec<String> = input.chars().map(|it| it.to_string()).collect();
        let single: Vec<&str> = single.iter().map(String::as_str).collect();
        let pieces: serde_json::Value = serde_json::from_str(&repaired(&single)).expect("valid");
        assert_eq!(whole, pieces, "{input}");
    }
}

#[test]
fn any_text_becomes_json_and_json_stays() {
    let characters: Vec<char> = "{}[]\",:'\\ \ntfna1.-eE0uTx\u{e9}".chars().collect();
    let mut seed = 7_u64;
    let mut next = |most: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % most
    };
    for _ in 0..20_000 {
        let length = next(24);
        let text: String = (0..length).map(|_| characters[next(characters.len())]).collect();
        let out = repaired(&[&text]);
        let parsed = serde_json::from_str::<serde_json::Value>(&out);
        // A number out of range is JSON that some readers refuse.
        assert!(parsed.is_ok() || out.contains(['e', 'E']), "{text:?}: {out:?}");
        match serde_json::from_str::<serde_json::Value>(&text) {
            Ok(value) if value.is_object() || value.is_array() || value.is_string() => {
                assert_eq!(out, text);
            }
            Ok(_) => assert_eq!(out.trim(), "{}", "{text:?}"),
            Err(_) => {}
        }
        assert_eq!(repaired(&[&out]), out, "{text:?}");
    }
}

#[test]
fn surrogates_in_pieces_keep_their_bytes_or_are_replaced() {
    let escapes = ["\\ud83e\\udd8a", "\\ud83e", "\\udd8a", "\\ud7ff", "\\n", "\\\\", "x"];
    let mut seed = 9_u64;
    let mut next = |most: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % most
    };
    for _ in 0..5_000 {
        let text: String = (0..next(8)).map(|_| escapes[next(escapes.len())]).collect();
        let text = format!("{{\"a\":\"{text}\"}}");
        let (mut repair, mut out) = (ArgumentRepair::default(), String::new());
        let mut rest = text.as_str();
        let is_valid = serde_json::from_str::<serde_json::Value>(&text).is_ok();
        while !rest.is_empty() {
            let (part, behind) = rest.split_at((1 + next(9)).min(rest.len()));
            repair.push(part, &mut out);
            // The frame is sent as it is, unless the arguments are repaired anyway.
            if is_valid && next(2) == 0 {
                out.push_str(repair.held());
                repair.release();
            }
            rest = behind;
        }
        repair.finish(&mut out);
        assert!(serde_json::from_str::<serde_json::Value>(&out).is_ok(), "{text}: {out}");
        assert!(!is_valid || out == text, "{text}: {out}");
    }
}

#[test]
fn what_is_too_deep_passes_as_it_is() {
    let deep = |depth: usize| format!("{}1,{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(repaired(&[&deep(MAX_DEPTH)]), deep(MAX_DEPTH).replace("1,", "1"));
    assert_eq!(repaired(&[&deep(MAX_DEPTH + 1)]), deep(MAX_DEPTH + 1));
}
