//! Tests of the run machine through its public API.

mod vectors;
