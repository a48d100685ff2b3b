//! A conversation can be interrupted, killed and taken up again at every point, and never breaks.
//!
//! A play ([`play`]) is a small conversation with fakes on all sides: a model that judges every
//! request as its provider does ([`player`]), tools that know when they are entered, finished and
//! dropped ([`workers`]), a store with a point before and behind everything ([`watched`]). A dry run
//! counts the points; then the same play is played once for each of them, with something going wrong
//! there, and what is left is compared with what really happened ([`truth`]).
//!
//! [`bursts`] and [`complete`] look at single replies: what is shown, stored and executed is what the
//! model sent, whatever the number of pieces and however they come ([`account`]).
//!
//! A usual run leaves some points out. `FOXWEDGE_LOOP_POINTS=all cargo test -p foxwedge-agent-loop
//! --test tool_loop` tries every point of every play, also those that cost a process each.

#[path = "../../../store/tests/store/server.rs"]
#[allow(dead_code, reason = "other tests ask more of a server")]
mod server;
#[path = "../../../store/tests/store/temporary.rs"]
#[allow(dead_code, reason = "other tests ask more of a folder")]
mod temporary;
mod world;
mod watched;
mod script;
mod said;
mod player;
mod workers;
mod ground;
mod process;
mod double;
mod play;
mod truth;
mod points;
mod kills;
mod planted;
mod rig;
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

/// Another process of this program, started by one of the harnesses.
#[test]
fn a_process_that_was_given_a_part_plays_it() {
    let Some(part) = process::part() else { return };
    match part.as_str() {
        kills::PART => kills::play(),
        other => panic!("nobody plays {other}"),
    }
}
