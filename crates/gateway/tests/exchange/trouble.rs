//! Upstreams in trouble: what is waited out, what is told, and in whose words.

use foxwedge_gateway::GatewayEndpoint;
use serde_json::{Value, json};

use crate::stand::{ask, engine};

fn request(face: GatewayEndpoint, model: &str, stream: bool) -> Value {
    match face {
        GatewayEndpoint::Responses => {
            json!({"model": model, "stream": stream, "input": "hello there my old friend, how do you do today"})
        }
        GatewayEndpoint::Chat | GatewayEndpoint::Messages | GatewayEndpoint::CountTokens => json!({
            "model": model, "stream": stream, "max_tokens": 100,
            "messages": [{"role": "user", "content": "hello there my old friend, how do you do today"}],
        }),
    }
}

const FACES: [GatewayEndpoint; 3] =
    [GatewayEndpoint::Chat, GatewayEndpoint::Responses, GatewayEndpoint::Messages];

#[tokio::test(start_paused = true)]
async fn passing_trouble_is_waited_out_and_lasting_trouble_is_told() {
    let engine = engine("").await;
    let table = [
        ("scripted?status=429&fail-first=1", 200),
        ("scripted?status=500&fail-first=1", 200),
        ("scripted?status=429", 429),
        ("scripted?status=529", 529),
        ("scripted?status=401", 401),
        ("scripted?html", 502),
        ("scripted?empty", 502),
    ];
    for face in FACES {
        for (model, status) in table {
            let heard = ask(&engine, face, &request(face, model, false)).await;
            assert_eq!(heard.status, status, "{} {model}: {}", face.name(), heard.body);
            if status != 200 {
                let error = heard.json()["error"].clone();
                assert!(
                    error["message"].is_string() && error["type"].is_string(),
                    "{}",
                    heard.body
                );
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_cut_anywhere_ends_in_an_error_and_never_looks_whole() {
    let routes = "[[route]]\nmodel = \"cut*\"\nupstream = \"UP\"\n";
    for upstream in ["chat", "responses", "messages", "gemini"] {
        for face in FACES {
            for at in 0..6 {
                let rename = format!("rename = \"scripted?cut={at}\"\n");
                let engine = engine(&format!("{}{rename}", routes.replace("UP", upstream))).await;
                let heard = ask(&engine, face, &request(face, "cut", true)).await;
                let place = format!("{} on {upstream} cut at {at}: {}", face.name(), heard.body);
                assert!(
                    heard.body.contains("error") || heard.body.contains("response.failed"),
                    "{place}"
                );
                for whole in ["[DONE]", "message_stop", "response.completed"] {
                    assert!(!heard.body.contains(whole), "{place}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_stream_that_makes_no_sense_ends_in_an_error() {
    let engine = engine("[limits]\nevent = \"64KiB\"\n").await;
    for fault in ["malformed", "long-line=300000"] {
        for face in FACES {
            let heard =
                ask(&engine, face, &request(face, &format!("scripted?{fault}"), true)).await;
            assert_eq!(heard.status, 200);
        }
    }
}
