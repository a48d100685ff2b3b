//! Everything that takes part in a measurement, running.

use std::{
    env, fs,
    fs::File,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

use super::{
    BenchPrograms,
    scenario::{ANTHROPIC_MODEL, CHAT_MODEL, RelayKind},
};
use crate::acceptance::{
    gateway_process::{TOKEN, request},
    process::{OwnedProcess, TemporaryFolder, free_address, wait_for},
};

/// How often the gateway is started, to see how long that takes.
const STARTS: usize = 5;

/// The mock, the relays, and a folder for them.
pub(super) struct RelayProcesses {
    mock: RelayProcess,
    relays: Vec<(RelayKind, RelayProcess)>,
    /// The last field: no process may write into it any more when it goes.
    folder: TemporaryFolder,
}

/// A process and where it listens.
struct RelayProcess {
    process: OwnedProcess,
    address: String,
}

/// How the gateway started.
pub(super) struct GatewayStarts {
    pub(super) relay: RelayKind,
    /// Milliseconds to the first reply, for each start.
    pub(super) milliseconds: Vec<f64>,
    /// Kilobytes in memory after that.
    pub(super) memory: Option<u64>,
}

/// The gateway after everything.
pub(super) struct GatewayAfter {
    pub(super) relay: RelayKind,
    pub(super) requests: Option<u64>,
    pub(super) memory: Option<u64>,
    pub(super) left_out: Option<u64>,
}

impl RelayProcesses {
    pub(super) fn start(programs: &BenchPrograms) -> Result<RelayProcesses, String> {
        let folder = TemporaryFolder::new("bench", &[])?;
        let mock = RelayProcess::listening(pinned(&programs.mock, CpuCore::Sides))?;
        let floor = |value: bool| {
            let mut command = pinned(&programs.floor, CpuCore::Middle);
            command.args(["--upstream", &mock.address]).args(value.then_some("--value"));
            RelayProcess::listening(command)
        };
        let mut relays = vec![(RelayKind::Floor, floor(false)?), (RelayKind::Value, floor(true)?)];
        if let Some(nginx) = nginx(&folder, &mock.address)? {
            relays.push((RelayKind::Nginx, nginx));
        }
        for relay in [RelayKind::Bare, RelayKind::Recording] {
            let (gateway, _) = gateway(programs, &folder, &mock.address, relay, "main")?;
            relays.push((relay, gateway));
        }
        Ok(RelayProcesses { mock, relays, folder })
    }

    /// Where a relay listens, and its process; nothing if it is not there.
    pub(super) fn at(&self, relay: RelayKind) -> Option<(RelayKind, &str, u32)> {
        let found = self.relays.iter().find(|(known, _)| *known == relay).map(|(_, it)| it);
        let found = if relay == RelayKind::Direct { Some(&self.mock) } else { found };
        found.map(|it| (relay, it.address.as_str(), it.process.id()))
    }

    /// Starts the gateway several times, with nothing in its store.
    pub(super) fn measure_starts(
        &self,
        programs: &BenchPrograms,
    ) -> Result<Vec<GatewayStarts>, String> {
        let mut all = Vec::new();
        for relay in [RelayKind::Bare, RelayKind::Recording] {
            let mut starts = GatewayStarts { relay, milliseconds: Vec::new(), memory: None };
            for number in 0..STARTS {
                let (name, mock) = (format!("start-{number}"), &self.mock.address);
                let (gateway, time) = gateway(programs, &self.folder, mock, relay, &name)?;
                starts.milliseconds.push(time.as_secs_f64() * 1_000.0);
                starts.memory = memory(gateway.process.id());
            }
            all.push(starts);
        }
        Ok(all)
    }

    /// What the gateways count and need now.
    pub(super) fn after(&self) -> Vec<GatewayAfter> {
        let gateways = [RelayKind::Bare, RelayKind::Recording].into_iter();
        let after = gateways.filter_map(|relay| self.at(relay)).map(|(relay, address, process)| {
            let metrics = request(address, "GET /metrics", "").unwrap_or_default();
            GatewayAfter {
                relay,
                requests: sum(&metrics, "foxwedge_requests_total"),
                memory: memory(process),
                left_out: sum(&metrics, "foxwedge_dropped_total"),
            }
        });
        after.collect()
    }

    /// How it is set up, in a sentence.
    pub(super) fn description(&self) -> String {
        let cores = if taskset().is_some() {
            "mock and load share core 0, what is measured has core 1"
        } else {
            "no program has a core of its own here"
        };
        let has_nginx = self.at(RelayKind::Nginx).is_some();
        format!("{cores}{}\n", if has_nginx { "" } else { "; nginx is not installed" })
    }
}

impl RelayProcess {
    /// A program that prints where it listens.
    fn listening(mut command: Command) -> Result<RelayProcess, String> {
        let (process, address) = OwnedProcess::start_listening(&mut command)?;
        Ok(RelayProcess { process, address })
    }

    /// A program that was given its address, once it replies; its output goes to a file.
    fn replying(mut command: Command, address: String, log: &Path) -> Result<RelayProcess, String> {
        let file = File::create(log).map_err(|error| format!("{}: {error}", log.display()))?;
        let process = OwnedProcess::start(command.stdout(Stdio::null()).stderr(file))?;
        let mut relay = RelayProcess { process, address };
        let name = command.get_program().to_string_lossy().into_owned();
        wait_for(&format!("{name} replies"), || {
            if replies(&relay.address) {
                return Ok(Some(()));
            }
            match relay.process.status()? {
                None => Ok(None),
                Some(status) => {
                    let log = fs::read_to_string(log).unwrap_or_default();
                    Err(format!("{name} ended before it replied: {status}\n{log}"))
                }
            }
        })?;
        Ok(relay)
    }
}

/// The gateway, and how long it took to its first reply.
fn gateway(
    programs: &BenchPrograms,
    folder: &TemporaryFolder,
    mock: &str,
    relay: RelayKind,
    name: &str,
) -> Result<(RelayProcess, Duration), String> {
    let store_runs = if relay == RelayKind::Recording { "true" } else { "false" };
    let folder = folder.folder(&format!("{name}-{store_runs}"))?;
    let config = folder.join("foxwedge.toml");
    write(&config, &configuration(mock))?;
    let listen = free_address()?;
    let mut command = pinned(&programs.foxwedge, CpuCore::Middle);
    command.args(["serve", "--log", "off", "--store-runs", store_runs, "--listen", &listen]);
    command.arg("--config").arg(&config).arg("--store").arg(folder.join("runs.db"));
    // No setting of the user who measures may reach it.
    let ours = ["FOXWEDGE_", "OTEL_", "OPENAI_", "ANTHROPIC_"];
    let names = env::vars_os().map(|(name, _)| name);
    for name in names.filter(|name| ours.iter().any(|it| name.to_string_lossy().starts_with(it))) {
        command.env_remove(&name);
    }
    command.env("FOXWEDGE_TOKEN", TOKEN).env("HOME", &folder).current_dir(&folder);
    let start = Instant::now();
    let gateway = RelayProcess::replying(command, listen, &folder.join("log"))?;
    Ok((gateway, start.elapsed()))
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
fn nginx(folder: &TemporaryFolder, mock: &str) -> Result<Option<RelayProcess>, String> {
    let Some(program) = find_program("nginx") else { return Ok(None) };
    let folder = folder.folder("nginx")?;
    let listen = free_address()?;
    let text = format!(
        "daemon off; master_process off; pid pid; error_log error.log;\n\
         events {{ worker_connections 256; }}\n\
         http {{ access_log off; client_max_body_size 8m; client_body_buffer_size 8m;\n\
         client_body_temp_path a; proxy_temp_path b; fastcgi_temp_path c; uwsgi_temp_path d;\n\
         scgi_temp_path e;\n\
         upstream mock {{ server {mock}; keepalive 64; }}\n\
         server {{ listen {listen}; keepalive_requests 100000000;\n\
         location / {{ proxy_pass http://mock; proxy_http_version 1.1; proxy_buffering off;\n\
         proxy_set_header Connection \"\"; }} }} }}\n"
    );
    write(&folder.join("nginx.conf"), &text)?;
    let mut command = pinned(&program, CpuCore::Middle);
    command.arg("-p").arg(&folder).args(["-c", "nginx.conf"]);
    RelayProcess::replying(command, listen, &folder.join("log")).map(Some)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// The core of a program, where cores can be chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CpuCore {
    /// Load and mock share one.
    Sides,
    /// What is measured has the other for itself.
    Middle,
}

/// A program, on its core.
pub(super) fn pinned(program: &Path, core: CpuCore) -> Command {
    let Some(taskset) = taskset() else { return Command::new(program) };
    let mut command = Command::new(taskset);
    let number = if core == CpuCore::Sides { "0" } else { "1" };
    // It becomes the program, so that the process has one id.
    command.args(["-c", number]).arg(program);
    command
}

fn taskset() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        find_program("taskset").filter(|_| cores > 1)
    };
    FOUND.get_or_init(find).as_deref()
}

