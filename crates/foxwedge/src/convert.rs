//! Another provider's format: what flows in, where it goes, what is said about it. What is carried
//! and what is lost is decided elsewhere, in the pure crates.

mod fields;
mod detect;
mod input;
mod recognise;
mod body;
mod live;
mod told;
mod full;
mod json;

pub(crate) use body::{request, response, shown};
pub(crate) use full::draw;
pub(crate) use input::Input;
pub(crate) use json::{document, refusal, replaced};
pub(crate) use live::{Broken, pump};
pub(crate) use recognise::{Recognised, recognise};
pub(crate) use told::{Ending, Told};
