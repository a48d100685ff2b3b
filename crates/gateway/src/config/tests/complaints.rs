//! All issues are reported at once, with file, line, key and help.

use std::time::Duration;

use super::*;

#[test]
fn all_issues_are_reported_at_once() {
    let text = r#"
listn = "127.0.0.1:1"
[limits]
request_body = "64MiB"
decompressed_body = "32MiB"
history_messages = 0
json_dept = 3
request_head = [1]
[timeouts]
stream_idle = 30
shutdown = true
[sessions]
call_timeout = "1h"
reply_ttl = "10m"
session_ttl = "5m"
[access]
hosts = ["*"]
origins = ["*", "https://a/b"]
[[upstream]]
name = "one"
kind = "openai"
base_url = "https://me:pass@api.example"
key = ""
[[upstream]]
name = "one"
kind = "opnai"
baseurl = "https://x"
[[upstream]]
name = "two"
kind = "openai-compatible"
key = "env:NOT_SET"
key_file = "/no/file"
[[upstream]]
kind = "scripted"
base_url = "https://x"
[[route]]
model = "gpt-*"
upstream = "oen"
[[route]]
model = "gpt-*-x"
upstream = "scripted"
[[route]]
upstream = "scripted"
mode = "fixed"
[upstreams]
"#;
    let issues = Here::new().saying(text).complaints();
    let expected = EXPECTED.trim().lines().collect::<Vec<_>>();
    assert_eq!(issues, expected, "{}", issues.join("\n"));
    assert!(!issues.concat().contains("me:pass"));
}

const EXPECTED: &str = r#"
foxwedge.toml:2: `listn`: unknown key | did you mean `listen`?
foxwedge.toml:5: `limits.request_body`: "64MiB" is more than `decompressed_body` ("32MiB") | raise `decompressed_body`, or lower `request_body`
foxwedge.toml:6: `limits.history_messages`: must be more than 0
foxwedge.toml:7: `limits.json_dept`: unknown key | did you mean `json_depth`?
foxwedge.toml:8: `limits.request_head`: invalid value: a list | expected one value, such as "text"
foxwedge.toml:10: `timeouts.stream_idle`: invalid value "30" | expected a duration with a unit, such as "500ms", "30s", "10m", "24h" or "7d"
foxwedge.toml:11: `timeouts.shutdown`: invalid value "true" | expected a duration with a unit, such as "500ms", "30s", "10m", "24h" or "7d"
foxwedge.toml:14: `sessions.call_timeout`: "1h" is more than `reply_ttl` ("10m") | raise `reply_ttl`, or lower `call_timeout`
foxwedge.toml:15: `sessions.reply_ttl`: "10m" is more than `session_ttl` ("5m") | raise `session_ttl`, or lower `reply_ttl`
foxwedge.toml:17: `access.hosts`: "*" is not a host name | list every name, such as "gateway.example" or "gateway.example:8443", without `*`
foxwedge.toml:18: `access.origins`: "*" is not a web origin | list every origin, such as "https://chat.example", without `*` and without a path
foxwedge.toml:18: `access.origins`: "https://a/b" is not a web origin | list every origin, such as "https://chat.example", without `*` and without a path
foxwedge.toml:22: `upstream.one.base_url`: it holds a user or a password | keys go into `key` or `key_file`
foxwedge.toml:23: `upstream.one.key`: the secret is empty
foxwedge.toml:25: `upstream.name`: another upstream has the name `one` | every upstream needs its own name
foxwedge.toml:26: `upstream.kind`: invalid value "opnai" | expected one of `openai`, `openai-compatible`, `anthropic`, `gemini`, `azure`, `vertex`, `bedrock`, `scripted`, `claude-code`
foxwedge.toml:27: `upstream.baseurl`: unknown key | did you mean `base_url`?
foxwedge.toml:28: `upstream.two.base_url`: missing | `base_url = "https://api.example.com/v1"`
foxwedge.toml:32: `upstream.two.key_file`: `key` is also set | keep one of the two
foxwedge.toml:33: `upstream.name`: missing | `name = "openai"`
foxwedge.toml:33: `upstream.base_url`: the built-in model has no such setting | remove `base_url`
foxwedge.toml:38: `route.gpt-*.upstream`: there is no upstream "oen" | did you mean `one`?
foxwedge.toml:40: `route.model`: invalid value "gpt-*-x" | expected a model name, or a prefix with one `*` at the end
foxwedge.toml:42: `route.model`: missing | `model = "claude-*"`
foxwedge.toml:44: `route.mode`: invalid value "fixed" | expected one of `off`, `observe`, `fix`, `strict`
foxwedge.toml:45: `upstreams`: unknown key | did you mean `upstream`?
"#;

