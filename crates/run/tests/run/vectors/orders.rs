//! Other orders of the same inputs.

use serde_json::Value;

/// How many orders of a long list are tried.
const SOME: u64 = 120;

/// The orders that a vector allows: none, any, or any within each run.
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
                let own = inputs.iter().filter(|input| input["event"]["runId"] == *run);
                all(&own.copied().collect::<Vec<_>>())
            });
            let groups: Vec<_> = groups.collect();
            let max = groups.iter().map(Vec::len).max().unwrap_or(0);
            let order =
                |at: usize| groups.iter().flat_map(move |group| group[at % group.len()].clone());
            (0..max).map(|at| order(at).collect()).collect()
        }
        Some(other) => panic!("nobody knows the order `{other}`"),
    }
}

/// Every order of a short list; some orders of a long one.
fn all<T: Copy>(items: &[T]) -> Vec<Vec<T>> {
    if items.len() > 5 {
        return (0..SOME).map(|seed| shuffled(items, seed)).collect();
    }
    if items.len() < 2 {
        return vec![items.to_vec()];
    }
    let mut orders = Vec::new();
    for at in 0..items.len() {
        let mut rest = items.to_vec();
        let first = rest.remove(at);
        orders.extend(all(&rest).into_iter().map(|order| [vec![first], order].concat()));
    }
    orders
}

fn shuffled<T: Copy>(items: &[T], seed: u64) -> Vec<T> {
    let mut state = seed + 1;
    let mut keyed: Vec<(u64, T)> = Vec::new();
    for item in items {
        state = state * 48_271 % 2_147_483_647;
        keyed.push((state, *item));
    }
    keyed.sort_by_key(|(key, _)| *key);
    keyed.into_iter().map(|(_, item)| item).collect()
}
