//! The engine from a request's bytes to a reply's, against the built-in model.

mod stand;
mod faces;
mod guarding;
mod judge;
mod sessions;
mod conversations;
mod trouble;
mod clouds;
mod upstreams;
mod odd_replies;
mod stopped;
mod references;
