//! Every order in which a small session can arrive, tried.
//!
//! A normal run tries more than a million states. `FOXWEDGE_MODEL=long` tries larger sessions,
//! more than four million: best with `--release`, and alone.

mod story;
mod key;
mod fault;

use std::{env, sync::atomic::Ordering, thread};

use foxwedge_run::{MachineSettings, RunEvent};
use foxwedge_testkit::runs::recorded;
use stateright::{Checker, HasDiscoveries, Model};

use self::{fault::Fault, story::Story};
use super::script::{log, source};

/// How many states a normal run tries of each story.
mod at_least {
    pub(super) const TWO_LOGS: usize = 71_000;
    pub(super) const TWICE: usize = 40_000;
    pub(super) const TIME: usize = 38_000;
    pub(super) const WRITTEN: usize = 41_000;
    pub(super) const DECISION: usize = 118_000;
    pub(super) const STOPPING: usize = 143_000;
    pub(super) const TWO_SOURCES: usize = 65_000;
    pub(super) const NAMELESS: usize = 104_000;
    pub(super) const QUESTIONS: usize = 180_000;
    pub(super) const CRASH: usize = 218_000;
    pub(super) const DENIALS: usize = 1_000;

    const _: () = assert!(
        TWO_LOGS
            + TWICE
            + TIME
            + WRITTEN
            + DECISION
            + STOPPING
            + TWO_SOURCES
            + NAMELESS
            + QUESTIONS
            + CRASH
            >= 1_000_000
    );
}

/// Two runs: three calls side by side, one of them of a sub-agent, all of them open at the stop;
/// then one that says something and fails, and says more behind its end.
fn two_logs() -> Vec<RunEvent> {
    let first = "start; call a as=running; call b as=running; call c of=a; ok b x; off a; stop; \
                 end stopped";
    let second = "start; tasks t=in_progress; say m he; say m llo; call a; error a no; \
                  fatal broken; end failed; ok a late";
    [log("A", 1, first), log("B", 2, second)].concat()
}

/// The same, short.
fn two_short_logs() -> Vec<RunEvent> {
    let first = "start; call a; call b of=a as=running; ok b x; stop; end stopped";
    let second = "start; call a; ok a y; fatal no; end failed";
    [log("A", 1, first), log("B", 2, second)].concat()
}

#[test]
fn two_logs_end_in_one_truth_in_every_order() {
    check(Story { held: bound(1, 2), ..Story::of(two_logs()) }, at_least::TWO_LOGS);
}

#[test]
fn what_comes_twice_counts_once() {
    check(Story { held: 2, again: bound(2, 4), ..Story::of(two_short_logs()) }, at_least::TWICE);
}

#[test]
fn time_that_goes_by_leaves_no_run_open() {
    let events = two_short_logs();
    check(
        Story { held: bound(1, 2), again: bound(0, 1), passes: 1, ..Story::of(events) },
        at_least::TIME,
    );
}

#[test]
fn a_log_that_the_machine_wrote_ends_in_one_truth_in_every_order() {
    let told = [
        source("A", "start; turn 1; call a as=running; call q name=AskUserQuestion; stop"),
        source("B", "start; call -; ok - x; said m hello; end completed"),
    ];
    let events = recorded(&told.concat(), &MachineSettings::default());
    assert_eq!(events.len(), 13, "{events:?}");
    check(Story { held: 2, again: bound(1, 2), ..Story::of(events) }, at_least::WRITTEN);
}

#[test]
fn the_first_decision_of_a_source_stands() {
    let events = source(
        "A",
        "start; call a as=running; call b of=a; ok b x; off a; call c; stop; fatal no; \
         end completed fine; said m hi",
    );
    let rivals = vec![vec![3, 4], vec![1, 4], vec![2, 3]];
    check(Story { held: bound(5, 32), rivals, ..Story::of(events) }, at_least::DECISION);
}

#[test]
fn while_a_source_stops_its_tools_may_finish() {
    let events = source(
        "A",
        "start; call a as=running; call b as=running; ok b x; call c; stop 500; error a no; \
         fatal no; end completed fine",
    );
    check(Story { held: bound(3, 32), passes: 1, ..Story::of(events) }, at_least::STOPPING);
}

