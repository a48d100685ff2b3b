//! The names of links in session files. Damage to links is written with the names of Claude Code;
//! files of pi are renamed before it and after it.

use serde_json::Value;

/// The parent of a record, whatever its agent calls it.
pub(crate) fn parent(record: &Value) -> &Value {
    record.get("parentUuid").unwrap_or_else(|| &record["parentId"])
}

/// A file of pi with `uuid` and `parentUuid`, as far as its lines can be parsed.
pub(crate) fn without_pi_names(bytes: &[u8]) -> Vec<u8> {
    let mut renamed = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let mut record: Value = serde_json::from_slice(line).unwrap_or_default();
        let fields = record.as_object_mut().filter(|fields| fields.contains_key("parentId"));
        let Some(fields) = fields else {
            renamed.extend(line);
            continue;
        };
        for (old, new) in [("id", "uuid"), ("parentId", "parentUuid")] {
            let value = fields.remove(old);
            fields.extend(value.map(|value| (new.to_owned(), value)));
        }
        renamed.extend(record.to_string().into_bytes());
        renamed.extend(line.ends_with(b"\n").then_some(b'\n'));
    }
    renamed
}

/// The same file with the names that pi uses.
pub(crate) fn with_pi_names(bytes: &[u8]) -> Vec<u8> {
    let renamed = replaced(bytes, b"\"uuid\"", b"\"id\"");
    replaced(&renamed, b"\"parentUuid\"", b"\"parentId\"")
}

fn replaced(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = rest.windows(old.len()).position(|window| window == old) {
        out.extend(&rest[..at]);
        out.extend(new);
        rest = &rest[at + old.len()..];
    }
    out.extend(rest);
    out
}
