//! The OpenAPI description. It is written by hand; a test compares it with the routes.

use bytes::Bytes;

/// The OpenAPI document.
pub(crate) fn openapi() -> Bytes {
    Bytes::from_static(include_bytes!("openapi.json"))
}

#[cfg(test)]
mod tests {
    use crate::GatewayEndpoint;
    use http::Method;
    use serde_json::Value;

    use super::*;
    use crate::{api, console, routes::GatewayRoute};

    /// All paths and their methods.
    fn routes() -> Vec<(Method, String)> {
        let endpoints =
            GatewayEndpoint::ALL.map(|endpoint| (Method::POST, endpoint.path().to_owned()));
        let others = [
            "/v1/models",
            "/v1/ui/ai-sdk/{id}/stream",
            "/v1/files",
            "/v1/files/{id}",
            "/v1/files/{id}/content",
            "/v1/batches",
            "/v1/batches/{id}",
            "/v1/messages/batches",
            "/v1/messages/batches/{id}",
            "/v1/messages/batches/{id}/results",
            "/v1/responses/{id}",
            "/v1/responses/{id}/input_items",
            "/v1/models/{model}",
            "/v1/sessions",
            "/v1/sessions/{id}",
            "/v1/runs",
            "/v1/runs/{id}",
            "/v1/runs/{id}/events",
            "/v1/runs/{id}/answers",
            "/v1/repairs",
            "/v1/repairs/{id}",
            "/v1/console",
            "/v1/console/rules/{code}",
            "/v1/console/sessions",
            "/v1/console/sessions/{id}",
            "/v1/console/sessions/{id}/messages",
            "/v1/console/sessions/{id}/tree",
            "/v1/console/sessions/{id}/records",
            "/v1/console/sessions/{id}/findings",
            "/v1/console/sessions/{id}/repair",
            "/v1/console/sessions/{id}/repair.md",
            "/v1/console/sessions/{id}/compaction",
            "/v1/console/feed",
            "/v1/console/feed/{id}",
            "/v1/console/feed/events",
            "/v1/console/series",
            "/health",
            "/health/liveness",
            "/health/readiness",
            "/liveness",
            "/readiness",
            "/metrics",
            "/openapi.json",
            "/",
        ];
        let others = others.map(|path| (Method::GET, path.to_owned()));
        let posts = [
            "/v1/ui/agui",
            "/v1/ui/ai-sdk",
            "/v1/embeddings",
            "/v1beta/models/{model}:embedContent",
            "/v1beta/models/{model}:batchEmbedContents",
            "/v1/moderations",
            "/v1/completions",
            "/v1/audio/speech",
            "/v1/audio/transcriptions",
            "/v1/audio/translations",
            "/v1/images/generations",
            "/v1/images/edits",
            "/v1/images/variations",
            "/v1/files",
            "/v1/uploads",
            "/v1/batches",
            "/v1/batches/{id}/cancel",
            "/v1/responses/{id}/cancel",
            "/v1/responses/input_tokens",
            "/v1/responses/compact",
            "/v1/messages/batches",
            "/v1/messages/batches/{id}/cancel",
            "/v1/runs/{id}/stop",
            "/v1/runs/{id}/answers",
            "/v1/check",
            "/v1/fix",
            "/v1/compact",
            "/v1/convert",
            "/v1/console/compaction",
            "/v1/console/sessions/{id}/repair",
            "/v1/console/sessions/{id}/undo",
        ];
        let posts = posts.map(|path| (Method::POST, path.to_owned()));
        let deletes = ["/v1/files/{id}", "/v1/messages/batches/{id}", "/v1/responses/{id}"];
        let deletes = deletes.map(|path| (Method::DELETE, path.to_owned()));
        endpoints.into_iter().chain(others).chain(posts).chain(deletes).collect()
    }

    fn document() -> Value {
        serde_json::from_slice(&openapi()).expect("JSON")
    }

    #[test]
    fn every_route_is_described_and_nothing_else() {
        let document = document();
        let mut described: Vec<String> = Vec::new();
        for (path, methods) in document["paths"].as_object().expect("paths") {
            for method in methods.as_object().expect("methods").keys() {
                described.push(format!("{} {path}", method.to_uppercase()));
            }
        }
        let mut known: Vec<String> =
            routes().iter().map(|(method, path)| format!("{method} {path}")).collect();
        described.sort();
        known.sort();
        assert_eq!(described, known);
    }

    #[test]
    fn every_described_route_exists() {
        for (method, path) in routes() {
            let path = path.replace("{id}", "x").replace("{model}", "m").replace("{code}", "c");
            let route = GatewayRoute::find(&method, &path);
            assert!(route.is_ok(), "{method} {path}");
            if route.as_ref().ok() == Some(&GatewayRoute::Console) {
                let route = console::ConsoleRoute::find(&path).expect("a thing of the console");
                assert!(route.check_method(&method).is_ok(), "{method} {path}");
            }
            if route.ok() == Some(GatewayRoute::Api) {
                let route = api::ApiRoute::find(&path).expect("a thing of ours");
                assert!(route.check_method(&method).is_ok(), "{method} {path}");
            }
        }
    }

    #[test]
    fn every_reference_resolves() {
        fn check_references(value: &Value, document: &Value) {
            match value {
                Value::Object(members) => {
                    if let Some(Value::String(reference)) = members.get("$ref") {
                        let pointer = reference.strip_prefix('#').expect("a place in here");
                        assert!(document.pointer(pointer).is_some(), "{reference}");
                    }
                    members.values().for_each(|value| check_references(value, document));
                }
                Value::Array(items) => {
                    items.iter().for_each(|value| check_references(value, document))
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
        let document = document();
        check_references(&document, &document);
        for (path, methods) in document["paths"].as_object().expect("paths") {
            for (method, operation) in methods.as_object().expect("methods") {
                assert!(operation["summary"].is_string(), "{method} {path}");
                assert!(operation["responses"].is_object(), "{method} {path}");
            }
        }
    }
}
