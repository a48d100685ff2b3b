//! Prints what came of the jobs of a suite: every job that failed, with what was expected and what
//! was there instead, a table of counts, and the time it took.

use std::{collections::BTreeMap, iter, time::Instant};

use crate::Outcome;

/// How many failures are printed: one fault often shows in hundreds of jobs.
const SHOWN: usize = 40;

/// Counts jobs: some texts to say whose they are, and some numbers.
pub(crate) struct VerdictTable<K, const TEXTS: usize, const NUMBERS: usize> {
    heads: ([&'static str; TEXTS], [&'static str; NUMBERS]),
    rows: BTreeMap<K, ([String; TEXTS], [usize; NUMBERS])>,
    failures: Vec<String>,
    start: Instant,
}

impl<K: Ord, const TEXTS: usize, const NUMBERS: usize> VerdictTable<K, TEXTS, NUMBERS> {
    /// A table with these columns.
    pub(crate) fn new(texts: [&'static str; TEXTS], numbers: [&'static str; NUMBERS]) -> Self {
        let (rows, failures) = (BTreeMap::new(), Vec::new());
        VerdictTable { heads: (texts, numbers), rows, failures, start: Instant::now() }
    }

    /// The numbers of a row, to be counted on; the texts are those of its first time.
    pub(crate) fn row(
        &mut self,
        key: K,
        texts: impl FnOnce() -> [String; TEXTS],
    ) -> &mut [usize; NUMBERS] {
        let (_, numbers) = self.rows.entry(key).or_insert_with(|| (texts(), [0; NUMBERS]));
        numbers
    }

    /// A job that failed: which one, what was expected and what was there.
    pub(crate) fn fail(&mut self, job: &str, why: &str) {
        self.failures.push(format!("{job}\n  {why}"));
    }

    /// Prints all of it; a failure is an error.
    pub(crate) fn print(self) -> Outcome {
        for failure in self.failures.iter().take(SHOWN) {
            println!("{failure}");
        }
        if self.failures.len() > SHOWN {
            println!("… and {} more", self.failures.len() - SHOWN);
        }
        print!("{}", self.text());
        println!("{:.1} s", self.start.elapsed().as_secs_f64());
        match self.failures.len() {
            0 => Ok(()),
            wrong => Err(format!("{wrong} readings are not what they should be")),
        }
    }

    /// Every column as wide as its widest cell; texts are aligned left, numbers right.
    fn text(&self) -> String {
        let heads: Vec<String> =
            self.heads.0.iter().chain(&self.heads.1).map(|head| (*head).to_owned()).collect();
        let rows = self.rows.values().map(|(texts, numbers)| -> Vec<String> {
            texts.iter().cloned().chain(numbers.iter().map(usize::to_string)).collect()
        });
        let lines: Vec<Vec<String>> = iter::once(heads).chain(rows).collect();
        let width = |column: usize| {
            let cells = lines.iter().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..TEXTS + NUMBERS).map(width).collect();
        let lines = lines.iter().map(|line| {
            let cells = line.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
                if column < TEXTS { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            });
            format!("{}\n", cells.collect::<Vec<_>>().join("  "))
        });
        lines.collect()
    }
}

/// Runs a job and prints its verdict with its time; whether it passed.
pub(crate) fn print_job(name: &str, job: impl FnOnce() -> Outcome) -> bool {
    let start = Instant::now();
    let outcome = job();
    let seconds = start.elapsed().as_secs_f64();
    match &outcome {
        Ok(()) => println!("ok      {seconds:5.1} s  {name}"),
        Err(error) => println!("WRONG   {seconds:5.1} s  {name}\n{error}"),
    }
    outcome.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_the_order_of_their_keys_and_columns_are_aligned() {
        let mut table = VerdictTable::new(["format", "client"], ["jobs", "ok"]);
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
        assert_eq!(table.text(), expected);
    }

    #[test]
    fn a_failure_is_an_error() {
        let mut table: VerdictTable<u8, 1, 1> = VerdictTable::new(["format"], ["jobs"]);
        table.fail("a stream", "its end is missing");
        assert_eq!(table.failures, ["a stream\n  its end is missing"]);
        assert_eq!(table.print(), Err("1 readings are not what they should be".to_owned()));
    }
}