/// A program that the machine may have.
pub(super) fn find_program(name: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Whether a tiny request is answered there.
fn replies(address: &str) -> bool {
    let body = format!(
        "{{\"model\":\"{CHAT_MODEL}\",\"messages\":[{{\"role\":\"user\",\"content\":\"Hello.\"}}]}}"
    );
    request(address, "POST /v1/chat/completions", &body)
        .is_ok_and(|reply| reply.starts_with("HTTP/1.1 200"))
}

/// Kilobytes of a process in memory. Only Linux says so.
pub(super) fn memory(process: u32) -> Option<u64> {
    status_number(process, "VmRSS:")
}

/// A number that Linux keeps for a process.
pub(super) fn status_number(process: u32, name: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// All values of a metric, whatever their labels.
fn sum(metrics: &str, name: &str) -> Option<u64> {
    let values = metrics.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        let fits = rest.starts_with(['{', ' ']);
        fits.then(|| rest.rsplit(' ').next()?.parse::<f64>().ok()).flatten()
    });
    values.map(|value| value as u64).reduce(|one, two| one + two)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_metric_are_added_up() {
        let text = "# HELP a_total x\na_total{b=\"c d\"} 3\na_total{b=\"e\"} 4\na_total_more 9\n";
        assert_eq!(sum(text, "a_total"), Some(7));
        assert_eq!(sum(text, "b_total"), None);
    }
}
