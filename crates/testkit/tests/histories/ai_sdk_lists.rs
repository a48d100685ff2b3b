//! The laws of repair for message lists of the AI SDK: valid lists are made from generated
//! histories, damaged as applications damage them, and repaired. A second, naive reading of what
//! the SDK requires is the judge.

use foxwedge_core::{CheckOptions, OrphanPolicy, Policy, UnansweredPolicy, check};
use foxwedge_formats::{AiSdkList, outline_options};
use foxwedge_sessions::{SessionAgent, detect_agent, read, readable_text};
use foxwedge_testkit::{Random, damage_list, message_list, move_list_results, spell_as_version_4};
use serde_json::{Value, json};

/// Lists of each kind.
const LISTS: u64 = 1500;

/// What repairs may do in the list of a seed. Half of them may lose nothing.
fn policy(seed: u64) -> Policy {
    let unanswered = match seed % 6 {
        4 => UnansweredPolicy::DropTurn,
        5 => UnansweredPolicy::DropCall,
        _ => UnansweredPolicy::Answer,
    };
    let orphans = if seed % 6 == 3 { OrphanPolicy::Drop } else { OrphanPolicy::Quote };
    Policy { unanswered, orphans, ..Policy::default() }
}

fn options(agent: SessionAgent, policy: Policy) -> CheckOptions {
    let mut options = CheckOptions { policy, ..CheckOptions::for_profile(agent.profile()) };
    agent.restrict_rules(&mut options);
    options
}

/// The repaired list, and the number of findings before and after.
fn repaired(agent: SessionAgent, policy: Policy, text: &str) -> (String, usize, usize) {
    let readable = readable_text(text.as_bytes()).expect("small");
    let options = options(agent, policy);
    let session = read(&readable, agent, outline_options(options.profile)).expect(text);
    let before = check(session.draft(), &options).findings.len();
    let (file, _) = session.fix(&options);
    let mut bytes = Vec::new();
    file.write_to(&mut bytes).expect("memory");
    let fixed = String::from_utf8(bytes).expect("text");
    let again = readable_text(fixed.as_bytes()).expect("small");
    let session = read(&again, agent, outline_options(options.profile)).expect(&fixed);
    let after = check(session.draft(), &options).findings.len();
    (fixed.clone(), before, after)
}

/// One message per line, so that lines can be compared.
fn written(list: &[Value]) -> String {
    let lines: Vec<String> = list.iter().map(Value::to_string).collect();
    format!("[\n{}\n]\n", lines.join(",\n"))
}

/// What happens in a list, in order.
#[derive(Debug)]
enum ListEvent {
    Call(String),
    Result(String),
    /// The user or instructions.
    Input,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The events of a list, as the SDK reads them.
fn events(list: &[Value]) -> Vec<ListEvent> {
    let mut events = Vec::new();
    for message in list {
        let parts = message["parts"].as_array().or(message["content"].as_array());
        let parts = parts.map_or(&[][..], Vec::as_slice);
        if message["role"] == "user" || message["role"] == "system" {
            events.push(ListEvent::Input);
            continue;
        }
        for part in parts.iter().filter(|part| part["providerExecuted"] != true) {
            let invocation = &part["toolInvocation"];
            if invocation.is_object() {
                let id = text(&invocation["toolCallId"]);
                events.push(ListEvent::Call(id.clone()));
                if invocation.get("result").is_some() {
                    events.push(ListEvent::Result(id));
                }
                continue;
            }
            let id = text(&part["toolCallId"]);
            match (part["type"].as_str().unwrap_or_default(), part["state"].as_str()) {
                ("tool-call", _) => events.push(ListEvent::Call(id)),
                ("tool-result", _) if message["role"] == "tool" => {
                    events.push(ListEvent::Result(id));
                }
                (_, Some(state)) if !id.is_empty() => {
                    events.push(ListEvent::Call(id.clone()));
                    if state.starts_with("output-") {
                        events.push(ListEvent::Result(id));
                    }
                }
                _ => {}
            }
        }
    }
    events
}

/// Why the SDK, or a provider behind it, refuses a list. Calls may wait for an approval at its end.
fn refused(list: &[Value]) -> Option<String> {
    let mut open: Vec<String> = Vec::new();
    for event in events(list) {
        match event {
            ListEvent::Call(id) => open.push(id),
            ListEvent::Result(id) => match open.iter().position(|other| *other == id) {
                Some(at) => drop(open.remove(at)),
                None => return Some(format!("result {id} has no open call")),
            },
            ListEvent::Input if !open.is_empty() => return Some(format!("{open:?} are open")),
            ListEvent::Input => {}
        }
    }
    let reply = list.iter().rev().find(|message| message["role"] == "assistant");
    let parts = reply.and_then(|reply| reply["parts"].as_array().or(reply["content"].as_array()));
    let waits = |id: &String| {
        parts.into_iter().flatten().any(|part| {
            let request = part["type"] == "tool-approval-request";
            let state = part["state"].as_str().is_some_and(|it| it.starts_with("approval-"));
            part["toolCallId"] == id.as_str() && (request || state)
        })
    };
    let open: Vec<&String> = open.iter().filter(|id| !waits(id)).collect();
    (!open.is_empty()).then(|| format!("{open:?} are open at the end"))
}

/// All texts and outputs of a list.
fn contents(list: &[Value]) -> Vec<String> {
    fn collect(value: &Value, all: &mut Vec<String>) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(key, value)| match value {
                Value::String(text)
                    if matches!(&**key, "text" | "value" | "output" | "errorText" | "result") =>
                {
                    all.push(text.clone());
                }
                value => collect(value, all),
            }),
            Value::Array(list) => list.iter().for_each(|value| collect(value, all)),
            _ => {}
        }
    }
    let mut all = Vec::new();
    list.iter().for_each(|message| collect(message, &mut all));
    all
}

