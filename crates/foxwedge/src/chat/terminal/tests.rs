//! Stories about the terminal: keys and what a run tells go in, and out come acts, lines above and
//! rows below.

mod story;
mod typing;
mod stopping;
mod asking;
mod drawing;
mod painting;
