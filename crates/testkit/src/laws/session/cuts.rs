//! Files that end early, as after a crash.

use foxwedge_sessions::SessionAgent;

use super::judge::{SessionVerdict, breach, repaired, see, shown_bytes, sound};
use crate::laws::LawCase;

/// Checks that the file can be read and repaired wherever it ends: after any line, and at every
/// `step` bytes of the last two lines. Rows of a database end nowhere else.
///
/// # Errors
/// The first cut at which it cannot.
pub fn every_cut(case: &LawCase, agent: SessionAgent, bytes: &[u8], step: usize) -> SessionVerdict {
    at(case, agent, bytes, &cuts(agent, bytes, step))
}

/// The same at a few of these cuts; at all of them for one file in a hundred.
pub(super) fn judge(case: &LawCase, agent: SessionAgent, bytes: &[u8]) -> SessionVerdict {
    if see(agent, &case.question(), bytes).is_err() {
        return Ok(());
    }
    let cuts = cuts(agent, bytes, 1);
    if case.seed.is_multiple_of(100) {
        return at(case, agent, bytes, &cuts);
    }
    let step = 1 + cuts.len() / 3;
    let few: Vec<usize> =
        cuts.into_iter().skip((case.seed as usize) % step).step_by(step).collect();
    at(case, agent, bytes, &few)
}

fn cuts(agent: SessionAgent, bytes: &[u8], step: usize) -> Vec<usize> {
    let ends: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b'\n').collect();
    if agent.is_in_database() {
        return ends.iter().map(|at| at + 1).collect();
    }
    let last = ends.len().checked_sub(3).map_or(0, |at| ends[at]);
    let cuts = ends.iter().map(|at| at + 1).chain((last..bytes.len()).step_by(step));
    let start = list_start(agent, bytes);
    cuts.filter(|cut| *cut > start).collect()
}

/// Where the list begins in an object of Cline: what ends before it holds nothing of the conversation,
/// and is refused.
fn list_start(agent: SessionAgent, bytes: &[u8]) -> usize {
    const LIST: &[u8] = b"\"messages\": [";
    if agent != SessionAgent::Cline || !bytes.starts_with(b"{") {
        return 0;
    }
    bytes.windows(LIST.len()).position(|window| window == LIST).map_or(0, |at| at + LIST.len())
}

fn at(case: &LawCase, agent: SessionAgent, bytes: &[u8], cuts: &[usize]) -> SessionVerdict {
    // Most cuts of one line give the same repaired file, which is judged once.
    let mut judged = Vec::new();
    for cut in cuts {
        let beginning = &bytes[..*cut];
        let fail = |what: String| breach("cut", format!("{what}\ncut\n{}", shown_bytes(beginning)));
        let fixed = match repaired(agent, &case.question(), beginning) {
            Ok(fixed) => fixed,
            Err(error) => return fail(error),
        };
        if judged == fixed {
            continue;
        }
        judged = fixed;
        match see(agent, &case.question(), beginning).map(|session| sound(case, agent, &session)) {
            Ok(Ok(())) => {}
            Ok(Err((law, what))) => return fail(format!("not {law}: {what}")),
            Err(error) => return fail(error),
        }
    }
    Ok(())
}
