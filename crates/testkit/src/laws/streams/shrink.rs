//! Shrinks a case while its law stays broken.

use serde_json::json;

use super::exchange::StreamExchange;
use crate::answers::{ReplyBlock, ReplyCallInput, ReplyUsage};

/// The smallest case found that still breaks the law.
pub(super) fn smallest(
    mut exchange: StreamExchange,
    breaks: &dyn Fn(&StreamExchange) -> bool,
) -> StreamExchange {
    for _ in 0..30 {
        match smaller(&exchange).into_iter().find(breaks) {
            Some(found) => exchange = found,
            None => break,
        }
    }
    exchange
}

/// Cases that are slightly smaller.
fn smaller(exchange: &StreamExchange) -> Vec<StreamExchange> {
    let mut found = Vec::new();
    let mut with = |change: &dyn Fn(&mut StreamExchange)| {
        let mut smaller = exchange.clone();
        change(&mut smaller);
        if smaller.answer != exchange.answer {
            found.push(smaller);
        }
    };
    with(&|it| it.answer.usage = ReplyUsage::default());
    for at in 0..exchange.answer.blocks.len() {
        with(&|it| {
            it.answer.blocks.remove(at);
        });
        with(&|it| shorten(&mut it.answer.blocks[at], true));
        with(&|it| shorten(&mut it.answer.blocks[at], false));
        with(&|it| {
            if let ReplyBlock::Call(call) = &mut it.answer.blocks[at] {
                call.input = match call.input {
                    ReplyCallInput::Json(_) => ReplyCallInput::Json(json!({"a": 1})),
                    _ => call.input.clone(),
                };
            }
        });
    }
    found
}

/// Keeps one half of a text.
fn shorten(block: &mut ReplyBlock, first: bool) {
    let text = match block {
        ReplyBlock::Text(text) | ReplyBlock::Refusal(text) | ReplyBlock::Reasoning(text, _) => text,
        ReplyBlock::Call(call) => match &mut call.input {
            ReplyCallInput::Free(text) => text,
            ReplyCallInput::Json(_) | ReplyCallInput::Broken(_) => return,
        },
    };
    let count = text.chars().count();
    let half = count / 2;
    *text = match first {
        true => text.chars().take(half.max(1)).collect(),
        false => text.chars().skip(half).collect(),
    };
}
