//! Every conversation that lies in the project, cut at every place.

use std::{
    fs,
    path::{Path, PathBuf},
};

use foxwedge_core::{
    Format, Profile,
    compact::{HistoryFraction, TokenLimits},
};
use foxwedge_formats::{compact::CompactionStage, compact::weigh, detect, outline_options, read};
use foxwedge_testkit::{
    ByteTokenCounter,
    laws::{
        LawTally,
        compaction::{SummarizerKind, judge_sound},
    },
    long,
};

use super::plan;
use crate::support::{bold, fixed};

/// A conversation and whose rules it is held against.
struct Story {
    name: String,
    wire: Format,
    profile: Profile,
    document: String,
}

fn folders(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root).expect("the conversations are part of the project");
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("a folder can be listed").path()).collect();
    paths.sort();
    paths
}

/// Cases name their format, recordings are recognised; all are repaired first.
fn stories() -> Vec<Story> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let cases = folders(&root.join("../core/tests/cases"));
    let mut files: Vec<PathBuf> =
        cases.iter().filter(|path| path.is_dir()).flat_map(|folder| folders(folder)).collect();
    files.extend(folders(&root.join("../../fixtures/recorded")));
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    let mut stories = Vec::new();
    for path in files {
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or("").to_owned();
        let text = fs::read_to_string(&path).expect("a conversation can be read");
        let mut parts = name.split('.').skip(1);
        let named = parts.next().and_then(Format::parse);
        let found = || detect(&text).map(|found| found.wire);
        let Some(wire) = named.or_else(found) else { continue };
        let profile = parts.next().and_then(Profile::parse).unwrap_or(Profile::for_format(wire));
        let document = fixed(wire, &bold(profile), &text).text;
        stories.push(Story { name, wire, profile, document });
    }
    stories
}

impl Story {
    /// Makes it shorter, and wants every law to hold; whether there was a result.
    fn judged(&self, stage: CompactionStage, limits: Option<TokenLimits>) -> bool {
        let Story { name, wire, profile, document } = self;
        let settings = plan(bold(*profile), &[stage], limits);
        let tally = &mut LawTally::default();
        match judge_sound(*wire, document, &settings, SummarizerKind::Digest, tally) {
            Ok(result) => result.is_some(),
            Err((law, what)) => panic!("{law}: {name}\n{document}\n{settings:?}\n{what}"),
        }
    }

    /// Where it can be cut; a few places of those with hundreds of messages.
    fn places(&self) -> (usize, impl Iterator<Item = usize> + use<>) {
        let reading = read(&self.document, self.wire, outline_options(self.profile));
        let count = reading.expect("a conversation can be read").draft.messages.len();
        (count, (0..count).step_by(1 + count / 30))
    }
}

#[test]
fn no_cut_at_any_place_of_any_conversation_parts_what_belongs_together() {
    let (mut stories, mut cuts) = (stories(), 0);
    assert!(stories.len() > 200, "only {} conversations", stories.len());
    for wire in Format::ALL {
        let document = long(wire.name(), 24, 3).to_string();
        let profile = Profile::Strict;
        stories.push(Story { name: "long".to_owned(), wire, profile, document });
    }
    for story in &stories {
        let (count, places) = story.places();
        for place in places {
            let share = (place as f64 + 0.5) / (count.max(2) - 1) as f64;
            let fraction = HistoryFraction::new(share.min(1.0)).expect("a share");
            assert!(
                story.judged(CompactionStage::Window(fraction), None),
                "{} {place}",
                story.name
            );
            cuts += 1;
        }
    }
    assert!(cuts > 1_000, "only {cuts} cuts");
}

#[test]
fn a_budget_that_ends_at_any_message_of_any_conversation_is_kept_or_refused() {
    let (mut shorter, mut refused) = (0, 0);
    for story in &stories() {
        let reading = read(&story.document, story.wire, outline_options(story.profile));
        let reading = reading.expect("a conversation can be read");
        let weights = weigh(&reading.draft, reading.frame, &mut ByteTokenCounter);
        let (count, places) = story.places();
        for place in places {
            // One strategy for each place, so that all of them meet all kinds of places.
            let stage = match (place + story.name.len()) % 4 {
                0 => CompactionStage::Importance,
                1 => CompactionStage::Summarize,
                2 => CompactionStage::Window(HistoryFraction::HALF),
                _ => CompactionStage::Budget,
            };
            let exactly = weights.overhead + weights.of(place..count);
            // Exactly as much as it takes, or one less.
            let budget = exactly.saturating_sub(place as u64 % 2);
            match story.judged(stage, Some(TokenLimits::exactly(budget))) {
                true => shorter += 1,
                false => refused += 1,
            }
        }
    }
    assert!(shorter > 200 && refused > 200, "{shorter} shorter, {refused} refused");
}
