//! The rules on small test texts.

use super::{
    Hit, compare, counts, long_lines, names, of_rules, prose,
    references::{Finder, Known},
    rules::{self, HitCounts},
    texts::Text,
};

/// The names of the rules that a text breaks, with lines.
fn broken(text: &str, is_markdown: bool) -> Vec<String> {
    let text = Text {
        path: String::new(),
        scope: "small".to_owned(),
        text: text.to_owned(),
        is_markdown,
    };
    let hits = of_rules(&text, &rules::rules().unwrap());
    let hits = hits.iter();
    hits.map(|(rule, line, _)| format!("{rule}:{line}"))
        .collect()
}

#[test]
fn comments_and_documentation_are_read_and_strings_are_not() {
    let text = "//! What is here.\nfn f() {\n    g(\"anew\"); // made anew\n}";
    assert_eq!(broken(text, false), ["what-subject:1", "anew:3"]);
}

#[test]
fn an_idiom_is_found_across_lines() {
    assert_eq!(
        broken("/// Later it is at\n/// hand.", false),
        ["at-hand:1"]
    );
    assert!(broken("// at\nf();\n// hand", false).is_empty());
    assert!(broken("/// at\n///\n/// hand", false).is_empty());
}

#[test]
fn questions_are_not_subjects() {
    assert!(broken("// What holds the page? The reader.", false).is_empty());
    assert_eq!(
        broken("// What holds it is kept.", false),
        ["what-subject:1"]
    );
}

#[test]
fn code_is_exempt() {
    let text = "Text `anew` text.\n\n```\nanew\n```\n\nanew\n";
    assert_eq!(broken(text, true), ["anew:7"]);
    assert!(broken("/// ```\n/// anew\n/// ```", false).is_empty());
}

#[test]
fn a_marker_exempts_markdown() {
    let text = "<!-- style: off -->\nanew\n<!-- style: on -->\nanew";
    assert_eq!(broken(text, true), ["anew:4"]);
    assert_eq!(broken("`<!-- style: off -->`\nanew", true), ["anew:2"]);
}

#[test]
fn cells_are_paragraphs() {
    let text = "| a | What is kept |\n|---|---|\n| at | hand |";
    assert_eq!(broken(text, true), ["what-subject:1"]);
    assert_eq!(prose::of_markdown("| a | b |").len(), 2);
}

/// The numbers of the long lines of a text.
fn long(text: &str, is_markdown: bool) -> Vec<usize> {
    let text = Text {
        path: String::new(),
        scope: "small".to_owned(),
        text: text.to_owned(),
        is_markdown,
    };
    let found = long_lines::of(&text).into_iter();
    found.map(|(line, _)| line).collect()
}

#[test]
fn long_lines_of_comments_and_markdown_are_found() {
    let words = "word ".repeat(20);
    assert_eq!(long(&format!("// {words}\n// {words}x"), false), [1, 2]);
    assert_eq!(long(&format!("short\n{words}x\n"), true), [2]);
    assert_eq!(long(&format!("let x = 1; // {words}"), false), [1]);
    assert!(long(&format!("let x = \"{words}x\";"), false).is_empty());
}

#[test]
fn tables_links_and_code_may_be_long() {
    let words = "word ".repeat(20);
    assert!(long(&format!("| {words}|"), true).is_empty());
    assert!(long(&format!("    {words}"), true).is_empty());
    assert!(long(&format!("`{words}`"), true).is_empty());
    assert!(long(&format!("[{words}](file.md)"), true).is_empty());
    assert!(long(&format!("```\n{words}x\n```"), true).is_empty());
    assert_eq!(long(&format!("```\nx\n```\n{words}x"), true), [4]);
    assert!(long(&format!("/// ```\n/// {words}x\n/// ```"), false).is_empty());
}

#[test]
fn names_are_read_by_their_words() {
    assert_eq!(broken("struct WriterPlace;", false), ["id-place:1"]);
    assert_eq!(broken("\nlet is_told = 1;", false), ["id-told:2"]);
    assert!(broken("fn replace(placement: X) {}", false).is_empty());
}

#[test]
fn a_rule_for_functions_or_types_ignores_other_names() {
    assert_eq!(broken("fn keep() {}", false), ["id-plant:1"]);
    assert!(broken("let keep = run();", false).is_empty());
    assert_eq!(broken("struct ValueRun;", false), ["id-run:1"]);
}

#[test]
fn names_become_snake_case() {
    assert_eq!(names::snake("FreeCursor"), "free_cursor");
    assert_eq!(names::snake("at_hand"), "at_hand");
    assert_eq!(names::snake("U64Codec"), "u64_codec");
    assert_eq!(names::snake("LINES_MAX"), "lines_max");
}

#[test]
fn dead_references_are_found() {
    let known = Known {
        files: vec!["/crates/teak/src/commit/pipeline.rs".to_owned()],
        words: ["Recovery", "Joined", "flush_after"]
            .map(str::to_owned)
            .into(),
        tasks: ["layers".to_owned()].into(),
    };
    let text = "See commit/pipeline.rs, `crates/teak/src/commit/gone.rs`, `Recovery::Joined` and\n\
                `Recovery::Gone`; run `cargo xtask layers`, `cargo xtask gone --flush-after --gone`;\n\
                https://example.org/a/b.md is elsewhere, ommit/pipeline.rs is nothing.";
    let dead = Finder::new().unwrap().dead(text, true, &known);
    let dead: Vec<String> = dead
        .iter()
        .map(|dead| format!("{} {} {}", dead.line, dead.rule, dead.text))
        .collect();
    assert_eq!(
        dead,
        [
            "1 dead-file crates/teak/src/commit/gone.rs",
            "2 dead-task cargo xtask gone",
            "2 dead-item Recovery::Gone",
            "2 dead-flag --gone",
            "3 dead-file ommit/pipeline.rs",
        ]
    );
}

#[test]
fn too_many_hits_are_a_complaint_and_fewer_a_hint() {
    let hit = |scope: &str| Hit {
        rule: "anew",
        scope: scope.to_owned(),
        file: String::new(),
        line: 1,
        text: String::new(),
    };
    let hits = [hit("a"), hit("a"), hit("b")];
    let key = |scope: &str| ("anew".to_owned(), scope.to_owned());
    assert_eq!(counts(&hits)[&key("a")], 2);
    let limits = HitCounts::from([(key("a"), 1), (key("b"), 2)]);
    let ratchet = compare(&hits, &limits, &rules::rules().unwrap());
    assert_eq!(ratchet.complaints.len(), 1);
    assert!(ratchet.complaints[0].starts_with("a: anew"));
    assert_eq!(ratchet.hints.len(), 1);
    assert!(ratchet.hints[0].starts_with("b: anew"));
}
