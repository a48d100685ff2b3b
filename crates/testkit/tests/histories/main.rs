//! The engine and the oracle on histories and session files: the laws, the cases of the rules, the behaviours that were
//! asked for, and the defects that were found. One program, so that it is linked once.

mod ai_sdk_lists;
mod behaviours;
mod cases;
mod compaction;
mod conversion;
mod counted;
mod detection;
mod harmless;
mod laws;
mod no_harm;
mod recorded_sessions;
mod regressions;
mod scenarios;
mod session_behaviours;
mod session_cases;
mod session_compaction;
mod session_forks;
mod session_harmless;
mod session_laws;
mod session_breaches;
mod session_samples;
mod streams;
mod support;
mod traces;
