//! Codex: `sessions/<year>/<month>/<day>/rollout-<time>-<thread>.jsonl`, and `archived_sessions/`.
//! Old files are compressed. A plain file hides the compressed one of the same name.

use std::collections::HashSet;

use foxwedge_sessions::SessionAgent;

use super::{SessionOrigin, SessionSearch};

pub(super) fn find_sessions(search: &mut SessionSearch<'_>) {
    let Some(root) = search.folders.variable_or_home("CODEX_HOME", ".codex") else { return };
    for folder in ["sessions", "archived_sessions"] {
        let files = search.list_files_below(&root.join(folder), 3);
        let paths: HashSet<_> = files.iter().map(|file| file.path.clone()).collect();
        for file in files {
            let name = file.name.strip_suffix(".zst").unwrap_or(&file.name);
            let Some(thread) = name.strip_suffix(".jsonl").and_then(parse_thread_id) else {
                continue;
            };
            let hidden = name != file.name && paths.contains(&file.path.with_file_name(name));
            if !hidden {
                search.add(SessionAgent::Codex, file.path, thread, SessionOrigin::Session, None);
            }
        }
    }
}

/// The thread id in a file name. A thread that continues in a second file has a number after its
/// id.
fn parse_thread_id(stem: &str) -> Option<&str> {
    const TIME: &str = "0000-00-00T00-00-00-";
    let rest = stem.strip_prefix("rollout-")?;
    let (time, thread) = rest.split_at_checked(TIME.len())?;
    let fits = |(one, two): (u8, u8)| if two == b'0' { one.is_ascii_digit() } else { one == two };
    let is_time = time.bytes().zip(TIME.bytes()).all(fits);
    let thread = thread.split('_').next()?;
    (is_time && !thread.is_empty()).then_some(thread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_id_is_parsed_from_the_file_name() {
        let table = [
            ("rollout-2026-01-02T03-04-05-0199-ab", Some("0199-ab")),
            ("rollout-2026-01-02T03-04-05-0199-ab_2", Some("0199-ab")),
            ("rollout-2026-01-02T03-04-05-", None),
            ("rollout-2026-01-02", None),
            ("rollout-yyyy-01-02T03-04-05-0199", None),
            ("rollout-2026-01-02T03-04-0é-0199", None),
            ("history", None),
        ];
        for (stem, expected) in table {
            assert_eq!(parse_thread_id(stem), expected, "{stem}");
        }
    }
}
