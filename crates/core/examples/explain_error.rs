//! Finds the rule behind an error message of a provider.
//!
//! ```sh
//! cargo run -p foxwedge-core --example explain_error -- "400 No tool output found for function call call_1."
//! ```

use std::env;

use foxwedge_core::{explain, rules};

fn main() {
    let message = env::args().nth(1).unwrap_or_else(|| {
        "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1."
            .to_owned()
    });
    let Some(explanation) = explain(&message) else {
        println!("the message is not about the structure of a history");
        return;
    };
    if let Some(rule) = rules::ALL.iter().find(|rule| rule.code == explanation.code) {
        println!("{} {}: {}", rule.label(), rule.name, rule.summary);
    }
    println!("calls: {}", explanation.ids.join(", "));
    println!("{}", explanation.advice);
}
