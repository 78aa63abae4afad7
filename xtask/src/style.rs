//! Finds words and idioms to avoid, and dead references, in comments, Markdown and names.

mod long_lines;
mod names;
mod prose;
mod references;
mod rules;
#[cfg(test)]
mod tests;
mod texts;

use crate::{Result, built, ratchet::Ratchet};
use clap::Args;
use references::Finder;
use rules::{HitCounts, Rule, Where};
use std::path::PathBuf;
use texts::{Text, Workspace};

/// Finds words and idioms to avoid, long lines, and references to files, items and tasks that do
/// not exist
#[derive(Args, Default)]
pub(crate) struct StyleArguments {
    /// Print each hit of this rule, or of `all`
    #[arg(long, value_name = "RULE")]
    list: Option<String>,
    /// Only list hits in this crate, or in `docs`
    #[arg(long, value_name = "CRATE", requires = "list")]
    of: Option<String>,
    /// Print the rules
    #[arg(long)]
    rules: bool,
    /// Lower the limits to the present counts
    #[arg(long)]
    lower: bool,
    /// The workspace to check [default: the one that this program was built from]
    #[arg(long)]
    root: Option<PathBuf>,
}

/// A position where a rule is broken.
struct Hit {
    rule: &'static str,
    /// The crate, or `docs`.
    scope: String,
    file: String,
    line: usize,
    text: String,
}

/// Counts the hits of each rule in each crate. Fails if there are more than the limits allow.
pub(crate) fn run(arguments: &StyleArguments, tasks: Vec<String>) -> Result {
    let rules = rules::rules()?;
    if arguments.rules {
        for rule in &rules {
            println!("{:<16} {}: {}", rule.name, rule.pattern, rule.instead);
        }
        println!("{:<16} {}", long_lines::RULE, long_lines::INSTEAD);
        return Ok(());
    }
    let root = arguments.root.as_deref().unwrap_or(built::workspace());
    let hits = hits(&Workspace::read(root, tasks)?, &rules)?;
    if let Some(list) = &arguments.list {
        print(&hits, list, arguments.of.as_deref());
        return Ok(());
    }
    let mut limits = rules::read_limits(root)?;
    let ratchet = compare(&hits, &limits, &rules);
    if arguments.lower {
        let counts = counts(&hits);
        for (key, limit) in &mut limits {
            *limit = (*limit).min(counts.get(key).copied().unwrap_or(0));
        }
        rules::write_limits(root, &limits)?;
    }
    ratchet.finish("style")
}

fn hits(workspace: &Workspace, rules: &[Rule]) -> Result<Vec<Hit>> {
    let finder = Finder::new()?;
    let mut hits = Vec::new();
    for text in &workspace.texts {
        let mut add = |rule, line, words: &str| {
            hits.push(Hit {
                rule,
                scope: text.scope.clone(),
                file: text.path.clone(),
                line,
                text: words.to_owned(),
            });
        };
        for (rule, line, words) in of_rules(text, rules) {
            add(rule, line, &words);
        }
        for (line, words) in long_lines::of(text) {
            add(long_lines::RULE, line, &words);
        }
        let references = if text.is_markdown {
            text.text.clone()
        } else {
            text.comments()
        };
        for dead in finder.dead(&references, text.is_markdown, &workspace.known) {
            add(dead.rule, dead.line, &dead.text);
        }
    }
    Ok(hits)
}

/// The hits of the table's rules: rule, line, words.
fn of_rules(text: &Text, rules: &[Rule]) -> Vec<(&'static str, usize, String)> {
    let mut hits = Vec::new();
    let (paragraphs, names) = if text.is_markdown {
        (prose::of_markdown(&text.text), Vec::new())
    } else {
        (prose::of_comments(&text.text), names::of(&text.text))
    };
    for rule in rules {
        for paragraph in paragraphs.iter().filter(|_| rule.position == Where::Prose) {
            for found in rule.pattern.find_iter(&paragraph.text) {
                let line = paragraph.line_of(found.start());
                hits.push((rule.name, line, excerpt(&paragraph.text, found.start())));
            }
        }
        for name in &names {
            if name.is_in(rule.position) && rule.pattern.is_match(&name.words) {
                hits.push((rule.name, name.line, name.name.clone()));
            }
        }
    }
    hits
}

/// Some words of a paragraph, starting a little before `at`.
fn excerpt(text: &str, at: usize) -> String {
    let before = text[..at].chars().rev().take(20).count();
    let skipped = text[..at].chars().count() - before;
    text.chars().skip(skipped).take(80).collect()
}

fn print(hits: &[Hit], list: &str, of: Option<&str>) {
    let listed = hits.iter().filter(|hit| {
        (list == "all" || hit.rule == list) && of.is_none_or(|scope| hit.scope == scope)
    });
    for hit in listed {
        println!("{}:{}: {}: {}", hit.file, hit.line, hit.rule, hit.text);
    }
}

fn counts(hits: &[Hit]) -> HitCounts {
    let mut counts = HitCounts::new();
    for hit in hits {
        let key = (hit.rule.to_owned(), hit.scope.clone());
        *counts.entry(key).or_default() += 1;
    }
    counts
}

fn compare(hits: &[Hit], limits: &HitCounts, rules: &[Rule]) -> Ratchet {
    let counts = counts(hits);
    let mut ratchet = Ratchet::default();
    let mut keys: Vec<_> = counts.keys().chain(limits.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        let count = |table: &HitCounts| table.get(key).copied().unwrap_or(0);
        let instead = instead(rules, &key.0);
        let subject = format!("{}: {} (write instead: {instead})", key.1, key.0);
        ratchet.compare(&subject, count(&counts), count(limits));
    }
    ratchet
}

/// The replacement for the hits of a rule, in words.
fn instead(rules: &[Rule], name: &str) -> &'static str {
    if name == long_lines::RULE {
        return long_lines::INSTEAD;
    }
    let rule = rules.iter().find(|rule| rule.name == name);
    rule.map_or("refer to an existing item", |rule| rule.instead)
}
