//! Changes one field of a document and keeps every other byte.
//!
//! ```sh
//! cargo run -p foxwedge-json --example change_field
//! ```

use foxwedge_json::{FieldChange, JsonScanner, ScanError, patched_text, quote};

fn main() -> Result<(), ScanError> {
    let request = r#"{ "model": "gpt-5",   "temperature": 1.50, "messages": [] }"#;
    let mut scanner = JsonScanner::new(request);
    let object = scanner.skip()?;
    scanner.end()?;
    let changes = vec![("model", FieldChange::Text(quote("gpt-5-mini")))];
    let changed = patched_text(request, object, changes);
    println!("{changed}");
    assert_eq!(changed, request.replace("gpt-5", "gpt-5-mini"));
    Ok(())
}
