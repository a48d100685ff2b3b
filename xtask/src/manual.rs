//! The manual as a site with search: `docs/` as HTML, a page for each error message, `llms.txt`.
//!
//! Every page has to be linked from `docs/README.md`, and every link has to lead somewhere.

mod page;
mod commands;
mod find;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use foxwedge_core::{Rule, explain, rules};
use serde_json::json;

use crate::{
    Outcome, ci,
    workspace::{self, File},
};
use page::{ManualPage, escape};

/// The list of error messages.
const ERRORS: &str = "docs/errors.md";
/// The index of the manual, which is also its start page.
const INDEX: &str = "docs/README.md";
/// Error messages of providers, each with the number of its rule.
const WORDINGS: &str = include_str!("../../crates/core/src/explain/tests/wordings.txt");
const STYLE: &str = include_str!("manual/style.css");
const SEARCH: &str = include_str!("manual/search.js");
/// Characters of a page that the search knows.
const MAX_INDEXED: usize = 12_000;

/// Words that the manual may have. What is added is paid for by what can be said more briefly.
const MAX_WORDS: usize = 58_600;

/// Builds the site in `target/manual`.
pub(crate) fn build() -> Outcome {
    let files = workspace::files()?;
    let words = count_words(&files);
    if words > MAX_WORDS {
        return Err(format!("the manual has {words} words, more than {MAX_WORDS}: shorten it"));
    }
    let mut pages = read_pages(&files)?;
    let list = files.iter().find(|file| file.path == commands::COMMANDS);
    let list = list.map(|file| file.text.as_str()).unwrap_or_default();
    pages.retain(|page| page.source != commands::COMMANDS);
    pages.extend(commands::command_pages(&ci::binary()?, list)?);
    check_links(&pages, &files)?;
    let folder = workspace::root().join("target/manual");
    write_site(&folder, &pages).map_err(|error| format!("{}: {error}", folder.display()))?;
    println!("the manual: {} pages in target/manual, {words} words in docs", pages.len());
    find::check(&folder, &pages, &wordings().collect::<Vec<_>>())
}

fn count_words(files: &[File]) -> usize {
    let pages =
        files.iter().filter(|file| file.path.starts_with("docs/") && file.path.ends_with(".md"));
    pages.map(|file| file.text.split_whitespace().count()).sum()
}

/// The pages of `docs/`, and those of error messages.
fn read_pages(files: &[File]) -> Result<Vec<ManualPage>, String> {
    let mut pages: Vec<ManualPage> = files
        .iter()
        .filter(|file| file.path.starts_with("docs/") && file.path.ends_with(".md"))
        // The site has a page for each of them.
        .filter(|file| file.path != ERRORS)
        .map(|file| ManualPage::parse(&file.path, &file.text))
        .collect();
    pages.extend(error_pages());
    if pages.iter().any(|page| page.source == INDEX) {
        Ok(pages)
    } else {
        Err(format!("{INDEX} is missing"))
    }
}

/// One page for each error message, and a page that lists them.
fn error_pages() -> Vec<ManualPage> {
    let mut pages = Vec::new();
    let mut list = String::from(
        "# Error messages\n\nPaste your error into the search above, or into `foxwedge explain \"…\"`.\n",
    );
    let mut lines: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (rule, text) in wordings() {
        let number = pages.len() + 1;
        let source = format!("docs/errors/{number:03}.md");
        let advice = explain(text).map_or("", |explanation| explanation.advice);
        let rule_page = format!("{}-{}", rule.label(), rule.name);
        let title = text.replace(['`', '<', '>'], "");
        pages.push(ManualPage::parse(
            &source,
            &format!(
                "# {title}\n\n```text\n{text}\n```\n\nThe rule behind it is \
                 [{label} {name}](../rules/{rule_page}.md): {summary}.\n\n{advice}\n",
                label = rule.label(),
                name = rule.name,
                summary = rule.summary,
            ),
        ));
        let line = format!("- [{title}](errors/{number:03}.md)\n");
        let heading = format!("{} {}", rule.label(), rule.name);
        lines.entry(heading).or_default().push(line);
    }
    for (heading, lines) in lines {
        list.push_str(&format!("\n## {heading}\n\n{}", lines.concat()));
    }
    pages.push(ManualPage::parse(ERRORS, &list));
    pages
}

/// The list of error messages for a forge, which has no search: all of them on one page.
pub(crate) fn error_list() -> String {
    let mut lines: BTreeMap<u16, (&Rule, String)> = BTreeMap::new();
    // A text in an envelope repeats the one without it.
    for (rule, text) in wordings().filter(|(_, text)| !text.starts_with('{')) {
        let (_, list) = lines.entry(rule.code).or_insert((rule, String::new()));
        list.push_str(&format!("{text}\n"));
    }
    let mut page = String::from(
        "# Error messages\n\nWhat providers, SDKs and agents say about histories that they refuse, by the \
         [rule](rules/README.md) behind it.\n`foxwedge explain \"…\"` finds the rule for a text, whatever a \
         log wraps around it.\n",
    );
    for (rule, list) in lines.values() {
        let (label, name) = (rule.label(), rule.name);
        page.push_str(&format!("\n## {label} {name}\n\n```text\n{list}```\n"));
    }
    page
}

/// Whether the list of error messages has a text for a rule.
pub(crate) fn has_error_text(rule: &Rule) -> bool {
    wordings().any(|(other, _)| other.code == rule.code)
}

