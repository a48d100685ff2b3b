//! Any value in any field: the conversion succeeds and produces JSON.

use super::{rich::RICH, *};

/// Values of every type; most are invalid in any field.
const ODD: [&str; 8] =
    ["null", "-1", "true", "\"\"", "[]", "[null,7,\"a\",{}]", "{}", "{\"type\":\"custom\"}"];

/// Every position in a value, as a JSON pointer.
fn places(value: &Value, at: String, out: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                places(value, format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), out);
            }
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                places(value, format!("{at}/{index}"), out);
            }
        }
        _ => {}
    }
    if !at.is_empty() {
        out.push(at);
    }
}

#[test]
fn wrong_types_anywhere_give_valid_json_everywhere() {
    for (from, source) in RICH {
        let whole = without_conversation(source, from);
        let mut found = Vec::new();
        places(&whole, String::new(), &mut found);
        for place in found {
            for odd in ODD {
                let mut changed = whole.clone();
                let mark = "\u{1}here";
                *changed.pointer_mut(&place).expect("a place") = Value::from(mark);
                let marked = serde_json::to_string(mark).expect("JSON");
                let source = changed.to_string().replace(&marked, odd);
                for to in Format::ALL {
                    assert_valid(&source, from, to);
                }
            }
        }
    }
}

#[test]
fn requests_of_another_format_are_tolerated() {
    for (_, source) in RICH {
        for from in Format::ALL {
            for to in Format::ALL {
                assert_valid(source, from, to);
            }
        }
    }
}

/// Checks that the encoded settings are JSON without repeated keys, even for the same format.
fn assert_valid(source: &str, from: Format, to: Format) {
    let tape = JsonTape::read(source).expect("JSON");
    let mut settings = read(&tape.root(source).object().expect("an object"), from);
    settings.original = None;
    let (mut body, mut losses) = ("{".to_owned(), Vec::new());
    write(
        &settings,
        Some(from),
        (foxwedge_core::Profile::for_format(to), to),
        ChatServer::default(),
        &mut body,
        &mut losses,
    );
    body.push_str("\"said\":[]}");
    let tape = JsonTape::read(&body);
    let twice = tape.map(|tape| twice(tape.root(&body)));
    assert_eq!(twice, Ok(None), "{source} as {body}");
}
