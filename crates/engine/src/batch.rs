//! Taking several items at once from a source that has some ready.

use std::ops::ControlFlow;

/// Handles an item and those that are ready behind it, at most `most` in all, each before the next
/// one is taken from the source. So every item that was taken was handled, whatever the number:
/// an item is asked for only if there is room for it. `take` breaks to take nothing more for now;
/// what it breaks with comes back.
pub fn take_ready<T, B>(
    first: T,
    most: usize,
    mut next: impl FnMut() -> Option<T>,
    mut take: impl FnMut(T) -> ControlFlow<B>,
) -> ControlFlow<B> {
    take(first)?;
    for _ in 1..most {
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

    /// The sizes of the batches in which so many items are taken, `None` as soon as the source has
    /// nothing ready: `gaps` says how many items are ready at a time.
    fn batches(number: usize, most: usize, gaps: &[usize]) -> (Vec<usize>, Vec<usize>) {
        let mut source: VecDeque<usize> = (0..number).collect();
        let (mut taken, mut sizes, mut gaps) = (Vec::new(), Vec::new(), gaps.iter().cycle());
        while let Some(first) = source.pop_front() {
            let (mut ready, mut size) = (gaps.next().copied().unwrap_or(usize::MAX), 0);
            let flow: ControlFlow<()> = take_ready(
                first,
                most,
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
        for most in [1, 2, 3, 64] {
            for number in 0..=3 * most + 2 {
                for gaps in [&[usize::MAX][..], &[0], &[1, 0, 5], &[most - 1], &[most], &[most + 1]]
                {
                    let (taken, sizes) = batches(number, most, gaps);
                    let told = format!("{number} items, {most} at once, {gaps:?}");
                    assert_eq!(taken, (0..number).collect::<Vec<_>>(), "{told}");
                    assert!(sizes.iter().all(|size| (1..=most).contains(size)), "{told}");
                }
            }
        }
    }

    #[test]
    fn whoever_breaks_leaves_the_rest_in_the_source() {
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
