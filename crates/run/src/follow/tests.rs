//! Tests of the stream followers.

mod story;
mod recordings;
mod laws;
mod states;
mod claude;
mod others;
mod hostile;
mod machine;
mod denials;
mod desktop;
