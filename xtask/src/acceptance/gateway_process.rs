//! `foxwedge serve` under test: started at a free port in a folder of its own, with nothing of the
//! user's around it, and ended by its id.

use std::{
    env,
    fs::{self, File},
    io::{self, Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

use super::process::{OwnedProcess, PATIENCE, wait_for};

/// No secret: it opens a built-in model, for a minute.
pub(crate) const TOKEN: &str = "foxwedge-acceptance-0123456789abcdef0123456789abcdef";

/// A running gateway. Dropping it kills it.
pub(crate) struct GatewayProcess {
    pub(crate) process: OwnedProcess,
    /// `127.0.0.1:PORT`
    pub(crate) address: String,
    log: PathBuf,
}

impl GatewayProcess {
    /// Starts it with `foxwedge.toml` in the folder, and waits until it listens.
    pub(crate) fn start(binary: &Path, folder: &Path) -> Result<GatewayProcess, String> {
        let cannot = |error: io::Error| format!("{}: {error}", folder.display());
        let log = folder.join("log");
        let mut command = Command::new(binary);
        command.args(["serve", "--listen", "127.0.0.1:0", "--log", "json", "--config"]);
        command.arg(folder.join("foxwedge.toml")).arg("--store").arg(folder.join("runs.db"));
        isolate(&mut command, folder).map_err(cannot)?;
        command.env("FOXWEDGE_TOKEN", TOKEN).stdout(Stdio::null());
        let process = OwnedProcess::start(command.stderr(File::create(&log).map_err(cannot)?))?;
        let mut gateway = GatewayProcess { process, address: String::new(), log };
        gateway.address = wait_for("the gateway listens", || {
            let text = fs::read_to_string(&gateway.log).unwrap_or_default();
            let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
            let mut listening = lines.filter(|line: &Value| line["message"] == "listening");
            let address = listening.next().and_then(|line| line["address"].as_str().map(bare));
            match (address, gateway.process.status()?) {
                (None, Some(status)) => Err(format!("the gateway ended at once: {status}")),
                (address, _) => Ok(address),
            }
        })
        .map_err(|error| format!("{error}\n{}", gateway.log()))?;
        Ok(gateway)
    }

    /// The last lines of its log, without the requests that only look at it.
    pub(crate) fn log(&self) -> String {
        const SHOWN: usize = 12;
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> =
            log.lines().filter(|line| !line.contains("\"method\":\"GET\"")).collect();
        lines[lines.len().saturating_sub(SHOWN)..].join("\n")
    }

    /// A JSON document of the gateway.
    pub(crate) fn get(&self, path: &str) -> Result<Value, String> {
        let reply = request(&self.address, &format!("GET {path}"), "");
        let reply = reply.map_err(|error| format!("{path}: {error}"))?;
        let (head, body) = reply.split_once("\r\n\r\n").unwrap_or((&reply, ""));
        if !head.starts_with("HTTP/1.1 200 ") {
            return Err(format!("{path}: {reply}"));
        }
        serde_json::from_str(body).map_err(|error| format!("{path}: {error}: {body}"))
    }
}

/// Sends one request to a gateway; the whole reply with its head.
pub(crate) fn request(address: &str, line: &str, body: &str) -> io::Result<String> {
    request_with(address, line, "", body)
}

/// The same with more headers, each with its line break.
pub(crate) fn request_with(
    address: &str,
    line: &str,
    headers: &str,
    body: &str,
) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let length = body.len();
    write!(
        stream,
        "{line} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {TOKEN}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n{headers}connection: close\r\n\r\n{body}"
    )?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    Ok(reply)
}

/// Takes away every variable of the user, and gives the command a home in the folder.
pub(crate) fn isolate(command: &mut Command, folder: &Path) -> io::Result<()> {
    let (home, temporary) = (folder.join("home"), folder.join("temporary"));
    fs::create_dir_all(&home)?;
    fs::create_dir_all(&temporary)?;
    command.env_clear().env("TMPDIR", temporary);
    for name in ["HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"] {
        command.env(name, &home);
    }
    for name in ["PATH", "SYSTEMROOT"] {
        command.envs(env::var_os(name).map(|value| (name, value)));
    }
    Ok(())
}

/// The built-in model as a provider of its own, and where it is.
pub(crate) fn start_model(binary: &Path) -> Result<(OwnedProcess, String), String> {
    let mut command = Command::new(binary);
    command.args(["scripted", "--listen", "127.0.0.1:0"]).env_clear().stderr(Stdio::null());
    OwnedProcess::start_listening(&mut command)
}

fn bare(address: &str) -> String {
    address.trim_start_matches("http://").to_owned()
}
