//! Handles requests from servers: reports the working directory as root and rejects the rest.
#![expect(deprecated, reason = "the newest protocol has no roots, but servers still request them")]

use std::path::{Path, PathBuf};

use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
        ElicitRequestParams, ElicitResult, ErrorCode, Implementation, ListRootsResult,
        ProtocolVersion, Root, RootsCapabilities,
    },
    service::RequestContext,
};

/// Handler for requests that a server sends to its client.
#[derive(Clone, Debug)]
pub(super) struct McpClientHandler {
    pub(super) root: Option<PathBuf>,
}

impl ClientHandler for McpClientHandler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = self.root.as_ref().map(|_| RootsCapabilities::default());
        let implementation = Implementation::new("foxwedge", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, implementation)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        let roots = self.root.iter().map(|root| Root::new(folder_uri(root)));
        Ok(ListRootsResult::new(roots.collect()))
    }

    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        Err(unsupported_error("asking a model is not supported here"))
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Err(unsupported_error("asking a person is not supported here"))
    }
}

fn unsupported_error(message: &'static str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
}

/// A folder as a `file://` URI.
fn folder_uri(folder: &Path) -> String {
    let mut uri = "file://".to_owned();
    let path = folder.to_string_lossy().replace('\\', "/");
    if !path.starts_with('/') {
        uri.push('/');
    }
    for byte in path.bytes() {
        match byte {
            b'/' | b':' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_become_file_uris() {
        let table = [
            ("/home/me", "file:///home/me"),
            ("/a b/é#", "file:///a%20b/%C3%A9%23"),
            ("C:\\me", "file:///C:/me"),
        ];
        for (folder, expected) in table {
            assert_eq!(folder_uri(Path::new(folder)), expected);
        }
    }
}
