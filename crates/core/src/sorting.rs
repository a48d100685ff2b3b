//! Sorting, small in a module that is downloaded.
//!
//! The sort of the standard library is instantiated for every type and key, with five kilobytes of WebAssembly each. Here
//! all types share one sort of indexes. Most lists are sorted already, and are only looked at.

use std::cmp::Ordering;

/// Sorts by a key. Items with equal keys stay in their order.
pub fn sort_by_key<T, K: Ord>(items: &mut Vec<T>, key: impl Fn(&T) -> K) {
    sort_by(items, |one, other| key(one).cmp(&key(other)));
}

/// Sorts by a comparison. Equal items stay in their order.
pub fn sort_by<T>(items: &mut Vec<T>, compare: impl Fn(&T, &T) -> Ordering) {
    if items.is_sorted_by(|one, other| compare(one, other).is_le()) {
        return;
    }
    let order = sorted_indexes(items.len(), &|one, other| compare(&items[one], &items[other]));
    let mut unsorted: Vec<Option<T>> = std::mem::take(items).into_iter().map(Some).collect();
    items.extend(order.into_iter().filter_map(|index| unsorted[index].take()));
}

fn sorted_indexes(length: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut indexes: Vec<usize> = (0..length).collect();
    indexes.sort_by(|one, other| compare(*one, *other));
    indexes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_like_the_standard_library_and_keeps_equal_items_in_order() {
        let mut list: Vec<(usize, String)> = Vec::new();
        for at in 0..300 {
            let mut expected = list.clone();
            expected.sort_by_key(|(key, _)| *key);
            let mut sorted = list.clone();
            sort_by_key(&mut sorted, |(key, _)| *key);
            assert_eq!(sorted, expected);
            list.push((at * 7919 % 31, format!("item {at}")));
        }
    }
}
