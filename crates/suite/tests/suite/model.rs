//! The engine agrees with the small specification in `crates/testkit/src/model`.

use std::collections::BTreeSet;

use foxwedge_testkit::{
    Random,
    model::{DEMANDS, ModelTally, compare, draw_history, draw_tree},
};

use super::folder;

/// Histories that are drawn here; `cargo xtask suite model` draws more.
const CASES: u64 = 400;

#[test]
fn engine_and_model_agree_on_verdict_causes_repair_and_cut() {
    let mut tally = ModelTally::default();
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
        for history in histories {
            if let Err(breach) = compare(&history, waiting, &mut tally) {
                panic!("case {case}: {breach:#?}");
            }
        }
    }
    let ModelTally { vectors, valid, cuts } = tally;
    assert!(
        vectors > CASES * 8 && valid > vectors / 10 && valid < vectors && cuts > 0,
        "{tally:?}"
    );
}

#[test]
fn the_model_demands_what_the_evidence_says() {
    let text = std::fs::read_to_string(folder().join("evidence.tsv")).expect("the evidence");
    for demand in DEMANDS {
        let label = format!("FW{}", demand.code);
        let rows = text.lines().filter_map(|line| {
            let mut fields = line.split('\t');
            let (clause, profile) = (fields.next()?, fields.next()?);
            (clause == label && profile != "ai-sdk").then_some(profile)
        });
        let known: BTreeSet<&str> = demand.known.iter().copied().collect();
        assert_eq!(rows.collect::<BTreeSet<&str>>(), known, "{label}");
    }
}
