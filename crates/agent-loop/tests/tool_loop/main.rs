//! A conversation can be interrupted, killed and resumed at every point, and stays valid.
//!
//! A scenario ([`scenario`]) is a small conversation with fakes on all sides: a model that checks
//! every request as its provider does ([`scripted_model`]), tools that record when they start,
//! finish and are dropped ([`test_tools`]), and a store with a point before and after every call
//! ([`observed_store`]). A dry run counts the points. Then the scenario runs once for each point,
//! with a failure there, and the stored result is compared with what the fakes recorded
//! ([`checks`]).
//!
//! [`bursts`] and [`complete`] look at single replies: what is shown, stored and executed is what
//! the model sent, whatever the number of deltas and however they arrive ([`account`]).
//!
//! A usual run skips some points. `FOXWEDGE_LOOP_POINTS=all cargo test -p foxwedge-agent-loop
//! --test tool_loop` tries every point of every scenario, also those that cost a process each.

#[path = "../../../store/tests/store/server.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod server;
#[path = "../../../store/tests/store/temporary.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod temporary;
mod world;
mod observed_store;
mod script;
mod history;
mod scripted_model;
mod test_tools;
mod test_store;
mod process;
mod stand_in;
mod scenario;
mod checks;
mod points;
mod kills;
mod planted;
mod harness;
mod behaviours;
mod defects;
mod bad_models;
mod bad_tools;
mod bad_prompts;
mod processes;
mod built_in;
mod streams;
mod account;
mod bursts;
mod complete;
mod offers;

/// Not a test: another process of this program, started by one of the tests.
#[test]
fn run_part_of_child_process() {
    let Some(part) = process::part() else { return };
    match part.as_str() {
        kills::PART => kills::run_part(),
        other => panic!("unknown part {other}"),
    }
}
