use super::{BLOCKS, RuleTestRow, row};

pub(super) fn rows() -> Vec<RuleTestRow> {
    let mut rows = messages();
    rows.extend(arguments());
    rows.extend(answers());
    rows.extend(places());
    rows.extend(texts());
    rows.extend(types());
    rows
}

fn messages() -> Vec<RuleTestRow> {
    let mut rows = Vec::new();
    let say = |role: &str, more: &str| format!(r#"[$u,{{"role":"{role}"{more}}},$u]"#);
    let chat = [
        ("openai-chat", "assistant", ""),
        ("mistral", "assistant", r#","content":null"#),
        ("strict", "assistant", r#","content":[]"#),
        ("strict", "assistant", r#","content":" ""#),
        ("openai-chat", "user", r#","content":null"#),
        ("openai-chat", "system", ""),
        ("openai-chat", "developer", r#","content":null"#),
        ("strict", "system", r#","content":[]"#),
        ("deepseek", "assistant", r#","content":null"#),
        ("deepseek", "assistant", ""),
        ("strict", "user", r#","content":"""#),
    ];
    for (profile, role, empty) in chat {
        let sound = say(role, r#","content":"x""#);
        rows.push(row(301, "openai-chat", profile, &sound, &say(role, empty)));
    }
    let refusal = say("assistant", r#","content":null,"refusal":"no""#);
    let null = say("assistant", r#","content":null"#);
    rows.push(row(301, "openai-chat", "openai-chat", &refusal, &null));
    rows.push(row(301, "openai-chat", "openai-chat", &say("assistant", r#","content":"""#), &null));
    rows.push(row(301, "openai-chat", "mistral", &say("user", r#","content":"""#), &null));
    let list = say("assistant", r#","content":[]"#);
    rows.push(row(301, "openai-chat", "deepseek", &list, &null));
    for profile in ["openai-responses", "strict"] {
        for role in ["user", "assistant", "system", "developer"] {
            let sound = say(role, r#","content":[]"#);
            rows.push(row(301, "openai-responses", profile, &sound, &say(role, "")));
        }
    }
    let blank = say("user", r#","content":" ""#);
    rows.push(row(301, "anthropic", "anthropic", &say("user", r#","content":"x""#), &blank));
    for format in ["anthropic", "bedrock"] {
        for profile in ["anthropic", "bedrock", "strict"] {
            for empty in ["", r#","content":null"#, r#","content":"""#, r#","content":[]"#] {
                let full = say("assistant", r#","content":[{"text":"x"}]"#);
                rows.push(row(301, format, profile, &full, &say("assistant", empty)));
            }
        }
        let prefill = r#"[$u,{"role":"assistant","content":[]}]"#;
        rows.push(row(301, format, "anthropic", prefill, r#"[$u,{"role":"user","content":[]}]"#));
        let system = r#"[$u,{"role":"system","content":[]},{"role":"assistant","content":"x"}]"#;
        rows.push(row(301, format, "anthropic", system, &system.replace("[]", "\"\"")));
        rows.push(row(301, format, "bedrock", "u a", prefill));
        rows.push(row(301, format, "anthropic", prefill, r#"[$u,{"role":"assistant"}]"#));
    }
    for empty in ["", r#","parts":[]"#] {
        let full = say("model", r#","parts":[{"text":"x"}]"#);
        rows.push(row(301, "gemini", "gemini", &full, &say("model", empty)));
        rows.push(row(301, "gemini", "strict", &full, &say("model", empty)));
    }
    let with_calls = |more: &str| {
        let calls = r#"[{"id":"x","function":{"name":"look","arguments":"{}"}}]"#;
        format!(r#"[$u,{{"role":"assistant","tool_calls":{calls}{more}}}]"#)
    };
    rows.push(row(311, "openai-chat", "strict", &with_calls(r#","content":"""#), &with_calls("")));
    rows.push(row(311, "openai-chat", "strict", "u a", &with_calls(r#","content":null"#)));
    let no_calls = r#"[$u,{"role":"assistant","content":"x","tool_calls":[]}]"#;
    rows.push(row(309, "openai-chat", "openai-chat", "u a[x] r[x]", no_calls));
    rows.push(row(309, "openai-chat", "strict", "u a", no_calls));
    for format in crate::DIALECTS {
        let list = match format {
            "openai-responses" | "gemini-interactions" => "input",
            "gemini" => "contents",
            _ => "messages",
        };
        let request = |more: &str| format!(r#"{{"{list}":[]{more}}}"#);
        rows.push(row(314, format, format, "[]", &request("")));
        rows.push(row(314, format, format, "u", &request(r#","model":"m""#)));
    }
    rows
}

fn arguments() -> Vec<RuleTestRow> {
    let mut rows = Vec::new();
    let call = |format: &str, arguments: &str| match format {
        "openai-chat" => format!(
            r#"[{{"role":"assistant","tool_calls":[{{"id":"x","function":{{"name":"n"{arguments}}}}}]}}]"#
        ),
        "openai-responses" => format!(r#"[{{"type":"function_call","call_id":"x"{arguments}}}]"#),
        "anthropic" => {
            format!(
                r#"[{{"role":"assistant","content":[{{"type":"tool_use","id":"x"{arguments}}}]}}]"#
            )
        }
        "gemini" => format!(
            r#"[{{"role":"model","parts":[{{"functionCall":{{"name":"n"{arguments}}}}}]}}]"#
        ),
        _ => format!(
            r#"[{{"role":"assistant","content":[{{"toolUse":{{"name":"n"{arguments}}}}}]}}]"#
        ),
    };
    for format in ["openai-chat", "openai-responses"] {
        let sound = call(format, r#","arguments":"{}""#);
        for profile in ["openai-chat", "deepseek", "openai-responses", "strict"] {
            rows.push(row(302, format, profile, &sound, &call(format, "")));
            rows.push(row(302, format, profile, &sound, &call(format, r#","arguments":{}"#)));
        }
        let cut = call(format, r#","arguments":"{\"a\":""#);
        rows.push(row(302, format, "strict", &sound, &cut));
        rows.push(row(302, format, "strict", &sound, &call(format, r#","arguments":"[1]""#)));
        rows.push(row(302, format, "openai-chat", &cut, &call(format, r#","arguments":null"#)));
    }
    let custom = |input: &str| {
        format!(
            r#"[{{"role":"assistant","tool_calls":[{{"id":"x","type":"custom","custom":{{"name":"n"{input}}}}}]}}]"#
        )
    };
    let item =
        |input: &str| format!(r#"[{{"type":"custom_tool_call","call_id":"x","name":"n"{input}}}]"#);
    let sound = custom(r#","input":"free""#);
    rows.push(row(302, "openai-chat", "strict", &sound, &call("openai-chat", "")));
    for broken in ["", r#","input":null"#, r#","input":{}"#] {
        rows.push(row(302, "openai-chat", "openai-chat", &sound, &custom(broken)));
        let sound = item(r#","input":"""#);
        rows.push(row(302, "openai-responses", "openai-responses", &sound, &item(broken)));
    }
    rows.push(row(302, "openai-chat", "deepseek", &custom(""), &call("openai-chat", "")));
    for profile in ["anthropic", "gemini", "bedrock", "strict"] {
        for (format, key) in [("anthropic", "input"), ("gemini", "args"), ("bedrock", "input")] {
            let sound = call(format, &format!(r#","{key}":{{}}"#));
            let broken = call(format, &format!(r#","{key}":"{{}}""#));
            rows.push(row(302, format, profile, &sound, &broken));
        }
        rows.push(row(
            302,
            "gemini",
            profile,
            &call("gemini", ""),
            &call("gemini", r#","args":[]"#),
        ));
        rows.push(row(
            302,
            "bedrock",
            profile,
            &call("bedrock", r#","input":{}"#),
            &call("bedrock", ""),
        ));
    }
    rows
}

fn answers() -> Vec<RuleTestRow> {
    let mut rows = Vec::new();
    let answer = |format: &str, content: &str| match format {
        "openai-chat" => {
            format!(r#"[$u,$c,{{"role":"tool","tool_call_id":"callid001"{content}}}]"#)
        }
        "openai-responses" => {
            format!(r#"[$u,$c,{{"type":"function_call_output","call_id":"callid001"{content}}}]"#)
        }
        "anthropic" => format!(
            r#"[$u,$c,{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"callid001"{content}}}]}}]"#
        ),
        _ => format!(
            r#"[$u,$c,{{"role":"user","content":[{{"toolResult":{{"toolUseId":"callid001"{content}}}}}]}}]"#
        ),
    };
    let cells = [
        ("openai-chat", "openai-chat", r#","content":"""#, r#","content":null"#),
        ("openai-chat", "mistral", r#","content":[]"#, ""),
        ("openai-chat", "strict", r#","content":"x""#, r#","content":"""#),
        ("openai-chat", "strict", r#","content":" ""#, r#","content":[]"#),
        ("openai-responses", "openai-responses", r#","output":"""#, ""),
        ("openai-responses", "strict", r#","output":"x""#, r#","output":[]"#),
        ("anthropic", "strict", r#","content":"x""#, ""),
        ("anthropic", "strict", r#","content":[{}]"#, r#","content":[]"#),
        ("bedrock", "bedrock", r#","content":[]"#, ""),
        (
            "bedrock",
            "bedrock",
            r#","content":[],"status":"success""#,
            r#","content":[],"status":"error""#,
        ),
    ];
    for (format, profile, sound, broken) in cells {
        rows.push(row(303, format, profile, &answer(format, sound), &answer(format, broken)));
    }
    let media = |kind: &str| {
        answer("openai-chat", &format!(r#","content":[{{"type":"text"}},{{"type":"{kind}"}}]"#))
    };
    for profile in ["openai-chat", "deepseek", "strict"] {
        rows.push(row(307, "openai-chat", profile, &media("text"), &media("image_url")));
    }
    rows
}

fn types() -> Vec<RuleTestRow> {
    let mut rows = Vec::new();
    let shapes = [
        ("openai-chat", r#"[$u,$c,{"role":"tool","tool_call_id":"callid001","content":@}]"#),
        (
            "openai-responses",
            r#"[$u,$c,{"type":"function_call_output","call_id":"callid001","output":@}]"#,
        ),
        (
            "anthropic",
            r#"[$u,$c,{"role":"user","content":[{"type":"tool_result","tool_use_id":"callid001","content":@}]}]"#,
        ),
        (
            "gemini",
            r#"[$u,$c,{"role":"user","parts":[{"functionResponse":{"name":"callid001","response":@}}]}]"#,
        ),
        (
            "bedrock",
            r#"[$u,$c,{"role":"user","content":[{"toolResult":{"toolUseId":"callid001","content":@}}]}]"#,
        ),
    ];
    for (format, shape) in shapes {
        let gemini = format == "gemini";
        let (sound, odd) = if gemini { ("{}", r#"[{}]"#) } else { ("[]", r#"{"a":1}"#) };
        for broken in [odd, "true", "2", r#"["x"]"#, r#"[{"text":"x"},null]"#] {
            for profile in [format, "strict"] {
                let (sound, broken) = (shape.replace('@', sound), shape.replace('@', broken));
                rows.push(row(315, format, profile, &sound, &broken));
            }
        }
    }
    let answer = |content: &str| shapes[0].1.replace('@', content);
    let hole = answer(r#"[{"type":"text"},{"type":"text","text":"x"}]"#);
    for profile in ["openai-chat", "mistral", "deepseek", "strict"] {
        rows.push(row(315, "openai-chat", profile, &answer(r#""x""#), &hole));
    }
    let only = answer(r#"[{"type":"text"}]"#);
    rows.push(row(315, "openai-chat", "openai-chat", &only, &hole));
    rows.push(row(303, "openai-chat", "openai-chat", &hole, &only));
    let call = |kind: &str| {
        format!(
            r#"[$u,{{"role":"assistant","tool_calls":[{{"id":"callid001"{kind},"function":{{"name":"n","arguments":"{{}}"}}}}]}},$r]"#
        )
    };
    let flat = r#"[$u,{"role":"assistant","tool_calls":[{"id":"callid001","type":"tool_call","name":"n","args":{}}]},$r]"#;
    let typed = call(r#","type":"function""#);
    rows.push(row(316, "openai-chat", "openai-chat", &typed, flat));
    rows.push(row(207, "openai-chat", "deepseek", &typed, flat));
    rows.push(row(302, "openai-chat", "mistral", &typed, flat));
    for broken in ["", r#","type":null"#, r#","type":true"#, r#","type":"tool""#] {
        rows.push(row(316, "openai-chat", "openai-chat", &typed, &call(broken)));
        rows.push(row(316, "openai-chat", "strict", &typed, &call(broken)));
    }
    rows
}

fn places() -> Vec<RuleTestRow> {
    let mut rows = Vec::new();
    let tool_calls = |role: &str| {
        format!(r#"[$u,{{"role":"{role}","content":"x","tool_calls":[{{"id":"x"}}]}}]"#)
    };
    rows.push(row(
        304,
        "openai-chat",
        "openai-chat",
        &tool_calls("assistant"),
        &tool_calls("user"),
    ));
    for format in BLOCKS {
        let (list, assistant) =
            if format == "gemini" { ("parts", "model") } else { ("content", "assistant") };
        let text = r#"{"type":"text","text":"x"}"#;
        let (call, answer, reasoning) = match format {
            "anthropic" => (
                r#"{"type":"tool_use","id":"x"}"#,
                r#"{"type":"tool_result","tool_use_id":"x"}"#,
                r#"{"type":"thinking"}"#,
            ),
            "gemini" => (
                r#"{"functionCall":{"id":"x"}}"#,
                r#"{"functionResponse":{"id":"x"}}"#,
                r#"{"text":"t","thought":true}"#,
            ),
            _ => (
                r#"{"toolUse":{"toolUseId":"x"}}"#,
                r#"{"toolResult":{"toolUseId":"x"}}"#,
                r#"{"reasoningContent":{}}"#,
            ),
        };
        let says =
            |role: &str, blocks: &str| format!(r#"[$u,{{"role":"{role}","{list}":[{blocks}]}}]"#);
        let mut add = |code, profile, sound: String, broken: String| {
            rows.push(row(code, format, profile, &sound, &broken));
        };
        for profile in crate::PROFILES {
            add(304, profile, says(assistant, call), says("user", call));
            add(304, profile, says("user", answer), says(assistant, answer));
            add(304, profile, says(assistant, reasoning), says("user", reasoning));
        }
        let (late, early) = (format!("{text},{answer}"), format!("{answer},{text}"));
        for profile in ["anthropic", "bedrock", "gemini", "strict"] {
            add(305, profile, says("user", &early), says("user", &late));
        }
        let (late, early) = (format!("{call},{text}"), format!("{text},{call}"));
        for profile in ["anthropic", "strict"] {
            add(306, profile, says(assistant, &early), says(assistant, &late));
        }
        add(310, "strict", says("user", answer), says("user", &format!("{answer},{text}")));
    }
    rows
}

fn texts() -> Vec<RuleTestRow> {
    let mut rows = Vec::new();
    let say = |list: &str, text: &str| {
        format!(r#"[{{"role":"user","{list}":[{{"type":"text","text":"{text}"}}]}}]"#)
    };
    for format in BLOCKS {
        let list = if format == "gemini" { "parts" } else { "content" };
        rows.push(row(308, format, "anthropic", &say(list, "x"), &say(list, "")));
        rows.push(row(308, format, "anthropic", &say(list, "x"), &say(list, " ")));
        rows.push(row(308, format, "bedrock", &say(list, "x"), &say(list, " ")));
        rows.push(row(308, format, "strict", &say(list, "x"), &say(list, "\\n")));
        rows.push(row(308, format, "gemini", &say(list, " "), &say(list, "")));
    }
    let signed = r#"[{"parts":[{"text":"","thoughtSignature":"s"}]}]"#;
    rows.push(row(308, "gemini", "gemini", signed, r#"[{"parts":[{"text":""}]}]"#));
    rows.push(row(308, "openai-chat", "strict", &say("content", "x"), &say("content", "")));
    for profile in ["openai-chat", "mistral", "deepseek"] {
        let hole = r#"[{"role":"user","content":[{"type":"text"}]}]"#;
        rows.push(row(308, "openai-chat", profile, &say("content", ""), hole));
    }
    let ends = |content: &str| format!(r#"[$u,{{"role":"assistant","content":{content}}}]"#);
    for broken in [ends(r#""x ""#), ends(r#"[{"type":"text","text":"x\n"}]"#), ends(r#"" ""#)] {
        rows.push(row(312, "anthropic", "anthropic", &ends(r#""x""#), &broken));
        rows.push(row(312, "anthropic", "anthropic", &ends(r#""""#), &broken));
    }
    rows
}
