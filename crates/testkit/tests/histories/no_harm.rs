//! Histories that a repair once harmed: what providers accept is left alone, and what is repaired is
//! repaired with the least.

use foxwedge_core::{
    CheckOptions, FixApplicability, Format, OrphanPolicy, Profile, Report, Severity, check,
};
use foxwedge_formats::{detect, outline_options, read, text};
use foxwedge_testkit::body;
use serde_json::{Value, json};

fn checked(wire: Format, profile: Profile, document: &str) -> Report {
    let reading = read(document, wire, outline_options(profile)).expect("the document can be read");
    check(&reading.draft, &CheckOptions::for_profile(profile))
}

/// The document after a repair that does nothing unasked.
fn fixed(wire: Format, profile: Profile, document: &str) -> String {
    let reading = read(document, wire, outline_options(profile)).expect("the document can be read");
    reading.fix(&CheckOptions::for_profile(profile)).0.to_string()
}

fn untouched(wire: Format, profile: Profile, document: &str) {
    assert_eq!(fixed(wire, profile, document), document, "{}", profile.name());
    let report = checked(wire, profile, document);
    let errors: Vec<_> =
        report.findings.iter().filter(|it| it.severity == Severity::Error).collect();
    assert!(errors.is_empty(), "{document}: {errors:?}");
}

/// Who speaks, calls and answers, in order: `u a[x] r[x]`.
fn shape(document: &str) -> String {
    let value: Value = serde_json::from_str(document).expect("JSON");
    let list = value.as_array().cloned().unwrap_or_else(|| {
        let key =
            ["messages", "contents", "input"].into_iter().find(|key| value.get(key).is_some());
        value[key.expect("a list")].as_array().cloned().expect("a list")
    });
    let told = |message: &Value| {
        let calls: Vec<&str> = message["tool_calls"]
            .as_array()
            .into_iter()
            .flatten()
            .chain(message["content"].as_array().into_iter().flatten())
            .filter_map(|block| match block["type"].as_str() {
                Some("tool_result") => block["tool_use_id"].as_str(),
                _ => block["id"].as_str(),
            })
            .collect();
        let who = match message["role"].as_str() {
            Some("assistant") => "a",
            Some("tool") => {
                return format!("r[{}]", message["tool_call_id"].as_str().unwrap_or(""));
            }
            Some("user") if !calls.is_empty() => "r",
            _ => "u",
        };
        if calls.is_empty() { who.to_owned() } else { format!("{who}[{}]", calls.join(" ")) }
    };
    list.iter().map(told).collect::<Vec<_>>().join(" ")
}

