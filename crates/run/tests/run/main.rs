//! The run machine, as others see it.

mod vectors;
