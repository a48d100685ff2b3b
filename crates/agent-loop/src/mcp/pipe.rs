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

use super::{
    lines::{MAX_LINE, MAX_NOISE, ServerLine, ServerLineReader},
    process::{McpPipes, McpProcess},
};
use foxwedge_tools::child::{ChildInput, ChildInputError};

/// Maximum bytes between two messages that are not messages.
const MAX_SKIPPED_BYTES: usize = MAX_NOISE;
/// How long the rest of the output is awaited after the process ended.
const EXIT_OUTPUT_TIMEOUT: Duration = Duration::from_secs(2);

/// The pipes of a process as a transport of rmcp.
#[derive(Debug)]
pub(super) struct McpPipe {
    process: Arc<McpProcess>,
    lines: ServerLineReader<ChildStdout>,
    input: Option<ChildInput>,
    skipped_bytes: usize,
    /// When to stop waiting for the rest of the output.
    exit_deadline: Option<Instant>,
}

impl McpPipe {
    /// `max_unread` limits the bytes that wait for a process that does not read.
    pub(super) fn new(
        process: Arc<McpProcess>,
        (stdin, stdout): McpPipes,
        max_unread: usize,
    ) -> McpPipe {
        let (input, _) = ChildInput::new(stdin, max_unread);
        let lines = ServerLineReader::new(stdout, MAX_LINE);
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
    fn parse_line(&mut self, line: ServerLine) -> Option<ServerJsonRpcMessage> {
        let size = match &line {
            ServerLine::Whole(line) => line.len(),
            ServerLine::TooLong(_) | ServerLine::Endless => 0,
        };
        let message = match line {
            ServerLine::Whole(line) => parse_message(&line),
            ServerLine::TooLong(Some(number)) => {
                let why = format!("its response has more than {MAX_LINE} bytes");
                Some(error_response(RequestId::Number(number), why))
            }
            ServerLine::TooLong(None) | ServerLine::Endless => None,
        };
        self.skipped_bytes = if message.is_some() { 0 } else { self.skipped_bytes + size.max(1) };
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
            if line == ServerLine::Endless {
                self.process.kill_because("it writes a line without an end");
                return None;
            }
            if let Some(message) = self.parse_line(line) {
                return Some(message);
            }
            if self.skipped_bytes > MAX_SKIPPED_BYTES {
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
fn parse_message(line: &[u8]) -> Option<ServerJsonRpcMessage> {
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
}
