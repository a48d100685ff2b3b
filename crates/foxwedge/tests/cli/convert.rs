//! `foxwedge convert`: requests and responses in another provider's format.

use std::fs;

use serde_json::{Value, json};

use crate::{
    convert_documents::*,
    documents::{BROKEN, CHAT},
    sandbox::Sandbox,
};

#[test]
fn requests_are_recognised_and_sound_in_every_format() {
    let sandbox = Sandbox::new();
    for (name, content) in BROKEN {
        sandbox.write(name, content);
        for to in WIRES {
            let ran = sandbox.run(&["convert", "--to", to, name, "--output-format", "json"]);
            assert_eq!(ran.code, 0, "{name} {to}: {}", ran.all());
            let report = report(&ran);
            assert_eq!(report["kind"], "request", "{name} {to}");
            assert!(report["from"].as_str().unwrap().contains(&name[..name.len() - 5]));
            assert_eq!((&report["to"], &report["profile"]), (&json!(to), &json!(to)));
            let check = sandbox.pipe(&["check", "-", "--format", to], &ran.out);
            assert_eq!(check.code, 0, "{name} {to}: {}\n{}", ran.out, check.all());
        }
    }
}

#[test]
fn companies_and_models_name_formats_and_profiles() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    let aliases =
        [("openai", WIRES[0]), ("claude", "anthropic"), ("google", "gemini"), ("aws", "bedrock")];
    for (alias, name) in aliases {
        let convert = |to: &str| sandbox.run(&["convert", "--to", to, "chat.json"]).out;
        let check = |profile: &str| sandbox.run(&["check", "--profile", profile, "chat.json"]).out;
        assert_ne!(convert(name), "", "{name}");
        assert_eq!(convert(alias), convert(name), "{alias}");
        assert_eq!(check(alias), check(name), "{alias}");
    }
}

#[test]
fn responses_are_recognised_in_every_format_and_say_the_same() {
    let sandbox = Sandbox::new();
    for (name, word) in [("text", "ferry"), ("two-calls", "tide")] {
        for from in WIRES {
            let file = format!("{name}.{from}.json");
            sandbox.write(&file, response(name, from));
            for to in WIRES {
                let ran = sandbox.run(&["convert", "--to", to, &file, "--output-format", "json"]);
                assert_eq!(ran.code, 0, "{file} {to}: {}", ran.all());
                let told = report(&ran);
                assert_eq!(told["kind"], "response", "{file}");
                assert_eq!((&told["from"], &told["to"]), (&json!(from), &json!(to)), "{file}");
                let back = sandbox.pipe(&["convert", "--to", from, "-"], &ran.out);
                assert_eq!(back.code, 0, "{file} {to}: {}", back.all());
                assert!(back.out.contains(word), "{file} {to}: {}", back.out);
            }
        }
    }
}

#[test]
fn a_failure_that_two_formats_spell_alike_has_to_be_named() {
    let sandbox = Sandbox::with("error.json", response("error", "openai-chat"));
    let ran = sandbox.run(&["convert", "--to", "anthropic", "error.json"]);
    let expected = "error: error.json: this response may be openai-chat or openai-responses\n  \
                    help: choose one: --from openai-chat\n";
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (2, "", expected));
    for from in ["openai-chat", "openai-responses"] {
        let ran = sandbox.run(&["convert", "--from", from, "--to", "anthropic", "error.json"]);
        assert_eq!(ran.code, 0, "{}", ran.all());
        assert_eq!(value(&ran.out)["error"]["type"], "rate_limit_error");
        assert!(
            ran.err.ends_with(&format!("{from} → anthropic, the provider failed; no losses.\n"))
        );
    }
    for from in ["anthropic", "gemini", "bedrock"] {
        sandbox.write("error.json", response("error", from));
        let ran = sandbox.run(&["convert", "--to", "openai-chat", "error.json"]);
        assert_eq!(ran.code, 0, "{from}: {}", ran.all());
        assert!(ran.err.contains(&format!("1 response, {from} → ")), "{}", ran.err);
    }
}

