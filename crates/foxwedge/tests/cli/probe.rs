//! `foxwedge probe` against the scripted judges, which answer as providers do, and a gateway.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Stdio},
};

use serde_json::Value;

use crate::{sandbox::Sandbox, serve::Gateway};

/// The scripted model as a provider.
struct Provider {
    child: Child,
    address: String,
}

impl Provider {
    fn start(sandbox: &Sandbox) -> Provider {
        let mut command = sandbox.command(&["scripted", "--listen", "127.0.0.1:0"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Provider { child, address: address.trim().to_owned() }
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The verdicts that were written, as vector and outcome.
fn verdicts(sandbox: &Sandbox, file: &str) -> Vec<(String, String)> {
    let file: Value = serde_json::from_str(&sandbox.read(file)).unwrap();
    let verdicts = file["verdicts"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    verdicts.map(|verdict| (text(&verdict["id"]), text(&verdict["outcome"]))).collect()
}

#[test]
fn nothing_is_sent_without_being_asked_for_and_the_cost_is_printed_first() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["probe", "--provider", "anthropic", "--level", "A"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert!(ran.out.contains("requests, at most") && ran.out.contains("limit $0.1"), "{}", ran.out);
    assert!(ran.out.contains("FW101"), "{}", ran.out);
    assert!(ran.err.contains("nothing was sent"), "{}", ran.err);
    assert_eq!(sandbox.names(), Vec::<String>::new());
}

#[test]
fn every_provider_of_the_judges_is_asked_and_its_verdicts_become_evidence() {
    let sandbox = Sandbox::new();
    let provider = Provider::start(&sandbox);
    let table = [
        ("openai-chat", "/v1", "scripted", ""),
        // The judges do not know calls that the model does not wait for.
        ("openai-responses", "/v1", "scripted", "V0426 is Valid, but openai-responses refused it"),
        ("anthropic", "", "scripted", ""),
        ("gemini", "", "scripted", ""),
        ("mistral", "/v1", "scripted-mistral", ""),
        ("deepseek", "/v1", "scripted-deepseek", ""),
    ];
    for (name, path, model, contradiction) in table {
        let code = i32::from(!contradiction.is_empty());
        let url = format!("{}{path}", provider.address);
        let ran = sandbox.run(&[
            "probe",
            "--provider",
            name,
            "--base-url",
            &url,
            "--model",
            model,
            "--level",
            "A",
            "--send",
            "--output",
            "verdicts.json",
        ]);
        assert_eq!(ran.code, code, "{name}: {}", ran.all());
        assert!(ran.err.contains(contradiction), "{name}: {}", ran.err);
        let found = verdicts(&sandbox, "verdicts.json");
        for outcome in ["accepted", "refused"] {
            assert!(found.iter().any(|(_, it)| it == outcome), "{name} {outcome}: {found:?}");
        }
        sandbox.write("evidence.tsv", "# head\n");
        let ran = sandbox.run(&["probe", "merge", "verdicts.json", "--into", "evidence.tsv"]);
        assert_eq!(ran.code, code, "{name}: {}", ran.all());
        let evidence = sandbox.read("evidence.tsv");
        let lines: Vec<&str> = evidence.lines().skip(1).collect();
        assert_eq!(lines.len(), found.len(), "{name}: {evidence}");
        assert!(lines.iter().all(|line| line.contains("\trecorded exchange\t")), "{evidence}");
    }
}

#[test]
fn a_key_is_in_no_file_and_no_output() {
    let sandbox = Sandbox::new();
    let provider = Provider::start(&sandbox);
    let url = format!("{}/v1", provider.address);
    let mut command = sandbox.command(&[
        "probe",
        "--provider",
        "openai-chat",
        "--base-url",
        &url,
        "--model",
        "scripted",
        "--only",
        "V0547,V0559",
        "--send",
        "--output",
        "verdicts.json",
    ]);
    let output = command.env("OPENAI_API_KEY", "sk-canary-0123456789").output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let all = [output.stdout, output.stderr, sandbox.read("verdicts.json").into_bytes()].concat();
    assert!(!String::from_utf8_lossy(&all).contains("canary"));
    assert_eq!(verdicts(&sandbox, "verdicts.json").len(), 2);
}

#[test]
fn a_gateway_repairs_what_it_is_sent_and_its_verdicts_are_no_evidence() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &["--demo", "--no-token"]);
    let url = format!("http://{}/v1", gateway.address);
    let ran = sandbox.run(&[
        "probe",
        "--provider",
        "openai-chat",
        "--base-url",
        &url,
        "--model",
        "scripted",
        "--level",
        "A",
        "--send",
        "--output",
        "verdicts.json",
    ]);
    // Histories that a provider refuses are accepted, so each of them contradicts the suite.
    assert_eq!(ran.code, 1, "{}", ran.all());
    let found = verdicts(&sandbox, "verdicts.json");
    assert!(found.iter().all(|(_, outcome)| outcome == "accepted"), "{found:?}");
    let ran = sandbox.run(&["probe", "merge", "verdicts.json"]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert!(ran.err.contains("a gateway answered"), "{}", ran.err);
}

#[test]
fn what_cannot_be_asked_is_an_error() {
    let sandbox = Sandbox::new();
    sandbox.write("bad.json", "{}");
    let table: [(&[&str], &str); 7] = [
        (&["--provider", "bedrock"], "bedrock"),
        (&["--provider", "anthropic", "--only", "V9999"], "no vector of the suite is selected"),
        (&["--provider", "anthropic", "--model", "new"], "the price of this model is not known"),
        (&["--provider", "anthropic", "--send", "--max-cost", "0"], "more than the limit"),
        (&["--provider", "anthropic", "--send", "--key-variable", "NO_KEY"], "holds no key"),
        (&["merge", "bad.json"], "is no file of verdicts"),
        (
            &["--provider", "openai-chat", "--base-url", "http://127.0.0.1:9/v1", "--send"],
            "upstream",
        ),
    ];
    for (arguments, expected) in table {
        let ran = sandbox.run(&[&["probe"], arguments].concat());
        assert_eq!(ran.code, 2, "{}", ran.all());
        assert!(ran.err.contains(expected), "{expected}: {}", ran.err);
    }
}
