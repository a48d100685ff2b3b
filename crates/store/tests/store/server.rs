//! A real PostgreSQL server for tests, in its own folder, deleted with this process.
//!
//! Only the standard library is used, so that other test programs can include this file. The server
//! listens on a socket inside its folder, where every user with access is trusted, and on a
//! loopback port, where a password is needed.

use std::{
    env, fs,
    io::{self, Read},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

/// The URL of a server to use instead of starting one.
pub(crate) const VARIABLE: &str = "FOXWEDGE_TEST_POSTGRES";

/// The value of the variable if no server is wanted.
pub(crate) const OFF: &str = "off";

/// Whether the server syncs its disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Care {
    /// As in production: committed data is on disk.
    Durable,
    /// Fast: a crash of the machine may lose everything, a crash of the server nothing.
    Fast,
}

/// A running server. It ends, and its folder is deleted, when this value is dropped or the process
/// is gone for any reason.
pub(crate) struct Server {
    folder: PathBuf,
    binaries: PathBuf,
    account: Option<Account>,
    port: u16,
    settled: bool,
    care: Care,
    settings: Vec<String>,
    process: Option<Child>,
    keeper: Option<Child>,
}

/// The account that the server runs as, because it refuses to run as root.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Account(String);

impl Server {
    /// Starts a server. `cache` is a folder that keeps an empty database between starts; `settings`
    /// are lines like `ssl=on`. The error is the reason why no server can run.
    pub(crate) fn start(cache: &Path, care: Care, settings: &[&str]) -> Result<Server, String> {
        if std::env::var(VARIABLE).is_ok_and(|value| value == OFF) {
            return Err(format!("{VARIABLE} is `{OFF}`"));
        }
        let binaries = binaries().ok_or("neither `initdb` nor `postgres` is installed")?;
        let account = account()?;
        let template = template(cache, &binaries, account.as_ref())?;
        let folder = fresh_folder()?;
        let mut server = Server {
            keeper: Some(keep(&folder)?),
            folder,
            binaries,
            account,
            port: 0,
            settled: false,
            care,
            settings: settings.iter().map(|line| (*line).to_owned()).collect(),
            process: None,
        };
        copy(&template, &server.data())?;
        give(&server.folder, server.account.as_ref())?;
        server.launch()?;
        Ok(server)
    }

    /// Writes a file to the server's folder, readable only by the server. Returns its path.
    pub(crate) fn put(&self, name: &str, content: &[u8]) -> Result<PathBuf, String> {
        let path = self.folder.join(name);
        fs::write(&path, content).map_err(describe(name))?;
        give(&path, self.account.as_ref())?;
        Ok(path)
    }

    /// The loopback port.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The URL of the socket, without parameters.
    pub(crate) fn url(&self) -> String {
        let socket = self.folder.to_string_lossy().replace('%', "%25").replace('/', "%2F");
        format!("postgres://postgres@{socket}:{}/postgres", self.port)
    }

    /// Stops the server as an administrator does: connections are cut and transactions rolled back.
    pub(crate) fn stop(&mut self) -> Result<(), String> {
        self.end("INT")
    }

    /// Stops the server as a crash does.
    pub(crate) fn crash(&mut self) -> Result<(), String> {
        self.end("QUIT")
    }

    /// Starts it again at the same URL.
    pub(crate) fn launch(&mut self) -> Result<(), String> {
        let mut error = String::new();
        for _ in 0..5 {
            if self.port == 0 {
                self.port = free_port()?;
            }
            match self.try_launch() {
                Ok(()) => {
                    self.settled = true;
                    return Ok(());
                }
                Err(why) => error = why,
            }
            // Another process may have taken the port. A port that is in use by clients stays.
            if !self.settled {
                self.port = 0;
            }
        }
        Err(error)
    }

