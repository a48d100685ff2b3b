use super::*;

/// The text with the cursor as `|`.
fn edited(before: &str, keys: &[TerminalKey]) -> String {
    let mut editor = editor(before);
    for key in keys {
        editor.apply_key(key);
    }
    marked(&editor)
}

fn editor(marked: &str) -> PromptEditor {
    let at = marked.find('|').unwrap_or(marked.len());
    PromptEditor { text: marked.replace('|', ""), cursor: at, ..PromptEditor::default() }
}

fn marked(editor: &PromptEditor) -> String {
    format!("{}|{}", editor.text_before(), editor.text_after())
}

#[test]
fn keys_change_the_text() {
    let table: [(&str, &[TerminalKey], &str); 28] = [
        ("|", &[TerminalKey::Char('a'), TerminalKey::Char('中')], "a中|"),
        ("ab|c", &[TerminalKey::Backspace], "a|c"),
        ("|c", &[TerminalKey::Backspace], "|c"),
        ("a|bc", &[TerminalKey::Delete], "a|c"),
        ("a|", &[TerminalKey::Delete], "a|"),
        ("中文|", &[TerminalKey::Left, TerminalKey::Left, TerminalKey::Left], "|中文"),
        ("e\u{301}|x", &[TerminalKey::Left], "|e\u{301}x"),
        ("|e\u{301}x", &[TerminalKey::Right], "e\u{301}|x"),
        ("xe\u{301}|", &[TerminalKey::Backspace], "x|"),
        ("one two|", &[TerminalKey::WordLeft], "one |two"),
        ("one two  |", &[TerminalKey::WordLeft, TerminalKey::WordLeft], "|one two  "),
        ("|one two", &[TerminalKey::WordRight], "one| two"),
        ("one two|", &[TerminalKey::DeleteWordBack], "one |"),
        ("|one two", &[TerminalKey::DeleteWord], "| two"),
        ("one\ntw|o", &[TerminalKey::Home], "one\n|two"),
        ("o|ne\ntwo", &[TerminalKey::End], "one|\ntwo"),
        ("o|ne\ntwo", &[TerminalKey::KillToEnd], "o|\ntwo"),
        ("one|\ntwo", &[TerminalKey::KillToEnd], "one|two"),
        ("one\ntw|o", &[TerminalKey::KillToStart], "one\n|o"),
        (
            "one two|",
            &[TerminalKey::DeleteWordBack, TerminalKey::Home, TerminalKey::Yank],
            "two|one ",
        ),
        ("one\ntw|o", &[TerminalKey::Up], "on|e\ntwo"),
        ("longer\nab|", &[TerminalKey::Up, TerminalKey::Down], "longer\nab|"),
        ("中文\nabc|", &[TerminalKey::Up], "中文|\nabc"),
        ("a\n|", &[TerminalKey::Up, TerminalKey::Down], "a\n|"),
        ("a|", &[TerminalKey::NewLine, TerminalKey::Char('b')], "a\nb|"),
        ("a\\|", &[TerminalKey::Enter], "a\n|"),
        ("|", &[TerminalKey::Paste("a\r\nb\rc".to_owned())], "a\nb\nc|"),
        ("|", &[TerminalKey::Up, TerminalKey::Down, TerminalKey::Yank], "|"),
    ];
    for (before, keys, expected) in table {
        assert_eq!(edited(before, keys), expected, "{before} {keys:?}");
    }
}

#[test]
fn long_pastes_are_shown_as_labels_and_sent_whole() {
    let mut editor = editor("see |");
    let many: String = (0..30).map(|n| format!("line {n}\r")).collect();
    for text in [many.clone(), many, "x".repeat(2_000)] {
        editor.apply_key(&TerminalKey::Paste(text));
    }
    let shown = "see [pasted 30 lines][pasted 30 lines, 2][pasted 2000 characters]";
    assert_eq!(editor.text(), shown);
    let sent = editor.expand(editor.text());
    assert_eq!(sent.matches("line 29\n").count(), 2);
    assert!(sent.starts_with("see line 0\nline 1\n") && sent.ends_with("xxx"));
    // A label is deleted as a whole.
    editor.apply_key(&TerminalKey::Backspace);
    assert_eq!(editor.text(), "see [pasted 30 lines][pasted 30 lines, 2]");
    editor.apply_key(&TerminalKey::Backspace);
    let shown = editor.take();
    assert_eq!(editor.expand(&shown).matches("line 29").count(), 1);
}

