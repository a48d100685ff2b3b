//! Everything that takes part in a measurement, at work.

use std::{
    env, fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{self, Command},
    thread,
    time::{Duration, Instant},
};

use super::{
    Programs, probe,
    process::{Core, Running, found, pinned, pins},
    scenario::{ANTHROPIC_MODEL, CHAT_MODEL, Relay},
};

/// What opens the gateway, for the time of a measurement.
pub(super) const TOKEN: &str =
    "fw_00000000000000000000000000000000000000000000000000000000000be9c4";

/// The gateway has to answer by then.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often is tried whether the gateway answers.
const PAUSE: Duration = Duration::from_micros(500);

/// How often the gateway is started, to see how long that takes.
const STARTS: usize = 5;

/// The mock, the relays, and a folder for them.
pub(super) struct Stage {
    mock: Running,
    relays: Vec<(Relay, Running)>,
    /// Goes last: nobody may write into it any more.
    scratch: Scratch,
}

/// How the gateway started.
pub(super) struct Start {
    pub(super) relay: Relay,
    /// Milliseconds to the first answer, for each start.
    pub(super) milliseconds: Vec<f64>,
    /// Kilobytes in memory after that.
    pub(super) memory: Option<u64>,
}

/// What is left of the gateway after everything.
pub(super) struct Rest {
    pub(super) relay: Relay,
    pub(super) requests: Option<u64>,
    pub(super) memory: Option<u64>,
    pub(super) left_out: Option<u64>,
}

impl Stage {
    pub(super) fn set(programs: &Programs) -> Result<Stage, String> {
        let scratch = Scratch::new()?;
        let mock = Running::telling(pinned(&programs.mock, Core::Sides))?;
        let floor = |value: bool| {
            let mut command = pinned(&programs.floor, Core::Middle);
            command.args(["--upstream", &mock.address]).args(value.then_some("--value"));
            Running::telling(command)
        };
        let mut relays = vec![(Relay::Floor, floor(false)?), (Relay::Value, floor(true)?)];
        if let Some(nginx) = nginx(&scratch, &mock)? {
            relays.push((Relay::Nginx, nginx));
        }
        for relay in [Relay::Bare, Relay::Recording] {
            let (gateway, _) = gateway(programs, &scratch, &mock, relay, "main")?;
            relays.push((relay, gateway));
        }
        Ok(Stage { mock, relays, scratch })
    }

    /// Where something listens, and its process; nothing if it is not there.
    pub(super) fn at(&self, relay: Relay) -> Option<(Relay, &str, u32)> {
        if relay == Relay::Direct {
            return Some((relay, &self.mock.address, self.mock.id()));
        }
        let (_, running) = self.relays.iter().find(|(known, _)| *known == relay)?;
        Some((relay, &running.address, running.id()))
    }

    /// Starts the gateway anew, some times, with nothing in its store.
    pub(super) fn starts(&self, programs: &Programs) -> Result<Vec<Start>, String> {
        let mut starts = Vec::new();
        for relay in [Relay::Bare, Relay::Recording] {
            let mut start = Start { relay, milliseconds: Vec::new(), memory: None };
            for number in 0..STARTS {
                let name = format!("start-{number}");
                let (gateway, after) = gateway(programs, &self.scratch, &self.mock, relay, &name)?;
                start.milliseconds.push(after.as_secs_f64() * 1_000.0);
                start.memory = probe::memory(gateway.id());
            }
            starts.push(start);
        }
        Ok(starts)
    }

    /// What the gateway has now.
    pub(super) fn rest(&self) -> Vec<Rest> {
        let gateways = self.relays.iter().filter(|(relay, _)| match relay {
            Relay::Bare | Relay::Recording => true,
            Relay::Direct | Relay::Floor | Relay::Value | Relay::Nginx => false,
        });
        let rest = gateways.map(|(relay, running)| Rest {
            relay: *relay,
            requests: probe::requests(&running.address),
            memory: probe::memory(running.id()),
            left_out: probe::left_out(&running.address),
        });
        rest.collect()
    }

    /// How it is set, in a sentence.
    pub(super) fn told(&self) -> String {
        let cores = if pins() {
            "mock and load share core 0, what is measured has core 1"
        } else {
            "no program has a core of its own here"
        };
        let nginx = if self.at(Relay::Nginx).is_some() { "" } else { "; nginx is not installed" };
        format!("{cores}{nginx}\n")
    }
}

