//! `foxwedge serve`: starts, answers, and ends when it is asked to.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, ChildStderr, Stdio},
};

use crate::{
    sandbox::Sandbox,
    serve_configuration::{VARIABLES, ran},
};

/// A gateway that listens.
pub(crate) struct Gateway {
    pub(crate) child: Child,
    stderr: BufReader<ChildStderr>,
    /// What it said up to now.
    said: String,
    pub(crate) address: String,
}

impl Gateway {
    pub(crate) fn start(sandbox: &Sandbox, arguments: &[&str]) -> Gateway {
        let fixed = ["serve", "--listen", "127.0.0.1:0", "--store", "memory:"];
        let mut command = sandbox.command(&[&fixed[..], arguments].concat());
        for name in VARIABLES {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let mut gateway = Gateway { child, stderr, said: String::new(), address: String::new() };
        let line = gateway.until("http://");
        let (_, rest) = line.split_once("http://").unwrap();
        let end = rest.find(|c: char| c == '"' || c.is_whitespace()).unwrap_or(rest.len());
        gateway.address = rest[..end].to_owned();
        gateway
    }

    /// Reads on until a line has that in it.
    fn until(&mut self, part: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(self.stderr.read_line(&mut line).unwrap() > 0, "it ended: {}", self.said);
            self.said.push_str(&line);
            if line.contains(part) {
                return line;
            }
        }
    }

