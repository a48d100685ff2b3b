//! A program that runs beside us: its pipes, its stderr, and its end. What the lines in its pipes
//! mean is not known here.

use std::{
    io,
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};

use tokio::{
    process::{Child, ChildStdout, Command},
    sync::{Notify, watch},
    task::AbortHandle,
    time::timeout,
};

use crate::{ChildInput, ProcessSignal, own_group, signal_group, stderr_tail::StderrTail};

/// How long the exit and the last output on stderr are awaited for a message.
const MESSAGE_GRACE: Duration = Duration::from_millis(500);

/// What happens to the rest of the group when the process itself has exited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupAtExit {
    /// It is killed at once.
    Kill,
    /// It may go on, and write, until the process is ended or dropped.
    Keep,
}

/// A process in its own process group. Dropping it kills the group.
#[derive(Debug)]
pub struct PipedProcess {
    /// Its process id, which is also the id of its group.
    id: Option<u32>,
    at_exit: GroupAtExit,
    /// How it ended; `None` while it runs.
    exit: watch::Receiver<Option<Result<ExitStatus, String>>>,
    kill_request: Arc<Notify>,
    stderr_tail: StderrTail,
    /// Values that must not appear in messages.
    secrets: Vec<String>,
    writer: AbortHandle,
}

impl PipedProcess {
    /// Starts a command. At most `max_unread` bytes wait for a process that does not read.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(
        mut command: Command,
        at_exit: GroupAtExit,
        max_unread: usize,
        secrets: Vec<String>,
    ) -> io::Result<(PipedProcess, ChildInput, ChildStdout)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = own_group(&mut command).spawn()?;
        let id = child.id();
        let missing = || io::Error::other("a pipe is missing");
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let (input, writer) = ChildInput::new(stdin, max_unread);
        let stderr_tail = StderrTail::read(stderr);
        let (exit_sender, exit) = watch::channel(None);
        let kill_request = Arc::new(Notify::new());
        // Ends with the process, which is killed when `PipedProcess` is dropped.
        tokio::spawn(reap_process(child, at_exit, Arc::clone(&kill_request), exit_sender));
        let process =
            PipedProcess { id, at_exit, exit, kill_request, stderr_tail, secrets, writer };
        Ok((process, input, stdout))
    }

    /// Its process id, which is also the id of its group.
    pub fn id(&self) -> Option<u32> {
        self.id
    }

    /// How it ended, or why that is unknown; `None` while it runs.
    pub fn exit(&self) -> Option<Result<ExitStatus, String>> {
        self.exit.borrow().clone()
    }

    /// Waits until it has ended. Cancel safe.
    pub async fn wait_for_exit(&self) {
        // The sender is gone only with the whole runtime.
        let _ = self.exit.clone().wait_for(Option::is_some).await;
    }

    /// Waits a moment for its exit and the rest of stderr: a message shall have both.
    pub async fn wait_for_message(&self) {
        let both = async {
            self.wait_for_exit().await;
            self.stderr_tail.wait_for_end().await;
        };
        let _ = timeout(MESSAGE_GRACE, both).await;
    }

    /// The end of its stderr as one line for messages, without the secrets.
    pub fn stderr_message(&self) -> String {
        self.stderr_tail.to_message(&self.secrets)
    }

    /// The end of its stderr, without the secrets.
    pub fn stderr_text(&self) -> String {
        self.stderr_tail.to_text(&self.secrets)
    }

    /// Kills it at once, with its group.
    pub fn kill(&self) {
        // A group that was killed at the exit is gone, and its id may belong to another process.
        if self.at_exit == GroupAtExit::Keep || self.exit.borrow().is_none() {
            self.signal(ProcessSignal::Kill);
            self.kill_request.notify_one();
        }
    }

    /// Ends it with its group: first asks, then kills. Waits this long after each.
    pub async fn end(&self, grace: Duration) {
        if self.exit.borrow().is_none() {
            self.signal(ProcessSignal::Terminate);
            let _ = timeout(grace, self.wait_for_exit()).await;
        }
        // Its children may still run. The group id is not reused so soon.
        self.kill();
        // A process that cannot be killed is left to the system.
        let _ = timeout(grace, self.wait_for_exit()).await;
    }

    /// Drops it after its exit without killing its group.
    pub fn release_group(mut self) {
        self.id = None;
    }

    fn signal(&self, signal: ProcessSignal) {
        if let Some(id) = self.id {
            signal_group(id, signal);
        }
    }
}

impl Drop for PipedProcess {
    fn drop(&mut self) {
        self.kill();
        self.writer.abort();
    }
}

/// A command from a program and its arguments.
///
/// # Errors
/// If there is no program.
pub fn program_command(command: &[String]) -> io::Result<Command> {
    let missing = || io::Error::new(io::ErrorKind::NotFound, "no command is set");
    let (program, arguments) = command.split_first().ok_or_else(missing)?;
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(command)
}

