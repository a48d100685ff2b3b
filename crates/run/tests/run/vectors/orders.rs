//! Other orders of the same inputs.

use serde_json::Value;

/// How many orders of many inputs are tried.
const SOME: u64 = 120;

/// The orders that a vector allows: none, any, or any of the events of one run.
pub(super) fn of<'v>(allowed: &Value, inputs: Vec<&'v Value>) -> Vec<Vec<&'v Value>> {
    match allowed.as_str() {
        None => Vec::new(),
        Some("any") => all(&inputs),
        Some("within runs") => {
            let mut runs: Vec<&Value> = Vec::new();
            for input in &inputs {
                if !runs.contains(&&input["event"]["runId"]) {
                    runs.push(&input["event"]["runId"]);
                }
            }
            let groups = runs.into_iter().map(|run| {
                let mine = inputs.iter().filter(|input| input["event"]["runId"] == *run);
                all(&mine.copied().collect::<Vec<_>>())
            });
            let groups: Vec<_> = groups.collect();
            let most = groups.iter().map(Vec::len).max().unwrap_or(0);
            let order =
                |at: usize| groups.iter().flat_map(move |group| group[at % group.len()].clone());
            (0..most).map(|at| order(at).collect()).collect()
        }
        Some(other) => panic!("nobody knows the order `{other}`"),
    }
}

/// Every order of a few things; some orders of many.
fn all<T: Copy>(things: &[T]) -> Vec<Vec<T>> {
    if things.len() > 5 {
        return (0..SOME).map(|seed| shuffled(things, seed)).collect();
    }
    if things.len() < 2 {
        return vec![things.to_vec()];
    }
    let mut orders = Vec::new();
    for at in 0..things.len() {
        let mut rest = things.to_vec();
        let first = rest.remove(at);
        orders.extend(all(&rest).into_iter().map(|order| [vec![first], order].concat()));
    }
    orders
}

fn shuffled<T: Copy>(things: &[T], seed: u64) -> Vec<T> {
    let mut state = seed + 1;
    let mut keyed: Vec<(u64, T)> = Vec::new();
    for thing in things {
        state = state * 48_271 % 2_147_483_647;
        keyed.push((state, *thing));
    }
    keyed.sort_by_key(|(key, _)| *key);
    keyed.into_iter().map(|(_, thing)| thing).collect()
}
