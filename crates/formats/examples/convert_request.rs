//! Converts a request to another provider's format and lists what that format cannot hold.
//!
//! ```sh
//! cargo run -p foxwedge-formats --example convert_request -- request.json
//! ```

use std::{env, error::Error, fs};

use foxwedge_core::Format;
use foxwedge_formats::{
    convert::{ConversionOptions, request},
    detect,
};

const SAMPLE: &str = r#"{"model": "gpt-5", "seed": 7, "messages": [
  {"role": "user", "content": "Which ferry?"},
  {"role": "assistant", "tool_calls": [
    {"id": "call_1", "type": "function", "function": {"name": "tides", "arguments": "{}"}}]},
  {"role": "user", "content": "Well?"}]}"#;

fn main() -> Result<(), Box<dyn Error>> {
    let source = match env::args().nth(1) {
        Some(file) => fs::read_to_string(file)?,
        None => SAMPLE.to_owned(),
    };
    let from = detect(&source).ok_or("no known format")?.wire;
    let converted = request(&source, from, Format::Anthropic, &ConversionOptions::default())?;
    for loss in &converted.losses {
        eprintln!("lost: {}", loss.note);
    }
    println!("{}", converted.body);
    Ok(())
}
