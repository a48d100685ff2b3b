//! The first thing on which two replays differ.

use foxwedge_testkit::runs::Log;
use serde_json::Value;

use super::replay;

/// How many steps in front of a difference are shown.
const BEFORE: usize = 6;

/// Where two replays differ, and what each of them says there.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ReplayDifference {
    /// The step, if it was one.
    step: Option<usize>,
    path: String,
    ours: Option<Value>,
    theirs: Option<Value>,
}

impl ReplayDifference {
    /// The difference, with the steps that led to it.
    pub(super) fn text(&self, log: &Log) -> String {
        let last = self.step.unwrap_or(log.steps.len().saturating_sub(1));
        let first = last.saturating_sub(BEFORE);
        let steps = log.steps.iter().enumerate().take(last + 1).skip(first);
        let steps: String =
            steps.map(|(at, step)| format!("  {at} {}\n", replay::step(step))).collect();
        let shown = |value: &Option<Value>| {
            value.as_ref().map_or_else(|| "nothing".to_owned(), Value::to_string)
        };
        let (seed, path) = (log.seed, &self.path);
        let (ours, theirs) = (shown(&self.ours), shown(&self.theirs));
        format!(
            "seed {seed}, {path}\n- rust       {ours}\n+ typescript {theirs}\nafter\n{steps}\
             again: cargo xtask clients --seed {seed}"
        )
    }
}

/// The first difference of two replays: of the earliest step, else of the state in the end.
pub(super) fn replays(ours: &Value, theirs: &Value) -> Option<ReplayDifference> {
    let count = |replay: &Value| replay["told"].as_array().map_or(0, Vec::len);
    let steps = (0..count(ours).max(count(theirs))).find_map(|step| {
        let path = format!("told[{step}]");
        let difference = values(path, ours["told"].get(step), theirs["told"].get(step))?;
        Some(ReplayDifference { step: Some(step), ..difference })
    });
    let state = |name: &str| values(name.to_owned(), ours.get(name), theirs.get(name));
    steps.or_else(|| state("truth")).or_else(|| state("snapshot"))
}

fn values(path: String, ours: Option<&Value>, theirs: Option<&Value>) -> Option<ReplayDifference> {
    match (ours, theirs) {
        (Some(Value::Object(our)), Some(Value::Object(their))) => {
            let names = our.keys().chain(their.keys().filter(|name| !our.contains_key(*name)));
            names
                .into_iter()
                .find_map(|name| values(format!("{path}.{name}"), our.get(name), their.get(name)))
        }
        (Some(Value::Array(our)), Some(Value::Array(their))) => (0..our.len().max(their.len()))
            .find_map(|at| values(format!("{path}[{at}]"), our.get(at), their.get(at))),
        // There is one kind of number over there.
        (Some(Value::Number(our)), Some(Value::Number(their)))
            if our.as_f64() == their.as_f64() =>
        {
            None
        }
        (ours, theirs) if ours == theirs => None,
        (ours, theirs) => {
            let (ours, theirs) = (ours.cloned(), theirs.cloned());
            Some(ReplayDifference { step: None, path, ours, theirs })
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_difference_is_found() {
        let ours = json!({ "told": [{ "a": 1 }, { "b": [1, 2] }], "truth": { "x": 1.0 } });
        let table = [
            (json!({ "told": [{ "a": 1 }, { "b": [1, 2] }], "truth": { "x": 1 } }), None),
            (json!({ "told": [{ "a": 1 }, { "b": [1] }], "truth": {} }), Some("told[1].b[1]")),
            (json!({ "told": [{ "a": 1, "c": null }] }), Some("told[0].c")),
            (json!({ "told": [{ "a": 1 }, { "b": [1, 2] }], "truth": {} }), Some("truth.x")),
        ];
        for (theirs, expected) in table {
            let found = replays(&ours, &theirs).map(|difference| difference.path);
            assert_eq!(found.as_deref(), expected, "{theirs}");
        }
    }
}
