//! Tests of the report for people.

use foxwedge_core::{Format, Profile};
use foxwedge_formats::model::LossKind;

use super::*;
use crate::convert::conversion_report::ReportedLossPlace;
use foxwedge_local::{input_format::InputFormat, outcome::FileReport};

fn report(losses: Vec<ReportedLoss>) -> ConversionReport {
    ConversionReport {
        path: "x.json".to_owned(),
        kind: ConversionKind::Request,
        from: InputFormat::Wire(Format::OpenaiChat),
        wire: Format::OpenaiChat,
        to: ConversionTarget::Wire(Format::Anthropic),
        profile: Some(Profile::Anthropic),
        messages: 31,
        losses,
        renamed_ids: Vec::new(),
        renamed_tools: Vec::new(),
        repairs_before: foxwedge_core::EditLog::default(),
        repairs_after: foxwedge_core::EditLog::default(),
        remaining: FileReport::default(),
        ending: ConversionEnding::Complete,
    }
}

fn loss(kind: LossKind, place: ReportedLossPlace, note: &str) -> ReportedLoss {
    ReportedLoss { kind, place, note: note.to_owned() }
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn equal_losses_are_one_line() {
    let reasoning = "reasoning cannot be converted to this format";
    let mut losses =
        vec![loss(LossKind::Setting, ReportedLossPlace::Request, "`seed` has no place")];
    for message in [1, 5, 9] {
        losses.push(loss(LossKind::Reasoning, ReportedLossPlace::Message(message), reasoning));
    }
    losses.push(loss(LossKind::Media, ReportedLossPlace::Message(4), "a sound has no place"));
    let expected = "\
left out:
      `seed` has no place (request)
  3 × reasoning cannot be converted to this format (messages 1, 5, 9)
      a sound has no place (message 4)
31 messages, openai-chat → anthropic, valid for anthropic; 5 losses.
";
    assert_eq!(plain(&render_report(&report(losses))), expected);
}

#[test]
fn long_lists_end_in_a_number() {
    let losses = (0..40)
        .map(|at| loss(LossKind::Media, ReportedLossPlace::Message(at), &format!("note {at}")));
    let mut report = report(losses.collect());
    let id =
        |at: usize| IdentifierReplacement { old: "x".repeat(at + 1), new: format!("toolu_{at}") };
    report.renamed_ids = (0..14).map(id).collect();
    report.renamed_ids[0].old.clear();
    let text = plain(&render_report(&report));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[1], "  note 0 (message 0)");
    assert_eq!(lines[13], "  … and 28 more");
    assert_eq!(lines[14], "ids replaced:");
    assert_eq!(lines[15], "  (none)       → toolu_0");
    assert_eq!(lines[16], "  xx           → toolu_1");
    assert_eq!(lines[27], "  … and 2 more");
    assert_eq!(lines.len(), 29);
}

#[test]
fn summary_line_shows_how_the_input_ended() {
    let table = [
        (
            ConversionKind::Response,
            ConversionEnding::Complete,
            "1 response, openai-chat → anthropic; no losses.\n",
        ),
        (
            ConversionKind::Response,
            ConversionEnding::Failed,
            "1 response, openai-chat → anthropic, the provider failed; no losses.\n",
        ),
        (
            ConversionKind::Stream,
            ConversionEnding::Complete,
            "1 stream, openai-chat → anthropic, complete; no losses.\n",
        ),
        (
            ConversionKind::Stream,
            ConversionEnding::Truncated,
            "1 stream, openai-chat → anthropic, cut off; no losses.\n",
        ),
    ];
    for (kind, ending, expected) in table {
        let report = ConversionReport { kind, ending, ..report(Vec::new()) };
        assert_eq!(plain(&render_report(&report)), expected);
    }
}
