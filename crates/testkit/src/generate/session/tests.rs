//! The generated files have the variations of real files, and the damage of crashes.

use super::*;
use crate::session_view;

fn files(agent: &str) -> Vec<SessionFile> {
    (0..300).map(|seed| session_file(&mut Random::new(seed), agent, 12)).collect()
}

fn holds(file: &SessionFile, text: &str) -> bool {
    file.bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn all_agent_record_forms_occur() {
    let table: [(&str, &[&str]); 5] = [
        (
            "claude-code",
            &[
                "\"isSidechain\":true",
                "\"isApiErrorMessage\":true",
                "\"isCompactSummary\":true",
                "\"preservedMessages\"",
                "\"preservedSegment\"",
                "\"sourceToolAssistantUUID\"",
                "\"attachment\"",
                "\"progress\"",
                "\"queue-operation\"",
                "\"file-history-snapshot\"",
                "\"tomorrows-record\"",
                "taken back",
                "\"nowhere\"",
                "\0",
                "\r\n",
            ],
        ),
        (
            "neovate",
            &[
                "\"tool-result\"",
                "\"config\"",
                "\"snapshot\"",
                "compacted successfully",
                "taken back",
            ],
        ),
        ("codex", &["thread_rolled_back", "replacement_history", "ghost_snapshot", "\"ordinal\""]),
        ("cline", &["isTruncationMarker", "condenseParent", "isSummary"]),
        ("gemini-cli", &["$rewindTo", "toolCalls", "\"$set\":{\"messages\"", "\"messages\": ["]),
    ];
    for (agent, all) in table {
        let files = files(agent);
        for text in all {
            let found = files.iter().filter(|file| holds(file, text)).count();
            assert!(found > 1, "{agent}: {text:?} in {found} files");
        }
    }
}

#[test]
fn files_of_every_kind_are_written() {
    for agent in ["claude-code", "neovate", "codex", "cline", "gemini-cli"] {
        let files = files(agent);
        let count = |is: fn(&SessionFile) -> bool| files.iter().filter(|file| is(file)).count();
        let kinds = [
            count(|file| file.sound),
            count(|file| file.damaged),
            count(|file| !file.damaged && file.truth.is_none()),
            count(|file| file.bytes.last() != Some(&b'\n')),
        ];
        assert!(kinds.iter().all(|count| *count > 10), "{agent}: {kinds:?}");
    }
}

#[test]
fn the_oracle_reads_the_generated_conversation() {
    for agent in ["claude-code", "neovate", "codex", "cline", "gemini-cli"] {
        let format = match agent {
            "codex" | "gemini-cli" => "own",
            _ => "anthropic",
        };
        for (seed, file) in files(agent).iter().enumerate() {
            let Some(truth) = &file.truth else { continue };
            let conversation = session_view(agent, &file.bytes);
            let parsed = crate::told(format, &conversation.messages);
            assert_eq!(&parsed, truth, "{agent} {seed}\n{}", String::from_utf8_lossy(&file.bytes));
        }
    }
}
