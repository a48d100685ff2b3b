//! Bodies that are cut off, and bodies that are not what they should be.

use serde_json::json as make;

use super::{samples::rich, *};
use crate::ReadError;

#[test]
fn a_body_that_is_cut_off_is_an_error_with_its_place() {
    for wire in WIRES {
        let body = rich(wire);
        for end in 0..body.len() {
            let head = body.get(..end).expect("plain text");
            let error = decode_reply(head, wire).expect_err(head);
            assert!(error.at() <= end, "{error}: {head}");
        }
    }
}

#[test]
fn a_body_that_is_something_else_is_an_error() {
    for wire in WIRES {
        for body in ["{}", "[]", "null", "7", "\"x\"", "{\"a\":1}", "[{}]", "{\"object\":\"list\"}"]
        {
            let error = decode_reply(body, wire).expect_err(body);
            assert!(matches!(error, ReadError::Malformed { at: 0, .. }), "{error:?}");
        }
    }
}

#[test]
fn a_field_of_the_wrong_type_does_no_harm() {
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
fn a_field_that_is_missing_does_no_harm() {
    for wire in WIRES {
        let whole = json(rich(wire));
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
            survives(&body, wire);
        }
    }
}

/// A body is read or refused; what is read can be written for everybody, and is read again.
fn survives(body: &Json, wire: Format) {
    let text = body.to_string();
    let Ok(told) = decode_reply(&text, wire) else { return };
    for to in WIRES {
        let encoded = encode_reply(&told.outcome, to, "seed");
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
