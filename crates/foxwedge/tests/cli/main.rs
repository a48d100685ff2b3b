//! The binary as a user meets it: arguments in, streams and exit codes out.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod sandbox;
mod documents;
mod exit_codes;
mod usage;
mod formats;
mod drawing;
mod fixing;
mod undoing;
mod pipes;
mod closed_pipes;
mod output_files;
mod folders;
mod lines;
mod diffs;
mod words;
mod hostile;
mod many;
mod wrong_types;
mod sessions_files;
mod sessions_checking;
mod sessions_fixing;
mod sessions_agents;
mod sessions_packed;
mod sessions_telling;
mod busy;
mod crash;
mod homes;
mod list;
mod ids;
mod show;
mod resume;
mod export;
mod fork;
mod compact_documents;
mod compact;
mod compact_refused;
mod compact_report;
mod compact_sessions;
mod compact_words;
mod compact_summarizer;