#[test]
fn browsing_the_history_keeps_the_current_text() {
    let mut editor = PromptEditor::new(vec!["first".to_owned(), "second\nline".to_owned()]);
    editor.set("typed");
    let steps = [
        (TerminalKey::Up, "second\nline|"),
        (TerminalKey::Up, "seco|nd\nline"),
        (TerminalKey::Up, "first|"),
        (TerminalKey::Up, "first|"),
        (TerminalKey::Down, "second\nline|"),
        (TerminalKey::Down, "typed|"),
        (TerminalKey::Down, "typed|"),
    ];
    for (key, expected) in steps {
        editor.apply_key(&key);
        assert_eq!(marked(&editor), *expected);
    }
}

#[test]
fn history_skips_repeated_and_blank_texts() {
    let mut editor = PromptEditor::default();
    for text in ["one", "one", "  ", "two"] {
        editor.set(text);
        assert_eq!(editor.take(), text);
    }
    assert_eq!(editor.history, ["one", "two"]);
    assert!(editor.is_empty());
    editor.set("kept elsewhere");
    assert_eq!(editor.put_aside(), "kept elsewhere");
    assert_eq!(editor.history, ["one", "two"]);
}

#[test]
fn view_is_wrapped_and_contains_the_cursor() {
    // The text, width and height, the rows, and the cursor.
    type Case = (&'static str, (usize, usize), &'static [&'static str], (usize, usize));
    let table: [Case; 9] = [
        ("|", (10, 3), &[""], (0, 0)),
        ("abc|", (10, 3), &["abc"], (0, 3)),
        ("abcdef|", (4, 9), &["abc", "def"], (1, 3)),
        ("abc|def", (4, 9), &["abc", "def"], (1, 0)),
        ("a\n|b", (4, 9), &["a", "b"], (1, 0)),
        ("a\n|", (4, 9), &["a", ""], (1, 0)),
        ("中文|", (4, 9), &["中", "文"], (1, 2)),
        ("a\u{1b}[2J\t|", (20, 1), &["a\u{fffd}[2J    "], (0, 9)),
        ("1\n2\n3\n4\n|5\n6\n7", (9, 3), &["4", "5", "6"], (1, 0)),
    ];
    for (text, (width, height), rows, cursor) in table {
        let view = editor(text).view(width, height);
        assert_eq!(view.rows, rows, "{text:?}");
        assert_eq!((view.row, view.column), cursor, "{text:?}");
    }
}

#[test]
fn large_text_is_handled() {
    let text = "many words\nin many lines, and one 中 of them ".repeat(200_000);
    let mut editor = PromptEditor::default();
    editor.set(&text);
    for key in [
        TerminalKey::Left,
        TerminalKey::WordLeft,
        TerminalKey::Up,
        TerminalKey::Char('x'),
        TerminalKey::Home,
        TerminalKey::Delete,
    ] {
        for _ in 0..20 {
            editor.apply_key(&key);
            let view = editor.view(80, 10);
            assert!(view.rows.len() <= 10 && view.row < view.rows.len());
        }
    }
    assert_eq!(editor.apply_key(&TerminalKey::Paste(text.clone())), EditorOutcome::Full);
    editor.set("");
    assert_eq!(editor.apply_key(&TerminalKey::Paste(text.clone())), EditorOutcome::Handled);
    assert_eq!(editor.apply_key(&TerminalKey::Paste(text)), EditorOutcome::Full);
    let one_line =
        PromptEditor { text: "x".repeat(1 << 20), cursor: 1 << 19, ..PromptEditor::default() };
    assert_eq!(one_line.view(20, 5).rows.len(), 5);
}
