//! One session of a client: its conversation, and a task that runs its prompts one by one.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use foxwedge_agent_loop::tool_loop::{LoopEvent, LoopNotice, LoopObserver};
use foxwedge_run::{
    RawJson, RunEffect, ToolStatus, UiChange,
    encode::{AcpRevision, EncoderOptions, RunEncoder, UiFormat},
};
use serde_json::{Map, Value, json};
use tokio::{sync::mpsc, task::JoinHandle};

use super::{
    approver::AcpApprover,
    content::diff_content,
    replay::replay_history,
    wire::{AcpError, AcpWriter},
};
use crate::{
    ChatAgent, ChatOptions, ChatSetup,
    attachments::ChatPrompt,
    file_journal::RecentChanges,
    instructions,
    run_control::ChatRunController,
    sessions, setup,
    setup::ChatToolSet,
    slash::{self, ChatInputLine, SLASH_COMMANDS},
    start,
    terminal::{CommandFollowUp, CommandReply},
};
use foxwedge_local::output;

/// Commands that make sense in an editor, which has its own way to switch sessions.
const COMMANDS: [&str; 7] = ["compact", "continue", "undo", "model", "tools", "status", "export"];

/// What a session is opened with.
pub(super) struct SessionStart {
    pub(super) options: Arc<ChatOptions>,
    pub(super) revision: AcpRevision,
    pub(super) cwd: PathBuf,
    /// MCP servers of the client.
    pub(super) servers: Map<String, Value>,
    /// The stored session to open, and whether its messages are sent again.
    pub(super) resumed: Option<(String, bool)>,
    pub(super) writer: AcpWriter,
}

/// An open session.
pub(super) struct AcpSession {
    pub(super) jobs: mpsc::UnboundedSender<AcpJob>,
    pub(super) controller: ChatRunController,
    pub(super) task: JoinHandle<()>,
}

/// Work for a session.
pub(super) enum AcpJob {
    /// A prompt, and the id of its request.
    Prompt { id: Value, prompt: ChatPrompt },
}

impl AcpSession {
    /// Opens a session. Returns its id and the result for the client.
    pub(super) async fn open(start: SessionStart) -> anyhow::Result<(String, AcpSession, Value)> {
        let SessionStart { options, revision, cwd, servers, resumed, writer } = start;
        let (mut chat, tool_set) = build_chat(&options, revision, &cwd, servers, &writer).await?;
        let session = chat.chat.session().to_owned();
        if let Some((id, replay)) = &resumed {
            let entries = sessions::list_all(&chat.chat.open_store).await?;
            chat.chat.resume(sessions::pick(&entries, id)?).await?;
            if *replay {
                replay_history(&chat.chat, revision, id, &writer)?;
            }
        }
        let session = resumed.map_or(session, |(id, _)| id);
        let _ = chat.session.set(session.clone());
        let commands = available_commands(revision);
        let result = match revision {
            AcpRevision::V1 => {
                let update = "available_commands_update";
                let update = json!({ "sessionUpdate": update, "availableCommands": commands });
                writer.update(&session, update);
                json!({ "sessionId": session })
            }
            AcpRevision::V2 => {
                let update = json!({ "sessionUpdate": "state_update", "state": "idle" });
                writer.update(&session, update);
                json!({ "sessionId": session, "availableCommands": commands })
            }
        };
        let controller = chat.chat.run_controller();
        let (jobs, mut received) = mpsc::unbounded_channel();
        let mut worker = SessionWorker {
            root: chat.chat.workspace.root().to_owned(),
            changes: chat.chat.journal.recent.clone(),
            chat: chat.chat,
            revision,
            session: session.clone(),
            writer,
            prompts: 0,
        };
        let task = tokio::spawn(async move {
            while let Some(AcpJob::Prompt { id, prompt }) = received.recv().await {
                worker.run(id, prompt).await;
            }
            tool_set.close().await;
        });
        Ok((session, AcpSession { jobs, controller, task }, result))
    }
}

/// A conversation, and where its name is set.
struct NamedChat {
    chat: ChatAgent,
    session: Arc<OnceLock<String>>,
}

