//! The picture of a file: a character for each stretch of pages, and a legend.

use console::{Color, Term, style};
use indicatif::HumanCount;
use std::collections::BTreeMap;
use std::io::{self, Write};
use teak::PageUse;

/// The character and colour for a kind of page.
struct PageGlyph {
    kind: PageUse,
    name: &'static str,
    glyph: char,
    color: Color,
}

const PAGE_GLYPHS: [PageGlyph; 9] = [
    PageGlyph {
        kind: PageUse::Record,
        name: "record",
        glyph: '■',
        color: Color::Cyan,
    },
    PageGlyph {
        kind: PageUse::SpaceMap,
        name: "space_map",
        glyph: '▚',
        color: Color::Magenta,
    },
    PageGlyph {
        kind: PageUse::Journal,
        name: "journal",
        glyph: '=',
        color: Color::Magenta,
    },
    PageGlyph {
        kind: PageUse::Inner,
        name: "inner",
        glyph: '▓',
        color: Color::Yellow,
    },
    PageGlyph {
        kind: PageUse::Leaf,
        name: "leaf",
        glyph: '█',
        color: Color::Green,
    },
    PageGlyph {
        kind: PageUse::Value,
        name: "value",
        glyph: '▒',
        color: Color::Blue,
    },
    PageGlyph {
        kind: PageUse::Pending,
        name: "pending",
        glyph: '░',
        color: Color::Red,
    },
    PageGlyph {
        kind: PageUse::Unreachable,
        name: "unreachable",
        glyph: '?',
        color: Color::Red,
    },
    PageGlyph {
        kind: PageUse::Free,
        name: "free",
        glyph: '·',
        color: Color::White,
    },
];

const ROWS_MAX: usize = 8;
const MARGIN: usize = 2;

/// How many pages of each kind there are, kinds without pages left out.
pub(super) fn count_kinds(pages: &[PageUse]) -> BTreeMap<&'static str, u64> {
    let counts = count(pages);
    let named = PAGE_GLYPHS
        .iter()
        .zip(counts)
        .filter(|(_, count)| *count > 0);
    named
        .map(|(glyph_of_kind, count)| (glyph_of_kind.name, count))
        .collect()
}

/// Draws the picture as wide as the terminal, in colours if it is one.
pub(super) fn write(pages: &[PageUse], output: &mut impl Write) -> io::Result<()> {
    let (_, columns) = Term::stdout().size();
    let width = usize::from(columns).saturating_sub(MARGIN).max(8);
    for row in cells(pages, width * ROWS_MAX).chunks(width) {
        write!(output, "{:MARGIN$}", "")?;
        for alike in row.chunk_by(|one, next| one.glyph == next.glyph) {
            let glyphs: String = alike
                .iter()
                .map(|glyph_of_kind| glyph_of_kind.glyph)
                .collect();
            write!(output, "{}", style(glyphs).fg(alike[0].color))?;
        }
        writeln!(output)?;
    }
    for (glyph_of_kind, count) in PAGE_GLYPHS
        .iter()
        .zip(count(pages))
        .filter(|(_, count)| *count > 0)
    {
        let glyph = style(glyph_of_kind.glyph).fg(glyph_of_kind.color);
        let name = glyph_of_kind.name.replace('_', " ");
        writeln!(
            output,
            "{:MARGIN$}{glyph} {name:11} {:>12}",
            "",
            HumanCount(count).to_string()
        )?;
    }
    Ok(())
}

/// At most `cells_max` characters, each for a section of the pages of nearly equal length.
fn cells(pages: &[PageUse], cells_max: usize) -> Vec<&'static PageGlyph> {
    let cell_count = pages.len().min(cells_max);
    let stretch = |cell: usize| {
        &pages[cell * pages.len() / cell_count..(cell + 1) * pages.len() / cell_count]
    };
    (0..cell_count)
        .map(|cell| most_common(stretch(cell)))
        .collect()
}

fn most_common(pages: &[PageUse]) -> &'static PageGlyph {
    let counts = count(pages);
    let most = (0..PAGE_GLYPHS.len())
        .max_by_key(|index| counts[*index])
        .unwrap_or(0);
    &PAGE_GLYPHS[most]
}

fn count(pages: &[PageUse]) -> [u64; PAGE_GLYPHS.len()] {
    let mut counts = [0; PAGE_GLYPHS.len()];
    for page in pages {
        if let Some(index) = PAGE_GLYPHS
            .iter()
            .position(|glyph_of_kind| glyph_of_kind.kind == *page)
        {
            counts[index] += 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_cover_all_pages_and_show_the_majority() {
        let mut pages = vec![PageUse::Record; 3];
        pages.extend([PageUse::Leaf; 50]);
        pages.extend([PageUse::Free; 47]);
        let names = |cells_max| {
            cells(&pages, cells_max)
                .iter()
                .map(|glyph_of_kind| glyph_of_kind.name)
                .collect::<Vec<_>>()
        };
        assert_eq!(names(2), ["leaf", "free"]);
        assert_eq!(names(1000).len(), 100);
        assert_eq!(names(1000)[..4], ["record", "record", "record", "leaf"]);
        assert!(cells(&[], 10).is_empty());
    }

    #[test]
    fn kinds_without_pages_are_left_out() {
        let counts = count_kinds(&[PageUse::Leaf, PageUse::Free, PageUse::Leaf]);
        assert_eq!(counts, BTreeMap::from([("free", 1), ("leaf", 2)]));
    }
}
