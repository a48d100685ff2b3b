//! Copilot CLI: `~/.copilot/session-state/<session>/events.jsonl`, next to a `workspace.yaml` with the
//! folder and the name of the session.

use std::fs;

use foxwedge_sessions::SessionAgent;

use super::{SessionOrigin, SessionSearch};

pub(super) fn find_sessions(search: &mut SessionSearch<'_>) {
    let Some(root) = search.folders.variable_or_home("COPILOT_HOME", ".copilot") else { return };
    for session in search.list_folders(&root.join("session-state")) {
        let events = session.path.join("events.jsonl");
        // A session without a prompt has no events, and so has the folder of its locks.
        if !events.is_file() {
            continue;
        }
        let about = fs::read_to_string(session.path.join("workspace.yaml")).unwrap_or_default();
        let project = yaml_text(&about, "cwd");
        let before = search.found.entries.len();
        search.add(
            SessionAgent::CopilotCli,
            events,
            &session.name,
            SessionOrigin::Session,
            project,
        );
        for entry in search.found.entries.iter_mut().skip(before) {
            entry.title = yaml_text(&about, "name");
        }
    }
}

/// The text of a field at the top of a YAML document, if it is plain or in double quotes.
fn yaml_text(document: &str, key: &str) -> Option<String> {
    let value = document.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))?;
    let value = value.trim();
    if value.starts_with('"') {
        return serde_json::from_str(value).ok();
    }
    let plain = !value.is_empty() && !value.starts_with(['\'', '|', '>', '&', '*', '!']);
    plain.then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_workspace_are_read() {
        let document = "id: x\ncwd: /tmp/a b\nname: \"say \\\"hi\\\"\"\nsummary: |-\n  cwd: no\n";
        let table = [
            ("cwd", Some("/tmp/a b")),
            ("name", Some("say \"hi\"")),
            ("summary", None),
            ("no", None),
        ];
        for (key, expected) in table {
            assert_eq!(yaml_text(document, key).as_deref(), expected, "{key}");
        }
    }
}
