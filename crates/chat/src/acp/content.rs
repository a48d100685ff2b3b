//! Content of the protocol: prompts and MCP servers of a client, changes of files, earlier messages.

use std::path::Path;

use foxwedge_run::encode::AcpRevision;
use foxwedge_tools::FileChange;
use serde_json::{Map, Value, json};
use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};

use super::wire::AcpError;
use crate::attachments::{ChatPrompt, FILE_MARK, read_image_block, text_block};

/// Lines of context in a patch.
const CONTEXT: usize = 3;

/// Reads the blocks of a prompt.
pub(super) fn read_prompt(blocks: &[Value]) -> Result<ChatPrompt, AcpError> {
    let mut prompt = ChatPrompt::default();
    for block in blocks {
        let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "text" => prompt.text.push_str(text("text")),
            // The model reads the file itself, if it needs it.
            "resource_link" => prompt.text.push_str(&shown_address(text("uri"))),
            "image" => {
                let read = read_image_block(text("data"));
                let block = read
                    .map_err(|why| AcpError::params(&format!("a picture cannot be sent: {why}")))?;
                prompt.blocks.push(block);
            }
            "resource" => {
                let resource = block.get("resource").unwrap_or(&Value::Null);
                let address = resource.get("uri").and_then(Value::as_str).unwrap_or_default();
                let Some(content) = resource.get("text").and_then(Value::as_str) else {
                    return Err(AcpError::params("a resource has to be text"));
                };
                let address = shown_address(address);
                prompt.text.push_str(&address);
                prompt.blocks.push(text_block(&format!("{FILE_MARK}{address}`:\n\n{content}")));
            }
            other => return Err(AcpError::params(&format!("`{other}` cannot be in a prompt"))),
        }
    }
    match prompt.text.trim().is_empty() && prompt.blocks.is_empty() {
        true => Err(AcpError::params("the prompt is empty")),
        false => Ok(prompt),
    }
}

/// The path of a file, or an address as it is.
fn shown_address(address: &str) -> String {
    address.strip_prefix("file://").unwrap_or(address).to_owned()
}

/// The MCP servers of a client in the form of a file with `mcpServers`.
pub(super) fn mcp_servers(servers: &Value) -> Map<String, Value> {
    let mut all = Map::new();
    for server in servers.as_array().into_iter().flatten() {
        let Some(name) = server.get("name").and_then(Value::as_str) else { continue };
        let pairs = |key: &str| {
            let entries = server.get(key).and_then(Value::as_array).into_iter().flatten();
            let pair = |entry: &Value| {
                Some((entry.get("name")?.as_str()?.to_owned(), entry.get("value")?.clone()))
            };
            entries.filter_map(pair).collect::<Map<String, Value>>()
        };
        let described = match server.get("url") {
            Some(url) => {
                let is_sse = server.get("type").is_some_and(|kind| kind == "sse");
                let kind = if is_sse { "sse" } else { "http" };
                json!({ "type": kind, "url": url, "headers": pairs("headers") })
            }
            None => {
                let args = server.get("args").filter(|args| args.is_array());
                let args = args.cloned().unwrap_or_else(|| json!([]));
                json!({ "command": server.get("command"), "args": args, "env": pairs("env") })
            }
        };
        all.insert(name.to_owned(), described);
    }
    all
}

/// The content of a call that changes a file.
pub(super) fn diff_content(revision: AcpRevision, root: &Path, change: &FileChange) -> Value {
    let path = root.join(&change.path).to_string_lossy().into_owned();
    let text = |side: &Option<Vec<u8>>| {
        side.as_ref().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    };
    let (before, after) = (text(&change.before), text(&change.after));
    match revision {
        AcpRevision::V1 => json!({
            "type": "diff",
            "path": path,
            "oldText": before,
            "newText": after.unwrap_or_default(),
        }),
        AcpRevision::V2 => {
            let operation = if before.is_some() { "modify" } else { "add" };
            let patch = git_patch(&path, before.as_deref(), after.as_deref().unwrap_or_default());
            json!({
                "type": "diff",
                "changes": [{ "operation": operation, "path": path }],
                "patch": { "format": "git_patch", "text": patch },
            })
        }
    }
}

