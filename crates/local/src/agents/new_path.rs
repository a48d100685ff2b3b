//! Where an agent finds a new session.

use std::path::PathBuf;

use foxwedge_sessions::SessionAgent;

use crate::user_folders::UserFolders;

/// The path of a new session of an agent, for a project folder. `time` is UTC with milliseconds. `None`
/// if the agent does not accept new sessions, or if its folder is not known.
pub fn new_session_path(
    folders: &UserFolders,
    agent: SessionAgent,
    project: &str,
    id: &str,
    time: &str,
) -> Option<PathBuf> {
    agent.accepts_new_sessions().ok()?;
    match agent {
        SessionAgent::ClaudeCode => {
            let root = folders.variable_or_home("CLAUDE_CONFIG_DIR", ".claude")?;
            let name = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
            let folder: String = project.chars().map(name).collect();
            Some(root.join("projects").join(folder).join(format!("{id}.jsonl")))
        }
        SessionAgent::Codex => {
            let root = folders.variable_or_home("CODEX_HOME", ".codex")?;
            let (day, clock) = (time.get(..10)?, time.get(..19)?.replace(':', "-"));
            let folder = root.join("sessions").join(day.replace('-', "/"));
            Some(folder.join(format!("rollout-{clock}-{id}.jsonl")))
        }
        SessionAgent::Pi => {
            let agent = folders.variable_or_home("PI_CODING_AGENT_DIR", ".pi/agent");
            let named = folders.variable("PI_CODING_AGENT_SESSION_DIR");
            let root = named.or_else(|| agent.map(|agent| agent.join("sessions")))?;
            let name = project.trim_start_matches(['/', '\\']).replace(['/', '\\', ':'], "-");
            let file = format!("{}_{id}.jsonl", time.replace([':', '.'], "-"));
            Some(root.join(format!("--{name}--")).join(file))
        }
        _ => None,
    }
}
