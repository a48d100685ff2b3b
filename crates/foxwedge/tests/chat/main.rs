//! `foxwedge chat` at a terminal: the built program sits at one end of a pair of terminals, a test at
//! the other one. What it draws is read by an emulator, so that a test sees what a person would see.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../../../store/tests/store/temporary.rs"]
mod temporary;
mod desk;
mod talking;
mod stopping;
mod asking;
mod leaving;
mod choosing;
