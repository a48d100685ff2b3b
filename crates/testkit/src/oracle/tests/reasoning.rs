use super::{RuleTestRow, codes, document, row};

pub(super) fn rows() -> Vec<RuleTestRow> {
    let mut rows = Vec::new();
    let run = |format: &str, blocks: &str| match format {
        "gemini" => format!(r#"[$u,{{"role":"model","parts":[{blocks}]}},$u]"#),
        _ => format!(r#"[$u,{{"role":"assistant","content":[{blocks}]}},$u]"#),
    };
    let thinking = r#"{"type":"thinking","thinking":"t","signature":"s"}"#;
    let redacted = r#"{"type":"redacted_thinking","data":"d"}"#;
    let reasoning = r#"{"reasoningContent":{}}"#;
    let thought = r#"{"text":"t","thought":true}"#;
    for (format, block) in [
        ("anthropic", thinking),
        ("anthropic", redacted),
        ("bedrock", reasoning),
        ("gemini", thought),
    ] {
        let followed = run(format, &format!(r#"{block},{{"type":"text","text":"x"}}"#));
        for profile in ["anthropic", "bedrock", "strict"] {
            rows.push(row(501, format, profile, &followed, &run(format, block)));
        }
    }
    let item = r#"{"type":"reasoning","id":"rs_1"}"#;
    let (valid, alone) = (format!("[$u,{item},{item},$c,$r]"), format!("[$u,{item},{item}]"));
    rows.push(row(501, "openai-responses", "openai-responses", &valid, &alone));
    rows.push(row(501, "openai-responses", "strict", &valid, &format!("[$u,{item},$u,$a]")));

    rows.extend(missing());
    let signed = run("anthropic", &format!("{thinking},{redacted}"));
    for unsigned in [
        r#"{"type":"thinking","thinking":"t"}"#,
        r#"{"type":"thinking","thinking":"t","signature":""}"#,
        r#"{"type":"redacted_thinking"}"#,
    ] {
        let unsigned = run("anthropic", unsigned);
        rows.push(row(503, "anthropic", "anthropic", &signed, &unsigned));
        rows.push(row(503, "anthropic", "strict", &signed, &unsigned));
    }

    let call = r#"{"type":"server_tool_use","id":"s"}"#;
    let mcp = r#"{"type":"mcp_tool_use","id":"s"}"#;
    let answer = r#"{"type":"web_search_tool_result","tool_use_id":"s"}"#;
    for profile in ["anthropic", "bedrock", "strict"] {
        let paired = run("anthropic", &format!("{call},{answer}"));
        rows.push(row(601, "anthropic", profile, &paired, &run("anthropic", call)));
        rows.push(row(601, "anthropic", profile, &paired, &run("anthropic", mcp)));
        rows.push(row(602, "anthropic", profile, &paired, &run("anthropic", answer)));
        let reversed = run("anthropic", &format!("{answer},{call}"));
        rows.push(row(602, "anthropic", profile, &paired, &reversed));
        let by_user = format!(
            r#"[$u,{{"role":"assistant","content":[{call}]}},{{"role":"user","content":[{answer}]}}]"#
        );
        rows.push(row(602, "anthropic", profile, &paired, &by_user));
    }
    let call = r#"{"toolUse":{"toolUseId":"s","name":"f","input":{},"type":"server_tool_use"}}"#;
    let answer = r#"{"toolResult":{"toolUseId":"s","content":[],"type":"web_search"}}"#;
    for profile in ["anthropic", "bedrock", "strict"] {
        let paired = run("bedrock", &format!("{call},{answer}"));
        rows.push(row(601, "bedrock", profile, &paired, &run("bedrock", call)));
        rows.push(row(602, "bedrock", profile, &paired, &run("bedrock", answer)));
    }
    let call = r#"{"type":"program","call_id":"p","code":"","fingerprint":"f"}"#;
    let answer = r#"{"type":"program_output","call_id":"p","result":"","status":"completed"}"#;
    for profile in ["openai-responses", "strict"] {
        let paired = format!("[$u,{call},{answer},$u]");
        rows.push(row(601, "openai-responses", profile, &paired, &format!("[$u,{call},$u]")));
        rows.push(row(602, "openai-responses", profile, &paired, &format!("[$u,{answer},$u]")));
    }
    let unknown = [
        ("anthropic", r#"{"type":"new"}"#, r#"{"type":"tool_use","id":"a","name":"f","input":{}}"#),
        ("bedrock", r#"{"new":{}}"#, r#"{"toolUse":{"toolUseId":"a","name":"f","input":{}}}"#),
        ("gemini", r#"{"new":{}}"#, r#"{"functionCall":{"id":"a","name":"f","args":{}}}"#),
    ];
    for (format, new, call) in unknown {
        let (alone, beside) = (run(format, new), run(format, &format!("{call},{new}")));
        rows.push(row(603, format, format, &alone, &beside));
    }
    let search = |tools: &str| {
        let call = r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}"#;
        let found = r#"[{"type":"tool_reference","tool_name":"g"}]"#;
        let result = format!(r#"[{{"type":"tool_result","tool_use_id":"a","content":{found}}}]"#);
        let messages = format!(r#"[$u,{call},{{"role":"user","content":{result}}}]"#);
        format!(r#"{{"tools":[{tools}],"messages":{messages}}}"#)
    };
    for profile in ["anthropic", "strict"] {
        let (declared, gone) = (search(r#"{"name":"f"},{"name":"g"}"#), search(r#"{"name":"f"}"#));
        rows.push(row(604, "anthropic", profile, &declared, &gone));
    }
    let call = r#"{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}"#;
    for profile in ["openai-responses", "strict"] {
        let (last, inside) =
            (r#"[$u,{"type":"compaction_trigger"}]"#, r#"[$u,{"type":"compaction_trigger"},$u]"#);
        rows.push(row(605, "openai-responses", profile, last, inside));
    }
    let (alone, beside) =
        (r#"[$u,{"type":"new"},$u]"#.to_owned(), format!(r#"[$u,{call},{{"type":"new"}},$u]"#));
    rows.push(row(603, "openai-responses", "openai-responses", &alone, &beside));
    rows
}

fn missing() -> Vec<RuleTestRow> {
    let chat = |reasoning: &str, more: &str| {
        let calls = r#"[{"id":"x","function":{"name":"look","arguments":"{}"}}]"#;
        format!(
            r#"{{"messages":[$u,{{"role":"assistant","tool_calls":{calls}{reasoning}}}]{more}}}"#
        )
    };
    let reasoning = r#","reasoning_content":"""#;
    let mut rows = Vec::new();
    for thinks in [r#","model":"deepseek-reasoner""#, r#","thinking":{"type":"enabled"}"#] {
        let broken = chat("", thinks);
        rows.push(row(502, "openai-chat", "deepseek", &chat(reasoning, thinks), &broken));
        rows.push(row(
            502,
            "openai-chat",
            "deepseek",
            &chat("", r#","model":"deepseek-chat""#),
            &broken,
        ));
    }
    let earlier = r#"[$u,{"role":"assistant","content":"x","reasoning_content":"r"},$u,$c,$r]"#;
    rows.push(row(502, "openai-chat", "deepseek", "u a u a[x] r[x]", earlier));

    let call = |signature: &str| {
        format!(r#"{{"role":"model","parts":[{{"functionCall":{{"name":"look"}}{signature}}}]}}"#)
    };
    let (signed, bare) = (call(r#","thoughtSignature":"s""#), call(""));
    let answer = r#"{"parts":[{"functionResponse":{"name":"look"}}]}"#;
    let two_steps = |first: &str, second: &str| format!("[$u,{first},{answer},{second},{answer}]");
    rows.push(row(
        502,
        "gemini",
        "gemini",
        &two_steps(&signed, &signed),
        &two_steps(&signed, &bare),
    ));
    let newer =
        |call: &str| format!(r#"{{"model":"gemini-3-pro","contents":[$u,{call},{answer}]}}"#);
    rows.push(row(502, "gemini", "gemini", &two_steps(&bare, &bare), &newer(&bare)));
    let older_turn = format!("[$u,{bare},{answer},$u,{signed},{answer}]");
    rows.push(row(502, "gemini", "gemini", &older_turn, &newer(&bare)));

    let thinking = |first: &str, mode: &str| {
        let calls = r#"{"type":"tool_use","id":"callid001","name":"look","input":{}}"#;
        let assistant = format!(r#"{{"role":"assistant","content":[{first}{calls}]}}"#);
        format!(r#"{{"thinking":{{"type":"{mode}"}},"messages":[$u,{assistant},$r]}}"#)
    };
    let block = r#"{"type":"thinking","thinking":"t","signature":"s"},"#;
    let broken = thinking("", "enabled");
    rows.push(row(502, "anthropic", "anthropic", &thinking(block, "enabled"), &broken));
    rows.push(row(502, "anthropic", "anthropic", &thinking("", "disabled"), &broken));
    let on_bedrock = |first: &str, mode: &str| {
        let call = r#"{"toolUse":{"toolUseId":"callid001","name":"look","input":{}}}"#;
        let answer = r#"{"role":"user","content":[{"toolResult":{"toolUseId":"callid001","content":[{"text":"1"}]}}]}"#;
        let settings = format!(r#"{{"thinking":{{"type":"{mode}"}}}}"#);
        let assistant = format!(r#"{{"role":"assistant","content":[{first}{call}]}}"#);
        let tools = r#"{"tools":[{"toolSpec":{"name":"look","inputSchema":{"json":{}}}}]}"#;
        format!(
            r#"{{"additionalModelRequestFields":{settings},"toolConfig":{tools},"messages":[$u,{assistant},{answer}]}}"#
        )
    };
    let block = r#"{"reasoningContent":{"reasoningText":{"text":"t","signature":"s"}}},"#;
    let broken = on_bedrock("", "enabled");
    rows.push(row(502, "bedrock", "bedrock", &on_bedrock(block, "enabled"), &broken));
    rows.push(row(502, "bedrock", "bedrock", &on_bedrock("", "disabled"), &broken));
    rows
}

#[test]
fn a_server_call_at_the_end_is_paused_and_not_dead() {
    let call = r#"{"role":"assistant","content":[{"type":"server_tool_use","id":"s"}]}"#;
    let answer = r#"{"role":"assistant","content":[{"type":"mcp_tool_result","tool_use_id":"s"}]}"#;
    let again = r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{},"caller":{"type":"code_execution_20260120","tool_id":"s"}}]}"#;
    let result =
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"1"}]}"#;
    for (list, expected) in [
        (format!("[$u,{call}]"), &[][..]),
        (format!("[$u,{call},{answer},$u]"), &[]),
        (format!("[$u,{call},$u]"), &[601]),
        (format!("[$u,{again},{result},$u]"), &[601]),
        (format!("[$u,{call},$u,{answer}]"), &[601, 602]),
        (format!("[$u,{call},{again},{result}]"), &[]),
        (format!("[$u,{call},{again},{result},$u]"), &[601]),
    ] {
        assert_eq!(
            codes("anthropic", "anthropic", &document("anthropic", &list)),
            expected,
            "{list}"
        );
    }
}
