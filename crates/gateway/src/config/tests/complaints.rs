//! All issues are reported at once, with file, line, key and help.

use super::*;

#[test]
fn all_issues_are_reported_at_once() {
    let text = r#"
listn = "127.0.0.1:1"
[limits]
body = "64MiB"
unpacked = "32MiB"
messages = 0
dept = 3
head = [1]
[times]
idle = 30
drain = true
[sessions]
call = "1h"
snapshot = "10m"
session = "5m"
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
foxwedge.toml:2: `listn`: there is no such key | did you mean `listen`?
foxwedge.toml:5: `limits.body`: body ("64MiB") may not be more than unpacked ("32MiB") | raise `unpacked`, or lower `body`
foxwedge.toml:6: `limits.messages`: it has to be more than nothing
foxwedge.toml:7: `limits.dept`: there is no such key | did you mean `depth`?
foxwedge.toml:8: `limits.head`: a list does not fit | it is one value, as "text"
foxwedge.toml:10: `times.idle`: "30" does not fit | it is a time with its unit, as "500ms", "30s", "10m", "24h" or "7d"
foxwedge.toml:11: `times.drain`: "true" does not fit | it is a time with its unit, as "500ms", "30s", "10m", "24h" or "7d"
foxwedge.toml:14: `sessions.call`: call ("1h") may not be more than snapshot ("10m") | call ≤ snapshot ≤ session
foxwedge.toml:15: `sessions.snapshot`: snapshot ("10m") may not be more than session ("5m") | call ≤ snapshot ≤ session
foxwedge.toml:17: `access.hosts`: "*": this is no name of a host | write names one by one, as "gateway.example" or "gateway.example:8443"; `*` is not allowed
foxwedge.toml:18: `access.origins`: "*": this is no origin | write origins one by one, as "https://chat.example"; `*` is not allowed, nor a path
foxwedge.toml:18: `access.origins`: "https://a/b": this is no origin | write origins one by one, as "https://chat.example"; `*` is not allowed, nor a path
foxwedge.toml:22: `upstream.one.base_url`: it holds a user or a password | keys go into `key` or `key_file`
foxwedge.toml:23: `upstream.one.key`: the secret is empty
foxwedge.toml:25: `upstream.name`: there is another `one` | give each upstream a name of its own
foxwedge.toml:26: `upstream.kind`: "opnai" does not fit | it is one of `openai`, `openai-compatible`, `anthropic`, `gemini`, `scripted`, `claude-code`
foxwedge.toml:27: `upstream.baseurl`: there is no such key | did you mean `base_url`?
foxwedge.toml:28: `upstream.two.base_url`: it is missing | `base_url = "https://api.example.com/v1"`
foxwedge.toml:32: `upstream.two.key_file`: `key` is given, too | keep one of the two
foxwedge.toml:33: `upstream.name`: it is missing | `name = "openai"`
foxwedge.toml:33: `upstream.base_url`: the built-in model lives here | leave `base_url` out
foxwedge.toml:38: `route.gpt-*.upstream`: there is no upstream "oen" | did you mean `one`?
foxwedge.toml:40: `route.model`: "gpt-*-x" is no name of a model | write a name, or its beginning and one `*` at the end
foxwedge.toml:42: `route.model`: it is missing | `model = "claude-*"`
foxwedge.toml:44: `route.mode`: "fixed" does not fit | it is one of `off`, `observe`, `fix`, `strict`
foxwedge.toml:45: `upstreams`: there is no such key | did you mean `upstream`?
"#;

/// Text of a file, and the one issue about it.
const ONE: &[(&str, &str)] = &[
    ("listen = \"example.com:1\"", "foxwedge.toml:1: `listen`: \"example.com:1\" does not fit"),
    ("store = \"mysql://me:canary@h\"", "foxwedge.toml:1: `store`: "),
    ("limits = 3", "foxwedge.toml:1: `limits`: a number does not fit | write it as `[limits]`"),
    (
        "[upstream]\nname = \"x\"",
        "foxwedge.toml:1: `upstream`: a table does not fit | write `[[upstream]]`",
    ),
    ("[limits]\nhead = \"1KiB\"", "foxwedge.toml:2: `limits.head`: no client fits"),
    ("[limits]\nbody = \"-1\"", "foxwedge.toml:2: `limits.body`: \"-1\" does not fit"),
    ("[times]\nfirst_byte = \"0s\"", "foxwedge.toml:2: `times.first_byte`: it has to be more"),
    (
        "[telemetry]\notlp = \"collector:4318\"",
        "foxwedge.toml:2: `telemetry.otlp`: it begins with neither",
    ),
    ("[[token]]\nowner = \"a\"", "foxwedge.toml:1: `token.token`: it is missing"),
    ("[[token]]\ntoken = \"0123456789abcdef\"", "foxwedge.toml:1: `token.owner`: it is missing"),
    (
        "[[token]]\nowner = \"a b\"\ntoken = \"0123456789abcdef\"",
        "foxwedge.toml:2: `token.owner`: \"a b\" is no name",
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
        "foxwedge.toml:2: `route.model`: \"a b\" is no name",
    ),
    (
        "[[route]]\nmodel = \"a\"\nupstream = \"scripted\"\nwindow = 0",
        "foxwedge.toml:4: `route.a.window`: it has to be more",
    ),
    (
        "[[upstream]]\nname = \"a\"\nkind = \"claude-code\"\nbase_url = \"https://x\"",
        "foxwedge.toml:4: `upstream.a.base_url`: there is no such key | known here: ",
    ),
    (
        "[[upstream]]\nname = \"a\"\nkind = \"claude-code\"\ncommand = []",
        "foxwedge.toml:1: `upstream.a.command`: it is empty | `command = ",
    ),
    (
        "[[upstream]]\nname = \"a\"\nkind = \"claude-code\"\ncommand = \" \"",
        "foxwedge.toml:4: `upstream.a.command`: there is nothing to start",
    ),
    (
        "[[upstream]]\nname = \"a\"\nkind = \"claude-code\"\nbare = \"no\"",
        "foxwedge.toml:4: `upstream.a.bare`: \"no\" does not fit | it is true or false",
    ),
    (
        "[[upstream]]\nname = \"a\"\nkind = \"claude-code\"\nmost = 0",
        "foxwedge.toml:4: `upstream.a.most`: it has to be more",
    ),
    (
        "[[upstream]]\nname = \"a\"\nkind = \"claude-code\"\nenv = [\"A=B\"]",
        "foxwedge.toml:4: `upstream.a.env`: \"A=B\" is no name of a variable",
    ),
    (
        "[[upstream]]\nname = \"a\"\nkind = \"claude-code\"\nset = { K = \"env:NOT_SET\" }",
        "foxwedge.toml:4: `upstream.a.set.K`: the variable NOT_SET is not set",
    ),
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
            "--no-token: `listen`: `{listen}` can be reached by others | without a token, listen \
             at 127.0.0.1 or [::1] only"
        );
        assert_eq!(open(listen), [expected]);
    }
    // With a token, created or configured, access is protected.
    let here = Here::new().with("FOXWEDGE_LISTEN", "0.0.0.0:1");
    assert!(matches!(here.loaded().token_state, TokenState::Missing(_)));
    let issues = here.complaints();
    assert!(issues[0].starts_with("warning: FOXWEDGE_LISTEN: `access.hosts`: it listens at every"));
    let here = Here::new().with("FOXWEDGE_TOKEN", "0123456789abcdef");
    let issues =
        here.typed(|flags| flags.token_requirement = TokenRequirement::NotRequired).complaints();
    assert_eq!(issues, ["--no-token: tokens are configured | leave the flag out, or the tokens"]);
}

