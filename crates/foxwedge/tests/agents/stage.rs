//! A gateway in a process of its own, with agents of this workspace behind it.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, mpsc},
    thread::{self, JoinHandle},
};

use serde_json::{Value, json};

use crate::{
    agent_binary::agent_binary,
    chat::Door,
    stories::{World, wait_until},
    temporary::Temporary,
    wire::PATIENCE,
};

const BINARY: &str = env!("CARGO_BIN_EXE_foxwedge");
const TOKEN: &str = "canary-token-0123456789";

/// Variables that would change what is served.
const VARIABLES: [&str; 15] = [
    "FOXWEDGE_CONFIG",
    "FOXWEDGE_LISTEN",
    "FOXWEDGE_STORE",
    "FOXWEDGE_MODE",
    "FOXWEDGE_STORE_RUNS",
    "FOXWEDGE_STORE_CONTENT",
    "FOXWEDGE_UPSTREAM",
    "FOXWEDGE_OTLP",
    "FOXWEDGE_OTLP_CONTENT",
    "FOXWEDGE_FAKE",
    "FOXWEDGE_FAKE_LOG",
    "CLAUDE_CONFIG_DIR",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
];

/// A folder, and a gateway that serves from it. Both are gone with this value.
pub(crate) struct Stage {
    folder: Temporary,
    config: String,
    served: Option<Served>,
}

struct Served {
    child: Child,
    address: String,
    said: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

/// Something that happened to an agent: its process, and what.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Noted {
    pub(crate) process: u32,
    pub(crate) what: String,
    pub(crate) more: Value,
}

impl Stage {
    /// Agents by their names, with their habits, and more lines of their configuration.
    pub(crate) fn with(agents: &[(&str, &str, &str)]) -> Stage {
        Stage::set("", agents)
    }

    /// The same, with more settings of the gateway.
    pub(crate) fn set(settings: &str, agents: &[(&str, &str, &str)]) -> Stage {
        let folder = Temporary::folder();
        let mut config = format!("store = \"sqlite:{}\"\n", folder.path("runs.db").display());
        config.push_str(settings);
        for (name, habits, more) in agents {
            let log = folder.path("log.jsonl").display().to_string();
            let words = [agent_binary(), "--fake", habits, "--fake-log", &log];
            let command = if more.contains("command =") {
                String::new()
            } else {
                format!("command = {words:?}\n")
            };
            config.push_str(&format!(
                "[[upstream]]\nname = \"{name}\"\nkind = \"claude-code\"\n{command}\
                 state = \"{}\"\n{more}\n[[route]]\nmodel = \"{name}\"\nupstream = \"{name}\"\n",
                folder.path("state").display(),
            ));
        }
        let mut stage = Stage { folder, config, served: None };
        stage.served = Some(stage.serve());
        stage
    }

    /// One agent without habits.
    pub(crate) fn plain() -> Stage {
        Stage::with(&[("agent", "", "")])
    }

    /// One agent with habits.
    pub(crate) fn habits(habits: &str) -> Stage {
        Stage::with(&[("agent", habits, "ask_user = true")])
    }

