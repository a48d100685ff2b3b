//! The page of a rule in Chinese.

use foxwedge_core::Rule;

use super::{RULE_PAGES, rule_summaries};

/// What a rule finds, and what its repair does.
pub(super) struct RuleText {
    pub(super) finds: &'static str,
    pub(super) repair: &'static str,
}

/// The page of a rule: shorter than the English one, with the same error texts of providers.
pub(crate) fn translate_page(rule: &Rule) -> Option<String> {
    let label = rule.label();
    let RuleText { finds, repair } = rule_text(&label)?;
    let summary = rule_summaries().remove(&label)?;
    let mut page = format!("# {label} {}\n\n{summary}。\n\n## 发现什么\n\n{finds}\n\n", rule.name);
    let errors = section(rule.explain, "## Who refuses it").map(examples).unwrap_or_default();
    if !errors.is_empty() {
        page.push_str(&format!("## 谁会拒绝\n\n见过的报错：\n\n{errors}\n"));
    }
    page.push_str(&format!("## 如何修复\n\n{repair}\n\n"));
    if let Some(profiles) = section(rule.explain, "## Applies to") {
        page.push_str(&format!("## 适用范围\n\n{}\n\n", profiles.trim()));
    }
    page.push_str(&format!("更详细的英文说明：`foxwedge rule {label} --lang en`\n"));
    Some(page)
}

pub(super) fn rule_text(label: &str) -> Option<RuleText> {
    let mut lines = RULE_PAGES.lines().skip_while(|line| *line != label).skip(1);
    let finds = lines.next()?.strip_prefix("发现 ")?;
    let repair = lines.next()?.strip_prefix("修复 ")?;
    Some(RuleText { finds, repair })
}

/// The text below a heading, up to the next one.
fn section<'p>(page: &'p str, heading: &str) -> Option<&'p str> {
    let (_, rest) = page.split_once(heading)?;
    Some(rest.split_once("\n## ").map_or(rest, |(section, _)| section))
}

/// The code blocks of a section: what providers write.
fn examples(section: &str) -> String {
    let blocks = section.split("```").skip(1).step_by(2);
    blocks.map(|block| format!("```{}```\n", block)).collect()
}
