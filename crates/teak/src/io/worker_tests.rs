use super::Worker;
use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc,
    },
    thread,
};

/// Waits for a thread when it is dropped.
struct Waiting(Option<Worker>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.take().unwrap().wait();
    }
}

thread_local! {
    static WAITING: RefCell<Option<Waiting>> = const { RefCell::new(None) };
}

/// Bug: the destructor had the lock of Windows that the other thread needed to end.
#[test]
fn a_destructor_of_thread_locals_can_wait_for_a_thread() {
    let is_over = Arc::new(AtomicBool::new(false));
    let (ask, asked) = mpsc::channel::<()>();
    let worker = {
        let is_over = Arc::clone(&is_over);
        Worker::start("test", move || {
            // Until the destructor waits, or is about to.
            let _ = asked.recv();
            is_over.store(true, SeqCst);
        })
    };
    let ending = thread::spawn(move || {
        WAITING.set(Some(Waiting(Some(worker.unwrap()))));
        ask.send(()).unwrap();
    });
    ending.join().unwrap();
    assert!(is_over.load(SeqCst) || Arc::strong_count(&is_over) == 1);
}

#[test]
fn data_of_the_work_is_dropped_when_the_wait_ends() {
    let held = Arc::new(());
    for _ in 0..100 {
        let work = {
            let held = Arc::clone(&held);
            move || drop(Arc::clone(&held))
        };
        Worker::start("test", work).unwrap().wait();
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
