//! No secret is ever shown, wherever it is set and whatever is wrong with it.

use super::*;

const CANARY: &str = "canary-7f3a";

#[test]
fn no_secret_appears_in_a_shown_configuration() {
    let text = r#"
[[token]]
owner = "a"
token = "canary-7f3a-token-0123456789"
[telemetry]
otlp = "http://localhost:4318"
otlp_headers = { authorization = "Bearer canary-7f3a" }
[[upstream]]
name = "one"
kind = "openai"
key = "canary-7f3a"
headers = { api-key = "canary-7f3a", x-two = "env:TWO" }
[[upstream]]
name = "two"
kind = "anthropic"
key = "env:TWO"
[[upstream]]
name = "three"
kind = "gemini"
key_file = "/three"
"#;
    let store = "postgres://me:canary-7f3a@db/x";
    let here = Here::new()
        .saying(text)
        .with("TWO", CANARY)
        .with("FOXWEDGE_TOKEN", "canary-7f3a-local-0123456789")
        .with("FOXWEDGE_STORE", store)
        .holding("/three", CANARY)
        .exposed("/three", FileExposure::Readable);
    let loaded = here.loaded();
    assert_eq!(loaded.config.access.tokens.len(), 2);
    assert_eq!(loaded.config.upstreams[0].headers[0].1, CANARY);
    for shown in [format!("{loaded:?}"), format!("{loaded:#?}"), format!("{:?}", here.complaints())]
    {
        assert!(!shown.contains(CANARY), "{shown}");
    }
}

#[test]
fn no_secret_appears_in_an_issue() {
    let table = [
        // In the wrong setting.
        "store = \"postgres://me@db/x?password=canary-7f3a\"",
        "key = \"canary-7f3a\"",
        "[[upstream]]\nname = \"o\"\nkind = \"openai\"\nbase_url = \"https://canary-7f3a@x\"",
        "[[upstream]]\nname = \"o\"\nkind = \"openai\"\nbase_url = \"https://x?key=canary-7f3a\"",
        "[[upstream]]\nname = \"o\"\nkind = \"openai\"\nbase_url = \"canary-7f3a\"",
        // With a character that cannot be sent.
        "[[upstream]]\nname = \"o\"\nkind = \"openai\"\nkey = \"canary-7f3a x\"",
        "[[upstream]]\nname = \"o\"\nkind = \"openai\"\nkey = [\"canary-7f3a\"]",
        "[[upstream]]\nname = \"o\"\nkind = \"openai\"\nkey = \"canary-7f3a\"\nkey_file = \"/x\"",
        "[[upstream]]\nname = \"o\"\nkind = \"openai\"\nkey = \"k\"\nheaders = { host = \"canary-7f3a\" }",
        "[[upstream]]\nname = \"o\"\nkind = \"openai\"\nkey = \"k\"\nheaders = { a = \"canary-7f3a\\u0000\" }",
        "[[upstream]]\nname = \"o\"\nkind = \"openai\"\nkey = \"k\"\nheaders = \"canary-7f3a\"",
        "[[token]]\nowner = \"a\"\ntoken = \"canary-7f3a \"",
        "[telemetry]\notlp = \"http://canary-7f3a@x\"",
        "[telemetry]\notlp_headers = { a = \"canary-7f3a\\u0000\" }",
        "store = \"mysql://me:canary-7f3a@db\"",
        // In a line with a syntax error.
        "[[upstream]]\nkey = \"canary-7f3a",
        "[[upstream]]\nkey = canary-7f3a",
        "[[upstream]]\nkey = 'canary-7f3a' x",
        "[[upstream]]\nkey \"canary-7f3a\"",
    ];
    for text in table {
        let Err(refused) = Here::new().saying(text).read() else { panic!("{text}") };
        let shown = format!("{refused} {refused:?}");
        assert!(!shown.contains(CANARY), "{text}\n{shown}");
    }
    let long = "x".repeat(20_000);
    for name in ["FOXWEDGE_TOKEN", "OPENAI_API_KEY"] {
        for value in ["canary-7f3a \u{1}", &long] {
            let issues = Here::new().with(name, value).complaints();
            assert!(!issues.is_empty() && !issues.concat().contains(CANARY), "{issues:?}");
        }
    }
    let issues = Here::new().with("OTEL_EXPORTER_OTLP_HEADERS", "canary-7f3a").complaints();
    assert!(!issues.is_empty() && !issues.concat().contains(CANARY), "{issues:?}");
}

#[test]
fn a_reload_names_the_secrets_that_changed() {
    let loaded = |key: &str, token: &str| {
        let text = format!(
            "[[token]]\nowner = \"ann\"\ntoken = \"{token}-0123456789abcdef\"\n\
             [[upstream]]\nname = \"one\"\nkind = \"openai\"\nkey_file = \"/key\"\n"
        );
        Here::new().saying(&text).holding("/key", key).loaded()
    };
    let before = loaded("k-1", "t-1");
    for (key, token, expected) in [
        ("k-1", "t-1", &[][..]),
        ("k-2", "t-1", &["upstream \"one\".key"]),
        ("k-1", "t-2", &["token of \"ann\""]),
    ] {
        let changes = loaded(key, token).changes_since(&before);
        assert_eq!(changes.applied, expected, "{key} {token}");
    }
}
