//! Invalid compactions that the oracle must detect.

use serde_json::{Value, json};

use super::*;
use crate::shape::{body, messages};

/// What is wrong with a result that keeps only these messages.
fn wrong(format: &str, shape: &str, keep: &[usize]) -> Vec<String> {
    let all = messages(format, shape);
    let after: Vec<Value> = keep.iter().map(|at| all[*at].clone()).collect();
    judged(
        format,
        &body(format, shape),
        &after,
        &keep.iter().map(|at| Some(*at)).collect::<Vec<_>>(),
    )
}

fn judged(format: &str, before: &str, after: &[Value], origins: &[Option<usize>]) -> Vec<String> {
    let after = Value::Array(after.to_vec()).to_string();
    let shorter = ShorterHistory { format, before, after: &after, origins };
    match became(&shorter) {
        Ok(became) => parted(format, before, &became),
        Err(complaints) => complaints,
    }
}

#[test]
fn a_cut_through_a_unit_is_noticed_wherever_it_falls() {
    let shape = "u a[x y] r[x] u r[y] a u";
    let whole: [&[usize]; 4] = [&[0, 1, 2, 3, 4, 5, 6], &[0, 5, 6], &[0, 6], &[1, 2, 3, 4, 6]];
    for keep in whole {
        assert_eq!(wrong("anthropic", shape, keep), Vec::<String>::new(), "{keep:?}");
    }
    let parted: [&[usize]; 5] =
        [&[0, 2, 3, 4], &[0, 1, 2], &[0, 4, 5], &[0, 1, 2, 4, 6], &[0, 3, 6]];
    for keep in parted {
        assert!(!wrong("anthropic", shape, keep).is_empty(), "{keep:?}");
    }
}

#[test]
fn turns_of_several_messages_are_not_separated_from_their_results() {
    assert!(!wrong("openai-responses", "u a a[x] r[x] u", &[0, 2, 3, 4]).is_empty());
    assert!(!wrong("openai-chat", "u a[x y] r[x y] u", &[0, 1, 2, 4]).is_empty());
    let thought = json!({"type": "reasoning", "id": "rs_1", "summary": []});
    let mut items = messages("openai-responses", "u a[x] r[x] u");
    items.insert(1, thought.clone());
    let before = Value::Array(items.clone()).to_string();
    let alone =
        judged("openai-responses", &before, &[items[0].clone(), thought], &[Some(0), Some(1)]);
    assert!(alone.iter().any(|what| what.contains("reasoning")), "{alone:?}");
    let ends = judged(
        "openai-responses",
        &before,
        &[items[0].clone(), items[4].clone()],
        &[Some(0), Some(4)],
    );
    assert_eq!(ends, Vec::<String>::new());
}

#[test]
fn invented_partial_or_reordered_messages_are_detected() {
    let shape = "u a[x] r[x] a u";
    let before = body("anthropic", shape);
    let all = messages("anthropic", shape);
    let foreign = messages("anthropic", "u a[z]").remove(1);
    let table: [(&[Value], &[Option<usize>]); 4] = [
        (&[all[0].clone(), foreign, all[4].clone()], &[Some(0), None, Some(4)]),
        (&[all[4].clone(), all[0].clone()], &[Some(4), Some(0)]),
        (&[all[0].clone(), all[3].clone()], &[Some(0), Some(4)]),
        (&[all[0].clone()], &[Some(0), Some(4)]),
    ];
    for (after, origins) in table {
        assert!(!judged("anthropic", &before, after, origins).is_empty(), "{origins:?}");
    }
    let two = json!([{"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}]);
    let half = json!([{"role": "user", "content": [{"type": "text", "text": "two"}]}]);
    let half = half.as_array().map_or(&[][..], Vec::as_slice);
    assert!(!judged("anthropic", &two.to_string(), half, &[Some(0)]).is_empty());
}

#[test]
fn joined_and_shrunken_messages_are_found_again() {
    let before = body("openai-chat", "u a u a[x] r[x]");
    let all = messages("openai-chat", "u a u a[x] r[x]");
    let joined = json!({"role": "user", "content": "user text 1\n\nuser text 3"});
    let shrunk = json!({"role": "tool", "tool_call_id": "x", "content": "[cleared]"});
    let after = Value::Array(vec![joined, all[3].clone(), shrunk]).to_string();
    let origins = [Some(0), Some(3), Some(4)];
    let shorter =
        ShorterHistory { format: "openai-chat", before: &before, after: &after, origins: &origins };
    let expected = vec![
        MessageSurvival::Changed(0),
        MessageSurvival::Gone,
        MessageSurvival::Changed(0),
        MessageSurvival::Same(1),
        MessageSurvival::Changed(2),
    ];
    assert_eq!(became(&shorter), Ok(expected));
}

#[test]
fn required_messages_are_listed() {
    let named = |shape: &str, which: RequiredMessages| -> Vec<usize> {
        let mut places: Vec<usize> = stays("openai-chat", &body("openai-chat", shape), which)
            .into_iter()
            .map(|it| it.0)
            .collect();
        places.sort_unstable();
        places.dedup();
        places
    };
    let wishes =
        RequiredMessages { first_wish: true, last_wish: true, ..RequiredMessages::default() };
    assert_eq!(named("s u a u a", wishes), [0, 1, 3, 4]);
    assert_eq!(named("u a u a[x] r[x]", wishes), [0, 2, 4]);
    assert_eq!(named("u a u a[x] r[x]", RequiredMessages::default()), [4]);
    assert_eq!(
        named("a u a", RequiredMessages { first: true, ..RequiredMessages::default() }),
        [0, 2]
    );
    assert_eq!(named("u a[x] u a", RequiredMessages::default()), [1, 3]);
    assert_eq!(
        named("u a u", RequiredMessages { everything: true, ..RequiredMessages::default() }),
        [0, 1, 2]
    );
}

#[test]
fn sizes_and_common_beginnings_are_counted_naively() {
    let one = body("openai-chat", "u a[x y] r[x y] u");
    let two = body("openai-chat", "u a[x y] r[y x] u");
    assert_eq!(count("openai-chat", &one), (5, 2));
    assert_eq!(common("openai-chat", &one, &two), 2);
    assert_eq!(common("openai-chat", &one, &one), 5);
}