/// The gateway, and how long it took to its first answer.
fn gateway(
    programs: &Programs,
    scratch: &Scratch,
    mock: &Running,
    relay: Relay,
    name: &str,
) -> Result<(Running, Duration), String> {
    let store_runs = if relay == Relay::Recording { "true" } else { "false" };
    let folder = scratch.folder(&format!("{name}-{store_runs}"))?;
    let config = folder.join("foxwedge.toml");
    write(&config, &configuration(&mock.address))?;
    let listen = free_address()?;
    let mut command = pinned(&programs.foxwedge, Core::Middle);
    command.args(["serve", "--log", "off", "--store-runs", store_runs, "--listen", &listen]);
    command.arg("--config").arg(&config).arg("--store").arg(folder.join("runs.db"));
    alone(&mut command, &folder);
    let start = Instant::now();
    let said = folder.join("said");
    let mut running = Running::told(command, &listen, &said)?;
    while start.elapsed() < PATIENCE {
        if probe::answers(&running.address) {
            return Ok((running, start.elapsed()));
        }
        if running.is_over() {
            let said = fs::read_to_string(&said).unwrap_or_default();
            return Err(format!("the gateway ended before it answered:\n{said}"));
        }
        thread::sleep(PAUSE);
    }
    Err("the gateway does not answer".to_owned())
}

/// Nothing of the user who measures gets in.
fn alone(command: &mut Command, folder: &Path) {
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if ["FOXWEDGE_", "OTEL_", "OPENAI_", "ANTHROPIC_"]
            .iter()
            .any(|start| text.starts_with(start))
        {
            command.env_remove(&name);
        }
    }
    command.env("FOXWEDGE_TOKEN", TOKEN).env("HOME", folder).current_dir(folder);
}

fn configuration(mock: &str) -> String {
    let upstreams = [
        ("chat", "openai-compatible", "/v1", CHAT_MODEL),
        ("messages", "anthropic", "", ANTHROPIC_MODEL),
    ];
    let blocks = upstreams.map(|(name, kind, version, model)| {
        format!(
            "[[upstream]]\nname = \"{name}\"\nkind = \"{kind}\"\nkey = \"none\"\n\
             base_url = \"http://{mock}{version}\"\n\n\
             [[route]]\nmodel = \"{model}\"\nupstream = \"{name}\"\n\n"
        )
    });
    blocks.concat()
}

/// nginx with one process, if the machine has it.
fn nginx(scratch: &Scratch, mock: &Running) -> Result<Option<Running>, String> {
    let Some(program) = found("nginx") else { return Ok(None) };
    let folder = scratch.folder("nginx")?;
    let listen = free_address()?;
    let text = format!(
        "daemon off; master_process off; pid pid; error_log error.log;\n\
         events {{ worker_connections 256; }}\n\
         http {{ access_log off; client_max_body_size 8m; client_body_buffer_size 8m;\n\
         client_body_temp_path a; proxy_temp_path b; fastcgi_temp_path c; uwsgi_temp_path d;\n\
         scgi_temp_path e;\n\
         upstream mock {{ server {}; keepalive 64; }}\n\
         server {{ listen {listen}; keepalive_requests 100000000;\n\
         location / {{ proxy_pass http://mock; proxy_http_version 1.1; proxy_buffering off;\n\
         proxy_set_header Connection \"\"; }} }} }}\n",
        mock.address
    );
    write(&folder.join("nginx.conf"), &text)?;
    let mut command = pinned(&program, Core::Middle);
    command.arg("-p").arg(&folder).args(["-c", "nginx.conf"]);
    let mut running = Running::told(command, &listen, &folder.join("said"))?;
    let start = Instant::now();
    while start.elapsed() < PATIENCE && !running.is_over() {
        if probe::answers(&listen) {
            return Ok(Some(running));
        }
        thread::sleep(PAUSE);
    }
    Err("nginx does not answer".to_owned())
}

/// A port that nobody has, a moment ago.
fn free_address() -> Result<String, String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).and_then(|found| found.local_addr());
    listener.map(|address| address.to_string()).map_err(|error| error.to_string())
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// A folder that goes when all is done.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Scratch, String> {
        let folder = env::temp_dir().join(format!("foxwedge-bench-{}", process::id()));
        let scratch = Scratch(folder);
        scratch.folder("")?;
        Ok(scratch)
    }

    fn folder(&self, name: &str) -> Result<PathBuf, String> {
        let folder = self.0.join(name);
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(folder)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left in the folder for temporary files does not matter.
        let _ = fs::remove_dir_all(&self.0);
    }
}
