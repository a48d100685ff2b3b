//! `cargo xtask live`: the real Claude Code as a live agent behind `foxwedge serve`.
//!
//! The built-in model is the provider; the gateway starts the vendor's command line, with nothing
//! of the user's around it. The scenarios are those that the tests run with an agent of our own, and
//! the Python SDK of OpenAI runs one more.

#[path = "../../../crates/foxwedge/tests/serve/wire.rs"]
#[allow(dead_code, reason = "tests need more of it")]
mod wire;
#[path = "../../../crates/foxwedge/tests/agents/chat.rs"]
#[allow(dead_code, reason = "tests need more of it")]
mod chat;
#[path = "../../../crates/foxwedge/tests/agents/stories.rs"]
mod stories;

use std::{
    cell::RefCell,
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::{
    SuiteError, binary,
    gateway_process::{GatewayProcess, TOKEN, start_model},
    install::{Language, MissingSoftware, PackageFolder, claude_code},
    process::{OwnedProcess, TemporaryFolder, children, is_alive, signal, wait_until},
    skip,
    verdict::print_job,
};
use crate::{Outcome, options::TaskOptions};
use chat::Door;
use stories::{STORIES, World};

const TEN_STEPS: &str = "ten steps of OpenAI's Python client with a restart in the middle";

/// Runs every scenario; fails if one did not end as it should.
pub(super) fn run(options: &TaskOptions) -> Result<(), SuiteError> {
    if !cfg!(target_os = "linux") {
        let missing = "processes can be looked at on Linux only".to_owned();
        return Err(MissingSoftware(missing).into());
    }
    let cli = options.path("--claude-code").map_or_else(claude_code, Ok)?;
    let binary = binary(options)?;
    let wanted = |name: &str| options.value("--story").is_none_or(|part| name.contains(part));
    let mut wrong = 0;
    for (name, story) in STORIES.iter().filter(|(name, _)| wanted(name)) {
        let passed = print_job(name, || run_scenario(&binary, &cli, |gateway| story(gateway)));
        wrong += usize::from(!passed);
    }
    if wanted(TEN_STEPS) {
        let python = "acceptance/gateway/python";
        match PackageFolder::install(Language::Python, python, "gateway") {
            Ok(packages) => {
                let scenario = |gateway: &mut LiveGateway| ten_steps(&packages, gateway);
                let passed = print_job(TEN_STEPS, || run_scenario(&binary, &cli, scenario));
                wrong += usize::from(!passed);
            }
            Err(missing) => skip(missing)?,
        }
    }
    if wrong == 0 {
        Ok(())
    } else {
        Err(format!("{wrong} stories did not end as they should").into())
    }
}

/// One scenario, with a gateway of its own.
fn run_scenario(
    binary: &Path,
    cli: &Path,
    scenario: impl Fn(&mut LiveGateway) -> Outcome,
) -> Outcome {
    let mut gateway = LiveGateway::start(binary, cli)?;
    let outcome = scenario(&mut gateway);
    outcome.map_err(|error| format!("{error}\n{}", gateway.log()))?;
    gateway.end()
}

/// A gateway with the real command line behind it, and the built-in model behind that.
struct LiveGateway {
    binary: PathBuf,
    gateway: Option<GatewayProcess>,
    _model: OwnedProcess,
    /// Every agent that was ever started.
    agents: RefCell<Vec<u32>>,
    /// The last field: no process may write into it any more when it goes.
    folder: TemporaryFolder,
}

impl LiveGateway {
    fn start(binary: &Path, cli: &Path) -> Result<LiveGateway, String> {
        let folder = TemporaryFolder::new("live", &["state"])?;
        let (model, provider) = start_model(binary)?;
        let config = folder.path.join("foxwedge.toml");
        let written = fs::write(&config, configuration(&folder.path, cli, &provider));
        written.map_err(|error| format!("{}: {error}", config.display()))?;
        let gateway = Some(GatewayProcess::start(binary, &folder.path)?);
        let (binary, agents) = (binary.to_owned(), RefCell::default());
        Ok(LiveGateway { binary, gateway, _model: model, agents, folder })
    }

    fn log(&self) -> String {
        self.gateway.as_ref().map(GatewayProcess::log).unwrap_or_default()
    }

    /// Everything ends well, and nothing is left.
    fn end(mut self) -> Result<(), String> {
        self.agents();
        if let Some(mut gateway) = self.gateway.take() {
            gateway.process.stop("the gateway")?;
        }
        self.wait_for_agents()?;
        match fs::read_dir(self.folder.path.join("temporary")).map(Iterator::count) {
            Ok(0) => Ok(()),
            Ok(left) => Err(format!("{left} temporary files are left")),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Waits until every agent has ended; those that do not are killed, and are an error.
    fn wait_for_agents(&self) -> Result<(), String> {
        let left = || -> Vec<u32> {
            self.agents.borrow().iter().copied().filter(|agent| is_alive(*agent)).collect()
        };
        wait_until("every agent has ended", || left().is_empty()).map_err(|error| {
            let left = left();
            left.iter().for_each(|process| signal(*process, "KILL"));
            format!("{error}: {left:?}")
        })
    }
}

impl World for LiveGateway {
    fn door(&self) -> Door {
        let address = self.gateway.as_ref().map(|gateway| gateway.address.clone());
        Door { address: address.unwrap_or_default(), token: TOKEN.to_owned() }
    }

    fn agents(&self) -> Vec<u32> {
        let gateway = self.gateway.as_ref().map(|gateway| gateway.process.id());
        let agents = gateway.map(children).unwrap_or_default();
        self.agents.borrow_mut().extend(&agents);
        agents
    }

    fn restart(&mut self) -> Result<(), String> {
        self.agents();
        self.gateway = None;
        self.wait_for_agents()?;
        self.gateway = Some(GatewayProcess::start(&self.binary, &self.folder.path)?);
        Ok(())
    }

    fn kill(&self, process: u32) {
        signal(process, "KILL");
    }
}

impl Drop for LiveGateway {
    fn drop(&mut self) {
        self.agents();
        self.gateway = None;
        let _ = self.wait_for_agents();
    }
}

fn configuration(folder: &Path, cli: &Path, provider: &str) -> String {
    let agents = [
        ("agent", "scripted", ""),
        ("agent-slow", "scripted?pace=50", ""),
        ("agent-ask", "scripted", "ask_user = true\nbare = false\n"),
    ];
    let (cli, state) = (cli.display(), folder.join("state"));
    let upstream = |(name, model, more): (&str, &str, &str)| {
        // What is not for the model ends there too, and is refused.
        format!(
            "[[upstream]]\nname = \"{name}\"\nkind = \"claude-code\"\n\
             command = [\"node\", \"{cli}\"]\nstate = \"{}\"\n{more}\
             set_env = {{ ANTHROPIC_BASE_URL = \"{provider}\", ANTHROPIC_API_KEY = \"scripted\", \
             ANTHROPIC_MODEL = \"{model}\", ANTHROPIC_SMALL_FAST_MODEL = \"scripted\", \
             HTTPS_PROXY = \"{provider}\", NO_PROXY = \"127.0.0.1\", IS_SANDBOX = \"1\" }}\n\
             [[route]]\nmodel = \"{name}\"\nupstream = \"{name}\"\n",
            state.display(),
        )
    };
    agents.map(upstream).concat()
}

/// A conversation of OpenAI's Python client, which says when the gateway is to be restarted.
fn ten_steps(packages: &PackageFolder, gateway: &mut LiveGateway) -> Outcome {
    let base = |gateway: &LiveGateway| format!("http://{}", gateway.door().address);
    let mut command: Command = packages.script("ten_steps");
    command.args([base(gateway), TOKEN.to_owned()]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut client = command.spawn().map_err(|error| format!("the client: {error}"))?;
    let (stdin, stdout) = (client.stdin.take(), client.stdout.take());
    let (Some(mut stdin), Some(stdout)) = (stdin, stdout) else {
        return Err("the client has no pipes".to_owned());
    };
    let mut restarts = 0;
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        if line == "restart" {
            let restarted = gateway.restart().and_then(|()| {
                writeln!(stdin, "{}", base(gateway)).map_err(|error| error.to_string())
            });
            if restarted.is_err() {
                let _ = client.kill();
                let _ = client.wait();
                return restarted;
            }
            restarts += 1;
        }
    }
    let ended = client.wait_with_output().map_err(|error| error.to_string())?;
    match (ended.status.success(), restarts) {
        (true, 1) => Ok(()),
        _ => Err(format!("{} {}", ended.status, String::from_utf8_lossy(&ended.stderr))),
    }
}
