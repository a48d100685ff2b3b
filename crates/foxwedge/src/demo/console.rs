//! `foxwedge demo --console`: the console with sample data. Starts a gateway in a temporary home
//! folder with a broken session, sends requests that the gateway repairs, and starts runs until
//! Ctrl-C.
//!
//! All of it runs this program in child processes, so the console shows what `serve` and `chat` do.

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
use foxwedge_local::{language::localize, output, signals::ProcessSignals};

/// A session of Claude Code 2.0.77 that lost power while it wrote a tool result: the next prompt
/// follows the torn line, and the agent loses everything before it.
const DEMO_SESSION: &str = include_str!("session.jsonl");
/// The id of that session.
const ID: &str = "02875600-5448-4024-b80c-0014fb984e0b";
/// The token of the gateway, which listens on a loopback address only.
const TOKEN: &str = "fw_demo_0123456789abcdef0123456789abcdef";
/// Time limit for the gateway to start listening.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// Time limit for a run to end.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Prompts for the scripted model, and whether the run is stopped.
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

/// Whether a run is stopped before it ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DemoRunStop {
    Yes,
    No,
}

/// Serves the console until Ctrl-C.
pub(super) fn show_console() -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut signals = ProcessSignals::listen()?;
        let home = DemoHome::new()?;
        let port = free_port()?;
        let mut gateway = home.serve(port)?;
        let mut run = None;
        let result = tokio::select! {
            result = run_demo(&home, port, &mut gateway, &mut run) => result,
            () = signals.next() => Ok(ExitCode::SUCCESS),
        };
        // A run that is stopped ends what its tools started.
        if let Some(mut run) = run {
            interrupt(&run);
            let _ = timeout(STOP_TIMEOUT, run.wait()).await;
            let _ = run.kill().await;
        }
        let _ = gateway.kill().await;
        result
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
    let text = format!(
        "The console is at\n\n  http://127.0.0.1:{port}/#token={TOKEN}\n\n\
         Start: what needs attention. One session was left broken: review the repair, apply it, undo it.\n\
         Requests: histories that a provider rejects, and what the gateway changed.\n\
         Runs: one after the other; one of them is stopped before it ends.\n\n\
         Ctrl-C ends the demo and removes its files.\n"
    );
    output::write_stderr(&text.split_inclusive('\n').map(localize).collect::<String>());
    loop {
        for (prompt, stopped) in DEMO_RUNS {
            home.run(prompt, stopped, run).await?;
            sleep(Duration::from_secs(2)).await;
        }
    }
}

/// A temporary home folder, removed on drop.
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
            fs::create_dir_all(folder).context("the demo cannot create its temporary folder")?;
        }
        fs::write(sessions.join(format!("{ID}.jsonl")), DEMO_SESSION)?;
        fs::write(work.join("tide.txt"), "high water at 6\n")?;
        fs::write(home.0.join("token"), TOKEN)?;
        make_private(&home.0.join("token"))?;
        Ok(home)
    }

    /// The folder that the runs' tools work in.
    fn work(&self) -> PathBuf {
        self.0.join("tide")
    }

    /// A command that runs this program in this home folder, without our environment variables.
    fn program(&self, args: &[&str]) -> anyhow::Result<Command> {
        let mut command =
            Command::new(env::current_exe().context("the path of this program is unknown")?);
        command.args(args).env_clear().env("HOME", &self.0);
        command.env("FOXWEDGE_STORE", self.0.join("demo.db"));
        if let Some(path) = env::var_os("PATH") {
            command.env("PATH", path);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.kill_on_drop(true);
        // Ctrl-C reaches only this process, not the children.
        #[cfg(unix)]
        command.process_group(0);
        Ok(command)
    }

    fn serve(&self, port: u16) -> anyhow::Result<Child> {
        let listen = format!("127.0.0.1:{port}");
        let args =
            ["serve", "--demo", "--listen", &listen, "--store-content", "true", "--token-file"];
        let mut command = self.program(&args)?;
        command.arg(self.0.join("token"));
        command.spawn().context("the gateway cannot be started")
    }

    /// Runs one prompt to its end. While it runs, its process is in `child_slot`.
    async fn run(
        &self,
        prompt: &str,
        stopped: DemoRunStop,
        child_slot: &mut Option<Child>,
    ) -> anyhow::Result<()> {
        let mut command = self.program(&["chat", "--yes", "--quiet", "-p", prompt])?;
        command.current_dir(self.work());
        let run = child_slot.insert(command.spawn().context("a run cannot be started")?);
        if stopped == DemoRunStop::Yes {
            sleep(Duration::from_secs(4)).await;
            interrupt(run);
        }
        run.wait().await?;
        *child_slot = None;
        Ok(())
    }
}

/// Sends broken histories through the gateway.
async fn send_requests(port: u16) -> anyhow::Result<()> {
    for history in &DEMO_HISTORIES {
        let path = match history.profile {
            Profile::Anthropic => gateway::MESSAGES,
            Profile::OpenaiResponses => "/v1/responses",
            // Bare lists of messages, and rules that the route of the demo does not apply.
            Profile::OpenaiChat
            | Profile::Gemini
            | Profile::Bedrock
            | Profile::GeminiInteractions
            | Profile::Mistral
            | Profile::Deepseek
            | Profile::Strict => continue,
        };
        gateway::send_request(port, path, history.history, Some(TOKEN)).await?;
    }
    Ok(())
}

/// Makes a file readable by its owner only.
fn make_private(file: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(file, fs::Permissions::from_mode(0o600))?;
    }
    let _ = file;
    Ok(())
}

/// Sends SIGINT, as Ctrl-C does in a terminal.
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

/// Waits until the gateway listens.
async fn wait_until_listening(port: u16, gateway: &mut Child) -> anyhow::Result<()> {
    let deadline = Instant::now() + START_TIMEOUT;
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.is_err() {
        if let Some(status) = gateway.try_wait()? {
            anyhow::bail!("the demo gateway exited with {status}");
        }
        if Instant::now() > deadline {
            anyhow::bail!("the demo gateway did not start listening in time");
        }
        sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}
