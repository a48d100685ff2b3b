//! The scripted model from outside: its judges against the engine and the oracle, its replies
//! against the readers.

mod judges;
mod replies;
