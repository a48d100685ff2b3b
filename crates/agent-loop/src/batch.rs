//! Taking several items at once from a source that has some ready.

use std::ops::ControlFlow;

/// Handles an item and those that are ready behind it, at most `max` in all. Each item is handled
/// before the next one is taken from the source, and an item is taken only if there is room for it,
/// so no item is lost. `take` breaks to stop early; the value it breaks with is returned.
pub fn take_ready<T, B>(
    first: T,
    max: usize,
    mut next: impl FnMut() -> Option<T>,
    mut take: impl FnMut(T) -> ControlFlow<B>,
) -> ControlFlow<B> {
    take(first)?;
    for _ in 1..max {
        match next() {
            Some(item) => take(item)?,
            None => break,
        }
    }
    ControlFlow::Continue(())
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// The sizes of the batches in which `number` items are taken. `gaps` sets how many items are
    /// ready at a time.
    fn batches(number: usize, max: usize, gaps: &[usize]) -> (Vec<usize>, Vec<usize>) {
        let mut source: VecDeque<usize> = (0..number).collect();
        let (mut taken, mut sizes, mut gaps) = (Vec::new(), Vec::new(), gaps.iter().cycle());
        while let Some(first) = source.pop_front() {
            let (mut ready, mut size) = (gaps.next().copied().unwrap_or(usize::MAX), 0);
            let flow: ControlFlow<()> = take_ready(
                first,
                max,
                || {
                    ready = ready.checked_sub(1)?;
                    source.pop_front()
                },
                |item| {
                    taken.push(item);
                    size += 1;
                    ControlFlow::Continue(())
                },
            );
            assert_eq!(flow, ControlFlow::Continue(()));
            sizes.push(size);
        }
        (taken, sizes)
    }

    #[test]
    fn no_number_of_items_loses_one() {
        for max in [1, 2, 3, 64] {
            for number in 0..=3 * max + 2 {
                for gaps in [&[usize::MAX][..], &[0], &[1, 0, 5], &[max - 1], &[max], &[max + 1]] {
                    let (taken, sizes) = batches(number, max, gaps);
                    let case = format!("{number} items, {max} at once, {gaps:?}");
                    assert_eq!(taken, (0..number).collect::<Vec<_>>(), "{case}");
                    assert!(sizes.iter().all(|size| (1..=max).contains(size)), "{case}");
                }
            }
        }
    }

    #[test]
    fn a_break_leaves_the_rest_in_the_source() {
        for stop in 0..10 {
            let mut source = 1..10;
            let mut taken = Vec::new();
            let flow = take_ready(
                0,
                64,
                || source.next(),
                |item| {
                    taken.push(item);
                    if item == stop {
                        ControlFlow::Break("enough")
                    } else {
                        ControlFlow::Continue(())
                    }
                },
            );
            assert_eq!(flow, ControlFlow::Break("enough"));
            taken.extend(source);
            assert_eq!(taken, (0..10).collect::<Vec<_>>(), "stopped at {stop}");
        }
    }
}
