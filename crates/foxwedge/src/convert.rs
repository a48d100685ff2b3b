//! The parts of `foxwedge convert`: input, detection, output and reports. The pure crates decide
//! what is converted and what is lost.

mod partial_object;
mod detect;
mod input;
mod input_kind;
mod converted_body;
mod stream_conversion;
mod conversion_report;
mod full;
mod json;

pub(crate) use conversion_report::{ConversionEnding, ConversionReport};
pub(crate) use converted_body::{output_name, request, response};
pub(crate) use full::render_report;
pub(crate) use input::ConversionInput;
pub(crate) use input_kind::{ConversionInputKind, recognize_input};
pub(crate) use json::{document, error_document, read_renames};
pub(crate) use stream_conversion::{StreamConversionError, convert_stream};
