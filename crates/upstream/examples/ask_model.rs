//! Sends a request to a model. Only a valid history can be sent.
//!
//! ```sh
//! cargo run -p foxwedge-upstream --example ask_model -- "call look"
//! ```

use std::{env, error::Error};

use foxwedge_upstream::model::{ChatModel, ModelEndpoint, ReplyDelta, ValidRequest};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let prompt = env::args().nth(1).unwrap_or_else(|| "hello".to_owned());
    // `ModelEndpoint::anthropic(key, model)` and others reach a provider.
    let model = ModelEndpoint::scripted("scripted");
    let body = json!({
        "model": "scripted",
        "stream": true,
        "max_tokens": 100,
        "messages": [{ "role": "user", "content": prompt }],
    });
    let body = body.to_string().into();
    let request = ValidRequest::validate(body, model.about().wire, &model.check_options())?;
    let mut reply = model.send(request);
    while let Some(delta) = reply.next_delta().await? {
        match delta {
            ReplyDelta::Text(text) => print!("{text}"),
            ReplyDelta::Stop(reason) => println!("\n{reason:?}"),
            _ => {}
        }
    }
    Ok(())
}
