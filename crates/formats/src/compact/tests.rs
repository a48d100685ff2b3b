//! Compacts a growing history and compares what is sent each time.

use foxwedge_core::{
    CheckOptions, Format, Profile,
    compact::{CompactionPace, TokenCounter, TokenLimits},
};

use super::{CompactionSettings, CompactionStage, DigestSummarizer, compact};

/// One token for every four bytes.
struct Quarters;

impl TokenCounter for Quarters {
    fn count_text(&mut self, text: &str) -> u32 {
        u32::try_from(text.len().div_ceil(4)).unwrap_or(u32::MAX)
    }

    fn count_media(&mut self, _: &str) -> u32 {
        1_000
    }

    fn is_exact(&self) -> bool {
        false
    }
}

/// A turn and its tool result, whose length varies.
fn turn(at: usize) -> String {
    let words = "some words of an answer ".repeat(20 + at * 37 % 60);
    format!(
        r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"t{at}","name":"Read","input":{{"path":"f{at}"}}}}]}},
{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{at}","content":"{words}"}}]}}"#
    )
}

/// How often the start of the compacted history changes while a history grows by 60 turns.
fn changes(stage: CompactionStage, pace: CompactionPace) -> usize {
    let question = CheckOptions::for_profile(Profile::Anthropic);
    let limits = TokenLimits::new(6_000, 3_000).with_pace(pace);
    let settings =
        CompactionSettings { stages: vec![stage], ..CompactionSettings::new(question, limits) };
    let mut history = r#"[{"role":"user","content":"Read all files."}"#.to_owned();
    let mut before = String::new();
    let mut changes = 0;
    for at in 0..60 {
        history.push_str(",\n");
        history.push_str(&turn(at));
        let list = format!("{history}]");
        let sent =
            compact(&list, Format::Anthropic, &settings, &mut Quarters, &mut DigestSummarizer);
        let sent = sent.expect("fits").text.into_owned();
        assert!(sent.len() < 6_000 * 5);
        changes += usize::from(!sent.starts_with(before.trim_end_matches(']')));
        before = sent;
    }
    changes
}

#[test]
fn a_steady_pace_changes_the_beginning_rarely() {
    // The history is about 12 000 tokens over its limit; each compaction removes about 3 000.
    for stage in [CompactionStage::Budget, CompactionStage::Elide] {
        let (steady, once) = (
            changes(stage, CompactionPace::Incremental),
            changes(stage, CompactionPace::WholeHistory),
        );
        assert!(steady <= 7, "{}: {steady} changes", stage.name());
        assert!(once > 4 * steady, "{}: {once} changes at once, {steady} steady", stage.name());
    }
}
