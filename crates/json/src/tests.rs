use super::*;

fn accepts(text: &str) -> bool {
    let mut scanner = JsonScanner::new(text);
    scanner.skip().and_then(|_| scanner.end()).is_ok() && scanner.lone_surrogates.is_empty()
}

/// Generates a short text that is JSON or nearly JSON.
fn nearly_json(seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % n as u64).unwrap_or(0)
    };
    const FRAGMENTS: [&str; 34] = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"a\"",
        "\"\"",
        "1",
        "-0",
        "0.5",
        "1e9",
        "-",
        "01",
        "1.",
        "2E+3",
        "true",
        "false",
        "null",
        "nul",
        " ",
        "\n",
        "\"\\n\"",
        "\"\\u00e9\"",
        "\"\\ud83d\\ude00\"",
        "\"\\ud83d\"",
        "\"\\x\"",
        "\"é\"",
        "\"a\\\\\\\"b\"",
        "\"abcdefghijklmnopqrstuvwxyz0123456789 long enough for wide steps\"",
        "\"k\":1",
        "\"k\":[",
        "{\"k\":",
        "\"tab\t\"",
    ];
    (0..1 + next(12)).map(|_| FRAGMENTS[next(FRAGMENTS.len())]).collect()
}

#[test]
fn accepts_exactly_what_serde_json_accepts() {
    let mut accepted = 0;
    for seed in 1..200_000 {
        let text = nearly_json(seed);
        // A number beyond the range of a double is valid JSON, but a `Value` cannot represent it.
        let expected = match serde_json::from_str::<serde_json::Value>(&text) {
            Ok(_) => true,
            Err(error) => {
                error.to_string().starts_with("number out of range")
                    && serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok()
            }
        };
        assert_eq!(accepts(&text), expected, "{text}");
        accepted += usize::from(expected);
    }
    assert!(accepted > 5_000, "the generator makes too little JSON: {accepted}");
}

#[test]
fn every_position_of_a_special_byte_is_found() {
    for length in 0..140 {
        for special in ["\"", "\\n\"", "\u{1}"] {
            let text = format!("\"{}{special}", "é".repeat(length / 2) + &"x".repeat(length % 2));
            assert_eq!(accepts(&text), special != "\u{1}", "{length} {special:?}");
        }
    }
}

#[test]
fn strings_are_unescaped_as_serde_json_unescapes_them() {
    for raw in ["plain", "a\\n\\t\\\"\\\\\\/", "\\u00e9\\ud83d\\ude00", "é\\b\\f\\r", ""] {
        let expected: String = serde_json::from_str(&format!("\"{raw}\"")).expect("valid");
        assert_eq!(unescape(raw), expected);
        assert_eq!(serde_json::from_str::<String>(&quote(&expected)).expect("valid"), expected);
        assert_eq!(is_blank(raw), expected.trim().is_empty());
    }
    assert_eq!(unescape("a\\ud83db"), "a\u{fffd}b");
    assert!(is_blank(" \\n\\u0020\\t"));
}

#[test]
fn deep_nesting_is_refused_with_its_place() {
    let deep = "[".repeat(100_000);
    let error = JsonScanner::new(&deep).skip().expect_err("too deep");
    assert_eq!((error.at(), error.message()), (513, "nested deeper than 512 levels"));
}

#[test]
fn fields_and_elements_are_found_again() {
    let text = r#"  {"a": 1, "b\u0063": [true , "x"], "c":{}} "#;
    let object = JsonScanner::new(text).skip().expect("valid");
    let found: Vec<_> = object_fields(text, object)
        .into_iter()
        .map(|field| (field.key.into_owned(), field.value.of(text).to_owned()))
        .collect();
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(found, [pair("a", "1"), pair("bc", "[true , \"x\"]"), pair("c", "{}")]);
    let array = field_value(text, object, "bc").expect("there");
    assert_eq!(
        array_elements(text, array).iter().map(|span| span.of(text)).collect::<Vec<_>>(),
        ["true", "\"x\""]
    );
}

#[test]
fn strings_round_trip() {
    let all: String = (0..0x300).filter_map(char::from_u32).collect();
    let mut texts: Vec<String> =
        ["", "\"", "\\", "a\u{1f600}\u{7f}\u{80}\u{2028}", "\0\u{1f}\\u0041", &all]
            .map(String::from)
            .to_vec();
    // Every special character at every position of an 8-byte word.
    for special in ['"', '\\', '\n', '\u{1}', '\u{e9}', '!', '#', '['] {
        texts.extend((0..20).map(|at| format!("{}{special}{}", "x".repeat(at), "y".repeat(9))));
    }
    for text in texts {
        let raw = quote(&text);
        assert_eq!(string_text(&raw).as_deref(), Some(text.as_str()), "{raw}");
        assert_eq!(serde_json::from_str::<String>(&raw).ok(), Some(text), "{raw}");
    }
}

#[test]
fn every_escape_is_read() {
    let table = [
        (r#""\"\\\/\b\f\n\r\t\u0041""#, Some("\"\\/\u{8}\u{c}\n\r\tA")),
        (r#""\ud83d\ude00!""#, Some("\u{1f600}!")),
        (r#""\uD83D""#, Some("\u{fffd}")),
        (r#""\ud83dx""#, Some("\u{fffd}x")),
        (r#""\ud83d\n""#, Some("\u{fffd}\n")),
        (r#""\ud83d\ud83d\ude00""#, Some("\u{fffd}\u{1f600}")),
        (r#""\ude00""#, Some("\u{fffd}")),
        ("\"\"", Some("")),
        ("\"", None),
        ("7", None),
        ("null", None),
    ];
    for (raw, expected) in table {
        assert_eq!(string_text(raw).as_deref(), expected, "{raw}");
    }
}