    fn serve(&self) -> Served {
        let file = self.folder.path("gateway.toml");
        fs::write(&file, &self.config).expect("a file");
        let temporary = self.folder.path("temporary");
        fs::create_dir_all(&temporary).expect("a folder");
        let mut command = Command::new(BINARY);
        command.args(["serve", "--listen", "127.0.0.1:0", "--log", "json", "--config"]).arg(file);
        for name in VARIABLES {
            command.env_remove(name);
        }
        command.env("HOME", self.folder.path("home")).env("FOXWEDGE_TOKEN", TOKEN);
        command.env("TMPDIR", temporary);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("a process");
        let stderr = BufReader::new(child.stderr.take().expect("its errors"));
        let said = Arc::new(Mutex::new(String::new()));
        let (found, listening) = mpsc::channel();
        let heard = said.clone();
        let reader = thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                if let Some((_, rest)) = line.split_once("http://") {
                    let _ = found.send(rest.split('"').next().unwrap_or_default().to_owned());
                }
                let mut said = heard.lock().expect("nobody panicked");
                said.push_str(&line);
                said.push('\n');
            }
        });
        let address = listening.recv_timeout(PATIENCE).unwrap_or_else(|_| {
            let _ = child.kill();
            let _ = child.wait();
            panic!("it does not listen: {:?}", said.lock().map(|said| said.clone()))
        });
        Served { child, address, said, reader: Some(reader) }
    }

    /// What happened to agents so far.
    pub(crate) fn log(&self) -> Vec<Noted> {
        let text = fs::read_to_string(self.folder.path("log.jsonl")).unwrap_or_default();
        let read = |line: &str| -> Option<Noted> {
            let line: Value = serde_json::from_str(line).ok()?;
            Some(Noted {
                process: u32::try_from(line["pid"].as_u64()?).ok()?,
                what: line["what"].as_str()?.to_owned(),
                more: line["more"].clone(),
            })
        };
        text.lines().filter_map(read).collect()
    }

    /// How often that happened.
    pub(crate) fn count(&self, what: &str) -> usize {
        self.log().iter().filter(|noted| noted.what == what).count()
    }

    /// What the gateway wrote about itself.
    pub(crate) fn said(&self) -> String {
        let served = self.served.as_ref().expect("it serves");
        served.said.lock().expect("nobody panicked").clone()
    }

    /// What providers refused.
    pub(crate) fn refused(&self) -> Vec<Noted> {
        self.log().into_iter().filter(|noted| noted.what == "refused").collect()
    }

    /// Asks the gateway to end. No provider was shown an unsound history, and nothing is left.
    pub(crate) fn end(self) {
        assert_eq!(self.refused(), [], "an agent was given a history that no provider takes");
        self.leave();
    }

    /// The same, whatever was refused.
    pub(crate) fn leave(mut self) {
        let mut served = self.served.take().expect("it serves");
        kill(served.child.id(), "TERM");
        wait_until("the gateway ends", || served.child.try_wait().is_ok_and(|it| it.is_some()))
            .expect("an end");
        let status = served.child.wait().expect("its end");
        let said = served.said.lock().expect("nobody panicked").clone();
        drop(served);
        assert!(status.success(), "{status}: {said}");
        self.nobody_is_left();
        let left = files(&self.folder.path("temporary"));
        assert_eq!(left, Vec::<String>::new(), "temporary files are left");
        let left = files(&self.folder.path("state"));
        assert_eq!(left, Vec::<String>::new(), "files of agents are left");
    }

    /// Waits until the gateway knows of no agent any more.
    pub(crate) fn knows_nobody(&self) {
        let nobody = json!({"processes": 0, "waiting": 0, "calls": 0, "questions": 0});
        let mut known = Value::Null;
        let waited = wait_until("nobody is known", || {
            known = self.door().get("/health").unwrap_or_default()["agents"].clone();
            known == nobody
        });
        waited.unwrap_or_else(|trouble| panic!("{trouble}: {known}"));
        self.nobody_is_left();
    }

    /// Waits until every agent that ever began is gone.
    pub(crate) fn nobody_is_left(&self) {
        let began = || self.log().into_iter().filter(|noted| noted.what == "start");
        wait_until("every agent is gone", || began().all(|noted| !lives(noted.process)))
            .expect("nobody is left");
    }
}

impl World for Stage {
    fn door(&self) -> Door {
        let address = self.served.as_ref().map(|served| served.address.clone());
        Door { address: address.unwrap_or_default(), token: TOKEN.to_owned() }
    }

    fn agents(&self) -> Vec<u32> {
        let began = self.log().into_iter().filter(|noted| noted.what == "start");
        began.map(|noted| noted.process).filter(|process| lives(*process)).collect()
    }

    fn restart(&mut self) -> Result<(), String> {
        self.served = None;
        self.nobody_is_left();
        self.served = Some(self.serve());
        Ok(())
    }

    fn kill(&self, process: u32) {
        kill(process, "KILL");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.served = None;
        // Whoever did not end with the gateway ends with the test.
        for process in self.agents() {
            kill(process, "KILL");
        }
    }
}

fn kill(process: u32, signal: &str) {
    // Only ours, and only while it is the one that we know.
    let mut command = Command::new("kill");
    command.args([format!("-{signal}"), process.to_string()]).stderr(Stdio::null());
    let _ = command.status();
}

/// Whether a process is there and does something. One that nobody waited for does nothing.
pub(crate) fn lives(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map_or("", |(_, behind)| behind);
    !state.is_empty() && !state.starts_with(['Z', 'X'])
}

/// Every file below a folder.
fn files(folder: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path.display().to_string());
        }
    }
    found
}
