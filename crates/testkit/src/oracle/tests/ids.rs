use super::{BLOCKS, RuleTestRow, row};

pub(super) fn rows() -> Vec<RuleTestRow> {
    let mut rows = Vec::new();
    for format in crate::DIALECTS {
        rows.push(row(201, format, "anthropic", "u a[x y] r[x y]", "u a[x x] r[x x]"));
        rows.push(row(202, format, "strict", "u a[x] r[x] a[y] r[y]", "u a[x] r[x] a[x] r[x]"));
        rows.extend(legal_ids(format));
    }
    for format in ["openai-chat", "anthropic", "bedrock", "openai-responses"] {
        for id in ["null", "\"\"", "7"] {
            rows.push(row(
                204,
                format,
                format,
                &call(format, "\"x\"", "\"look\""),
                &call(format, id, "\"look\""),
            ));
        }
    }
    for format in crate::DIALECTS {
        let named = |name: &str| call(format, "\"x\"", name);
        for profile in crate::PROFILES {
            for bad in ["\"my tool!\"", "\"\"", "null", "3"] {
                rows.push(row(207, format, profile, &named("\"a_B-9\""), &named(bad)));
            }
        }
        let (of_65, of_129) = (named(&quoted(65)), named(&quoted(129)));
        rows.push(row(207, format, "bedrock", &named(&quoted(64)), &of_65));
        rows.push(row(207, format, "anthropic", &of_65, &of_129));
        rows.push(row(207, format, "gemini", &named("\"_a.b:c-d\""), &named("\"9lives\"")));
    }
    rows.extend(items());
    rows
}

fn legal_ids(format: &'static str) -> Vec<RuleTestRow> {
    let shape = |id: &str| format!("u a[{id}] r[{id}]");
    let of = |length: usize| shape(&"i".repeat(length));
    vec![
        row(203, format, "anthropic", &shape("a-B_9"), &shape("get:0")),
        row(203, format, "openai-chat", &of(40), &of(41)),
        row(203, format, "openai-responses", &of(64), &of(65)),
        row(203, format, "bedrock", &shape("a.b:c"), &shape("a/b")),
        row(203, format, "bedrock", &of(64), &of(65)),
        row(203, format, "mistral", &shape("abcDEF123"), &shape("abcDEF12")),
        row(203, format, "strict", &shape("abcDEF123"), &shape("abcDEF_23")),
    ]
}

fn quoted(length: usize) -> String {
    format!("\"{}\"", "n".repeat(length))
}

/// A single call with an id and a name given as JSON.
fn call(format: &str, id: &str, name: &str) -> String {
    let call = match format {
        "openai-chat" => format!(
            r#"{{"role":"assistant","tool_calls":[{{"id":{id},"function":{{"name":{name},"arguments":"{{}}"}}}}]}}"#
        ),
        "openai-responses" => {
            format!(r#"{{"type":"function_call","call_id":{id},"name":{name},"arguments":"{{}}"}}"#)
        }
        "gemini-interactions" => {
            format!(r#"{{"type":"function_call","id":{id},"name":{name},"arguments":{{}}}}"#)
        }
        "anthropic" => format!(
            r#"{{"role":"assistant","content":[{{"type":"tool_use","id":{id},"name":{name},"input":{{}}}}]}}"#
        ),
        "gemini" => {
            format!(
                r#"{{"role":"model","parts":[{{"functionCall":{{"id":{id},"name":{name}}}}}]}}"#
            )
        }
        _ => format!(
            r#"{{"role":"assistant","content":[{{"toolUse":{{"toolUseId":{id},"name":{name},"input":{{}}}}}}]}}"#
        ),
    };
    format!("[$u,{call}]")
}

fn items() -> Vec<RuleTestRow> {
    let mut rows = Vec::new();
    let item = |kind: &str, id: &str| {
        format!(r#"[$u,{{"type":"{kind}","role":"assistant","id":"{id}"}}]"#)
    };
    let prefixes = [
        ("function_call", "fc"),
        ("custom_tool_call", "ctc"),
        ("reasoning", "rs"),
        ("message", "msg"),
    ];
    for (kind, prefix) in prefixes {
        let good = item(kind, &format!("{prefix}_1"));
        rows.push(row(205, "openai-responses", "openai-responses", &good, &item(kind, "call_1")));
    }
    let other = item("web_search_call", "call_1");
    rows.push(row(205, "openai-responses", "strict", &other, &item("message", "")));
    let user = r#"[{"type":"message","role":"user","content":"x","id":"call_1"}]"#;
    rows.push(row(205, "openai-responses", "openai-responses", user, &item("reasoning", "fc_1")));

    let stored = |store: &str, seal: &str| {
        format!(r#"{{"store":{store},"input":[$u,{{"type":"reasoning","id":"rs_1"{seal}}},$a]}}"#)
    };
    let bare = stored("false", "");
    let empty = stored("false", r#","encrypted_content":"""#);
    for sound in [stored("true", ""), stored("false", r#","encrypted_content":"c""#)] {
        for broken in [&bare, &empty] {
            rows.push(row(206, "openai-responses", "openai-responses", &sound, broken));
        }
    }
    rows
}

#[test]
fn gemini_needs_no_ids() {
    for profile in crate::PROFILES {
        let found = super::codes(
            "gemini",
            profile,
            &super::document("gemini", &call("gemini", "null", "\"look\"")),
        );
        assert!(!found.contains(&204), "{profile}: {found:?}");
    }
    for format in BLOCKS {
        let twice = super::document(format, "u a[x x] r[x x]");
        assert!(!super::codes(format, "gemini", &twice).contains(&201), "{format}");
    }
}
