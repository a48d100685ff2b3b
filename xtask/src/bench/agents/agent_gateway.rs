//! Gateways with an agent behind them, in a folder that goes at the end.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::{
    chat::{MODEL, number},
    client::TimedClient,
};
use crate::acceptance::{
    gateway_process::{TOKEN, isolate, start_model},
    process::{OwnedProcess, TemporaryFolder, children, free_address, wait_until},
};

/// One kind of agent.
pub(super) struct TestAgent {
    pub(super) name: &'static str,
    binary: PathBuf,
    /// How the agent is started.
    command: Vec<String>,
    /// Variables that are set for it.
    variables: Vec<(&'static str, String)>,
    /// Its provider, if it has none inside.
    _model: Option<OwnedProcess>,
    folder: TemporaryFolder,
}

/// Whether runs are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RunRecording {
    None,
    All,
}

impl RunRecording {
    pub(super) const BOTH: [RunRecording; 2] = [RunRecording::None, RunRecording::All];

    pub(super) fn name(self) -> &'static str {
        match self {
            RunRecording::None => "none",
            RunRecording::All => "all",
        }
    }
}

impl TestAgent {
    /// The agent of this workspace.
    pub(super) fn ours(binary: &Path, agent: &Path) -> Result<TestAgent, String> {
        let command = vec![agent.display().to_string()];
        TestAgent::new("the agent of this workspace", binary, command, None, Vec::new())
    }

    /// Claude Code, with the built-in model as its provider.
    pub(super) fn claude_code(binary: &Path, cli: &Path) -> Result<TestAgent, String> {
        let (model, provider) = start_model(binary)?;
        // What is not for the model ends there too, and is refused.
        let variables = vec![
            ("ANTHROPIC_BASE_URL", provider.clone()),
            ("ANTHROPIC_API_KEY", "scripted".to_owned()),
            ("ANTHROPIC_MODEL", "scripted".to_owned()),
            ("ANTHROPIC_SMALL_FAST_MODEL", "scripted".to_owned()),
            ("HTTPS_PROXY", provider),
            ("NO_PROXY", "127.0.0.1".to_owned()),
            ("IS_SANDBOX", "1".to_owned()),
        ];
        let command = vec!["node".to_owned(), cli.display().to_string()];
        TestAgent::new("Claude Code", binary, command, Some(model), variables)
    }

    fn new(
        name: &'static str,
        binary: &Path,
        command: Vec<String>,
        model: Option<OwnedProcess>,
        variables: Vec<(&'static str, String)>,
    ) -> Result<TestAgent, String> {
        let folder = TemporaryFolder::new("bench-agents", &["state"])?;
        let binary = binary.to_owned();
        Ok(TestAgent { name, binary, command, variables, _model: model, folder })
    }

    /// The agent, as the gateway would start it: in an empty folder, without the user's variables.
    pub(super) fn bare_command(&self) -> Result<Command, String> {
        let (program, first) = self.command.split_first().ok_or("no command")?;
        let mut command = Command::new(program);
        command.args(first).current_dir(self.new_folder()?);
        isolate(&mut command, &self.folder.path).map_err(|error| error.to_string())?;
        command.env("CLAUDE_CONFIG_DIR", self.folder.path.join("state"));
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }

    /// A gateway with at most so many agents, which end after so many idle seconds.
    pub(super) fn gateway(
        &self,
        recording: RunRecording,
        most: u32,
        idle: u32,
    ) -> Result<AgentGateway, String> {
        let folder = self.new_folder()?;
        let config = folder.join("foxwedge.toml");
        let variables = self.variables.iter().map(|(name, value)| format!("{name} = {value:?}"));
        let text = format!(
            "[[upstream]]\nname = \"{MODEL}\"\nkind = \"claude-code\"\ncommand = {:?}\n\
             state = \"{}\"\nset_env = {{ {} }}\nmax_processes = {most}\nidle_timeout = \"{idle}s\"\n\
             [[route]]\nmodel = \"{MODEL}\"\nupstream = \"{MODEL}\"\n",
            self.command,
            self.folder.path.join("state").display(),
            variables.collect::<Vec<_>>().join(", "),
        );
        fs::write(&config, text).map_err(|error| error.to_string())?;
        let address = free_address()?;
        let store_runs = if recording == RunRecording::All { "true" } else { "false" };
        let mut command = Command::new(&self.binary);
        command.args(["serve", "--log", "off", "--store-runs", store_runs, "--listen", &address]);
        command.arg("--config").arg(&config).arg("--store").arg(folder.join("runs.db"));
        isolate(&mut command, &self.folder.path).map_err(|error| error.to_string())?;
        command.env("FOXWEDGE_TOKEN", TOKEN).current_dir(&folder).stdout(Stdio::null());
        let log = folder.join("log");
        let file = File::create(&log).map_err(|error| error.to_string())?;
        let process = OwnedProcess::start(command.stderr(file))?;
        let gateway = AgentGateway { process, address };
        wait_until("the gateway replies", || gateway.client().get("/health").is_ok())
            .map_err(|it| format!("{it}\n{}", fs::read_to_string(&log).unwrap_or_default()))?;
        Ok(gateway)
    }

    fn new_folder(&self) -> Result<PathBuf, String> {
        self.folder.folder(&format!("folder-{}", number()))
    }

    /// How many files agents have left behind.
    pub(super) fn files_left(&self) -> usize {
        fs::read_dir(self.folder.path.join("temporary")).map_or(0, Iterator::count)
    }
}

/// A running gateway. Dropping it asks it to end.
pub(super) struct AgentGateway {
    process: OwnedProcess,
    address: String,
}

impl AgentGateway {
    pub(super) fn client(&self) -> TimedClient {
        TimedClient::new(&self.address)
    }

    pub(super) fn id(&self) -> u32 {
        self.process.id()
    }

    /// What it counts of its agents.
    pub(super) fn counts(&self) -> Result<AgentCounts, String> {
        let health = self.client().get("/health")?;
        let agents = &health["agents"];
        let read = |name: &str| agents[name].as_u64().ok_or_else(|| format!("{name}: {health}"));
        Ok(AgentCounts {
            processes: read("processes")?,
            waiting: read("waiting")?,
            calls: read("calls")?,
        })
    }

    /// Milliseconds of CPU time that it has used. Linux counts them in hundredths of a second.
    pub(super) fn cpu(&self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.id())).unwrap_or_default();
        let behind = stat.rsplit_once(") ").map_or("", |(_, behind)| behind);
        let ticks = behind.split(' ').skip(11).take(2).filter_map(|it| it.parse::<f64>().ok());
        ticks.sum::<f64>() * 10.0
    }

    /// The processes that it has started.
    pub(super) fn children(&self) -> Vec<u32> {
        children(self.id())
    }
}

impl Drop for AgentGateway {
    fn drop(&mut self) {
        // One that does not end is killed with its process.
        let _ = self.process.stop("the gateway");
    }
}

/// What a gateway counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct AgentCounts {
    pub(super) processes: u64,
    pub(super) waiting: u64,
    pub(super) calls: u64,
}