#[test]
fn a_lossy_conversion_is_refused_by_strict() {
    let sandbox = Sandbox::with("request.json", REQUEST);
    sandbox.write("plain.json", PLAIN);
    let strict = |file| sandbox.run(&["convert", "--to", "anthropic", "--strict", file]);
    let ran = strict("request.json");
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{}", ran.all());
    assert!(ran.err.contains("left out:\n  `seed` "), "{}", ran.err);
    assert!(
        ran.err.ends_with(
            "error: request.json: 2 losses, and --strict allows none\n  help: nothing was \
             written; omit --strict to convert anyway\n"
        ),
        "{}",
        ran.err
    );
    let quiet = sandbox.run(&["convert", "--to", "anthropic", "--strict", "-q", "request.json"]);
    assert_eq!((quiet.code, quiet.err.lines().count()), (1, 2), "{}", quiet.all());
    let output = ["convert", "--to", "anthropic", "--strict", "request.json", "-o", "out.json"];
    assert_eq!(sandbox.run(&output).code, 1);
    assert_eq!(sandbox.names(), ["plain.json", "request.json"]);
    let ran = strict("plain.json");
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert!(value(&ran.out).is_array());
}

#[test]
fn ids_that_were_replaced_come_back() {
    let sandbox = Sandbox::with("request.json", REQUEST);
    let there = ["convert", "--to", "anthropic", "request.json", "--output-format", "json"];
    let there = sandbox.run(&there);
    assert_eq!(there.code, 0, "{}", there.all());
    let renamed = &report(&there)["renamed"];
    assert_eq!(renamed[0]["old"], "functions.tides:0");
    let new = renamed[0]["new"].as_str().unwrap();
    assert!(new.starts_with("toolu_") && there.out.contains(new), "{}", there.all());
    assert!(!there.out.contains("functions.tides:0"), "{}", there.out);
    sandbox.write("report.json", &there.err);
    let back = ["convert", "--to", "openai-chat", "-", "--ids", "report.json"];
    let back = sandbox.pipe(&back, &there.out);
    assert_eq!(back.code, 0, "{}", back.all());
    assert!(!back.out.contains(new), "{}", back.out);
    let messages = &value(&back.out)["messages"];
    assert_eq!(messages[2]["tool_calls"][0]["id"], "functions.tides:0");
    assert_eq!(messages[3]["tool_call_id"], "functions.tides:0");
    assert_eq!(messages[3]["content"], "high at 07:30");
    let without = sandbox.pipe(&["convert", "--to", "openai-chat", "-"], &there.out);
    assert!(without.out.contains(new), "{}", without.out);
}

#[test]
fn tools_that_were_renamed_are_called_by_their_old_names_again() {
    let name = "files.read/now";
    let request = json!({
        "model": "m",
        "messages": [{ "role": "user", "content": "go" }],
        "tools": [{ "type": "function", "function": { "name": name, "parameters": { "type": "object" } } }],
    });
    let sandbox = Sandbox::with("request.json", request.to_string());
    let flags = ["convert", "--to", "anthropic", "request.json", "--output-format", "json"];
    let there = sandbox.run(&flags);
    assert_eq!(there.code, 0, "{}", there.all());
    let report = report(&there);
    assert_eq!(report["names"][0]["old"], name, "{report}");
    let new = report["names"][0]["new"].as_str().unwrap();
    assert_eq!(value(&there.out)["tools"][0]["name"], new);
    sandbox.write("report.json", &there.err);
    let answer = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [{ "type": "tool_use", "id": "toolu_1", "name": new, "input": {} }],
        "stop_reason": "tool_use", "stop_sequence": null,
        "usage": { "input_tokens": 1, "output_tokens": 1 },
    });
    let back = ["convert", "--to", "openai-chat", "-", "--ids", "report.json"];
    let back = sandbox.pipe(&back, answer.to_string());
    assert_eq!(back.code, 0, "{}", back.all());
    let calls = &value(&back.out)["choices"][0]["message"]["tool_calls"];
    assert_eq!(calls[0]["function"]["name"], name);
    let people = sandbox.run(&["convert", "--to", "anthropic", "request.json"]);
    assert!(people.err.contains(&format!("tools renamed:\n  {name} → {new}\n")), "{}", people.err);
}