#[test]
fn former_names_are_reported_with_the_new_ones() {
    let text = r#"
[limits]
head = "64KiB"
per_owner = 3
[times]
idle = "5m"
keep_alive = "1m"
[guard]
heal = "never"
[record]
runs = "all"
store_content = "kept"
[console]
files = true
[[upstream]]
name = "a"
kind = "scripted"
speaks = ["anthropic"]
[[upstream]]
name = "b"
kind = "claude-code"
most = 3
[[route]]
model = "m"
upstream = "a"
window = 1
heal = "once"
"#;
    let here = Here::new().saying(text).with("FOXWEDGE_CONTENT", "left").typed(|flags| {
        flags.former_record = Some("none".to_owned());
    });
    let expected = [
        "foxwedge.toml:3: `limits.head` is now `limits.request_head`",
        "foxwedge.toml:4: `limits.per_owner` is now `limits.requests_per_owner`",
        "foxwedge.toml:5: `times` is now `timeouts`",
        "foxwedge.toml:6: `timeouts.idle` is now `timeouts.stream_idle`",
        "foxwedge.toml:9: `guard.heal` is now `guard.repair_after_refusal` | `repair_after_refusal = false`",
        "foxwedge.toml:11: `record.runs` is now `record.store_runs` | `store_runs = true`",
        "foxwedge.toml:12: `record.store_content`: `kept` is now `true`",
        "foxwedge.toml:14: `console.files` is now `console.session_files`",
        "foxwedge.toml:18: `upstream.a.speaks` is now `upstream.a.formats`",
        "foxwedge.toml:22: `upstream.b.most` is now `upstream.b.max_processes`",
        "foxwedge.toml:26: `route.m.window` is now `route.m.context_window`",
        "foxwedge.toml:27: `route.m.heal` is now `route.m.repair_after_refusal` | `repair_after_refusal = true`",
        "FOXWEDGE_CONTENT: this variable is now `FOXWEDGE_STORE_CONTENT` | `FOXWEDGE_STORE_CONTENT=false`",
        "--record: this flag is now `--store-runs` | `--store-runs false`",
    ];
    let issues = here.complaints();
    let issues: Vec<_> = issues.iter().filter(|line| !line.starts_with("warning")).collect();
    assert_eq!(issues, expected, "{issues:#?}");
}

