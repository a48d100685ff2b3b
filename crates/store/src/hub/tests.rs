use std::{
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
};

use super::{StoreWake, StoreWatch, WakeHub};

fn run(run: &str, last: u64) -> Option<StoreWake> {
    Some(StoreWake::Run { run: run.into(), last })
}

/// Returns the wake-ups that are ready.
fn ready_wakes(watch: &mut StoreWatch) -> Vec<Option<StoreWake>> {
    let mut wakes = Vec::new();
    let mut context = Context::from_waker(Waker::noop());
    while let Poll::Ready(wake) = pin!(watch.next()).poll(&mut context) {
        let is_end = wake.is_none();
        wakes.push(wake);
        if is_end {
            break;
        }
    }
    wakes
}

#[test]
fn run_is_queued_once_with_its_highest_sequence_number() {
    let hub = WakeHub::default();
    let mut watch = hub.watch();
    for (id, last) in [("a", 1), ("b", 7), ("a", 3), ("a", 2), ("b", 8)] {
        hub.publish(id, last);
    }
    assert_eq!(ready_wakes(&mut watch), [run("a", 3), run("b", 8)]);
    assert_eq!(ready_wakes(&mut watch), []);
    hub.publish("a", 3);
    assert_eq!(ready_wakes(&mut watch), [run("a", 3)]);
}

#[test]
fn oldest_run_comes_first() {
    let hub = WakeHub::default();
    let mut watch = hub.watch();
    for id in ["c", "a", "b", "c"] {
        hub.publish(id, 1);
    }
    assert_eq!(ready_wakes(&mut watch), [run("c", 1), run("a", 1), run("b", 1)]);
}

#[test]
fn too_many_runs_become_all() {
    let hub = WakeHub::default();
    let mut watch = hub.watch();
    for number in 0..5_000 {
        hub.publish(&format!("run-{number}"), 1);
    }
    assert_eq!(ready_wakes(&mut watch), [Some(StoreWake::All)]);
    hub.publish("a", 2);
    assert_eq!(ready_wakes(&mut watch), [run("a", 2)]);
}

#[test]
fn every_watcher_receives_all_once() {
    let hub = WakeHub::default();
    let (mut first, mut second) = (hub.watch(), hub.watch());
    hub.publish("a", 1);
    hub.wake_all();
    hub.publish("b", 1);
    for watch in [&mut first, &mut second] {
        assert_eq!(ready_wakes(watch), [Some(StoreWake::All)]);
    }
}

#[test]
fn watcher_receives_queued_wakes_and_then_the_end() {
    let hub = WakeHub::default();
    let mut watch = hub.watch();
    hub.publish("a", 1);
    hub.close();
    assert_eq!(ready_wakes(&mut watch), [run("a", 1), None]);
    assert_eq!(ready_wakes(&mut watch), [None]);
}

#[test]
fn new_watcher_does_not_receive_earlier_wakes() {
    let hub = WakeHub::default();
    hub.publish("a", 1);
    let mut watch = hub.watch();
    assert_eq!(ready_wakes(&mut watch), []);
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
