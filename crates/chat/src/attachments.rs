//! Files and pictures in prompts: `@src/main.rs` adds the content of the file to the prompt,
//! `@picture.png` the picture. Only what the user typed is read this way, never what came through a
//! pipe.

use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use foxwedge_local::output::{HelpfulError, clean};
use serde_json::{Value, json};

/// Size limit of a text file.
const MAX_TEXT_BYTES: u64 = 256 << 10;
/// Size limit of a picture, which providers have too.
const MAX_IMAGE_BYTES: u64 = 5 << 20;
/// Why a picture is refused.
const NO_IMAGE: &str = "it is no PNG, JPEG, GIF or WebP picture";
/// Maximum number of files in a prompt.
const MAX_FILES: usize = 20;

/// How the text of a file starts, and that of a command.
pub(crate) const FILE_MARK: &str = "The file `";
pub(crate) const COMMAND_MARK: &str = "I ran `";

/// Whether a text was sent with a prompt, and is not the prompt itself.
pub(crate) fn is_attachment(text: &str) -> bool {
    let is_marked = |mark: &str| text.starts_with(mark) && text.contains("`:\n\n");
    is_marked(FILE_MARK) || text.starts_with(COMMAND_MARK) && text.contains("` myself:\n\n")
}

/// The name and the text of a file that was sent with a prompt.
pub(crate) fn attached_file(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix(FILE_MARK)?.split_once("`:\n\n")
}

/// A prompt: its text, and the blocks that are sent with it, in Anthropic's format.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct ChatPrompt {
    /// What the user typed.
    pub(crate) text: String,
    /// Files and pictures.
    pub(crate) blocks: Vec<Value>,
}

impl From<&str> for ChatPrompt {
    fn from(text: &str) -> ChatPrompt {
        ChatPrompt { text: text.to_owned(), blocks: Vec::new() }
    }
}

impl ChatPrompt {
    /// Reads the files that a text mentions. A word that names no file stays a word.
    ///
    /// # Errors
    /// If a file cannot be sent.
    pub(crate) fn read(text: &str, root: &Path) -> Result<ChatPrompt, HelpfulError> {
        let mut prompt = ChatPrompt::from(text);
        let mut seen: Vec<PathBuf> = Vec::new();
        for name in mentions(text) {
            let Some(path) = existing_file(name, root) else { continue };
            if seen.contains(&path) {
                continue;
            }
            if seen.len() == MAX_FILES {
                let error = HelpfulError::new(format!("a prompt can have {MAX_FILES} files"));
                return Err(error.help("the prompt was not sent; mention fewer files"));
            }
            prompt.blocks.push(block_of(name, &path)?);
            seen.push(path);
        }
        Ok(prompt)
    }
}

/// The words after an `@` at the start of a word, without punctuation after them.
fn mentions(text: &str) -> impl Iterator<Item = &str> {
    let words = text
        .split_whitespace()
        .filter_map(|word| word.trim_start_matches(['(', '"', '\'', '[', '`']).strip_prefix('@'));
    let end = [',', ';', ':', '!', '?', ')', '"', '\'', ']', '`'];
    words.map(move |word| word.trim_end_matches(end)).filter(|word| !word.is_empty())
}

/// The file that a word names, from the folder or from the home folder. A full stop after it does
/// not count.
fn existing_file(name: &str, root: &Path) -> Option<PathBuf> {
    let resolve = |name: &str| {
        let path = match name.strip_prefix("~/") {
            Some(rest) => foxwedge_local::agents::home_folder()?.join(rest),
            None => root.join(name),
        };
        path.is_file().then_some(path)
    };
    resolve(name).or_else(|| resolve(name.trim_end_matches('.')))
}

/// The block of a file.
fn block_of(name: &str, path: &Path) -> Result<Value, HelpfulError> {
    let shown = clean(name);
    let refuse = |why: String| {
        HelpfulError::new(format!("`@{shown}` cannot be sent: {why}"))
            .help("the prompt was not sent; Up brings it back")
    };
    let mut bytes = Vec::new();
    let limited = |file: File| file.take(MAX_IMAGE_BYTES + 1).read_to_end(&mut bytes);
    let read = File::open(path).and_then(limited);
    read.map_err(|error| refuse(error.to_string()))?;
    let kind = image_type(&bytes);
    if kind.is_none() && has_image_name(path) {
        return Err(refuse(NO_IMAGE.to_owned()));
    }
    let max = if kind.is_some() { MAX_IMAGE_BYTES } else { MAX_TEXT_BYTES };
    if bytes.len() as u64 > max {
        return Err(refuse(format!("it has more than {} KiB", max >> 10)));
    }
    match kind {
        Some(kind) => Ok(image_block(kind, &STANDARD.encode(&bytes))),
        None => match String::from_utf8(bytes) {
            Ok(text) => Ok(text_block(&format!("{FILE_MARK}{shown}`:\n\n{text}"))),
            Err(_) => Err(refuse("it is neither text nor a picture".to_owned())),
        },
    }
}

