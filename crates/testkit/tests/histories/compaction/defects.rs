//! What went wrong with the first repair of truncation that we know of: eight defects, one test
//! each. Wherever a cut is asked for, none of them may come back.

use foxwedge_core::{
    Format, OrphanPolicy, Policy, Profile,
    compact::{HistoryFraction, TokenLimits},
};
use foxwedge_formats::compact::CompactionStage;
use foxwedge_testkit::{body, messages};
use serde_json::{Value, json};

use super::{half, kept, left, plan, shorter, tokens, within};
use crate::support::{asked, bold, ids, list, mended, shape, value};

/// Every cut that can be asked for, in one document.
fn every_cut(wire: Format, document: &str) -> Vec<String> {
    let shares =
        (0..=16).map(|share| HistoryFraction::new(f64::from(share) / 16.0).expect("a share"));
    let cut = |fraction| {
        let settings =
            plan(bold(Profile::for_format(wire)), &[CompactionStage::Window(fraction)], None);
        shorter(wire, document, &settings).expect("a cut needs no budget")
    };
    shares.map(cut).collect()
}

/// Whether every answer has its call, and the other way round.
fn paired(text: &str) -> bool {
    let (mut calls, mut answers) = ids(&list(&value(text)));
    calls.sort();
    answers.sort();
    calls == answers
}

#[test]
fn defect_1_a_summary_with_a_kept_tail_began_with_an_answer_whose_call_was_condensed() {
    for wire in Format::ALL {
        let document = body(wire.name(), "u a u a[x] r[x] u a[y z] r[y z] a u");
        let profile = Profile::for_format(wire);
        for recent in (0..=tokens(wire, profile, &document)).step_by(4) {
            let mut settings = plan(bold(profile), &[CompactionStage::Summarize], None);
            settings.recent = Some(recent);
            let Ok(text) = shorter(wire, &document, &settings) else { continue };
            assert!(paired(&text), "{recent} tokens kept\n{text}");
            // The summary speaks as the user, so that no answer of a model is invented.
            let first = list(&value(&text)).remove(0);
            let is_user = first["role"] == "user" || first["type"] == "user_input";
            assert!(is_user, "{text}");
        }
    }
}

#[test]
fn defect_2_only_the_message_at_the_cut_was_looked_at_so_an_interjection_hid_the_answer() {
    for wire in Format::ALL {
        for shape in ["u a u a[x] u r[x] u a u", "u a u a[x y] r[x] u u r[y] a u a u"] {
            for text in every_cut(wire, &body(wire.name(), shape)) {
                assert!(paired(&text), "{shape}\n{text}");
            }
        }
    }
}

#[test]
fn defect_3_the_nearest_turn_with_any_call_was_taken_instead_of_the_one_that_was_answered() {
    for wire in Format::ALL {
        for shape in ["u a a[x] a[y] r[x y] u a u", "u a[x] u a[y] r[y] r[x] u a u a u"] {
            for text in every_cut(wire, &body(wire.name(), shape)) {
                assert!(paired(&text), "{shape}\n{text}");
            }
        }
    }
}

#[test]
fn defect_4_the_cut_slid_back_to_the_beginning_and_nothing_was_removed() {
    for wire in Format::ALL {
        let profile = Profile::for_format(wire);
        let document = body(wire.name(), "u a[v w x y z] r[v w x y z] a u");
        let all = tokens(wire, profile, &document);
        for share in [0.1, 0.5, 0.9] {
            let stage = CompactionStage::Window(HistoryFraction::new(share).expect("a share"));
            let settings = within(profile, stage, all - 1);
            let text = shorter(wire, &document, &settings).expect("one turn is enough");
            assert!(tokens(wire, profile, &text) < all, "{text}");
            assert!(!text.contains("result of v"), "the turn goes as a whole\n{text}");
        }
    }
}

#[test]
fn defect_5_a_call_in_the_first_message_was_never_found() {
    for wire in [Format::OpenaiChat, Format::OpenaiResponses] {
        let document = body(wire.name(), "a[x] r[x] u a u a u");
        for text in every_cut(wire, &document) {
            assert!(paired(&text), "{text}");
            assert!(
                text.contains("result of x"),
                "the first message stays with its answer\n{text}"
            );
        }
        let compacted = left(wire, &document, &half(Profile::for_format(wire))).expect("no budget");
        assert_eq!(kept(&compacted)[..2], [0, 1]);
    }
}

