//! Gateways with an agent behind them, and everything they need, in a folder that goes at the end.

use std::{
    env,
    fs::{self, File},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{self, Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use super::{chat::MODEL, client::Client};
use crate::bench::{process::Running, stage::TOKEN};

/// Whatever takes longer does not happen.
const PATIENCE: Duration = Duration::from_secs(60);

const PAUSE: Duration = Duration::from_millis(5);

/// One kind of agent.
pub(super) struct World {
    pub(super) name: &'static str,
    binary: PathBuf,
    /// How the agent is started.
    command: Vec<String>,
    /// Variables that are set for it.
    set: Vec<(&'static str, String)>,
    /// Its provider, if it has none inside.
    _model: Option<Running>,
    folder: PathBuf,
}

/// Whether runs are written down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Record {
    None,
    All,
}

impl Record {
    pub(super) const BOTH: [Record; 2] = [Record::None, Record::All];

    pub(super) fn name(self) -> &'static str {
        match self {
            Record::None => "none",
            Record::All => "all",
        }
    }

    /// The value of `--store-runs`.
    fn store_runs(self) -> &'static str {
        match self {
            Record::None => "false",
            Record::All => "true",
        }
    }
}

impl World {
    /// The agent of this workspace.
    pub(super) fn fake(binary: &Path, agent: &Path) -> Result<World, String> {
        let command = vec![agent.display().to_string()];
        World::new("the agent of this workspace", binary, command, None, Vec::new())
    }

    /// Claude Code, with the built-in model as its provider.
    pub(super) fn real(binary: &Path, cli: &Path) -> Result<World, String> {
        let mut command = Command::new(binary);
        command.args(["scripted", "--listen", "127.0.0.1:0"]).env_clear().stderr(Stdio::null());
        let model = Running::telling(command)?;
        let provider = model.address.clone();
        // Whatever is not for the model ends there too, and is refused.
        let set = vec![
            ("ANTHROPIC_BASE_URL", provider.clone()),
            ("ANTHROPIC_API_KEY", "scripted".to_owned()),
            ("ANTHROPIC_MODEL", "scripted".to_owned()),
            ("ANTHROPIC_SMALL_FAST_MODEL", "scripted".to_owned()),
            ("HTTPS_PROXY", provider),
            ("NO_PROXY", "127.0.0.1".to_owned()),
            ("IS_SANDBOX", "1".to_owned()),
        ];
        let command = vec!["node".to_owned(), cli.display().to_string()];
        World::new("Claude Code", binary, command, Some(model), set)
    }

