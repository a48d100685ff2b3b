//! Ids and file names of copies. Ids are derived, so the nth copy of a session has the same id.

use std::path::{Path, PathBuf};

use foxwedge_sessions::SessionAgent;

use foxwedge_local::{
    agents::session_lookup::expected_notation, disk::ContentFingerprint, output::HelpfulError,
};

/// The id of the copy with this number, in the notation of the agent's own ids.
pub(super) fn derive(agent: SessionAgent, old: &str, number: u32) -> String {
    let hash = ContentFingerprint::of(format!("foxwedge fork {number} of {old}").as_bytes()).hash;
    let part = |from: usize, to: usize| hash.get(from..to).unwrap_or_default();
    match agent {
        SessionAgent::Neovate => part(0, 8).to_owned(),
        SessionAgent::Opencode => format!("ses_{}", part(0, 26)),
        // A version 5 UUID, which is derived from a name.
        SessionAgent::ClaudeCode
        | SessionAgent::Codex
        | SessionAgent::GeminiCli
        | SessionAgent::Cline
        | SessionAgent::Pi
        | SessionAgent::CopilotCli
        | SessionAgent::KimiCode
        | SessionAgent::QwenCode
        | SessionAgent::Crush
        | SessionAgent::Goose
        | SessionAgent::AiSdkUi
        | SessionAgent::AiSdkModel
        | SessionAgent::ReadOnly(_) => format!(
            "{}-{}-5{}-a{}-{}",
            part(0, 8),
            part(8, 12),
            part(13, 16),
            part(17, 20),
            part(20, 32)
        ),
    }
}

/// Refuses ids that the agent does not recognize.
pub(super) fn check(agent: SessionAgent, id: &str) -> Result<(), HelpfulError> {
    let Some(expected) = expected_notation(agent, id) else { return Ok(()) };
    Err(HelpfulError::new(format!(
        "`{}` is not a valid id for {}",
        foxwedge_local::output::clean(id),
        agent.name()
    ))
    .help(format!("ids of this agent must be {expected}")))
}

/// The path of the copy: in the folder of the original, with a name that the agent recognizes.
pub(super) fn path(agent: SessionAgent, original: &Path, id: &str) -> Option<PathBuf> {
    let name = original.file_name()?.to_str()?;
    let name = match agent {
        SessionAgent::ClaudeCode | SessionAgent::Neovate | SessionAgent::QwenCode => {
            format!("{id}.jsonl")
        }
        SessionAgent::Codex => {
            const TIME: usize = "0000-00-00T00-00-00".len();
            let time = name.strip_prefix("rollout-")?.get(..TIME)?;
            format!("rollout-{time}-{id}.jsonl")
        }
        SessionAgent::GeminiCli => {
            const TIME: usize = "0000-00-00T00-00".len();
            let time = name.strip_prefix("session-")?.get(..TIME)?;
            let kind = if name.ends_with(".json") { "json" } else { "jsonl" };
            format!("session-{time}-{}.{kind}", id.get(..8).unwrap_or(id))
        }
        SessionAgent::Pi => format!("{}_{id}.jsonl", name.split_once('_')?.0),
        // Each session has a folder.
        SessionAgent::CopilotCli => {
            return Some(original.parent()?.with_file_name(id).join(name));
        }
        // The copy is in the same database.
        SessionAgent::Opencode | SessionAgent::Crush | SessionAgent::Goose => id.to_owned(),
        SessionAgent::KimiCode
        | SessionAgent::Cline
        | SessionAgent::AiSdkUi
        | SessionAgent::AiSdkModel
        | SessionAgent::ReadOnly(_) => return None,
    };
    Some(original.with_file_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_the_notation_of_their_agent() {
        for agent in [SessionAgent::ClaudeCode, SessionAgent::Codex, SessionAgent::GeminiCli] {
            let id = derive(agent, "0a1b2c3d", 1);
            assert!(check(agent, &id).is_ok(), "{id}");
            assert_eq!(id, derive(agent, "0a1b2c3d", 1));
            assert_ne!(id, derive(agent, "0a1b2c3d", 2));
            assert!(check(agent, "../x").is_err());
        }
        assert_eq!(derive(SessionAgent::Neovate, "x", 1).len(), 8);
        assert!(check(SessionAgent::Neovate, "../x").is_err());
    }

    #[test]
    fn copies_go_where_their_agent_looks() {
        let uuid = "11111111-2222-3333-4444-555555555555";
        let table = [
            (SessionAgent::ClaudeCode, "p/old.jsonl", Some(format!("p/{uuid}.jsonl"))),
            (
                SessionAgent::Codex,
                "d/rollout-2026-01-02T03-04-05-old.jsonl.zst",
                Some(format!("d/rollout-2026-01-02T03-04-05-{uuid}.jsonl")),
            ),
            (SessionAgent::Codex, "d/odd.jsonl", None),
            (
                SessionAgent::GeminiCli,
                "c/session-2026-01-02T03-04-0a1b2c3d.json",
                Some("c/session-2026-01-02T03-04-11111111.json".to_owned()),
            ),
            (
                SessionAgent::Pi,
                "p/2026-01-02T03-04-05-678Z_old.jsonl",
                Some(format!("p/2026-01-02T03-04-05-678Z_{uuid}.jsonl")),
            ),
            (SessionAgent::Pi, "p/odd.jsonl", None),
            (
                SessionAgent::CopilotCli,
                "session-state/old/events.jsonl",
                Some(format!("session-state/{uuid}/events.jsonl")),
            ),
            (SessionAgent::Cline, "t/api_conversation_history.json", None),
        ];
        for (agent, original, expected) in table {
            assert_eq!(path(agent, Path::new(original), uuid), expected.map(PathBuf::from));
        }
    }
}