/// Every law, on one list and on what damage makes of it.
fn judge(agent: SessionAgent, kind: AiSdkList, seed: u64) -> (usize, usize) {
    let policy = policy(seed);
    let mut random = Random::new(seed);
    let mut list = message_list(&mut random, kind);
    let valid = written(&list);
    assert_eq!(refused(&list), None, "the converter wrote {valid}");
    assert_eq!(repaired(agent, policy, &valid), (valid.clone(), 0, 0), "seed {seed}: {valid}");
    for _ in 0..1 + random.below(3) {
        if !list.is_empty() {
            damage_list(&mut random, &mut list);
        }
    }
    judge_damaged(agent, policy, seed, &list)
}

/// Every law on a list that may be damaged.
fn judge_damaged(agent: SessionAgent, policy: Policy, seed: u64, list: &[Value]) -> (usize, usize) {
    let text = written(list);
    let (fixed, before, after) = repaired(agent, policy, &text);
    let context = format!("seed {seed}\nbefore {text}\nafter {fixed}");
    let parsed: Vec<Value> = serde_json::from_str(&fixed).expect(&context);
    assert_eq!(after, 0, "findings are left: {context}");
    assert_eq!(refused(&parsed), None, "{context}");
    assert_eq!(repaired(agent, policy, &fixed).0, fixed, "not idempotent: {context}");
    assert_eq!(before > 0, refused(list).is_some() || text != fixed, "{context}");
    if policy != Policy::default() {
        return (usize::from(before > 0), usize::from(before == 0));
    }
    for content in contents(list) {
        let spelled = Value::String(content).to_string();
        let inside = spelled.trim_matches('"');
        assert!(fixed.contains(inside), "{inside} is lost: {context}");
    }
    // What no repair concerns keeps its bytes: what the user said, and what needs no result.
    for (message, line) in list.iter().zip(list.iter().map(Value::to_string)) {
        let parts = message["parts"].as_array().or(message["content"].as_array());
        let is_open = |part: &Value| match message["parts"].is_array() {
            true => part["toolCallId"].is_string() || part["toolInvocation"].is_object(),
            false => part["type"] == "tool-result",
        };
        let has_calls = parts.is_some_and(|parts| parts.iter().any(is_open));
        let untouched = match message["role"].as_str().unwrap_or_default() {
            "user" | "system" => true,
            "assistant" => !has_calls,
            _ => false,
        };
        if untouched {
            assert!(fixed.contains(&line), "{line} changed: {context}");
        }
    }
    (usize::from(before > 0), usize::from(before == 0))
}

fn hold(agent: SessionAgent, kind: AiSdkList) {
    let (mut broken, mut sound) = (0, 0);
    for seed in 1..=LISTS {
        let (one, other) = judge(agent, kind, seed);
        broken += one;
        sound += other;
    }
    assert!(broken > 50 && sound > 50, "{broken} broken, {sound} sound");
}

