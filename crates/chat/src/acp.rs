//! `foxwedge acp`: the agent for editors, over the Agent Client Protocol on stdin and stdout.
//!
//! One JSON-RPC message per line. Version 2 of the protocol is spoken with clients that ask for it,
//! version 1 with all others. Every session has its own folder, tools and task; `session` runs its
//! prompts, and the encoder of runs writes the updates.

mod approver;
mod content;
mod replay;
mod session;
mod wire;

use std::{
    collections::HashMap,
    path::PathBuf,
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use foxwedge_agent_loop::tool_loop::InterruptResult;
use foxwedge_local::{calendar, output::clean};
use foxwedge_run::encode::AcpRevision;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use self::{
    session::{AcpJob, AcpSession, SessionStart},
    wire::{AcpError, AcpWriter},
};
use super::{ChatOptions, input, sessions, start};
use foxwedge_local::signals::ProcessSignals;

/// How long open runs may take to stop at the end.
const END_TIMEOUT: Duration = Duration::from_secs(5);
/// How often, and how long, an interrupt waits for a run that is just starting.
const INTERRUPT_PAUSE: Duration = Duration::from_millis(50);
const INTERRUPT_TRIES: usize = 40;

/// Serves a client until its input ends.
pub(crate) async fn run(options: ChatOptions) -> anyhow::Result<ExitCode> {
    // A wrong option or a missing key is reported before a client waits for anything.
    start::choose_model(&options)?;
    foxwedge_tools::hide_variables();
    let (writer, writing) = AcpWriter::start();
    let mut server = AcpServer {
        options: Arc::new(ChatOptions { quiet: true, ..options }),
        writer: writer.clone(),
        revision: None,
        sessions: SharedSessions::default(),
    };
    let mut signals = ProcessSignals::listen()?;
    let mut lines = input::read_lines();
    loop {
        let line = tokio::select! {
            line = lines.recv() => line,
            () = signals.next() => break,
        };
        match line {
            Some(Ok(line)) if line.trim().is_empty() => {}
            Some(Ok(line)) => server.receive(&line),
            Some(Err(error)) => {
                writer.fail(Value::Null, AcpError::parse(&error.to_string()));
                break;
            }
            None => break,
        }
    }
    server.end().await;
    drop(server);
    drop(writer);
    let _ = timeout(END_TIMEOUT, writing).await;
    Ok(ExitCode::SUCCESS)
}

/// The open sessions, by id.
type SharedSessions = Arc<Mutex<HashMap<String, AcpSession>>>;

struct AcpServer {
    options: Arc<ChatOptions>,
    writer: AcpWriter,
    /// The agreed version; `None` before `initialize`.
    revision: Option<AcpRevision>,
    sessions: SharedSessions,
}

impl AcpServer {
    /// Handles a message.
    fn receive(&mut self, line: &str) {
        let message: Value = match serde_json::from_str(line) {
            Ok(message) => message,
            Err(error) => {
                return self.writer.fail(Value::Null, AcpError::parse(&error.to_string()));
            }
        };
        let id = message.get("id").cloned();
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            match id {
                Some(id) if message.get("result").is_some() || message.get("error").is_some() => {
                    self.writer.settle(&id, message.get("result").cloned())
                }
                id => self.writer.fail(id.unwrap_or_default(), AcpError::request("no method")),
            }
            return;
        };
        let params = message.get("params").cloned().unwrap_or_default();
        match id {
            Some(id) => {
                if let Err(error) = self.request(method, id.clone(), params) {
                    self.writer.fail(id, error);
                }
            }
            None => self.notification(method, &params),
        }
    }

    fn request(&mut self, method: &str, id: Value, params: Value) -> Result<(), AcpError> {
        if method == "initialize" {
            let (revision, result) = initialize(&params);
            self.revision = Some(revision);
            self.writer.respond(id, result);
            return Ok(());
        }
        let revision = self.revision.ok_or_else(|| AcpError::request("initialize comes first"))?;
        match method {
            "session/new" => self.open(id, revision, None, &params),
            "session/load" | "session/resume" => {
                let session = session_id(&params)?;
                let replay = method == "session/load" || params["replayFrom"]["type"] == "start";
                self.open(id, revision, Some((session, replay)), &params)
            }
            "session/list" => {
                self.list(id, params);
                Ok(())
            }
            "session/prompt" => {
                let session = session_id(&params)?;
                let blocks = params.get("prompt").and_then(Value::as_array);
                let prompt = content::read_prompt(blocks.map_or(&[], Vec::as_slice))?;
                self.send_job(&session, AcpJob::Prompt { id, prompt })
            }
            "session/close" => {
                let session = session_id(&params)?;
                self.interrupt(&session);
                self.lock_sessions().remove(&session);
                self.writer.respond(id, json!({}));
                Ok(())
            }
            _ => Err(AcpError::method(method)),
        }
    }

    fn notification(&self, method: &str, params: &Value) {
        // Others are for clients that know more than we do.
        if method == "session/cancel"
            && let Ok(session) = session_id(params)
        {
            self.interrupt(&session);
        }
    }

    /// Opens a session in the background: its MCP servers may need a while.
    fn open(
        &self,
        id: Value,
        revision: AcpRevision,
        resumed: Option<(String, bool)>,
        params: &Value,
    ) -> Result<(), AcpError> {
        let cwd = params.get("cwd").and_then(Value::as_str).unwrap_or_default();
        let cwd = PathBuf::from(cwd);
        if !cwd.is_absolute() {
            return Err(AcpError::params("`cwd` has to be an absolute path"));
        }
        let servers = content::mcp_servers(params.get("mcpServers").unwrap_or(&Value::Null));
        let (options, writer) = (Arc::clone(&self.options), self.writer.clone());
        let sessions = Arc::clone(&self.sessions);
        let start = SessionStart { options, revision, cwd, servers, resumed, writer };
        tokio::spawn(async move {
            let writer = start.writer.clone();
            match AcpSession::open(start).await {
                Ok((name, session, result)) => {
                    sessions.lock().unwrap_or_else(PoisonError::into_inner).insert(name, session);
                    writer.respond(id, result);
                }
                Err(error) => writer.fail(id, AcpError::internal(&format!("{error:#}"))),
            }
        });
        Ok(())
    }

    /// Lists the stored sessions in the background.
    fn list(&self, id: Value, params: Value) {
        let (options, writer) = (Arc::clone(&self.options), self.writer.clone());
        tokio::spawn(async move {
            let listed = async {
                let store = start::connect_store(&options).await?;
                sessions::list_all(&store).await
            };
            match listed.await {
                Ok(entries) => {
                    let cwd = params.get("cwd").and_then(Value::as_str);
                    let here = entries.iter().filter(|it| cwd.is_none_or(|cwd| it.folder == cwd));
                    let entry = |entry: &sessions::ChatSessionEntry| {
                        json!({
                            "sessionId": entry.id,
                            "cwd": entry.folder,
                            "title": clean(&entry.title),
                            "updatedAt": calendar::format_timestamp(entry.touched / 1000),
                        })
                    };
                    let listed: Vec<Value> = here.map(entry).collect();
                    writer.respond(id, json!({ "sessions": listed }));
                }
                Err(error) => writer.fail(id, AcpError::internal(&format!("{error:#}"))),
            }
        });
    }

    fn send_job(&self, session: &str, job: AcpJob) -> Result<(), AcpError> {
        let sessions = self.lock_sessions();
        let open = sessions.get(session).ok_or_else(|| AcpError::session(session))?;
        open.jobs.send(job).map_err(|_| AcpError::session(session))
    }

    /// Stops the run of a session, also one that is just starting.
    fn interrupt(&self, session: &str) {
        let Some(controller) = self.lock_sessions().get(session).map(|it| it.controller.clone())
        else {
            return;
        };
        tokio::spawn(async move {
            for _ in 0..INTERRUPT_TRIES {
                match controller.interrupt() {
                    InterruptResult::Idle => sleep(INTERRUPT_PAUSE).await,
                    InterruptResult::Stopping
                    | InterruptResult::Forced
                    | InterruptResult::AlreadyForced => return,
                }
            }
        });
    }

    /// Stops all runs and waits for them.
    async fn end(&mut self) {
        let sessions = std::mem::take(&mut *self.lock_sessions());
        let mut tasks = Vec::new();
        for session in sessions.into_values() {
            session.controller.interrupt();
            drop(session.jobs);
            tasks.push(session.task);
        }
        for task in tasks {
            let _ = timeout(END_TIMEOUT, task).await;
        }
    }

    fn lock_sessions(&self) -> std::sync::MutexGuard<'_, HashMap<String, AcpSession>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn session_id(params: &Value) -> Result<String, AcpError> {
    let id = params.get("sessionId").and_then(Value::as_str);
    id.map(str::to_owned).ok_or_else(|| AcpError::params("`sessionId` is missing"))
}

