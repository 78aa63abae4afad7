//! Sealing: from the leaves up, each page's tag goes into its parent and the root's into the root.

use super::{PageSink, TreeRoot, visit, visit_inner};
use crate::{PageNumber, Result, Tag, page::inner};

/// Tags all pages that this transaction wrote, and the root.
pub(crate) fn seal<S: PageSink>(sink: &mut S, root: &mut TreeRoot) -> Result<()> {
    root.tag = match root.depth {
        0 => Tag::default(),
        depth if sink.is_dirty(root.page) => seal_page(sink, root.page, depth - 1)?,
        _ => root.tag,
    };
    Ok(())
}

fn seal_page<S: PageSink>(sink: &mut S, number: PageNumber, level: u8) -> Result<Tag> {
    if let Some(tag) = sink.known_tag(number) {
        return Ok(tag);
    }
    if level > 0 {
        for (index, child) in dirty_children(sink, number, level)? {
            let tag = seal_page(sink, child, level - 1)?;
            inner::set_tag(sink.page_mut(number)?, index, tag);
        }
    }
    let (page, _) = visit(sink, number, level, "commit")?;
    Ok(Tag::of(page))
}

fn dirty_children<S: PageSink>(
    sink: &S,
    number: PageNumber,
    level: u8,
) -> Result<Vec<(usize, PageNumber)>> {
    let inner = visit_inner(sink, number, level, "commit")?;
    let mut dirty = Vec::new();
    for index in 0..inner.count() {
        let child = inner
            .child(index)
            .map_err(|damage| damage.at(number, "commit"))?;
        if sink.is_dirty(child) {
            dirty.push((index, child));
        }
    }
    Ok(dirty)
}