#[test]
fn the_laws_hold_for_lists_of_ui_messages() {
    hold(SessionAgent::AiSdkUi, AiSdkList::Ui);
}

#[test]
fn the_laws_hold_for_lists_of_model_messages() {
    hold(SessionAgent::AiSdkModel, AiSdkList::Model);
}

#[test]
fn the_laws_hold_for_lists_of_version_4() {
    let (mut broken, mut sound) = (0, 0);
    for seed in 1..=LISTS {
        let mut random = Random::new(seed);
        let mut list = message_list(&mut random, AiSdkList::Ui);
        for _ in 0..random.below(4) {
            if !list.is_empty() {
                damage_list(&mut random, &mut list);
            }
        }
        spell_as_version_4(&mut list);
        let (one, other) = judge_damaged(SessionAgent::AiSdkUi, policy(seed), seed, &list);
        broken += one;
        sound += other;
    }
    assert!(broken > 50 && sound > 50, "{broken} broken, {sound} sound");
}

#[test]
fn the_laws_hold_for_results_in_the_message_of_their_call() {
    let kinds =
        [(SessionAgent::AiSdkUi, AiSdkList::Ui), (SessionAgent::AiSdkModel, AiSdkList::Model)];
    let mut broken = 0;
    for seed in 1..=LISTS {
        let (agent, kind) = kinds[usize::from(seed % 3 > 0)];
        let mut random = Random::new(seed);
        let mut list = message_list(&mut random, kind);
        move_list_results(&mut random, &mut list);
        if random.chance(30) && !list.is_empty() {
            damage_list(&mut random, &mut list);
        }
        broken += judge_damaged(agent, policy(seed), seed, &list).0;
    }
    assert!(broken > 50, "{broken}");
}

