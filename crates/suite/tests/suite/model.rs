//! The engine agrees with the small specification in `crates/testkit/src/model`.

use std::collections::BTreeSet;

use foxwedge_testkit::{
    Random,
    model::{
        DEMANDS, HistoryLayout, ModelBreach, ModelTally, broken_clauses, compare, draw_history,
        draw_tree,
    },
};

use super::folder;

/// Histories that are drawn here; `cargo xtask suite model` draws more.
const CASES: u64 = 400;
/// Differences that are shown.
const SHOWN: usize = 12;

#[test]
fn engine_and_model_agree_on_verdict_causes_repair_and_cut() {
    let mut tally = ModelTally::default();
    let mut differences = Vec::new();
    for case in 0..CASES {
        let mut random = Random::new(case);
        let waiting = random.chance(25);
        let histories = match case % 4 {
            0 => {
                let tree = draw_tree(&mut random);
                tree.leaves().into_iter().map(|leaf| tree.path(leaf)).collect()
            }
            _ => vec![draw_history(&mut random)],
        };
        let compared = histories.iter().map(|history| compare(history, waiting, &mut tally));
        differences.extend(compared.filter_map(|compared| Some((case, compared.err()?))));
    }
    differences.sort_by_key(|(_, breach)| breach.input.len());
    for (case, ModelBreach { profile, waiting, what, input, output }) in
        differences.iter().take(SHOWN).map(|(case, breach)| (case, &**breach))
    {
        println!("\ncase {case}, {profile}, waiting {waiting}: {what}\n{input}\n{output}");
    }
    assert_eq!(differences.len(), 0, "engine and model differ");
    let ModelTally { vectors, valid, cuts } = tally;
    assert!(
        vectors > CASES * 8 && valid > vectors / 10 && valid < vectors && cuts > 0,
        "{tally:?}"
    );
}

#[test]
fn the_model_demands_what_the_evidence_says() {
    let text = std::fs::read_to_string(folder().join("evidence.tsv")).expect("the evidence");
    for demand in &DEMANDS {
        let label = format!("FW{}", demand.0);
        let rows = text.lines().filter_map(|line| {
            let mut fields = line.split('\t');
            let (clause, profile) = (fields.next()?, fields.next()?);
            (clause == label && profile != "ai-sdk").then_some(profile)
        });
        let known: BTreeSet<&str> = demand.1.iter().copied().collect();
        assert_eq!(rows.collect::<BTreeSet<&str>>(), known, "{label}");
    }
}

#[test]
fn every_clause_of_the_model_is_broken_by_some_history() {
    let layouts = [
        ("mistral", HistoryLayout::Chat),
        ("openai-responses", HistoryLayout::Items),
        ("anthropic", HistoryLayout::Blocks),
        ("bedrock", HistoryLayout::Blocks),
    ];
    let mut seen = BTreeSet::new();
    for case in 0..CASES {
        let history = draw_history(&mut Random::new(case));
        for (profile, layout) in layouts {
            let (known, inferred) = broken_clauses(&history, profile, layout, false);
            seen.extend(known.into_iter().chain(inferred));
        }
    }
    assert_eq!(seen, DEMANDS.iter().map(|demand| demand.0).collect());
}
