//! Gemini accepts one object where its documentation has a list.

use super::*;

const CALL: &str = r#"{"functionCall":{"id":"a","name":"f","args":{"x":1}}}"#;
const RESULT: &str = r#"{"functionResponse":{"id":"a","name":"f","response":{"output":"ok"}}}"#;

/// The same request with lists, and with single objects.
fn both_forms() -> [Value; 2] {
    let part = |json: &str| serde_json::from_str::<Value>(json).expect("JSON");
    let function = json!({"name": "f", "parametersJsonSchema": {"type": "object"}});
    let build = |list: fn(Value) -> Value, instructions: &str| {
        json!({
            "model": "m",
            instructions: {"parts": list(json!({"text": "SYS"}))},
            "tools": list(json!({"functionDeclarations": list(function.clone())})),
            "contents": [
                {"parts": list(json!({"text": "q"}))},
                {"role": "model", "parts": list(part(CALL))},
                {"role": "user", "parts": list(part(RESULT))},
                {"role": "model", "parts": list(json!({"text": "done"}))},
                {"parts": list(json!({"text": "thanks"}))},
            ],
        })
    };
    [build(|one| json!([one]), "systemInstruction"), build(|one| one, "system_instruction")]
}

#[test]
fn single_objects_mean_the_same_as_lists_in_every_format() {
    let [lists, objects] = both_forms();
    for to in Format::ALL.into_iter().filter(|to| *to != Format::Gemini) {
        let (expected, _) = converted(&lists, Format::Gemini, to);
        let (body, done) = converted(&objects, Format::Gemini, to);
        assert_eq!(body, expected, "{to:?}");
        assert_eq!((done.losses.len(), done.remaining.len()), (0, 0), "{to:?}: {:?}", done.losses);
        let text = body.to_string();
        assert!(text.contains("SYS") && text.contains("done"), "{to:?}: {text}");
        assert!(done.source_edits.is_empty() && done.target_edits.is_empty(), "{to:?}");
    }
}

#[test]
fn one_content_may_stand_in_place_of_the_list() {
    let contents = [
        json!({"parts": {"text": "q"}}),
        json!({"role": "user", "parts": [{"text": "q"}]}),
        json!("q"),
    ];
    for one in contents {
        for instructions in
            [json!({"parts": {"text": "SYS"}}), json!({"text": "SYS"}), json!("SYS")]
        {
            let source = json!({"systemInstruction": instructions, "contents": one});
            let (body, done) = converted(&source, Format::Gemini, Format::OpenaiChat);
            let expected = json!([{"role": "system", "content": "SYS"},
                {"role": "user", "content": "q"}]);
            assert_eq!((&body["messages"], done.losses.len()), (&expected, 0), "{source}");
        }
    }
}

#[test]
fn single_objects_of_the_own_format_pass_byte_for_byte() {
    let [_, objects] = both_forms();
    let documents = [
        serde_json::to_string_pretty(&objects).expect("JSON"),
        r#"{"contents": {"parts": {"text":"q"}} , "tools":{"googleSearch":{}}}"#.to_owned(),
        r#"{"contents":{"role":"user","parts":[{"text":"q"}]}}"#.to_owned(),
        r#"{"contents":"q"}"#.to_owned(),
    ];
    for source in documents {
        let options = ConversionOptions::default();
        let done = request(&source, Format::Gemini, Format::Gemini, &options).expect("readable");
        assert_eq!(done.body, source);
        let renamed = ConversionOptions { model: Some("n".to_owned()), ..options };
        let done = request(&source, Format::Gemini, Format::Gemini, &renamed).expect("readable");
        let body: Value = serde_json::from_str(&done.body).expect("JSON");
        assert_eq!(body["model"], "n", "{}", done.body);
        assert!(done.losses.is_empty(), "{:?}", done.losses);
    }
}

#[test]
fn repairs_pair_the_calls_of_single_objects() {
    let repaired = |source: &str| {
        let options = ConversionOptions::default();
        let done = request(source, Format::Gemini, Format::Gemini, &options).expect("readable");
        assert!(done.remaining.is_empty(), "{:?}", done.remaining);
        serde_json::from_str::<Value>(&done.body).expect("JSON")
    };
    // A call without a result, in the middle of the list.
    let source = format!(
        r#"{{"contents":[{{"parts":{{"text":"q"}}}},{{"role":"model","parts":{CALL}}},
            {{"role":"user","parts":{{"text":"and?"}}}}]}}"#
    );
    let body = repaired(&source);
    let parts = body["contents"][2]["parts"].as_array().expect("a list");
    assert_eq!(parts[0]["functionResponse"]["id"], "a", "{body}");
    assert_eq!(parts[1], json!({"text": "and?"}));
    assert_eq!(body["contents"][1]["parts"]["functionCall"]["name"], "f");
    // A call that is the whole conversation.
    let body = repaired(&format!(r#"{{"contents":{{"role":"model","parts":{CALL}}}}}"#));
    let contents = body["contents"].as_array().expect("a list");
    let last = contents.last().expect("a message");
    assert_eq!(last["parts"][0]["functionResponse"]["id"], "a", "{body}");
    // A result without its call, alone.
    let body = repaired(&format!(r#"{{"contents": {{"parts":{RESULT}}} }}"#));
    assert!(body.to_string().contains("ok"), "{body}");
}

#[test]
fn media_of_a_result_may_be_a_single_object() {
    let source = json!({"contents": [
        {"parts": {"text": "q"}},
        {"role": "model", "parts": {"functionCall": {"id": "a", "name": "f", "args": {}}}},
        {"parts": {"functionResponse": {"id": "a", "name": "f", "response": {"output": "see"},
            "parts": {"inlineData": {"mimeType": "image/png", "data": "aGk="}}}}},
    ]});
    let (body, _) = converted(&source, Format::Gemini, Format::Anthropic);
    let content = &body["messages"][2]["content"][0]["content"];
    assert_eq!(content[1]["source"]["data"], "aGk=", "{body}");
}
