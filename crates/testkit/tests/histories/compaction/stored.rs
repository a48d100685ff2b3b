//! Stored histories: what a compaction hides stays there, and comes back byte for byte.

use foxwedge_core::{
    Format, Profile,
    compact::{CompactedEntry, CompactionArchive, HistoryFraction},
};
use foxwedge_formats::compact::{CompactionSettings, CompactionStage};
use foxwedge_testkit::{body, long, messages};
use serde_json::Value;

use super::{half, left, plan};
use crate::support::{bold, ids, list, report, value};

fn stored(list: &[Value]) -> CompactionArchive<String> {
    let mut archive = CompactionArchive::default();
    list.iter().for_each(|message| archive.push(message.to_string()));
    archive
}

/// What is sent: the visible messages.
fn sent(archive: &CompactionArchive<String>) -> String {
    let visible: Vec<&str> = archive.visible().into_iter().map(|(_, text)| text.as_str()).collect();
    format!("[{}]", visible.join(","))
}

/// Compacts what is visible.
fn compacted(
    archive: &mut CompactionArchive<String>,
    wire: Format,
    settings: &CompactionSettings,
) -> Option<u64> {
    let document = sent(archive);
    let shorter = left(wire, &document, settings).expect("it can be shortened");
    let outcome = shorter.messages.iter().map(|line| match (line.origin, line.unchanged) {
        (Some(at), true) => CompactedEntry::Kept(at),
        _ => CompactedEntry::New(line.span.of(&shorter.text).to_owned()),
    });
    let outcome = outcome.collect();
    let id = archive.compact(outcome);
    assert_eq!(value(&sent(archive)), value(&shorter.text), "stored is what was made");
    id
}

/// How often each entry was hidden, and that hidden ones are not seen.
fn hidden(archive: &CompactionArchive<String>) -> usize {
    let seen: Vec<usize> = archive.visible().into_iter().map(|(at, _)| at).collect();
    let hidden =
        archive.entries().iter().enumerate().filter(|(_, entry)| entry.hidden_by.is_some());
    hidden.inspect(|(at, _)| assert!(!seen.contains(at))).count()
}

#[test]
fn b1_4_two_compactions_never_hide_the_same_message_twice_nor_count_hidden_ones() {
    for wire in Format::ALL {
        let first = long(wire.name(), 40, 11);
        let mut archive = stored(first.as_array().expect("a list"));
        let count = archive.entries().len();
        let settings = half(Profile::Strict);
        let one = compacted(&mut archive, wire, &settings).expect("something goes");
        let once = hidden(&archive);
        let by = |archive: &CompactionArchive<String>, id: u64| -> Vec<usize> {
            let entries = archive.entries().iter().enumerate();
            entries.filter(|(_, entry)| entry.hidden_by == Some(id)).map(|(at, _)| at).collect()
        };
        let texts = |archive: &CompactionArchive<String>, id: u64| -> Vec<String> {
            let entries = archive.entries();
            by(archive, id).into_iter().filter_map(|at| entries[at].message.clone()).collect()
        };
        let before = texts(&archive, one);
        let visible = archive.visible().len();
        let two = compacted(&mut archive, wire, &settings).expect("something goes again");
        assert_eq!(texts(&archive, one), before, "what the first hid is still hidden by it");
        assert!(by(&archive, two).iter().all(|at| !by(&archive, one).contains(at)));
        // Half of what was visible, not half of everything.
        assert!(by(&archive, two).len() < visible && once < count);
        assert!(archive.visible().len() < visible);
    }
}

#[test]
fn b1_5_taking_compactions_back_shows_every_message_again_byte_for_byte() {
    for wire in Format::ALL {
        for summarize in [false, true] {
            let first = long(wire.name(), 30, 12);
            let mut archive = stored(first.as_array().expect("a list"));
            let original = sent(&archive);
            let mut settings = half(Profile::Strict);
            if summarize {
                settings = plan(bold(Profile::Strict), &[CompactionStage::Summarize], None);
                settings.recent = Some(600);
            }
            let one = compacted(&mut archive, wire, &settings).expect("something goes");
            let after = sent(&archive);
            assert_ne!(after, original);
            settings.recent = Some(100);
            let two = compacted(&mut archive, wire, &settings);
            if let Some(two) = two {
                assert!(archive.undo_compaction(two));
                assert_eq!(sent(&archive), after);
            }
            assert!(archive.undo_compaction(one));
            assert_eq!(sent(&archive), original);
            assert!(archive.entries().iter().all(|entry| entry.hidden_by.is_none()));
        }
    }
}

#[test]
fn b0_16_after_a_summary_only_it_and_later_messages_are_seen_and_the_rest_stays_stored() {
    for wire in Format::ALL {
        let profile = Profile::for_format(wire);
        let shape = "u a[x] r[x] a u a u";
        let mut archive = stored(&messages(wire.name(), shape));
        let all: Vec<String> =
            archive.entries().iter().filter_map(|entry| entry.message.clone()).collect();
        let mut settings = plan(bold(profile), &[CompactionStage::Summarize], None);
        settings.recent = Some(0);
        compacted(&mut archive, wire, &settings).expect("it can be condensed");
        for message in messages(wire.name(), "a u a[y] r[y] a u") {
            archive.push(message.to_string());
        }
        let text = sent(&archive);
        assert!(list(&value(&text))[0].to_string().contains("Summary of"), "{text}");
        assert!(!text.contains("result of x") && text.contains("result of y"), "{text}");
        assert!(report(wire, &bold(profile), &text).is_clean(), "{text}");
        for message in all {
            let there = |entry: &foxwedge_core::compact::ArchiveEntry<String>| {
                entry.message.as_ref() == Some(&message)
            };
            assert!(archive.entries().iter().any(there), "{message} is not stored any more");
        }
    }
}

#[test]
fn t68_truncate_then_rewind_brings_hidden_messages_back_and_pairs_are_whole() {
    for wire in Format::ALL {
        let profile = Profile::for_format(wire);
        let document = body(wire.name(), "u a[x] r[x] u a[y] r[y] a u");
        let mut archive = stored(&list(&value(&document)));
        let count = archive.entries().len();
        let fraction = HistoryFraction::new(0.8).expect("a share");
        let settings = plan(bold(profile), &[CompactionStage::Window(fraction)], None);
        compacted(&mut archive, wire, &settings).expect("something goes");
        for message in messages(wire.name(), "a[z] r[z] u") {
            archive.push(message.to_string());
        }
        // Back to the moment of the compaction: it stays, later messages go.
        archive.rewind(count);
        assert!(!sent(&archive).contains("result of z"));
        assert!(!sent(&archive).contains("result of x"));
        // Before it: everything is there again.
        archive.rewind(count - 1);
        let text = sent(&archive);
        assert!(text.contains("result of x") && archive.compactions().is_empty(), "{text}");
        let (calls, answers) = ids(&list(&value(&text)));
        assert_eq!(calls, answers);
        let old = list(&value(&document));
        assert_eq!(value(&text), Value::Array(old[..count - 1].to_vec()));
    }
}

#[test]
fn marks_of_compactions_that_are_gone_hide_nothing() {
    let list = messages("openai-chat", "u a u");
    let entries = list.iter().map(|message| foxwedge_core::compact::ArchiveEntry {
        message: Some(message.to_string()),
        hidden_by: Some(7),
        written_by: None,
    });
    let archive = CompactionArchive::from_entries(entries.collect());
    assert_eq!(value(&sent(&archive)), Value::Array(list));
}
