//! Ids of copies, and the files they go to. The same copy of the same session has the same id.

use std::path::{Path, PathBuf};

use foxwedge_dialect::session::Agent;

use crate::{agents::pick::is_id, disk::Fingerprint, say::Trouble};

/// The id of the copy with this number, in the shape that the agent's own ids have.
pub(super) fn derive(agent: Agent, old: &str, number: u32) -> String {
    let hash = Fingerprint::of(format!("foxwedge fork {number} of {old}").as_bytes()).hash;
    let part = |from: usize, to: usize| hash.get(from..to).unwrap_or_default();
    match agent {
        Agent::Neovate => part(0, 8).to_owned(),
        // The shape of an id that is made from a name.
        Agent::ClaudeCode | Agent::Codex | Agent::GeminiCli | Agent::Cline => format!(
            "{}-{}-5{}-a{}-{}",
            part(0, 8),
            part(8, 12),
            part(13, 16),
            part(17, 20),
            part(20, 32)
        ),
    }
}

/// Refuses ids that the agent would not find.
pub(super) fn check(agent: Agent, id: &str) -> Result<(), Trouble> {
    let wanted = match agent {
        Agent::ClaudeCode | Agent::Codex | Agent::GeminiCli if !is_uuid(id) => {
            "a UUID, as 0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
        }
        _ if !is_id(id) => "made of letters, digits, `-` and `_`",
        _ => return Ok(()),
    };
    Err(Trouble::new(format!("`{}` is no id for {}", crate::say::clean(id), agent.name()))
        .help(format!("an id of this agent is {wanted}")))
}

fn is_uuid(id: &str) -> bool {
    let groups: Vec<&str> = id.split('-').collect();
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups.iter().all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Where the copy goes: into the folder of the original, under a name that the agent looks for.
pub(super) fn path(agent: Agent, original: &Path, id: &str) -> Option<PathBuf> {
    let name = original.file_name()?.to_str()?;
    let name = match agent {
        Agent::ClaudeCode | Agent::Neovate => format!("{id}.jsonl"),
        Agent::Codex => {
            const TIME: usize = "0000-00-00T00-00-00".len();
            let time = name.strip_prefix("rollout-")?.get(..TIME)?;
            format!("rollout-{time}-{id}.jsonl")
        }
        Agent::GeminiCli => {
            const TIME: usize = "0000-00-00T00-00".len();
            let time = name.strip_prefix("session-")?.get(..TIME)?;
            let kind = if name.ends_with(".json") { "json" } else { "jsonl" };
            format!("session-{time}-{}.{kind}", id.get(..8).unwrap_or(id))
        }
        Agent::Cline => return None,
    };
    Some(original.with_file_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_the_shape_of_the_agents_own() {
        for agent in [Agent::ClaudeCode, Agent::Codex, Agent::GeminiCli] {
            let id = derive(agent, "0a1b2c3d", 1);
            assert!(is_uuid(&id), "{id}");
            assert_eq!(id, derive(agent, "0a1b2c3d", 1));
            assert_ne!(id, derive(agent, "0a1b2c3d", 2));
            assert!(check(agent, &id).is_ok() && check(agent, "../x").is_err());
        }
        assert_eq!(derive(Agent::Neovate, "x", 1).len(), 8);
        assert!(check(Agent::Neovate, "../x").is_err());
    }

    #[test]
    fn copies_go_where_their_agent_looks() {
        let uuid = "11111111-2222-3333-4444-555555555555";
        let table = [
            (Agent::ClaudeCode, "p/old.jsonl", Some(format!("p/{uuid}.jsonl"))),
            (
                Agent::Codex,
                "d/rollout-2026-01-02T03-04-05-old.jsonl.zst",
                Some(format!("d/rollout-2026-01-02T03-04-05-{uuid}.jsonl")),
            ),
            (Agent::Codex, "d/odd.jsonl", None),
            (
                Agent::GeminiCli,
                "c/session-2026-01-02T03-04-0a1b2c3d.json",
                Some("c/session-2026-01-02T03-04-11111111.json".to_owned()),
            ),
            (Agent::Cline, "t/api_conversation_history.json", None),
        ];
        for (agent, original, expected) in table {
            assert_eq!(path(agent, Path::new(original), uuid), expected.map(PathBuf::from));
        }
    }
}