/// Text of a file, and the one issue about it.
const ONE: &[(&str, &str)] = &[
    ("listen = \"example.com:1\"", "foxwedge.toml:1: `listen`: invalid value \"example.com:1\""),
    ("store = \"mysql://me:canary@h\"", "foxwedge.toml:1: `store`: "),
    (
        "limits = 3",
        "foxwedge.toml:1: `limits`: invalid value: a number | expected a table: `[limits]`",
    ),
    (
        "[upstream]\nname = \"x\"",
        "foxwedge.toml:1: `upstream`: invalid value: a table | expected `[[upstream]]` above each table",
    ),
    (
        "[limits]\nrequest_head = \"1KiB\"",
        "foxwedge.toml:2: `limits.request_head`: must be at least 8KiB",
    ),
    (
        "[limits]\nrequest_body = \"-1\"",
        "foxwedge.toml:2: `limits.request_body`: invalid value \"-1\"",
    ),
    (
        "[timeouts]\nupstream_first_byte = \"0s\"",
        "foxwedge.toml:2: `timeouts.upstream_first_byte`: must be more than 0",
    ),
    (
        "[telemetry]\notlp = \"collector:4318\"",
        "foxwedge.toml:2: `telemetry.otlp`: it starts with neither",
    ),
    (
        "[telemetry]\notlp_headers = { a = \"env:NOT_SET\" }",
        "foxwedge.toml:2: `telemetry.otlp_headers.a`: the variable NOT_SET is not set | `export NOT_SET=…`",
    ),
    ("[[token]]\nowner = \"a\"", "foxwedge.toml:1: `token.token`: missing"),
    ("[[token]]\ntoken = \"0123456789abcdef\"", "foxwedge.toml:1: `token.owner`: missing"),
    (
        "[[token]]\nowner = \"a b\"\ntoken = \"0123456789abcdef\"",
        "foxwedge.toml:2: `token.owner`: invalid value \"a b\"",
    ),
    (
        "[[token]]\nowner = \"a\"\ntoken = \"  \"",
        "foxwedge.toml:3: `token.token`: the secret is empty",
    ),
    (
        "[[token]]\nowner = \"a\"\nenv = \"NOT_SET\"",
        "foxwedge.toml:3: `token.token`: the variable NOT_SET is not set",
    ),
    (
        "[access]\ntoken_file = \"none\"",
        "foxwedge.toml:2: `access.token_file`: `none` cannot be read",
    ),
    (
        "[[route]]\nmodel = \"a b\"\nupstream = \"scripted\"",
        "foxwedge.toml:2: `route.model`: invalid value \"a b\"",
    ),
    (
        "[[route]]\nmodel = \"a\"\nupstream = \"scripted\"\ncontext_window = 0",
        "foxwedge.toml:4: `route.a.context_window`: must be more than 0",
    ),
    (
        "[[upstream]]\nname = \"a\"\nkind = \"claude-code\"\nbase_url = \"https://x\"",
        "foxwedge.toml:4: `upstream.a.base_url`: unknown key | known keys: ",
    ),
    (
        "[[upstream]]\nname = \"a\"\nkind = \"claude-code\"\ncommand = []",
        "foxwedge.toml:1: `upstream.a.command`: the command is empty",
    ),
    (
        "[[upstream]]\nname = \"a\"\nkind = \"claude-code\"\ncommand = \" \"",
        "foxwedge.toml:4: `upstream.a.command`: the command is empty",
    ),
    (
        "[[upstream]]\nname = \"a\"\nkind = \"claude-code\"\nbare = \"no\"",
        "foxwedge.toml:4: `upstream.a.bare`: invalid value \"no\" | expected true or false",
    ),
    (
        "[[upstream]]\nname = \"a\"\nkind = \"claude-code\"\nmax_processes = 0",
        "foxwedge.toml:4: `upstream.a.max_processes`: must be more than 0",
    ),
    (
        "[[upstream]]\nname = \"a\"\nkind = \"claude-code\"\nenv = [\"A=B\"]",
        "foxwedge.toml:4: `upstream.a.env`: invalid value \"A=B\"",
    ),
    (
        "[[upstream]]\nname = \"a\"\nkind = \"claude-code\"\nset_env = { K = \"env:NOT_SET\" }",
        "foxwedge.toml:4: `upstream.a.set_env.K`: the variable NOT_SET is not set",
    ),
    ("\"\" = 1", "foxwedge.toml:1: unknown key"),
    ("[\"\"]\nhead = 1", "foxwedge.toml:1: unknown key"),
    ("[limits]\n\"\" = 1", "foxwedge.toml:2: `limits.`: unknown key"),
    ("listen = ", "foxwedge.toml:1: "),
    ("[limits\n", "foxwedge.toml:1: "),
    ("a = 1\na = 2\n", "foxwedge.toml:2: duplicate key"),
];

