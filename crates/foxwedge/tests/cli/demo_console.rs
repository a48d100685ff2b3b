//! `foxwedge demo --console`: something to see, and nothing left of it.

#![cfg(unix)]

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Command, Stdio},
};

/// What the demo's gateway answers.
fn get(address: &str, token: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply
}

#[test]
fn the_console_of_the_demo_has_something_to_see_and_leaves_nothing() {
    let folder = std::env::temp_dir().join(format!("foxwedge-demo-test-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut demo = Command::new(env!("CARGO_BIN_EXE_foxwedge"))
        .args(["demo", "--console"])
        .env("TMPDIR", &folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(demo.stderr.take().unwrap()).lines();
    let address = lines.map(Result::unwrap).find(|line| line.contains("#token=")).unwrap();
    let (address, token) = address.trim().split_once("/#token=").unwrap();
    let address = address.strip_prefix("http://").unwrap();
    assert!(get(address, token, "/").contains("<title>"));
    assert!(get(address, token, "/v1/console/feed").contains("\"action\":\"fixed\""));
    // The scan of the files takes its time, and so does the first run.
    while !get(address, token, "/v1/console/sessions").contains("\"history-missing\":1") {
        std::thread::yield_now();
    }
    while !get(address, token, "/v1/runs").contains("\"agent\":\"foxwedge\"") {
        std::thread::yield_now();
    }
    let id = demo.id().to_string();
    assert!(Command::new("kill").args(["-s", "INT", &id]).status().unwrap().success());
    assert!(demo.wait().unwrap().success());
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "its home is gone");
    assert!(TcpStream::connect(address).is_err(), "its gateway is gone");
    std::fs::remove_dir(&folder).unwrap();
}
