//! What was read, as a table, and above it everything that was misread.

use std::{collections::BTreeMap, iter};

use crate::Outcome;

/// How many misreadings are printed: one fault often shows in hundreds of them.
const SHOWN: usize = 40;

/// Counts readings: some words to say who read, and some numbers.
pub(crate) struct Table<K, const WORDS: usize, const NUMBERS: usize> {
    heads: ([&'static str; WORDS], [&'static str; NUMBERS]),
    rows: BTreeMap<K, ([String; WORDS], [usize; NUMBERS])>,
    troubles: Vec<String>,
}

impl<K: Ord, const WORDS: usize, const NUMBERS: usize> Table<K, WORDS, NUMBERS> {
    /// A table with these columns, and nothing in it.
    pub(crate) fn new(words: [&'static str; WORDS], numbers: [&'static str; NUMBERS]) -> Self {
        Table { heads: (words, numbers), rows: BTreeMap::new(), troubles: Vec::new() }
    }

    /// The numbers of a row, to be counted on; the words are those of its first time.
    pub(crate) fn row(
        &mut self,
        key: K,
        words: impl FnOnce() -> [String; WORDS],
    ) -> &mut [usize; NUMBERS] {
        let (_, numbers) = self.rows.entry(key).or_insert_with(|| (words(), [0; NUMBERS]));
        numbers
    }

    /// Something that is not as it should be: what, and why.
    pub(crate) fn trouble(&mut self, what: &str, why: &str) {
        self.troubles.push(format!("{what}\n  {why}"));
    }

    /// Prints all of it.
    pub(crate) fn print(self) -> Outcome {
        for trouble in self.troubles.iter().take(SHOWN) {
            println!("{trouble}");
        }
        if self.troubles.len() > SHOWN {
            println!("… and {} more", self.troubles.len() - SHOWN);
        }
        print!("{}", self.told());
        match self.troubles.len() {
            0 => Ok(()),
            wrong => Err(format!("{wrong} readings are not what they should be")),
        }
    }

    /// Every column as wide as its widest cell; words begin, and numbers end, below each other.
    fn told(&self) -> String {
        let heads: Vec<String> =
            self.heads.0.iter().chain(&self.heads.1).map(|head| (*head).to_owned()).collect();
        let rows = self.rows.values().map(|(words, numbers)| -> Vec<String> {
            words.iter().cloned().chain(numbers.iter().map(usize::to_string)).collect()
        });
        let lines: Vec<Vec<String>> = iter::once(heads).chain(rows).collect();
        let width = |column: usize| {
            let cells = lines.iter().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..WORDS + NUMBERS).map(width).collect();
        let told = lines.iter().map(|line| {
            let cells = line.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
                if column < WORDS { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            });
            let cells: Vec<String> = cells.collect();
            format!("{}\n", cells.join("  "))
        });
        told.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_their_keys_and_columns_below_each_other() {
        let mut table = Table::new(["format", "client"], ["jobs", "ok"]);
        for (key, name, verdict) in
            [(2, "b", Ok(())), (1, "a-long-name", Ok(())), (2, "c", Err(()))]
        {
            let [jobs, ok] = table.row(key, || [name.to_owned(), format!("{key}.0")]);
            *jobs += 1;
            *ok += usize::from(verdict.is_ok());
        }
        let expected = "\
format       client  jobs  ok
a-long-name  1.0        1   1
b            2.0        2   1
";
        assert_eq!(table.told(), expected);
    }

    #[test]
    fn a_trouble_is_a_failure() {
        let mut table: Table<u8, 1, 1> = Table::new(["format"], ["jobs"]);
        table.trouble("a stream", "its end is missing");
        assert_eq!(table.troubles, ["a stream\n  its end is missing"]);
        assert_eq!(table.print(), Err("1 readings are not what they should be".to_owned()));
    }
}