/// The known wordings that are about a rule.
fn wordings() -> impl Iterator<Item = (&'static Rule, &'static str)> {
    let lines = WORDINGS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.filter_map(|line| {
        let (code, text) = line.split_once(' ')?;
        let code: u16 = code.parse().ok()?;
        let rule = rules::ALL.iter().copied().find(|rule| rule.code == code)?;
        Some((rule, text))
    })
}

/// Fails for links that lead nowhere and for pages that no page links to.
fn check_links(pages: &[ManualPage], files: &[File]) -> Outcome {
    let mut wrong = Vec::new();
    let mut linked: BTreeSet<&str> = BTreeSet::from([INDEX]);
    for page in pages {
        for link in &page.links {
            let Some((target, anchor)) = page.resolve(link) else { continue };
            match pages.iter().find(|other| other.source == target) {
                Some(other) => {
                    if other.source != page.source {
                        linked.insert(&other.source);
                    }
                    if !anchor.is_empty() && !other.anchors.contains(&anchor) {
                        wrong.push(format!("{}: `{link}`: there is no such heading", page.source));
                    }
                }
                None if exists(&target, files) => {}
                None => wrong.push(format!("{}: `{link}` leads nowhere", page.source)),
            }
        }
    }
    let lost = pages.iter().filter(|page| !linked.contains(page.source.as_str()));
    wrong.extend(lost.map(|page| format!("{}: no page links to it", page.source)));
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// Whether a link leads to a file or a folder of the repository.
fn exists(target: &str, files: &[File]) -> bool {
    files.iter().any(|file| file.path == target) || workspace::root().join(target).exists()
}

fn write_site(folder: &Path, pages: &[ManualPage]) -> std::io::Result<()> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder)?;
    let navigation = navigation(pages);
    for page in pages {
        let path = folder.join(page.output());
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, page.to_html(&navigation))?;
    }
    fs::write(folder.join("style.css"), STYLE)?;
    fs::write(folder.join("search.js"), SEARCH)?;
    fs::write(folder.join("search-index.json"), search_index(pages))?;
    fs::write(folder.join("llms.txt"), language_model_index(pages))?;
    for images in ["docs/images", "docs/console"] {
        copy_images(
            &workspace::root().join(images),
            &folder.join(images.trim_start_matches("docs/")),
        )?;
    }
    Ok(())
}

/// The pages that the start page links to, in its order.
fn navigation(pages: &[ManualPage]) -> Vec<&ManualPage> {
    let mut linked: Vec<&ManualPage> = Vec::new();
    for index in pages.iter().filter(|page| page.source == INDEX) {
        let targets = index.links.iter().filter_map(|link| index.resolve(link));
        for (target, _) in targets {
            let is_listed = linked.iter().any(|page| page.source == target);
            let found = pages.iter().find(|page| page.source == target && !is_listed);
            linked.extend(found);
        }
    }
    linked
}

fn copy_images(from: &Path, to: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let is_image = path.extension().is_some_and(|end| end == "svg" || end == "png");
        if let (true, Some(name)) = (is_image, path.file_name()) {
            fs::create_dir_all(to)?;
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}

/// Address, title, headings and text of every page.
fn search_index(pages: &[ManualPage]) -> String {
    let entry = |page: &ManualPage| {
        let text: String = page.text.chars().take(MAX_INDEXED).collect();
        json!({ "url": page.output(), "title": page.title, "headings": page.headings, "text": text })
    };
    json!(pages.iter().map(entry).collect::<Vec<_>>()).to_string()
}

/// What a language model should read: the pages of the manual with their first sentences.
fn language_model_index(pages: &[ManualPage]) -> String {
    let mut text = String::from(
        "# Foxwedge\n\n> Keeps LLM-agent conversations with tool calls valid: checks, repairs, compacts and \
         converts histories and agents' session files.\n\n## Manual\n\n",
    );
    for page in pages.iter().filter(|page| !page.source.starts_with("docs/errors/")) {
        text.push_str(&format!(
            "- [{}]({}): {}\n",
            page.title,
            page.output(),
            page.first_sentence()
        ));
    }
    text
}

/// The frame of a page.
fn frame(page: &ManualPage, navigation: &str, body: &str) -> String {
    let up = "../".repeat(page.output().matches('/').count());
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title} · Foxwedge</title>\n<link rel=\"stylesheet\" href=\"{up}style.css\">\n\
         <script type=\"module\" src=\"{up}search.js\" data-root=\"{up}\"></script>\n</head>\n<body>\n\
         <header><a href=\"{up}index.html\">Foxwedge</a>\
         <input type=\"search\" id=\"search\" placeholder=\"Search, or paste an error message\" \
         aria-label=\"Search the manual\"></header>\n\
         <nav aria-label=\"Pages\">{navigation}</nav>\n\
         <main><ol id=\"results\" hidden></ol><article>\n{body}</article></main>\n</body>\n</html>\n",
        title = escape(&page.title),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_reached_and_every_link_leads_somewhere() -> Outcome {
        let files = workspace::files()?;
        let pages = read_pages(&files)?;
        assert!(pages.len() > 200, "{}", pages.len());
        check_links(&pages, &files)
    }

    #[test]
    fn an_error_message_is_the_title_of_its_page() {
        let link = "../rules/FW101-unanswered-call.html";
        let named = |page: &&ManualPage| page.title.starts_with("No tool output found");
        let pages = error_pages();
        let found: Vec<&ManualPage> = pages.iter().filter(named).collect();
        assert!(!found.is_empty() && found.iter().all(|page| page.body.contains(link)));
    }
}
