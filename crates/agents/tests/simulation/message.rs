//! Messages of a random agent, in pieces.

use serde_json::{Value, json};

use crate::dice::Dice;

/// A block of a message, by a number that nothing else has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Block {
    Text(usize),
    Call(usize),
    Own(usize),
}

/// The events of a message, and which block each of them ends.
pub(crate) fn events(
    blocks: &[Block],
    fragments: usize,
    dice: &mut Dice,
) -> Vec<(Value, Option<Block>)> {
    let usage = json!({"input_tokens": 10, "output_tokens": 1});
    let message = json!({"id": format!("msg_{}", dice.bits()), "type": "message", "role": "assistant", "model": "x",
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage});
    let mut list = vec![(json!({"type": "message_start", "message": message}), None)];
    for (index, block) in blocks.iter().enumerate() {
        let (start, deltas) = match block {
            Block::Text(number) => {
                let deltas = (0..fragments).map(
                    |at| json!({"type": "text_delta", "text": format!("text {number}.{at};")}),
                );
                (json!({"type": "text", "text": ""}), deltas.collect::<Vec<_>>())
            }
            Block::Call(number) => (
                json!({"type": "tool_use", "id": format!("call_{number}"),
                    "name": format!("f_{number}"), "input": {}}),
                pieces(&format!("{{\"n\": {number}}}"), fragments, dice),
            ),
            Block::Own(number) => (
                json!({"type": "agent_tool_use", "id": format!("own_{number}"),
                    "name": "Bash", "input": {}}),
                pieces("{}", fragments, dice),
            ),
        };
        list.push((
            json!({"type": "content_block_start", "index": index, "content_block": start}),
            None,
        ));
        for delta in deltas {
            list.push((
                json!({"type": "content_block_delta", "index": index, "delta": delta}),
                None,
            ));
        }
        list.push((json!({"type": "content_block_stop", "index": index}), Some(*block)));
    }
    let calls = blocks.iter().any(|block| !matches!(block, Block::Text(_)));
    let reason = if calls { "tool_use" } else { "end_turn" };
    let delta = json!({"stop_reason": reason, "stop_sequence": null});
    let usage = json!({"output_tokens": 5});
    list.push((json!({"type": "message_delta", "delta": delta, "usage": usage}), None));
    list.push((json!({"type": "message_stop"}), None));
    list
}

fn pieces(text: &str, fragments: usize, dice: &mut Dice) -> Vec<Value> {
    let mut rest = text;
    let mut pieces = Vec::new();
    for _ in 1..fragments {
        let (piece, left) = rest.split_at(dice.below(rest.len() + 1));
        pieces.push(piece);
        rest = left;
    }
    pieces.push(rest);
    pieces.iter().map(|it| json!({"type": "input_json_delta", "partial_json": it})).collect()
}
