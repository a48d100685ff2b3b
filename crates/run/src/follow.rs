//! The streams of agents, as events.
