//! A file that ends early, as a crash leaves it.

use foxwedge_dialect::session::SessionAgent;

use super::judge::{Verdict, breach, repaired, see, shown_bytes, sound};
use crate::laws::Case;

/// Whether the file can be read and repaired wherever it ends: behind any line, and at every byte
/// of the last two; or at every few bytes, if `step` says so.
///
/// # Errors
/// The end at which it cannot.
pub fn every_cut(case: &Case, agent: SessionAgent, bytes: &[u8], step: usize) -> Verdict {
    at(case, agent, bytes, &cuts(bytes, step))
}

/// The same, at a few of these ends; at all of them for one file in a hundred.
pub(super) fn judge(case: &Case, agent: SessionAgent, bytes: &[u8]) -> Verdict {
    if see(agent, &case.question(), bytes).is_err() {
        return Ok(());
    }
    let cuts = cuts(bytes, 1);
    if case.seed.is_multiple_of(100) {
        return at(case, agent, bytes, &cuts);
    }
    let step = 1 + cuts.len() / 3;
    let few: Vec<usize> =
        cuts.into_iter().skip((case.seed as usize) % step).step_by(step).collect();
    at(case, agent, bytes, &few)
}

fn cuts(bytes: &[u8], step: usize) -> Vec<usize> {
    let ends: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b'\n').collect();
    let last = ends.len().checked_sub(3).map_or(0, |at| ends[at]);
    ends.iter().map(|at| at + 1).chain((last..bytes.len()).step_by(step)).collect()
}

fn at(case: &Case, agent: SessionAgent, bytes: &[u8], cuts: &[usize]) -> Verdict {
    // Most cuts of one line are repaired to the same file, which is judged once.
    let mut judged = Vec::new();
    for cut in cuts {
        let beginning = &bytes[..*cut];
        let trouble =
            |what: String| breach("cut", format!("{what}\ncut\n{}", shown_bytes(beginning)));
        let fixed = match repaired(agent, &case.question(), beginning) {
            Ok(fixed) => fixed,
            Err(error) => return trouble(error),
        };
        if judged == fixed {
            continue;
        }
        judged = fixed;
        match see(agent, &case.question(), beginning).map(|seen| sound(case, agent, &seen)) {
            Ok(Ok(())) => {}
            Ok(Err((law, what))) => return trouble(format!("not {law}: {what}")),
            Err(error) => return trouble(error),
        }
    }
    Ok(())
}
