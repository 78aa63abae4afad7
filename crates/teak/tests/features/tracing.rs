//! Spans and events for subscribers of the crate `tracing`.

use std::{
    collections::BTreeMap,
    fmt::Debug,
    future::Future,
    ops::ControlFlow,
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
    thread,
    time::Duration,
};
use teak::{CompactOptions, Database, Durability, Options, WriteTxn, codec::Bytes};
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::with_default,
};

type Fields = BTreeMap<&'static str, String>;

/// A span or an event.
#[derive(Clone, Default, Debug)]
struct Note {
    name: String,
    parent: Option<usize>,
    fields: Fields,
}

#[derive(Default)]
struct Notes {
    spans: Vec<Note>,
    events: Vec<Note>,
    entered: Vec<usize>,
}

/// A subscriber that collects everything of Teak up to a level.
#[derive(Clone)]
struct Collector {
    notes: Arc<Mutex<Notes>>,
    max: Level,
}

impl Collector {
    fn up_to(max: Level) -> Self {
        Self {
            notes: Arc::default(),
            max,
        }
    }

    /// The fields of each span of that name.
    fn spans(&self, name: &str) -> Vec<Fields> {
        let notes = self.notes.lock().unwrap();
        let named = notes.spans.iter().filter(|span| span.name == name);
        named.map(|span| span.fields.clone()).collect()
    }

    fn events(&self, name: &str) -> Vec<Fields> {
        let notes = self.notes.lock().unwrap();
        let named = notes.events.iter().filter(|event| event.name == name);
        named.map(|event| event.fields.clone()).collect()
    }
}

struct Collect<'n>(&'n mut Fields);

impl Visit for Collect<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "teak" && *metadata.level() <= self.max
    }

    fn max_level_hint(&self) -> Option<tracing::level_filters::LevelFilter> {
        Some(self.max.into())
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut notes = self.notes.lock().unwrap();
        let mut fields = Fields::new();
        span.record(&mut Collect(&mut fields));
        let parent = span.parent().map(|id| id.into_u64() as usize - 1);
        let current = notes.entered.last().copied();
        notes.spans.push(Note {
            name: span.metadata().name().to_owned(),
            parent: parent.or(current.filter(|_| span.is_contextual())),
            fields,
        });
        Id::from_u64(notes.spans.len() as u64)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut notes = self.notes.lock().unwrap();
        let span = &mut notes.spans[span.into_u64() as usize - 1];
        values.record(&mut Collect(&mut span.fields));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::new();
        event.record(&mut Collect(&mut fields));
        self.notes.lock().unwrap().events.push(Note {
            name: fields.remove("event").unwrap(),
            fields,
            ..Note::default()
        });
    }

    fn enter(&self, span: &Id) {
        let index = span.into_u64() as usize - 1;
        self.notes.lock().unwrap().entered.push(index);
    }

    fn exit(&self, _: &Id) {
        self.notes.lock().unwrap().entered.pop();
    }
}

fn write(txn: &mut WriteTxn, bytes: usize) {
    let table = txn.create_table::<u64, Bytes>("t").unwrap();
    table.insert(txn, 1, vec![7; bytes]).unwrap();
}

#[test]
fn write_transactions_are_spans_with_their_outcome() {
    let collector = Collector::up_to(Level::DEBUG);
    with_default(collector.clone(), || {
        let database = Database::in_memory().unwrap();
        let mut txn = database.begin_write().unwrap();
        write(&mut txn, 10);
        txn.commit().unwrap();
        drop(database.begin_write().unwrap());
        database.begin_write().unwrap().commit().unwrap();
        let mut txn = database.begin_write().unwrap();
        write(&mut txn, 20);
        txn.checkpoint().unwrap();
        write(&mut txn, 30);
        txn.set_durability(Durability::Lazy);
        txn.commit_and_read().unwrap();
    });
    let writes = collector.spans("write");
    let outcomes: Vec<_> = writes.iter().map(|write| &write["outcome"][..]).collect();
    assert_eq!(outcomes, ["committed", "aborted", "unchanged", "committed"]);
    for write in &writes {
        assert_eq!(write["database"], "(in memory)");
        assert!(write["waited_us"].parse::<u64>().unwrap() < 10_000_000);
    }
    let notes = collector.notes.lock().unwrap();
    let commits: Vec<_> = (notes.spans.iter())
        .filter(|span| span.name == "commit")
        .map(|span| {
            let fields = &span.fields;
            let of = &notes.spans[span.parent.unwrap()];
            assert_eq!(of.name, "write");
            assert_eq!(
                fields.contains_key("pages"),
                of.fields["outcome"] != "unchanged"
            );
            (
                fields.get("transaction").cloned(),
                fields["durability"].clone(),
            )
        })
        .collect();
    let commit = |transaction: Option<&str>, durability: &str| {
        (transaction.map(str::to_owned), durability.to_owned())
    };
    assert_eq!(
        commits,
        [
            commit(Some("1"), "durable"),
            commit(None, "durable"),
            commit(Some("2"), "durable"),
            commit(Some("3"), "lazy"),
        ]
    );
    assert!(notes.entered.is_empty());
}