/// A block of text.
pub(crate) fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// A block with a picture that a client sent in Base64. The type that it states does not count.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn read_image_block(data: &str) -> Result<Value, String> {
    let data: String = data.split_ascii_whitespace().collect();
    let bytes = STANDARD.decode(&data).map_err(|_| "it is not Base64".to_owned())?;
    let kind = image_type(&bytes).ok_or(NO_IMAGE)?;
    match bytes.len() as u64 > MAX_IMAGE_BYTES {
        true => Err(format!("it has more than {} KiB", MAX_IMAGE_BYTES >> 10)),
        false => Ok(image_block(kind, &data)),
    }
}

/// A block with a picture in Base64.
fn image_block(media_type: &str, data: &str) -> Value {
    let source = json!({ "type": "base64", "media_type": media_type, "data": data });
    json!({ "type": "image", "source": source })
}

/// The media type of a picture that providers accept, by its first bytes. They refuse a picture
/// whose name or client says something else.
fn image_type(bytes: &[u8]) -> Option<&'static str> {
    let starts = |mark: &[u8]| bytes.starts_with(mark);
    if starts(b"\x89PNG\r\n\x1a\n") {
        Some("image/png")
    } else if starts(b"\xff\xd8\xff") {
        Some("image/jpeg")
    } else if starts(b"GIF87a") || starts(b"GIF89a") {
        Some("image/gif")
    } else if starts(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        Some("image/webp")
    } else {
        None
    }
}

/// Whether a file is a picture by its name.
fn has_image_name(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let known = ["png", "jpg", "jpeg", "gif", "webp"];
    known.iter().any(|name| extension.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mentioned_files_are_read() {
        let root = std::env::temp_dir().join(format!("foxwedge-mention-{}", std::process::id()));
        std::fs::create_dir_all(root.join("src")).expect("a folder for the test");
        for (name, bytes) in
            [("src/a.rs", &b"fn a() {}"[..]), ("b.PNG", b"\x89PNG\r\n\x1a\n"), ("c.bin", b"\xff\0")]
        {
            std::fs::write(root.join(name), bytes).expect("a file for the test");
        }
        let read = |text: &str| ChatPrompt::read(text, &root).map(|prompt| prompt.blocks);
        let code = text_block("The file `src/a.rs`:\n\nfn a() {}");
        let picture = image_block("image/png", "iVBORw0KGgo=");
        let table = [
            ("no files, fox@den.example, @nobody @", vec![]),
            ("what is @src/a.rs?", vec![code.clone()]),
            ("(@src/a.rs, @b.PNG) and @src/a.rs", vec![code, picture]),
            ("see @src", vec![]),
        ];
        for (text, expected) in table {
            assert_eq!(read(text).ok(), Some(expected), "{text}");
        }
        let error = read("@c.bin").expect_err("no text");
        assert!(error.to_string().contains("neither text nor a picture"), "{error}");
        let pictures: [(&str, &[u8], Option<&str>); 8] = [
            ("a.png", b"\x89PNG\r\n\x1a\n\0", Some("image/png")),
            ("photo.png", b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            ("photo", b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            ("a.jpg", b"GIF89a\0", Some("image/gif")),
            ("a.gif", b"RIFF\0\0\0\0WEBPVP8 ", Some("image/webp")),
            ("fake.png", b"text", None),
            ("empty.png", b"", None),
            ("sound.webp", b"RIFF\0\0\0\0WAVEfmt ", None),
        ];
        for (name, bytes, expected) in pictures {
            std::fs::write(root.join(name), bytes).expect("a file for the test");
            match (ChatPrompt::read(&format!("see @{name}"), &root), expected) {
                (Ok(prompt), Some(kind)) => {
                    assert_eq!(prompt.blocks, [image_block(kind, &STANDARD.encode(bytes))]);
                }
                (Err(error), None) => assert!(error.to_string().contains(NO_IMAGE), "{error}"),
                (read, _) => panic!("{name}: {read:?}"),
            }
        }
        let stop = ChatPrompt::read("look at @b.PNG.", &root).expect("a full stop");
        assert_eq!(stop.blocks.len(), 1);
        let _ = std::fs::remove_dir_all(&root);
    }
}
