//! Colors for code: comments, strings, numbers and keywords of common languages, line by line.
//! Syntect would know more, but brings 368 KB of packed grammars and another engine for regular
//! expressions, in C or as one more crate.

use anstyle::{AnsiColor, Style};

use crate::terminal::row::StyledRow;
use foxwedge_local::output::{ADDED, DIM, REMOVED};

const KEYWORD: Style = AnsiColor::Magenta.on_default();
const STRING: Style = AnsiColor::Green.on_default();
const NUMBER: Style = AnsiColor::Cyan.on_default();

/// The words and marks of a family of languages.
#[derive(Debug)]
struct CodeGrammar {
    /// Names after a fence, with spaces between them.
    names: &'static str,
    /// What starts a comment that ends with its line.
    comments: &'static [&'static str],
    /// What starts and ends a comment of several lines.
    block_comment: Option<(&'static str, &'static str)>,
    /// What starts and ends a string; those of several characters and the backtick may span lines.
    quotes: &'static [&'static str],
    keywords: &'static str,
}

const C_BLOCK: Option<(&str, &str)> = Some(("/*", "*/"));

const GRAMMARS: [CodeGrammar; 12] = [
    CodeGrammar {
        names: "rust rs",
        comments: &["//"],
        block_comment: C_BLOCK,
        quotes: &["\""],
        keywords: "as async await break const continue crate dyn else enum extern false fn for if impl \
                   in let loop match mod move mut pub ref return self Self static struct super trait \
                   true type unsafe use where while",
    },
    CodeGrammar {
        names: "python py",
        comments: &["#"],
        block_comment: None,
        quotes: &["\"\"\"", "'''", "\"", "'"],
        keywords: "and as assert async await break class continue def del elif else except False \
                   finally for from global if import in is lambda match None nonlocal not or pass \
                   raise return self True try while with yield",
    },
    CodeGrammar {
        names: "javascript js jsx typescript ts tsx mjs vue svelte",
        comments: &["//"],
        block_comment: C_BLOCK,
        quotes: &["`", "\"", "'"],
        keywords: "abstract any as async await boolean break case catch class const continue declare \
                   default delete do else enum export extends false finally for from function get if \
                   implements import in instanceof interface let new null number of private protected \
                   public readonly return set static string super switch this throw true try type \
                   typeof undefined unknown var void while yield",
    },
    CodeGrammar {
        names: "go golang",
        comments: &["//"],
        block_comment: C_BLOCK,
        quotes: &["`", "\"", "'"],
        keywords: "break case chan const continue default defer else fallthrough false for func go goto \
                   if import interface map nil package range return select struct switch true type var",
    },
    CodeGrammar {
        names: "c cpp c++ cc h hpp objc java kotlin kt scala swift csharp cs c# dart php zig",
        comments: &["//"],
        block_comment: C_BLOCK,
        quotes: &["\"\"\"", "\"", "'"],
        keywords: "abstract as auto bool boolean break byte case catch char class companion const \
                   constexpr continue data def default delete do double else enum explicit export \
                   extends extension extern false final finally float for foreach friend fun func \
                   function guard if implements import in inline instanceof int interface internal is \
                   let long namespace native new nil null nullptr object operator override package \
                   private protected public readonly record return sealed short signed sizeof static \
                   string struct super switch template this throw throws trait true try typedef \
                   typename union unsigned using val var virtual void volatile when where while with",
    },
    CodeGrammar {
        names: "sh bash zsh shell console fish dockerfile docker make makefile",
        comments: &["#"],
        block_comment: None,
        quotes: &["\"", "'"],
        keywords: "case do done elif else esac exit export fi for function if in local return set then \
                   until while FROM RUN COPY ADD CMD ENTRYPOINT ENV ARG WORKDIR EXPOSE",
    },
    CodeGrammar {
        names: "json jsonc json5",
        comments: &["//"],
        block_comment: C_BLOCK,
        quotes: &["\""],
        keywords: "true false null",
    },
    CodeGrammar {
        names: "yaml yml toml ini conf cfg properties",
        comments: &["#", ";"],
        block_comment: None,
        quotes: &["\"\"\"", "\"", "'"],
        keywords: "true false null yes no on off",
    },
    CodeGrammar {
        names: "sql postgres postgresql mysql sqlite",
        comments: &["--"],
        block_comment: C_BLOCK,
        quotes: &["'", "\""],
        keywords: "add all alter and as asc begin between by case check column commit constraint create \
                   cross default delete desc distinct drop else end exists foreign from full group \
                   having if in index inner insert into is join key left like limit not null offset on \
                   or order outer primary references returning right rollback select set table then \
                   union unique update values view when where with",
    },
    CodeGrammar {
        names: "html xml svg",
        comments: &[],
        block_comment: Some(("<!--", "-->")),
        quotes: &["\"", "'"],
        keywords: "",
    },
    CodeGrammar {
        names: "css scss less",
        comments: &[],
        block_comment: C_BLOCK,
        quotes: &["\"", "'"],
        keywords: "important media import supports keyframes",
    },
    CodeGrammar {
        names: "ruby rb elixir ex lua perl pl r julia haskell hs",
        comments: &["#", "--"],
        block_comment: None,
        quotes: &["\"", "'"],
        keywords: "alias and begin break case class def defmodule do else elseif elsif end ensure false \
                   fn for function if import in let local module my next nil not or package repeat \
                   require rescue return self sub super then true unless until use when where while \
                   yield",
    },
];