#[test]
fn searches_that_the_provider_runs_are_not_paired() {
    let search = |call: &str, output: &str| {
        format!(
            r#"{{"model":"gpt-5.4","input":[{{"role":"user","content":"q"}},{{"type":"tool_search_call","id":"tsc_1",{call},"status":"completed","arguments":{{}}}}{output}]}}"#
        )
    };
    let output = |fields: &str| {
        format!(
            r#",{{"type":"tool_search_output","id":"tso_1",{fields},"status":"completed","tools":[]}}"#
        )
    };
    let server = r#""call_id":null,"execution":"server""#;
    let named = r#""call_id":"tsc_1","execution":"server""#;
    let unknown = r#""call_id":"tsc_1""#;
    let documents = [
        search(server, &output(server)),
        search(server, ""),
        search(named, ""),
        search(named, &output(named)),
        search(named, &output(unknown)),
        search(unknown, ""),
        search(r#""call_id":"tsc_1","execution":"client""#, &output(unknown)),
        search(
            r#""call_id":"tsc_1","execution":"client""#,
            r#",{"type":"function_call_output","call_id":"tsc_1","output":"none"}"#,
        ),
    ];
    for document in documents {
        untouched(Format::OpenaiResponses, Profile::OpenaiResponses, &document);
    }
}

#[test]
fn a_search_of_the_client_that_nobody_answered_gets_an_output_and_stays() {
    let document = r#"[{"role":"user","content":"q"},{"type":"tool_search_call","id":"tsc_1","call_id":"c","execution":"client","arguments":{}}]"#;
    let fixed = fixed(Format::OpenaiResponses, Profile::OpenaiResponses, document);
    assert!(fixed.contains("tool_search_call") && fixed.contains("tool_search_output"), "{fixed}");
    untouched(Format::OpenaiResponses, Profile::OpenaiResponses, &fixed);
}

#[test]
fn each_calling_message_is_followed_by_its_own_answers() {
    let table = [
        ("u a[A] a[B] r[B] u", "u a[A] r[A] a[B] r[B] u"),
        ("u a[A] a[B] r[A] u", "u a[A] r[A] a[B] r[B] u"),
        ("u a[A] a[B] u", "u a[A] r[A] a[B] r[B] u"),
        ("u a[A] a[B] a[C] r[A] r[C] u", "u a[A] r[A] a[B] r[B] a[C] r[C] u"),
        ("u a[A] a[B] u r[A] r[B]", "u a[A] r[A] a[B] r[B] u"),
    ];
    for (before, after) in table {
        let document = body("openai-chat", before);
        let fixed = fixed(Format::OpenaiChat, Profile::OpenaiChat, &document);
        assert_eq!(shape(&fixed), after, "{before}");
    }
    let joined = body("openai-chat", "u a[A] a[B] r[A] r[B] u");
    untouched(Format::OpenaiChat, Profile::OpenaiChat, &joined);
}

#[test]
fn a_placeholder_stands_behind_its_own_reply() {
    let table = [
        ("u a[A] a[B] r[B]", "u a[A] r[A] a[B] r[B]"),
        ("u a[A] a[B] a[C] r[C]", "u a[A] r[A] a[B] r[B] a[C] r[C]"),
        ("u a[A] a[B] r[A B]", "u a[A] a[B] r[A B]"),
        ("u a[A] a[B] r[A]", "u a[A] a[B] r[A B]"),
    ];
    for (before, after) in table {
        let fixed = fixed(Format::Anthropic, Profile::Anthropic, &body("anthropic", before));
        assert_eq!(shape(&fixed), after, "{before}");
    }
}

#[test]
fn real_results_do_not_give_way_to_placeholders_where_ids_repeat() {
    let shapes = [
        "u a[X] u a[X] r[X] r[X]",
        "u a[X] u a[X] u a[X] r[X] r[X] r[X]",
        "u a[X] u a[X] r[X] u a[X] r[X] r[X]",
        "u a[X] a[X] r[X] r[X]",
    ];
    for wire in [
        Format::OpenaiChat,
        Format::OpenaiResponses,
        Format::Anthropic,
        Format::Gemini,
        Format::Bedrock,
        Format::GeminiInteractions,
    ] {
        for shape in shapes {
            let fixed = fixed(wire, Profile::for_format(wire), &body(wire.name(), shape));
            assert!(!fixed.contains("[foxwedge]"), "{} {shape}: {fixed}", wire.name());
        }
    }
}

#[test]
fn an_answer_belongs_to_the_nearest_of_two_calls_of_one_id() {
    let document = body("openai-chat", "u a[X] a[X Y] r[Y] r[X]");
    let fixed = fixed(Format::OpenaiChat, Profile::OpenaiChat, &document);
    let placeholder = fixed.find("[foxwedge]").expect("the first call has no answer");
    assert!(placeholder < fixed.find("result of X").expect("the real answer stays"), "{fixed}");
}

#[test]
fn a_real_answer_takes_the_place_of_one_that_says_nothing() {
    let chat = |first: &str| {
        format!(
            r#"[{{"role":"user","content":"q"}},{{"role":"assistant","content":null,"tool_calls":[{{"id":"X","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}]}},{{"role":"tool","tool_call_id":"X","content":{first}}},{{"role":"tool","tool_call_id":"X","content":"real"}}]"#
        )
    };
    for first in ["null", "\"\"", "[]"] {
        let fixed = fixed(Format::OpenaiChat, Profile::OpenaiChat, &chat(first));
        assert!(fixed.contains(r#""content":"real""#) && !fixed.contains("no output"), "{fixed}");
        assert_eq!(shape(&fixed), "u a[X] r[X]", "{fixed}");
    }
    let blocks = r#"[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"X","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"X","content":""},{"type":"tool_result","tool_use_id":"X","content":"real"}]}]"#;
    let fixed = fixed(Format::Anthropic, Profile::Anthropic, blocks);
    assert!(fixed.contains(r#""content":"real""#), "{fixed}");
    assert_eq!(shape(&fixed), "u a[X] r[X]", "{fixed}");
}

#[test]
fn what_vendors_took_is_left_alone() {
    let long = "c".repeat(51);
    let reused = "u a[x] r[x] a[x] r[x] a";
    let table = [
        (Format::Gemini, r#"{"contents":[{"role":"user","parts":[{"text":""}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"1"}}}]}],"systemInstruction":{"parts":[{"text":"x"}]}}"#.to_owned()),
        (Format::Anthropic, body("anthropic", reused)),
        (Format::Gemini, body("gemini", "u a[x] a[y] r[x y]")),
        (Format::OpenaiChat, r#"{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:,"},"text":null}]}]}"#.to_owned()),
        (Format::Gemini, r#"{"contents":[{"role":"user","parts":[{"text":"q","functionCall":null,"functionResponse":null,"inlineData":null}]}]}"#.to_owned()),
        (Format::Bedrock, r#"{"messages":[{"role":"user","content":[{"text":"q","toolUse":null,"toolResult":null,"image":null}]}]}"#.to_owned()),
        (Format::OpenaiChat, body("openai-chat", &format!("u a[{long}] r[{long}] a"))),
        (Format::Anthropic, r#"[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"code_execution","input":{}},{"type":"tool_use","id":"toolu_1","name":"f","input":{},"caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_1"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"1"}]},{"role":"assistant","content":[{"type":"code_execution_tool_result","tool_use_id":"srvtoolu_1","content":{}},{"type":"text","text":"Done."}]},{"role":"user","content":"Thanks."}]"#.to_owned()),
    ];
    for (wire, document) in table {
        untouched(wire, Profile::for_format(wire), &document);
    }
}

#[test]
fn a_long_id_is_an_error_only_where_the_model_is_openais() {
    let long = "c".repeat(51);
    let request = |model: &str| {
        let list = body("openai-chat", &format!("u a[{long}] r[{long}] a"));
        format!(r#"{{"model":"{model}","messages":{list}}}"#)
    };
    for (model, own) in
        [("gpt-5", true), ("o3-mini", true), ("openai/gpt-5", false), ("kimi-k3", false)]
    {
        let fixed = fixed(Format::OpenaiChat, Profile::OpenaiChat, &request(model));
        assert_eq!(!fixed.contains(&format!("\"{long}\"")), own, "{model}");
    }
}

#[test]
fn a_history_never_ends_without_a_user_message() {
    let table = [
        (Format::OpenaiChat, r#"[{"role":"user"}]"#),
        (Format::OpenaiChat, r#"[{"role":"user","content":null}]"#),
        (Format::Gemini, r#"{"contents":[{}]}"#),
        (
            Format::OpenaiChat,
            r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":null}]}"#,
        ),
        (
            Format::Anthropic,
            r#"[{"role":"user","content":[]},{"role":"assistant","content":"Hello."}]"#,
        ),
        (
            Format::Anthropic,
            r#"[{"role":"user","content":[{"type":"text","text":""}]},{"role":"assistant","content":"Hello."}]"#,
        ),
    ];
    for (wire, document) in table {
        let profile = Profile::for_format(wire);
        let report = checked(wire, profile, document);
        assert!(!report.is_clean(), "{document}");
        let safe = |it: &foxwedge_core::Finding| it.fix.applicability == FixApplicability::Safe;
        assert!(!report.findings.iter().any(safe), "{document}: {:?}", report.findings);
        assert_eq!(fixed(wire, profile, document), document);
    }
}

#[test]
fn a_result_that_was_the_only_user_message_is_not_dropped_without_a_replacement() {
    let document = r#"[{"role":"user","content":[{"type":"tool_result","tool_use_id":"gone","content":"aborted"}]},{"role":"assistant","content":[{"type":"future_block","tool_id":"x"}]}]"#;
    let mut options = CheckOptions::for_profile(Profile::Anthropic);
    options.policy.orphans = OrphanPolicy::Drop;
    options.policy.allow_unsafe = true;
    let reading = read(document, Format::Anthropic, outline_options(Profile::Anthropic));
    let fixed = reading.expect("the document can be read").fix(&options).0.to_string();
    assert_eq!(shape(&fixed), "u a", "{fixed}");
}

#[test]
fn results_in_the_message_of_their_call_stay_with_it_where_an_id_repeats() {
    let turn = |text: &str| {
        json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": "call_0", "name": "f", "input": {}},
            {"type": "tool_result", "tool_use_id": "call_0", "content": text},
        ]})
    };
    let user = |text: &str| json!({"role": "user", "content": text});
    let document = json!([user("go"), turn("one"), user("on"), turn("two"), user("end")]);
    let fixed = fixed(Format::Anthropic, Profile::Anthropic, &document.to_string());
    let list: Vec<Value> = serde_json::from_str(&fixed).expect("a list");
    let result_at = |at: usize| &list[at]["content"][0]["content"];
    assert_eq!((result_at(2), result_at(4)), (&json!("one"), &json!("two")), "{fixed}");
}

#[test]
fn a_block_that_names_its_kind_twice_is_refused() {
    let document = r#"{"messages":[{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[]},"toolResult":null}]}]}"#;
    let reading = read(document, Format::Bedrock, outline_options(Profile::Bedrock));
    assert!(reading.is_err(), "readers disagree on which of the two counts");
}

#[test]
fn more_calls_than_a_round_holds_are_split_with_their_results() {
    let calls: Vec<Value> = (0..130)
        .map(|at| json!({"toolUse": {"toolUseId": format!("c{at}"), "name": "f", "input": {}}}))
        .collect();
    let results: Vec<Value> = (0..130)
        .map(|at| json!({"toolResult": {"toolUseId": format!("c{at}"), "content": [{"text": "ok"}]}}))
        .collect();
    let document = json!([
        {"role": "user", "content": [{"text": "go"}]},
        {"role": "assistant", "content": calls},
        {"role": "user", "content": [{"text": "by the way"}]},
        {"role": "user", "content": results},
    ]);
    let fixed = fixed(Format::Bedrock, Profile::OpenaiChat, &document.to_string());
    let fixed: Vec<Value> = serde_json::from_str(&fixed).expect("a list");
    let sizes: Vec<usize> =
        fixed.iter().map(|message| message["content"].as_array().map_or(0, Vec::len)).collect();
    assert_eq!(sizes, [1, 128, 128, 2, 2, 1]);
}

#[test]
fn an_empty_history_is_called_one_unless_it_is_a_bare_list() {
    for (wire, document) in [
        (Format::Gemini, r#"{"contents":[]}"#),
        (Format::OpenaiResponses, r#"{"input":[]}"#),
        (Format::OpenaiChat, r#"{"messages":[]}"#),
    ] {
        let report = checked(wire, Profile::for_format(wire), document);
        assert_eq!(report.findings.iter().map(|it| it.rule.code).collect::<Vec<_>>(), [314]);
        assert_eq!(fixed(wire, Profile::for_format(wire), document), document);
    }
    let found = detect("[]").expect("an empty list is a conversation without messages");
    untouched(found.wire, Profile::for_format(found.wire), "[]");
}

#[test]
fn byte_order_marks_are_passed_however_many_there_are() {
    let document = "\u{feff}\u{feff}{\"messages\":[{\"role\":\"user\",\"content\":\"q\"}]}";
    let read = text(document.as_bytes()).expect("text");
    assert!(read.starts_with('{'));
}

#[test]
fn mistral_refuses_what_its_own_package_refuses() {
    let call = |kind: &str, arguments: &str| {
        format!(
            r#"[{{"role":"user","content":"q"}},{{"role":"assistant","content":"","tool_calls":[{{"id":"abcdefgh1",{kind}"function":{{"name":"f","arguments":{arguments}}}}}]}},{{"role":"tool","tool_call_id":"abcdefgh1","content":"1"}},{{"role":"assistant","content":"ok"}}]"#
        )
    };
    let image = call("", r#""{}""#).replace(
        r#""content":"1""#,
        r#""content":[{"type":"image_url","image_url":{"url":"data:,"}}]"#,
    );
    let table = [
        (call(r#""type":"widget","#, r#""{}""#), Some(316)),
        (call("", "null"), Some(302)),
        (image, Some(307)),
        (
            r#"[{"role":"user","content":"q"},{"role":"user"},{"role":"user","content":"q"}]"#
                .to_owned(),
            Some(301),
        ),
        (call("", r#""{}""#), None),
        (call("", "{}"), None),
    ];
    for (document, expected) in table {
        let report = checked(Format::OpenaiChat, Profile::Mistral, &document);
        let first = report.findings.first().map(|finding| finding.rule.code);
        assert_eq!(first, expected, "{document}");
    }
}

#[test]
fn a_real_result_takes_the_place_of_a_placeholder_that_an_agent_wrote() {
    for words in foxwedge_testkit::PLACEHOLDERS {
        for wire in Format::ALL {
            let document = body(wire.name(), "u a[x] r[x] r[x] u");
            // The first result becomes the placeholder.
            let first = document.find("result of x").expect("a result");
            let end = first + document[first..].find('"').expect("the end of a string");
            let document = format!("{}{words}{}", &document[..first], &document[end..]);
            let fixed = fixed(wire, Profile::for_format(wire), &document);
            let real = document[end..].contains("result of x") && fixed.contains("result of x");
            assert!(real && !fixed.contains(words), "{} {words}: {fixed}", wire.name());
            assert!(!fixed.contains("[foxwedge]"), "{} {words}: {fixed}", wire.name());
        }
    }
}

#[test]
fn two_calls_of_one_id_keep_both_real_results_behind_a_placeholder() {
    let call = |number: u8| {
        format!(
            r#"{{"id":"X","type":"function","function":{{"name":"f{number}","arguments":"{{}}"}}}}"#
        )
    };
    let result =
        |words: &str| format!(r#"{{"role":"tool","tool_call_id":"X","content":"{words}"}}"#);
    let document = format!(
        r#"[{{"role":"user","content":"q"}},{{"role":"assistant","content":null,"tool_calls":[{},{}]}},{},{},{}]"#,
        call(1),
        call(2),
        result("aborted"),
        result("one"),
        result("two"),
    );
    let fixed = fixed(Format::OpenaiChat, Profile::OpenaiChat, &document);
    assert!(!fixed.contains("aborted") && !fixed.contains("[foxwedge]"), "{fixed}");
    assert!(fixed.find("one") < fixed.find("two"), "{fixed}");
}

#[test]
fn results_that_are_there_keep_their_order() {
    for wire in Format::ALL {
        let document = body(wire.name(), "u a[x y z] r[z x] u");
        let fixed = fixed(wire, Profile::for_format(wire), &document);
        let (z, x) = (fixed.find("result of z"), fixed.find("result of x"));
        assert!(z.is_some() && z < x, "{}: {fixed}", wire.name());
    }
}

#[test]
fn calls_that_the_model_does_not_wait_for_and_outputs_by_name_are_left_alone() {
    let documents = [
        r#"{"model":"gpt-5.4","input":[{"role":"user","content":"q"},{"type":"function_call","call_id":"c1","name":"f","arguments":"{}","async":true},{"role":"assistant","content":"Started."},{"role":"user","content":"and?"}]}"#,
        r#"{"model":"gpt-5.4","input":[{"role":"user","content":"q"},{"type":"custom_tool_call","call_id":"c1","name":"f","input":"x","async":true},{"role":"assistant","content":"Started."},{"role":"user","content":"and?"},{"type":"custom_tool_call_output","call_id":"c1","output":"1"}]}"#,
        r#"{"model":"gpt-5.4","input":[{"role":"user","content":"q"},{"type":"function_call_output","name":"notify","output":"done"},{"role":"user","content":"and?"}]}"#,
    ];
    for document in documents {
        untouched(Format::OpenaiResponses, Profile::OpenaiResponses, document);
    }
    let waits = documents[0].replace("true", "false");
    let fixed = fixed(Format::OpenaiResponses, Profile::OpenaiResponses, &waits);
    assert!(fixed.contains("[foxwedge]"), "{fixed}");
}

#[test]
fn nothing_is_said_for_the_user_before_thinking_that_goes_anyway() {
    let document = r#"[{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"}]},{"role":"user","content":"q"}]"#;
    let fixed = fixed(Format::Anthropic, Profile::Anthropic, document);
    assert_eq!(fixed, r#"[{"role":"user","content":"q"}]"#);
}

#[test]
fn a_misplaced_real_result_takes_the_place_of_a_placeholder() {
    let document = r#"[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"f","input":{}},{"type":"tool_result","tool_use_id":"x","content":"real"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"[Tool use interrupted]"}]}]"#;
    let fixed = fixed(Format::Anthropic, Profile::Anthropic, document);
    assert!(!fixed.contains("[Tool use") && !fixed.contains("[foxwedge]"), "{fixed}");
}

#[test]
fn a_call_whose_id_something_unknown_names_is_not_answered() {
    let document = r#"[{"role":"user","content":"q"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"role":"user","content":"and?"},{"type":"future_output","of":["c"]}]"#;
    assert_eq!(fixed(Format::OpenaiResponses, Profile::OpenaiResponses, document), document);
    let report = checked(Format::OpenaiResponses, Profile::OpenaiResponses, document);
    let codes: Vec<u16> = report.findings.iter().map(|finding| finding.rule.code).collect();
    assert_eq!(codes, [603]);
}

#[test]
fn a_missing_role_beside_something_unknown_stays_missing() {
    let document = r#"[{"role":"user","content":"q"},{"content":[{"type":"future_block"}]},{"role":"user","content":"and?"}]"#;
    assert_eq!(fixed(Format::Anthropic, Profile::Strict, document), document);
}
