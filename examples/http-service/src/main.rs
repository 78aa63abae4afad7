//! Notes over HTTP: `PUT`, `GET` and `DELETE` of `/notes/NAME`, `GET /notes?from=NAME`, a stream of
//! changes at `/changes`, and counters for Prometheus at `/metrics`.
//!
//! ```text
//! cargo run --release --package http-service -- [DATABASE [ADDRESS]]
//! curl -X PUT -d 'Buy milk' localhost:3000/notes/milk
//! curl -N localhost:3000/changes
//! ```
//!
//! Requests that write at the same time share flushes: each has its own transaction, which is
//! committed without waiting, and awaits its ticket. No thread waits for the disk, and a response
//! is sent when the change is durable. One thread follows the commits of all processes, and all
//! subscribers get what it finds.

use axum::{
    Router,
    extract::{Path, Query, State},
    http::{StatusCode, header::CONTENT_TYPE},
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
    routing::get,
};
use std::{collections::HashMap, env, error::Error, thread};
use teak::{Database, Difference, Table, Ticket, WriteTxn};
use tokio::{net::TcpListener, signal, sync::broadcast, task};
use tokio_stream::{Stream, StreamExt, wrappers::BroadcastStream};

/// A response to a failed request.
struct Failure(StatusCode, String);

type Result<T, E = Failure> = std::result::Result<T, E>;

#[derive(Clone)]
struct Notes {
    database: Database,
    notes: Table<String, String>,
    changes: broadcast::Sender<String>,
}

const LISTED_MAX: usize = 100;
/// Changes that a slow subscriber may be late by before it loses some.
const LATE_MAX: usize = 1_000;

#[tokio::main]
async fn main() -> std::result::Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let path = arguments.next();
    let path = path.unwrap_or_else(|| "notes.teak".to_owned());
    let address = arguments.next();
    let address = address.unwrap_or_else(|| "127.0.0.1:3000".to_owned());

    let database = Database::open(path)?;
    let mut txn = database.begin_write()?;
    let notes = txn.create_table("notes")?;
    txn.commit()?;
    let state = Notes {
        database: database.clone(),
        notes,
        changes: broadcast::Sender::new(LATE_MAX),
    };
    let follower = state.clone();
    thread::spawn(move || follower.follow());

    let service = Router::new()
        .route("/notes", get(list))
        .route("/notes/{name}", get(read).put(write).delete(remove))
        .route("/changes", get(changes))
        .route("/metrics", get(counters))
        .with_state(state);
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    tokio::select! {
        served = axum::serve(listener, service) => served?,
        stopped = signal::ctrl_c() => stopped?,
    }
    database.close()?;
    Ok(())
}

impl Notes {
    /// Makes a change in a transaction of its own, and returns when it is durable.
    async fn change<R: Send + 'static>(
        &self,
        change: impl FnOnce(&Table<String, String>, &mut WriteTxn) -> teak::Result<R> + Send + 'static,
    ) -> Result<R> {
        let state = self.clone();
        // Another thread, because it waits for its turn to write.
        let written = task::spawn_blocking(move || -> teak::Result<(R, Ticket)> {
            let mut txn = state.database.begin_write()?;
            let result = change(&state.notes, &mut txn)?;
            Ok((result, txn.commit_async()?))
        });
        let (result, ticket) = written.await.map_err(Failure::internal)??;
        ticket.await?;
        Ok(result)
    }

    /// Sends each change of a note to the subscribers, until the database is closed.
    fn follow(&self) -> teak::Result<()> {
        let mut feed = self.database.follow(self.database.begin_read()?)?;
        while let Some(commit) = feed.next(None)? {
            for difference in commit.of(&self.notes)? {
                let text = match difference? {
                    Difference::Inserted { key, .. } => format!("inserted {key}"),
                    Difference::Removed { key, .. } => format!("removed {key}"),
                    Difference::Changed { key, .. } => format!("changed {key}"),
                };
                // An error says that nobody has subscribed.
                let _ = self.changes.send(text);
            }
        }
        Ok(())
    }
}

// A lookup reads mapped memory, so it needs no thread of its own.
async fn read(State(state): State<Notes>, Path(name): Path<String>) -> Result<String> {
    let txn = state.database.begin_read()?;
    let note = state.notes.get(&txn, &name)?;
    note.map(str::to_owned)
        .ok_or_else(|| Failure(StatusCode::NOT_FOUND, format!("there is no note {name}\n")))
}

async fn list(
    State(state): State<Notes>,
    Query(query): Query<HashMap<String, String>>,
) -> Result<String> {
    let from = query.get("from").map_or("", String::as_str);
    let txn = state.database.begin_read()?;
    let names = state.notes.range(from..).keys(&txn)?.take(LISTED_MAX);
    let names = names.map(|name| name.map(|name| format!("{name}\n")));
    Ok(names.collect::<teak::Result<_>>()?)
}

async fn write(
    State(state): State<Notes>,
    Path(name): Path<String>,
    text: String,
) -> Result<StatusCode> {
    state
        .change(move |notes, txn| notes.insert(txn, &name, &text))
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn remove(State(state): State<Notes>, Path(name): Path<String>) -> Result<StatusCode> {
    let is_removed = state
        .change(move |notes, txn| notes.remove(txn, &name))
        .await?;
    Ok(match is_removed {
        true => StatusCode::NO_CONTENT,
        false => StatusCode::NOT_FOUND,
    })
}

async fn changes(
    State(state): State<Notes>,
) -> Sse<impl Stream<Item = std::result::Result<Event, axum::Error>>> {
    let changes = BroadcastStream::new(state.changes.subscribe());
    let events = changes.map(|change| match change {
        Ok(text) => Ok(Event::default().data(text)),
        Err(lost) => Ok(Event::default().event("lost").data(lost.to_string())),
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}

async fn counters(State(state): State<Notes>) -> impl IntoResponse {
    let text = teak::prometheus_text([("notes", state.database.metrics())]);
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text)
}

impl Failure {
    fn internal(error: impl Error) -> Self {
        Self(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n"))
    }
}

impl From<teak::Error> for Failure {
    fn from(error: teak::Error) -> Self {
        match error {
            teak::Error::KeyTooLong { .. } => Self(StatusCode::BAD_REQUEST, format!("{error}\n")),
            error => Self::internal(error),
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (self.0, self.1).into_response()
    }
}