#[test]
fn an_empty_token_is_no_token() {
    let issues = Here::new().with("FOXWEDGE_TOKEN", "").complaints();
    assert_eq!(issues, ["FOXWEDGE_TOKEN: the secret is empty"]);
    let issues = Here::new().with("FOXWEDGE_TOKEN", "two words").complaints();
    assert!(issues[0].contains("holds a space") && !issues[0].contains("words"), "{issues:?}");
    let issues = Here::new().holding("/home/fox/.config/foxwedge/token", "\n").complaints();
    assert_eq!(issues, ["token: the secret is empty | remove token, and a new one is made"]);
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
    assert!(issues[0].contains("somebody else has the same token"), "{issues:?}");
}

#[test]
fn files_exposed_to_other_users_cause_warnings() {
    let key = "[[upstream]]\nname = \"o\"\nkind = \"openai\"\nkey = \"sk-1\"\n";
    let here = || Here::new().saying(key).exposed(FILE, FileExposure::Readable);
    assert_eq!(
        here().complaints(),
        [
            "warning: foxwedge.toml:4: others may read the file, and a secret stands in it | `chmod 600 foxwedge.toml`"
        ]
    );
    let named = key.replace("sk-1", "env:K");
    let here = Here::new().with("K", "sk-1").saying(&named);
    assert!(here.exposed(FILE, FileExposure::Readable).complaints().is_empty());
    let here = Here::new().with("K", "sk-1").saying(&named).exposed(FILE, FileExposure::Writable);
    assert_eq!(
        here.complaints(),
        ["warning: foxwedge.toml: others may change the file | `chmod 600 foxwedge.toml`"]
    );
    let file = key.replace("key = \"sk-1\"", "key_file = \"/k\"");
    let here =
        Here::new().saying(&file).holding("/k", "sk-1").exposed("/k", FileExposure::Readable);
    assert_eq!(
        here.complaints(),
        ["warning: foxwedge.toml:4: `upstream.o.key_file`: others may read `/k` | `chmod 600 /k`"]
    );
}

#[test]
fn a_bare_agent_with_questions_causes_a_warning() {
    let agent = |more: &str| {
        let text = format!("[[upstream]]\nname = \"a\"\nkind = \"claude-code\"\n{more}");
        Here::new().saying(&text).complaints()
    };
    assert!(agent("").is_empty() && agent("asks = true\nbare = false").is_empty());
    let issues = agent("asks = true");
    assert!(
        issues[0].starts_with("warning: foxwedge.toml:4: `upstream.a.asks`: a bare agent"),
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
            .starts_with("warning: foxwedge.toml:4: `upstream.o.base_url`: everybody on the way")
    );
}

#[test]
fn a_limit_without_unit_causes_a_warning() {
    for (key, wrong, right) in [
        ("body", "32", "\"64KiB\""),
        ("body", "65535", "65536"),
        ("unpacked", "64", "\"64MiB\""),
        ("reply", "64", "\"64MiB\""),
        ("event", "4", "\"4MiB\""),
    ] {
        // Other issues about such a file do not matter here.
        let issues = Here::new().saying(&format!("[limits]\n{key} = {wrong}\n")).complaints();
        let expected = format!("warning: foxwedge.toml:2: `limits.{key}`: {wrong} bytes are less");
        assert!(issues.iter().any(|line| line.starts_with(&expected)), "{issues:?}");
        let issues = Here::new().saying(&format!("[limits]\n{key} = {right}\n")).complaints();
        assert!(!issues.iter().any(|line| line.contains("bytes are less")), "{issues:?}");
    }
}