#[test]
fn lists_are_recognized_and_other_documents_are_not() {
    use foxwedge_sessions::AgentDetection::{Known, Unknown};
    let (ui, model) = (Known(SessionAgent::AiSdkUi), Known(SessionAgent::AiSdkModel));
    let call = r#"{"type":"tool-call","toolCallId":"c","toolName":"f","input":{}}"#;
    let table = [
        (r#"[{"id":"1","role":"user","parts":[{"type":"text","text":"hi"}]}]"#.to_owned(), &ui),
        (
            format!(
                r#"[{{"role":"user","content":"hi"}},{{"role":"assistant","content":[{call}]}}]"#
            ),
            &model,
        ),
        (format!(r#"{{"messages":[{{"role":"assistant","content":[{call}]}}],"x":1}}"#), &model),
        // Torn, but recognizable.
        (format!(r#"[{{"role":"assistant","content":[{call}]}},{{"role":"us"#), &model),
        // Gemini contents, chat messages, Anthropic messages, and two documents.
        (r#"[{"role":"user","parts":[{"text":"hi"}]}]"#.to_owned(), &Unknown),
        (r#"[{"role":"user","content":"hi"}]"#.to_owned(), &Unknown),
        (r#"[{"role":"user","content":[{"type":"text","text":"hi"}]}]"#.to_owned(), &Unknown),
        (format!("[{{\"role\":\"assistant\",\"content\":[{call}]}}]\n[]"), &Unknown),
    ];
    for (text, expected) in table {
        assert_eq!(&detect_agent(&text), expected, "{text}");
    }
}

#[test]
fn parts_are_written_in_the_format_of_a_provider() {
    let signed = json!({"anthropic": {"signature": "c2ln"}});
    let result = |id: &str, output: Value| json!({"type": "tool-result", "toolCallId": id, "toolName": "f", "output": output});
    let call = |id: &str| json!({"type": "tool-call", "toolCallId": id, "toolName": "f", "input": {"a": 1}});
    let model = json!([
        {"role": "user", "content": [
            {"type": "file", "mediaType": "image/png", "data": {"type": "data", "data": "aGk="}},
            {"type": "image", "image": "https://a.example/b.png"},
            {"type": "file", "mediaType": "audio/wav", "data": "aGk="},
        ]},
        {"role": "assistant", "content": [
            {"type": "reasoning", "text": "hm", "providerOptions": signed},
            {"type": "reasoning", "text": "unsigned"},
            call("1"), call("2"), call("3"), call("4"),
        ]},
        {"role": "tool", "content": [
            result("1", json!({"type": "json", "value": [1]})),
            result("2", json!({"type": "error-text", "value": "no"})),
            result("3", json!({"type": "content", "value": [
                {"type": "text", "text": "see"},
                {"type": "image-data", "data": "aGk=", "mediaType": "image/png"},
            ]})),
            result("4", json!({"type": "execution-denied", "reason": "never"})),
        ]},
    ]);
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}});
    let tool_use = |id: &str| json!({"type": "tool_use", "id": id, "name": "f", "input": {"a": 1}});
    let expected = json!([
        {"role": "user", "content": [
            image,
            {"type": "image", "source": {"type": "url", "url": "https://a.example/b.png"}},
        ]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            tool_use("1"), tool_use("2"), tool_use("3"), tool_use("4"),
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "1", "content": "[1]"},
            {"type": "tool_result", "tool_use_id": "2", "content": "no", "is_error": true},
            {"type": "tool_result", "tool_use_id": "3", "content": [{"type": "text", "text": "see"}, image]},
            {"type": "tool_result", "tool_use_id": "4", "content": "never", "is_error": true},
        ]},
    ]);
    let text = model.to_string();
    let readable = readable_text(text.as_bytes()).expect("small");
    let agent = SessionAgent::AiSdkModel;
    let session = read(&readable, agent, outline_options(agent.profile())).expect("a list");
    let history: Value = serde_json::from_str(&session.history()).expect("JSON");
    assert_eq!(history, expected);
    let lost = session.history_losses();
    let lost: Vec<&str> = lost.iter().map(|loss| loss.kind.name()).collect();
    assert_eq!(lost, ["media", "reasoning"]);
}

#[test]
fn media_of_a_quoted_result_stays_media() {
    let quoted = |element: Value| {
        let output =
            json!({"type": "content", "value": [{"type": "text", "text": "see"}, element]});
        let list = [
            json!({"role": "user", "content": "q"}),
            json!({"role": "tool", "content": [
                {"type": "tool-result", "toolCallId": "1", "toolName": "f", "output": output}]}),
            json!({"role": "user", "content": "n"}),
        ];
        let (fixed, ..) = repaired(SessionAgent::AiSdkModel, Policy::default(), &written(&list));
        let list: Value = serde_json::from_str(&fixed).expect(&fixed);
        assert_eq!(list[1]["role"], "user", "{fixed}");
        assert_eq!(list[1]["content"][0]["type"], "text", "{fixed}");
        list[1]["content"][1].clone()
    };
    let file = json!({"type": "file", "data": "aGk=", "mediaType": "image/png"});
    for kind in ["media", "image-data", "file-data", "file"] {
        let element = json!({"type": kind, "data": "aGk=", "mediaType": "image/png"});
        assert_eq!(quoted(element), file, "{kind}");
    }
    let by_url = json!({"type": "image-url", "url": "https://a.example/b.png"});
    assert_eq!(quoted(by_url), json!({"type": "image", "image": "https://a.example/b.png"}));
    // No user message can hold it.
    assert_eq!(quoted(json!({"type": "image-file-id", "fileId": "f"})), Value::Null);
}

#[test]
fn names_of_files_are_kept_and_metadata_is_listed_as_lost() {
    let options = json!({"anthropic": {"cacheControl": {"type": "ephemeral"}}});
    let file = json!({"type": "file", "mediaType": "application/pdf", "filename": "a.pdf", "url": "data:application/pdf;base64,aGk="});
    let data = json!({"type": "file-data", "data": "aGk=", "mediaType": "application/pdf", "filename": "b.pdf"});
    let result = json!({"type": "tool-result", "toolCallId": "1", "toolName": "f", "providerOptions": options,
        "output": {"type": "content", "value": [data]}});
    let call = json!({"type": "tool-call", "toolCallId": "1", "toolName": "f", "input": {}});
    let tool = json!({"type": "tool-f", "toolCallId": "1", "state": "output-available", "input": {}, "output": 1});
    let table = [
        (
            SessionAgent::AiSdkUi,
            json!([
                {"id": "u", "role": "user", "metadata": {"x": 1}, "parts": [file]},
                {"id": "a", "role": "assistant", "metadata": {"x": 1}, "parts": [tool]},
            ]),
            "a.pdf",
            vec!["the field `metadata` of a message is not supported in this format"; 2],
        ),
        (
            SessionAgent::AiSdkModel,
            json!([
                {"role": "assistant", "content": [call]},
                {"role": "tool", "content": [result]},
            ]),
            "b.pdf",
            vec!["the field `providerOptions` is lost"],
        ),
    ];
    for (agent, list, name, expected) in table {
        let text = list.to_string();
        let readable = readable_text(text.as_bytes()).expect("small");
        let session = read(&readable, agent, outline_options(agent.profile())).expect("a list");
        let title = format!("\"title\":\"{name}\"");
        assert!(session.history().contains(&title), "{}", session.history());
        let lost = session.history_losses();
        let lost: Vec<&str> = lost.iter().map(|loss| loss.note.as_str()).collect();
        assert_eq!(lost, expected, "{text}");
    }
}

#[test]
fn lists_that_were_cut_off_are_closed_and_keep_every_whole_message() {
    let kinds =
        [(SessionAgent::AiSdkUi, AiSdkList::Ui), (SessionAgent::AiSdkModel, AiSdkList::Model)];
    let mut closed = 0;
    for seed in 1..=LISTS / 3 {
        let (agent, kind) = kinds[usize::from(seed % 2 == 0)];
        let mut random = Random::new(seed);
        let list = message_list(&mut random, kind);
        let whole = match random.chance(50) {
            true => format!("{{\"id\":\"chat\",\"messages\":{}", written(&list)),
            false => written(&list),
        };
        let mut cut = random.below(whole.len());
        while !whole.is_char_boundary(cut) {
            cut -= 1;
        }
        let text = &whole[..cut];
        let readable = readable_text(text.as_bytes()).expect("small");
        if read(&readable, agent, outline_options(agent.profile())).is_err() {
            // Nothing of the list is there.
            assert!(!text.contains("[\n"), "seed {seed}: {text}");
            continue;
        }
        let (fixed, _, after) = repaired(agent, Policy::default(), text);
        let survivors = list.iter().map(Value::to_string);
        let survivors: Vec<String> =
            survivors.filter(|line| text.contains(line.as_str())).collect();
        if survivors.is_empty() {
            continue;
        }
        assert_eq!(after, 0, "seed {seed}: {text}\n{fixed}");
        let parsed: Value = serde_json::from_str(&fixed).expect(&fixed);
        let parsed = parsed.get("messages").unwrap_or(&parsed).as_array().expect(&fixed).clone();
        assert_eq!(refused(&parsed), None, "seed {seed}: {fixed}");
        assert!(parsed.len() >= survivors.len(), "seed {seed}: {fixed}");
        assert_eq!(repaired(agent, Policy::default(), &fixed).0, fixed, "seed {seed}");
        closed += 1;
    }
    assert!(closed > 100, "{closed}");
}

#[test]
fn input_that_the_sdk_could_not_read_is_converted() {
    let tool = |raw: Value| json!({"type": "tool-f", "toolCallId": "1", "state": "output-error", "rawInput": raw, "errorText": "no"});
    for (raw, input, repaired) in [
        (json!({"a": 1}), json!({"a": 1}), false),
        (json!(r#"{"a":1}"#), json!({"a": 1}), false),
        (json!(r#"{"a":[1"#), json!({"a": [1]}), true),
        (json!("a"), json!({"value": "a"}), true),
        (json!(7), json!({"value": 7}), true),
    ] {
        let list = json!([
            {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "q"}]},
            {"id": "m2", "role": "assistant", "parts": [tool(raw)]},
        ]);
        let text = list.to_string();
        let readable = readable_text(text.as_bytes()).expect("small");
        let agent = SessionAgent::AiSdkUi;
        let session = read(&readable, agent, outline_options(agent.profile())).expect("a list");
        let history: Value = serde_json::from_str(&session.history()).expect("JSON");
        assert_eq!(history[1]["content"][0]["input"], input, "{history}");
        let losses: Vec<String> =
            session.history_losses().into_iter().map(|loss| loss.note).collect();
        let note = "the arguments of `f` are not a JSON object and are repaired";
        assert_eq!(losses, if repaired { vec![note] } else { vec![] }, "{text}");
    }
}