/// A patch as git writes it, with absolute paths.
fn git_patch(path: &str, before: Option<&str>, after: &str) -> String {
    let mut patch = format!("diff --git {path} {path}\n");
    match before {
        Some(_) => patch.push_str(&format!("--- {path}\n+++ {path}\n")),
        None => patch.push_str(&format!("new file mode 100644\n--- /dev/null\n+++ {path}\n")),
    }
    let lines = |text: &str| -> Vec<String> {
        let line = |line: &str| match line.strip_suffix('\n') {
            Some(line) => line.to_owned(),
            None => format!("{line}\n\\ No newline at end of file"),
        };
        text.split_inclusive('\n').map(line).collect()
    };
    let (old, new) = (lines(before.unwrap_or_default()), lines(after));
    for group in group_diff_ops(capture_diff_slices(Algorithm::Myers, &old, &new), CONTEXT) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let span = |from: usize, to: usize| match to - from {
            0 => format!("{from},0"),
            length => format!("{},{length}", from + 1),
        };
        let old_span = span(first.old_range().start, last.old_range().end);
        let new_span = span(first.new_range().start, last.new_range().end);
        patch.push_str(&format!("@@ -{old_span} +{new_span} @@\n"));
        let mut push = |sign: char, lines: &[String]| {
            lines.iter().for_each(|line| patch.push_str(&format!("{sign}{line}\n")));
        };
        for op in group {
            match op {
                DiffOp::Equal { .. } => push(' ', &old[op.old_range()]),
                _ => {
                    push('-', &old[op.old_range()]);
                    push('+', &new[op.new_range()]);
                }
            }
        }
    }
    patch
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_hold_text_files_and_pictures() {
        let blocks = [
            json!({"type":"text","text":"look at "}),
            json!({"type":"resource_link","name":"a","uri":"file:///den/a.rs"}),
            json!({"type":"resource","resource":{"uri":"file:///den/b","text":"bee"}}),
            json!({"type":"image","mimeType":"text/html","data":"iVBORw0K\nGgo="}),
        ];
        let prompt = read_prompt(&blocks).expect("a prompt");
        assert_eq!(prompt.text, "look at /den/a.rs/den/b");
        let file = text_block("The file `/den/b`:\n\nbee");
        let source = json!({"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="});
        assert_eq!(prompt.blocks, [file, json!({"type":"image","source":source})]);
        for data in ["", "!!!notbase64", "aGk=", "iVBORw0KGgo"] {
            let block = json!({"type":"image","mimeType":"image/png","data":data});
            assert!(read_prompt(&[block]).is_err(), "{data}");
        }
        assert!(read_prompt(&[]).is_err());
        assert!(read_prompt(&[json!({"type":"audio"})]).is_err());
    }

    #[test]
    fn servers_of_a_client_become_a_configuration() {
        let servers = json!([
            {"name":"files","command":"/bin/files","args":["."],"env":[{"name":"A","value":"b"}]},
            {"type":"http","name":"wiki","url":"https://w/mcp","headers":[]},
            {"type":"sse","name":"older","url":"https://w/sse","headers":[]},
        ]);
        let expected = json!({
            "files": {"command":"/bin/files","args":["."],"env":{"A":"b"}},
            "wiki": {"type":"http","url":"https://w/mcp","headers":{}},
            "older": {"type":"sse","url":"https://w/sse","headers":{}},
        });
        assert_eq!(Value::Object(mcp_servers(&servers)), expected);
        assert!(mcp_servers(&Value::Null).is_empty());
    }

    #[test]
    fn changes_are_shown_in_the_form_of_each_version() {
        let (before, after) = (Some(b"a\nb\nc\n".to_vec()), Some(b"a\nB\nc".to_vec()));
        let change = FileChange { path: "x".into(), before, after };
        let first = diff_content(AcpRevision::V1, Path::new("/den"), &change);
        let expected =
            json!({"type":"diff","path":"/den/x","oldText":"a\nb\nc\n","newText":"a\nB\nc"});
        assert_eq!(first, expected);
        let second = diff_content(AcpRevision::V2, Path::new("/den"), &change);
        assert_eq!(second["changes"], json!([{"operation":"modify","path":"/den/x"}]));
        let patch = "diff --git /den/x /den/x\n--- /den/x\n+++ /den/x\n@@ -1,3 +1,3 @@\n a\n-b\n-c\n\
                     +B\n+c\n\\ No newline at end of file\n";
        assert_eq!(second["patch"]["text"], patch);
        let new = FileChange { path: "y".into(), before: None, after: Some(b"1\n".to_vec()) };
        let patch = diff_content(AcpRevision::V2, Path::new("/den"), &new);
        assert_eq!(
            patch["patch"]["text"],
            "diff --git /den/y /den/y\nnew file mode 100644\n--- /dev/null\n+++ /den/y\n\
             @@ -0,0 +1,1 @@\n+1\n"
        );
    }
}
