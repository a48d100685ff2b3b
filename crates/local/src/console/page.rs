//! Parts of long lists.

use serde_json::{Value, json};

/// Size at which a page ends.
const MAX_PAGE_BYTES: usize = 2 << 20;

/// A part of a list with a fixed order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowRange {
    /// The first row; a negative number counts from the end.
    pub from: i64,
    /// Maximum number of rows.
    pub limit: usize,
}

impl RowRange {
    /// Index of the first row in a list of `total` rows.
    pub fn first(self, total: usize) -> usize {
        match usize::try_from(self.from) {
            Ok(from) => from.min(total),
            Err(_) => {
                let from_end = usize::try_from(self.from.unsigned_abs()).unwrap_or(usize::MAX);
                total.saturating_sub(from_end)
            }
        }
    }
}

/// Which records of a file are returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordFilter {
    /// All records.
    All,
    /// Only messages.
    Messages,
}

/// The rows of one page.
pub(super) struct ConsolePageRows {
    from: usize,
    rows: Vec<Value>,
    bytes: usize,
    /// Where the next page begins.
    pub(super) next: usize,
}

impl ConsolePageRows {
    pub(super) fn new(from: usize) -> ConsolePageRows {
        ConsolePageRows { from, rows: Vec::new(), bytes: 0, next: from }
    }

    pub(super) fn is_full(&self, page: RowRange) -> bool {
        self.rows.len() >= page.limit || self.bytes >= MAX_PAGE_BYTES
    }

    pub(super) fn push(&mut self, row: Value) {
        self.bytes += row.to_string().len();
        self.rows.push(row);
    }

    /// The rows alone.
    pub(super) fn into_rows(self) -> Value {
        Value::Array(self.rows)
    }

    pub(super) fn into_json(self, total: usize, version: &str) -> Value {
        json!({
            "data": self.rows,
            "from": self.from,
            "next": (self.next < total).then_some(self.next),
            "total": total,
            "version": version,
        })
    }
}
