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
        // A lone surrogate or a number out of range is JSON that some readers refuse.
        assert!(
            parsed.is_ok() || out.contains("\\u") || out.contains(['e', 'E']),
            "{text:?}: {out:?}"
        );
        if serde_json::from_str::<serde_json::Value>(&text).is_ok() {
            assert_eq!(out, text);
        }
        assert_eq!(repaired(&[&out]), out, "{text:?}");
    }
}

#[test]
fn what_is_too_deep_passes_as_it_is() {
    let deep = |depth: usize| format!("{}1,{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(repaired(&[&deep(MAX_DEPTH)]), deep(MAX_DEPTH).replace("1,", "1"));
    assert_eq!(repaired(&[&deep(MAX_DEPTH + 1)]), deep(MAX_DEPTH + 1));
}