#[test]
fn runs_of_two_sources_do_not_touch_each_other() {
    let events = [
        source("A", "start; call a as=running; ok a x; tasks t=in_progress; stop; fatal no"),
        source("B", "start; call a; call b of=a; ok a x; end"),
    ];
    check(Story { held: bound(2, 3), ..Story::of(events.concat()) }, at_least::TWO_SOURCES);
}

#[test]
fn calls_without_an_id_leave_nothing_open() {
    let events = source(
        "A",
        "start; call -; call - name=Read; turn 2; call -; ok - x; error - y; off -; stop; end",
    );
    check(Story { held: bound(1, 3), again: 0, ..Story::of(events) }, at_least::NAMELESS);
}

#[test]
fn whoever_asks_gets_one_answer() {
    let events = source(
        "A",
        "start; call a; ask a r1; allow a r1; ask a r2; deny a r2; \
         call q name=AskUserQuestion; answer q - blue; ok q; stop",
    );
    // An answer, or a denial once the call has its name, is the end of all questions.
    let of_denial = [[3, 5], [2, 5], [4, 5], [1, 3], [1, 2], [1, 4]];
    let rivals = [[7, 8], [6, 8]].into_iter().chain(of_denial).map(Vec::from).collect();
    check(Story { held: bound(1, 3), rivals, ..Story::of(events) }, at_least::QUESTIONS);
}

#[test]
fn a_denial_says_the_same_before_and_behind_what_it_denied() {
    let events = source(
        "A",
        "start; call a; error a x; denied a; call q name=AskUserQuestion; error q y; denied q; \
         end completed fine",
    );
    // Which text is kept is decided by whoever comes first, and so is whether a question was open.
    let rivals = vec![vec![2, 3], vec![4, 5], vec![4, 6], vec![5, 6]];
    check(Story { held: 1, rivals, ..Story::of(events) }, at_least::DENIALS);
}

#[test]
fn a_crash_at_any_moment_leaves_one_end() {
    let first = "start; call a as=running; call b; ok b; ask a r1; say m hello; end completed";
    let events = [log("A", 1, first), source("A", "end interrupted")].concat();
    check(Story { held: bound(5, 32), again: 1, passes: 1, ..Story::of(events) }, at_least::CRASH);
}

#[test]
fn faults_are_found() {
    let racing = || source("A", "start; call a as=running; ok a x; stop; fatal no; end completed");
    let table = [
        (Fault::AnnouncesAgain, racing()),
        (Fault::GoesBack, racing()),
        (Fault::SweepsNothing, racing()),
        (Fault::ChecksThenSets, racing()),
        (Fault::Leaks, two_short_logs()),
        (Fault::DropsEarly, two_short_logs()),
        (Fault::CountsTwice, log("A", 1, "start; say m he; say m llo; end completed")),
    ];
    for (fault, events) in table {
        let story = Story { fault: Some(fault), again: 1, held: 1, ..Story::of(events) };
        let checker = story.checker().finish_when(HasDiscoveries::Any).spawn_bfs().join();
        assert!(!checker.discoveries().is_empty(), "nobody notices that it {fault:?}");
    }
    let fault = Some(Fault::ComparesAndSets);
    check(Story { fault, again: 1, held: 1, ..Story::of(racing()) }, 100);
}

/// Tries all orders. There have to be as many states as we think, so that a story that breaks
/// off early is no proof.
fn check(story: Story, at_least: usize) {
    let threads = thread::available_parallelism().map_or(1, |threads| threads.get());
    let checker = story.checker().threads(threads).spawn_dfs().join();
    let (states, ends) = (checker.unique_state_count(), &checker.model().ends);
    println!(
        "{states} states, {} steps, {} ends",
        checker.state_count(),
        ends.load(Ordering::Relaxed)
    );
    if let Some((property, path)) = checker.discoveries().into_iter().next() {
        let last = path.last_state().clone();
        let told = checker.model().ends_well(&last).err();
        panic!("not true: {property}: {:?}\n{:?}\n{told:?}", path.into_actions(), last.broken);
    }
    assert!(ends.load(Ordering::Relaxed) > 0, "nothing comes to its end");
    assert!(states >= at_least, "{states} states only");
}

/// A bound of what is tried, in a normal run and in a long one.
fn bound(normal: u8, long: u8) -> u8 {
    match env::var("FOXWEDGE_MODEL").as_deref() {
        Ok("long") => long,
        Ok(_) | Err(_) => normal,
    }
}