#[test]
fn an_issue_names_file_line_and_key() {
    for (text, expected) in ONE {
        let issues = Here::new().saying(text).complaints();
        let issues: Vec<String> =
            issues.iter().filter(|line| !line.starts_with("warning")).cloned().collect();
        assert!(
            issues.first().is_some_and(|issues| issues.starts_with(expected)),
            "{text}: {issues:#?}"
        );
        assert!(!issues.concat().contains("canary"), "{issues:#?}");
    }
}

#[test]
fn a_public_listen_address_requires_a_token() {
    let open = |listen: &str| {
        let listen = listen.to_owned();
        let here = Here::new().typed(|flags| {
            flags.listen = Some(listen);
            flags.token_requirement = TokenRequirement::NotRequired;
        });
        let issues = here.complaints();
        issues.into_iter().filter(|line| !line.starts_with("warning")).collect::<Vec<_>>()
    };
    assert!(open("127.0.0.1:1").is_empty() && open("[::1]:1").is_empty());
    for listen in ["0.0.0.0:1", "[::]:1", "192.168.0.1:1", "8.8.8.8:1"] {
        let expected = format!(
            "--no-token: `listen`: other machines can reach `{listen}` | without a token, listen \
             on 127.0.0.1 or [::1] only"
        );
        assert_eq!(open(listen), [expected]);
    }
    // With a token, created or configured, access is protected.
    let here = Here::new().with("FOXWEDGE_LISTEN", "0.0.0.0:1");
    assert!(matches!(here.loaded().token_state, TokenState::Missing(_)));
    let issues = here.complaints();
    assert!(issues[0].starts_with("warning: FOXWEDGE_LISTEN: `access.hosts`: the gateway listens"));
    let here = Here::new().with("FOXWEDGE_TOKEN", "0123456789abcdef");
    let issues =
        here.typed(|flags| flags.token_requirement = TokenRequirement::NotRequired).complaints();
    assert_eq!(issues, ["--no-token: tokens are configured | remove the flag, or the tokens"]);
}

#[test]
fn an_empty_token_is_no_token() {
    let issues = Here::new().with("FOXWEDGE_TOKEN", "").complaints();
    assert_eq!(issues, ["FOXWEDGE_TOKEN: the secret is empty"]);
    let issues = Here::new().with("FOXWEDGE_TOKEN", "two words").complaints();
    assert!(issues[0].contains("contains a space") && !issues[0].contains("words"), "{issues:?}");
    let issues = Here::new().holding("/home/fox/.config/foxwedge/token", "\n").complaints();
    assert_eq!(issues, ["token: the secret is empty | remove token to create a new token"]);
    let issues = Here::new().with("FOXWEDGE_TOKEN", "short").complaints();
    assert_eq!(issues.len(), 1);
    assert!(issues[0].starts_with("warning: `token`: the token is short"), "{issues:?}");
    let issues = Here::new().with("OPENAI_API_KEY", " ").complaints();
    assert_eq!(issues, ["OPENAI_API_KEY: the secret is empty"]);
}

#[test]
fn two_owners_do_not_share_a_token() {
    let token = |owner| format!("[[token]]\nowner = \"{owner}\"\ntoken = \"0123456789abcdef\"\n");
    let issues = Here::new().saying(&[token("a"), token("b")].concat()).complaints();
    assert_eq!(issues.len(), 1);
    assert!(issues[0].contains("another owner has the same token"), "{issues:?}");
}