#[test]
fn tools_can_be_told_as_text() {
    let sandbox = Sandbox::with("request.json", REQUEST);
    for to in WIRES {
        let ran = sandbox.run(&["convert", "--to", to, "--tools", "text", "request.json"]);
        assert_eq!(ran.code, 0, "{to}: {}", ran.all());
        for word in
            ["tool_use", "tool_calls", "function_call\"", "functionCall", "toolUse", "toolSpec"]
        {
            assert!(!ran.out.contains(word), "{to}: {}", ran.out);
        }
        assert!(ran.out.contains("Dagebüll") && ran.out.contains("high at 07:30"), "{to}");
        assert!(ran.out.contains("Tides of a port"), "{to}: {}", ran.out);
    }
}

#[test]
fn the_model_can_be_named() {
    let sandbox = Sandbox::with("request.json", REQUEST);
    let table = [("openai-chat", "model"), ("anthropic", "model"), ("bedrock", "modelId")];
    for (to, key) in table {
        let ran = sandbox.run(&["convert", "--to", to, "--model", "other-1", "request.json"]);
        assert_eq!(value(&ran.out)[key], "other-1", "{to}: {}", ran.all());
    }
    let answer = response("text", "openai-chat");
    let ran = sandbox.pipe(&["convert", "--to", "anthropic", "--model", "other-1", "-"], answer);
    assert_eq!(value(&ran.out)["model"], "other-1", "{}", ran.all());
    let answer = stream("text", "openai-chat");
    let ran = sandbox.pipe(&["convert", "--to", "anthropic", "--model", "other-1", "-"], answer);
    assert!(ran.out.contains("\"model\":\"other-1\""), "{}", ran.all());
    let list = ["convert", "--to", "anthropic", "--model", "other-1", "-"];
    assert_eq!(value(&sandbox.pipe(&list, PLAIN).out)["model"], "other-1");
}

#[test]
fn seeds_make_invented_ids_differ() {
    let sandbox = Sandbox::with("answer.json", response("two-calls", "gemini"));
    let ids = |seed: &[&str]| {
        let arguments = [&["convert", "--to", "anthropic", "answer.json"], seed].concat();
        let ran = sandbox.run(&arguments);
        assert_eq!(ran.code, 0, "{}", ran.all());
        let reply = value(&ran.out);
        let ids = reply["content"].as_array().unwrap().iter().map(|block| block["id"].clone());
        ids.filter(|id| !id.is_null()).collect::<Vec<Value>>()
    };
    let plain = ids(&[]);
    assert_eq!(plain.len(), 2);
    assert_eq!(ids(&[]), plain);
    let seeded = ids(&["--seed", "a"]);
    assert!(plain.iter().all(|id| !seeded.contains(id)), "{plain:?} {seeded:?}");
    assert_ne!(ids(&["--seed", "b"]), seeded);
}

#[test]
fn a_stricter_profile_is_obeyed() {
    let sandbox = Sandbox::with("request.json", REQUEST);
    for (to, profile) in
        [("openai-chat", "mistral"), ("openai-chat", "deepseek"), ("anthropic", "strict")]
    {
        let flags = ["convert", "--to", to, "--profile", profile, "request.json"];
        let ran = sandbox.run(&flags);
        assert_eq!(ran.code, 0, "{profile}: {}", ran.all());
        assert!(ran.err.contains(&format!("valid for {profile}")), "{}", ran.err);
        let check = sandbox.pipe(&["check", "-", "--profile", profile], &ran.out);
        assert_eq!(check.code, 0, "{profile}: {}\n{}", ran.out, check.all());
    }
}

#[test]
fn policies_decide_as_elsewhere() {
    let sandbox = Sandbox::with("request.json", REQUEST);
    let of =
        |policy| sandbox.run(&["convert", "--to", "anthropic", "--policy", policy, "request.json"]);
    assert!(of("answer").out.contains("[foxwedge] "));
    assert!(
        !of("drop-call").out.contains("\"name\":\"wind\",\"input\""),
        "{}",
        of("drop-call").out
    );
    assert!(!of("drop-turn").out.contains("high at 07:30"));
}

