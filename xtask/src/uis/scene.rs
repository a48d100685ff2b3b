//! The runs that the tests of the encoders are made of. They stand with those tests.

#[path = "../../../crates/run/src/encode/tests/scenes.rs"]
mod scenes;
#[path = "../../../crates/run/src/encode/tests/random.rs"]
mod random;

/// What the tests call the crate that they belong to.
mod run {
    pub(crate) use foxwedge_run::*;
}

pub(super) use random::changes;
pub(super) use scenes::{Scene, all};
