//! Messages over the pipes of a process.
//!
//! Programs print text that is not a message; a limited amount of it is skipped. A process that
//! prints nothing else, or does not read its input, is killed.

use std::{io, sync::Arc, time::Duration};

use rmcp::{
    ErrorData, RoleClient,
    model::{RequestId, ServerJsonRpcMessage},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde::{Deserialize, de::IgnoredAny};
use tokio::{
    process::ChildStdout,
    time::{Instant, sleep_until},
};

use super::process::{McpPipes, McpProcess};
use foxwedge_process::{ChildInput, ChildInputError, LineLimits, LineReader, OutputLine};

/// Maximum bytes of a line.
pub(super) const MAX_LINE: usize = 16 << 20;
/// Maximum bytes of a line that are discarded after those that are kept.
const MAX_DISCARDED: usize = 16 << 20;
/// Maximum bytes between two messages that are not messages.
const MAX_NOISE: usize = 1 << 20;
/// How long the rest of the output is awaited after the process ended.
const EXIT_OUTPUT_TIMEOUT: Duration = Duration::from_secs(2);

/// The pipes of a process as a transport of rmcp.
#[derive(Debug)]
pub(super) struct McpPipe {
    process: Arc<McpProcess>,
    lines: LineReader<ChildStdout>,
    input: Option<ChildInput>,
    skipped_bytes: usize,
    /// When to stop waiting for the rest of the output.
    exit_deadline: Option<Instant>,
}

impl McpPipe {
    pub(super) fn new(process: Arc<McpProcess>, (input, stdout): McpPipes) -> McpPipe {
        let lines = LineReader::new(stdout, message_lines(MAX_LINE));
        McpPipe { process, lines, input: Some(input), skipped_bytes: 0, exit_deadline: None }
    }

    fn write_message(&self, message: &TxJsonRpcMessage<RoleClient>) -> io::Result<()> {
        let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
        let input = self.input.as_ref().ok_or_else(closed)?;
        input.write_line(serde_json::to_vec(message)?).map_err(|error| {
            if error == ChildInputError::TooMuch {
                self.process.kill_because("it does not read its input");
            }
            closed()
        })
    }

    /// The message in a line, if there is one. Does not send an error for other text: the program
    /// would only print more.
    fn parse_line(&mut self, line: &OutputLine) -> Option<ServerJsonRpcMessage> {
        let (message, size) = match line {
            OutputLine::Whole(line) => (parse_message(line), line.len()),
            OutputLine::TooLong { head, tail } => {
                let why = format!("its response has more than {MAX_LINE} bytes");
                let error = |number| error_response(RequestId::Number(number), why);
                (request_id(head, tail).map(error), 0)
            }
            OutputLine::Endless => (None, 0),
        };
        // The line end counts.
        self.skipped_bytes = if message.is_some() { 0 } else { self.skipped_bytes + size + 1 };
        message
    }
}

impl Transport<RoleClient> for McpPipe {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        std::future::ready(self.write_message(&item))
    }

    /// Cancel safe.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let deadline = self.exit_deadline;
            let process = Arc::clone(&self.process);
            let line = tokio::select! {
                biased;
                line = self.lines.next_line() => line,
                () = process.wait_for_exit(), if deadline.is_none() => {
                    self.exit_deadline = Some(Instant::now() + EXIT_OUTPUT_TIMEOUT);
                    continue;
                }
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => None,
            };
            let Some(line) = line else {
                // Without an output it is of no use, even if it still runs.
                self.process.kill();
                return None;
            };
            if line == OutputLine::Endless {
                self.process.kill_because("it writes a line without an end");
                return None;
            }
            if let Some(message) = self.parse_line(&line) {
                return Some(message);
            }
            if self.skipped_bytes > MAX_NOISE {
                self.process.kill_because("it writes text that is not a message");
                return None;
            }
            // A server that floods us must not starve other tasks.
            tokio::task::yield_now().await;
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.input = None;
        Ok(())
    }
}

/// The id of a response that cannot be read.
#[derive(Deserialize)]
struct UnreadableResponse {
    id: RequestId,
    method: Option<IgnoredAny>,
}

/// Parses a message. A response that cannot be read becomes an error response: a call waits for it.
pub(super) fn parse_message(line: &[u8]) -> Option<ServerJsonRpcMessage> {
    let error = match serde_json::from_slice(line) {
        Ok(message) => return Some(message),
        Err(error) => error,
    };
    match serde_json::from_slice::<UnreadableResponse>(line) {
        Ok(UnreadableResponse { id, method: None }) => {
            Some(error_response(id, format!("its response cannot be read: {error}")))
        }
        Ok(UnreadableResponse { id: _, method: Some(_) }) | Err(_) => None,
    }
}

fn error_response(id: RequestId, why: String) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::error(ErrorData::internal_error(why, None), Some(id))
}

