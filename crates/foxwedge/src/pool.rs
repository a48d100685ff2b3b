//! Processes many targets in parallel, one thread per core, with a progress bar on a terminal.

use std::{
    collections::BTreeMap,
    io::{self, IsTerminal},
    num::NonZero,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
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
    let mut results = Vec::with_capacity(items.len());
    for_each(items, bar, work, |result| results.push(result));
    results
}

/// Calls `work` for every item, and `take` with every result: in the order of the items, as soon as all
/// results before it are there.
pub(crate) fn for_each<T: Sync, R: Send>(
    items: &[T],
    bar: bool,
    work: impl Fn(&T) -> R + Sync,
    mut take: impl FnMut(R),
) {
    let bar = progress_bar(items.len(), bar);
    let next = AtomicUsize::new(0);
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let (sender, results) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..cores.min(items.len()) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    // The results are taken until all senders are gone.
                    let _ = sender.send((index, work(item)));
                }
            });
        }
        drop(sender);
        let (mut taken, mut early) = (0, BTreeMap::new());
        for (index, result) in results {
            early.insert(index, result);
            while let Some(result) = early.remove(&taken) {
                bar.suspend(|| take(result));
                bar.inc(1);
                taken += 1;
            }
        }
    });
    bar.finish_and_clear();
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
