use super::*;
use crate::{
    data::{DataSet, Digest, Key, Record},
    engines::{Durability, EngineKind, Held, Insertion, OpenSettings, ReadStep, RecordChange},
};

/// A reader of one state.
struct Stale(Fingerprint);

impl Reader for Stale {
    fn read(&self, _: ReadStep, _: &mut dyn Iterator<Item = &[Key]>) -> Result<Digest> {
        Ok(Digest::default())
    }

    fn fingerprint(&self, begun: &mut dyn FnMut()) -> Result<Fingerprint> {
        begun();
        Ok(self.0)
    }

    fn hold(&self, _: u32) -> Result<Box<dyn Held + '_>> {
        Ok(Box::new(vec![()]))
    }
}

fn fingerprint(keys: &[Key], version: u64) -> Fingerprint {
    Fingerprint::of(keys.iter().map(|key| Record::new(*key, version)))
}

#[test]
fn records_that_were_changed_or_are_missing_are_noticed() {
    let keys = DataSet::new(5).keys;
    let mut others = vec![fingerprint(&keys[1..], 0), fingerprint(&keys, 1)];
    let mut exchanged = Fingerprint::default();
    let [first, second] = [&keys[0], &keys[1]].map(|key| Record::new(*key, 0));
    exchanged.add(&first.key, &second.value);
    exchanged.add(&second.key, &first.value);
    keys[2..].iter().for_each(|key| {
        let record = Record::new(*key, 0);
        exchanged.add(&record.key, &record.value);
    });
    others.push(exchanged);
    for found in others {
        let watched = WatchedStates::new(fingerprint(&keys, 0));
        let error = watched.verify_during(&Stale(found), 1, || Ok(()));
        let error = error.expect_err("it is not the same").to_string();
        assert!(error.contains("not what was committed"), "{error}");
    }
    let watched = WatchedStates::new(fingerprint(&keys, 0));
    let same = watched.verify_during(&Stale(fingerprint(&keys, 0)), 2, || Ok(()));
    assert!(same.expect("it is the same").1 >= 2);
}

#[test]
fn a_stale_reader_is_noticed() {
    let keys = DataSet::new(5).keys;
    let watched = WatchedStates::new(fingerprint(&keys, 0));
    for key in &keys[..2] {
        watched.will_commit(|state| state.remove(&Record::new(*key, 0)));
    }
    let stale = |keys: &[Key]| Stale(fingerprint(keys, 0));
    assert!(watched.verify_during(&stale(&keys), 1, || Ok(())).is_err());
    // The second commit has not returned.
    for seen in [&keys[1..], &keys[2..]] {
        assert!(watched.verify_during(&stale(seen), 1, || Ok(())).is_ok());
    }
    assert!(
        watched
            .verify_during(&stale(&keys[3..]), 1, || Ok(()))
            .is_err()
    );
}

#[test]
fn every_engine_shows_committed_states() {
    let keys = DataSet::new(2000).keys;
    let records: Vec<_> = keys.iter().map(|key| Record::new(*key, 0)).collect();
    for kind in EngineKind::usual_except_quick() {
        let directory = tempfile::tempdir().expect("a directory");
        let opening = OpenSettings::usual(Durability::Lazy, 1 << 20);
        let mut engine = kind.open(directory.path(), &opening).expect("it opens");
        engine
            .write(&records, Insertion::Batch)
            .expect("they are new");
        let watched = WatchedStates::new(fingerprint(&keys, 0));
        let verified = watched.verify_during(engine.reader(), 2, || {
            for key in &keys {
                watched.will_commit(|state| state.remove(&Record::new(*key, 0)));
                engine.change(&[RecordChange { key, value: None }])?;
            }
            Ok(())
        });
        assert!(verified.expect("nothing else is seen").1 >= 2, "{kind}");
    }
}
