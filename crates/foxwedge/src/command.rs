//! The subcommands, one module each.

pub(crate) mod check;
pub(crate) mod fix;
pub(crate) mod compact;
pub(crate) mod convert;
pub(crate) mod undo;
pub(crate) mod list;
pub(crate) mod show;
pub(crate) mod resume;
pub(crate) mod export;
pub(crate) mod fork;
pub(crate) mod follow;
pub(crate) mod runs;
pub(crate) mod store;
pub(crate) mod acp;
pub(crate) mod chat;
pub(crate) mod mcp;
pub(crate) mod serve;
pub(crate) mod env;
pub(crate) mod scripted;
pub(crate) mod rule;
pub(crate) mod rules;
pub(crate) mod explain;
pub(crate) mod rpc;
pub(crate) mod completions;
pub(crate) mod man;