    fn new(
        name: &'static str,
        binary: &Path,
        command: Vec<String>,
        model: Option<Running>,
        set: Vec<(&'static str, String)>,
    ) -> Result<World, String> {
        let folder = unique(&env::temp_dir());
        for name in ["home", "state", "temporary"] {
            make(&folder.join(name))?;
        }
        let binary = binary.to_owned();
        Ok(World { name, binary, command, set, _model: model, folder })
    }

    /// The agent, as the gateway would start it: in a folder of its own, and knowing nothing.
    pub(super) fn agent(&self) -> Result<Command, String> {
        let (program, first) = self.command.split_first().ok_or("no command")?;
        let folder = unique(&self.folder);
        make(&folder)?;
        let mut command = Command::new(program);
        command.args(first).current_dir(folder);
        self.alone(&mut command);
        command.env("CLAUDE_CONFIG_DIR", self.folder.join("state"));
        command.envs(self.set.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }

    /// A gateway with at most so many agents, which end when they rest for so many seconds.
    pub(super) fn gateway(&self, record: Record, most: u32, idle: u32) -> Result<Gateway, String> {
        let folder = unique(&self.folder);
        make(&folder)?;
        let config = folder.join("foxwedge.toml");
        let set: Vec<String> =
            self.set.iter().map(|(name, value)| format!("{name} = {value:?}")).collect();
        let text = format!(
            "[[upstream]]\nname = \"{MODEL}\"\nkind = \"claude-code\"\ncommand = {:?}\n\
             state = \"{}\"\nset_env = {{ {} }}\nmax_processes = {most}\nidle_timeout = \"{idle}s\"\n\
             [[route]]\nmodel = \"{MODEL}\"\nupstream = \"{MODEL}\"\n",
            self.command,
            self.folder.join("state").display(),
            set.join(", "),
        );
        fs::write(&config, text).map_err(|error| error.to_string())?;
        let listener = TcpListener::bind(("127.0.0.1", 0)).and_then(|found| found.local_addr());
        let address = listener.map_err(|error| error.to_string())?.to_string();
        let mut command = Command::new(&self.binary);
        command.args([
            "serve",
            "--log",
            "off",
            "--store-runs",
            record.store_runs(),
            "--listen",
            &address,
        ]);
        command.arg("--config").arg(&config).arg("--store").arg(folder.join("runs.db"));
        self.alone(&mut command);
        command.env("FOXWEDGE_TOKEN", TOKEN).current_dir(&folder);
        let said = folder.join("said");
        let file = File::create(&said).map_err(|error| error.to_string())?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
        let child = command.spawn().map_err(|error| format!("the gateway: {error}"))?;
        let gateway = Gateway { child, address };
        let answers = || gateway.client().get("/health").is_ok();
        let waited = wait("the gateway answers", answers);
        waited.map_err(|it| format!("{it}\n{}", fs::read_to_string(&said).unwrap_or_default()))?;
        Ok(gateway)
    }

    /// Nothing of the user who measures gets in.
    fn alone(&self, command: &mut Command) {
        command.env_clear().env("HOME", self.folder.join("home"));
        command.env("TMPDIR", self.folder.join("temporary"));
        command.envs(env::var_os("PATH").map(|path| ("PATH", path)));
    }

    /// Files that agents have left.
    pub(super) fn left(&self) -> usize {
        fs::read_dir(self.folder.join("temporary")).map_or(0, Iterator::count)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // What is left in the folder for temporary files does not matter.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A gateway at work. Whoever lets go of it asks it to end.
pub(super) struct Gateway {
    child: Child,
    address: String,
}

impl Gateway {
    pub(super) fn client(&self) -> Client {
        Client::new(&self.address)
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it counts of its agents.
    pub(super) fn counts(&self) -> Result<Counts, String> {
        let health = self.client().get("/health")?;
        let agents = &health["agents"];
        let read = |name: &str| agents[name].as_u64().ok_or_else(|| format!("{name}: {health}"));
        Ok(Counts {
            processes: read("processes")?,
            waiting: read("waiting")?,
            calls: read("calls")?,
        })
    }

    /// Milliseconds of a processor that it has had. Linux counts them in hundredths of a second.
    pub(super) fn cpu(&self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.id())).unwrap_or_default();
        let behind = stat.rsplit_once(") ").map_or("", |(_, behind)| behind);
        let ticks = behind.split(' ').skip(11).take(2).filter_map(|it| it.parse::<f64>().ok());
        ticks.sum::<f64>() * 10.0
    }

    /// The processes that it has started and that do something.
    pub(super) fn children(&self) -> Vec<u32> {
        let all = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        ids.filter(|process| parent(*process) == Some(self.id())).collect()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        signal(self.id(), "TERM");
        let ended = wait("its end", || !matches!(self.child.try_wait(), Ok(None)));
        if ended.is_err() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// What a gateway counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Counts {
    pub(super) processes: u64,
    pub(super) waiting: u64,
    pub(super) calls: u64,
}

/// Waits until it is so.
pub(super) fn wait(what: &str, mut is_so: impl FnMut() -> bool) -> Result<(), String> {
    let start = Instant::now();
    while !is_so() {
        if start.elapsed() > PATIENCE {
            return Err(format!("it never happened: {what}"));
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}

/// The process that started another one; nothing if that one has ended.
pub(super) fn parent(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, behind) = stat.rsplit_once(") ")?;
    let mut fields = behind.split(' ');
    let lives = fields.next().is_some_and(|state| !["Z", "X"].contains(&state));
    fields.next()?.parse().ok().filter(|_| lives)
}

/// Sends a signal to a process of ours.
pub(super) fn signal(process: u32, name: &str) {
    let mut command = Command::new("kill");
    command.args([&format!("-{name}"), &process.to_string()]).stderr(Stdio::null());
    // Whatever has ended by itself in between cannot be told anything, and need not be.
    let _ = command.status();
}

/// A name in a folder that nobody has.
fn unique(folder: &Path) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    folder.join(format!("foxwedge-bench-agents-{}-{next}", process::id()))
}

fn make(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}
