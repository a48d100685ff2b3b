//! Modules beside each other do not need each other in a circle.
//!
//! A module may use its parent's types, and a parent its children. Below one parent, though, the
//! modules have an order in which they can be read. Paths are followed through re-exports of the
//! same crate.

use std::collections::{BTreeMap, BTreeSet};

use super::{Complaint, complaint};
use crate::{
    tokens::{Token, tokens, without_tests},
    workspace::File,
};

/// The crates that are held to it.
const CRATES: [&str; 5] = ["formats", "sessions", "upstream", "agent-loop", "gateway"];

type ModulePath<'f> = Vec<&'f str>;

/// The modules of a crate, with the paths that each of them uses.
#[derive(Default)]
struct CrateModules<'f> {
    uses: BTreeMap<ModulePath<'f>, Vec<ModulePath<'f>>>,
    /// What a name in a module stands for.
    imports: BTreeMap<(ModulePath<'f>, &'f str), ModulePath<'f>>,
}

/// Which module uses which, below each parent.
type SiblingArrows<'f> = BTreeMap<ModulePath<'f>, BTreeMap<&'f str, BTreeSet<&'f str>>>;

pub(super) fn check(files: &[File]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for name in CRATES {
        let source = format!("crates/{name}/src/");
        let modules = CrateModules::read(files, &source);
        for (parent, arrows) in modules.arrows() {
            for circle in circles(&arrows) {
                let place = format!("{source}{}", parent.join("/"));
                let what = format!("a circle of modules: {}", circle.join(" → "));
                complaints.push(complaint(place, what));
            }
        }
    }
    complaints
}

impl<'f> CrateModules<'f> {
    fn read(files: &'f [File], source: &str) -> CrateModules<'f> {
        let mut modules = CrateModules::default();
        let mut sources = Vec::new();
        for file in files.iter().filter(|file| file.is_rust() && !file.is_test()) {
            let Some(path) = file.path.strip_prefix(source) else { continue };
            let path = path.trim_end_matches(".rs");
            let module: ModulePath<'_> =
                if path == "lib" { Vec::new() } else { path.split('/').collect() };
            modules.uses.insert(module.clone(), Vec::new());
            sources.push((module, without_tests(&tokens(&file.text))));
        }
        for (module, tokens) in &sources {
            modules.read_module(module, tokens);
        }
        modules
    }

    /// Notes every path of a module that may lead to another module of the crate.
    fn read_module(&mut self, module: &ModulePath<'f>, tokens: &[Token<'f>]) {
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let before = at.checked_sub(1).and_then(|at| tokens.get(at)).map_or("", |it| it.text);
            if token.text == "use" {
                let end = tokens[at..].iter().position(|it| it.text == ";");
                let end = end.map_or(tokens.len(), |length| at + length);
                self.read_tree(module, &tokens[at + 1..end], &Vec::new());
                at = end;
            } else if before != "::" && tokens.get(at + 1).is_some_and(|it| it.text == "::") {
                let length = path_length(&tokens[at..]);
                let path = tokens[at..at + length].iter().step_by(2).map(|it| it.text).collect();
                self.add_use(module, path);
                at += length;
            } else {
                at += 1;
            }
        }
    }

    /// Notes the paths of a `use` declaration.
    fn read_tree(&mut self, module: &ModulePath<'f>, tree: &[Token<'f>], prefix: &ModulePath<'f>) {
        let mut path = prefix.clone();
        let mut at = 0;
        while let Some(token) = tree.get(at) {
            match token.text {
                "::" => {}
                "{" => {
                    let inner = &tree[at + 1..tree.len().saturating_sub(1)];
                    for branch in branches(inner) {
                        self.read_tree(module, branch, &path);
                    }
                    return;
                }
                "as" => break,
                "self" if !path.is_empty() => {}
                name => path.push(name),
            }
            at += 1;
        }
        let renamed = tree.get(at + 1).filter(|_| at < tree.len()).map(|it| it.text);
        let Some(name) = renamed.or(path.last().copied()) else { return };
        if let Some(absolute) = self.absolute(module, &path) {
            self.imports.insert((module.clone(), name), absolute);
        }
        self.add_use(module, path);
    }

    fn add_use(&mut self, module: &ModulePath<'f>, path: ModulePath<'f>) {
        if let Some(absolute) = self.absolute(module, &path)
            && let Some(uses) = self.uses.get_mut(module)
        {
            uses.push(absolute);
        }
    }

    /// A path from the root of the crate; `None` if it leads out of it.
    fn absolute(&self, module: &ModulePath<'f>, path: &ModulePath<'f>) -> Option<ModulePath<'f>> {
        let (first, rest) = path.split_first()?;
        let mut base = module.clone();
        let mut rest = rest;
        match *first {
            "crate" => base.clear(),
            "self" => {}
            "super" => {
                base.pop();
                while let Some(("super", more)) = rest.split_first().map(|(it, more)| (*it, more)) {
                    base.pop();
                    rest = more;
                }
            }
            name => {
                base.push(name);
                if !self.uses.contains_key(&base) {
                    return None;
                }
            }
        }
        base.extend(rest);
        Some(base)
    }

    /// The module that a path leads to.
    fn target(&self, path: &ModulePath<'f>, hops: usize) -> ModulePath<'f> {
        for length in (0..=path.len()).rev() {
            let module = path[..length].to_vec();
            if !self.uses.contains_key(&module) {
                continue;
            }
            let import =
                path.get(length).and_then(|name| self.imports.get(&(module.clone(), name)));
            return match import.filter(|import| *import != path && hops > 0) {
                Some(import) => {
                    let rest = path[length + 1..].iter().copied();
                    self.target(&import.iter().copied().chain(rest).collect(), hops - 1)
                }
                None => module,
            };
        }
        Vec::new()
    }

    fn arrows(&self) -> SiblingArrows<'f> {
        /// More re-exports than any name passes.
        const MAX_HOPS: usize = 8;
        let mut arrows = SiblingArrows::new();
        for (module, uses) in &self.uses {
            for path in uses {
                let target = self.target(path, MAX_HOPS);
                let common = module.iter().zip(&target).take_while(|(one, two)| one == two).count();
                if let (Some(&from), Some(&to)) = (module.get(common), target.get(common)) {
                    let parent = module[..common].to_vec();
                    arrows.entry(parent).or_default().entry(from).or_default().insert(to);
                }
            }
        }
        arrows
    }
}

