//! Which messages with calls form one turn.

use std::ops::Range;

use super::reading::{DocumentReading, OracleBlock, OracleBlockKind, OracleLayout};
use crate::dialect::TestFormat;

/// Messages whose calls form one turn.
pub(super) struct CallGroup {
    pub(super) messages: Range<usize>,
    /// Messages where the results belong.
    pub(super) home: Range<usize>,
    /// Later messages of the same run of user messages.
    pub(super) late: Range<usize>,
}

/// The turns of a document, in order.
pub(super) fn groups(reading: &DocumentReading<'_>) -> Vec<CallGroup> {
    let mut groups = Vec::new();
    for (start, end) in reading.assistant_runs() {
        let calls = |index: usize| reading.messages[index].calls();
        let mut first = end;
        while first > start && (reading.layout == OracleLayout::Items || calls(first - 1)) {
            first -= 1;
        }
        let mut last = end;
        while reading.takes_results(last) {
            last += 1;
        }
        // Contents of Gemini may be chunks of a stream: the turn has as many calls as results follow,
        // and only thoughts and empty texts stand between or behind them.
        if reading.format == TestFormat::Gemini {
            let count = |range: Range<usize>, wanted: OracleBlockKind| {
                let blocks = reading.messages[range].iter().flat_map(|message| &message.blocks);
                blocks.filter(|block| block.kind == wanted && block.paired).count()
            };
            let results = count(end..last, OracleBlockKind::Answer);
            let is_bare = |block: &OracleBlock<'_>| match block.kind {
                OracleBlockKind::Reasoning => true,
                OracleBlockKind::Text => block.text().is_none_or(str::is_empty),
                _ => false,
            };
            let is_chunk = |index: &usize| reading.messages[*index].blocks.iter().all(is_bare);
            while count(first..end, OracleBlockKind::Call) < results {
                let earlier = (start..first).rev().find(|index| !is_chunk(index));
                match earlier.filter(|index| calls(*index)) {
                    Some(index) => first = index,
                    None => break,
                }
            }
        }
        for alone in (start..first).filter(|index| calls(*index)) {
            groups.push(CallGroup { messages: alone..alone + 1, home: 0..0, late: 0..0 });
        }
        if first == end {
            continue;
        }
        let home = if reading.layout == OracleLayout::Blocks { last.min(end + 1) } else { last };
        groups.push(CallGroup { messages: first..end, home: end..home, late: home..last });
    }
    groups
}
