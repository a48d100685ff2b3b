//! What a watcher hears, and when.

use std::{
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
};

use super::{StoreWake, StoreWatch, WakeHub};

fn run(run: &str, last: u64) -> Option<StoreWake> {
    Some(StoreWake::Run { run: run.into(), last })
}

/// What is there without waiting.
fn heard(watch: &mut StoreWatch) -> Vec<Option<StoreWake>> {
    let mut heard = Vec::new();
    let mut context = Context::from_waker(Waker::noop());
    while let Poll::Ready(wake) = pin!(watch.next()).poll(&mut context) {
        let over = wake.is_none();
        heard.push(wake);
        if over {
            break;
        }
    }
    heard
}

#[test]
fn a_run_is_told_once_with_its_highest_place() {
    let hub = WakeHub::default();
    let mut watch = hub.watch();
    for (id, last) in [("a", 1), ("b", 7), ("a", 3), ("a", 2), ("b", 8)] {
        hub.publish(id, last);
    }
    assert_eq!(heard(&mut watch), [run("a", 3), run("b", 8)]);
    assert_eq!(heard(&mut watch), []);
    hub.publish("a", 3);
    assert_eq!(heard(&mut watch), [run("a", 3)]);
}

#[test]
fn the_run_that_waits_longest_comes_first() {
    let hub = WakeHub::default();
    let mut watch = hub.watch();
    for id in ["c", "a", "b", "c"] {
        hub.publish(id, 1);
    }
    assert_eq!(heard(&mut watch), [run("c", 1), run("a", 1), run("b", 1)]);
}

#[test]
fn too_many_runs_become_all() {
    let hub = WakeHub::default();
    let mut watch = hub.watch();
    for number in 0..5_000 {
        hub.publish(&format!("run-{number}"), 1);
    }
    assert_eq!(heard(&mut watch), [Some(StoreWake::All)]);
    hub.publish("a", 2);
    assert_eq!(heard(&mut watch), [run("a", 2)]);
}

#[test]
fn everybody_hears_of_all_once() {
    let hub = WakeHub::default();
    let (mut first, mut second) = (hub.watch(), hub.watch());
    hub.publish("a", 1);
    hub.wake_all();
    hub.publish("b", 1);
    for watch in [&mut first, &mut second] {
        assert_eq!(heard(watch), [Some(StoreWake::All)]);
    }
}

#[test]
fn whoever_watches_hears_the_rest_and_then_the_end() {
    let hub = WakeHub::default();
    let mut watch = hub.watch();
    hub.publish("a", 1);
    hub.close();
    assert_eq!(heard(&mut watch), [run("a", 1), None]);
    assert_eq!(heard(&mut watch), [None]);
}

#[test]
fn whoever_begins_later_hears_nothing_of_before() {
    let hub = WakeHub::default();
    hub.publish("a", 1);
    let mut watch = hub.watch();
    assert_eq!(heard(&mut watch), []);
}

#[test]
fn watchers_are_counted() {
    let hub = WakeHub::default();
    let first = hub.watch();
    let second = hub.watch();
    assert_eq!(hub.watchers(), 2);
    drop(first);
    assert_eq!(hub.watchers(), 1);
    drop(second);
    assert_eq!(hub.watchers(), 0);
}
