//! What a view of an agent shows: an editor or a terminal asks the agent's server for the messages of a session.

use std::{fs, path::Path};

use super::{cli::AgentCli, folder::AgentFolder, http};
use crate::acceptance::process::{OwnedProcess, free_address, wait_until};

/// Why the server of the agent does not show a session: its status and its body. Nothing if it does, or if
/// the agent has no server.
pub(super) fn refusal(
    cli: &AgentCli,
    folder: &AgentFolder,
    port: u16,
    session: &str,
    record: &Path,
) -> Result<Option<String>, String> {
    let address = free_address()?;
    let Some(mut command) = cli.server(folder, port, &address) else { return Ok(None) };
    let record = record.join("server");
    fs::create_dir_all(&record).map_err(|error| format!("{}: {error}", record.display()))?;
    // It ends when it is dropped.
    let _server = OwnedProcess::start_tree(&mut command, &record)?;
    // What it is asked before it says so is never answered.
    let printed = || fs::read_to_string(record.join("stdout")).unwrap_or_default();
    wait_until("the server listens", || printed().contains("listening on"))?;
    let reply = http::get(&address, &format!("/session/{session}/message"));
    let (status, body) = reply.map_err(|error| format!("the server: {error}"))?;
    Ok((!status.starts_with("200")).then(|| format!("{status}: {}", first_words(&body))))
}

/// The beginning of what the server says is wrong.
fn first_words(body: &str) -> String {
    let document: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
    let message = document["data"]["message"].as_str().unwrap_or(body);
    message.lines().next().unwrap_or_default().to_owned()
}
