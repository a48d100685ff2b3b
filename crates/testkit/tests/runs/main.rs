//! The run machine: all orders of small sessions, laws of random ones, hostile ones, and the
//! behaviours it promises.

mod script;
mod model;
mod laws;
mod hostile;
mod behaviours;