async fn build_chat(
    options: &ChatOptions,
    revision: AcpRevision,
    cwd: &Path,
    servers: Map<String, Value>,
    writer: &AcpWriter,
) -> anyhow::Result<(NamedChat, ChatToolSet)> {
    let (models, choice, network) = start::choose_model(options)?;
    let model = setup::build_model(&choice, &network)?;
    let root = start::resolve_root(Some(cwd))?;
    let mut tool_options = start::tool_options(options)?;
    tool_options.client_servers =
        (!servers.is_empty()).then(|| json!({ "mcpServers": servers }).to_string());
    let tool_set = setup::build_tools(&root, &tool_options, &network).await?;
    tool_set.notes.iter().for_each(|note| output::print_note(note));
    let allowed = start::allowed_tools(options, &tool_set.tools, &root)?;
    let own = options.instructions.as_deref().map(instructions::read).transpose()?;
    let session = Arc::new(OnceLock::new());
    let approver = AcpApprover {
        revision,
        writer: writer.clone(),
        allowed: allowed.clone(),
        workspace: tool_set.workspace.clone(),
        session: Arc::clone(&session),
    };
    let chat = ChatAgent::new(ChatSetup {
        open_store: start::connect_store(options).await?,
        models,
        network,
        model,
        tools: tool_set.tools.clone(),
        workspace: tool_set.workspace.clone(),
        journal: Arc::clone(&tool_set.journal),
        shell: None,
        allowed,
        approver: Arc::new(approver),
        folder: root.to_string_lossy().into_owned(),
        instructions: instructions::instructions(own.as_deref(), &root),
        turns: options.max_turns,
        store: options.store.clone(),
    });
    Ok((NamedChat { chat, session }, tool_set))
}

/// Runs the prompts of a session.
struct SessionWorker {
    chat: ChatAgent,
    revision: AcpRevision,
    session: String,
    root: PathBuf,
    changes: RecentChanges,
    writer: AcpWriter,
    prompts: u64,
}

impl SessionWorker {
    async fn run(&mut self, id: Value, prompt: ChatPrompt) {
        self.prompts += 1;
        if self.revision == AcpRevision::V2 {
            // The prompt is accepted now; a later update ends it.
            let message = format!("prompt-{}", self.prompts);
            let content = json!({ "type": "text", "text": prompt.text });
            let update = json!({ "sessionUpdate": "user_message_chunk", "messageId": message, "content": content });
            self.writer.update(&self.session, update);
            self.writer.respond(id.clone(), json!({ "messageId": message }));
        }
        let mut listener = SessionListener {
            encoder: self.encoder(&id),
            revision: self.revision,
            session: self.session.clone(),
            root: self.root.clone(),
            changes: self.changes.clone(),
            writer: self.writer.clone(),
            ended: false,
        };
        let result = match slash::parse(&prompt.text) {
            ChatInputLine::Command(command) if is_offered(&prompt.text) => {
                self.chat.run_command(command, &mut listener).await
            }
            _ => self
                .chat
                .prompt(prompt, &mut listener)
                .await
                .map(|_| CommandReply { lines: Vec::new(), follow_up: CommandFollowUp::Stay }),
        };
        if listener.ended {
            return;
        }
        match result {
            Ok(reply) => {
                if !reply.lines.is_empty() {
                    let text = reply.lines.join("\n");
                    let message = format!("reply-{}", self.prompts);
                    self.writer
                        .update(&self.session, text_update("agent_message_chunk", &message, &text));
                }
                self.finish(id, json!({ "stopReason": "end_turn" }));
            }
            Err(error) => {
                let error = AcpError::internal(&format!("{error:#}"));
                match self.revision {
                    AcpRevision::V1 => self.writer.fail(id, error),
                    AcpRevision::V2 => {
                        self.finish(id, json!({ "stopReason": "error", "error": error.to_json() }))
                    }
                }
            }
        }
    }

    /// Ends a prompt that no run ended.
    fn finish(&self, id: Value, end: Value) {
        match self.revision {
            AcpRevision::V1 => self.writer.respond(id, end),
            AcpRevision::V2 => {
                let mut update = json!({ "sessionUpdate": "state_update", "state": "idle" });
                if let (Value::Object(update), Value::Object(end)) = (&mut update, end) {
                    update.extend(end);
                }
                self.writer.update(&self.session, update);
            }
        }
    }

