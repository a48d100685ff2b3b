//! `foxwedge demo --console`: the console with something to see. A gateway in a home of its own, with
//! a session that an agent left broken, requests that are repaired on their way, and runs that come
//! and go until somebody has seen enough.
//!
//! Everything is the program itself, started again: what is seen there is what `serve` and `chat` do.

use std::{
    env, fs, io,
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::{ExitCode, Stdio},
    time::Duration,
};

use anyhow::Context as _;
use foxwedge_core::Profile;
use tokio::{
    net::TcpStream,
    process::{Child, Command},
    time::{Instant, sleep, timeout},
};

use super::{gateway, histories::DEMO_HISTORIES};
use crate::{cli_output, signals::ProcessSignals};

/// A session of Claude Code 2.0.77 that lost power while it wrote down an answer: the next prompt
/// stands behind the torn line, and the agent forgets everything before it.
const DEMO_SESSION: &str = include_str!("session.jsonl");
/// Its name there.
const ID: &str = "02875600-5448-4024-b80c-0014fb984e0b";
/// The token of a gateway that nobody but this program and a browser beside it can reach.
const TOKEN: &str = "fw_demo_0123456789abcdef0123456789abcdef";
/// How long a gateway may take to listen.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a run may take to end.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// What the runs are about: prompts for the built-in model, and whether somebody stops them.
const DEMO_RUNS: [(&str, DemoRunStop); 3] = [
    (
        r#"call list with {"path":"."} and call search with {"pattern":"tide"} and call run with {"command":"sleep 5; echo high water at 6"}"#,
        DemoRunStop::No,
    ),
    (
        r#"call read with {"path":"tide.txt"} and call run with {"command":"echo measuring; sleep 60"} and call write with {"path":"low.txt","content":"low water at 12"}"#,
        DemoRunStop::Yes,
    ),
    (r#"think, and call read with {"path":"missing.txt"}"#, DemoRunStop::No),
];

/// Whether a run is stopped in its middle.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DemoRunStop {
    Yes,
    No,
}

/// Shows the console until somebody has seen enough.
pub(super) fn show_console() -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut signals = ProcessSignals::listen()?;
        let home = DemoHome::new()?;
        let port = free_port()?;
        let mut gateway = home.serve(port)?;
        let mut run = None;
        let played = tokio::select! {
            played = run_demo(&home, port, &mut gateway, &mut run) => played,
            () = signals.next() => Ok(ExitCode::SUCCESS),
        };
        // A run that is stopped ends what its tools started.
        if let Some(mut run) = run {
            interrupt(&run);
            let _ = timeout(STOP_TIMEOUT, run.wait()).await;
            let _ = run.kill().await;
        }
        let _ = gateway.kill().await;
        played
    })
}

async fn run_demo(
    home: &DemoHome,
    port: u16,
    gateway: &mut Child,
    run: &mut Option<Child>,
) -> anyhow::Result<ExitCode> {
    wait_until_listening(port, gateway).await?;
    send_requests(port).await?;
    cli_output::write_stderr(&format!(
        "The console is at\n\n  http://127.0.0.1:{port}/#token={TOKEN}\n\n\
         Sessions: one that an agent left broken. Open it, look at the repair, apply it, undo it.\n\
         Requests: histories that a provider refuses, and what was changed on the way.\n\
         Runs: one after the other; one of them is stopped in its middle.\n\n\
         Ctrl-C ends it, and nothing stays.\n"
    ));
    loop {
        for (prompt, stopped) in DEMO_RUNS {
            home.run(prompt, stopped, run).await?;
            sleep(Duration::from_secs(2)).await;
        }
    }
}

/// A home that goes when it is dropped.
struct DemoHome(PathBuf);

impl Drop for DemoHome {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl DemoHome {
    fn new() -> anyhow::Result<DemoHome> {
        let home = DemoHome(env::temp_dir().join(format!("foxwedge-demo-{}", std::process::id())));
        let sessions = home.0.join(".claude/projects/-demo-tide");
        let work = home.work();
        for folder in [&sessions, &work] {
            fs::create_dir_all(folder).context("the demo needs a folder of its own")?;
        }
        fs::write(sessions.join(format!("{ID}.jsonl")), DEMO_SESSION)?;
        fs::write(work.join("tide.txt"), "high water at 6\n")?;
        fs::write(home.0.join("token"), TOKEN)?;
        make_private(&home.0.join("token"))?;
        Ok(home)
    }

    /// Where the tools of the runs work.
    fn work(&self) -> PathBuf {
        self.0.join("tide")
    }

    /// This program again, in this home and with nothing else of ours.
    fn program(&self, words: &[&str]) -> anyhow::Result<Command> {
        let mut command = Command::new(env::current_exe().context("this program is gone")?);
        command.args(words).env_clear().env("HOME", &self.0);
        command.env("FOXWEDGE_STORE", self.0.join("demo.db"));
        if let Some(path) = env::var_os("PATH") {
            command.env("PATH", path);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.kill_on_drop(true);
        // Ctrl-C is heard here, and by nobody else.
        #[cfg(unix)]
        command.process_group(0);
        Ok(command)
    }

    fn serve(&self, port: u16) -> anyhow::Result<Child> {
        let listen = format!("127.0.0.1:{port}");
        let words = ["serve", "--listen", &listen, "--content", "kept", "--token-file"];
        let mut command = self.program(&words)?;
        command.arg(self.0.join("token"));
        command.spawn().context("the gateway cannot be started")
    }

    /// One run, to its end. Whoever ends all of it finds it in `at_work`.
    async fn run(
        &self,
        prompt: &str,
        stopped: DemoRunStop,
        at_work: &mut Option<Child>,
    ) -> anyhow::Result<()> {
        let mut command = self.program(&["chat", "--yes", "--quiet", "-p", prompt])?;
        command.current_dir(self.work());
        let run = at_work.insert(command.spawn().context("a run cannot be started")?);
        if stopped == DemoRunStop::Yes {
            sleep(Duration::from_secs(4)).await;
            interrupt(run);
        }
        run.wait().await?;
        *at_work = None;
        Ok(())
    }
}

/// Sends what is broken through the gateway.
async fn send_requests(port: u16) -> anyhow::Result<()> {
    for story in DEMO_HISTORIES.iter().filter(|story| story.profile == Profile::Anthropic) {
        gateway::send_request(port, story.history, Some(TOKEN)).await?;
    }
    Ok(())
}

/// Nobody else may read a token.
fn make_private(file: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(file, fs::Permissions::from_mode(0o600))?;
    }
    let _ = file;
    Ok(())
}

/// What Ctrl-C does in a terminal.
fn interrupt(child: &Child) {
    #[cfg(unix)]
    {
        use rustix::process::{Pid, Signal, kill_process};
        let number = child.id().and_then(|number| i32::try_from(number).ok());
        if let Some(process) = number.and_then(Pid::from_raw) {
            let _ = kill_process(process, Signal::INT);
        }
    }
    let _ = child;
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// Waits until somebody listens.
async fn wait_until_listening(port: u16, gateway: &mut Child) -> anyhow::Result<()> {
    let until = Instant::now() + START_TIMEOUT;
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.is_err() {
        if let Some(status) = gateway.try_wait()? {
            anyhow::bail!("the gateway of the demo ended with {status}");
        }
        if Instant::now() > until {
            anyhow::bail!("the gateway of the demo does not listen");
        }
        sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}