/// Colors the lines of one code block.
#[derive(Clone, Debug)]
pub(super) struct CodeHighlighter {
    language: CodeLanguage,
    /// What ends the comment or the string that the last line left open, and its style.
    open: Option<(&'static str, Style)>,
}

#[derive(Clone, Copy, Debug)]
enum CodeLanguage {
    Known(&'static CodeGrammar),
    Diff,
    Unknown,
}

impl CodeHighlighter {
    /// Colors for a language by the name after a fence.
    pub(super) fn new(name: &str) -> CodeHighlighter {
        let name = name.trim().to_ascii_lowercase();
        let has_name = |grammar: &&CodeGrammar| grammar.names.split(' ').any(|known| known == name);
        let language = match GRAMMARS.iter().find(has_name) {
            Some(grammar) => CodeLanguage::Known(grammar),
            None if matches!(name.as_str(), "diff" | "patch") => CodeLanguage::Diff,
            None => CodeLanguage::Unknown,
        };
        CodeHighlighter { language, open: None }
    }

    /// Colors the next line.
    pub(super) fn row(&mut self, line: &str) -> StyledRow {
        match self.language {
            CodeLanguage::Known(grammar) => self.row_of(grammar, line),
            CodeLanguage::Diff => StyledRow::of(diff_style(line), line),
            CodeLanguage::Unknown => StyledRow::of(Style::new(), line),
        }
    }

    fn row_of(&mut self, grammar: &'static CodeGrammar, line: &str) -> StyledRow {
        let mut row = StyledRow::new();
        let mut rest = line;
        if let Some((end, style)) = self.open {
            rest = self.push_until(&mut row, rest, 0, end, style);
        }
        let mut before = ' ';
        while let Some(first) = rest.chars().next() {
            let word_before = before.is_alphanumeric() || before == '_';
            let starts = |mark: &&&str| rest.starts_with(**mark);
            let (end, style) = if let Some((start, end)) = grammar.block_comment
                && rest.starts_with(start)
            {
                rest = self.push_until(&mut row, rest, start.len(), end, DIM);
                before = ' ';
                continue;
            } else if let Some(quote) = grammar.quotes.iter().find(starts)
                && !(word_before && *quote == "'")
            {
                rest = self.push_until(&mut row, rest, quote.len(), quote, STRING);
                before = ' ';
                continue;
            } else if grammar.comments.iter().any(|mark| {
                // `#` in a word and `;` in a line are no comments.
                rest.starts_with(mark) && (mark.len() > 1 || before == ' ')
            }) {
                (rest.len(), DIM)
            } else if let Some(end) = char_literal(rest).filter(|_| !word_before) {
                (end, STRING)
            } else if first.is_ascii_digit() && !word_before {
                let number = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
                (rest.find(|c| !number(c)).unwrap_or(rest.len()), NUMBER)
            } else if first.is_alphabetic() || first == '_' {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
                let word = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
                (word.len(), if grammar.has_keyword(word) { KEYWORD } else { Style::new() })
            } else {
                (first.len_utf8(), Style::new())
            };
            let (text, after) = rest.split_at(end);
            row.push(style, text);
            before = text.chars().next_back().unwrap_or(' ');
            rest = after;
        }
        row
    }

