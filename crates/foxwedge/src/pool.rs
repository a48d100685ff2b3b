//! Processes many targets in parallel, one thread per core, with a progress bar on a terminal.

use std::{
    io::{self, IsTerminal},
    num::NonZero,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use foxwedge_local::language::localize;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Calls `work` for every item and returns the results in the order of the items.
pub(crate) fn map<T: Sync, R: Send>(
    items: &[T],
    bar: bool,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let bar = progress_bar(items.len(), bar);
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(items.len()));
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let run = || {
        while let Some((index, item)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            items.get(index).map(|item| (index, item))
        } {
            let result = work(item);
            results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
            bar.inc(1);
        }
    };
    thread::scope(|scope| {
        for _ in 1..cores.min(items.len()) {
            scope.spawn(run);
        }
        run();
    });
    bar.finish_and_clear();
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Calls `work` for every item, one after the other, with a progress bar.
pub(crate) fn map_in_order<T, R>(items: &[T], bar: bool, work: impl Fn(&T) -> R) -> Vec<R> {
    let bar = progress_bar(items.len(), bar);
    let each = |item| {
        let result = work(item);
        bar.inc(1);
        result
    };
    let results = items.iter().map(each).collect();
    bar.finish_and_clear();
    results
}

/// A progress bar on stderr. Hidden for a few files, in a pipe, or if `bar` is false.
fn progress_bar(length: usize, bar: bool) -> ProgressBar {
    if !bar || length < 8 || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let files = localize("files");
    let style =
        ProgressStyle::with_template(&format!("{{bar:30}} {{pos}}/{{len}} {files} {{eta}}"));
    let bar = ProgressBar::with_draw_target(
        Some(u64::try_from(length).unwrap_or(u64::MAX)),
        ProgressDrawTarget::stderr_with_hz(10),
    );
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..1000).collect();
        assert_eq!(
            super::map(&items, false, |item| item * 2),
            (0..2000).step_by(2).collect::<Vec<_>>()
        );
    }
}
