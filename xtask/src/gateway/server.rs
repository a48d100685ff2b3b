//! The gateway under trial: started at a free port, asked what it recorded, and ended by its id.

use std::{
    collections::BTreeMap,
    env, fs,
    fs::File,
    io::{Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{self, Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::job::{Upstream, routes};

/// How long a start, an end, or an answer may take, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often is looked whether something has happened.
const PAUSE: Duration = Duration::from_millis(20);

/// No secret: whoever has it can reach a model that knows nothing, for a minute.
const TOKEN: &str = "foxwedge-acceptance-0123456789abcdef0123456789abcdef";

/// A gateway at work. Whoever lets go of it ends it.
pub(super) struct Server {
    child: Child,
    folder: PathBuf,
    base: String,
}

impl Server {
    /// Starts it, with a folder of its own for everything it reads and writes.
    pub(super) fn start(binary: &Path) -> Result<Server, String> {
        let folder = env::temp_dir().join(format!("foxwedge-gateway-{}", process::id()));
        let cannot = |error| format!("{}: {error}", folder.display());
        fs::create_dir_all(&folder).map_err(cannot)?;
        let config = folder.join("foxwedge.toml");
        fs::write(&config, configuration()).map_err(cannot)?;
        let mut command = Command::new(binary);
        command.args(["serve", "--listen", "127.0.0.1:0", "--log", "json", "--config"]);
        command.arg(&config).arg("--store").arg(folder.join("runs.db"));
        // No key and no setting of this machine is any of its business here.
        command.env_clear().env("FOXWEDGE_TOKEN", TOKEN);
        for name in ["HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"] {
            command.env(name, &folder);
        }
        if let Some(root) = env::var_os("SYSTEMROOT") {
            command.env("SYSTEMROOT", root);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(File::create(folder.join("log")).map_err(cannot)?);
        let told = |error| format!("{}: {error}", binary.display());
        let child = command.spawn().map_err(told)?;
        let mut server = Server { child, folder, base: String::new() };
        server.base = server.address()?;
        Ok(server)
    }

    /// Where it listens: `http://127.0.0.1:PORT`.
    pub(super) fn base(&self) -> &str {
        &self.base
    }

    pub(super) fn token(&self) -> &'static str {
        TOKEN
    }

    /// Every session that it knows, and how many runs it has.
    pub(super) fn sessions(&self) -> Result<BTreeMap<String, u64>, String> {
        let mut sessions = BTreeMap::new();
        let mut after = String::new();
        loop {
            let page = self.get(&format!("/v1/sessions?limit=1000{after}"))?;
            for session in page["data"].as_array().into_iter().flatten() {
                let id = session["id"].as_str().unwrap_or_default();
                sessions.insert(id.to_owned(), session["runs"].as_u64().unwrap_or(0));
            }
            match page["next"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => return Ok(sessions),
            }
        }
    }

    /// Asks it to end, and waits until it has. An end that is not a good one is an error.
    pub(super) fn stop(mut self) -> Result<(), String> {
        if !cfg!(unix) {
            // There is no signal to ask with; it is killed.
            return Ok(());
        }
        let asked = Command::new("kill").arg(self.child.id().to_string()).status();
        asked.map_err(|error| format!("kill: {error}"))?;
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            match self.child.try_wait().map_err(|error| error.to_string())? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(format!("the gateway ended badly: {status}")),
                None => thread::sleep(PAUSE),
            }
        }
        Err("the gateway does not end".to_owned())
    }

    /// What it says when it listens.
    fn address(&mut self) -> Result<String, String> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            let log = self.log();
            let lines = log.lines().filter_map(|line| serde_json::from_str(line).ok());
            let mut listening = lines.filter(|line: &Value| line["message"] == "listening");
            if let Some(address) =
                listening.next().and_then(|line| line["address"].as_str().map(str::to_owned))
            {
                return Ok(address);
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("the gateway ended at once: {status}\n{}", self.log()));
            }
            thread::sleep(PAUSE);
        }
        Err(format!("the gateway does not listen\n{}", self.log()))
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// One of its own lists.
    fn get(&self, path: &str) -> Result<Value, String> {
        let host = self.base.trim_start_matches("http://");
        let asked = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect(host)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            write!(
                stream,
                "GET {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {TOKEN}\r\n\
                 connection: close\r\n\r\n"
            )?;
            let mut reply = String::new();
            stream.read_to_string(&mut reply)?;
            Ok(reply)
        };
        let reply = asked().map_err(|error| format!("{path}: {error}"))?;
        let (head, body) = reply.split_once("\r\n\r\n").unwrap_or((&reply, ""));
        if !head.starts_with("HTTP/1.1 200 ") {
            return Err(format!("{path}: {reply}"));
        }
        serde_json::from_str(body).map_err(|error| format!("{path}: {error}: {body}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // What is left in the folder for temporary files does not matter.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// An upstream for each format that speaks nothing else, and a model for each of its faults. Two
/// tries are enough to see one fail.
fn configuration() -> String {
    let mut text =
        "[[upstream]]\nname = \"scripted\"\nkind = \"scripted\"\nattempts = 2\n".to_owned();
    text.push_str("[[route]]\nmodel = \"scripted*\"\nupstream = \"scripted\"\n");
    for format in Upstream::SPOKEN {
        text.push_str(&format!(
            "[[upstream]]\nname = \"{format}\"\nkind = \"scripted\"\nformats = [\"{format}\"]\nattempts = 2\n"
        ));
        for (model, rename) in routes(format) {
            text.push_str(&format!(
                "[[route]]\nmodel = \"{model}\"\nupstream = \"{format}\"\nupstream_model = \"{rename}\"\n"
            ));
        }
    }
    text
}