    /// Adds the text up to an end mark and returns what follows. What may span lines stays open.
    fn push_until<'l>(
        &mut self,
        row: &mut StyledRow,
        text: &'l str,
        skip: usize,
        end: &'static str,
        style: Style,
    ) -> &'l str {
        let mut at = skip;
        while let Some(inside) = text.get(at..).filter(|inside| !inside.is_empty()) {
            if inside.starts_with(end) {
                let (shown, rest) = text.split_at(at + end.len());
                row.push(style, shown);
                self.open = None;
                return rest;
            }
            let mut chars = inside.chars();
            let escaped = chars.next() == Some('\\') && style == STRING;
            at += inside.chars().take(1 + usize::from(escaped)).map(char::len_utf8).sum::<usize>();
        }
        row.push(style, text);
        self.open = (end.len() > 1 || end == "`").then_some((end, style));
        ""
    }
}

impl CodeGrammar {
    fn has_keyword(&self, word: &str) -> bool {
        let is_sql = self.comments == ["--"];
        self.keywords
            .split_whitespace()
            .any(|keyword| keyword == word || is_sql && keyword.eq_ignore_ascii_case(word))
    }
}

/// The length of a literal such as `'a'` or `'\n'`. A lifetime is none.
fn char_literal(text: &str) -> Option<usize> {
    let mut chars = text.strip_prefix('\'')?.chars();
    let (first, second) = (chars.next()?, chars.next()?);
    let inside = match (first, second) {
        ('\\', second) if chars.next() == Some('\'') => 1 + second.len_utf8(),
        (first, '\'') => first.len_utf8(),
        _ => return None,
    };
    Some(inside + 2)
}

fn diff_style(line: &str) -> Style {
    match line.chars().next() {
        Some('+') => ADDED,
        Some('-') => REMOVED,
        Some('@') => NUMBER,
        _ => Style::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces of lines, as `style:text` in brackets.
    fn colored(language: &str, lines: &str) -> String {
        let mut highlighter = CodeHighlighter::new(language);
        let name = |style: &Style| match *style {
            DIM => "c",
            STRING => "s",
            NUMBER => "n",
            KEYWORD => "k",
            REMOVED => "-",
            _ => "",
        };
        let line = |line: &str| {
            let row = highlighter.row(line);
            let pieces = row.pieces().iter().map(|(style, text)| match name(style) {
                "" => text.clone(),
                name => format!("[{name}:{text}]"),
            });
            pieces.collect::<String>()
        };
        lines.lines().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn words_strings_numbers_and_comments_are_told_apart() {
        let table = [
            ("rust", "let x = 1_000u32; // one", "[k:let] x = [n:1_000u32]; [c:// one]"),
            (
                "rs",
                "fn f<'a>(s: &'a str) -> char { '\"' }",
                "[k:fn] f<'a>(s: &'a str) -> char { [s:'\"'] }",
            ),
            ("rust", "/* a\nb */ \"c\\\"d\" x2", "[c:/* a]\n[c:b */] [s:\"c\\\"d\"] x2"),
            ("py", "'''a\nb''' # c", "[s:'''a]\n[s:b'''] [c:# c]"),
            ("python", "x = \"a", "x = [s:\"a]"),
            ("js", "`a\n${b}` + 'c'", "[s:`a]\n[s:${b}`] + [s:'c']"),
            ("sql", "SELECT 'it' from t -- x", "[k:SELECT] [s:'it'] [k:from] t [c:-- x]"),
            (
                "sh",
                "if x; then echo \"$#\" a#b; fi # y",
                "[k:if] x; [k:then] echo [s:\"$#\"] a#b; [k:fi] [c:# y]",
            ),
            ("diff", "+a\n-b\n c", "[s:+a]\n[-:-b]\n c"),
            ("text", "let 1 // \"x\"", "let 1 // \"x\""),
            ("rust", "", ""),
        ];
        for (language, lines, expected) in table {
            assert_eq!(colored(language, lines), expected, "{language}: {lines}");
        }
    }
}