/// The number of tokens of a path: names with `::` between them.
fn path_length(tokens: &[Token<'_>]) -> usize {
    let is_name =
        |token: &Token<'_>| token.text.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let mut length = 1;
    while tokens.get(length).is_some_and(|it| it.text == "::")
        && tokens.get(length + 1).is_some_and(is_name)
    {
        length += 2;
    }
    length
}

/// The comma-separated parts of a list, without those of inner lists.
fn branches<'t, 'f>(tokens: &'t [Token<'f>]) -> Vec<&'t [Token<'f>]> {
    let mut depth = 0_usize;
    let parts = tokens.split(move |token| {
        match token.text {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        token.text == "," && depth == 0
    });
    parts.filter(|part| !part.is_empty()).collect()
}

/// One circle for each group of modules that need each other, beginning and ending with the same.
fn circles<'f>(arrows: &BTreeMap<&'f str, BTreeSet<&'f str>>) -> Vec<Vec<&'f str>> {
    let mut found = Vec::new();
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for &start in arrows.keys() {
        if known.contains(start) {
            continue;
        }
        if let Some(circle) = way_back(arrows, start) {
            known.extend(&circle);
            found.push(circle);
        }
    }
    found
}

/// The shortest way from a module to itself.
fn way_back<'f>(
    arrows: &BTreeMap<&'f str, BTreeSet<&'f str>>,
    start: &'f str,
) -> Option<Vec<&'f str>> {
    let mut ways: Vec<Vec<&str>> = vec![vec![start]];
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut at = 0;
    while let Some(way) = ways.get(at).cloned() {
        at += 1;
        let here = way.last().copied().unwrap_or(start);
        for &next in arrows.get(here).into_iter().flatten() {
            let mut way = way.clone();
            way.push(next);
            if next == start {
                return Some(way);
            }
            if seen.insert(next) {
                ways.push(way);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let file = |(path, text): &(&str, &str)| File {
            path: format!("crates/formats/src/{path}"),
            text: (*text).to_owned(),
        };
        let files: Vec<File> = files.iter().map(file).collect();
        check(&files).into_iter().map(|it| format!("{} {}", it.place, it.what)).collect()
    }

    #[test]
    fn modules_that_need_each_other_are_found_however_they_say_so() {
        let lib = ("lib.rs", "mod a; mod b; pub use b::{deep::{B, C as D}};");
        let expected = ["crates/formats/src/ a circle of modules: a → b → a"];
        let table = [
            ("use crate::b::B;", "use super::a::A;"),
            ("fn f() { crate::b::f() }", "use super::{c, a::{self, A}};"),
            ("use super::B;", "use crate::a;"),
            ("fn f(d: super::D) {}", "fn f() { super::a::f() }"),
        ];
        for (one, two) in table {
            let files =
                [lib, ("a.rs", one), ("b.rs", two), ("b/deep.rs", "pub struct B; struct C;")];
            assert_eq!(found(&files), expected, "{one} {two}");
        }
    }

    #[test]
    fn parents_children_and_tests_are_no_circle() {
        let files = [
            ("lib.rs", "mod a; mod b; pub struct Root; use a::A;"),
            ("a.rs", "mod inner; use crate::{Root, b::B}; use inner::I; pub struct A;"),
            ("a/inner.rs", "use super::A; use crate::b::B; use std::a::b;"),
            ("b.rs", "use crate::Root; #[cfg(test)] mod tests { use crate::a::A; }"),
        ];
        assert_eq!(found(&files), Vec::<String>::new());
    }
}
