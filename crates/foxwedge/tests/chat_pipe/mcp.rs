//! Tools of MCP servers: this very test is the server, started again with a variable.

use std::io::{BufRead as _, Write as _};

use serde_json::{Value, json};

use crate::stage::Stage;

const VARIABLE: &str = "FOXWEDGE_CHAT_MCP";

/// No test of its own: the server, if the variable is set.
#[test]
fn serve() {
    if std::env::var_os(VARIABLE).is_none() {
        return;
    }
    // Whoever runs tests may have begun a line.
    println!();
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let result = match request["method"].as_str().unwrap_or_default() {
            "initialize" => json!({
                "protocolVersion": request["params"]["protocolVersion"],
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "den", "version": "1" },
            }),
            "tools/list" if std::env::var_os(VARIABLE).is_some_and(|it| it == "many") => {
                let tools = (0..300).map(|at| tool(&format!("look{at}"), true));
                json!({ "tools": tools.collect::<Vec<Value>>() })
            }
            "tools/list" => json!({ "tools": [tool("look", true), tool("dig", false)] }),
            "tools/call" => {
                let name = request["params"]["name"].as_str().unwrap();
                json!({ "content": [{ "type": "text", "text": format!("{name}: a hen") }] })
            }
            _ => json!({}),
        };
        if let Some(id) = request.get("id") {
            let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
            println!("{answer}");
            std::io::stdout().flush().unwrap();
        }
    }
    std::process::exit(0);
}

fn tool(name: &str, reads: bool) -> Value {
    let schema = json!({ "type": "object", "properties": {} });
    let annotations = json!({ "readOnlyHint": reads });
    json!({ "name": name, "description": name, "inputSchema": schema, "annotations": annotations })
}

fn program() -> String {
    std::env::current_exe().unwrap().to_string_lossy().into_owned()
}

#[test]
fn tools_of_servers_are_called_and_those_that_write_are_asked_about() {
    let stage = Stage::new();
    let line = format!("den=env {VARIABLE}=1 '{}' mcp::serve --exact --nocapture", program());
    let file = json!({ "mcpServers": { "den": {
        "command": program(),
        "args": ["mcp::serve", "--exact", "--nocapture"],
        "env": { VARIABLE: "1" },
    } } });
    stage.write("servers.json", &file.to_string());
    for option in [&["--mcp", &line][..], &["--mcp-config", "servers.json"]] {
        let ran = stage.chat(option, "/tools\ncall mcp__den__look\ncall mcp__den__dig\n");
        assert_eq!(ran.code, 0, "{option:?} {ran:?}");
        assert!(ran.err.contains("mcp__den__look  reads"), "{}", ran.err);
        assert!(ran.err.contains("✓ mcp__den__look"), "{}", ran.err);
        assert!(ran.out.contains("The tool said: look: a hen"), "{ran:?}");
        assert!(ran.err.contains("✗ mcp__den__dig  denied"), "{}", ran.err);
        let allowed = [option, &["-p", "call mcp__den__dig", "--allow", "mcp__den__*"]].concat();
        let ran = stage.chat(&allowed, "");
        assert_eq!((ran.code, ran.out.as_str()), (0, "The tool said: dig: a hen\n"), "{ran:?}");
        let ran = stage.chat(&[option, &["--read-only"]].concat(), "/tools\n");
        assert!(ran.err.contains("look") && !ran.err.contains("dig"), "{}", ran.err);
    }
}

#[test]
fn a_server_that_cannot_be_had_is_told_before_anything_is_asked() {
    let stage = Stage::new();
    stage.write("torn.json", r#"{"mcpServers": {"#);
    let table: [(&[&str], &str); 4] = [
        (&["--mcp", "nothing"], "NAME=COMMAND"),
        (&["--mcp", "den=no-such-program-anywhere"], "den"),
        (&["--mcp-config", "torn.json"], "not valid JSON"),
        (&["--mcp-config", "nowhere.json"], "nowhere.json"),
    ];
    for (option, word) in table {
        let ran = stage.chat(&[&["-p", "x"], option].concat(), "");
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{option:?} {ran:?}");
        assert!(ran.err.contains(word), "{option:?} {}", ran.err);
    }
    assert_eq!(stage.outcomes(), [""; 0]);
}

#[test]
fn a_server_with_more_tools_than_the_provider_takes_fails_no_prompt() {
    let stage = Stage::new();
    let line = format!("den=env {VARIABLE}=many '{}' mcp::serve --exact --nocapture", program());
    let ran = stage.chat(&["--api", "scripted", "--mcp", &line], "hello\ncall mcp__den__look7\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("You said: hello"), "{ran:?}");
    assert!(ran.out.contains("The tool said: look7: a hen"), "{ran:?}");
    // Six built-in ones and 122 of the server.
    let note = "there are 306 tools, but the provider accepts 128";
    assert_eq!(ran.err.matches(note).count(), 1, "{}", ran.err);
    let left =
        "omitted: `mcp__den__look122`, `mcp__den__look123`, `mcp__den__look124` and 175 more";
    assert!(ran.err.contains(left), "{}", ran.err);
    assert!(ran.err.contains("--mcp-config"), "{}", ran.err);
}

#[test]
fn logins_say_what_is_wrong_and_what_to_do() {
    let stage = Stage::new();
    let file =
        r#"{"mcpServers": {"near": {"command": "x"}, "far": {"url": "http://127.0.0.1:1/mcp"}}}"#;
    stage.write("servers.json", file);
    let table: [(&[&str], &str, &str); 6] = [
        (&["login", "wiki"], "`wiki` is no URL, and there is no `.mcp.json` here", "--mcp-config"),
        (&["login", "wiki", "--mcp-config", "servers.json"], "lists no server `wiki`", "its URL"),
        (&["login", "near", "--mcp-config", "servers.json"], "only servers over HTTP", "`env`"),
        (&["login", "far", "--mcp-config", "servers.json"], "cannot be reached", "is running"),
        (&["login", "http://127.0.0.1:1/mcp"], "cannot be reached", "is running"),
        (&["login", "https://me:canary@a/"], "a user or a password", "https://"),
    ];
    for (arguments, error, help) in table {
        let ran = stage.run(&[&["mcp"], arguments].concat(), "");
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?} {ran:?}");
        assert!(ran.err.contains(error), "{arguments:?} {}", ran.err);
        let advice = ran.err.split_once("help: ").map(|(_, help)| help).unwrap_or_default();
        assert!(advice.contains(help), "{arguments:?} {}", ran.err);
        assert!(!ran.err.contains("canary"), "{}", ran.err);
    }
    let ran = stage.run(&["mcp", "logout", "http://127.0.0.1:1/mcp"], "");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("You are not logged in"), "{}", ran.err);
}

#[test]
fn the_advice_about_a_server_that_cannot_be_had_fits_how_it_is_reached() {
    let stage = Stage::new();
    let ran = stage.chat(&["-p", "x", "--mcp", "far=http://127.0.0.1:1/mcp"], "");
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("it is running") && !ran.err.contains("command"), "{}", ran.err);
    let ran = stage.chat(&["-p", "x", "--mcp", "near=no-such-program-anywhere"], "");
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("try its command by hand"), "{}", ran.err);
}
