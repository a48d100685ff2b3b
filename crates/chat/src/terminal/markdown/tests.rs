use super::*;
use insta::assert_snapshot;

fn page(width: usize) -> MarkdownPage {
    MarkdownPage { width, signs: SignSet::Unicode }
}

fn plain(rows: &[StyledRow]) -> Vec<String> {
    rows.iter().map(|row| row.plain().trim_end().to_owned()).collect()
}

fn whole(text: &str, width: usize) -> String {
    plain(&render_text(text, page(width))).join("\n")
}

#[test]
fn blocks_are_rendered() {
    let text = "\
# A *big* head

Some **bold** and _soft_ and `code` and ~~gone~~ &amp; more.
A [link](https://fox.example/a) and <https://fox.example>.

- one two three four five six seven
  - inner `x`
- [x] done
3. three

   after a gap
4. four

> said
> twice

```rust
fn main() {}
```

    indented

***
";
    assert_snapshot!(whole(text, 34), @r"
    A big head

    Some bold and soft and code and
    gone & more.
    A link (https://fox.example/a) and
    https://fox.example.

    • one two three four five six
      seven
      • inner x
    • ☑ done
    3. three

       after a gap
    4. four

    │ said
    │ twice

    ─── rust
    fn main() {}
    ───

    ───
    indented
    ───

    ──────────────────────────────────
    ");
}

#[test]
fn tables_fit_the_page() {
    let text = "\
| tool | what it does | n |
|:-----|:------------:|--:|
| `read` | reads a file of the folder | 1 |
| run | runs **any** command | 22 |
";
    assert_snapshot!(whole(text, 60), @r"
    tool │        what it does        │  n
    ─────┼────────────────────────────┼───
    read │ reads a file of the folder │  1
    run  │      runs any command      │ 22
    ");
    assert_snapshot!(whole(text, 28), @"
    tool │   what it does   │  n
    ─────┼──────────────────┼───
    read │ reads a file of  │  1
         │    the folder    │
    run  │ runs any command │ 22
    ");
    assert_snapshot!(whole(text, 12), @"
    tool: read
    what it
    does: reads
    a file of
    the folder
    n: 1

    tool: run
    what it
    does: runs
    any command
    n: 22
    ");
}

#[test]
fn finished_blocks_are_printed_and_the_open_one_is_live() {
    let mut flow = MarkdownFlow::default();
    let steps: [(&str, &[&str], &[&str]); 12] = [
        ("\n\nHel", &[], &["Hel"]),
        ("lo **wor", &[], &["Hello **wor"]),
        ("ld**\nand", &[], &["Hello world", "and"]),
        (" more\n\n", &["Hello world", "and more"], &[]),
        ("- a\n- b", &[], &["", "• a", "• b"]),
        ("\n", &["", "• a"], &["• b"]),
        ("- c\n", &["• b"], &["• c"]),
        ("\n```py\nx = 1", &["• c", "", "─── py"], &["x = 1"]),
        ("\n\ny", &["x = 1", ""], &["y"]),
        ("\n```\n| a | b |\n", &["y", "───"], &["| a | b |"]),
        ("|---|---|\n| 1 | 2 |", &[], &["a │ b", "──┼──", "1 │ 2"]),
        ("\n# End\n", &["a │ b", "──┼──", "1 │ 2", "End"], &[]),
    ];
    for (delta, settled, live) in steps {
        assert_eq!(plain(&flow.push(delta, page(40))), settled, "{delta:?}");
        assert_eq!(plain(&flow.live_rows(page(40))), live, "{delta:?}");
    }
    assert_eq!(plain(&flow.close(page(40))), [""; 0]);
}

#[test]
fn the_rows_do_not_depend_on_how_the_text_arrives() {
    let texts = [
        "a\n\nb\nc\n# d\ne\n- f\n\n- g\n  1. h\n\n     i\nj\n\n> k\nl\n\n```\nm\n\n\n```\nn",
        "1. a\n1. b\n1. c\n\n| d | e |\n|--|--|\n| f | g |\nh\n\n~~~~js\n~~~\n~~~~\n***\ni\n===\n",
        "- a\n\n  ```sh\n  b\n  ```\n- c\n<div>\nd\n</div>\n\ne\\\nf<br>g",
        "```never closed\nlet a = 1;",
    ];
    for text in texts {
        let at_once = plain(&render(text, page(30), None));
        for size in [1, 2, 3, 7, 1_000] {
            let mut flow = MarkdownFlow::default();
            let chars: Vec<char> = text.chars().collect();
            let mut rows = Vec::new();
            for delta in chars.chunks(size) {
                rows.extend(flow.push(&delta.iter().collect::<String>(), page(30)));
                flow.live_rows(page(30));
            }
            rows.extend(flow.close(page(30)));
            assert_eq!(plain(&rows), at_once, "{size}: {text}");
        }
    }
}

#[test]
fn code_is_not_broken() {
    let text = "```rust\nfn main() { long }\n```\n- x\n\n  ```\n  another long line\n  ```\n";
    let rows = "─── rust\nfn main() { long }\n───\n• x\n\n  ───\n  another long line\n  ───";
    assert_eq!(whole(text, 9), rows);
}

#[test]
fn hostile_text_cannot_send_control_sequences() {
    for text in
        ["\u{1b}[2J[a](\u{1b}[31m)", "&#27;[2J", "`\u{9b}2J`", "```\u{1b}]0;x\u{7}\n\u{1b}[A"]
    {
        let shown = whole(text, 40);
        assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{shown:?}");
    }
}

#[test]
fn endless_text_is_printed_in_time() {
    for (delta, code) in [("word and more, ", false), ("> quoted\n", false), ("xxxxx", true)] {
        let mut flow = MarkdownFlow::default();
        let mut shown = 0;
        if code {
            flow.push("```\n", page(40));
        }
        for _ in 0..4_000 {
            shown += flow.push(delta, page(40)).iter().map(|row| row.plain().len()).sum::<usize>();
            assert!(flow.line.len() <= MAX_LINE_BYTES && flow.open.len() <= MAX_OPEN_BYTES);
        }
        assert!(shown > 10_000, "{delta}");
    }
}
