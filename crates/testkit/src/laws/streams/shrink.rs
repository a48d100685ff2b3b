//! Makes a case smaller while its law stays broken.

use serde_json::json;

use super::exchange::Exchange;
use crate::answers::{Block, Input, Usage};

/// The smallest case that still breaks.
pub(super) fn smallest(mut exchange: Exchange, breaks: &dyn Fn(&Exchange) -> bool) -> Exchange {
    for _ in 0..30 {
        match smaller(&exchange).into_iter().find(breaks) {
            Some(found) => exchange = found,
            None => break,
        }
    }
    exchange
}

/// Cases that are a little smaller.
fn smaller(exchange: &Exchange) -> Vec<Exchange> {
    let mut found = Vec::new();
    let mut with = |change: &dyn Fn(&mut Exchange)| {
        let mut smaller = exchange.clone();
        change(&mut smaller);
        if smaller.answer != exchange.answer {
            found.push(smaller);
        }
    };
    with(&|it| it.answer.usage = Usage::default());
    for at in 0..exchange.answer.blocks.len() {
        with(&|it| {
            it.answer.blocks.remove(at);
        });
        with(&|it| shorten(&mut it.answer.blocks[at], true));
        with(&|it| shorten(&mut it.answer.blocks[at], false));
        with(&|it| {
            if let Block::Call(call) = &mut it.answer.blocks[at] {
                call.input = match call.input {
                    Input::Json(_) => Input::Json(json!({"a": 1})),
                    _ => call.input.clone(),
                };
            }
        });
    }
    found
}

/// Keeps one half of a text.
fn shorten(block: &mut Block, first: bool) {
    let text = match block {
        Block::Text(text) | Block::Refusal(text) | Block::Reasoning(text, _) => text,
        Block::Call(call) => match &mut call.input {
            Input::Free(text) => text,
            Input::Json(_) | Input::Broken(_) => return,
        },
    };
    let count = text.chars().count();
    let half = count / 2;
    *text = match first {
        true => text.chars().take(half.max(1)).collect(),
        false => text.chars().skip(half).collect(),
    };
}
