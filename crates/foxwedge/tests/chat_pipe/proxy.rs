//! Models and MCP servers are reached through the proxy of the environment or the configuration.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    sync::mpsc::{self, Receiver},
    thread,
};

use super::stage::{Ran, Stage, finish};

/// `fox:canary-7f3a`.
const AUTHORIZATION: &str = "proxy-authorization: Basic Zm94OmNhbmFyeS03ZjNh\r\n";

/// A proxy that refuses everything: its address, and the heads of requests.
fn refusing_proxy() -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, heads) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut reader = BufReader::new(stream.unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap_or(0) > 0 {}
            let _ = sender.send(head);
            let _ = reader.get_mut().write_all(b"HTTP/1.1 403 No\r\ncontent-length: 0\r\n\r\n");
        }
    });
    (address, heads)
}

fn chat_with(stage: &Stage, variable: (&str, &str), arguments: &[&str]) -> Ran {
    let mut command = stage.command(&[&["chat", "-p", "hello"], arguments].concat());
    command.env(variable.0, variable.1);
    finish(command, "")
}

#[test]
fn models_and_servers_are_reached_through_the_proxy() {
    let stage = Stage::new();
    let (address, heads) = refusing_proxy();
    let url = format!("http://fox:canary-7f3a@{address}");
    stage.write("proxy.toml", "[network]\nproxy = \"env:OWN_PROXY\"\n");
    let model = ["--upstream", "https://model.invalid/v1", "--model", "m"];
    let configured = [&model[..], &["--config", "proxy.toml"]].concat();
    let server = ["--api", "scripted", "--mcp", "far=https://mcp.invalid/mcp"];
    let table = [
        ("HTTPS_PROXY", &model[..], 1, "model.invalid:443"),
        ("OWN_PROXY", &configured, 1, "model.invalid:443"),
        ("all_proxy", &server, 2, "mcp.invalid:443"),
    ];
    for (variable, arguments, code, host) in table {
        let ran = chat_with(&stage, (variable, &url), arguments);
        assert_eq!(ran.code, code, "{ran:?}");
        let text = format!("the proxy http://{address} does not connect to the upstream");
        assert!(ran.err.contains(&text), "{}", ran.err);
        assert!(!ran.err.contains("canary") && !ran.err.contains("Basic"), "{}", ran.err);
        let head = heads.try_recv().unwrap();
        assert!(head.starts_with(&format!("CONNECT {host} HTTP/1.1\r\n")), "{head}");
        assert!(head.contains(AUTHORIZATION), "{head}");
        while heads.try_recv().is_ok() {}
    }
}

#[test]
fn a_malformed_proxy_is_an_error_at_the_start() {
    let stage = Stage::new();
    for arguments in [&["--model", "scripted"][..], &["--api", "scripted"]] {
        let ran = chat_with(&stage, ("HTTPS_PROXY", "http://fox:canary-7f3a@p:0"), arguments);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
        assert!(ran.err.contains("HTTPS_PROXY"), "{}", ran.err);
        assert!(!ran.err.contains("canary"), "{}", ran.err);
    }
}