#[test]
fn defect_6_answers_far_from_their_call_passed_and_calls_without_answers_were_not_handled() {
    for wire in Format::ALL {
        // The answer of x comes two turns late; nobody ever answers z.
        let document = body(wire.name(), "u a[x] u a u r[x] a[y z] r[y] u a u");
        for text in every_cut(wire, &document) {
            assert!(paired(&text), "{text}");
            // Items may stand apart.
            let told = shape(&list(&value(&text)));
            let far = wire != Format::OpenaiResponses
                && (told.contains("a[x] u") || told.contains("a[x] a"));
            assert!(!far, "the answer stands at its call: {told}");
        }
    }
}

#[test]
fn defect_7_the_users_words_inside_an_answer_went_with_the_answer() {
    for wire in Format::ALL {
        // The call was cut away before; the answer carries what the user said.
        let document = body(wire.name(), "u a u r[x]").replace("result of x", "Stop! result of x");
        for stage in [
            CompactionStage::Budget,
            CompactionStage::Importance,
            CompactionStage::Window(HistoryFraction::HALF),
        ] {
            let all = tokens(wire, Profile::for_format(wire), &document);
            let settings = within(Profile::for_format(wire), stage, all * 2);
            let text = shorter(wire, &document, &settings).expect("it fits");
            assert!(text.contains("Stop!"), "{text}");
        }
        let text = shorter(wire, &document, &half(Profile::for_format(wire))).expect("no budget");
        assert!(text.contains("Stop!"), "{text}");
    }
}

#[test]
fn defect_8_answers_of_calls_that_were_cut_away_were_given_to_other_calls() {
    for wire in Format::ALL {
        let profile = Profile::for_format(wire);
        let document = body(wire.name(), "u a[old] r[old] u a u a u");
        let fraction = HistoryFraction::new(0.8).expect("a share");
        let settings = plan(bold(profile), &[CompactionStage::Window(fraction)], None);
        let text = shorter(wire, &document, &settings).expect("no budget");
        assert!(!text.contains("\"old\""), "{text}");
        // A new call, and beside its own place the answer of the old one.
        let mut later = list(&value(&text));
        later.extend(messages(wire.name(), "a[new] r[old]"));
        let later = Value::Array(later).to_string();
        let mended = mended(wire, &bold(profile), &later);
        let (calls, answers) = ids(&mended.list());
        assert_eq!((calls, answers), (vec!["new".to_owned()], vec!["new".to_owned()]));
        assert!(mended.text.contains("[foxwedge] Interrupted"), "{}", mended.text);
        assert!(mended.text.contains("result of old"), "it is quoted: {}", mended.text);
        // Where orphans are dropped it is gone, and still nobody else's.
        let drop = Policy { orphans: OrphanPolicy::Drop, allow_unsafe: true, ..Policy::default() };
        let settings =
            plan(asked(profile, drop), &[CompactionStage::Window(HistoryFraction::HALF)], None);
        let text = shorter(wire, &later, &settings).expect("no budget");
        assert!(paired(&text) && !text.contains("result of old"), "{text}");
    }
}

#[test]
fn a_summary_is_no_message_of_the_model_and_takes_one_place() {
    let document = body("anthropic", "u a u a u a[x] r[x] u");
    let mut settings = plan(bold(Profile::Anthropic), &[CompactionStage::Summarize], None);
    settings.recent = Some(30);
    let compacted = left(Format::Anthropic, &document, &settings).expect("it can be condensed");
    let new: Vec<_> = compacted.messages.iter().filter(|line| line.origin.is_none()).collect();
    assert_eq!(new.len(), 1, "{}", compacted.text);
    let summary = value(new[0].span.of(&compacted.text));
    assert_eq!(summary["role"], json!("user"));
    let limits = Some(TokenLimits::exactly(0));
    let refused = left(
        Format::Anthropic,
        &document,
        &plan(bold(Profile::Anthropic), &[CompactionStage::Summarize], limits),
    );
    assert!(refused.is_err());
}
