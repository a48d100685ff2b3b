//! Starts an agent: its folder, its files, its process.

use std::{
    io,
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::Value;
use tokio::{sync::mpsc, task::spawn_blocking, time::timeout};

use super::{
    super::{
        AgentConfig, AgentError, BodyChunk,
        cleanup::CleanupJournal,
        handle::{AgentHandle, LiveAgentCommand},
        live_agent::{LiveAgent, StoppingAgent},
        process::{AgentProcess, AgentProcessSpec},
    },
    AgentStartRequest,
};
use crate::{AgentBridge, AgentLaunch, LaunchSpec};

/// Starts an agent and runs it to its end. Returns `None` if it could not be started; the client
/// then gets an error.
pub(super) async fn run_agent(
    handle: &Arc<AgentHandle>,
    start: AgentStartRequest,
    commands: mpsc::Receiver<LiveAgentCommand>,
    call_timeout: Duration,
) -> Option<StoppingAgent> {
    let AgentStartRequest { agent, body, model, mut request, .. } = start;
    let ready = {
        let agent = agent.clone();
        // The session file of a long history is large.
        spawn_blocking(move || prepare_files(&agent, &body, model.as_deref()))
    };
    let ready = match timeout(agent.start_timeout, ready).await {
        Ok(ready) => {
            ready.unwrap_or_else(|_| Err(io::Error::other("its files could not be written")))
        }
        Err(_) => Err(io::Error::other("its files could not be written in time")),
    };
    let started = ready.and_then(|(launch, folder, journal)| {
        let spec = AgentProcessSpec {
            agent: &agent,
            arguments: &launch.arguments,
            environment: &launch.environment,
            folder: &folder,
        };
        Ok((AgentProcess::start(&spec, journal)?, launch))
    });
    let (process, launch) = match started {
        Ok(started) => started,
        Err(error) => {
            let command = agent.command.first().map_or("", String::as_str);
            let error = AgentError::NotStarted(format!("`{command}`: {error}"));
            // The client may have disconnected.
            let _ = request.chunks.send(BodyChunk::Failed(error)).await;
            return None;
        }
    };
    let bridge = AgentBridge::new(launch.prompt.is_none());
    request.tail.answers.clear();
    request.tail.user_content = launch.prompt.unwrap_or_default();
    let handle = handle.clone();
    let live =
        LiveAgent::new(handle, agent, call_timeout, process, launch.protocol, bridge, commands);
    Some(live.run(request).await)
}

/// Writes all files that must exist before the process starts.
fn prepare_files(
    agent: &AgentConfig,
    body: &Value,
    model: Option<&str>,
) -> io::Result<(AgentLaunch, PathBuf, CleanupJournal)> {
    let mut journal = CleanupJournal::new()?;
    let folder = journal.work_folder(agent.working_folder.as_deref())?;
    let session = random_uuid()?;
    let path = folder.to_string_lossy();
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
    let launch = agent.kind.starter().launch(LaunchSpec {
        body,
        model,
        session: &session,
        folder: &path,
        now,
    });
    if let Some(folder) = agent.kind.session_folder() {
        journal.track_session(folder, session)?;
    }
    for (path, text) in &launch.files {
        journal.write(path, text)?;
    }
    drop(path);
    Ok((launch, folder, journal))
}

/// A random UUID, as agents require for session ids.
fn random_uuid() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    let number = u128::from_be_bytes(bytes);
    // Version 4, RFC 4122 variant.
    let number = number & !(0xf << 76) | (4 << 76);
    let number = number & !(0x3 << 62) | (2 << 62);
    let text = format!("{number:032x}");
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    let parts = [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)];
    Ok(parts.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_session_id_is_a_uuid() -> io::Result<()> {
        let (one, two) = (random_uuid()?, random_uuid()?);
        assert_ne!(one, two);
        let bytes = one.as_bytes();
        assert_eq!((one.len(), bytes[14], bytes[8], bytes[23]), (36, b'4', b'-', b'-'));
        assert!(b"89ab".contains(&bytes[19]), "{one}");
        Ok(())
    }
}