/// The lines of a server. A line that starts like a message may become one that is too long; any
/// other is given up sooner. Output after the last line end is not a message and is dropped.
fn message_lines(max_line: usize) -> LineLimits {
    let max_open = |start: &[u8]| match start.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{' | b'[') => MAX_LINE + MAX_DISCARDED,
        Some(_) | None => MAX_NOISE,
    };
    LineLimits { max_line, max_open, keep_unfinished: false }
}

/// The request id of a response line: near the start, before the result, or at the very end.
fn request_id(head: &[u8], tail: &[u8]) -> Option<i64> {
    let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
    let before = head.split("\"result\"").next().filter(|before| before.len() < head.len());
    let at_head = before.and_then(|before| number_after_colon(before.rsplit_once("\"id\"")?.1));
    at_head.or_else(|| {
        let last = tail.trim_end().strip_suffix('}')?;
        let (_, value) = last.rsplit_once("\"id\"")?;
        value.trim_start().strip_prefix(':')?.trim().parse().ok()
    })
}

/// The number after a colon, up to a comma.
fn number_after_colon(text: &str) -> Option<i64> {
    text.trim_start().strip_prefix(':')?.split(',').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreadable_responses_become_errors() {
        let deep = format!(r#"{{"id":3,"result":{}1{}}}"#, "[".repeat(500), "]".repeat(500));
        let table = [
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "response"),
            (r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#, "error -1"),
            (r#"{"jsonrpc":"2.0","id":1,"error":"no"}"#, "error -32603"),
            (r#"{"id":1,"result":{}}"#, "error -32603"),
            (&deep, "error -32603"),
            (r#"{"jsonrpc":"2.0","method":"notifications/x"}"#, "notification"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "request"),
            (r#"{"jsonrpc":"3.0","id":1,"method":"ping"}"#, "nothing"),
            ("hello", "nothing"),
            ("", "nothing"),
            ("[]", "nothing"),
        ];
        for (line, expected) in table {
            let found = match parse_message(line.as_bytes()) {
                None => "nothing".to_owned(),
                Some(ServerJsonRpcMessage::Request(_)) => "request".to_owned(),
                Some(ServerJsonRpcMessage::Response(_)) => "response".to_owned(),
                Some(ServerJsonRpcMessage::Notification(_)) => "notification".to_owned(),
                Some(ServerJsonRpcMessage::Error(error)) => format!("error {}", error.error.code.0),
            };
            assert_eq!(found, expected, "{line:.80}");
        }
    }

    async fn lines(text: &str, max_line: usize) -> Vec<String> {
        let mut lines = LineReader::new(text.as_bytes(), message_lines(max_line));
        let mut all = Vec::new();
        while let Some(line) = lines.next_line().await {
            all.push(match line {
                OutputLine::Whole(line) => String::from_utf8_lossy(&line).into_owned(),
                OutputLine::TooLong { head, tail } => format!("{:?}", request_id(&head, &tail)),
                OutputLine::Endless => "endless".to_owned(),
            });
        }
        all
    }

    #[tokio::test]
    async fn lines_are_complete_or_too_long() {
        let x = "x".repeat(200_000);
        let first = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"id":1,"x":"{x}"}}}}"#);
        let last = format!(r#"{{"result":{{"id":1,"x":"{x}"}},"jsonrpc":"2.0","id": 8}}"#);
        let table = [
            (String::new(), ""),
            ("a\nb\r\n\nc".to_owned(), "a|b|"),
            (format!("{first}\nb\n"), "Some(7)|b"),
            (format!("a\n{last}\r\nb\n"), "a|Some(8)|b"),
            (format!("{x}\nb\n"), "None|b"),
            (x.clone(), ""),
        ];
        for (text, expected) in table {
            assert_eq!(lines(&text, 1_000).await.join("|"), expected, "{text:.80}");
        }
        assert_eq!(lines(&format!("{first}\n"), 300_000).await, [first]);
    }

    #[tokio::test]
    async fn endless_lines_are_detected() {
        let x = |bytes: usize| "x".repeat(bytes);
        let table = [
            (x(MAX_NOISE), ""),
            (x(MAX_NOISE + 1), "endless"),
            (format!("a\n{}\nb\n", x(2 * MAX_NOISE)), "a|endless"),
            (format!("{}x", " ".repeat(MAX_NOISE)), "endless"),
            // This may still become a message.
            (format!("{{\"id\":1,\"result\":\"{}", x(2 * MAX_NOISE)), ""),
            (format!("{{\"id\":1,\"result\":\"{}\"}}\nb\n", x(2 * MAX_NOISE)), "Some(1)|b"),
            (
                // The end of the line comes after the limit, not in the same read.
                format!("{{\"id\":1,\"result\":\"{}\"}}\nb\n", x(MAX_LINE + 2 * MAX_DISCARDED)),
                "endless",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(lines(&text, 1_000).await.join("|"), expected, "{text:.40} {}", text.len());
        }
    }
}
