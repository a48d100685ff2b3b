//! `cargo xtask suite model`: the engine against the small specification in `crates/testkit/src/model`, on as many
//! histories as asked for.

use std::{sync::Mutex, thread};

use foxwedge_testkit::{
    Random,
    model::{ModelBreach, ModelTally, compare, draw_history, draw_tree},
};

use crate::{Outcome, ci, options::TaskOptions};

/// Differences that are shown.
const SHOWN: usize = 5;
/// One case in this many is a tree with branches.
const TREES: u64 = 4;

/// Draws until enough vectors were compared; a debug build starts the release build of itself.
pub(super) fn run(arguments: &[&str]) -> Outcome {
    let options = TaskOptions::read(arguments, &["--cases N", "--seed S", "--threads T"])?;
    let cases: u64 = options.number("--cases")?.unwrap_or(100_000);
    let seed: u64 = options.number("--seed")?.unwrap_or(0);
    let cores = thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let threads: u64 = options.number("--threads")?.unwrap_or(cores).max(1);
    if cfg!(debug_assertions) {
        let all = [&["model"], arguments].concat();
        return ci::run_in_release(
            "suite",
            &all,
            "engine and model differ, or could not be compared",
        );
    }
    let total = Mutex::new((ModelTally::default(), 0_u64, Vec::new()));
    thread::scope(|scope| {
        for first in 0..threads {
            let total = &total;
            scope.spawn(move || {
                let (mut tally, mut trees) = (ModelTally::default(), 0);
                let mut found = Vec::new();
                for case in (first..).step_by(threads as usize) {
                    if tally.vectors >= cases.div_ceil(threads) {
                        break;
                    }
                    let is_tree = case % TREES == 0;
                    trees += u64::from(is_tree);
                    if let Err(breach) =
                        draw_and_compare(seed.wrapping_add(case), is_tree, &mut tally)
                    {
                        found.push((seed.wrapping_add(case), breach));
                    }
                }
                let mut total = total.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                total.0.vectors += tally.vectors;
                total.0.valid += tally.valid;
                total.0.cuts += tally.cuts;
                total.1 += trees;
                total.2.append(&mut found);
            });
        }
    });
    let (tally, trees, mut found) =
        total.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    println!(
        "{} vectors, {} of them valid, {} cuts, {trees} trees: {} differences",
        tally.vectors,
        tally.valid,
        tally.cuts,
        found.len()
    );
    found.sort_by_key(|(_, breach)| breach.input.len());
    for (case, ModelBreach { profile, waiting, what, input, output }) in
        found.iter().take(SHOWN).map(|(case, breach)| (case, &**breach))
    {
        println!("\ncase {case}, {profile}, waiting {waiting}: {what}\n{input}\n{output}");
    }
    if found.is_empty() { Ok(()) } else { Err(format!("{} differences", found.len())) }
}

/// One history, or every branch of a tree.
fn draw_and_compare(
    seed: u64,
    is_tree: bool,
    tally: &mut ModelTally,
) -> Result<(), Box<ModelBreach>> {
    let mut random = Random::new(seed);
    let waiting = random.chance(25);
    if !is_tree {
        return compare(&draw_history(&mut random), waiting, tally);
    }
    let tree = draw_tree(&mut random);
    tree.leaves().into_iter().try_for_each(|leaf| compare(&tree.path(leaf), waiting, tally))
}
