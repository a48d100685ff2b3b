//! The process of a server: its pipes, its last words, its end with everything it started. It knows
//! nothing about what is said over the pipes.

use std::{
    collections::VecDeque,
    ffi::OsString,
    io,
    path::Path,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::AsyncReadExt as _,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    sync::watch,
    task::JoinHandle,
    time::timeout,
};

/// Bytes of what it says on stderr that are kept for an error message: the last ones.
const WORDS: usize = 4 << 10;
/// How long is waited for the last of what it says on stderr.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long a process may take to end by itself, and again after it was asked to.
const GRACE: Duration = Duration::from_secs(2);

/// A process. Dropping it kills it, with everything it started.
#[derive(Debug)]
pub(super) struct Process {
    /// Its number, which is that of its group, too.
    number: Option<u32>,
    /// How it ended, once it has.
    ended: watch::Receiver<Option<String>>,
    words: Arc<Mutex<Words>>,
    /// Values that no message may hold.
    secrets: Vec<String>,
    /// Why we ended it, if that was no wish of anybody.
    fault: Mutex<Option<&'static str>>,
}

/// The last of what it said on stderr.
#[derive(Debug, Default)]
struct Words {
    bytes: VecDeque<u8>,
    /// Something stood before them.
    cut: bool,
}

/// Its input and its output.
pub(super) type Pipes = (ChildStdin, ChildStdout);

impl Process {
    /// Starts it.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(super) fn start(
        command: &[String],
        env: &[(String, String)],
        folder: Option<&Path>,
        secrets: Vec<String>,
    ) -> io::Result<(Process, Pipes)> {
        let Some((program, arguments)) = command.split_first() else {
            return Err(io::Error::new(io::ErrorKind::NotFound, "no command is set"));
        };
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(seen(std::env::vars_os()));
        command.envs(env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        if let Some(folder) = folder {
            command.current_dir(folder);
        }
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        let number = child.id();
        let missing = || io::Error::other("a pipe is missing");
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let words = Arc::default();
        let listener = tokio::spawn(listen(stderr, Arc::clone(&words)));
        let (told, ended) = watch::channel(None);
        // It ends with the process, which is killed when whoever holds this lets go of it.
        tokio::spawn(keep(child, number, listener, told));
        let fault = Mutex::new(None);
        Ok((Process { number, ended, words, secrets, fault }, (stdin, stdout)))
    }

    /// Waits until it has ended.
    pub(super) async fn ended(&self) {
        // Whoever tells it is gone only with the whole runtime.
        let _ = self.ended.clone().wait_for(Option::is_some).await;
    }

    /// Kills it at once, for a reason that is told from now on.
    pub(super) fn kill_for(&self, fault: &'static str) {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
        self.kill();
    }

    /// Kills it at once, with everything it started.
    pub(super) fn kill(&self) {
        // What has ended took its group with it, and its number may be another's by now.
        if self.ended.borrow().is_none() {
            signal(self.number, Force::Kill);
        }
    }

    /// Ends it, after its input was closed: waits, asks, kills.
    pub(super) async fn end(&self) {
        if timeout(GRACE, self.ended()).await.is_ok() {
            return;
        }
        signal(self.number, Force::Wish);
        if timeout(GRACE, self.ended()).await.is_ok() {
            return;
        }
        self.kill();
        let _ = timeout(GRACE, self.ended()).await;
    }

    /// How it ended and what it said last. Waits a moment for both.
    pub(super) async fn obituary(&self) -> String {
        let _ = timeout(LAST_WORDS, self.ended()).await;
        let fault = *self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        let how = match (fault, self.ended.borrow().as_deref()) {
            (Some(fault), _) => fault.to_owned(),
            (None, Some(how)) => how.to_owned(),
            (None, None) => "it closed its output".to_owned(),
        };
        let words = self.words();
        if words.is_empty() { how } else { format!("{how}; it said: {words}") }
    }

    /// The last of what it said on stderr, fit for a message: without secrets that we know.
    pub(super) fn words(&self) -> String {
        let bytes: Vec<u8> = {
            let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
            // Half a word may be half a secret.
            let whole = words.bytes.iter().position(u8::is_ascii_whitespace);
            let whole = whole.filter(|_| words.cut);
            words.bytes.iter().skip(whole.map_or(0, |end| end + 1)).copied().collect()
        };
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        for secret in &self.secrets {
            text = text.replace(secret, "[secret]");
        }
        let plain: String = text
            .chars()
            .map(|c| if c == '\n' { ' ' } else { c })
            .filter(|c| !c.is_control() && *c != '\u{fffd}')
            .collect();
        plain.trim().to_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Waits for the end of a process, and takes along what it started.
async fn keep(
    mut child: Child,
    number: Option<u32>,
    listener: JoinHandle<()>,
    told: watch::Sender<Option<String>>,
) {
    let how = match child.wait().await {
        Ok(status) => format!("it ended with {status}"),
        Err(error) => format!("nobody knows how it ended: {error}"),
    };
    signal(number, Force::Kill);
    let _ = timeout(LAST_WORDS, listener).await;
    told.send_replace(Some(how));
}

/// Keeps the last of what it says.
async fn listen(mut stderr: ChildStderr, words: Arc<Mutex<Words>>) {
    let mut buffer = vec![0; WORDS];
    loop {
        let read = match stderr.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(read) => read,
        };
        let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
        words.bytes.extend(buffer.iter().take(read));
        let over = words.bytes.len().saturating_sub(WORDS);
        words.bytes.drain(..over);
        words.cut |= over > 0;
    }
}

/// How strongly a process is asked to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Force {
    Wish,
    Kill,
}

/// A signal for a process and everything it started, which is in its group. A call of the system:
/// it has to work while something is dropped.
#[cfg(unix)]
fn signal(number: Option<u32>, force: Force) {
    use rustix::process::{Pid, Signal, kill_process_group};
    let signal = match force {
        Force::Wish => Signal::TERM,
        Force::Kill => Signal::KILL,
    };
    let number = number.and_then(|number| i32::try_from(number).ok());
    if let Some(group) = number.and_then(Pid::from_raw) {
        // One that is gone already needs none.
        let _ = kill_process_group(group, signal);
    }
}

/// There are no groups: the process itself is killed when its handle is dropped.
#[cfg(not(unix))]
fn signal(_: Option<u32>, _: Force) {}

/// Variables that every server may see: what programs need to run at all.
const SEEN: [&str; 27] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "LANG",
    "TZ",
    "TMPDIR",
    "NODE_EXTRA_CA_CERTS",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "TEMP",
    "APPDATA",
    "LOCALAPPDATA",
    "USERPROFILE",
    "HOMEDRIVE",
    "HOMEPATH",
    "PROGRAMFILES",
];
const BEGINNINGS: [&str; 3] = ["LC_", "SSL_", "XDG_"];

/// What a server sees of our environment: keys stay here.
fn seen(
    all: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    all.filter(|(name, _)| {
        let Some(name) = name.to_str() else { return false };
        SEEN.contains(&name) || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stay_here() {
        let names =
            ["PATH", "LC_ALL", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "CLAUDE_X", "NPM_TOKEN"];
        let all = names.map(|name| (OsString::from(name), OsString::from("x")));
        let kept: Vec<_> =
            seen(all.into_iter()).filter_map(|(name, _)| name.into_string().ok()).collect();
        assert_eq!(kept, ["PATH", "LC_ALL"]);
    }
}