    fn encoder(&self, id: &Value) -> RunEncoder {
        let options = EncoderOptions {
            acp: self.revision,
            prompt: RawJson::parse(&id.to_string()),
            ..EncoderOptions::new(&self.session.as_str().into())
        };
        RunEncoder::new(UiFormat::Acp, options)
    }
}

/// Sends what happens in a run to the client.
struct SessionListener {
    encoder: RunEncoder,
    revision: AcpRevision,
    session: String,
    root: PathBuf,
    changes: RecentChanges,
    writer: AcpWriter,
    /// Whether the end of the run was sent.
    ended: bool,
}

impl LoopObserver for SessionListener {
    fn on_event(&mut self, event: LoopEvent) {
        match event {
            LoopEvent::Run(effect) => self.on_effect(&effect),
            LoopEvent::Notice(LoopNotice::Retrying { pause, why }) => {
                let text = format!("The next attempt is in {} s: {why}\n", pause.as_secs());
                self.writer
                    .update(&self.session, text_update("agent_thought_chunk", "notice", &text));
            }
            LoopEvent::Notice(_) => {}
        }
    }
}

impl SessionListener {
    fn on_effect(&mut self, effect: &RunEffect) {
        let mut frames = Vec::new();
        self.encoder.push(effect, &mut frames);
        let RunEffect::Show { change, .. } = effect else {
            return frames.into_iter().for_each(|frame| self.send_frame(frame.data));
        };
        if let UiChange::RunEnded { .. } = change {
            self.encoder.finish(&mut frames);
            self.ended = true;
        }
        frames.into_iter().for_each(|frame| self.send_frame(frame.data));
        // The encoder knows the names of other agents' tools.
        if let UiChange::ToolOpened { tool, name, .. } = change
            && let Some(kind) = [("run", "execute"), ("list", "read")]
                .iter()
                .find_map(|(own, kind)| (&**name == *own).then_some(*kind))
        {
            let call = &*tool.call;
            let update =
                json!({ "sessionUpdate": "tool_call_update", "toolCallId": call, "kind": kind });
            self.writer.update(&self.session, update);
        }
        if let UiChange::ToolSettled { tool, status, .. } = change
            && let Some(change) = self.changes.take(&tool.call)
            && *status == ToolStatus::Succeeded
        {
            let diff = diff_content(self.revision, &self.root, &change);
            let path = self.root.join(&change.path);
            let update = json!({
                "sessionUpdate": "tool_call_update",
                "toolCallId": &*tool.call,
                "content": [diff],
                "locations": [{ "path": path.to_string_lossy() }],
            });
            self.writer.update(&self.session, update);
        }
    }

    /// Sends a frame of the encoder. The approver asks for permission itself, because it waits for
    /// the response.
    fn send_frame(&self, frame: String) {
        let own = ["\"method\":\"session/request_permission\"", "\"method\":\"$/cancel_request\""];
        if !own.iter().any(|method| frame.contains(method)) {
            self.writer.send_line(frame);
        }
    }
}

pub(super) fn text_update(kind: &str, message: &str, text: &str) -> Value {
    let content = json!({ "type": "text", "text": text });
    json!({ "sessionUpdate": kind, "messageId": message, "content": content })
}

/// The commands that a client may offer.
fn available_commands(revision: AcpRevision) -> Vec<Value> {
    let offered = SLASH_COMMANDS.iter().filter(|entry| COMMANDS.contains(&entry.name));
    let command = |entry: &slash::SlashCommandSpec| {
        let mut command = json!({ "name": entry.name, "description": entry.help });
        if revision == AcpRevision::V2 {
            command["type"] = json!("command");
        }
        command
    };
    offered.map(command).collect()
}

fn is_offered(text: &str) -> bool {
    let word = text.split_whitespace().next().unwrap_or_default();
    word.strip_prefix('/').is_some_and(|name| COMMANDS.contains(&name))
}
