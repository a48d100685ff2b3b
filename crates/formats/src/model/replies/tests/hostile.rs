//! Truncated bodies, and bodies with unexpected values.

use serde_json::json as make;

use super::{samples::rich, *};
use crate::ReadError;

#[test]
fn a_truncated_body_is_an_error_with_its_position() {
    for format in WIRES {
        let body = rich(format);
        for end in 0..body.len() {
            let head = body.get(..end).expect("plain text");
            let error = decode_reply(head, format).expect_err(head);
            assert!(error.at() <= end, "{error}: {head}");
        }
    }
}

#[test]
fn a_body_that_is_not_a_response_is_an_error() {
    for format in WIRES {
        for body in ["{}", "[]", "null", "7", "\"x\"", "{\"a\":1}", "[{}]", "{\"object\":\"list\"}"]
        {
            let error = decode_reply(body, format).expect_err(body);
            assert!(matches!(error, ReadError::Malformed { at: 0, .. }), "{error:?}");
        }
    }
}

#[test]
fn a_field_of_the_wrong_type_is_tolerated() {
    let others =
        [make!(null), make!(7), make!(-1.5), make!([]), make!({}), make!("x"), make!([[{}], null])];
    for wire in WIRES {
        let whole = json(rich(wire));
        let mut paths = Vec::new();
        walk(&whole, String::new(), &mut paths);
        assert!(paths.len() > 30, "{wire:?}");
        for path in &paths {
            for other in &others {
                let mut body = whole.clone();
                *body.pointer_mut(path).expect("a place") = other.clone();
                survives(&body, wire);
            }
        }
    }
}

#[test]
fn a_missing_field_is_tolerated() {
    for format in WIRES {
        let whole = json(rich(format));
        let mut paths = Vec::new();
        walk(&whole, String::new(), &mut paths);
        for path in &paths {
            let mut body = whole.clone();
            let (parent, key) = path.rsplit_once('/').expect("a path");
            match body.pointer_mut(parent).expect("a place") {
                Json::Object(fields) => drop(fields.remove(key)),
                Json::Array(list) => drop(list.remove(key.parse().expect("an index"))),
                _ => continue,
            }
            survives(&body, format);
        }
    }
}

/// Decodes a body, or rejects it. A decoded body can be encoded in every format and decoded again.
fn survives(body: &Json, format: Format) {
    let text = body.to_string();
    let Ok(decoded) = decode_reply(&text, format) else { return };
    for to in WIRES {
        let encoded = encode_reply(&decoded.outcome, to, "seed");
        json(&encoded.body);
        let again = decode_reply(&encoded.body, to);
        assert!(again.is_ok(), "{again:?}: {text} as {}", encoded.body);
    }
}

fn walk(value: &Json, path: String, paths: &mut Vec<String>) {
    let mut visit = |key: &str, value: &Json| {
        let path = format!("{path}/{key}");
        paths.push(path.clone());
        walk(value, path, paths);
    };
    match value {
        Json::Object(fields) => fields.iter().for_each(|(key, value)| visit(key, value)),
        Json::Array(list) => {
            list.iter().enumerate().for_each(|(index, value)| visit(&index.to_string(), value));
        }
        _ => {}
    }
}
