//! One page of the manual.

use std::collections::HashMap;

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// A page: where it comes from, and what it holds.
pub(super) struct ManualPage {
    /// Its path in the repository.
    pub(super) source: String,
    pub(super) title: String,
    pub(super) headings: Vec<String>,
    /// What headings can be linked by.
    pub(super) anchors: Vec<String>,
    /// Links as they are written.
    pub(super) links: Vec<String>,
    /// The text without markup.
    pub(super) text: String,
    /// The content as HTML.
    pub(super) body: String,
}

impl ManualPage {
    pub(super) fn parse(source: &str, markdown: &str) -> ManualPage {
        let mut page = ManualPage {
            source: source.to_owned(),
            title: String::new(),
            headings: Vec::new(),
            anchors: Vec::new(),
            links: Vec::new(),
            text: String::new(),
            body: String::new(),
        };
        let mut events: Vec<Event<'_>> =
            Parser::new_ext(markdown, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH)
                .collect();
        page.read(&events);
        page.name_headings(&mut events);
        for event in &mut events {
            if let Event::Start(Tag::Link { dest_url, .. }) = event {
                *dest_url = page.link_target(dest_url);
            }
        }
        html::push_html(&mut page.body, events.into_iter());
        page
    }

    /// Collects headings, links and text.
    fn read(&mut self, events: &[Event<'_>]) {
        let mut heading: Option<String> = None;
        let mut seen: HashMap<String, usize> = HashMap::new();
        for event in events {
            match event {
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    let text = heading.take().unwrap_or_default();
                    let slug = slug(&text);
                    let repeated = seen.entry(slug.clone()).and_modify(|it| *it += 1).or_insert(0);
                    self.anchors.push(match repeated {
                        0 => slug,
                        number => format!("{slug}-{number}"),
                    });
                    if self.title.is_empty() {
                        self.title = text;
                    } else {
                        self.headings.push(text);
                    }
                }
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    self.links.push(dest_url.to_string());
                }
                Event::Text(text) | Event::Code(text) => {
                    heading.iter_mut().for_each(|heading| heading.push_str(text));
                    self.text.push_str(text);
                }
                Event::SoftBreak | Event::HardBreak => self.text.push(' '),
                Event::End(_) if !self.text.ends_with('\n') => self.text.push('\n'),
                _ => {}
            }
        }
    }

    fn name_headings(&self, events: &mut [Event<'_>]) {
        let mut anchors = self.anchors.iter();
        for event in events {
            if let Event::Start(Tag::Heading { id, .. }) = event {
                *id = anchors.next().map(|anchor| CowStr::from(anchor.clone()));
            }
        }
    }

    /// The path in the repository and the anchor that a link leads to; `None` for other sites.
    pub(super) fn resolve(&self, link: &str) -> Option<(String, String)> {
        if link.contains("://") || link.starts_with("mailto:") {
            return None;
        }
        let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
        if path.is_empty() {
            return Some((self.source.clone(), anchor.to_owned()));
        }
        let mut parts: Vec<&str> = self.source.split('/').collect();
        parts.pop();
        for part in path.split('/') {
            match part {
                "." => {}
                ".." => {
                    parts.pop();
                }
                part => parts.push(part),
            }
        }
        Some((parts.join("/").trim_end_matches('/').to_owned(), anchor.to_owned()))
    }

    /// A link as the site needs it. What is not part of the manual is named, not linked.
    fn link_target(&self, link: &str) -> CowStr<'static> {
        let Some((target, anchor)) = self.resolve(link) else { return link.to_owned().into() };
        let anchor = if anchor.is_empty() { anchor } else { format!("#{anchor}") };
        match target.strip_prefix("docs/") {
            Some(_) if link.starts_with('#') => link.to_owned().into(),
            Some(inside) => {
                let up = "../".repeat(self.output().matches('/').count());
                format!("{up}{}{anchor}", output_path(inside)).into()
            }
            None => "#".into(),
        }
    }

    /// Its path in the site.
    pub(super) fn output(&self) -> String {
        output_path(self.source.trim_start_matches("docs/"))
    }

    /// The page as a document, with links to others beside it.
    pub(super) fn to_html(&self, others: &[&ManualPage]) -> String {
        let up = "../".repeat(self.output().matches('/').count());
        let link = |other: &&ManualPage| {
            let here = if other.source == self.source { " aria-current=\"page\"" } else { "" };
            format!("<a href=\"{up}{}\"{here}>{}</a>", other.output(), escape(&other.title))
        };
        let navigation: Vec<String> = others.iter().map(link).collect();
        super::frame(self, &navigation.join("\n"), &self.body)
    }

    /// The first sentence below the title.
    pub(super) fn first_sentence(&self) -> String {
        let text = self.text.strip_prefix(&self.title).unwrap_or(&self.text);
        let line = text.lines().find(|line| line.contains(' ')).unwrap_or_default();
        let end = line.find(". ").map_or(line.len(), |end| end + 1);
        line.get(..end).unwrap_or(line).to_owned()
    }
}

/// `gateway.html` for `gateway.md`, `rules/index.html` for `rules/README.md`.
fn output_path(path: &str) -> String {
    match path.strip_suffix(".md") {
        Some(stem) => format!("{}.html", stem.replace("README", "index")),
        None => path.to_owned(),
    }
}

/// The anchor of a heading, as forges make it.
fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect()
}

pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_headings_are_resolved() {
        let page = ManualPage::parse(
            "docs/gateway/clients.md",
            "# Clients\n\n## `foxwedge env`, for all\n\n[a](../gateway.md#start) [b](../../README.md) [c](#x)\n",
        );
        assert_eq!(
            (page.title.as_str(), page.output().as_str()),
            ("Clients", "gateway/clients.html")
        );
        assert_eq!(page.anchors, ["clients", "foxwedge-env-for-all"]);
        assert_eq!(page.resolve(&page.links[0]), Some(("docs/gateway.md".into(), "start".into())));
        assert_eq!(page.resolve(&page.links[1]), Some(("README.md".into(), String::new())));
        assert!(page.body.contains("href=\"../gateway.html#start\""), "{}", page.body);
    }
}