/// Agrees on a version: the newest that both sides know.
fn initialize(params: &Value) -> (AcpRevision, Value) {
    let info = json!({
        "name": "foxwedge",
        "title": "Foxwedge",
        "version": env!("CARGO_PKG_VERSION"),
    });
    let asked = params.get("protocolVersion").and_then(Value::as_u64).unwrap_or(1);
    if asked >= 2 {
        let prompt = json!({ "image": {}, "embeddedContext": {} });
        let session = json!({ "prompt": prompt, "mcp": { "stdio": {}, "http": {} } });
        let capabilities = json!({ "session": session });
        let result = json!({ "protocolVersion": 2, "info": info, "capabilities": capabilities });
        return (AcpRevision::V2, result);
    }
    let capabilities = json!({
        "loadSession": true,
        "promptCapabilities": { "image": true, "audio": false, "embeddedContext": true },
        "mcpCapabilities": { "http": true, "sse": true },
        "sessionCapabilities": { "list": {}, "resume": {}, "close": {} },
    });
    let result = json!({
        "protocolVersion": 1,
        "agentInfo": info,
        "agentCapabilities": capabilities,
        "authMethods": [],
    });
    (AcpRevision::V1, result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_common_version_is_spoken() {
        for (asked, version) in [(json!(0), 1), (json!(1), 1), (json!(2), 2), (json!(7), 2)] {
            let (revision, result) = initialize(&json!({ "protocolVersion": asked }));
            assert_eq!(result["protocolVersion"], version);
            assert_eq!(revision == AcpRevision::V2, version == 2);
        }
        assert_eq!(initialize(&Value::Null).1["protocolVersion"], 1);
    }
}
