//! A history that grows, and what is sent of it each time.

use foxwedge_core::{
    Profile, Question, Wire,
    compact::{Counter, Limits, Pace},
};

use super::{Digest, Settings, Stage, compact};

/// A token for every four bytes.
struct Quarters;

impl Counter for Quarters {
    fn text(&mut self, text: &str) -> u32 {
        u32::try_from(text.len().div_ceil(4)).unwrap_or(u32::MAX)
    }

    fn media(&mut self, _: &str) -> u32 {
        1_000
    }

    fn is_exact(&self) -> bool {
        false
    }
}

/// A turn and its answer, the length of which varies.
fn turn(at: usize) -> String {
    let words = "some words of an answer ".repeat(20 + at * 37 % 60);
    format!(
        r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"t{at}","name":"Read","input":{{"path":"f{at}"}}}}]}},
{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{at}","content":"{words}"}}]}}"#
    )
}

/// How often the beginning of what is sent changes while a history grows by 60 turns.
fn changes(stage: Stage, pace: Pace) -> usize {
    let question = Question::of(Profile::Anthropic);
    let limits = Limits::new(6_000, 3_000).at(pace);
    let settings = Settings { stages: vec![stage], ..Settings::new(question, limits) };
    let mut history = r#"[{"role":"user","content":"Read all files."}"#.to_owned();
    let mut before = String::new();
    let mut changes = 0;
    for at in 0..60 {
        history.push_str(",\n");
        history.push_str(&turn(at));
        let list = format!("{history}]");
        let sent = compact(&list, Wire::Anthropic, &settings, &mut Quarters, &mut Digest);
        let sent = sent.expect("fits").text.into_owned();
        assert!(sent.len() < 6_000 * 5);
        changes += usize::from(!sent.starts_with(before.trim_end_matches(']')));
        before = sent;
    }
    changes
}

#[test]
fn a_steady_pace_changes_the_beginning_rarely() {
    // The history has about 12 000 tokens more than it may; each time about 3 000 of them go.
    for stage in [Stage::Budget, Stage::Elide] {
        let (steady, once) = (changes(stage, Pace::Steady), changes(stage, Pace::Once));
        assert!(steady <= 7, "{}: {steady} changes", stage.name());
        assert!(once > 4 * steady, "{}: {once} changes at once, {steady} steady", stage.name());
    }
}
