//! `foxwedge hook`: what an agent runs when it resumes a session. If the session needs a repair, the
//! agent shows its user the command that makes it.

use std::{
    io::{self, Read},
    path::PathBuf,
    process::ExitCode,
};

use serde::{Deserialize, Serialize};

use super::continue_session::{entry_of_file, session_ref};
use foxwedge_local::{
    language::localize,
    output,
    session_health::SessionHealth,
    session_overview::{SessionOverview, read_overview},
    session_reach::describe_reach,
    source::format_rule_counts,
};

/// Maximum length of what the agent says.
const MAX_INPUT_BYTES: u64 = 1 << 20;

/// What the agent says about its session. The names are those of Claude Code.
#[derive(Deserialize)]
struct HookInput {
    transcript_path: PathBuf,
}

/// What the agent shows to its user.
#[derive(Serialize)]
struct HookOutput {
    #[serde(rename = "systemMessage")]
    system_message: String,
}

/// Reads what the agent says, and answers if its session needs a repair. Never fails: an agent must
/// start whatever its hooks think.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let mut input = Vec::new();
    let read = io::stdin().lock().take(MAX_INPUT_BYTES).read_to_end(&mut input);
    let hook = read.ok().and_then(|_| serde_json::from_slice::<HookInput>(&input).ok());
    let message = hook.and_then(|hook| {
        let entry = entry_of_file(&hook.transcript_path).ok()?;
        let overview = read_overview(&entry);
        advise(&overview, &session_ref(&entry, &overview).id?)
    });
    if let Some(system_message) = message
        && let Ok(text) = serde_json::to_string(&HookOutput { system_message })
    {
        output::write_stdout_raw(|out| writeln!(out, "{text}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What is wrong with a session, and what its user can do. `None` if nothing is.
fn advise(overview: &SessionOverview, id: &str) -> Option<String> {
    let rules = format_rule_counts(&overview.findings);
    let problem = match (overview.health, &overview.reach) {
        _ if !overview.is_fixable => return None,
        (SessionHealth::HistoryMissing, Some(reach)) => {
            localize(format!("the model sees {}", localize(describe_reach(reach))))
        }
        (SessionHealth::NeedsRepair | SessionHealth::HistoryMissing, _) => {
            localize(format!("this session needs a repair ({rules})"))
        }
        (SessionHealth::Ok | SessionHealth::Unreadable, _) => return None,
    };
    let next = localize(format!("leave the agent, then type: foxwedge continue {id}"));
    Some(format!("foxwedge: {problem}; {next}"))
}