#[test]
fn pretty_says_the_same() {
    let sandbox = Sandbox::with("request.json", REQUEST);
    sandbox.write("answer.json", response("text", "gemini"));
    for file in ["request.json", "answer.json"] {
        let plain = sandbox.run(&["convert", "--to", "anthropic", file]).out;
        let pretty = sandbox.run(&["convert", "--to", "anthropic", "--pretty", file]).out;
        assert!(pretty.lines().count() > 10 && plain.lines().count() == 1, "{file}: {pretty}");
        assert_eq!(value(&plain), value(&pretty));
    }
}

#[test]
fn stdin_is_read_where_nothing_is_named() {
    let sandbox = Sandbox::with("plain.json", PLAIN);
    let named = sandbox.run(&["convert", "--to", "gemini", "plain.json"]);
    assert_eq!(named.code, 0, "{}", named.all());
    assert!(value(&named.out).is_array());
    for arguments in [&["convert", "--to", "gemini", "-"][..], &["convert", "--to", "gemini"]] {
        let ran = sandbox.pipe(arguments, PLAIN);
        assert_eq!((ran.code, ran.out), (0, named.out.clone()));
    }
}

#[test]
fn a_result_goes_into_a_file_of_its_own() {
    let sandbox = Sandbox::with("plain.json", PLAIN);
    let out = sandbox.run(&["convert", "--to", "gemini", "plain.json"]).out;
    for before in [None, Some("old")] {
        if let Some(old) = before {
            sandbox.write("gemini.json", old);
        }
        let ran = sandbox.run(&["convert", "--to", "gemini", "plain.json", "-o", "gemini.json"]);
        assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.all());
        assert!(ran.err.ends_with("no losses.\nwritten gemini.json\n"), "{}", ran.err);
        assert_eq!(sandbox.read("gemini.json"), out);
    }
    assert_eq!(sandbox.names(), ["gemini.json", "plain.json"]);
    let ran = sandbox.run(&["convert", "--to", "gemini", "plain.json", "-o", "nowhere/x.json"]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert!(ran.err.contains("`nowhere/x.json` cannot be written"), "{}", ran.err);
}

#[cfg(unix)]
#[test]
fn a_result_is_never_written_over_its_input() {
    let sandbox = Sandbox::with("plain.json", PLAIN);
    std::os::unix::fs::symlink("plain.json", sandbox.path("soft.json")).unwrap();
    fs::hard_link(sandbox.path("plain.json"), sandbox.path("hard.json")).unwrap();
    for output in ["plain.json", "./plain.json", "soft.json", "hard.json"] {
        let ran = sandbox.run(&["convert", "--to", "gemini", "plain.json", "-o", output]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{output}: {}", ran.all());
        assert!(ran.err.contains("would be written over the input"), "{}", ran.err);
        let file = fs::File::open(sandbox.path("plain.json")).unwrap();
        let ran = sandbox.run_from(file, &["convert", "--to", "gemini", "-", "-o", output]);
        assert_eq!(ran.code, 2, "{output}: {}", ran.all());
    }
    assert_eq!(sandbox.read("plain.json"), PLAIN);
}

#[test]
fn what_crossed_without_a_loss_comes_back_as_it_was() {
    let sandbox = Sandbox::with("plain.json", PLAIN);
    for wire in WIRES {
        let there = sandbox.run(&["convert", "--to", wire, "plain.json", "--strict"]);
        assert_eq!(there.code, 0, "{wire}: {}", there.all());
        let back = ["convert", "--from", wire, "--to", "openai-chat", "-", "--strict"];
        let back = sandbox.pipe(&back, &there.out);
        assert_eq!(back.code, 0, "{wire}: {}", back.all());
        let mut expected = value(PLAIN);
        let mut messages = value(&back.out);
        // Whether it says that it says nothing is all the same.
        for message in [&mut expected, &mut messages] {
            message[1].as_object_mut().unwrap().remove("content");
        }
        assert_eq!(messages, expected, "{wire}");
    }
}
