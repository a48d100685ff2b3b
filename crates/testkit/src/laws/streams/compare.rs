//! Holds what came out against what had to.

use std::collections::BTreeSet;

use foxwedge_core::Format;
use foxwedge_dialect::model::IdentifierReplacement;

use super::exchange::Exchange;
use crate::answers::{Answer, Block, Call, Form, Input, legal_id, normal};

/// What is wrong with an answer that came out, if anything is.
pub(super) fn difference(
    exchange: &Exchange,
    got: &Answer,
    renamed: &[IdentifierReplacement],
    form: Form,
) -> Option<String> {
    let Exchange { to, .. } = *exchange;
    let mut wanted = exchange.expected().answer;
    let mut got = Answer { blocks: normal(got.blocks.clone(), to), ..got.clone() };
    for (wanted, got, what) in
        [(&mut wanted.id, &mut got.id, "id"), (&mut wanted.model, &mut got.model, "model")]
    {
        // What nobody said, some formats have to.
        if wanted.is_none() && got.as_ref().is_some_and(String::is_empty) {
            return Some(format!("the {what} is empty"));
        }
        let insists =
            matches!(to, Format::OpenaiChat | Format::OpenaiResponses | Format::Anthropic);
        if wanted.is_none() && insists != got.is_some() {
            return Some(format!("the {what} is {got:?}"));
        }
        if wanted.is_none() {
            *got = None;
        }
    }
    if let Some(what) = broken(&mut wanted.blocks, &mut got.blocks, to, form) {
        return Some(what);
    }
    let old: Vec<Option<String>> = exchange.answer.calls().map(|call| call.id.clone()).collect();
    // An id that was made up for a call that is left out then is told of all the same.
    let left_out = exchange.is_broken() && to == Format::Gemini && form == Form::Stream;
    if let Some(what) = ids(&old, &mut wanted, &mut got, renamed, to)
        && !left_out
    {
        return Some(what);
    }
    let parts = [
        (wanted.id != got.id || wanted.model != got.model, "the names differ"),
        (wanted.blocks.len() != got.blocks.len(), "there are more blocks, or less"),
        (wanted.blocks != got.blocks, "a block differs"),
        (wanted.stop != got.stop, "the end differs"),
        (wanted.usage != got.usage, "the cost differs"),
    ];
    let (_, what) = parts.iter().find(|(differs, _)| *differs)?;
    Some(format!("{what}: wanted {wanted:#?}\ngot {got:#?}"))
}

/// Arguments that are no JSON object: formats that have only objects get a mended one, or in a
/// stream the text as it is; a stream of Gemini leaves the call out, and says that it failed.
fn broken(wanted: &mut Vec<Block>, got: &mut Vec<Block>, to: Format, form: Form) -> Option<String> {
    let is_broken =
        |block: &Block| matches!(block, Block::Call(Call { input: Input::Broken(_), .. }));
    if matches!(to, Format::OpenaiChat | Format::OpenaiResponses) || !wanted.iter().any(is_broken) {
        return None;
    }
    if to == Format::Gemini && form == Form::Stream {
        wanted.retain(|block| !is_broken(block));
        return None;
    }
    for (wanted, got) in wanted.iter_mut().zip(got) {
        if let (Block::Call(wanted), Block::Call(got)) = (wanted, got)
            && let Input::Broken(text) = &wanted.input
        {
            let fits = match &got.input {
                Input::Broken(told) => form == Form::Stream && told == text,
                Input::Json(_) => true,
                Input::Free(_) => false,
            };
            if !fits {
                return Some(format!("arguments {text:?} became {:?}", got.input));
            }
            got.input = wanted.input.clone();
        }
    }
    None
}

/// Ids that could not stay are new, legal and told of; no others are.
fn ids(
    old: &[Option<String>],
    wanted: &mut Answer,
    got: &mut Answer,
    renamed: &[IdentifierReplacement],
    to: Format,
) -> Option<String> {
    let mut given = BTreeSet::new();
    let mut told: Vec<(String, String)> = Vec::new();
    let wanted = wanted.blocks.iter_mut().filter_map(as_call);
    let got = got.blocks.iter_mut().filter_map(as_call);
    for ((wanted, got), old) in wanted.zip(got).zip(old) {
        if let Some(id) = &got.id
            && (!legal_id(to, id) || !given.insert(id.clone()))
        {
            return Some(format!("the id {id:?} is not legal, or there twice"));
        }
        if wanted.id.is_none() {
            match got.id.take() {
                Some(new) => told.push((old.clone().unwrap_or_default(), new)),
                None if to == Format::Gemini && old.is_none() => {}
                None => return Some("a call has no id".to_owned()),
            }
        }
    }
    let renamed: Vec<(String, String)> =
        renamed.iter().map(|it| (it.old.clone(), it.new.clone())).collect();
    (told != renamed).then(|| format!("renamed {told:?}, but told {renamed:?}"))
}

fn as_call(block: &mut Block) -> Option<&mut Call> {
    match block {
        Block::Call(call) => Some(call),
        Block::Text(_) | Block::Refusal(_) | Block::Reasoning(..) => None,
    }
}
