//! Tests of the terminal: keys and run events go in; actions, finished lines and live rows come
//! out.

mod story;
mod typing;
mod stopping;
mod asking;
mod drawing;
mod painting;
mod mentioning;