#[test]
fn files_exposed_to_other_users_cause_warnings() {
    let key = "[[upstream]]\nname = \"o\"\nkind = \"openai\"\nkey = \"sk-1\"\n";
    let here = || Here::new().saying(key).exposed(FILE, FileExposure::Readable);
    assert_eq!(
        here().complaints(),
        [
            "warning: foxwedge.toml:4: other users can read the file, and it contains a secret | `chmod 600 foxwedge.toml`"
        ]
    );
    let named = key.replace("sk-1", "env:K");
    let here = Here::new().with("K", "sk-1").saying(&named);
    assert!(here.exposed(FILE, FileExposure::Readable).complaints().is_empty());
    let here = Here::new().with("K", "sk-1").saying(&named).exposed(FILE, FileExposure::Writable);
    assert_eq!(
        here.complaints(),
        ["warning: foxwedge.toml: other users can change the file | `chmod 600 foxwedge.toml`"]
    );
    let file = key.replace("key = \"sk-1\"", "key_file = \"/k\"");
    let here =
        Here::new().saying(&file).holding("/k", "sk-1").exposed("/k", FileExposure::Readable);
    assert_eq!(
        here.complaints(),
        [
            "warning: foxwedge.toml:4: `upstream.o.key_file`: other users can read `/k` | `chmod 600 /k`"
        ]
    );
}

#[test]
fn a_bare_agent_with_questions_causes_a_warning() {
    let agent = |more: &str| {
        let text = format!("[[upstream]]\nname = \"a\"\nkind = \"claude-code\"\n{more}");
        Here::new().saying(&text).complaints()
    };
    assert!(agent("").is_empty() && agent("ask_user = true\nbare = false").is_empty());
    let issues = agent("ask_user = true");
    assert!(
        issues[0].starts_with("warning: foxwedge.toml:4: `upstream.a.ask_user`: a bare agent"),
        "{issues:?}"
    );
}

#[test]
fn an_unencrypted_public_upstream_causes_a_warning() {
    let upstream = |url| {
        let text = format!(
            "[[upstream]]\nname = \"o\"\nkind = \"openai-compatible\"\nbase_url = \"{url}\"\n"
        );
        Here::new().saying(&text).complaints()
    };
    assert!(upstream("https://a.example").is_empty());
    assert!(upstream("http://10.0.0.1").is_empty());
    let issues = upstream("http://a.example");
    assert!(
        issues[0]
            .starts_with("warning: foxwedge.toml:4: `upstream.o.base_url`: the connection is not")
    );
}

#[test]
fn a_limit_without_unit_causes_a_warning() {
    for (key, wrong, right) in [
        ("request_body", "32", "\"64KiB\""),
        ("request_body", "65535", "65536"),
        ("decompressed_body", "64", "\"64MiB\""),
        ("whole_reply", "64", "\"64MiB\""),
        ("stream_event", "4", "\"4MiB\""),
    ] {
        // Other issues about such a file do not matter here.
        let issues = Here::new().saying(&format!("[limits]\n{key} = {wrong}\n")).complaints();
        let expected =
            format!("warning: foxwedge.toml:2: `limits.{key}`: {wrong} bytes is very small");
        assert!(issues.iter().any(|line| line.starts_with(&expected)), "{issues:?}");
        let issues = Here::new().saying(&format!("[limits]\n{key} = {right}\n")).complaints();
        assert!(!issues.iter().any(|line| line.contains("is very small")), "{issues:?}");
    }
}

#[test]
fn the_shutdown_delay_is_a_part_of_the_shutdown() {
    let here = Here::new().with("FOXWEDGE_SHUTDOWN_DELAY", "5s");
    assert_eq!(here.loaded().config.timeouts.shutdown_delay, Duration::from_secs(5));
    let here = here.saying("[timeouts]\nshutdown = \"4s\"");
    let expected = "FOXWEDGE_SHUTDOWN_DELAY: `timeouts.shutdown_delay`: \"5s\" is more than \
                    `shutdown` (\"4s\") | raise `shutdown`, or lower `shutdown_delay`";
    assert_eq!(here.complaints(), [expected]);
    let here = Here::new().saying("[timeouts]\nshutdown = \"0s\"\nshutdown_delay = \"0s\"");
    assert_eq!(here.complaints(), [""; 0]);
}
