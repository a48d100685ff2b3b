//! Compares the converted response with the expected one.

use std::collections::BTreeSet;

use foxwedge_core::Format;
use foxwedge_formats::model::IdentifierReplacement;

use super::exchange::StreamExchange;
use crate::answers::{
    OracleReply, ReplyBlock, ReplyCall, ReplyCallInput, ReplyForm, legal_id, normal,
};

/// Describes the first difference from the expected response.
pub(super) fn difference(
    exchange: &StreamExchange,
    got: &OracleReply,
    renamed: &[IdentifierReplacement],
    form: ReplyForm,
) -> Option<String> {
    let StreamExchange { to, .. } = *exchange;
    let mut expected = exchange.expected().answer;
    let mut got = OracleReply { blocks: normal(got.blocks.clone(), to), ..got.clone() };
    for (expected, got, what) in
        [(&mut expected.id, &mut got.id, "id"), (&mut expected.model, &mut got.model, "model")]
    {
        // Some formats require a value that the source does not have.
        if expected.is_none() && got.as_ref().is_some_and(String::is_empty) {
            return Some(format!("the {what} is empty"));
        }
        let insists = matches!(
            to,
            Format::OpenaiChat
                | Format::OpenaiResponses
                | Format::Anthropic
                | Format::GeminiInteractions
        );
        if expected.is_none() && insists != got.is_some() {
            return Some(format!("the {what} is {got:?}"));
        }
        if expected.is_none() {
            *got = None;
        }
    }
    if let Some(what) = broken(&mut expected.blocks, &mut got.blocks, to, form) {
        return Some(what);
    }
    let old: Vec<Option<String>> = exchange.answer.calls().map(|call| call.id.clone()).collect();
    // An id for a call that is left out afterwards is still reported.
    let left_out = exchange.is_broken() && to == Format::Gemini && form == ReplyForm::Stream;
    if let Some(what) = ids(&old, &mut expected, &mut got, renamed, to)
        && !left_out
    {
        return Some(what);
    }
    let parts = [
        (expected.id != got.id || expected.model != got.model, "the names differ"),
        (expected.blocks.len() != got.blocks.len(), "there are more blocks, or less"),
        (expected.blocks != got.blocks, "a block differs"),
        (expected.stop != got.stop, "the end differs"),
        (expected.usage != got.usage, "the cost differs"),
    ];
    let (_, what) = parts.iter().find(|(differs, _)| *differs)?;
    Some(format!("{what}: wanted {expected:#?}\ngot {got:#?}"))
}

/// Arguments that are not a JSON object. Formats that only have objects get a repaired one, or in a
/// stream the text unchanged. A Gemini stream leaves the call out and reports a failure.
fn broken(
    expected: &mut Vec<ReplyBlock>,
    got: &mut Vec<ReplyBlock>,
    to: Format,
    form: ReplyForm,
) -> Option<String> {
    let is_broken = |block: &ReplyBlock| {
        matches!(block, ReplyBlock::Call(ReplyCall { input: ReplyCallInput::Broken(_), .. }))
    };
    if matches!(to, Format::OpenaiChat | Format::OpenaiResponses) || !expected.iter().any(is_broken)
    {
        return None;
    }
    if to == Format::Gemini && form == ReplyForm::Stream {
        expected.retain(|block| !is_broken(block));
        return None;
    }
    for (expected, got) in expected.iter_mut().zip(got) {
        if let (ReplyBlock::Call(expected), ReplyBlock::Call(got)) = (expected, got)
            && let ReplyCallInput::Broken(text) = &expected.input
        {
            let fits = match &got.input {
                ReplyCallInput::Broken(reported) => form == ReplyForm::Stream && reported == text,
                ReplyCallInput::Json(_) => true,
                ReplyCallInput::Free(_) => false,
            };
            if !fits {
                return Some(format!("arguments {text:?} became {:?}", got.input));
            }
            got.input = expected.input.clone();
        }
    }
    None
}

/// Ids that had to be replaced are new, legal and reported; no others are.
fn ids(
    old: &[Option<String>],
    expected: &mut OracleReply,
    got: &mut OracleReply,
    renamed: &[IdentifierReplacement],
    to: Format,
) -> Option<String> {
    let mut given = BTreeSet::new();
    let mut reported: Vec<(String, String)> = Vec::new();
    let expected = expected.blocks.iter_mut().filter_map(as_call);
    let got = got.blocks.iter_mut().filter_map(as_call);
    for ((expected, got), old) in expected.zip(got).zip(old) {
        if let Some(id) = &got.id
            && (!legal_id(to, id) || !given.insert(id.clone()))
        {
            return Some(format!("the id {id:?} is not legal, or there twice"));
        }
        if expected.id.is_none() {
            match got.id.take() {
                Some(new) => reported.push((old.clone().unwrap_or_default(), new)),
                None if to == Format::Gemini && old.is_none() => {}
                None => return Some("a call has no id".to_owned()),
            }
        }
    }
    let renamed: Vec<(String, String)> =
        renamed.iter().map(|it| (it.old.clone(), it.new.clone())).collect();
    (reported != renamed).then(|| format!("renamed {reported:?}, but told {renamed:?}"))
}

fn as_call(block: &mut ReplyBlock) -> Option<&mut ReplyCall> {
    match block {
        ReplyBlock::Call(call) => Some(call),
        ReplyBlock::Text(_) | ReplyBlock::Refusal(_) | ReplyBlock::Reasoning(..) => None,
    }
}
