//! A gateway with the real command line behind it, and the built-in model behind that.

use std::{
    env, fs,
    fs::File,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{self, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{
    chat::Door,
    process::{Ours, PATIENCE, children, lives, signal},
    stories::World,
};

/// No secret: whoever has it can reach a model that knows nothing, for a minute.
const TOKEN: &str = "foxwedge-acceptance-0123456789abcdef0123456789abcdef";

/// Lines of its log that are shown with a story that went wrong.
const SHOWN: usize = 12;

pub(super) struct Real {
    binary: PathBuf,
    folder: PathBuf,
    gateway: Option<Ours>,
    _model: Ours,
    address: String,
    /// Every agent that was ever seen.
    seen: std::cell::RefCell<Vec<u32>>,
}

impl Real {
    /// Starts the model and the gateway, with a folder of their own for everything.
    pub(super) fn start(binary: &Path, cli: &Path) -> Result<Real, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("foxwedge-live-{}-{count}", process::id()));
        let cannot = |error| format!("{}: {error}", folder.display());
        for name in ["home", "state", "temporary"] {
            fs::create_dir_all(folder.join(name)).map_err(cannot)?;
        }
        let (model, provider) = model(binary, &folder)?;
        fs::write(folder.join("foxwedge.toml"), config(&folder, cli, &provider)).map_err(cannot)?;
        let mut real = Real {
            binary: binary.to_owned(),
            folder,
            gateway: None,
            _model: model,
            address: String::new(),
            seen: Vec::new().into(),
        };
        real.serve()?;
        Ok(real)
    }

    /// The last things that the gateway said, but not what we asked to look around.
    pub(super) fn log(&self) -> String {
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let lines: Vec<&str> =
            log.lines().filter(|line| !line.contains("\"method\":\"GET\"")).collect();
        lines
            .iter()
            .skip(lines.len().saturating_sub(SHOWN))
            .fold(String::new(), |all, line| all + line + "\n")
    }

    /// Everything ends well, and nothing is left.
    pub(super) fn end(mut self) -> Result<(), String> {
        self.agents();
        if let Some(mut gateway) = self.gateway.take() {
            gateway.end()?;
        }
        self.nobody_is_left()?;
        match fs::read_dir(self.folder.join("temporary")).map(Iterator::count) {
            Ok(0) => Ok(()),
            Ok(left) => Err(format!("{left} temporary files are left")),
            Err(error) => Err(error.to_string()),
        }
    }

    fn serve(&mut self) -> Result<(), String> {
        let cannot = |error| format!("{}: {error}", self.folder.display());
        let log = self.folder.join("log");
        let mut command = Command::new(&self.binary);
        command.args(["serve", "--listen", "127.0.0.1:0", "--log", "json", "--config"]);
        command.arg(self.folder.join("foxwedge.toml"));
        // No key and no setting of this machine is any of its business here.
        command.env_clear().env("FOXWEDGE_TOKEN", TOKEN).env("HOME", self.folder.join("home"));
        command.env("TMPDIR", self.folder.join("temporary"));
        command.envs(env::var_os("PATH").map(|path| ("PATH", path)));
        command.stdout(Stdio::null()).stderr(File::create(&log).map_err(cannot)?);
        let mut gateway = Ours::start(&mut command)?;
        let began = Instant::now();
        self.address = loop {
            let lines = fs::read_to_string(&log).unwrap_or_default();
            let lines = lines.lines().filter_map(|line| serde_json::from_str(line).ok());
            let mut listening = lines.filter(|line: &Value| line["message"] == "listening");
            let address = listening.next().and_then(|line| line["address"].as_str().map(bare));
            if let Some(address) = address {
                break address;
            }
            let ended = gateway.0.try_wait().is_ok_and(|status| status.is_some());
            if ended || began.elapsed() > PATIENCE {
                return Err(format!("the gateway does not listen\n{}", self.log()));
            }
            thread::sleep(Duration::from_millis(20));
        };
        self.gateway = Some(gateway);
        Ok(())
    }

    fn nobody_is_left(&self) -> Result<(), String> {
        let began = Instant::now();
        loop {
            let left: Vec<u32> =
                self.seen.borrow().iter().copied().filter(|it| lives(*it)).collect();
            if left.is_empty() {
                return Ok(());
            }
            if began.elapsed() > PATIENCE {
                left.iter().for_each(|process| signal(*process, "KILL"));
                return Err(format!("agents are left: {left:?}"));
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl World for Real {
    fn door(&self) -> Door {
        Door { address: self.address.clone(), token: TOKEN.to_owned() }
    }

    fn agents(&self) -> Vec<u32> {
        let gateway = self.gateway.as_ref().map(|gateway| gateway.0.id());
        let agents = gateway.map(children).unwrap_or_default();
        self.seen.borrow_mut().extend(&agents);
        agents
    }

    fn restart(&mut self) -> Result<(), String> {
        self.agents();
        self.gateway = None;
        self.nobody_is_left()?;
        self.serve()
    }

    fn kill(&self, process: u32) {
        signal(process, "KILL");
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        self.agents();
        self.gateway = None;
        let _ = self.nobody_is_left();
        // What is left in the folder for temporary files does not matter.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn bare(address: &str) -> String {
    address.trim_start_matches("http://").to_owned()
}

/// The built-in model as a provider of its own, and where it is.
fn model(binary: &Path, folder: &Path) -> Result<(Ours, String), String> {
    let mut command = Command::new(binary);
    command.args(["scripted", "--listen", "127.0.0.1:0"]).env_clear().env("HOME", folder);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut model = Ours::start(&mut command)?;
    let stdout = model.0.stdout.take().ok_or("the model has no output")?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).map_err(|error| error.to_string())?;
    let address = line.trim().to_owned();
    if address.starts_with("http://") {
        Ok((model, address))
    } else {
        Err("the model does not say where it is".to_owned())
    }
}

fn config(folder: &Path, cli: &Path, provider: &str) -> String {
    let mut text = format!("store = \"sqlite:{}\"\n", folder.join("runs.db").display());
    let agents = [
        ("agent", "scripted", ""),
        ("agent-slow", "scripted?pace=50", ""),
        ("agent-ask", "scripted", "ask_user = true\nbare = false\n"),
    ];
    for (name, model, more) in agents {
        // Whatever is not for the model ends there too, and is refused.
        text.push_str(&format!(
            "[[upstream]]\nname = \"{name}\"\nkind = \"claude-code\"\n\
             command = [\"node\", \"{}\"]\nstate = \"{}\"\n{more}\
             set_env = {{ ANTHROPIC_BASE_URL = \"{provider}\", ANTHROPIC_API_KEY = \"scripted\", \
             ANTHROPIC_MODEL = \"{model}\", ANTHROPIC_SMALL_FAST_MODEL = \"scripted\", \
             HTTPS_PROXY = \"{provider}\", NO_PROXY = \"127.0.0.1\", IS_SANDBOX = \"1\" }}\n\
             [[route]]\nmodel = \"{name}\"\nupstream = \"{name}\"\n",
            cli.display(),
            folder.join("state").display(),
        ));
    }
    text
}
