use foxwedge_core::Format;
use foxwedge_formats::model::decode;

use super::*;
use crate::export::{html, json, markdown};

/// Removes the secrets of a text. The texts below are split, so that scanners do not report them.
fn clean(text: &str) -> String {
    let mut redactor = SecretRedactor::default();
    redactor.redact_text(text);
    redactor.redact_text(text)
}

#[test]
fn secrets_are_removed() {
    let key = |head: &str| format!("{head}{}", "a1B2c3D4e5".repeat(4));
    let table = [
        (format!("use {} now", key("sk-ant-api03-")), "use [redacted:1] now"),
        (format!("({})", key("sk-proj-")), "([redacted:1])"),
        (format!("AK{}", "IAIOSFODNN7EXAMPLE"), "[redacted:1]"),
        (key("ghp_"), "[redacted:1]"),
        (key("github_pat_"), "[redacted:1]"),
        (key("xoxb-"), "[redacted:1]"),
        (key("AIza"), "[redacted:1]"),
        (key("glpat-"), "[redacted:1]"),
        (key("npm_"), "[redacted:1]"),
        (key("hf_"), "[redacted:1]"),
        (format!("eyJ{}.eyJ{}.sig", key("h"), key("p")), "[redacted:1]"),
        ("Authorization: Bearer abc.def-123".into(), "Authorization: Bearer [redacted:1]"),
        ("-H 'Authorization: Basic dXNlcjpwYXNz'".into(), "-H 'Authorization: Basic [redacted:1]'"),
        ("authorization: abc123def".into(), "authorization: [redacted:1]"),
        ("Cookie: sid=1; user=2\nHost: x".into(), "Cookie: [redacted:1]\nHost: x"),
        ("password=hunter2".into(), "password=[redacted:1]"),
        ("password=hunter2secret".into(), "password=[redacted:1]"),
        ("password: hunter2.".into(), "password: [redacted:1]."),
        ("DB_PASSWORD=correct".into(), "DB_PASSWORD=[redacted:1]"),
        ("https://a.example/?token=abcdef&x=1".into(), "https://a.example/?token=[redacted:1]&x=1"),
        ("login --password hunter --user ann".into(), "login --password [redacted:1] --user ann"),
        (r#"let password = "s3cret";"#.into(), r#"let password = "[redacted:1]";"#),
        (r#"{"client_secret": "abcd"}"#.into(), r#"{"client_secret": "[redacted:1]"}"#),
        (r#"{\"api_key\": \"abcd\"}"#.into(), r#"{\"api_key\": \"[redacted:1]\"}"#),
        ("api-key: 'abc def 1'".into(), "api-key: 'abc def 1'"),
        ("passphrase: 'correct horse battery'".into(), "passphrase: '[redacted:1]'"),
        (format!("the token is {}.", "0f3c".repeat(8)), "the token is [redacted:1]."),
        (format!("API key: {}", "0f3c".repeat(8)), "API key: [redacted:1]"),
        ("postgres://ann:pa55@db.example/x".into(), "postgres://[redacted:1]@db.example/x"),
        ("mail ann.lee+x@mail.example.org, ok".into(), "mail [redacted:1], ok"),
        ("<ann@firma.rs>".into(), "<[redacted:1]>"),
        ("from 10.1.2.3:8080 to 192.168.0.1".into(), "from [redacted:1]:8080 to [redacted:2]"),
        ("cd /home/ann/x && ls /Users/Ann.Lee".into(), "cd ~/x && ls ~"),
        ("file:///home/ann".into(), "file://~"),
        (r"C:\Users\Ann Lee\x and C:\\Users\\ann\\y".into(), r"~\x and ~\\y"),
        ("/mnt/c/Users/ann/x, /c/Users/ann, C:/Users/ann".into(), "~/x, ~, ~"),
        ("~/.claude/projects/-home-ann-code/x".into(), "~/.claude/projects/~-code/x"),
        (format!("token={} end", "x1".repeat(400)), "token=[redacted:1] end"),
        (format!("token='{}'", "x1".repeat(400)), "token='[redacted:1]'"),
        // A secret found once is removed everywhere and keeps its number.
        ("PW_TOKEN=abc12345 then abc12345!".into(), "PW_TOKEN=[redacted:1] then [redacted:1]!"),
        ("say abc12345, for token=abc12345".into(), "say [redacted:1], for token=[redacted:1]"),
    ];
    for (text, expected) in table {
        assert_eq!(clean(&text), expected, "{text}");
    }
}

#[test]
fn private_keys_are_removed_completely() {
    let label = "RSA PRIVATE KEY-----";
    let text = format!("a\n-----BEGIN {label}\nMIIE\n-----END {label}\nb");
    assert_eq!(clean(&text), "a\n[redacted:1]\nb");
    assert_eq!(clean(&format!("a -----BEGIN {label}\nMIIE")), "a [redacted:1]");
    let public = "-----BEGIN PUBLIC KEY-----\nMIIE\n-----END PUBLIC KEY-----";
    assert_eq!(clean(public), public);
}

#[test]
fn ordinary_text_is_not_changed() {
    let table = [
        "max_tokens=4096, \"input_tokens\": 1200, tokens: 7",
        "fn check(token: &str, password: String) -> Option<Secret> { token.len() }",
        "password: str = None, token: Optional[str] = field(default=None)",
        "const token = getToken(); this.secret = secret; password = config.password2",
        "let token = process.env.TOKEN; export TOKEN=$GITHUB_TOKEN; token: ${{ secrets.X }}",
        "interface Login { password: string; token?: string }",
        "{\"password\": {\"type\": \"string\"}, \"required\": [\"token\"]}",
        "Password: required. Token: missing. The secret is out.",
        "\"token\": \"Unexpected token in JSON\", password: \"Enter your password\"",
        "token=token, password=password, api_key=api_key, token = token2",
        "API_KEY=your-api-key-here API_KEY=<key> API_KEY=**** TOKEN=xxxxxxxx",
        "PWD=/home OLDPWD=/tmp secret=/run/secrets/db nextPageToken: 'abc123def'",
        "the sk-circle-fade-dot-container-element class, sk-learn, task-based",
        "npm_config_registry hf_hub_download github_path xoxo AIzawa AKIAX",
        "git@github.com:org/repo.git, actions/checkout@v4, lodash@4.17.21, icon@2x.png",
        "user@localhost, @app.route, x@w.T, getty@tty1.service",
        "127.0.0.1:80 0.0.0.0 10.0.0.0/8 255.255.255.0 1.2.3 1.2.3.4.5 256.1.1.1",
        "Chrome/120.0.9.71, version 1.2.3.4, libfoo-1.2.3.4.so, v1.2.3.4, 1.2.3.4-beta",
        "https://a.example/home/ann, /home/$USER/x, /Users/Shared/x, /usr/home, ~/x",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b, sha256:9f86d081884c7d659a2feaa0c55ad015",
        "Bearer token, a bearer of news, Basic authentication",
        "ssh://git@host/x http://localhost:3000 https://a.example:443/@ann",
        "cache key: 3f786850e387550fdab836ed7e6dc881, primary_key=id, key: value",
        "東京 🦊 naïve — “token” … ünïcödé@",
    ];
    for text in table {
        assert_eq!(clean(text), text);
    }
}

#[test]
fn redacted_json_is_valid_json() {
    let table = [
        (r#"{"token": "abcd", "n": 1.50}"#, r#"{"token": "[redacted:1]", "n": 1.50}"#),
        (r#"{"password":12345,"b":[true]}"#, r#"{"password":"[redacted:1]","b":[true]}"#),
        (r#"{"cmd":"export X_TOKEN=\"abcd\""}"#, r#"{"cmd":"export X_TOKEN=\"[redacted:1]\""}"#),
        (r#"{"a":"\u0041\n","b":"x"}"#, r#"{"a":"\u0041\n","b":"x"}"#),
        (r#"["\ud800 password=hunter2"]"#, "[\"\u{fffd} password=[redacted:1]\"]"),
        (r#"{"secret":{"x":"abcd"}}"#, r#"{"secret":{"x":"abcd"}}"#),
        (r#"{"ann@mail.example.org":1}"#, r#"{"[redacted:1]":1}"#),
        (r#"{"password":"hun"#, r#"{"password":"hun"#),
        (r#"{"password":"hunter2"#, r#"{"password":"[redacted:1]"#),
    ];
    for (json, expected) in table {
        assert_eq!(SecretRedactor::default().redact_json(json), expected);
    }
}

/// A history with a secret in every possible place.
fn planted(canary: &str) -> String {
    let text = serde_json::json!(format!("see {canary} here"));
    let at = |inner: &str| inner.replace("TEXT", &text.to_string());
    at(r#"{"system":TEXT,"messages":[
        {"role":"user","content":[{"type":"text","text":TEXT},
            {"type":"document","title":TEXT,"source":{"type":"text","media_type":"text/plain","data":TEXT}},
            {"type":"image","source":{"type":"url","url":TEXT}}]},
        {"role":"assistant","content":[{"type":"thinking","thinking":TEXT,"signature":TEXT},
            {"type":"text","text":TEXT},
            {"type":"server_tool_use","id":"s","name":"web","input":{"q":TEXT}},
            {"type":"tool_use","id":"a","name":"f","input":{"x":{"y":[TEXT]},TEXT:1}},
            {"type":"tool_use","id":"b","name":"g","input":{}}]},
        {"role":"user","content":[
            {"type":"tool_result","tool_use_id":"a","content":TEXT},
            {"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":TEXT},
                {"type":"search_result","title":TEXT}]},
            {"type":"tool_result","tool_use_id":"c","content":TEXT}]}]}"#)
}

#[test]
fn planted_secrets_are_removed_from_all_documents() {
    let token = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
    let canaries = [
        (token.clone(), token.as_str()),
        ("ann.lee@mail.example.org".into(), "ann.lee"),
        ("/home/annlee/work".into(), "annlee"),
        ("API_TOKEN=qwertzui".into(), "qwertzui"),
        ("\"password\": \"tr0ub4dor\"".into(), "tr0ub4dor"),
        ("https://u:tr0ub4dor@h.example/".into(), "tr0ub4dor"),
        ("10.20.30.40".into(), "10.20.30.40"),
    ];
    for (canary, secret) in canaries {
        let document = planted(&canary);
        let history = decode(&document, Format::Anthropic).expect("readable");
        let place = || Some(format!("see {canary} here"));
        let title = ExportHeader {
            agent: "agent".into(),
            session: format!("s {canary}"),
            project: place(),
            file: place(),
            notes: place().into_iter().collect(),
            ..ExportHeader::default()
        };
        let shown = [markdown(&title, &history), html(&title, &history), json(&title, &history)];
        assert!(shown.iter().all(|text| text.contains(secret)), "{canary} is planted");
        let (title, history) = redact(&title, &history);
        for text in [markdown(&title, &history), html(&title, &history), json(&title, &history)] {
            assert!(!text.contains(secret), "{canary}:\n{text}");
        }
        let back: serde_json::Value = serde_json::from_str(&json(&title, &history)).expect("JSON");
        assert!(back["messages"][2]["parts"][3]["arguments"].is_object(), "{back:#}");
    }
}

#[test]
fn hostile_text_is_redacted_without_panic() {
    let hostile =
        ["eyJ.", "sk-", "token=", "token:\"", "a@", "/home/", "\\", "-----BEGIN PRIVATE KEY", "1."];
    for part in hostile {
        let text = part.repeat(5_000);
        assert!(!clean(&text).is_empty());
    }
}
