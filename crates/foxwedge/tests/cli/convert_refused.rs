//! What cannot be converted: with its place, and with what to do about it.

use serde_json::Value;

use crate::{convert_documents::*, sandbox::Sandbox, sessions_files::Script};

#[test]
fn unreadable_inputs_name_their_place() {
    let sandbox = Sandbox::new();
    let chunk = r#"data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"hi"}}]}"#;
    let two = format!("{}{}", PLAIN, PLAIN);
    let table: [(&[&str], &str, &str, &str); 12] = [
        (&[], "{\"messages\":[\n", "<stdin>:2:1: ", "cut off"),
        (&[], "hello", "<stdin>:1:1: not JSON", ""),
        (&[], "", "<stdin>: the input is empty", ""),
        (&[], "{\"a\":1}", "<stdin>: no conversation", "--from"),
        (
            &[],
            "{\"messages\":[{\"role\":\"user\",\n\"content\":5}]}",
            "<stdin>:2:11: messages[0]",
            "",
        ),
        (
            &[],
            &two,
            "there are 2 conversations in it",
            "sed -n 1p FILE | foxwedge convert --to gemini -",
        ),
        (
            &["--kind", "response", "--from", "anthropic"],
            "{\n\"a\": }",
            "<stdin>:2:",
            "use --from for another",
        ),
        (&["--kind", "response"], PLAIN, "this is not a known response", "remove --kind"),
        (&["--kind", "stream"], PLAIN, "this is not a known stream", "remove --kind"),
        (
            &[],
            "event: hello\ndata: {}\n\n",
            "the format of this stream is not known",
            "--from openai-chat",
        ),
        (
            &["--from", "codex", "--kind", "stream"],
            "",
            "a session of codex is not a stream",
            "remove --kind",
        ),
        (&["--from", "codex"], PLAIN, "it contains no codex records", "set it with --from"),
    ];
    for (flags, input, message, help) in table {
        let arguments = [&["convert", "--to", "gemini", "-"], flags].concat();
        let ran = sandbox.pipe(&arguments, input);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{input}: {}", ran.all());
        assert!(
            ran.err.starts_with("error: ") && ran.err.contains(message),
            "{input}: {}",
            ran.err
        );
        let advice = ran.err.lines().find(|line| line.trim_start().starts_with("help: "));
        assert!(help.is_empty() || advice.is_some_and(|line| line.contains(help)), "{}", ran.err);
    }
    let ran =
        sandbox.pipe(&["convert", "--to", "gemini", "-"], format!("{chunk}\n\ndata: {{oops\n\n"));
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert!(ran.err.contains("error: <stdin>: byte 98: "), "{}", ran.err);
    assert!(
        ran.err
            .contains("  help: it was read as a stream in the openai-chat format; use --from for")
    );
    assert!(ran.out.contains("hi"), "what came before the trouble is out: {}", ran.out);
    sandbox.write("bad.json", b"{\"choices\":[{\"message\":{\"content\":\"\xff\"}}]}");
    let ran = sandbox.run(&[
        "convert",
        "--to",
        "gemini",
        "bad.json",
        "--kind",
        "response",
        "--from",
        "openai-chat",
    ]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert!(ran.err.contains("bad.json:1:36: not UTF-8"), "{}", ran.err);
}

#[test]
fn flags_that_would_do_nothing_are_refused() {
    let sandbox = Sandbox::with("request.json", PLAIN);
    sandbox.write("answer.json", response("text", "gemini"));
    sandbox.write("answer.sse", stream("text", "gemini"));
    let table: [(&str, &[&str]); 7] = [
        ("request.json", &["--seed", "x"]),
        ("answer.json", &["--tools", "text"]),
        ("answer.json", &["--profile", "strict"]),
        ("answer.json", &["--policy", "drop-turn"]),
        ("answer.json", &["--tail", "pending"]),
        ("answer.sse", &["--orphans", "drop"]),
        ("answer.sse", &["--pretty"]),
    ];
    for (file, flags) in table {
        let arguments = [&["convert", "--to", "anthropic", file], flags].concat();
        let ran = sandbox.run(&arguments);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{flags:?}: {}", ran.all());
        assert!(ran.err.contains(&format!("error: {}", flags[0])), "{}", ran.err);
        assert!(ran.err.contains(" has no effect on a ") && ran.err.contains("  help: omit "));
    }
    let ran = sandbox.run(&["convert", "--to", "anthropic", "answer.json", "-o", "x", "--dry-run"]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert_eq!(sandbox.run(&["convert", "request.json"]).code, 2);
    assert_eq!(sandbox.run(&["convert", "--to", "codex", "request.json"]).code, 2);
}

#[test]
fn a_report_that_is_none_is_refused_before_anything_is_read() {
    let sandbox = Sandbox::with("report.json", "{}");
    let ran = sandbox.pipe(&["convert", "--to", "gemini", "-", "--ids", "report.json"], PLAIN);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.all());
    assert!(ran.err.contains("report.json: not a conversion report"), "{}", ran.err);
    assert!(ran.err.contains("--output-format json"), "{}", ran.err);
    let ran = sandbox.pipe(&["convert", "--to", "gemini", "-", "--ids", "missing.json"], PLAIN);
    assert!(ran.err.contains("missing.json: cannot be read"), "{}", ran.err);
}

#[test]
fn programs_are_told_why_there_is_no_result() {
    let sandbox = Sandbox::new();
    let ran = sandbox.pipe(&["convert", "--to", "gemini", "-", "--output-format", "json"], "{");
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    let document = report(&ran);
    assert_eq!((&document["version"], &document["path"]), (&1.into(), &"<stdin>".into()));
    assert!(document["error"]["message"].as_str().unwrap().starts_with("<stdin>:1:"), "{document}");
    sandbox.write("answer.json", response("error", "openai-chat"));
    let flags =
        ["convert", "--to", "gemini", "answer.json", "--output-format", "json", "--dry-run"];
    let ran = sandbox.run(&flags);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(document["error"]["help"], "choose one: --from openai-chat");
}

#[test]
fn a_session_without_words_is_refused() {
    let line =
        r#"{"type":"system","uuid":"s1","parentUuid":null,"sessionId":"x","version":"1.0.99"}"#;
    let sandbox = Sandbox::with("session.jsonl", Script::new().line(line).text());
    let ran = sandbox.run(&["convert", "--to", "gemini", "session.jsonl"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.all());
    assert!(ran.err.contains("the session has no messages"), "{}", ran.err);
}
