//! Counts the tokens of a text for a model, and says whether they fit into its window.
//!
//! ```sh
//! cargo run -p foxwedge-tokens --example count_tokens -- gpt-4o README.md
//! ```

use std::{env, fs, io};

use foxwedge_core::compact::TokenCounter;
use foxwedge_tokens::{ModelTokenizer, models};

fn main() -> io::Result<()> {
    let model = env::args().nth(1).unwrap_or_else(|| "gpt-4o".to_owned());
    let text = match env::args().nth(2) {
        Some(file) => fs::read_to_string(file)?,
        None => "Hello, world!".to_owned(),
    };
    let mut tokenizer = ModelTokenizer::for_model(Some(&model));
    let tokens = tokenizer.count_text(&text);
    let method = if tokenizer.is_exact() { "exactly" } else { "about" };
    println!("{method} {tokens} tokens");
    if let Some(spec) = models::find_model(&model) {
        println!("the window of {model} has {} tokens", spec.window);
    }
    Ok(())
}
