use super::{BLOCKS, NOTHING, RuleTestRow, codes, document, row};

pub(super) fn rows() -> Vec<RuleTestRow> {
    let mut rows = Vec::new();
    for format in ["openai-chat", "anthropic", "gemini", "bedrock"] {
        rows.push(row(401, format, "strict", "s u a", "s a u"));
        rows.push(row(401, format, "anthropic", "u a", "a"));
        rows.push(row(402, format, "bedrock", "u a u", "u u"));
        rows.push(row(402, format, "strict", "u a[x] a[y] r[x y]", "u a a[y] r[y]"));
        rows.push(row(404, format, "strict", "u a[x] r[x] a u", "u a[x] r[x] u"));
        rows.push(row(406, format, "strict", "u a", "u s a"));
        rows.push(row(407, format, format, "u a", r#"[{"role":"robot","content":"x"}]"#));
        rows.push(row(407, format, format, "u a", r#"[{"role":4,"parts":[]}]"#));
        for profile in ["gemini", "bedrock", "mistral", "strict"] {
            let request = |end: &str| {
                let list = if format == "gemini" { "contents" } else { "messages" };
                format!(r#"{{"model":"m","{list}":[$u{end}]}}"#)
            };
            rows.push(row(403, format, profile, &request(",$a,$u"), &request(",$a")));
            rows.push(row(403, format, profile, &request(",$c"), &request(",$c,$r,$a")));
            rows.push(row(403, format, profile, "u a", &request(",$a")));
        }
    }
    rows.push(row(401, "openai-chat", "bedrock", "u a[x] r[x]", "r[x]"));
    rows.push(row(401, "gemini", "gemini", "a u", "a[x] r[x]"));
    rows.push(row(402, "gemini", "gemini", "u u a[x] a[y] r[x y]", "u a a[x] r[x]"));
    rows.push(row(402, "gemini", "gemini", "u a a u", "u a[x] a a[y]"));
    rows.push(row(404, "openai-chat", "mistral", "u a[x] r[x] a u", "u a[x] r[x] u"));
    rows.push(row(406, "openai-chat", "mistral", "u s a", "u a s"));
    rows.push(row(406, "openai-chat", "mistral", "s u", "u a[x] r[x] s"));
    rows.push(row(406, "anthropic", "anthropic", "u s a", "s u"));
    rows.push(row(406, "anthropic", "anthropic", "u s", "u a s u"));
    for format in BLOCKS {
        rows.push(row(406, format, "gemini", "u a", "s u"));
        rows.push(row(406, format, "bedrock", "u a", "u s"));
    }
    let served = |kind: &str| {
        format!(r#"[$u,{{"role":"assistant","content":[{{"type":"{kind}","id":"s"}}]}},$s]"#)
    };
    let (after, before) = (served("web_search_tool_result"), served("server_tool_use"));
    rows.push(row(406, "anthropic", "anthropic", &after, &before));
    let developer = r#"[{"role":"developer","content":"x"},$u]"#;
    rows.push(row(407, "openai-chat", "mistral", "s u", developer));
    for (sound, broken) in [
        ("u a", r#"[{"content":"x"}]"#),
        (r#"[{"type":"hologram"}]"#, r#"[{"role":"tool","content":"x"}]"#),
        (developer, "[null]"),
    ] {
        rows.push(row(407, "openai-responses", "openai-responses", sound, broken));
    }
    rows.push(row(
        407,
        "gemini",
        "gemini",
        r#"[{"parts":[{"text":"x"}]}]"#,
        r#"[{"role":"assistant"}]"#,
    ));

    let bedrock = |tools: &str| format!(r#"{{"modelId":"m"{tools},"messages":[$u,$c,$r]}}"#);
    let declared = bedrock(r#","toolConfig":{"tools":[{}]}"#);
    let undeclared =
        [r#","toolConfig":{}"#, r#","toolConfig":{"tools":[ ],"toolChoice":{"auto":{}}}"#];
    for profile in ["bedrock", "strict"] {
        for broken in undeclared {
            rows.push(row(405, "bedrock", profile, &declared, &bedrock(broken)));
        }
        rows.push(row(405, "bedrock", profile, &declared, &bedrock("")));
        rows.push(row(405, "bedrock", profile, "u a[x] r[x]", &bedrock("")));
    }
    rows
}

#[test]
fn only_newer_claude_models_refuse_a_prefill() {
    let request = |model: &str, end: &str| {
        document("anthropic", &format!(r#"{{"model":"{model}","messages":[$u,{end}]}}"#))
    };
    assert_eq!(codes("anthropic", "anthropic", &request("claude-opus-4-6", "$a")), [403]);
    assert_eq!(codes("anthropic", "anthropic", &request("claude-opus-4-5", "$a")), NOTHING);
    let paused = r#"{"role":"assistant","content":[{"type":"server_tool_use","id":"s"}]}"#;
    assert_eq!(codes("anthropic", "anthropic", &request("claude-opus-4-6", paused)), NOTHING);
}

#[test]
fn a_prefix_is_how_mistral_asks_for_a_continuation() {
    let request =
        r#"{"model":"m","messages":[$u,{"role":"assistant","content":"x","prefix":true}]}"#;
    let request = document("openai-chat", request);
    assert_eq!(codes("openai-chat", "mistral", &request), NOTHING);
    assert_eq!(codes("openai-chat", "strict", &request), [403]);
}

#[test]
fn a_user_after_answers_is_counted_once() {
    for format in BLOCKS {
        let found = codes(format, "strict", &document(format, "u a[callid001] r[callid001] u"));
        assert_eq!(found, [404], "{format}");
    }
}
