use super::*;

fn lookup(name: &str) -> Option<String> {
    match name {
        "TOKEN" => Some("canary".to_owned()),
        _ => None,
    }
}

#[test]
fn stdio_and_http_servers_are_parsed() {
    let text = r#"{"other": 1, "mcpServers": {
        "files": {"command": "npx", "args": ["-y", "${WHAT:-files}"], "env": {"KEY": "${TOKEN}"},
                  "cwd": "/tmp", "unknown": [1], "tools": ["a", "b"], "timeout": 5000},
        "far": {"type": "http", "url": "https://mcp.example/x",
                "headers": {"Authorization": "Bearer ${TOKEN}"}, "trustReading": false},
        "plain": {"url": "http://localhost:1/mcp", "tools": ["*"]},
        "older": {"type": "sse", "url": "https://mcp.example/sse", "oauth": {"clientId": "me",
                  "clientSecret": "${TOKEN}", "scopes": "a b", "callbackPort": 8123}},
        "off": {"command": "nobody", "disabled": true}
    }}"#;
    let servers = parse(text, &lookup).expect("servers");
    let pair = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    let expected = [
        McpServer {
            allow: Some(vec!["a".to_owned(), "b".to_owned()]),
            call_timeout: Duration::from_secs(5),
            ..McpServer::new(
                "files",
                McpTransport::Stdio {
                    command: ["npx", "-y", "files"].map(str::to_owned).to_vec(),
                    env: pair("KEY", "canary"),
                    folder: Some(PathBuf::from("/tmp")),
                },
            )
        },
        McpServer {
            trust_read_only: false,
            ..McpServer::new(
                "far",
                McpTransport::Http {
                    url: "https://mcp.example/x".to_owned(),
                    headers: pair("Authorization", "Bearer canary"),
                },
            )
        },
        McpServer::new(
            "plain",
            McpTransport::Http { url: "http://localhost:1/mcp".to_owned(), headers: Vec::new() },
        ),
        McpServer {
            oauth: OauthSettings {
                client_id: Some("me".to_owned()),
                client_secret: Some(SecretText::new("canary")),
                scopes: Some("a b".to_owned()),
                callback_port: Some(8123),
            },
            ..McpServer::new(
                "older",
                McpTransport::Sse {
                    url: "https://mcp.example/sse".to_owned(),
                    headers: Vec::new(),
                },
            )
        },
    ];
    let mut servers = servers;
    servers.sort_by_key(|server| expected.iter().position(|it| it.name == server.name));
    assert_eq!(servers, expected);
    assert!(!format!("{servers:?}").contains("canary"));
}

#[test]
fn errors_name_the_place() {
    let server = |server: &str| format!(r#"{{"mcpServers": {{"a": {server}}}}}"#);
    let table = [
        ("{".to_owned(), "`line 1, column 1`: this is not valid JSON"),
        ("[]".to_owned(), "`mcpServers`: it is missing"),
        (
            r#"{"mcpServers": []}"#.to_owned(),
            "`mcpServers`: this must be an object that maps names to servers, not a list",
        ),
        (server("7"), "`mcpServers.a`: this must be an object, not a number"),
        (server("{}"), "`mcpServers.a`: it needs `command` or `url`"),
        (
            server(r#"{"command": "x", "url": "https://a"}"#),
            "`mcpServers.a`: it has both `command` and `url`",
        ),
        (
            server(r#"{"command": "x", "args": ["fine", 7]}"#),
            "`mcpServers.a.args[1]`: this must be a string, not a number",
        ),
        (
            server(r#"{"command": "x", "args": "y"}"#),
            "`mcpServers.a.args`: this must be a list of strings, not a string",
        ),
        (
            server(r#"{"command": "x", "args": ["", "${NOBODY}"]}"#),
            "`mcpServers.a.args[1]`: the variable `NOBODY` is not set",
        ),
        (
            server(r#"{"command": "x", "env": {"K": null}}"#),
            "`mcpServers.a.env.K`: this must be a string, not null",
        ),
        (
            server(r#"{"command": "x", "env": {"a=b": ""}}"#),
            "`mcpServers.a.env.a=b`: invalid variable name",
        ),
        (server(r#"{"command": ""}"#), "`mcpServers.a.command`: it is empty"),
        (server(r#"{"command": "x\u0000"}"#), "`mcpServers.a`: a string in it holds a zero byte"),
        (server(r#"{"type": "http"}"#), "`mcpServers.a`: `url` is missing"),
        (server(r#"{"type": "stdio"}"#), "`mcpServers.a`: `command` is missing"),
        (
            server(r#"{"type": "ws", "url": "https://a"}"#),
            r#"`mcpServers.a.type`: this must be "stdio", "http" or "sse""#,
        ),
        (server(r#"{"type": "sse"}"#), "`mcpServers.a`: `url` is missing"),
        (
            server(r#"{"type": "sse", "url": "https://a", "headers": {"Accept": "x"}}"#),
            "`mcpServers.a.headers.Accept`: this header is set by the protocol",
        ),
        (
            server(r#"{"url": "https://a", "oauth": "x"}"#),
            "`mcpServers.a.oauth`: this must be an object, not a string",
        ),
        (
            server(r#"{"url": "https://a", "oauth": {"clientId": 7}}"#),
            "`mcpServers.a.oauth.clientId`: this must be a string, not a number",
        ),
        (
            server(r#"{"url": "https://a", "oauth": {"callbackPort": 0}}"#),
            "`mcpServers.a.oauth.callbackPort`: this must be a port",
        ),
        (
            server(r#"{"url": "https://me:${TOKEN}@a"}"#),
            "`mcpServers.a.url`: it holds a user or a password; keys go into `headers`",
        ),
        (
            server(r#"{"url": "https://a", "headers": {"X": "a\nb${TOKEN}"}}"#),
            "`mcpServers.a.headers.X`: invalid header value",
        ),
        (
            server(r#"{"url": "https://a", "headers": {"Mcp-Session-Id": "x"}}"#),
            "`mcpServers.a.headers.Mcp-Session-Id`: this header is set by the protocol",
        ),
        (
            server(r#"{"command": "x", "timeout": "5"}"#),
            "`mcpServers.a.timeout`: this must be a number of milliseconds from 1 to 86400000, not a string",
        ),
        (
            server(r#"{"command": "x", "trustReading": 1}"#),
            "`mcpServers.a.trustReading`: this must be true or false, not a number",
        ),
    ];
    for (text, expected) in table {
        let error = parse(&text, &lookup).expect_err(&text).to_string();
        assert_eq!(error, expected, "{text}");
        assert!(!error.contains("canary"));
    }
    let bad = r#"{"mcpServers": {"a`b": {"command": "x"}}}"#;
    let error = parse(bad, &lookup).expect_err(bad);
    assert!(error.what.starts_with("the name of a server"), "{error}");
}
