//! Every crate that is published says what it is, and holds the files that it includes.

use super::{Complaint, complaint};
use crate::workspace::File;

/// Fields that a published crate has, its own or those of the workspace.
const FIELDS: [&str; 8] = [
    "version",
    "edition",
    "rust-version",
    "license",
    "description",
    "readme",
    "keywords",
    "categories",
];

/// What the registry accepts.
const MAX_KEYWORDS: usize = 5;
const MAX_KEYWORD_BYTES: usize = 20;

pub(super) fn check(files: &[File]) -> Vec<Complaint> {
    let Some(root) = files.iter().find(|file| file.path == "Cargo.toml") else {
        return vec![complaint("Cargo.toml", "is missing")];
    };
    let shared = Section::of(&root.text, "[workspace.package]");
    let mut complaints: Vec<Complaint> =
        shared_mistakes(&shared).into_iter().map(|what| complaint("Cargo.toml", what)).collect();
    for manifest in files.iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        let package = Section::of(&manifest.text, "[package]");
        if package.value("publish") == Some("false") {
            continue;
        }
        let mistakes = package_mistakes(&package, &shared);
        complaints.extend(mistakes.into_iter().map(|what| complaint(&*manifest.path, what)));
        let folder = manifest.path.trim_end_matches("Cargo.toml");
        complaints.extend(missing_files(files, folder));
    }
    complaints
}

/// The lines of a section of a manifest.
struct Section<'t>(Vec<(&'t str, &'t str)>);

impl<'t> Section<'t> {
    fn of(manifest: &'t str, title: &str) -> Section<'t> {
        let lines = manifest.lines().skip_while(|line| *line != title).skip(1);
        let inside = lines.take_while(|line| !line.starts_with('['));
        Section(inside.filter_map(|line| line.split_once(" = ")).collect())
    }

    fn value(&self, name: &str) -> Option<&'t str> {
        self.0.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }

    fn is_shared(&self, name: &str) -> bool {
        self.value(&format!("{name}.workspace")) == Some("true")
    }
}

fn shared_mistakes(shared: &Section<'_>) -> Vec<String> {
    let keywords = shared.value("keywords").unwrap_or_default();
    let keywords: Vec<&str> = keywords.split('"').skip(1).step_by(2).collect();
    let mut wrong = Vec::new();
    if keywords.len() > MAX_KEYWORDS {
        wrong.push(format!("{} keywords; the registry accepts {MAX_KEYWORDS}", keywords.len()));
    }
    let long = keywords.iter().filter(|keyword| keyword.len() > MAX_KEYWORD_BYTES);
    wrong.extend(long.map(|keyword| format!("the keyword `{keyword}` is too long")));
    wrong
}

fn package_mistakes(package: &Section<'_>, shared: &Section<'_>) -> Vec<String> {
    let is_given = |name: &str| {
        package.value(name).is_some() || package.is_shared(name) && shared.value(name).is_some()
    };
    let missing = FIELDS.iter().filter(|name| !is_given(name));
    let mut wrong: Vec<String> =
        missing.map(|name| format!("a published crate needs `{name}`")).collect();
    // The workspace has no address before its first release. As soon as it has one, every crate names it.
    if shared.value("repository").is_some() && !is_given("repository") {
        wrong.push("`repository.workspace = true` is missing".to_owned());
    }
    if package.is_shared("description") {
        wrong.push("a published crate needs a description of its own".to_owned());
    }
    wrong
}

/// Files that sources include from outside of their crate: a published crate does not hold them.
fn missing_files(files: &[File], folder: &str) -> Vec<Complaint> {
    let sources = files.iter().filter(|file| {
        file.is_rust() && !file.is_test() && file.path.starts_with(&format!("{folder}src/"))
    });
    sources
        .flat_map(|file| {
            let depth = file.path.matches('/').count() - folder.matches('/').count();
            let outside = outside_files(&file.text, depth).into_iter();
            outside.map(|path| complaint(&*file.path, format!("`{path}` is outside of the crate")))
        })
        .collect()
}

/// The included paths that go up by more folders than the source is below its crate.
fn outside_files(source: &str, depth: usize) -> Vec<&str> {
    let mut before = "";
    let mut found = Vec::new();
    for line in source.lines() {
        let included = ["include_str!(\"", "include_bytes!(\""].iter().find_map(|start| {
            let (_, rest) = line.split_once(start)?;
            rest.split('"').next()
        });
        // Tests of the documentation do not run from a published crate.
        let is_published = before != "#[cfg(doctest)]";
        found.extend(included.filter(|path| is_published && path.matches("../").count() > depth));
        before = line.trim();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistakes(manifest: &str, shared: &str) -> Vec<String> {
        let shared = format!("[workspace.package]\n{shared}");
        package_mistakes(
            &Section::of(manifest, "[package]"),
            &Section::of(&shared, "[workspace.package]"),
        )
    }

    #[test]
    fn a_published_crate_says_what_it_is() {
        let names = FIELDS.iter().filter(|name| **name != "description");
        let shared: String = names.clone().map(|name| format!("{name} = \"x\"\n")).collect();
        let own: String = names.map(|name| format!("{name}.workspace = true\n")).collect();
        let manifest =
            format!("[package]\nname = \"x\"\n{own}description = \"d\"\n\n[dependencies]\n");
        assert_eq!(mistakes(&manifest, &shared), Vec::<String>::new());
        let found = mistakes(&manifest.replace("readme.workspace = true\n", ""), &shared);
        assert_eq!(found, ["a published crate needs `readme`"]);
        let found = mistakes(&manifest, &shared.replace("license = \"x\"\n", ""));
        assert_eq!(found, ["a published crate needs `license`"]);
        let found = mistakes(&manifest, &format!("{shared}repository = \"r\"\n"));
        assert_eq!(found, ["`repository.workspace = true` is missing"]);
        let described = manifest.replace("description = \"d\"", "description.workspace = true");
        let found = mistakes(&described, &format!("{shared}description = \"d\"\n"));
        assert_eq!(found, ["a published crate needs a description of its own"]);
    }

    #[test]
    fn keywords_are_few_and_short() {
        let shared = |line: &str| shared_mistakes(&Section(vec![("keywords", line)])).len();
        assert_eq!(shared(r#"["a", "b", "c", "d", "e"]"#), 0);
        assert_eq!(shared(r#"["a", "b", "c", "d", "e", "f"]"#), 1);
        assert_eq!(shared(r#"["a-keyword-of-many-letters"]"#), 1);
    }

    #[test]
    fn included_files_are_in_the_crate() {
        let source = "include_str!(\"a.md\")\ninclude_str!(\"../b.md\")\n#[cfg(doctest)]\n#[doc = include_str!(\"../../../c.md\")]\n";
        assert_eq!(outside_files(source, 1), Vec::<&str>::new());
        assert_eq!(outside_files(source, 0), ["../b.md"]);
        let bytes = "const A: &[u8] = include_bytes!(\"../../x\");";
        assert_eq!(outside_files(bytes, 1), ["../../x"]);
    }
}