    fn try_launch(&mut self) -> Result<(), String> {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.folder.join("log"));
        let log = log.map_err(describe("the server's log"))?;
        let errors = log.try_clone().map_err(describe("the server's log"))?;
        let mut command = as_account(self.account.as_ref(), &self.binaries.join("postgres"));
        command.arg("-D").arg(self.data()).arg("-k").arg(&self.folder);
        command.arg("-p").arg(self.port.to_string());
        for setting in self.lines() {
            command.arg("-c").arg(setting);
        }
        quiet(&mut command).stdout(log).stderr(errors);
        let mut child = command.spawn().map_err(describe("postgres"))?;
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            if let Ok(Some(status)) = child.try_wait() {
                return Err(format!("postgres ended ({status}): {}", self.last_log_lines()));
            }
            if self.is_ready() {
                self.process = Some(child);
                return Ok(());
            }
            if Instant::now() > deadline {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("postgres does not start: {}", self.last_log_lines()));
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = [
            "listen_addresses=127.0.0.1",
            "max_connections=300",
            "shared_buffers=32MB",
            "min_wal_size=8MB",
            "max_wal_size=256MB",
            "log_min_messages=warning",
        ]
        .map(str::to_owned)
        .to_vec();
        if self.care == Care::Fast {
            lines.extend(["fsync=off".to_owned(), "full_page_writes=off".to_owned()]);
        }
        lines.extend(self.settings.iter().cloned());
        lines
    }

    /// Whether the server has written `ready` to its PID file, which it does when it accepts
    /// connections.
    fn is_ready(&self) -> bool {
        let pid_file = fs::read_to_string(self.data().join("postmaster.pid")).unwrap_or_default();
        let port = pid_file.lines().nth(3) == Some(self.port.to_string().as_str());
        port && pid_file.lines().nth(7).is_some_and(|line| line.trim() == "ready")
    }

    fn last_log_lines(&self) -> String {
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().rev().take(3).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join(" / ")
    }

    fn end(&mut self, signal: &str) -> Result<(), String> {
        let Some(mut process) = self.process.take() else { return Ok(()) };
        let id = master(&self.data()).ok_or("the server has no process id")?;
        checked(Command::new("kill").arg(format!("-{signal}")).arg(id.to_string()), "kill")?;
        process.wait().map_err(describe("postgres"))?;
        Ok(())
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            // The keeper waits for the end of its input, then cleans up.
            drop(keeper.stdin.take());
            let _ = keeper.wait();
        }
        if let Some(mut process) = self.process.take() {
            let _ = process.wait();
        }
    }
}

/// Where the programs are: on the path, or where distributions install them.
fn binaries() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = env::split_paths(&path).collect();
    folders.push(PathBuf::from("/usr/local/bin"));
    let mut versions: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .collect();
    versions.sort();
    folders.extend(versions.into_iter().rev());
    folders.push(PathBuf::from("/usr/local/pgsql/bin"));
    folders.push(PathBuf::from("/opt/homebrew/bin"));
    let both =
        |folder: &PathBuf| ["initdb", "postgres"].iter().all(|name| folder.join(name).is_file());
    folders.into_iter().find(both)
}

/// The first account that the server may run as; `None` if we are not root.
fn account() -> Result<Option<Account>, String> {
    if output(Command::new("id").arg("-u"), "id")?.trim() != "0" {
        return Ok(None);
    }
    if !Command::new("setpriv")
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
    {
        return Err("the server cannot run as root, and `setpriv` is not installed".to_owned());
    }
    let known = |name: &&str| {
        Command::new("id").arg(name).output().is_ok_and(|output| output.status.success())
    };
    let name = ["postgres", "nobody"].into_iter().find(|name| known(name));
    Ok(Some(Account(name.ok_or("no account for the server: it cannot run as root")?.to_owned())))
}

fn as_account(account: Option<&Account>, program: &Path) -> Command {
    let Some(Account(name)) = account else { return Command::new(program) };
    let mut command = Command::new("setpriv");
    command.arg(format!("--reuid={name}")).arg("--regid").arg(group(name));
    command.arg("--clear-groups").arg(program);
    command
}

fn group(name: &str) -> String {
    let group = output(Command::new("id").arg("-gn").arg(name), "id").unwrap_or_default();
    if group.trim().is_empty() { name.to_owned() } else { group.trim().to_owned() }
}