#[test]
fn commits_flushes_and_growth_are_events() {
    let collector = Collector::up_to(Level::DEBUG);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.teak");
    with_default(collector.clone(), || {
        let database = Database::open(&path).unwrap();
        let mut txn = database.begin_write().unwrap();
        write(&mut txn, 1 << 20);
        txn.commit().unwrap();
        let mut txn = database.begin_write().unwrap();
        write(&mut txn, 0);
        txn.commit().unwrap();
        let (limits, mut go_on) = (CompactOptions::new(), |_| ControlFlow::Continue(()));
        database.compact(&limits, &mut go_on).unwrap();
        database.close().unwrap();
    });
    for event in ["opened", "commit", "flush", "grown", "shrunk", "closed"] {
        let noted = collector.events(event);
        assert!(!noted.is_empty(), "{event}");
        for fields in noted {
            assert_eq!(fields["database"], path.display().to_string());
        }
    }
    let first = &collector.events("commit")[0];
    assert_eq!(
        (&first["transaction"][..], &first["durability"][..]),
        ("1", "durable")
    );
    assert!(first["bytes"].parse::<u64>().unwrap() > 1 << 20);
    assert!(
        first["message"].starts_with("commit 1, durable: "),
        "{first:?}"
    );
    let compacted = &collector.spans("compact")[0];
    assert!(compacted.contains_key("moved_pages") && compacted.contains_key("file_bytes"));
    assert_eq!(collector.spans("open").len(), 1);
}

#[test]
fn routine_events_have_a_level_of_their_own() {
    let collector = Collector::up_to(Level::INFO);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hearing = Arc::clone(&heard);
    with_default(collector.clone(), || {
        let options = Options::new().on_event(move |event| {
            hearing.lock().unwrap().push(event.to_string());
        });
        let database = options.open_in_memory().unwrap();
        let mut txn = database.begin_write().unwrap();
        write(&mut txn, 10);
        let limit = teak::WriteOptions::new().timeout(Duration::from_millis(1));
        assert!(database.begin_write_with(limit).unwrap().is_none());
        txn.commit().unwrap();
        database.close().unwrap();
    });
    let notes = collector.notes.lock().unwrap();
    let names: Vec<_> = notes.events.iter().map(|event| &event.name[..]).collect();
    assert_eq!(names, ["opened", "waits_for_itself", "closed"]);
    assert!(notes.spans.is_empty(), "{:?}", notes.spans);
    // The callback hears of everything.
    assert!(heard.lock().unwrap().len() > 3);
}

#[test]
fn a_future_has_its_span_with_the_subscriber_of_its_first_poll() {
    let collector = Collector::up_to(Level::DEBUG);
    let database = Database::in_memory().unwrap();
    let first = database.begin_write().unwrap();
    with_default(collector.clone(), || {
        let request = tracing::info_span!(target: "teak", "request");
        let mut future = pin!(database.begin_write_async());
        let mut poll = || {
            let _entered = request.enter();
            future
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()))
        };
        assert!(poll().is_pending());
        thread::sleep(Duration::from_millis(20));
        drop(first);
        let begun = loop {
            if let Poll::Ready(begun) = poll() {
                break begun.unwrap();
            }
            thread::sleep(Duration::from_millis(1));
        };
        begun.commit().unwrap();
    });
    let notes = collector.notes.lock().unwrap();
    let write = notes.spans.iter().find(|span| span.name == "write");
    // The thread of the database, which has no subscriber, opens the span for that of the future.
    assert!(write.is_some(), "{:?}", notes.spans);
}