    /// What an address answers.
    pub(crate) fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        // A gateway that does not answer fails the test, and does not hold it.
        stream.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    pub(crate) fn get(&self, path: &str, token: Option<&str>) -> String {
        let token = token.map(|it| format!("authorization: Bearer {it}\r\n")).unwrap_or_default();
        let host = &self.address;
        self.ask(&format!(
            "GET {path} HTTP/1.1\r\nhost: {host}\r\n{token}connection: close\r\n\r\n"
        ))
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = std::process::Command::new("kill").args([name, &id]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for its end; its exit code, and everything that it said.
    fn end(mut self) -> (Option<i32>, String) {
        let status = self.child.wait().unwrap();
        self.stderr.read_to_string(&mut self.said).unwrap();
        (status.code(), std::mem::take(&mut self.said))
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(unix)]
#[test]
fn a_token_is_made_once_and_never_said() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    let file = sandbox.home().join(".config/foxwedge/token");
    let mut tokens = Vec::new();
    for round in 0..2 {
        let log = if round == 0 { "text" } else { "auto" };
        let gateway = Gateway::start(&sandbox, &["--log", log]);
        let token = std::fs::read_to_string(&file).unwrap();
        let token = token.trim();
        assert!(token.len() == 67 && token.starts_with("fw_"), "{token}");
        let opened = gateway.get("/v1/models", Some(token));
        assert!(opened.starts_with("HTTP/1.1 200"), "{opened}");
        for other in [None, Some("fw_0"), Some("")] {
            let closed = gateway.get("/v1/models", other);
            assert!(closed.starts_with("HTTP/1.1 401"), "{closed}");
        }
        gateway.signal("-TERM");
        let (code, said) = gateway.end();
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(said.contains("(created just now)"), round == 0, "{said}");
        assert!(said.contains("in ~/.config/foxwedge/token"), "{said}");
        assert!(!said.contains(token), "{said}");
        tokens.push(token.to_owned());
    }
    assert_eq!(tokens[0], tokens[1]);
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
}

#[cfg(unix)]
#[test]
fn the_first_signal_lets_requests_finish_and_the_second_does_not() {
    let sandbox = Sandbox::new();
    for signal in ["-TERM", "-INT"] {
        let mut gateway = Gateway::start(&sandbox, &["--log", "text", "--no-token"]);
        // Half a request: it is at work, and stays so.
        let mut held = TcpStream::connect(&gateway.address).unwrap();
        let head = "POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 9\r\n\r\n{";
        held.write_all(head.as_bytes()).unwrap();
        // Whoever is answered afterwards came later.
        assert!(gateway.get("/health", None).starts_with("HTTP/1.1 200"));
        gateway.signal(signal);
        gateway.until("a second signal stops at once");
        gateway.signal(signal);
        let (code, said) = gateway.end();
        assert_eq!(code, Some(130), "{said}");
    }
}

#[test]
fn a_log_of_json_lines_is_one_from_its_first_line() {
    let sandbox = Sandbox::new();
    // Where there is no terminal.
    let gateway = Gateway::start(&sandbox, &["--no-token"]);
    assert!(gateway.get("/v1/models", None).starts_with("HTTP/1.1 200"));
    gateway.signal("-TERM");
    let (code, said) = gateway.end();
    assert_eq!(code, Some(0), "{said}");
    for line in said.lines() {
        let document: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(document["message"].is_string() && document["level"].is_string(), "{line}");
    }
    assert!(said.lines().count() >= 4, "{said}");
}

#[test]
fn an_address_that_is_taken_is_told() {
    let sandbox = Sandbox::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let told = ran(&sandbox, &[], &["serve", "--listen", &address, "--store", "memory:"]);
    assert_eq!((told.code, told.out.as_str()), (2, ""), "{}", told.all());
    assert!(told.err.contains(&format!("cannot listen on {address}")), "{}", told.err);
    assert!(told.err.contains("help: the address is already in use"), "{}", told.err);
}

#[test]
fn variables_point_clients_at_the_gateway() {
    let sandbox = Sandbox::new();
    sandbox.write("token", "a-token-that-is-long-enough\n");
    let told = |arguments: &[&str]| {
        let fixed = ["env", "--token-file", "token"];
        let told = ran(&sandbox, &[], &[&fixed[..], arguments].concat());
        assert_eq!(told.code, 0, "{}", told.all());
        told
    };
    let mut all = String::new();
    for client in ["all", "claude-code", "openai", "codex", "gemini-cli", "goose", "opencode"] {
        let told = told(&["--for", client]);
        all.push_str(&format!("--for {client}\n{}\n", told.out));
    }
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let listen = ["--listen", "0.0.0.0:80", "--for", "openai", "--shell", shell];
        all.push_str(&format!("--shell {shell}\n{}\n", told(&listen).out));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn names_of_clients_are_matched_without_regard_to_case() {
    let sandbox = Sandbox::new();
    sandbox.write("token", "a-token-that-is-long-enough\n");
    let told = |client| ran(&sandbox, &[], &["env", "--token-file", "token", "--for", client]);
    for client in ["cursor", "Cursor", "CURSOR"] {
        let told = told(client);
        assert_ne!(told.code, 0, "{}", told.all());
        assert!(told.err.contains("Cursor cannot use the gateway"), "{}", told.err);
    }
    for client in ["LangChain", "OpenAI"] {
        assert_eq!(told(client).out, told("openai").out, "{client}");
    }
}

#[test]
fn a_gateway_that_does_not_run_is_reported_beside_its_variables() {
    let sandbox = Sandbox::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let arguments = ["env", "--listen", &address];
    let told = ran(&sandbox, &[], &arguments);
    assert_eq!((told.code, told.err.as_str()), (0, ""), "{}", told.all());
    drop(listener);
    let told = ran(&sandbox, &[], &arguments);
    assert_eq!(told.code, 0, "{}", told.all());
    assert!(told.err.contains(&format!("nothing listens at {address} yet")), "{}", told.err);
}

#[test]
fn variables_are_read_by_a_shell() {
    let sandbox = Sandbox::new();
    let told = ran(&sandbox, &[], &["env", "--shell", "bash"]);
    let token = std::fs::read_to_string(sandbox.home().join(".config/foxwedge/token")).unwrap();
    let script = format!("{}printf '%s %s' \"$OPENAI_BASE_URL\" \"$OPENAI_API_KEY\"", told.out);
    let Ok(output) = std::process::Command::new("sh").args(["-c", &script]).output() else {
        println!("skipped: there is no `sh`");
        return;
    };
    let expected = format!("http://127.0.0.1:4177/v1 {}", token.trim());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    // A gateway that is started in that shell does not take its own token for a key.
    let variables = [("OPENAI_API_KEY", token.trim())];
    let told = ran(&sandbox, &variables, &["serve", "--check-config"]);
    assert_eq!(told.code, 0, "{}", told.all());
    assert!(told.err.contains("this is a foxwedge token, not a provider key"), "{}", told.err);
    assert!(!told.all().contains(token.trim()), "{}", told.all());
}
