//! The laws of repair for session files, for every agent and every policy.

use foxwedge_core::{Language, Orphans, Policy, Tail, Unanswered};
use foxwedge_testkit::laws::{Agent, Tally, run, session::case};

/// Cases for each agent and policy.
const CASES: u64 = 128;

/// Runs the cases of an agent; `flaws` are the rules about files that they have to meet.
fn hold(agent: Agent, flaws: &[u16]) {
    let mut tally = Tally::default();
    let ways = [Unanswered::Answer, Unanswered::DropTurn, Unanswered::DropCall];
    for (index, unanswered) in (0..).zip(ways) {
        for number in 0..CASES {
            let policy = Policy {
                unanswered,
                orphans: if number % 4 == 3 { Orphans::Drop } else { Orphans::Quote },
                tail: if number % 5 == 4 { Tail::Pending } else { Tail::Dead },
                bold: true,
                language: Language::English,
            };
            run(&case(1 + number + 1_000_000 * index, agent, policy, 12), &mut tally);
        }
    }
    let broken: Vec<String> = tally
        .violations
        .iter()
        .take(3)
        .map(|breach| {
            format!("{} {:?}\n{}\n{}", breach.law, breach.case, breach.document, breach.what)
        })
        .collect();
    assert!(
        broken.is_empty(),
        "{} violations, the first:\n{}",
        tally.violations.len(),
        broken.join("\n\n")
    );
    assert!(tally.sound > 30, "too few sound files: {}", tally.sound);
    let met: Vec<&u16> = flaws.iter().filter(|code| tally.findings.contains_key(code)).collect();
    assert_eq!(met, flaws.iter().collect::<Vec<_>>(), "{:?}", tally.findings);
}

#[test]
fn the_laws_hold_for_files_of_claude_code() {
    hold(Agent::ClaudeCode, &[101, 102, 103, 701, 703, 704, 801, 802, 803]);
}

#[test]
fn the_laws_hold_for_files_of_neovate() {
    hold(Agent::Neovate, &[101, 102, 103, 701, 702, 703, 704, 801, 802, 803]);
}

#[test]
fn the_laws_hold_for_files_of_codex() {
    hold(Agent::Codex, &[101, 102, 103, 801, 802, 803]);
}

#[test]
fn the_laws_hold_for_files_of_cline() {
    hold(Agent::Cline, &[101, 102, 103, 801]);
}

#[test]
fn the_laws_hold_for_files_of_gemini_cli() {
    hold(Agent::GeminiCli, &[101, 102, 103, 801, 802, 803]);
}