/// An empty database, created once: `initdb` takes seconds, a copy almost none.
fn template(cache: &Path, binaries: &Path, account: Option<&Account>) -> Result<PathBuf, String> {
    let initdb = binaries.join("initdb");
    let version = output(Command::new(&initdb).arg("--version"), "initdb")?;
    let version: String = version.chars().filter(char::is_ascii_alphanumeric).collect();
    let template = cache.join(format!("postgres-{version}"));
    if template.is_dir() {
        return Ok(template);
    }
    let folder = fresh_folder()?;
    let created = (|| {
        give(&folder, account)?;
        let data = folder.join("data");
        let mut command = as_account(account, &initdb);
        command.arg("-D").arg(&data).args(["-U", "postgres", "-E", "UTF8", "--locale=C"]);
        command.args(["--no-sync", "--wal-segsize=1", "--auth-local=trust"]);
        command.arg("--auth-host=scram-sha-256");
        output(quiet(&mut command), "initdb")?;
        fs::create_dir_all(cache).map_err(describe("the folder of the empty database"))?;
        // Another process may do the same: the rename is atomic.
        let sibling = cache.join(format!("postgres-{version}.{}", std::process::id()));
        copy(&data, &sibling)?;
        if fs::rename(&sibling, &template).is_err() {
            let _ = fs::remove_dir_all(&sibling);
        }
        if template.is_dir() {
            Ok(template)
        } else {
            Err("the empty database has no place".to_owned())
        }
    })();
    let _ = fs::remove_dir_all(&folder);
    created
}

fn fresh_folder() -> Result<PathBuf, String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let base = env::temp_dir();
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = base.join(format!("foxwedge-postgres-{}-{count}", std::process::id()));
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(format!("a folder for the server: {error}")),
        }
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    checked(Command::new("cp").arg("-R").arg(from).arg(to), "cp")
}

/// Gives a folder to the account, and to no other user.
fn give(folder: &Path, account: Option<&Account>) -> Result<(), String> {
    if let Some(Account(name)) = account {
        let owner = format!("{name}:{}", group(name));
        checked(Command::new("chown").arg("-R").arg(owner).arg(folder), "chown")?;
    }
    checked(Command::new("chmod").arg("-R").arg("go=").arg(folder), "chmod")
}

fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(describe("a free port"))?;
    Ok(listener.local_addr().map_err(describe("a free port"))?.port())
}

/// Starts a process in its own group that outlives ours by a moment. When its input closes, because
/// we end or die, it stops the server and deletes the folder.
fn keep(folder: &Path) -> Result<Child, String> {
    const SCRIPT: &str = r#"
        cat >/dev/null
        id=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
        if [ -n "$id" ]; then
            kill -QUIT "$id" 2>/dev/null
            for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
                [ -e "$1/data/postmaster.pid" ] || break
                sleep 0.1
            done
            [ -e "$1/data/postmaster.pid" ] && kill -KILL "$id" 2>/dev/null
        fi
        rm -rf "$1"
    "#;
    let mut command = Command::new("sh");
    command.arg("-c").arg(SCRIPT).arg("keeper").arg(folder);
    quiet(&mut command).stdin(Stdio::piped()).spawn().map_err(describe("sh"))
}

/// No terminal, none of our pipes, and no signals that are meant for us.
fn quiet(command: &mut Command) -> &mut Command {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null())
}

fn master(data: &Path) -> Option<u32> {
    fs::read_to_string(data.join("postmaster.pid")).ok()?.lines().next()?.trim().parse().ok()
}

fn checked(command: &mut Command, name: &str) -> Result<(), String> {
    output(command, name).map(drop)
}

fn output(command: &mut Command, name: &str) -> Result<String, String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(describe(name))?;
    let (mut out, mut errors) = (String::new(), String::new());
    if let Some(pipe) = child.stdout.as_mut() {
        pipe.read_to_string(&mut out).map_err(describe(name))?;
    }
    if let Some(pipe) = child.stderr.as_mut() {
        pipe.read_to_string(&mut errors).map_err(describe(name))?;
    }
    let status: ExitStatus = child.wait().map_err(describe(name))?;
    if status.success() { Ok(out) } else { Err(format!("{name}: {status}: {}", errors.trim())) }
}

fn describe(name: &str) -> impl Fn(io::Error) -> String {
    move |error| format!("{name}: {error}")
}