/// Waits for the end of a process.
async fn reap_process(
    mut child: Child,
    at_exit: GroupAtExit,
    kill_request: Arc<Notify>,
    exit_sender: watch::Sender<Option<Result<ExitStatus, String>>>,
) {
    let id = child.id();
    let exit = loop {
        tokio::select! {
            exit = child.wait() => break exit,
            // Where there are no groups, this is the only kill.
            () = kill_request.notified() => drop(child.start_kill()),
        }
    };
    if let (GroupAtExit::Kill, Some(id)) = (at_exit, id) {
        signal_group(id, ProcessSignal::Kill);
    }
    let exit = exit.map_err(|error| format!("its exit status is unknown: {error}"));
    exit_sender.send_replace(Some(exit));
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::{ChildInputError, LineLimits, LineReader, OutputLine, is_alive};

    type TestProcess = (PipedProcess, ChildInput, LineReader<ChildStdout>);

    fn start(script: &str, at_exit: GroupAtExit, max_unread: usize) -> TestProcess {
        let command = ["/bin/sh", "-c", script].map(str::to_owned);
        let command = program_command(&command).expect("a program");
        let secrets = vec!["canary".to_owned()];
        let (process, input, stdout) =
            PipedProcess::start(command, at_exit, max_unread, secrets).expect("a process");
        (process, input, LineReader::new(stdout, LineLimits::new(1_000)))
    }

    async fn next_text(lines: &mut LineReader<ChildStdout>) -> String {
        let Some(OutputLine::Whole(line)) = lines.next_line().await else { return String::new() };
        String::from_utf8_lossy(&line).into_owned()
    }

    async fn is_killed(id: &str) -> bool {
        let id = id.parse().expect("a process id");
        for _ in 0..3_000 {
            if is_alive(id) == Some(false) {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        false
    }

    #[tokio::test]
    async fn lines_go_both_ways_and_secrets_stay_out_of_messages() {
        let script = "read -r a; echo \"<$a>\"; echo 'a canary\nsings' >&2; exit 3";
        let (process, input, mut lines) = start(script, GroupAtExit::Kill, 100);
        assert!(process.exit().is_none());
        assert_eq!(input.write_line(b"hello".to_vec()), Ok(()));
        assert_eq!(next_text(&mut lines).await, "<hello>");
        process.wait_for_message().await;
        let code = process.exit().and_then(Result::ok).and_then(|status| status.code());
        assert_eq!(code, Some(3));
        assert_eq!(process.stderr_message(), "a [secret] sings");
        assert_eq!(process.stderr_text(), "a [secret]\nsings\n");
    }

    #[tokio::test]
    async fn the_rest_of_the_group_is_killed_or_kept_at_the_exit() {
        // A shell gives a command in the background another input.
        let script = "exec 3<&0; sh -c 'read -r a <&3; echo $a' & echo $!";
        let (process, _input, mut lines) = start(script, GroupAtExit::Kill, 100);
        let child = next_text(&mut lines).await;
        process.wait_for_exit().await;
        assert!(is_killed(&child).await);

        let (process, input, mut lines) = start(script, GroupAtExit::Keep, 100);
        let child = next_text(&mut lines).await;
        process.wait_for_exit().await;
        assert_eq!(input.write_line(b"late".to_vec()), Ok(()));
        assert_eq!(next_text(&mut lines).await, "late");
        assert!(is_killed(&child).await);
    }

    #[tokio::test]
    async fn the_group_ends_with_its_process() {
        let stubborn = "trap '' TERM; sleep 1000 & echo $!; wait; wait";
        let (process, _, mut lines) = start(stubborn, GroupAtExit::Keep, 100);
        let child = next_text(&mut lines).await;
        process.end(Duration::from_millis(50)).await;
        assert!(process.exit().is_some() && is_killed(&child).await);

        for at_exit in [GroupAtExit::Kill, GroupAtExit::Keep] {
            let (process, _, mut lines) = start("sleep 1000 & echo $!; wait", at_exit, 100);
            let child = next_text(&mut lines).await;
            assert_eq!(is_alive(child.parse().expect("a process id")), Some(true));
            drop(process);
            assert!(is_killed(&child).await);
        }
    }

    #[tokio::test]
    async fn a_released_group_goes_on() {
        let script = "sleep 1000 >/dev/null 2>&1 & echo $!";
        let (process, _, mut lines) = start(script, GroupAtExit::Keep, 100);
        let child = next_text(&mut lines).await;
        process.wait_for_exit().await;
        let group = process.id().expect("a process id");
        process.release_group();
        assert_eq!(is_alive(child.parse().expect("a process id")), Some(true));
        signal_group(group, ProcessSignal::Kill);
        assert!(is_killed(&child).await);
    }

    #[tokio::test]
    async fn unread_input_is_limited() {
        let (_process, input, _) = start("sleep 1000", GroupAtExit::Kill, 1 << 20);
        let line = vec![b'x'; 1 << 19];
        let mut results = (0..10).map(|_| input.write_line(line.clone()));
        assert_eq!(results.find(Result::is_err), Some(Err(ChildInputError::TooMuch)));
    }

    #[test]
    fn no_command_is_an_error() {
        assert!(program_command(&[]).is_err());
    }
}
