//! Changes of the key while processes come and go.

use crate::{EncryptionKey, Options};
use std::{thread, time::Duration};

#[test]
fn a_key_is_changed_while_no_process_can_join() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options::new().encryption_key(EncryptionKey::from_bytes([1; 32]));
    let database = options.open(directory.path().join("x.teak")).unwrap();
    let engine = database.opening.writable().unwrap();
    // A process that joins has the gate.
    let gate = engine.shared().unwrap().lock_file.pass_gate().unwrap();
    thread::scope(|scope| {
        let change =
            scope.spawn(|| database.change_encryption_key(&EncryptionKey::from_bytes([2; 32])));
        thread::sleep(Duration::from_millis(300));
        assert!(!change.is_finished());
        drop(gate);
        change.join().unwrap().unwrap();
    });
}
