use super::{BLOCKS, NOTHING, RuleTestRow, codes, document, row};
use crate::violations;

pub(super) fn rows() -> Vec<RuleTestRow> {
    let mut rows = Vec::new();
    for format in crate::DIALECTS {
        let sound = "u a[x y] r[y x] a";
        rows.push(row(101, format, format, sound, "u a[x y] r[x] a"));
        rows.push(row(102, format, format, sound, "u a[x] r[x y]"));
        rows.push(row(103, format, format, sound, "u r[x] a[x] u"));
        rows.push(row(103, format, "deepseek", sound, "u a[x] u a r[x]"));
        rows.push(row(104, format, format, sound, "u a[x] r[x x]"));
        rows.push(row(104, format, format, sound, "u a[x] r[x] a u r[x]"));
    }
    for format in BLOCKS {
        rows.push(row(105, format, format, "u a[x y] r[x y]", "u a[x y] r[x] r[y]"));
        rows.push(row(106, format, "strict", "u a[x y] r[x y]", "u a[x] a[y] r[x y]"));
    }
    rows.push(row(106, "openai-chat", "deepseek", "u a[x y] r[x y]", "u a[x] a[y] r[x y]"));
    rows.push(row(106, "openai-responses", "deepseek", "u a a[x] r[x]", "u a[x] a r[x]"));
    rows.push(row(106, "openai-chat", "deepseek", "u a a[x] r[x]", "u a[x] a[y] r[y] r[x]"));
    let answer = |name: &str| {
        format!(r#"[$u,$c,{{"parts":[{{"functionResponse":{{"id":"callid001"{name}}}}}]}}]"#)
    };
    let right = answer(r#","name":"look""#);
    for wrong in [answer(""), answer(r#","name":"other""#), answer(r#","name":4"#)] {
        rows.push(row(107, "gemini", "gemini", &right, &wrong));
    }
    for format in ["openai-chat", "anthropic", "gemini", "bedrock"] {
        rows.push(row(108, format, "strict", &many(128), &many(129)));
    }
    let crossed =
        r#"[$u,$c,{"type":"custom_tool_call_output","call_id":"callid001","output":"x"}]"#;
    for profile in ["openai-responses", "strict"] {
        rows.push(row(109, "openai-responses", profile, "[$u,$c,$r]", crossed));
    }
    rows
}

fn many(count: usize) -> String {
    let ids: Vec<String> = (0..count).map(|number| format!("x{number}")).collect();
    format!("u a[{ids}] r[{ids}]", ids = ids.join(" "))
}

#[test]
fn shapes_break_exactly_these_rules() {
    let table: [(&str, &str, &[u16]); 24] = [
        ("openai-chat", "u a[x] r[x]", &[]),
        ("openai-chat", "u a[x] a[y] r[y] r[x]", &[]),
        ("openai-chat", "u a[x] a r[x]", &[103]),
        ("openai-chat", "u a[x] s r[x]", &[103]),
        ("openai-chat", "u a[x] r[x] a[x] r[x]", &[]),
        ("openai-chat", "u a[x] u a[x] r[x] r[x]", &[103]),
        ("openai-chat", "u a[x] a[y] r[y]", &[101]),
        ("openai-chat", "u a[x x] r[x x]", &[201]),
        ("openai-chat", "u r[x] a[x] r[x]", &[102]),
        ("openai-responses", "u a[x] u r[x]", &[]),
        ("openai-responses", "u r[x] a[x]", &[103]),
        ("openai-responses", "u a[x] a[x] r[x]", &[101, 201]),
        ("anthropic", "u a[x] a[y] r[x y]", &[]),
        ("anthropic", "u a[x] a r[x]", &[103]),
        ("anthropic", "u a[x y] r[x] r[y]", &[105]),
        ("anthropic", "u a[x] a a[y] r[x y]", &[103]),
        ("anthropic", "u a[x] r[x] a[x] r[x]", &[]),
        ("anthropic", "u a[x] u a[x] r[x x]", &[103]),
        ("gemini", "u a[x y] r[y x]", &[]),
        ("gemini", "u a[x] a[y] r[x y]", &[]),
        ("gemini", "u a[x] a[y] r[y]", &[101, 402]),
        ("gemini", "u a a[y] r[y]", &[402]),
        ("bedrock", "u a[x] r[x] u", &[402]),
        ("bedrock", "u a[x] u r[x]", &[105, 402]),
    ];
    for (format, shape, expected) in table {
        assert_eq!(codes(format, format, &document(format, shape)), expected, "{format}: {shape}");
    }
}

#[test]
fn a_pending_tail_may_stay_open() {
    let table = [
        ("u a[x y]", 0),
        ("u a[x y] r[x]", 0),
        ("u a[x y] r[x] u", 1),
        ("u a[x] u a[y]", 1),
        ("u a[x] a", 1),
    ];
    for format in crate::DIALECTS {
        for (shape, open) in table {
            // A flat list has no message boundaries, so the last text belongs to the turn.
            let flat = ["openai-responses", "gemini-interactions"].contains(&format);
            let open = if flat && shape == "u a[x] a" { 0 } else { open };
            let found = violations(format, format, true, &document(format, shape));
            let count = found.iter().filter(|found| found.code == 101).count();
            assert_eq!(count, open, "{format}: {shape}: {found:?}");
        }
    }
}

#[test]
fn answers_without_ids_find_the_calls_without_ids_at_home() {
    let chat = r#"[$u,{"role":"assistant","content":"","tool_calls":[
        {"type":"function","function":{"name":"look","arguments":"{}"}},
        {"id":null,"type":"function","function":{"name":"look","arguments":"{}"}}]},
        {"role":"tool","content":"one"},{"role":"tool","tool_call_id":"","content":"two"}]"#;
    assert_eq!(codes("openai-chat", "openai-chat", &document("openai-chat", chat)), [204]);

    let call = |name: &str| format!(r#"{{"functionCall":{{"name":"{name}"}}}}"#);
    let answer = |name: &str| format!(r#"{{"functionResponse":{{"name":"{name}"}}}}"#);
    let turn = |first: &str, second: &str, answers: &str| {
        let calls = format!("{},{}", call(first), call(second));
        format!(r#"[$u,{{"role":"model","parts":[{calls}]}},{{"parts":[{answers}]}}]"#)
    };
    let swapped = turn("a", "b", &format!("{},{}", answer("b"), answer("a")));
    assert_eq!(codes("gemini", "gemini", &document("gemini", &swapped)), NOTHING);
    let renamed = turn("a", "b", &format!("{},{}", answer("c"), answer("a")));
    assert_eq!(codes("gemini", "gemini", &document("gemini", &renamed)), [107]);
    let one_more = turn("a", "b", &[answer("a"), answer("b"), answer("a")].join(","));
    assert_eq!(codes("gemini", "gemini", &document("gemini", &one_more)), [102]);
}

#[test]
fn families_and_stored_state_decide_what_is_an_orphan() {
    let crossed =
        r#"[$u,$c,{"type":"custom_tool_call_output","call_id":"callid001","output":"x"}]"#;
    let crossed = document("openai-responses", crossed);
    assert_eq!(codes("openai-responses", "openai-responses", &crossed), [109]);
    assert_eq!(codes("openai-responses", "deepseek", &crossed), NOTHING);
    let shell = r#"[$u,$c,{"type":"local_shell_call_output","call_id":"callid001","output":"x"}]"#;
    let shell = document("openai-responses", shell);
    assert_eq!(codes("openai-responses", "openai-responses", &shell), [101, 102]);

    let local = r#"[$u,{"type":"local_shell_call","id":"lsh_1","action":{}},
        {"type":"local_shell_call_output","id":"lsh_1","output":"x"}]"#;
    let local = document("openai-responses", local);
    assert_eq!(codes("openai-responses", "openai-responses", &local), NOTHING);

    for stored in [
        r#"{"previous_response_id":"resp_1","input":[$r]}"#,
        r#"{"conversation":"conv_1","input":[$r]}"#,
        r#"[{"type":"item_reference","id":"fc_1"},$r]"#,
    ] {
        let stored = document("openai-responses", stored);
        assert_eq!(codes("openai-responses", "openai-responses", &stored), NOTHING);
    }
    let thread = r#"{"thread":{"type":"continue"},"messages":[$r]}"#;
    assert_eq!(codes("anthropic", "anthropic", &document("anthropic", thread)), NOTHING);
    let started = r#"{"thread":{"type":"create"},"messages":[$r]}"#;
    assert_eq!(codes("anthropic", "anthropic", &document("anthropic", started)), [102]);
}
