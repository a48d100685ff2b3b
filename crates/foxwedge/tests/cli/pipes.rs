//! `fix -` is a filter: the document on stdout, the talk on stderr.

use crate::{documents::*, sandbox::Sandbox};

#[test]
fn a_sound_document_passes_byte_for_byte() {
    let sandbox = Sandbox::new();
    for text in [SOUND.to_owned(), format!("\u{feff}{SOUND}"), SOUND.replace('\n', "\r\n")] {
        let ran = sandbox.pipe(&["fix", "-"], &text);
        assert_eq!((ran.code, ran.out.as_str()), (0, text.as_str()));
    }
}

#[test]
fn a_broken_document_comes_out_as_the_file_would() {
    for (name, content) in BROKEN {
        let sandbox = Sandbox::with(name, content);
        let ran = sandbox.pipe(&["fix", "-"], content);
        assert_eq!(ran.code, 0, "{name}: {}", ran.err);
        assert!(ran.err.contains("fixed FW"), "{name}: {}", ran.err);
        sandbox.run(&["fix", name]);
        assert_eq!(ran.out, sandbox.read(name), "{name}");
        assert_eq!(sandbox.pipe(&["check", "-"], &ran.out).code, 0, "{name}");
        let again = sandbox.pipe(&["fix"], &ran.out);
        assert_eq!(again.out, ran.out, "{name}");
    }
}

#[test]
fn what_remains_is_told_on_stderr() {
    let ran = Sandbox::new().pipe(&["fix", "-"], UNSAFE);
    assert_eq!((ran.code, ran.out.as_str()), (1, UNSAFE));
    assert!(
        ran.err.contains("[FW403]") && ran.err.contains("foxwedge fix --unsafe-fixes -"),
        "{}",
        ran.err
    );
}

#[test]
fn an_unreadable_document_gives_no_document() {
    let ran = Sandbox::new().pipe(&["fix", "-"], "{\"messages\":[");
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("<stdin>:1:"), "{}", ran.err);
}

#[test]
fn stdin_with_several_documents_is_a_list_of_them() {
    let one = |text: &str| text.replace('\n', "");
    let input = format!("{}\n{}\n", one(SOUND), one(CHAT));
    let ran = Sandbox::new().pipe(&["check", "--output-format", "concise"], &input);
    assert_eq!(ran.code, 1);
    assert!(ran.out.lines().all(|line| line.starts_with("<stdin>:2:")), "{}", ran.out);
    assert_eq!(ran.out.lines().count(), 3);
}
